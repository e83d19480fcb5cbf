"""The state of an epoch: everything that it replaces or changes, until it succeeds or is undone.

An `Overlay` over each table of the engine contains everything that an epoch replaces. The epoch notes the relations,
closures and large groups that it changes in place, to undo the changes (`EpochState.undo`) or to keep them
(`EpochState.finish`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence, Set
from contextlib import suppress
from functools import cache, partial
from typing import Any, TypeVar

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import AnyWords
from tidelog.functions.callables import GivenFunctions, Remembered
from tidelog.kernels import layout
from tidelog.kernels.calling import at_each_stage
from tidelog.limits.watch import Watch
from tidelog.maintain.assemble import UNIT
from tidelog.maintain.deltas import AnyRows, Delta, History, rows_of
from tidelog.maintain.large_groups import LargeGroups
from tidelog.maintain.protocol import EpochOptions, NodeReport, Outcome, Report
from tidelog.maintain.state import EngineState
from tidelog.maintain.structure import Structure
from tidelog.maintain.threads import cores, share_removals
from tidelog.maintain.user_aggregates import OwnGroups
from tidelog.rules.core import CoreProgram, HyperNode
from tidelog.rules.graph import coarsen_nodes
from tidelog.storage.catalog import Catalog
from tidelog.storage.changes import call_all_new, change_facts, date, field_total, settle_change, with_nonzero
from tidelog.storage.closed_relation import ClosedRelation
from tidelog.storage.closure import Closure
from tidelog.storage.extents import RowEpochs
from tidelog.storage.memory import Block
from tidelog.storage.stored import StoredRelation

Value = TypeVar("Value")
_RECLAIM = 4_096
"""Dead rows of a relation below this number are not worth reclaiming."""
_RESERVE = 3 << 20
"""Bytes for what taking an epoch back, or ending it, needs beside the memory that it has: Python's own objects."""


class Overlay(MutableMapping[str, Value]):
    """`base` with the changes in `changed` and `removed`. Making one and applying it takes time in proportion to the
    changes, not to the base."""

    def __init__(self, base: dict[str, Value]) -> None:
        self.base = base
        self.changed: dict[str, Value] = {}
        self.removed: dict[str, None] = {}

    def apply(self) -> None:
        """Make the changes those of the base."""
        self.base.update(self.changed)
        for name in self.removed:
            del self.base[name]

    def of(self, names: Set[str]) -> dict[str, Value]:
        """Return those of the names that are there, with their values."""
        found = {**self.base, **self.changed}
        for name in (*self.removed, *(found.keys() - names)):
            found.pop(name, None)
        return found

    def lacks(self, names: frozenset[str]) -> bool:
        """Return True if none of the names is here, or was in the base. It takes time in proportion to the smaller
        ones."""
        return self.base.keys().isdisjoint(names) and self.changed.keys().isdisjoint(names)

    def several(self, names: Sequence[str]) -> list[Value]:
        """Return the values of names that are there, faster than one by one."""
        if self.changed.keys().isdisjoint(names):
            return [*map(self.base.__getitem__, names)]
        return [self[name] for name in names]

    def __getitem__(self, name: str) -> Value:
        if name in self.changed:
            return self.changed[name]
        if name in self.removed:
            raise KeyError(name)
        return self.base[name]

    def __setitem__(self, name: str, value: Value) -> None:
        self.changed[name] = value
        self.removed.pop(name, None)

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self.changed.pop(name, None)
        if name in self.base:
            self.removed[name] = None

    def __contains__(self, name: object) -> bool:
        return name in self.changed or (name in self.base and name not in self.removed)

    def __iter__(self) -> Iterator[str]:
        yield from (name for name in self.base if name not in self.removed)
        yield from (name for name in self.changed if name not in self.base)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@cache
def load_undo_kernels(bits: int) -> None:
    """Load all kernels that take changes of relations back or make them last: now, and whenever more kernels become
    machine code; once per process and size of words. An epoch is undone when memory, time or the disk are exhausted. To
    load or compile kernels at that moment would need all three."""
    _change_relation(bits)
    at_each_stage(partial(_change_relation, bits))


@cache
def load_closure_undo_kernels() -> None:
    """Load all kernels that take changes of closures back, as `load_undo_kernels` does."""
    _change_closure()
    at_each_stage(_change_closure)


def _change_relation(bits: int) -> None:
    """Take a change of a small relation back, and make one last."""
    stored = StoredRelation(Catalog(bits), 2)
    stored.insert(numpy.array([[1, 2], [3, 4]]))
    stored.index((0,))
    stored.settle()
    for end in (stored.take_back, stored.close):
        stored.open()
        change_facts(stored, numpy.array([0]), numpy.array([[5, 6]]))
        stored.settle()
        end()


def _change_closure() -> None:
    """Take a change of a small closure back, and keep one."""
    graph = Closure()
    graph.build([numpy.array([[1, 2], [2, 3]])])
    graph.change(numpy.array([[2, 3]]), numpy.array([[3, 1]]), float("inf"))
    graph.take_back(list)
    graph.keep()


class EpochState:
    """One attempt at an epoch: the state of the engine as the epoch leaves it, and the objects changed in place."""

    def __init__(
        self,
        engine: EngineState,
        program: CoreProgram,
        watch: Watch,
        choice: EpochOptions,
        unsettled: dict[str, str] | None = None,
    ) -> None:
        unsettled = engine.unsettled if unsettled is None else unsettled
        self.engine = engine
        self.program = program
        self.watch = watch
        self.choice = choice
        self.started = time.perf_counter()
        self.threads = choice.threads or cores()
        """How many threads may share the work."""
        self.growing = engine.catalog.growing
        self.views = Overlay(engine.views)
        self.asserted = Overlay(engine.asserted)
        self.structure = engine.structure
        self.is_new = program is not engine.program or not engine.views or unsettled != engine.unsettled
        """True if there are other rules than before; only then every relation and every hyper-node is looked at."""
        self.unsettled = unsettled
        if self.is_new:
            groups = [frozenset(node.relations) for node in engine.nodes if len(node.relations) > 1]
            parts = program.nodes_to_evaluate(unsettled)
            self.structure = Structure(program, coarsen_nodes(parts, groups), parts, engine.structure)
        known = engine.program.relations if engine.views else {}
        relations = program.relations.items() if self.is_new else ()
        self.described = [name for name, info in relations if known.get(name) is not info]
        """The relations that are new or have other columns, perhaps."""
        self.reshaped = {
            name
            for name in self.described
            if name in engine.views and engine.views[name].arity != len(program.relations[name].columns)
        }
        """Auxiliary relations of a rule that another one of the same name has replaced."""
        for name in self.reshaped:
            del self.views[name], self.asserted[name]
        self.derived = self.structure.node_positions
        self.before = engine.structure.node_positions
        self.deltas: dict[str, Delta] = {}
        self.facts: dict[str, tuple[AnyWords, AnyWords]] = {}
        """For derived relations whose asserted facts have changed: the rows that came and that went."""
        self.opened: dict[int, StoredRelation] = {}
        self.begun: dict[int, StoredRelation] = {}
        """Relations whose change readers in other threads must not see, those among them that are open no more."""
        self.died: dict[int, NDArray[numpy.int32]] = {}
        """The rows of open relations that die, once nothing is left to change and somebody reads."""
        self.dated: list[tuple[StoredRelation, RowEpochs | None]] = []
        """Relations whose rows have got an epoch, with the epochs that another object had before."""
        self.shifted: list[tuple[StoredRelation, int]] = []
        self.large = Overlay(engine.large)
        self.costs: dict[str, float] = {}
        self.kept: list[HyperNode] = []
        """The hyper-nodes after the epoch: one that is bootstrapped is as fine as the rules allow."""
        self.split: dict[int, list[HyperNode]] = {}
        """The positions of hyper-nodes that are others after the epoch, and these."""
        self.round = engine.round
        self.next_number = engine.next_number
        self.closures = Overlay(engine.closures)
        """The relations that are kept as closures, with shapes and graphs."""
        self.mirrors = Overlay(engine.mirrors)
        """The relations that share the graph of a closure, with that closure."""
        self.followed: list[str] = []
        """Closures that have been changed in place."""
        self.written: set[str] = set()
        """Relations for which the pairs of a closure had to be written."""
        self.wasted = 0.0
        """Seconds of updates that were given up."""
        self.grouped: list[LargeGroups | OwnGroups] = []
        """The groups of `large` that the epoch has changed."""
        self.reserve: Block | None = Block(_RESERVE)
        """Given back before what must not fail."""
        given = self.user_functions
        names = given.aggregates_to_recompute if given is not None else frozenset[str]()
        self.renewed = {
            name: rule.own.declared.name
            for name, rule in (self.structure.own.items() if names else ())
            if rule.own is not None and rule.own.declared.name in names
        }
        """The relations of aggregates that have other functions in Python than in the last epoch, with their names."""
        self.former = {} if given is None else given.renew()

    def readers(self, name: str) -> tuple[int, ...]:
        """Return the positions of the hyper-nodes that read a relation."""
        return self.structure.readers(name)

    @property
    def user_functions(self) -> GivenFunctions | None:
        """The functions in Python that rules call, now or in the last epoch."""
        functors = (*self.program.functors.values(), *self.engine.program.functors.values())
        return next((each.given for each in functors), None)

    @property
    def memories(self) -> list[Remembered]:
        """Return the remembered results of functors in Python."""
        return [] if self.user_functions is None else [*self.user_functions.remembered.values()]

    # --- changing relations ------------------------------------------------------------------------------------------

    def open(self, stored: StoredRelation) -> StoredRelation:
        """Begin to change a relation in place."""
        if id(stored) not in self.opened:
            self.begun[id(stored)] = stored
            self.engine.readers.begin(stored)
            self.opened[id(stored)] = stored
            stored.open()
        return stored

    def changeable(self, name: str) -> StoredRelation:
        """Return a view as one that can be changed in place, although its counts may be wrong."""
        if not self.views[name].marks.has_counts:
            self.views[name] = self.views[name].copy_to(self.engine.catalog, counted=True)
        return self.views[name]

    def note(self, name: str, stored: StoredRelation) -> int:
        """Settle the change of an open relation and note it; return the number of rows inserted and deleted."""
        died, born = settle_change(stored)
        if len(died) or len(born):
            inserted = self.engine.whole(stored) if len(born) == stored.rows else stored.take(born)
            self.deltas[name] = Delta(inserted, stored.take(died))
        return len(died) + len(born)

    def note_new(self, name: str) -> None:
        """Note that all rows of a relation, which had none, have come."""
        new = self.views[name]
        if len(new):
            none = numpy.empty((0, new.arity), numpy.int64)
            self.deltas[name] = Delta(self.engine.whole(new), none)
            if self.engine.nodes and new.marks.has_counts and not isinstance(new, ClosedRelation):
                call_all_new(self.open(new))

    def history(self, relation: str, closure: str = "") -> History:
        """Return the history of a relation in this epoch; of the asserted facts of the `closure` itself."""
        if relation == closure:
            stored = self.asserted[relation]
            none = stored.words(0)
            inserted, deleted = self.facts.get(relation, (none, none))
            return History(stored.words, inserted, deleted)
        stored = self.views[relation] if relation in self.views else self.engine.views[relation]
        none = numpy.empty((0, stored.arity), numpy.int64)
        delta = self.deltas.get(relation, Delta(none, none))
        return History(stored.words, rows_of(delta.inserted), rows_of(delta.deleted))

    # --- the end of the epoch ----------------------------------------------------------------------------------------

    def other_state(self) -> dict[str, Any]:
        """Return the engine's fields under other rules or finer hyper-nodes, which may drop relations."""
        engine, structure = self.engine, self.structure
        if self.split:
            nodes = tuple(part for i, node in enumerate(structure.nodes) for part in self.split.get(i, [node]))
            structure = Structure(self.program, nodes, structure.parts, structure)
        names = self.program.relations.keys() | structure.node_positions.keys()
        views = self.views.of(names | {UNIT})
        return {
            "nodes": structure.nodes,
            "_structure": structure,
            "views": views,
            "asserted": self.asserted.of(names),
            "large": {name: large for name, large in self.large.items() if name in self.derived},
            "closures": {name: kept for name, kept in self.closures.items() if name in views},
            "mirrors": {name: shown for name, shown in self.mirrors.items() if name in views},
            "costs": {**engine.costs, **self.costs},
        }

    def list_deaths(self) -> None:
        """List the rows that die, which readers in other threads need after the end. Nothing changes any more."""
        for stored in with_nonzero(self.opened.values(), layout.R_OUT_N):
            self.died[id(stored)] = stored.journal.rows(layout.OUT).astype(numpy.int32)

    def finish(
        self, state: Mapping[str, Any], dropped: tuple[NodeReport, ...], visited: Mapping[int, NodeReport]
    ) -> Outcome[AnyRows]:
        """Make the result the state of the engine. Nothing in here can fail."""
        engine, self.reserve = self.engine, None
        engine.readers.commit((stored, self.died.get(number)) for number, stored in self.begun.items())
        dying = with_nonzero(self.opened.values(), layout.R_OUT_N)
        works: list[Callable[[int], None]] = []
        for stored in dying:
            works += stored.removals()
        share_removals(works, field_total(dying, layout.R_OUT_N), self.threads, engine.catalog.hashes)
        for stored in self.opened.values():
            stored.finish()
        for large in self.grouped:
            large.keep()
        for name in self.followed:
            engine.closures[name][1].keep()
        for memory in self.memories:
            memory.keep()
        if self.user_functions is not None:
            self.user_functions.keep()
        if self.is_new:
            called = {each.key for each in self.program.functors.values()}
            for each in engine.program.functors.values():
                if each.key not in called:
                    each.given.remembered.pop(each.key, None)
        spent = 0.0
        for name, seconds in self.costs.items():
            spent += seconds - engine.costs.get(name, 0.0)
        engine.program, engine.compressing, engine.round = self.program, self.choice.closures, self.round
        engine.unsettled = self.unsettled
        engine.next_number, engine.recorded = self.next_number, {}
        for field, value in state.items():
            setattr(engine, field, value)
        if not state:
            for overlay in (self.views, self.asserted, self.large, self.closures, self.mirrors):
                overlay.apply()
            engine.costs |= self.costs
        engine.spent += spent
        engine.readers.end(self.begun.values())
        with suppress(MemoryError):  # They can be reclaimed another time.
            self.reclaim()
        nodes = self.structure.nodes
        told = [*dropped]
        for i, report in visited.items():
            if not self.structure.labels_of(nodes[i]).prepares:
                told.append(report)
        for report in told:
            engine.bootstraps += report.strategy == "bootstrap"
            engine.updates += report.strategy == "update"
        seconds, growing = time.perf_counter() - self.started, engine.catalog.growing - self.growing
        every = partial(self.structure.reports, dropped, visited)
        return Outcome(self.deltas, Report(seconds, tuple(told), growing, every))

    def note_epoch(self, stored: StoredRelation, first: int) -> None:
        """Note that facts from row `first` on have come in this epoch."""
        self.dated.append((stored, stored.epochs))
        stored.epochs = stored.epochs or RowEpochs()
        stored.epochs.note(first, self.engine.epoch_number)

    def date_facts(self, stored: StoredRelation, facts: StoredRelation) -> None:
        """Give the rows of a relation that is reduced to its facts the epochs of these."""
        self.dated.append((stored, stored.epochs))
        stored.epochs = None
        date(stored, facts.words(), facts.epochs_of(facts.live()))

    def reclaim(self) -> None:
        """Put copies in the place of the changed relations in which more rows are dead than alive."""
        engine = self.engine
        for stored in self.opened.values():
            if _is_sparse(stored):
                tables = (engine.views, engine.asserted)
                places = [(table, name) for table in tables for name, each in table.items() if each is stored]
                compact = stored.copy_to(engine.catalog)
                for table, name in places:  # From here on nothing asks for memory.
                    table[name] = compact

    def undo(self) -> None:
        """Take everything back. It asks for no memory but the little that was reserved."""
        self.reserve = None
        for stored, before in reversed(self.dated):
            if before is stored.epochs and before is not None:
                before.take_back()
            stored.epochs = before
        self.dated.clear()
        for stored in self.opened.values():
            if stored.changing:
                stored.take_back()
        for stored, offset in self.shifted:
            stored.marks.shift_births(-offset)
        for name in self.followed:
            self.engine.take_back_closure(name)
        for large in self.grouped:
            large.take_back()
        for memory in self.memories:
            memory.take_back()
        if self.user_functions is not None:
            self.user_functions.take_back(self.former)
        self.engine.readers.end(self.begun.values())


def _is_sparse(stored: StoredRelation) -> bool:
    return stored.dead > _RECLAIM and stored.dead > len(stored)
