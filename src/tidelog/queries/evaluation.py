"""Rules that are evaluated once, over the views of an engine.

Views are read in place and by their indexes; the relations that the rules derive are temporary. The first evaluation
drops the indexes that it had to make: a query may be asked only once. From the second one on they stay, like the
assembled plans of a single hyper-node without recursion. All these plans run in one call of a kernel, and the relations
that they read and derive are used again, so that a question with a few given rows takes some microseconds. Evaluation
from scratch is that of `maintain.bootstrap`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property

import numpy

from tidelog.common.arrays import AnyWords
from tidelog.kernels import layout
from tidelog.kernels.compiling import between_kernels
from tidelog.limits.watch import Watch
from tidelog.maintain.assemble import UNIT
from tidelog.maintain.bootstrap import bootstrap
from tidelog.maintain.machine import Inputs, Interpreter, Job
from tidelog.maintain.state import EngineState
from tidelog.maintain.statistics import LiveStatistics
from tidelog.maintain.threads import WidenError
from tidelog.rules.core import CoreProgram, CoreRule, HyperNode
from tidelog.rules.plans import plan_full
from tidelog.storage.catalog import Catalog
from tidelog.storage.memory import Block
from tidelog.storage.rows import narrow
from tidelog.storage.stored import StoredRelation

_WORK_BEFORE_LOOK = 10_000_000


class AssembledPlans:
    """The plans of rules, assembled for the views and the words that an engine has now."""

    def __init__(
        self,
        state: EngineState,
        views: Mapping[str, StoredRelation],
        relations: Mapping[str, StoredRelation],
        goals: Mapping[int, StoredRelation],
        rules: Sequence[tuple[int, CoreRule]],
        facts: Mapping[str, AnyWords],
    ) -> None:
        """`relations` are all that the rules read, `views` those among them that the engine has. The rules derive the
        goals with their numbers. Plans suit the numbers of `facts`. Raise WidenError if a word does not fit."""
        self._catalog = state.catalog
        self._stamp = state.dictionary.stamp
        self._views = dict(views)
        self._facts = {name: relations[name] for name in facts}
        self._fill(facts)
        self._goals = dict(goals)
        self._filled: Sequence[StoredRelation] = ()
        named = {f"#goal{i}": goal for i, goal in goals.items()}
        everything = {**relations, **named}
        statistics = LiveStatistics(everything, frozenset(named))
        own = [replace(rule, head=replace(rule.head, relation=f"#goal{i}")) for i, rule in rules]
        jobs = [Job(plan_full(rule, statistics)) for rule in own]
        self._machine = Interpreter(state.catalog, state.dictionary, everything, tuple(named), jobs)
        self._machine.levels[layout.S_BUDGET] = _WORK_BEFORE_LOOK
        self._numbers = numpy.array([goal.number for goal in goals.values()], numpy.int64)
        self._log = Block(8 * len(goals))
        self._indexes = [(stored, keys, index) for stored in views.values() for keys, index in stored.indexes.items()]
        self._settled = dict.fromkeys(self._views, -1)
        self._rows = {name: len(stored) for name, stored in self._views.items()}

    def is_valid(self, state: EngineState) -> bool:
        """Return True if the plans still fit: words have the same meaning, the views are the same objects with the same
        indexes, and none has outgrown the plans."""
        if self._stamp != state.dictionary.stamp:
            return False
        for name, stored in self._views.items():
            if state.views.get(name) is not stored or len(stored) > 4 * self._rows[name] + 1_000:
                return False
        return all(stored.indexes.get(keys) is index for stored, keys, index in self._indexes)

    def run(self, facts: Mapping[str, AnyWords], watch: Watch) -> dict[int, AnyWords]:
        """Return the rows of the goals. Raise WidenError where a word does not fit."""
        from tidelog.kernels.fixpoint import run_rounds

        self._fill(facts)
        for name, stored in self._views.items():
            rows = stored.rows
            if rows != self._settled[name] or stored.form != "written":
                stored.settle()
                self._settled[name] = rows
        for goal in self._filled:
            goal.restart()
        self._filled = tuple(self._goals.values())
        numbers = numpy.zeros(layout.N_FIELDS, numpy.int64)
        numbers[layout.N_LOG], numbers[layout.N_LOG_CAPACITY] = self._log.address, 1

        def look() -> None:
            watch.look(sum(self._counts()))

        with between_kernels(look):
            self._machine.converse(run_rounds, "", self._numbers, numbers, (1,), look)
        counts = zip(self._goals.items(), self._counts(), strict=True)
        found = {i: goal.words() if count else goal.take(_NONE) for (i, goal), count in counts}
        self._filled = [self._goals[i] for i, rows in found.items() if len(rows)]
        return found

    def _counts(self) -> list[int]:
        """Return the numbers of rows of the goals."""
        counts: list[int] = self._catalog.table[self._numbers, layout.R_N].tolist()
        return counts

    def _fill(self, facts: Mapping[str, AnyWords]) -> None:
        for name, words in facts.items():
            self._facts[name].restart()
            fill(self._facts[name], words)


_NONE = numpy.empty(0, numpy.int64)


def fill(stored: StoredRelation, words: AnyWords) -> None:
    """Insert facts. Raise WidenError if they do not fit."""
    if stored.catalog.bits == 32 and not narrow(words):
        raise WidenError
    stored.insert(words)
    stored.settle()


class Evaluation:
    """A program whose relation `goal` is asked for. The engine has all relations that it reads, except `facts`."""

    def __init__(
        self, core: CoreProgram, goal: str, facts: tuple[str, ...], anew: Callable[[str], bool] | None = None
    ) -> None:
        self._core = core
        self.goal = goal
        self._facts = facts
        self._anew = anew
        """A function that is True for relations to evaluate although the engine has some of these names."""

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

    def remaining_program(self, kept: Mapping[str, object]) -> CoreProgram:
        """Return the program without the relations that are `kept` already."""
        return CoreProgram(self._core.relations, self._core.records, self._nodes(kept))

    def _nodes(self, kept: Mapping[str, object]) -> tuple[HyperNode, ...]:
        """Return the hyper-nodes to evaluate: parts of paths may be there, under the same names."""
        anew = self._anew or (lambda _: False)
        return tuple(
            node for node in self._core.nodes if any(name not in kept or anew(name) for name in node.relations)
        )

    def rows(self, state: EngineState, facts: Mapping[str, AnyWords], watch: Watch) -> AnyWords:
        """Return the rows of the goal, each once. Raises LimitError, KeyboardInterrupt and MemoryError; the state of
        the engine stays as it is."""
        return self._alone.rows(state, facts, watch)[0]

    def release(self, state: EngineState) -> None:
        """Release plans, with the relations that they read, if the engine has others now."""
        self._alone.release(state)

    @cached_property
    def _alone(self) -> Evaluations:
        return Evaluations((self,))

    def plain_node(self, state: EngineState) -> HyperNode | None:
        """Return the hyper-node that derives the goal in one pass of plans, if that evaluates everything."""
        nodes = self._nodes(state.views)
        is_plain = len(nodes) == 1 and not nodes[0].recursive and nodes[0].relations == (self.goal,)
        return nodes[0] if is_plain and all(isinstance(rule, CoreRule) for rule in nodes[0].rules) else None

    def from_scratch(
        self, state: EngineState, facts: Mapping[str, AnyWords], watch: Watch, *, keep_indexes: bool
    ) -> AnyWords:
        """Return the rows of the goal, of an evaluation whose plans nobody keeps."""
        nodes = self._nodes(state.views)
        views = self.views(state)
        try:
            with nullcontext() if keep_indexes else _without_new_indexes(views):
                relations = self._relations(state.catalog, views, facts)
                self._evaluate(nodes, state, state.catalog, relations, watch)
                return relations[self.goal].words()
        except WidenError:
            wide = Catalog(64)
            copies = {name: stored.copy_to(wide, look=watch.look) for name, stored in views.items()}
            relations = self._relations(wide, copies, facts)
            self._evaluate(nodes, state, wide, relations, watch)
            return relations[self.goal].words()

    def _relations(
        self, catalog: Catalog, views: Mapping[str, StoredRelation], facts: Mapping[str, AnyWords]
    ) -> dict[str, StoredRelation]:
        """Return the relations to evaluate over: the views, and new ones with the facts, or empty; the goal among them,
        which has no rules where none can ever hold."""
        relations = dict(views)
        self.complete(relations, catalog)
        relations[self.goal] = self.new(self.goal, catalog)
        for name, words in facts.items():
            fill(relations[name], words)
        return relations

    def views(self, state: EngineState) -> dict[str, StoredRelation]:
        """Return the views that the rules read."""
        read = [name for name in (*self.reads(state.views), UNIT) if name in state.views]
        return {name: state.views[name] for name in read}

    def complete(self, relations: dict[str, StoredRelation], catalog: Catalog) -> None:
        """Add those relations that the rules read, and that are not there, without rows."""
        if UNIT not in relations:
            relations[UNIT] = StoredRelation(catalog, 0, counted=False)
            fill(relations[UNIT], numpy.empty((1, 0), numpy.int64))
        for name in (*self._facts, *self.reads(relations)):
            if name not in relations:
                relations[name] = self.new(name, catalog)

    def new(self, name: str, catalog: Catalog) -> StoredRelation:
        """Return a relation of the program without rows."""
        return StoredRelation(catalog, len(self._core.relations[name].columns), counted=False)

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
                relations[name] = self.new(name, catalog)
            bootstrap(node, Inputs(catalog, state.dictionary, relations, watch, 0))
            watch.derived += sum(len(relations[name]) for name in node.relations)


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


class Evaluations:
    """Several programs over the same facts, asked for their goals together."""

    def __init__(self, parts: tuple[Evaluation, ...]) -> None:
        self.parts = parts
        self._asked = 0
        self._assembled: AssembledPlans | None = None

    def rows(self, state: EngineState, facts: Mapping[str, AnyWords], watch: Watch) -> list[AnyWords]:
        """Return the rows of each goal, see `Evaluation.rows`."""
        self._asked += 1
        found = self._together(state, facts, watch) if self._asked > 1 else {}
        for i, part in enumerate(self.parts):
            if i not in found:
                found[i] = part.from_scratch(state, facts, watch, keep_indexes=self._asked > 1)
        return [found[i] for i in range(len(self.parts))]

    def release(self, state: EngineState) -> None:
        """Release plans, with the relations that they read, if the engine has others now."""
        if self._assembled is not None and not self._assembled.is_valid(state):
            self._assembled = None

    def _together(self, state: EngineState, facts: Mapping[str, AnyWords], watch: Watch) -> dict[int, AnyWords]:
        """Return the rows of the goals that plans derive in one pass, by the number of the part; none where a word does
        not fit."""
        self.release(state)
        try:
            if self._assembled is None:
                self._assembled = self._assemble(state, facts)
            return {} if self._assembled is None else self._assembled.run(facts, watch)
        except WidenError:
            self._assembled = None
            return {}

    def _assemble(self, state: EngineState, facts: Mapping[str, AnyWords]) -> AssembledPlans | None:
        """Return the plans of those parts that one pass evaluates, None without any."""
        nodes = [(i, part, part.plain_node(state)) for i, part in enumerate(self.parts)]
        plain = [(i, part, node) for i, part, node in nodes if node is not None]
        views: dict[str, StoredRelation] = {}
        for _, part, _ in plain:
            views |= part.views(state)
        relations = dict(views)
        for _, part, _ in plain:
            part.complete(relations, state.catalog)
        goals = {i: part.new(part.goal, state.catalog) for i, part, _ in plain}
        rules = [(i, rule) for i, _, node in plain for rule in node.rules if isinstance(rule, CoreRule)]
        return AssembledPlans(state, views, relations, goals, rules, facts) if plain else None
