"""Rules that are evaluated once, over the views of an engine.

Views are read in place and by their indexes; the relations that the rules derive are temporary. The first evaluation
drops the indexes that it had to make: a query may be asked only once. From the second one on they stay, like the
assembled plans of a single hyper-node without recursion (`assembled`). Evaluation from scratch is that of
`maintain.bootstrap`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cached_property

import numpy

from tidelog.common.arrays import AnyWords
from tidelog.limits.watch import Watch
from tidelog.maintain.assemble import UNIT
from tidelog.maintain.bootstrap import bootstrap
from tidelog.maintain.lanes import WidenError
from tidelog.maintain.machine import Inputs
from tidelog.maintain.state import EngineState
from tidelog.queries.assembled import AssembledPlans, fill
from tidelog.rules.core import CoreProgram, CoreRule, HyperNode
from tidelog.storage.catalog import Catalog
from tidelog.storage.stored import StoredRelation


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

    def remaining(self, kept: Mapping[str, object]) -> CoreProgram:
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
