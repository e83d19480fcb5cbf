"""The engine: asserted facts and views, and their way from one epoch to the next.

An epoch that fails leaves no trace. One that only lacks room in its words is tried again with wider ones. `walk` has
its steps.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress

from tidelog.arrays import AnyWords
from tidelog.limits.watch import Watch, changing_within_memory
from tidelog.maintain import undoing
from tidelog.maintain.choice import EpochOptions
from tidelog.maintain.deltas import Outcome, Seal, sealed_at_once
from tidelog.maintain.epoch import EpochState
from tidelog.maintain.machine import WidenError
from tidelog.maintain.report import Report
from tidelog.maintain.state import EngineState
from tidelog.maintain.walk import run
from tidelog.rules.core import CoreProgram
from tidelog.storage.dictionary import Dictionary


class EmbeddedEngine(EngineState):
    """The state of an embedded database, with the epochs that change it."""

    def epoch(
        self,
        program: CoreProgram,
        changes: Mapping[str, tuple[AnyWords, AnyWords]],
        watch: Watch,
        choice: EpochOptions,
        seal: Seal = sealed_at_once,
    ) -> Outcome:
        """Go to `program` and apply `changes`, relation -> (rows to assert, rows to retract), both net of each other.

        Raise LimitError (where memory runs out, E0503), KeyboardInterrupt, or an error of `seal`. An epoch that raises
        changes nothing except the word size. `seal` is called when all is worked out and nothing else can go wrong,
        unless there was nothing to do.
        """
        with changing_within_memory:
            return self._epoch(program, changes, watch, choice, seal)

    def _epoch(
        self,
        program: CoreProgram,
        changes: Mapping[str, tuple[AnyWords, AnyWords]],
        watch: Watch,
        choice: EpochOptions,
        seal: Seal,
    ) -> Outcome:
        started = time.perf_counter()
        if program is self.program and not changes and self.views and (choice.closures or not self.closures):
            watch.look()
            structure = self.structure
            return Outcome({}, Report(time.perf_counter() - started, (), every=lambda: structure.idle))
        for _, graph in self.closures.values():
            with watch.telling(graph.nodes):
                graph.restore(watch.look, watch.stop)
        for whole in list(self.wholes):
            whole.keep()
        self.wholes.clear()
        if self.catalog.bits == 32:
            has_floats = program is not self.program and _has_floats(program)
            if has_floats or any(_is_wide(rows) for rows, _ in changes.values()):
                self.widen(watch.look)
        while True:
            undoing.make_ready(self.catalog.bits)
            attempt = EpochState(self, program, watch, choice)
            try:
                return run(attempt, changes, seal)
            except WidenError:
                attempt.undo()
                del attempt
                self.widen(watch.look)
            except BaseException:
                attempt.undo()
                with suppress(MemoryError):  # Epochs that fail one after the other leave no more dead rows than one.
                    attempt.reclaim()
                raise


def evaluated(
    dictionary: Dictionary, program: CoreProgram, facts: Mapping[str, AnyWords], watch: Watch
) -> EmbeddedEngine:
    """Return a new engine that has evaluated a program over these facts. Raise the errors of `Engine.epoch`."""
    engine = EmbeddedEngine(dictionary, CoreProgram({}, {}, ()))
    changes = {name: (words, words[:0]) for name, words in facts.items()}
    engine.epoch(program, changes, watch, EpochOptions("bootstrap"))
    return engine


def _has_floats(program: CoreProgram) -> bool:
    return any(column.kind == "float" for info in program.relations.values() for column in info.columns)


def _is_wide(rows: AnyWords) -> bool:
    """Return True if some words do not fit into 32 bits."""
    return bool(rows.size and (rows.min() < -(2**31) or rows.max() >= 2**31))
