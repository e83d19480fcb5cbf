"""The engine: asserted facts and views, and their way from one epoch to the next.

An epoch that fails leaves no trace. One that only lacks room in its words is tried again with wider ones. `walk` has
its steps.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from typing import Any

import numpy

from tidelog.common.arrays import AnyWords
from tidelog.common.collecting import old_at_once
from tidelog.kernels.compiling import between_kernels
from tidelog.limits.watch import Watch
from tidelog.maintain.deltas import AnyRows, rows_of
from tidelog.maintain.early import ProjectEarlyError
from tidelog.maintain.epoch import EpochState, load_undo_kernels
from tidelog.maintain.functors import KINDS
from tidelog.maintain.protocol import EpochOptions, Outcome, Report, RowChange, Seal, sealed_at_once
from tidelog.maintain.selecting import UnsettledError
from tidelog.maintain.state import EngineState, StateVersion
from tidelog.maintain.threads import WidenError
from tidelog.maintain.user_aggregates import aggregate_statistics
from tidelog.maintain.user_functors import functor_statistics
from tidelog.maintain.walk import prospect_of, run
from tidelog.profiling.recorder import begin_again
from tidelog.rules.core import Computation, CoreProgram, CoreRule
from tidelog.rules.early_projections import EarlyProgram, with_early_projections
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.rows import narrow
from tidelog.storage.stored import StoredRelation

_LARGE = 100
"""The objects of a program of more hyper-nodes all stay. A search for garbage among them, in its first epoch or the
next one, takes as long as a change of a few facts."""


class EmbeddedEngine(EngineState):
    """The state of an embedded database, with the epochs that change it: an `Engine` of arrays."""

    name = "embedded"

    def epoch(
        self,
        program: CoreProgram,
        changes: Mapping[str, RowChange[AnyRows]],
        watch: Watch,
        choice: EpochOptions,
        seal: Seal[AnyRows] = sealed_at_once,
    ) -> Outcome[AnyRows]:
        """See `Engine`. After an error nothing has changed but for the word size."""
        is_large = not self.views and len(program.nodes) > _LARGE
        with watch.within_memory(), between_kernels(watch.look), old_at_once() if is_large else nullcontext():
            self.readers.passing.busy = True
            try:
                return self._epoch(program, changes, watch, choice, seal)
            finally:
                self.readers.passing.busy = False

    def _epoch(
        self,
        program: CoreProgram,
        changes: Mapping[str, RowChange[AnyRows]],
        watch: Watch,
        choice: EpochOptions,
        seal: Seal[AnyRows],
    ) -> Outcome[AnyRows]:
        started = time.perf_counter()
        early = self._project(program, choice.early_projection)
        program = early.program
        self.catalog.room.limit, self.catalog.room.folder = watch.memory, watch.spill
        given = next((each.given for each in program.functors.values()), None)
        renewed = given is not None and given.aggregates_to_recompute
        steady = program is self.program and not changes and not renewed and not self.recorded
        if steady and self.views and (choice.closures or not self.closures):
            watch.look()
            seal(prospect_of({}, self.views))
            structure = self.structure
            return Outcome({}, Report(time.perf_counter() - started, (), every=lambda: structure.idle))
        for _, graph in self.closures.values():
            with watch.stop_kernels(graph.nodes):
                graph.restore(watch.look, watch.stop)
        for whole in [*self.wholes]:
            whole.keep()
        self.wholes.clear()
        if self.catalog.bits == 32:
            has_wide = program is not self.program and _has_floats(program)
            # Later programs begin again with wide words: a look at all rules would cost each of them.
            has_wide = has_wide or (not self.views and _numbers_values(program))
            if has_wide or any(_is_wide(rows_of(change.inserted)) for change in changes.values()):
                self.widen(watch.look)
        # Other rules may settle.
        unsettled = dict(self.unsettled) if program is self.program else {}
        while True:
            load_undo_kernels(self.catalog.bits)
            attempt = EpochState(self, program, watch, choice, unsettled)
            try:
                outcome = run(attempt, changes, seal)
                self.version, self.early = StateVersion(), early
                self.early_choice.end_trials()
                return outcome
            except UnsettledError as error:
                attempt.undo()
                begin_again()
                unsettled = {**unsettled, **dict.fromkeys(error.args[0], "it did not settle without dominated tuples")}
            except ProjectEarlyError:
                attempt.undo()
                begin_again()
                early = self._project(early.source, choice.early_projection)
                program = early.program
            except WidenError:
                attempt.undo()
                del attempt
                self.widen(watch.look)
                begin_again()
            except BaseException:
                attempt.undo()
                with suppress(MemoryError):  # Epochs that fail one after the other leave no more dead rows than one.
                    attempt.reclaim()
                raise

    def _project(self, program: CoreProgram, choice: str) -> EarlyProgram:
        """Return a program with the early projections of a choice: auto, always or never."""
        names = None if choice == "always" else frozenset() if choice == "never" else self.early_choice.names
        last = self.early
        if last is not None and last.source is program and last.names == names:
            return last
        return with_early_projections(program, names, last)

    def relation(self, name: str) -> AnyRows:
        """Return the rows of a relation, see `Engine`."""
        return self._words(self.views, name)

    def facts(self, name: str) -> AnyRows:
        """Return the asserted facts of a relation."""
        return self._words(self.asserted, self.program.candidates.get(name, name))

    def _words(self, stored: Mapping[str, StoredRelation], name: str) -> AnyWords:
        if name in stored:
            return stored[name].words()
        return numpy.empty((0, len(self.program.relations[name].columns)), numpy.int64)

    def size(self, name: str) -> int:
        """Return the number of rows of a relation."""
        return len(self.views[name]) if name in self.views else 0

    def stats(self) -> dict[str, Any]:
        """Return bytes of memory and those in files, forms of relations, the word size, and totals since the engine was
        made."""
        stored = {each.identity: each for each in [*self.views.values(), *self.asserted.values()]}.values()
        indexes = sum(index.bytes() for each in stored for index in each.indexes.values())
        return {
            "memory": {
                "rows": sum(each.bytes() for each in stored) - indexes,
                "indexes": indexes,
                "dictionary": self.dictionary.bytes(),
                "files": self.catalog.room.in_files,
            },
            "forms": {name: view.form for name, view in self.views.items() if not name.startswith("#")},
            "word_bits": self.catalog.bits,
            **self._calls(),
            "bootstraps": self.bootstraps,
            "updates": self.updates,
            "rounds": self.round,
            "derivations": sum(each.rows_emitted for each in stored),
        }

    def _calls(self) -> dict[str, Any]:
        """Return how functors and aggregates in Python are called, if there are any."""
        called = self.program.functors
        names = {head: rule.own.declared.name for head, rule in self.structure.own.items() if rule.own is not None}
        functors = {name: each for name, each in called.items() if not each.aggregate}
        own = {name: each for name, each in called.items() if each.aggregate}
        found = {"functors": functor_statistics(functors), "aggregates": aggregate_statistics(own, self.large, names)}
        return {sort: each for sort, each in found.items() if each}

    def describe(self) -> str:
        """Return the hyper-nodes in their order, as text."""
        from tidelog.rules.outline import describe

        return describe(self.program)

    def close(self) -> None:
        """Give the memory of facts and views back."""
        self.views.clear()
        self.asserted.clear()


def evaluate_program(
    dictionary: Dictionary, program: CoreProgram, facts: Mapping[str, AnyWords], watch: Watch
) -> EmbeddedEngine:
    """Return an engine of its own that has evaluated a program over these facts. Raises as `Engine.epoch`."""
    engine = EmbeddedEngine(dictionary, CoreProgram({}, {}, ()))
    changes = {name: RowChange(words, words[:0]) for name, words in facts.items()}
    engine.epoch(program, changes, watch, EpochOptions("bootstrap"))
    return engine


def _has_floats(program: CoreProgram) -> bool:
    return any(column.kind == "float" for info in program.relations.values() for column in info.columns)


def _numbers_values(program: CoreProgram) -> bool:
    """Return True if rules take `ord` of symbols or records, whose numbers rarely fit into 32 bits."""
    return any(
        isinstance(each, Computation) and each.functor == "ord" and each.kind not in KINDS
        for node in program.nodes
        for rule in node.rules
        if isinstance(rule, CoreRule)
        for each in rule.body
    )


def _is_wide(rows: AnyWords) -> bool:
    """Return True if some words do not fit into 32 bits."""
    return not narrow(rows)
