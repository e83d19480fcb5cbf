"""Epochs report each relation and closure to readers before they change it.

    with reporting() as attempts:
        ...                     # epochs, kept or taken back; WrongError for a change that nobody has reported

Before each attempt at an epoch, all rows, births and closures are copied. A report must find them unchanged. Once
nothing is left to change, and again in the end, all those that were not reported must be unchanged, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy
import pytest

from tests.scripts import WrongError
from tidelog.kernels import layout
from tidelog.maintain.epoch import EpochState
from tidelog.maintain.state import EngineState
from tidelog.storage.closed_relation import ClosedRelation
from tidelog.storage.closure import Closure
from tidelog.storage.stored import StoredRelation

Image = tuple[object, ...]


@dataclass
class Attempt:
    """An attempt at an epoch: how many relations and closures it has reported, and whether it was taken back."""

    relations: int = 0
    closures: int = 0
    undone: bool = False


class Observer:
    """A reader that knows how everything was before an attempt."""

    def __init__(self, engine: EngineState, attempt: Attempt) -> None:
        self.attempt = attempt
        self.pictures: dict[int, tuple[str, Callable[[], Image], Image]] = {}
        for what, relations in (("view", engine.views), ("facts", engine.asserted)):
            for name, stored in relations.items():
                self._keep(stored, f"the {what} of {name}")
        self.reported: set[int] = set()
        engine.readers.add(self)

    def _keep(self, stored: StoredRelation, what: str) -> None:
        if isinstance(stored, ClosedRelation):
            graph = stored.graph
            self.pictures[id(graph)] = what, lambda: picture_of(graph), picture_of(graph)
        else:
            self.pictures[id(stored)] = what, lambda: picture(stored), picture(stored)

    def _report(self, number: int) -> bool:
        """Look at what is reported for the first time, if it was there before. Return True then."""
        if number in self.reported or number not in self.pictures:
            return False
        self._look(number, "before it was reported")
        self.reported.add(number)
        return True

    def _look(self, number: int, when: str) -> None:
        what, now, before = self.pictures[number]
        if now() != before:
            raise WrongError(f"{what} changed {when}")

    def preserve(self, stored: StoredRelation) -> None:
        self.attempt.relations += self._report(id(stored))

    def preserve_closure(self, graph: Closure, *, changed: bool) -> None:
        self.attempt.closures += self._report(id(graph))

    def look(self) -> None:
        """Raise WrongError if something has changed that was not reported."""
        for number in self.pictures.keys() - self.reported:
            self._look(number, "and was not reported")


def picture(stored: StoredRelation) -> Image:
    """Return all that readers see of a relation."""
    size, epochs = stored.rows * stored.arity, stored.epochs
    counts = stored.marks.counts_in_place()
    return (
        stored.rows, stored.dead, stored._rows.view(stored.catalog.dtype, size).tobytes(),
        (counts == layout.DEAD).tobytes(), (counts > 0).tobytes(), stored.marks.births().tobytes(),
        None if epochs is None else epochs.runs().tobytes(),
    )  # fmt: skip


def picture_of(graph: Closure) -> Image:
    """Return all that readers see of a closure."""
    if not graph.is_whole:  # It has no picture, and nobody reads it.
        return ()
    return tuple(numpy.sort(graph.words(numpy.dtype(numpy.int64)), axis=0).tolist())


@contextmanager
def reporting() -> Iterator[list[Attempt]]:
    """Inside, raise WrongError when an epoch changes what it has not reported. Gives a list that gets the attempts."""
    attempts: list[Attempt] = []
    observers: list[Observer] = []
    begin, list_deaths, finish, undo = (
        getattr(EpochState, name) for name in ("__init__", "list_deaths", "finish", "undo")
    )

    def begin_observed(state: EpochState, engine: EngineState, *arguments: Any) -> None:
        begin(state, engine, *arguments)
        attempts.append(Attempt())
        observers[:] = [Observer(engine, attempts[-1])]

    def list_observed(state: EpochState) -> None:
        list_deaths(state)
        observers[0].look()

    def finish_observed(state: EpochState, *arguments: Any) -> Any:
        outcome = finish(state, *arguments)
        observers[0].look()
        return outcome

    def undo_observed(state: EpochState) -> None:
        undo(state)
        attempts[-1].undone = True
        observers[0].look()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EpochState, "__init__", begin_observed)
        patch.setattr(EpochState, "list_deaths", list_observed)
        patch.setattr(EpochState, "finish", finish_observed)
        patch.setattr(EpochState, "undo", undo_observed)
        yield attempts
