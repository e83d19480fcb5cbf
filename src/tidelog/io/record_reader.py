"""Records from text in Soufflé's form: `[1, [2, nil]]`. `storage.record_text` writes what this reads.

A symbol inside of a record ends at `,` or `]`, or stands in double quotes with `\\"` and `\\\\` for a quote and a
backslash, as the writer does for symbols that need it.
"""

from __future__ import annotations

import re
from itertools import count

from tidelog.io.values import Complaint, shown, text_complaint, value_of_text
from tidelog.language.syntax import PRIMITIVES, Column, Value
from tidelog.looking import Look, unlimited
from tidelog.storage.dictionary import Dictionary

_SPACE = re.compile(r"\s*")
_BARE = re.compile(r"[^,\]]*")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_NIL = re.compile(r"nil(?=\s*(,|\]|$))")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_PACE = 1_024
"""So many values of one record are read between two looks at the limits."""


def record_from_text(text: str, column: Column, dictionary: Dictionary, look: Look = unlimited) -> Value | Complaint:
    """Return the record of a text as nested tuples, or the complaint about it. Depth is not limited. `look` is called
    again and again, and may raise."""
    open_records: list[tuple[tuple[Column, ...], list[Value]]] = []  # the fields wanted, the values read so far
    position = _skip(text, 0)
    expected = column.kind
    for number in count():
        if number % _PACE == 0:
            look()
        # Read the beginning of a value of the kind `expected`.
        if expected in PRIMITIVES:
            found = _primitive(text, position, open_records[-1][0][len(open_records[-1][1])])
            if isinstance(found, Complaint):
                return found
            value, position = found
        elif _NIL.match(text, position):
            value, position = None, position + len("nil")
        elif text.startswith("[", position):
            fields = dictionary.types[expected].fields
            position = _skip(text, position + 1)
            if fields:
                open_records.append((fields, []))
                expected = fields[0].kind
                continue
            if not text.startswith("]", position):
                return _malformed(text, position, "]", column)
            value, position = (), position + 1
        else:
            return _malformed(text, position, "[ or nil", column)
        # Close as many records as end here.
        while open_records:
            fields, values = open_records[-1]
            values.append(value)
            position = _skip(text, position)
            closing = len(values) == len(fields)
            if not text.startswith("]" if closing else ",", position):
                return _malformed(text, position, "]" if closing else ",", column)
            position += 1
            if not closing:
                break
            value = tuple(values)
            open_records.pop()
        else:
            position = _skip(text, position)
            return value if position == len(text) else _malformed(text, position, "the end", column)
        position = _skip(text, position)
        expected = fields[len(values)].kind
    raise AssertionError  # it counts without end


def _primitive(text: str, position: int, field: Column) -> tuple[Value, int] | Complaint:
    quoted = _QUOTED.match(text, position) if field.kind == "symbol" else None
    if quoted:
        return _ESCAPE.sub(r"\1", quoted[1]), quoted.end()
    bare = _BARE.match(text, position)
    piece = bare[0].strip() if bare else ""
    found = text_complaint(piece, field.kind, field.type)
    if found is not None:
        return Complaint(found.code, f"in the record {shown(text)}: {found.message}", found.hint)
    return value_of_text(piece, field.kind), position + len(bare[0] if bare else "")


def _skip(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


def _malformed(text: str, position: int, wanted: str, column: Column) -> Complaint:
    found = shown(text[position : position + 20]) if position < len(text) else "the end"
    message = f"expected {wanted} at character {position + 1} of the record {shown(text)}, found {found}"
    return Complaint("E0401", message, f"write a record of type {column.type} like [1, nil]")
