"""Values from elsewhere: whether a tuple fits its relation, and rows as the user writes them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from tidelog.errors import DataError, Problem, UsageError, quote, quote_name
from tidelog.language.branches import Branch, class_of
from tidelog.language.syntax import BranchType, Column, Kind, RecordType
from tidelog.network.limits import DEEPEST, LONGEST_NAME, LONGEST_TEXT, is_name, is_sendable, unwritable
from tidelog.network.program import LocatedProgram, LocatedTuple, NodeRow
from tidelog.rules.core import CoreConstant, CoreLiteral, Pack, Unpack
from tidelog.semantics.values import LARGEST, LARGEST_UNSIGNED, SMALLEST


def fits(fact: LocatedTuple, program: LocatedProgram) -> str | None:
    """Return the error of a tuple from elsewhere, None if it fits. A relation that is not known here may come with a
    rule that is still on its way."""
    place = program.places.get(fact[0])
    if place is None:
        return None
    if len(fact[1]) != len(place.columns):
        return "wrong type"
    pairs = zip(fact[1], place.columns, strict=True)
    if not all(has_kind(value, column.kind, program.records) for value, column in pairs):
        return "wrong type"
    return None if unwritable(fact[1]) is None else "not UTF-8"


def has_kind(value: Any, kind: Kind, records: Mapping[str, RecordType]) -> bool:
    """Return True if a value is stored as one of this kind."""
    match kind:
        case "number":
            return type(value) is int and SMALLEST <= value <= LARGEST
        case "unsigned":
            return type(value) is int and 0 <= value <= LARGEST_UNSIGNED
        case "float":
            return type(value) is float and not math.isnan(value)
        case "symbol":
            return type(value) is str
        case _ if records[kind].branches:
            branch = records[kind].branch(value[0]) if type(value) is tuple and value else None
            return (
                branch is not None
                and len(value) == len(branch.fields) + 1
                and all(
                    has_kind(part, field.kind, records) for part, field in zip(value[1:], branch.fields, strict=True)
                )
            )
        case _:
            fields = records[kind].fields
            return value is None or (
                type(value) is tuple
                and len(value) == len(fields)
                and all(has_kind(part, field.kind, records) for part, field in zip(value, fields, strict=True))
            )


def facts_of(relation: str, rows: Iterable[Any], program: LocatedProgram) -> list[LocatedTuple]:
    """Return facts from a user. Raise UsageError if there is no such relation (E0601) or it is every node's own
    (E0621), DataError (E0401, E0408) if a row does not fit, or (E0402) is too large for a packet."""
    place = program.places[require_relation(relation, program)]
    if place.location is None:
        message = f"cannot change {relation}: it has no location, so each node has its own copy"
        raise UsageError(Problem("E0621", message, hint="state its facts in the program"))
    try:
        is_one = isinstance(rows, (str, bytes, Mapping)) or not hasattr(rows, "__iter__")
        given = None if is_one else iter(rows)
    except (TypeError, NotImplementedError):  # of what cannot be gone through, such as a sparse matrix
        given = None
    if given is None:
        message = f"expected rows of {relation}, found a value of type {type(rows).__name__}"
        raise DataError(Problem("E0407", message, place=relation, hint="pass a list of tuples"))
    return [fact_of(relation, row, program, number) for number, row in enumerate(given, 1)]


def fact_of(relation: str, row: Any, program: LocatedProgram, number: int = 1) -> LocatedTuple:
    """Return a fact, the row of this number, as nodes store it. Raise as `facts_of`, but for a relation that every node
    has for itself."""
    place = program.places[require_relation(relation, program)]
    if not isinstance(row, (tuple, list)):
        message = f"row {number} of {relation} is not a tuple: {quote(row)}"
        raise DataError(Problem("E0407", message, place=relation, hint="pass a list of tuples"))
    try:
        fact = (relation, stored_row(row, place.columns, program.records))
        problem = fits(fact, program)
    except RecursionError:
        raise _too_large(f"row {number} of {relation} is too large to send", relation) from None
    if problem == "not UTF-8":
        message = f"row {number}: the symbol {quote(unwritable(fact[1]))} cannot be written in UTF-8"
        raise DataError(Problem("E0408", message, place=relation, hint="remove unpaired surrogates"))
    if len(row) != len(place.columns) or problem is not None:
        shape = ", ".join(f"{column.name}: {column.kind}" for column in place.columns)
        message = f"row {number} does not fit {relation}({shape}): {quote(row)}"
        raise DataError(
            Problem("E0401", message, place=relation, hint="pass one value of the declared type for each column")
        )
    owner = program.owner(fact)
    if not (place.location is None or is_name(owner)):
        what = f"has a location that cannot name a node: {owner!r:.60}"
        raise _too_large(f"row {number} of {relation} {what}", relation)
    if not is_sendable(fact[1]):
        raise _too_large(f"row {number} of {relation} is too large to send", relation)
    return fact


def _too_large(message: str, relation: str) -> DataError:
    hint = f"limit texts to {LONGEST_TEXT} characters, records to {DEEPEST} levels, names to {LONGEST_NAME} bytes"
    return DataError(Problem("E0402", message, place=relation, hint=hint))


def require_relation(relation: str, program: LocatedProgram) -> str:
    """Return the name of a relation of a program. Raise UsageError (E0601) for an unknown name."""
    place = program.places.get(relation) if isinstance(relation, str) else None
    if place is None or place.auxiliary:
        known = [name for name, each in program.places.items() if not each.auxiliary]
        hint = f"use one of {', '.join(known)}"
        raise UsageError(Problem("E0601", f"there is no relation {quote_name(relation)}", hint=hint))
    return relation


def shown_rows(rows: Iterable[NodeRow], relation: str, program: LocatedProgram) -> set[NodeRow]:
    """Return tuples of a relation as the user sees them."""
    if not any(type_.branches for type_ in program.records.values()):
        return set(rows)
    return {shown_row(row, relation, program) for row in rows}


def shown_row(row: NodeRow, relation: str, program: LocatedProgram) -> NodeRow:
    """Return a tuple of a relation as the user sees it."""
    columns = program.places[relation].columns
    return tuple(shown_value(value, column.kind, program.records) for value, column in zip(row, columns, strict=True))


def shown_value(value: Any, kind: Kind, records: Mapping[str, RecordType]) -> Any:
    """Return a stored value as the user sees it."""
    if kind not in records or value is None:
        return value
    branch = records[kind].branch(value[0]) if records[kind].branches else None
    fields, parts = (records[kind].fields, value) if branch is None else (branch.fields, value[1:])
    values = [shown_value(part, field.kind, records) for part, field in zip(parts, fields, strict=True)]
    return tuple(values) if branch is None else class_of(branch)(*values)


def with_branch_names(literal: CoreLiteral) -> CoreLiteral:
    """Return a literal about values with branches as one about records that begin with the name of the branch. Nodes
    keep and send such values so, because packets and files are JSON."""
    match literal:
        case Pack(target=target, kind=kind, args=args, branch=BranchType(name=name, places=places)):
            return Pack(target, kind, (CoreConstant(name, "symbol"), *(args[place] for place in places)))
        case Unpack(source=source, kind=kind, targets=targets, branch=BranchType(name=name, places=places)):
            return Unpack(source, kind, (CoreConstant(name, "symbol"), *(targets[place] for place in places)))
    return literal


def stored_row(row: Iterable[Any], columns: Iterable[Column], records: Mapping[str, RecordType]) -> NodeRow:
    """Return a row as it is stored, without the values that are too many."""
    return tuple(stored_value(value, column.kind, records) for value, column in zip(row, columns, strict=False))


def equal_float(value: int) -> float | int:
    """Return the float that is equal to an integer, or the integer itself if no float is."""
    with suppress(OverflowError):
        return float(value) if float(value) == value else value
    return value


def stored_value(value: Any, kind: Kind, records: Mapping[str, RecordType]) -> Any:
    """Return a value as it is stored: ints are floats in a float column, no zero is negative, lists are tuples, and
    values with branches begin with the name of the branch. What does not fit comes out as something that does not."""
    if kind == "float" and type(value) is float:
        return value + 0.0
    if kind == "float" and type(value) is int:
        return equal_float(value)
    if kind not in records or not isinstance(value, (list, tuple)):
        return value
    type_, parts = records[kind], tuple(value)
    name: tuple[Any, ...] = ()
    if isinstance(value, Branch):
        name = (value._name,)
    elif type_.branches:
        name, parts = parts[:1], parts[1:]
    fields = type_.parts(name[0] if name else None)
    if len(fields) != len(parts) or (type_.branches and not any(name == (each.name,) for each in type_.branches)):
        return (*name, *parts)
    return (*name, *(stored_value(part, field.kind, records) for part, field in zip(parts, fields, strict=True)))
