"""What a committed epoch did, as its user sees it."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any

import numpy

from tidelog.errors import Problem, UsageError
from tidelog.language.syntax import CheckedProgram, RelationType
from tidelog.maintain.deltas import Delta, Outcome, rows_of
from tidelog.maintain.report import Report
from tidelog.relation import Relation, Rows
from tidelog.storage.dictionary import Dictionary
from tidelog.turns import Turns


@dataclass(frozen=True)
class RelationChange:
    """The exact net change of one relation in one epoch."""

    inserted: Relation
    deleted: Relation


class Change:
    """What a committed epoch did: `change[name].inserted` and `.deleted` per relation, and `report`. Its relations stay
    as they are, whatever becomes of the database."""

    def __init__(self, program: CheckedProgram, dictionary: Dictionary, outcome: Outcome, turns: Turns) -> None:
        self._relations: Mapping[str, RelationType] = program.relations
        self._changed: Container[str] = outcome.deltas.keys()
        self._part: Callable[[str], RelationChange] = partial(_part, program.relations, dictionary, outcome, turns)
        self.report: Report = outcome.report
        self.errors: tuple[BaseException, ...] = ()
        """What subscribers raised when they were called with this change."""

    def __getitem__(self, name: str) -> RelationChange:
        """The change of a relation, empty where nothing changed. UsageError (E0601) if there is no such relation."""
        declared(self._relations, name)
        return self._part(name)

    def __iter__(self) -> Iterator[str]:
        """The names of the relations that changed."""
        return (name for name in self._relations if name in self._changed)

    def __reduce__(self) -> tuple[Any, ...]:
        """Everything by itself, for `copy` and `pickle`: the copy needs no database."""
        parts = {name: self._part(name) for name in self._relations}
        state = {"report": self.report, "errors": self.errors, "_relations": dict(self._relations)}
        return _copied, (state | {"_changed": set(self), "_part": parts.__getitem__},)

    def __repr__(self) -> str:
        parts = (f"{name} +{len(self[name].inserted)} -{len(self[name].deleted)}" for name in self)
        return f"<Change: {', '.join(parts) or 'nothing'}; {self.report.seconds:.3f} s>"


def _copied(state: dict[str, Any]) -> Change:
    change = Change.__new__(Change)
    change.__dict__.update(state)
    return change


def _part(
    relations: Mapping[str, RelationType], dictionary: Dictionary, outcome: Outcome, turns: Turns, name: str
) -> RelationChange:
    """What an epoch has changed in a relation."""
    columns = relations[name].columns
    none = numpy.empty((0, len(columns)), numpy.int64)
    delta = outcome.deltas.get(name, Delta(none, none))
    with turns.using:
        came, went = rows_of(delta.inserted), rows_of(delta.deleted)
    inserted, deleted = (Relation(name, Rows(columns, dictionary, words)) for words in (came, went))
    return RelationChange(inserted, deleted)


def declared(relations: Mapping[str, RelationType], name: str) -> RelationType:
    """The relation of this name. UsageError (E0601) if there is none."""
    if name in relations:
        return relations[name]
    near = get_close_matches(str(name), relations, 1)
    hint = f"did you mean {near[0]}?" if near else "declare it with .decl in a program that you load"
    raise UsageError(Problem("E0601", f"there is no relation {name}", hint=hint))
