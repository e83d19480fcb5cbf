"""The change of a committed epoch, as its user sees it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy
from numpy.typing import NDArray

from tidelog.common.markup import change_table
from tidelog.errors import flag
from tidelog.io.relation import Relation, WordRows, declared
from tidelog.io.sorting import sorted_rows
from tidelog.language.syntax import CheckedProgram, Column, RelationType
from tidelog.limits.watch import reading_within_memory
from tidelog.maintain.deltas import AnyRows, Delta, held_rows
from tidelog.maintain.protocol import Outcome, Report
from tidelog.storage.dictionary import Dictionary
from tidelog.workspace.turns import Turns

MOST_SHOWN = 20
"""Rows of a relation, and relations, that a notebook shows of a change."""


@dataclass(frozen=True)
class EqualRows:
    """The report of an `insert` of which some `rows` are equal to others: so many `duplicates` that add no fact."""

    relation: str
    rows: int
    duplicates: int

    def __repr__(self) -> str:
        few = "is equal to another one" if self.duplicates == 1 else "are equal to others"
        return f"<{self.duplicates:,} of {self.rows:,} rows of {self.relation} {few}: equal rows are one fact>"


@dataclass(frozen=True)
class RelationChange:
    """The exact net change of one relation in one epoch."""

    inserted: Relation
    deleted: Relation

    def to_dict(self, *, rows: bool = False) -> dict[str, Any]:
        """Return the numbers of tuples, or with `rows` the sorted tuples, as JSON has them."""
        both = {"inserted": self.inserted, "deleted": self.deleted}
        shows = flag("rows", rows)
        return {key: sorted_rows(relation) if shows else len(relation) for key, relation in both.items()}


class Change:
    """The change of one epoch: `change[name].inserted` and `.deleted` per relation, and `report`. Its relations stay
    as they are, whatever becomes of the database."""

    def __init__(
        self, program: CheckedProgram, dictionary: Dictionary, outcome: Outcome[AnyRows], turns: Turns
    ) -> None:
        self._relations: Mapping[str, RelationType] = program.relations
        self._order: Mapping[str, int] = program.order
        self._changed: Collection[str] = outcome.deltas.keys()
        self._deltas = outcome.deltas
        self._part: Callable[[str], RelationChange] = partial(_part, program.relations, dictionary, outcome, turns)
        self.report: Report = outcome.report
        self.errors: tuple[BaseException, ...] = ()
        """The errors that subscribers raised when they were called with this change."""
        dictionary.hold(self)

    def held(self) -> Iterator[tuple[tuple[Column, ...], NDArray[Any]]]:
        """Return the words, which the dictionary keeps as long as this change exists."""
        for name in self:
            for part in (self._deltas[name].inserted, self._deltas[name].deleted):
                yield self._relations[name].columns, held_rows(part)

    def __getitem__(self, name: str) -> RelationChange:
        """Return the change of a relation, empty if nothing changed. Raise UsageError (E0601) if there is no such
        relation."""
        declared(self._relations, name)
        return self._part(name)

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the relations that changed, in the order of their declarations."""
        return iter(sorted((name for name in self._changed if name in self._order), key=self._order.__getitem__))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._changed and name in self._order

    def knows(self, name: str) -> bool:
        """Return True if there is a relation, changed or not: for modules of this package."""
        return name in self._relations

    def __reduce__(self) -> tuple[Any, ...]:
        """Everything by itself, for `copy` and `pickle`: the copy needs no database."""
        parts = {name: self._part(name) for name in self._relations}
        state = {"report": self.report, "errors": self.errors, "_relations": dict(self._relations)}
        state |= {"_order": dict(self._order), "_changed": set(self), "_part": parts.__getitem__}
        return _copied, (state,)

    def _repr_html_(self) -> str:
        names = list(self)
        if not names:
            return "<p>nothing changed</p>"
        tables = [self._table(name) for name in names[:MOST_SHOWN]]
        more = len(names) - len(tables)
        return "".join(tables) + (f"<p>and {more} more relations</p>" if more else "")

    def _table(self, name: str) -> str:
        part = self[name]
        rows = [("+", row) for row in part.inserted.cells(MOST_SHOWN)]
        rows += [("-", row) for row in part.deleted.cells(MOST_SHOWN - len(rows))]
        inserted, deleted = len(part.inserted), len(part.deleted)
        more = f", the first {MOST_SHOWN} shown" if inserted + deleted > MOST_SHOWN else ""
        heads = [column.name for column in part.inserted.columns]
        return change_table(f"{name}: +{inserted:,} -{deleted:,}{more}", heads, rows)

    def __repr__(self) -> str:
        parts = (f"{name} +{len(self[name].inserted)} -{len(self[name].deleted)}" for name in self)
        return f"<Change: {', '.join(parts) or 'nothing'}; {self.report.seconds:.3f} s>"


def _copied(state: dict[str, Any]) -> Change:
    change = Change.__new__(Change)
    change.__dict__.update(state)
    return change


def _part(
    relations: Mapping[str, RelationType], dictionary: Dictionary, outcome: Outcome[AnyRows], turns: Turns, name: str
) -> RelationChange:
    """Return the change of one relation in an epoch."""
    with turns.using, reading_within_memory:
        columns = relations[name].columns
        none = numpy.empty((0, len(columns)), numpy.int64)
        delta = outcome.deltas.get(name, Delta(none, none))
        parts = [Relation(name, WordRows(columns, dictionary, rows)) for rows in (delta.inserted, delta.deleted)]
        return RelationChange(*parts)
