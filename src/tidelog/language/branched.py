"""Algebraic data types as they are declared: the names of their branches, the records that represent their values, and
types that have no value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidelog.common.source import Span
from tidelog.errors import Problem
from tidelog.language.syntax import BranchDeclaration, BranchType, CheckedProgram, Column, RecordType, TypeDeclaration


def branch_names(types: Iterable[TypeDeclaration], problems: list[Problem]) -> dict[str, str]:
    """Return for each branch the type that declares it first, and report (E0261) branches that are declared twice."""
    owners: dict[str, str] = {}
    first: dict[str, BranchDeclaration] = {}
    for type_ in types:
        for branch in type_.branches:
            other = first.setdefault(branch.name, branch)
            owners.setdefault(branch.name, type_.name)
            if other is not branch:
                notes = ((other.span, "first declared here"),) if other.span else ()
                message = f"the branch `{branch.name}` is declared twice"
                hint = "rename one of the two: the branches of all types have different names"
                problems.append(Problem("E0261", message, branch.span, notes, hint))
    return owners


def branched(name: str, branches: Sequence[tuple[str, tuple[Column, ...]]], span: Span | None) -> RecordType:
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


def endless(checked: CheckedProgram) -> list[Problem]:
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
