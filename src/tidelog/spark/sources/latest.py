"""The latest event of each fact or key: a relation of the database beside the one that a feed changes.

`sensor.latest` has a row for each key of `sensor`, deleted ones included: the key, the words of the order (`orders`) of
its latest event, and whether that event has asserted. It is part of the program and its rows are facts like others. So
it lasts, gathers, comes back and goes to another engine with the facts that it is about, in the same commits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from tidelog.errors import DataError, Problem, UsageError
from tidelog.io.keys import key_positions
from tidelog.language.syntax import CheckedProgram, Column, Kind, RelationType
from tidelog.spark.sources.checks import WrongType
from tidelog.spark.sources.orders import KINDS, OrderForm, form_of, kinds_of

_NAMES: dict[OrderForm, tuple[str, ...]] = {
    "whole": ("?order",),
    "fraction": ("?order", "?part"),
    "tie": ("?tie",),
}
_ASSERTED = "?asserted"
_TEXT = "?text"
"""The name of a word that an earlier version kept."""
_OWN = ("?order", "?part", "?tie", _TEXT, _ASSERTED)


@dataclass(frozen=True)
class Latest:
    """The relation with the latest event of each key of another one. `key` are positions of columns, ascending; without
    a key of the user these are all columns. `forms` are those of the columns of the order; the last one is a tie,
    unless the key is all columns, or an earlier version has declared the relation."""

    of: RelationType
    key: tuple[int, ...]
    forms: tuple[OrderForm, ...]

    @property
    def name(self) -> str:
        return f"{self.of.name}.latest"

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The key, the words of the order, and 1 or 0."""
        keys = [self.of.columns[position] for position in self.key]
        names = [
            (f"{part}{i}", kind)
            for i, form in enumerate(self.forms)
            for part, kind in zip(_NAMES[form], KINDS[form], strict=True)
        ]
        return (*keys, *(Column(name, kind, kind) for name, kind in [*names, (_ASSERTED, "number")]))

    @property
    def declaration(self) -> str:
        """The text that declares it."""
        return f".decl {self.name}({', '.join(f'{column.name}: {column.type}' for column in self.columns)})\n"

    @property
    def order_kinds(self) -> list[Kind]:
        """The kinds of the words of the order."""
        return kinds_of(self.forms)


def latest_of(
    program: CheckedProgram,
    relation: RelationType,
    key: Sequence[str] | None,
    order: Sequence[str],
    frame: DataFrame,
) -> Latest | None:
    """Return the relation with the latest events of `relation`: as it is declared, or as the columns `order` of a frame
    need it; None without an order.

    UsageError (E0685) where the database keeps another key or an order of another number of columns, DataError (E0480,
    E0481) for columns of the frame that are missing or cannot say when.
    """
    if not order:
        return None
    forms, problems = [], []
    types: Mapping[str, T.DataType] = {field.name: field.dataType for field in frame.schema.fields}
    for name in order:
        if name not in types:
            message = f"the frame has no column {name!r}; found {', '.join(types) or 'no columns'}"
            problems.append(
                Problem("E0480", message, place=relation.name, hint="name the column of the order as the frame does")
            )
            continue
        try:
            forms.append(form_of(f"{relation.name}, order {name}", types[name]))
        except WrongType as wrong:
            problems.append(wrong.problem)
    if problems:
        raise DataError(*problems)
    positions = key_positions(relation, key)
    ties: list[OrderForm] = ["tie"] if len(positions) < len(relation.columns) else []
    wanted = Latest(relation, positions, (*forms, *ties))
    declared = program.relations.get(wanted.name)
    return wanted if declared is None else _declared(wanted, declared)


def _declared(wanted: Latest, declared: RelationType) -> Latest:
    """Return the relation of latest events as it is declared. UsageError (E0685) where it is not the wanted one."""
    names = [column.name for column in declared.columns]
    orders = [name for name in names if name.startswith("?order")]
    key = tuple(name for name in names if not name.startswith(_OWN))
    if names[-1:] != [_ASSERTED] or not orders:
        message = f"{wanted.name} is declared, but not as tidelog keeps the latest events of {wanted.of.name} there"
        raise UsageError(Problem("E0685", message, place="order", hint="give that relation another name"))
    if any(name.startswith(_TEXT) for name in names):
        message = f"an earlier version of tidelog ordered the events of {wanted.of.name} by texts"
        raise UsageError(Problem("E0685", message, place="order", hint="begin with an empty state folder"))
    own = tuple(wanted.of.columns[position].name for position in wanted.key)
    if key != own:
        message = f"the latest events of {wanted.of.name} are kept by the key {_said(key)}, found the key {_said(own)}"
        hint = "use the same key for all feeds of a relation, or begin with an empty state folder"
        raise UsageError(Problem("E0685", message, place="key", hint=hint))
    count = len([form for form in wanted.forms if form != "tie"])
    if len(orders) != count:
        message = f"{wanted.of.name} has an order of {len(orders)} columns, found one of {count}"
        hint = "use the same order for all feeds of a relation, or begin with an empty state folder"
        raise UsageError(Problem("E0685", message, place="order", hint=hint))
    found: list[OrderForm] = ["fraction" if f"?part{i}" in names else "whole" for i in range(count)]
    if any(name.startswith("?tie") for name in names):
        found.append("tie")
    return Latest(wanted.of, wanted.key, tuple(found))


def _said(key: Sequence[str]) -> str:
    return f"({', '.join(key)})"
