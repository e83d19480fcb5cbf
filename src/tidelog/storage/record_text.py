"""Records as text, in Soufflé's form: `[1, [2, nil]]`. `io.record_reader` reads it again."""

from __future__ import annotations

import re
from collections.abc import Callable

from tidelog.language.syntax import Value

_BARE = re.compile(r'[^\s",\[\]\\]([^",\[\]\\\n\r]*[^\s",\[\]\\])?')


def format_number(value: float) -> str:
    """Return the shortest text that reads back as the same float; integral ones have no point: `1`, `0.1`, `1e+22`."""
    text = repr(float(value))
    return text[:-2] if text.endswith(".0") else text


def format_symbol(text: str) -> str:
    """Return a symbol inside a record: in quotes if it could not be read otherwise."""
    if _BARE.fullmatch(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def format_value(
    value: Value,
    nil: str = "nil",
    symbol: Callable[[str], str] = format_symbol,
    number: Callable[[float], str] = format_number,
) -> str:
    """Return a value as text; the arguments format its parts. Python's stack does not limit its depth."""
    pieces: list[str] = []
    waiting: list[tuple[bool, Value]] = [(False, value)]  # is it text to be copied, and the text or the value
    while waiting:
        literal, item = waiting.pop()
        if literal:
            pieces.append(str(item))
        elif isinstance(item, str):
            pieces.append(symbol(item))
        elif item is None:
            pieces.append(nil)
        elif isinstance(item, tuple):
            waiting.append((True, "]"))
            for place in range(len(item) - 1, -1, -1):
                waiting.append((False, item[place]))
                if place:
                    waiting.append((True, ", "))
            pieces.append("[")
        else:
            pieces.append(number(item) if isinstance(item, float) else str(item))
    return "".join(pieces)
