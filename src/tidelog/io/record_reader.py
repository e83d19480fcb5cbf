"""Records and values with branches from text in Soufflé's form: `[1, [2, nil]]`, `$Cons(1, $Nil)`.
`storage.record_text` writes what this reads.

A symbol inside ends at `,` or the closing bracket, or stands in double quotes with `\\"` and `\\\\` for a quote and a
backslash, as the writer does for symbols that need it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count

from tidelog.common.looking import Look, ignore_limits
from tidelog.errors import quote
from tidelog.io.values import Complaint, text_complaint, unknown_branch, value_of_text
from tidelog.language.branches import class_of
from tidelog.language.syntax import PRIMITIVES, BranchType, Column, Value
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.records import RecordTypes

_SPACE = re.compile(r"\s*")
_BARE = {"]": re.compile(r"[^,\]]*"), ")": re.compile(r"[^,)]*")}
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_NIL = re.compile(r"nil(?=\s*(,|\]|\)|$))")
_BRANCH = re.compile(r"\$\s*(\??[^\W\d][\w?.]*)\s*(\(\s*\))?")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_PACE = 1_024
"""So many values of one record are read between two looks at the limits."""


_Make = Callable[[list[Value]], Value]
_Open = tuple[tuple[Column, ...], list[Value], str, _Make]
"""A record or branch that is being read: the fields wanted, the values read so far, the closing bracket, and how its
value is made."""


def record_from_text(
    text: str, column: Column, dictionary: Dictionary, look: Look = ignore_limits
) -> Value | Complaint:
    """Return the record or the value with branches of a text, or the complaint about it. Depth is not limited. `look`
    is called again and again, and may raise."""
    types = dictionary.types
    open_: list[_Open] = []
    position = _skip(text, 0)
    wanted = column
    value: Value
    for number in count():
        if number % _PACE == 0:
            look()
        # Read the beginning of a value of the kind wanted.
        if wanted.kind in PRIMITIVES:
            found = _primitive(text, position, wanted, open_[-1][2], column, types)
            if isinstance(found, Complaint):
                return found
            value, position = found
        elif types[wanted.kind].branches:
            begun = _branch(text, position, wanted, column, types)
            if isinstance(begun, Complaint):
                return begun
            branch, position, closed = begun
            if not closed:
                open_.append((branch.fields, [], ")", class_of(branch)._make))
                wanted = branch.fields[0]
                continue
            value = class_of(branch)()
        elif _NIL.match(text, position):
            value, position = None, position + len("nil")
        elif text.startswith("[", position):
            fields = types[wanted.kind].fields
            position = _skip(text, position + 1)
            if fields:
                open_.append((fields, [], "]", tuple))
                wanted = fields[0]
                continue
            if not text.startswith("]", position):
                return _malformed_value(text, position, "]", column, types)
            value, position = (), position + 1
        else:
            return _malformed_value(text, position, "[ or nil", column, types)
        # Close as many records as end here.
        while open_:
            fields, values, bracket, make = open_[-1]
            values.append(value)
            position = _skip(text, position)
            closing = len(values) == len(fields)
            if not text.startswith(bracket if closing else ",", position):
                return _malformed_value(text, position, bracket if closing else ",", column, types)
            position += 1
            if not closing:
                break
            value = make(values)
            open_.pop()
        else:
            position = _skip(text, position)
            return value if position == len(text) else _malformed_value(text, position, "the end", column, types)
        position = _skip(text, position)
        wanted = fields[len(values)]
    raise AssertionError  # it counts without end


def _branch(
    text: str, position: int, wanted: Column, column: Column, types: RecordTypes
) -> tuple[BranchType, int, bool] | Complaint:
    """Read `$name`, and `(` if parts follow; return also the place behind, and True if the value is complete."""
    type_ = types[wanted.kind]
    found = _BRANCH.match(text, position)
    if found is None:
        return _malformed_value(
            text, position, f"a branch of {wanted.type}, such as ${type_.branches[0].name}", column, types
        )
    complaint = unknown_branch(found[1], None, type_, wanted.type)
    branch = type_.branch(found[1])
    if branch is None or complaint is not None:
        assert complaint is not None
        return _inside(text, position, complaint, column, types)
    position = found.end()
    if found[2] is None and text.startswith("(", position):
        if not branch.fields:
            return _malformed_value(text, position, "no parts", column, types)
        return branch, _skip(text, position + 1), False
    if branch.fields:
        return _malformed_value(text, position, f"({', '.join(field.name for field in branch.fields)})", column, types)
    return branch, position, True


def _primitive(
    text: str, position: int, field: Column, closing: str, column: Column, types: RecordTypes
) -> tuple[Value, int] | Complaint:
    quoted = _QUOTED.match(text, position) if field.kind == "symbol" else None
    if quoted:
        return _ESCAPE.sub(r"\1", quoted[1]), quoted.end()
    bare = _BARE[closing].match(text, position)
    piece = bare[0].strip() if bare else ""
    found = text_complaint(piece, field.kind, field.type)
    if found is not None:
        return _inside(text, position, found, column, types)
    return value_of_text(piece, field.kind), position + len(bare[0] if bare else "")


def _skip(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


def _inside(text: str, position: int, found: Complaint, column: Column, types: RecordTypes) -> Complaint:
    sort = "value" if types[column.kind].branches else "record"
    return Complaint(found.code, f"in the {sort} {quote(text)}: {found.message}", found.hint, position)


def _malformed_value(text: str, position: int, wanted: str, column: Column, types: RecordTypes) -> Complaint:
    """Return the complaint that something else stands at this position."""
    found = quote(text[position : position + 20]) if position < len(text) else "the end"
    branches = types[column.kind].branches
    sort = "value" if branches else "record"
    message = f"expected {wanted} at character {position + 1} of the {sort} {quote(text)}, found {found}"
    hint = f"write a {sort} of type {column.type} like {_example(branches[-1]) if branches else '[1, nil]'}"
    return Complaint("E0401", message, hint, position)


def _example(branch: BranchType) -> str:
    """Return the form of a branch."""
    names = ", ".join(field.name for field in branch.fields)
    return f"${branch.name}({names})" if names else f"${branch.name}"
