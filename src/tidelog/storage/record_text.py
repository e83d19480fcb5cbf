"""Records and values with branches as text, in Soufflé's form: `[1, [2, nil]]`, `$Cons(1, $Nil)`. `io.record_reader`
reads it again."""

from __future__ import annotations

import re
from collections.abc import Callable

from tidelog.language.branches import Branch
from tidelog.language.syntax import Value

_BARE = re.compile(r'[^\s",\[\]\\]([^",\[\]\\\n\r]*[^\s",\[\]\\])?')
_PARENTHESES = re.compile(r"[()]")


def format_number(value: float) -> str:
    """Return the shortest text that reads back as the same float; integral ones have no point: `1`, `0.1`, `1e+22`."""
    text = repr(float(value))
    return text[:-2] if text.endswith(".0") else text


def format_symbol(text: str, in_branch: bool = False) -> str:
    """Return a symbol inside a record or branch: in quotes if it could not be read otherwise."""
    if _BARE.fullmatch(text) and not (in_branch and _PARENTHESES.search(text)):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def format_value(value: Value, symbol: Callable[[str, bool], str] = format_symbol) -> str:
    """Return a value as text; `symbol` formats symbols, and gets to know whether they are in a branch. Python's stack
    does not limit its depth."""
    pieces: list[str] = []
    # An entry is text to be copied, or a value; and whether it is inside of a branch.
    waiting: list[tuple[bool, Value, bool]] = [(False, value, False)]
    while waiting:
        literal, item, inside = waiting.pop()
        if literal:
            pieces.append(str(item))
        elif isinstance(item, str):
            pieces.append(symbol(item, inside))
        elif item is None:
            pieces.append("nil")
        elif isinstance(item, Branch) and not item:
            pieces.append(f"${item._name}")
        elif isinstance(item, tuple):
            branch = isinstance(item, Branch)
            waiting.append((True, ")" if branch else "]", inside))
            for place in range(len(item) - 1, -1, -1):
                waiting.append((False, item[place], inside or branch))
                if place:
                    waiting.append((True, ", ", inside))
            pieces.append(f"${item._name}(" if isinstance(item, Branch) else "[")
        else:
            pieces.append(format_number(item) if isinstance(item, float) else str(item))
    return "".join(pieces)
