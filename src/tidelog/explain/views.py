"""The views of an engine as explanations read them: all that they ask of one.

`EngineViews` has the state of an engine in this process. The cluster engine has one that first brings the rows that a
question reads (`spark/cluster_views.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import AnyWords, Words
from tidelog.explain.walks import ASSERTED
from tidelog.limits.watch import Watch
from tidelog.maintain.state import EngineState, all_edges, closure_births
from tidelog.queries.bodies import GIVEN
from tidelog.queries.evaluation import Evaluation, Evaluations
from tidelog.rules.core import ClosureShape, HyperNode
from tidelog.rules.selections import candidates_of
from tidelog.storage.closed_relation import ClosedRelation

BUDGET = 1_000
"""Derivations of the cone of a proof: on GALEN a proof then takes 15 ms in the median, and 35 ms with 20,000, for the
same heights."""


class EngineViews:
    """The views and asserted facts of the state of an engine, between two epochs. Rows are words, int64 of shape
    (n, arity)."""

    budget = BUDGET
    """Derivations of a cone, beyond which proofs go by births."""

    def __init__(self, state: EngineState) -> None:
        self.state = state

    def holds(self, name: str, rows: Words) -> NDArray[numpy.bool_]:
        """Return for each row whether a relation has it."""
        stored = self.state.views.get(name)
        if stored is None:
            return numpy.zeros(len(rows), bool)
        return numpy.array([stored.has(row) for row in rows.tolist()], bool)

    def are_asserted(self, name: str, rows: Words) -> NDArray[numpy.bool_]:
        """Return for each row whether it is an asserted fact of a relation."""
        stored = self.state.asserted.get(self.state.program.candidates.get(name, name))
        if stored is None or not len(stored):
            return numpy.zeros(len(rows), bool)
        found: NDArray[numpy.bool_] = stored.find(rows) >= 0
        return found

    def epochs(self, asked: Sequence[tuple[str, Words]]) -> list[Words]:
        """Return since which epoch asserted facts of some relations are there, see `RowEpochs`."""
        candidates, asserted = self.state.program.candidates, self.state.asserted
        stored = [(asserted[candidates.get(name, name)], rows) for name, rows in asked]
        return [each.epochs_of(each.find(rows)) for each, rows in stored]

    def near(self, name: str, columns: tuple[int, ...], groups: Words, most: int | None = None) -> AnyWords:
        """Return the rows of a relation, or of the asserted facts of a closure, whose `columns`, ascending, are one of
        the distinct rows of `groups`; with `most`, perhaps no more than so many of them."""
        views = self.state.asserted if name.startswith(ASSERTED) else self.state.views
        stored = views.get(name.removeprefix(ASSERTED))
        return numpy.empty((0, 2), numpy.int64) if stored is None else stored.rows_with(columns, groups)

    def answers(self, evaluations: Evaluations, given: Words, watch: Watch) -> list[AnyWords]:
        """Return the rows of evaluations over the views, for given tuples. Raise what `Evaluation.rows` raises."""
        return evaluations.rows(self.state, {GIVEN: given}, watch)

    def prepare_answers(self, asked: Iterable[tuple[Evaluation, Words]], watch: Watch) -> None:
        """Prepare the answers of several evaluations, each for its given tuples. Here nothing has to be done."""

    def births(self, name: str, rows: AnyWords, watch: Watch) -> Words:
        """Return the births of tuples of a relation that a recursive hyper-node derives."""
        stored = self.state.views[name]
        if name in self.state.closures and isinstance(stored, ClosedRelation):
            shape, _ = self.state.closures[name]
            edges = all_edges(shape, self.state.views, self.state.asserted[name])
            return closure_births(stored.closure, rows.astype(numpy.int64), edges, watch.look)
        return stored.marks.births_of(stored.find(rows))

    def with_births(self, watch: Watch) -> EngineViews:
        return self

    def closure(self, name: str) -> ClosureShape | None:
        """Return the shape of a relation that is evaluated as a closure."""
        found = self.state.closures.get(name)
        return None if found is None else found[0]

    def node_of(self, name: str) -> HyperNode | None:
        """Return the hyper-node of a relation, if rules derive it."""
        return self.state.structure.node_of(name)

    def place_of(self, name: str) -> int:
        """Return the position of a relation's hyper-node among all, -1 without rules; a path stands behind them."""
        if name not in self.state.program.relations:
            return len(self.state.nodes)
        return self.state.structure.node_positions.get(name, -1)

    def candidates_read(self, head: str) -> dict[str, str]:
        """Return the relations of which rules for `head` read the candidates: those that select, in its recursion, if
        its hyper-node neither drops dominated tuples of them nor chooses."""
        node = self.node_of(candidates_of(head)) or self.node_of(head)
        if node is None:
            return {}
        program, shown = self.state.program, {each.shown for each in node.selects}
        candidates = {candidates_of(name): name for name in program.candidates if name not in shown}
        read = dict.fromkeys(node.reads)
        for name in (queue := [*read]):  # Auxiliary relations stand between rules and what they read.
            inner = self.node_of(name) if name not in candidates and program.relations[name].auxiliary else None
            further = [each for each in inner.reads if each not in read] if inner is not None else []
            read |= dict.fromkeys(further)
            queue += further
        return {candidates[each]: each for each in read if each in candidates}
