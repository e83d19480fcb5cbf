"""The change of a committed epoch, as its user sees it, and the subscribers who hear of it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy
from numpy.typing import NDArray

from tidelog.common.markup import change_table
from tidelog.errors import flag
from tidelog.io.relation import Relation, WordRows, find_relation_type, sorted_rows
from tidelog.language.syntax import CheckedProgram, Column, RelationType
from tidelog.limits.interrupts import Interrupts
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
        self._part: Callable[[str], RelationChange] = cache(
            partial(_part, program.relations, dictionary, outcome, turns)
        )
        self.report: Report = outcome.report
        self.errors: tuple[BaseException, ...] = ()
        """The errors that subscribers raised when they were called with this change."""
        dictionary.hold(self)

    def words_in_use(self) -> Iterator[tuple[tuple[Column, ...], NDArray[Any]]]:
        """Return the words, which the dictionary keeps as long as this change exists."""
        for name in self:
            for part in (self._deltas[name].inserted, self._deltas[name].deleted):
                yield self._relations[name].columns, held_rows(part)

    def __getitem__(self, name: str) -> RelationChange:
        """Return the change of a relation, empty if nothing changed. Raise UsageError (E0601) if there is no such
        relation."""
        find_relation_type(self._relations, name)
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
        return _rebuild_change, (state,)

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


def _rebuild_change(state: dict[str, Any]) -> Change:
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


class SubscribedChange(Protocol):
    """A change that subscribers hear of; `errors` is what they raise."""

    errors: tuple[BaseException, ...]


Made = TypeVar("Made", bound=SubscribedChange)
Part = TypeVar("Part")
Subscriber: TypeAlias = tuple[str, Callable[[Made], Any], Callable[[Any], object]]
"""A subscriber: its name for the log, its part of a change, and the function."""


class Subscribers(Generic[Made]):
    """Functions that are called with their part of a change, epoch by epoch, also where one of them commits."""

    def __init__(self) -> None:
        self._entries: list[Subscriber[Made]] = []
        self._lock = threading.Lock()
        self._untold: list[tuple[Made, bool]] = []
        self._telling = False
        self._missed: list[tuple[Subscriber[Made], Any]] = []
        """Entries that raised at an epoch of a stream, with their part of its change."""

    def add(
        self, name: str, part: Callable[[Made], Part | None], callback: Callable[[Part], object]
    ) -> Callable[[], None]:
        """Call a function from now on with its `part` of a change, if it has one; returns a function that ends this.
        `name` is for the log."""
        entry = (name, part, callback)
        with self._lock:
            self._entries = [*self._entries, entry]

        def end() -> None:
            with self._lock:
                self._entries = [other for other in self._entries if other is not entry]

        return end

    def publish(self, change: Made, interrupts: Interrupts, *, again: bool = False) -> None:
        """Call everyone for whom a change has a part, by a thread that keeps others from changing the database.

        Exceptions that they raise become `change.errors`, and are in the log too. With `again`, `repeat` calls those
        that raised once more. A Ctrl-C ends the one that is under way, and is delivered when all is done.
        """
        self._untold.append((change, again))
        if self._telling:
            return
        self._telling = True
        try:
            while self._untold:
                told, repeated = self._untold.pop(0)
                told.errors = self._call(told, interrupts, repeated)
        finally:
            self._telling = False

    def repeat(self) -> None:
        """Call those again that raised, with the same part of the change, in the order in which they did. Raise what
        one raises; it is then called again the next time, and so are those behind it."""
        while self._missed:
            entry, heard = self._missed[0]
            if entry in self._entries:
                entry[2](heard)
            self._missed.pop(0)

    def _call(self, change: Made, interrupts: Interrupts, again: bool) -> tuple[BaseException, ...]:
        errors: list[BaseException] = []
        pressed, interrupts.pressed = interrupts.pressed, False
        for entry in self._entries:
            name, part, callback = entry
            begun, heard = False, None
            while not begun:  # A Ctrl-C may come before the call.
                try:
                    heard = part(change)
                    if heard is None:
                        break
                    with interrupts.let_through():
                        callback((begun := True) and heard)
                except BaseException as error:
                    if isinstance(error, KeyboardInterrupt) and interrupts.before is not None:
                        pressed = True
                    else:
                        begun = True
                        errors.append(error)
                        if again and heard is not None:
                            self._missed.append((entry, heard))
                        logging.getLogger("tidelog").error("a subscriber of %s has failed", name, exc_info=error)
            pressed, interrupts.pressed = pressed or interrupts.pressed, False
        if pressed:
            interrupts.pressed = True
        return tuple(errors)
