"""Records and values with branches as text, in Soufflé's form: `[1, [2, nil]]`, `$Cons(1, $Nil)`. `io.record_reader`
reads it again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from tidelog.language.branches import Branch
from tidelog.language.printer import quote_string
from tidelog.language.syntax import Value

_BARE = re.compile(r'[^\s",\[\]\\]([^",\[\]\\\n\r]*[^\s",\[\]\\])?')
_VALUE, _TEXT, _END = range(3)
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
    inside = 0  # of so many branches
    # An entry is text to be copied, a value, or the end of a branch.
    waiting: list[tuple[int, Value]] = [(_VALUE, value)]
    while waiting:
        sort, item = waiting.pop()
        if sort == _TEXT:
            pieces.append(item)  # type: ignore[arg-type]
        elif sort == _END:
            pieces.append(")")
            inside -= 1
        elif isinstance(item, str):
            pieces.append(symbol(item, inside > 0))
        elif item is None:
            pieces.append("nil")
        elif isinstance(item, tuple):
            if isinstance(item, Branch):
                pieces.append(f"${item._name}")
                if not item:
                    continue
                pieces.append("(")
                waiting.append((_END, None))
                inside += 1
            else:
                pieces.append("[")
                waiting.append((_TEXT, "]"))
            for place in range(len(item) - 1, -1, -1):
                waiting.append((_VALUE, item[place]))
                if place:
                    waiting.append((_TEXT, ", "))
        else:
            pieces.append(format_number(item) if isinstance(item, float) else str(item))
    return "".join(pieces)


def row_text(relation: str, values: Iterable[Value]) -> str:
    """Return a tuple as a program has it: `edge(1, "a")`."""
    return f"{relation}({', '.join(map(value_text, values))})"


def value_text(value: Value) -> str:
    """Return a value as a program has it."""
    return format_value(value, lambda text, _: quote_string(text))
