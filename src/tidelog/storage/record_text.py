"""Records as text, in Soufflé's form: `[1, [2, nil]]`. `format_value` writes what a user sees as nested tuples."""

from __future__ import annotations

from tidelog.language.syntax import Value


def format_number(value: float) -> str:
    """The shortest text from which the same float is read again; infinities are `inf` and `-inf`."""
    return repr(float(value))


def format_value(value: Value) -> str:
    """A value as text; symbols stand as they are, without quotes. Depth is not limited by Python's stack."""
    pieces: list[str] = []
    waiting: list[tuple[bool, Value]] = [(False, value)]  # (is it text to be copied, what)
    while waiting:
        literal, item = waiting.pop()
        if literal or isinstance(item, str):
            pieces.append(str(item))
        elif item is None:
            pieces.append("nil")
        elif isinstance(item, tuple):
            waiting.append((True, "]"))
            for place in range(len(item) - 1, -1, -1):
                waiting.append((False, item[place]))
                if place:
                    waiting.append((True, ", "))
            pieces.append("[")
        else:
            pieces.append(format_number(item) if isinstance(item, float) else str(item))
    return "".join(pieces)
