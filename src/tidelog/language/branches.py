"""Algebraic data types: their values in Python, a named tuple for each branch, and the types as they are declared.

Two values are equal if they are of the same branch and have equal parts, so that `A(1)` is neither `B(1)` nor `(1,)`.
The order, by branch and then by parts, makes `sorted` work; the language has none. Comparing and hashing go through
nested values without recursion, because lists of a hundred thousand elements are values too.

Inside of an engine a value is a record of its type: the number of the branch, and places that the branches share
(`parts_of`, `value_of`). The places of other branches hold FILLERS.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, ClassVar, Self

from tidelog.common.source import Span
from tidelog.errors import Problem, UsageError
from tidelog.language.problems import note
from tidelog.language.syntax import (
    BranchDeclaration,
    BranchType,
    CheckedProgram,
    Column,
    Kind,
    RecordType,
    TypeDeclaration,
)

_FILLERS: dict[Kind, int | float | str] = {"number": 0, "unsigned": 0, "float": 0.0, "symbol": ""}


class Branch(tuple[Any, ...]):
    """A value of an algebraic data type; its class, which `db.branch` returns, is that of its branch."""

    __slots__ = ()
    _name: ClassVar[str]
    _fields: ClassVar[tuple[str, ...]]

    def __new__(cls, *values: Any, **named: Any) -> Branch:
        """Return the value with these parts, by position or by the names of the fields."""
        given = dict(zip(cls._fields, values, strict=False)) | named if named else None
        if given is not None and len(given) == len(values) + len(named) and given.keys() == set(cls._fields):
            values = tuple(given[name] for name in cls._fields)
        elif given is not None or len(values) != len(cls._fields):
            fields = ", ".join(cls._fields)
            found = ", ".join([*map(repr, values), *named]) or "none"
            message = f"`{cls._name}` takes {len(cls._fields)} values, found {found:.60}"
            raise UsageError(Problem("E0605", message, hint=f"write {cls._name}({fields})"))
        return super().__new__(cls, values)

    @classmethod
    def _make(cls, values: Iterable[Any]) -> Self:
        """Return the value with these parts, of which there are as many as fields."""
        return tuple.__new__(cls, values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Branch) and _same(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(tuple(_leaves(self)))

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Branch):
            return NotImplemented
        return (self._name, tuple(self)) < (other._name, tuple(other))

    def __le__(self, other: object) -> bool:
        return self == other or self < other

    def __gt__(self, other: object) -> bool:
        if not isinstance(other, Branch):
            return NotImplemented
        return other < self

    def __ge__(self, other: object) -> bool:
        return self == other or self > other

    def __repr__(self) -> str:
        pieces: list[str] = []
        waiting: list[tuple[bool, Any]] = [(False, self)]  # is it text to be copied, and the text or the value
        while waiting:
            literal, item = waiting.pop()
            if literal or not isinstance(item, Branch):
                pieces.append(item if literal else repr(item))
                continue
            waiting.append((True, ")"))
            for place in range(len(item) - 1, -1, -1):
                waiting.append((False, item[place]))
                waiting.append((True, f"{', ' if place else ''}{item._fields[place]}="))
            pieces.append(f"{item._name}(")
        return "".join(pieces)

    def __reduce__(self) -> tuple[Any, ...]:
        return _branch_value, (self._name, self._fields, tuple(self))


def _branch_value(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Branch:
    return branch_class(name, fields)(*values)


@cache
def branch_class(name: str, fields: tuple[str, ...]) -> type[Branch]:
    places = {each: property(itemgetter(i)) for i, each in enumerate(fields) if each.isidentifier()}
    own = {"__slots__": (), "_name": name, "_fields": fields, "__match_args__": fields, "__module__": __name__}
    return type(name, (Branch,), {**places, **own})


@cache
def class_of(branch: BranchType) -> type[Branch]:
    return branch_class(branch.name, tuple(column.name for column in branch.fields))


def make_branch(name: str, values: Sequence[Any]) -> Branch:
    """Return the value of a branch whose declaration is not at hand: its fields are called `f0`, `f1`, …"""
    return branch_class(name, tuple(f"f{i}" for i in range(len(values))))(*values)


def filler(kind: Kind) -> int | float | str | None:
    """Return what stands in a place of this kind that a branch does not use."""
    return _FILLERS.get(kind)


def parts_of(type_: RecordType, value: object) -> list[Any] | None:
    """Return the record that represents a value of a type with branches; None for other values."""
    branch = type_.branch(value._name) if isinstance(value, Branch) else None
    if branch is None or len(branch.fields) != len(value):  # type: ignore[arg-type]
        return None
    parts: list[Any] = [type_.branches.index(branch), *(filler(column.kind) for column in type_.fields[1:])]
    for place, part in zip(branch.places, value, strict=True):  # type: ignore[call-overload]
        parts[place] = part
    return parts


def value_of(branch: BranchType, parts: Sequence[Any]) -> Branch:
    """Return the value of a branch that a record represents."""
    return class_of(branch)(*[parts[place] for place in branch.places])


def _same(one: Branch, other: Branch) -> bool:
    waiting: list[tuple[Any, Any]] = [(one, other)]
    while waiting:
        a, b = waiting.pop()
        if a is b:
            continue
        if isinstance(a, tuple) and isinstance(b, tuple):
            if len(a) != len(b) or getattr(a, "_name", None) != getattr(b, "_name", None):
                return False
            waiting += zip(a, b, strict=True)
        elif a != b:
            return False
    return True


def _leaves(value: Branch) -> Iterator[Any]:
    """Yield what determines a value: the branches with the numbers of their parts, and the parts that have none."""
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, tuple):
            yield getattr(item, "_name", None), len(item)
            waiting += item
        else:
            yield item


# --- types ------------------------------------------------------------------------------------------------------------


def branch_names(types: Iterable[TypeDeclaration], problems: list[Problem]) -> dict[str, str]:
    """Return for each branch the type that declares it first, and report (E0261) branches that are declared twice."""
    owners: dict[str, str] = {}
    first: dict[str, BranchDeclaration] = {}
    for type_ in types:
        for branch in type_.branches:
            other = first.setdefault(branch.name, branch)
            owners.setdefault(branch.name, type_.name)
            if other is not branch:
                message = f"the branch `{branch.name}` is declared twice"
                hint = "rename one of the two: the branches of all types have different names"
                problems.append(Problem("E0261", message, branch.span, note(other.span, "first declared here"), hint))
    return owners


def branched_type(name: str, branches: Sequence[tuple[str, tuple[Column, ...]]], span: Span | None) -> RecordType:
    """Return the type with branches of these names and fields. Fields of the same kind share places in the record,
    except those of one branch, so the record is as long as it has to be."""
    columns = [Column("branch", "number", "number")]
    found: dict[str, BranchType] = {}
    for branch, fields in branches:
        free = list(range(1, len(columns)))
        places = []
        for field in fields:
            place = next((each for each in free if columns[each].kind == field.kind), None)
            if place is None:
                place = len(columns)
                columns.append(Column(f"part{place}", field.kind, field.kind))
            else:
                free.remove(place)
            places.append(place)
        found.setdefault(branch, BranchType(branch, fields, tuple(places)))
    return RecordType(name, tuple(columns), tuple(found.values()), span=span)


def types_without_values(checked: CheckedProgram) -> list[Problem]:
    """Return a warning (E0293) for each type without finite values, because each branch needs another value of such a
    type."""
    types = {name: type_ for name, type_ in checked.records.items() if type_.branches}
    founded: set[str] = set()
    size = -1
    while size != len(founded):
        size = len(founded)
        for name, type_ in types.items():
            if any(all(f.kind not in types or f.kind in founded for f in branch.fields) for branch in type_.branches):
                founded.add(name)
    hint = "add a branch that contains no value of the type, such as `End {}`"
    return [
        Problem(
            "E0293",
            f"the type `{name}` has no values: each branch contains another one",
            type_.span,
            hint=hint,
            severity="warning",
        )
        for name, type_ in types.items()
        if name not in founded
    ]
