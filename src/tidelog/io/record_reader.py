"""Records and values with branches from text in Soufflé's form: `[1, [2, nil]]`, `$Cons(1, $Nil)`.
`storage.record_text` writes what this reads.

A symbol inside ends at `,` or the closing bracket, or stands in double quotes with `\\"` and `\\\\` for a quote and a
backslash, as the writer does for symbols that need it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from tidelog.io.values import Complaint, shown, text_complaint, unknown_branch, value_of_text
from tidelog.language.branches import class_of
from tidelog.language.syntax import PRIMITIVES, BranchType, Column, Value
from tidelog.looking import Look, unlimited
from tidelog.storage.dictionary import Dictionary

_SPACE = re.compile(r"\s*")
_BARE = {"]": re.compile(r"[^,\]]*"), ")": re.compile(r"[^,)]*")}
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_NIL = re.compile(r"nil(?=\s*(,|\]|\)|$))")
_BRANCH = re.compile(r"\$\s*([^\W\d?][\w?.]*)\s*(\(\s*\))?")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_PACE = 1_024
"""So many values of one record are read between two looks at the limits."""


@dataclass
class _Open:
    """A record or branch that is being read: the fields wanted, the closing bracket, how its value is made, and the
    values read so far."""

    fields: tuple[Column, ...]
    closing: str
    make: Callable[[list[Value]], Value]
    values: list[Value] = field(default_factory=list)

    @property
    def next(self) -> Column:
        return self.fields[len(self.values)]


def record_from_text(text: str, column: Column, dictionary: Dictionary, look: Look = unlimited) -> Value | Complaint:
    """Return the record or the value with branches of a text, or the complaint about it. Depth is not limited. `look`
    is called again and again, and may raise."""
    reading = _Reading(text, column, dictionary)
    wanted = column
    for number in count():
        if number % _PACE == 0:
            look()
        begun = reading.value(wanted)
        while not isinstance(begun, (_Open, Complaint)) and reading.open:
            begun = reading.close(begun[0])
        if isinstance(begun, Complaint):
            return begun
        if not isinstance(begun, _Open):
            return begun[0] if reading.at_end() else reading.malformed("the end")
        wanted = begun.next
    raise AssertionError  # it counts without end


class _Reading:
    """A text, the position in it, and the records that are open there."""

    def __init__(self, text: str, column: Column, dictionary: Dictionary) -> None:
        self.text = text
        self.column = column
        self.types = dictionary.types
        self.position = 0
        self.open: list[_Open] = []

    def value(self, wanted: Column) -> _Open | tuple[Value] | Complaint:
        """Read the beginning of a value: a whole one, or a record that goes on."""
        self._skip()
        if wanted.kind in PRIMITIVES:
            return self._primitive(wanted)
        type_ = self.types[wanted.kind]
        if type_.branches:
            return self._branch(wanted)
        if _NIL.match(self.text, self.position):
            self.position += len("nil")
            return (None,)
        if not self.text.startswith("[", self.position):
            return self.malformed("[ or nil")
        self.position += 1
        if type_.fields:
            return self._begin(_Open(type_.fields, "]", tuple))
        self._skip()
        if not self.text.startswith("]", self.position):
            return self.malformed("]")
        self.position += 1
        return ((),)

    def _branch(self, wanted: Column) -> _Open | tuple[Value] | Complaint:
        found = _BRANCH.match(self.text, self.position)
        if found is None:
            return self.malformed(f"a branch of {wanted.type}, such as ${self.types[wanted.kind].branches[0].name}")
        type_ = self.types[wanted.kind]
        branch = type_.branch(found[1])
        if branch is None:
            complaint = unknown_branch(found[1], None, type_, wanted.type)
            assert complaint is not None
            return self._inside(complaint)
        begin = found.end()
        if found[2] is None and self.text.startswith("(", begin):
            if not branch.fields:
                self.position = begin
                return self.malformed("no parts")
            self.position = begin + 1
            return self._begin(_Open(branch.fields, ")", lambda values: class_of(branch)(*values)))
        if branch.fields:
            self.position = begin
            names = ", ".join(field.name for field in branch.fields)
            return self.malformed(f"({names})")
        self.position = begin
        return (class_of(branch)(),)

    def _begin(self, opened: _Open) -> _Open:
        self.open.append(opened)
        return opened

    def close(self, value: Value) -> _Open | tuple[Value] | Complaint:
        """Put a value into the innermost record; return this, or its value if it ends here."""
        last = self.open[-1]
        last.values.append(value)
        self._skip()
        complete = len(last.values) == len(last.fields)
        expected = last.closing if complete else ","
        if not self.text.startswith(expected, self.position):
            return self.malformed(expected)
        self.position += 1
        if not complete:
            return last
        self.open.pop()
        return (last.make(last.values),)

    def _primitive(self, wanted: Column) -> tuple[Value] | Complaint:
        quoted = _QUOTED.match(self.text, self.position) if wanted.kind == "symbol" else None
        if quoted:
            self.position = quoted.end()
            return (_ESCAPE.sub(r"\1", quoted[1]),)
        bare = _BARE[self.open[-1].closing].match(self.text, self.position)
        piece = bare[0] if bare else ""
        found = text_complaint(piece.strip(), wanted.kind, wanted.type)
        if found is not None:
            return self._inside(found)
        self.position += len(piece)
        return (value_of_text(piece.strip(), wanted.kind),)

    def at_end(self) -> bool:
        """Return True if nothing follows."""
        self._skip()
        return self.position == len(self.text)

    def _skip(self) -> None:
        space = _SPACE.match(self.text, self.position)
        self.position = space.end() if space else self.position

    @property
    def _sort(self) -> str:
        return "value" if self.types[self.column.kind].branches else "record"

    def _inside(self, found: Complaint) -> Complaint:
        message = f"in the {self._sort} {shown(self.text)}: {found.message}"
        return Complaint(found.code, message, found.hint, self.position)

    def malformed(self, wanted: str) -> Complaint:
        """Return the complaint that something else stands here."""
        position = self.position
        found = shown(self.text[position : position + 20]) if position < len(self.text) else "the end"
        message = f"expected {wanted} at character {position + 1} of the {self._sort} {shown(self.text)}, found {found}"
        hint = f"write a record of type {self.column.type} like [1, nil]"
        if self.types[self.column.kind].branches:
            hint = (
                f"write a value of type {self.column.type} like {_example(self.types[self.column.kind].branches[-1])}"
            )
        return Complaint("E0401", message, hint, position)


def _example(branch: BranchType) -> str:
    """Return the form of a branch."""
    names = ", ".join(field.name for field in branch.fields)
    return f"${branch.name}({names})" if names else f"${branch.name}"
