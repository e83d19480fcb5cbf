"""Rules that are evaluated once, over the views of an engine.

Views are read in place and by their indexes; the relations that the rules derive are temporary. The first evaluation
drops the indexes that it had to make: a query may be asked only once. From the second one on they stay, like the
assembled plans of a single hyper-node without recursion. Evaluation from scratch is that of `maintain.bootstrap`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext

import numpy

from tidelog.arrays import AnyWords
from tidelog.kernels import layout
from tidelog.limits.watch import Watch
from tidelog.maintain.assemble import UNIT
from tidelog.maintain.bootstrap import bootstrap
from tidelog.maintain.machine import Inputs, Interpreter, Job, WidenError, narrow
from tidelog.maintain.state import EngineState
from tidelog.maintain.statistics import LiveStatistics
from tidelog.rules.core import CoreProgram, CoreRule, HyperNode
from tidelog.rules.plans import plan_full
from tidelog.storage.catalog import Catalog
from tidelog.storage.memory import Block
from tidelog.storage.stored import StoredRelation

_WORK_BEFORE_LOOK = 10_000_000


class Evaluation:
    """A program whose relation `goal` is asked for. The engine has all relations that it reads, except `facts`."""

    def __init__(self, core: CoreProgram, goal: str, facts: tuple[str, ...]) -> None:
        self._core = core
        self._goal = goal
        self._facts = facts
        self._asked = 0
        self._assembled: _Assembled | None = None

    @property
    def nodes(self) -> tuple[HyperNode, ...]:
        """The hyper-nodes of the program, in the order of evaluation."""
        return self._core.nodes

    def reads(self, kept: Mapping[str, object]) -> tuple[str, ...]:
        """Return the relations that the rules read and do not derive, other than `facts`, where those in `kept` need
        no evaluation."""
        nodes = self._nodes(kept)
        made = {*self._facts, *(name for node in nodes for name in node.relations)}
        return tuple(dict.fromkeys(name for node in nodes for name in node.reads if name not in made))

    def remaining(self, kept: Mapping[str, object]) -> CoreProgram:
        """Return the program without the relations that are `kept` already."""
        return CoreProgram(self._core.relations, self._core.records, self._nodes(kept))

    def _nodes(self, kept: Mapping[str, object]) -> tuple[HyperNode, ...]:
        """Return the hyper-nodes to evaluate: parts of paths may be there, under the same names."""
        return tuple(node for node in self._core.nodes if any(name not in kept for name in node.relations))

    def rows(self, state: EngineState, facts: Mapping[str, AnyWords], watch: Watch) -> AnyWords:
        """Return the rows of the goal, each once. Raises LimitError, KeyboardInterrupt and MemoryError; the state of
        the engine stays as it is."""
        self._asked += 1
        if self._assembled is not None and self._assembled.is_valid(state):
            rows = self._assembled.run(facts, watch)
            if rows is not None:
                return rows
        self._assembled = None
        nodes = self._nodes(state.views)
        read = [name for name in (*self.reads(state.views), UNIT) if name in state.views]
        views = {name: state.views[name] for name in read}
        try:
            with _without_new_indexes(views) if self._asked == 1 else nullcontext():
                relations = self._relations(state.catalog, views, facts)
                self._evaluate(nodes, state, state.catalog, relations, watch)
                if self._asked > 1 and _is_plain(nodes) and self._goal in nodes[0].relations:
                    self._assembled = _Assembled(state, nodes[0], views, relations)
                return relations[self._goal].words()
        except WidenError:
            wide = Catalog(64)
            copies = {name: stored.copy_to(wide, look=watch.look) for name, stored in views.items()}
            relations = self._relations(wide, copies, facts)
            self._evaluate(nodes, state, wide, relations, watch)
            return relations[self._goal].words()

    def release(self, state: EngineState) -> None:
        """Release plans, with the relations that they read, if the engine has others now."""
        if self._assembled is not None and not self._assembled.is_valid(state):
            self._assembled = None

    def _relations(
        self, catalog: Catalog, views: Mapping[str, StoredRelation], facts: Mapping[str, AnyWords]
    ) -> dict[str, StoredRelation]:
        """Return the relations to evaluate over: the views, and new ones with the facts, or empty; the goal among them,
        which has no rules where none can ever hold."""
        relations = dict(views)
        for name in dict.fromkeys([UNIT, self._goal, *self._facts, *self.reads(views)]):
            if name not in relations:
                arity = 0 if name == UNIT else len(self._core.relations[name].columns)
                relations[name] = StoredRelation(catalog, arity, counted=False)
        for name, words in facts.items():
            _fill(relations[name], words)
        if UNIT not in views:
            _fill(relations[UNIT], numpy.empty((1, 0), numpy.int64))
        return relations

    def _evaluate(
        self,
        nodes: tuple[HyperNode, ...],
        state: EngineState,
        catalog: Catalog,
        relations: dict[str, StoredRelation],
        watch: Watch,
    ) -> None:
        for node in nodes:
            for name in node.relations:
                relations[name] = StoredRelation(catalog, len(self._core.relations[name].columns), counted=False)
            bootstrap(node, Inputs(catalog, state.dictionary, relations, watch, 0))
            watch.derived += sum(len(relations[name]) for name in node.relations)


def _fill(stored: StoredRelation, words: AnyWords) -> None:
    """Insert facts. Raise WidenError if they do not fit."""
    if stored.catalog.bits == 32 and not narrow(words):
        raise WidenError
    stored.insert(words)
    stored.settle()


@contextmanager
def _without_new_indexes(views: Mapping[str, StoredRelation]) -> Iterator[None]:
    """Drop the indexes that are made inside the block; nothing else can use them yet."""
    before = {name: set(stored.indexes) for name, stored in views.items()}
    try:
        yield
    finally:
        for name, stored in views.items():
            for keys in stored.indexes.keys() - before[name]:
                del stored.indexes[keys]


def _is_plain(nodes: tuple[HyperNode, ...]) -> bool:
    """Return True if one pass of plans evaluates everything."""
    return len(nodes) == 1 and not nodes[0].recursive and all(isinstance(rule, CoreRule) for rule in nodes[0].rules)


class _Assembled:
    """The plans of a hyper-node, assembled for the views and the words that an engine has now."""

    def __init__(
        self,
        state: EngineState,
        node: HyperNode,
        views: Mapping[str, StoredRelation],
        relations: Mapping[str, StoredRelation],
    ) -> None:
        (goal,) = node.relations
        self._views = dict(views)
        self._stamp = state.dictionary.stamp
        self._facts = {name: stored for name, stored in relations.items() if name not in views and name != goal}
        self._goal = relations[goal]
        statistics = LiveStatistics(relations, frozenset(node.relations))
        plans = [plan_full(rule, statistics) for rule in node.rules if isinstance(rule, CoreRule)]
        jobs = [Job(plan) for plan in plans]
        self._machine = Interpreter(state.catalog, state.dictionary, relations, node.relations, jobs)
        self._machine.levels[layout.S_BUDGET] = _WORK_BEFORE_LOOK
        self._numbers = numpy.array([self._goal.number], numpy.int64)
        self._log = Block(8 * 64)
        self._indexes = {name: tuple(stored.indexes.items()) for name, stored in self._views.items()}
        self._settled = dict.fromkeys(self._views, -1)
        self._rows = {name: len(stored) for name, stored in self._views.items()}

    def is_valid(self, state: EngineState) -> bool:
        """Return True if the plans still fit: words have the same meaning, the views are the same objects with the same
        indexes, and none has outgrown the plans."""
        if self._stamp != state.dictionary.stamp:
            return False
        return all(
            state.views.get(name) is stored
            and all(stored.indexes.get(keys) is index for keys, index in self._indexes[name])
            and len(stored) <= 4 * self._rows[name] + 1_000
            for name, stored in self._views.items()
        )

    def run(self, facts: Mapping[str, AnyWords], watch: Watch) -> AnyWords | None:
        """Return the rows of the goal; None where a word does not fit."""
        from tidelog.kernels.fixpoint import run_rounds

        try:
            for name, stored in self._facts.items():
                if name in facts:
                    stored.restart()
                    _fill(stored, facts[name])
            for name, stored in self._views.items():
                rows = stored.rows
                if rows != self._settled[name] or stored.form != "written":
                    stored.settle()
                    self._settled[name] = rows
            self._goal.restart()
            numbers = numpy.zeros(layout.N_FIELDS, numpy.int64)
            numbers[layout.N_LOG], numbers[layout.N_LOG_CAPACITY] = self._log.address, 64

            def look() -> None:
                watch.look(self._goal.rows)

            self._machine.converse(run_rounds, "", self._numbers, numbers, (1,), look)
        except WidenError:
            return None
        return self._goal.words()
