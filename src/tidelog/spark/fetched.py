"""The views of the cluster engine on the driver, as far as explanations read them.

Before a question is evaluated on the driver, the rows that it reads are fetched from the partitions, step by step
(`needed`); each step of several questions together is one Spark job. Rows stay until the next epoch, so that no row is
fetched twice, and small relations come as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import AnyWords, Words
from tidelog.errors import Problem, UsageError
from tidelog.explain.search import LARGE
from tidelog.explain.views import EngineViews
from tidelog.explain.walks import ASSERTED
from tidelog.limits.watch import Watch
from tidelog.maintain.state import EngineState
from tidelog.queries.evaluation import Evaluation, Evaluations
from tidelog.rules.core import ClosureShape, CoreProgram
from tidelog.spark.cluster.engine import PartitionedEngine
from tidelog.spark.cluster.exchange.rounds import Lookup
from tidelog.spark.needed import Needed, Wanted, whole
from tidelog.storage.catalog import Catalog
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.stored import StoredRelation

WHOLE = 10_000
"""Relations with at most so many rows are fetched as a whole, all at once."""
MOST_WHOLE = 10 * WHOLE
"""Rows of all these."""


class FetchedViews(EngineViews):
    """The views of an epoch of the cluster engine; `most` rows come to the driver. `evaluated` returns an engine of the
    driver that has evaluated the same program."""

    budget = LARGE

    def __init__(
        self,
        engine: PartitionedEngine,
        core: CoreProgram,
        dictionary: Dictionary,
        most: int,
        evaluated: Callable[[Watch], EngineState],
    ) -> None:
        super().__init__(EngineState(dictionary, core, Catalog(64), nodes=core.evaluated()))
        self._engine = engine
        self.most = most
        self._evaluated = evaluated
        self._fetched = 0
        self._known: dict[tuple[str, tuple[int, ...]], set[tuple[int, ...]]] = {}
        self._evaluations: dict[object, Evaluation] = {}

    # --- questions -----------------------------------------------------------------------------------------------

    def holds(self, name: str, rows: Words) -> NDArray[numpy.bool_]:
        if name in self.state.program.relations:
            self._fetch([Wanted(name, tuple(range(rows.shape[1])), rows[~super().holds(name, rows)])])
        return super().holds(name, rows)

    def asserted(self, name: str, rows: Words) -> NDArray[numpy.bool_]:
        self.holds(name, rows)  # The facts come with the rows.
        return super().asserted(name, rows)

    def epochs(self, asked: Sequence[tuple[str, Words]]) -> list[Words]:
        return self._engine.epochs([(self.state.program.candidates.get(name, name), rows) for name, rows in asked])

    def near(self, name: str, columns: tuple[int, ...], groups: Words, most: int | None = None) -> AnyWords:
        if most is not None and name not in self._small:
            return self._engine.matching([Lookup(name, False, columns, groups, most)])[0]
        self._fetch([Wanted(name, columns, groups)])
        return super().near(name, columns, groups)

    def answers(self, evaluations: Evaluations, given: Words, watch: Watch) -> list[AnyWords]:
        self.bring([(evaluation, given) for evaluation in evaluations.parts], watch)
        return super().answers(evaluations, given, watch)

    def bring(self, asked: Iterable[tuple[Evaluation, Words]], watch: Watch) -> None:
        kept = self.state.program.relations
        waiting = []
        for evaluation, given in asked:
            for node in evaluation.nodes:
                for name in (*node.relations, *node.reads):
                    if name in kept:
                        self._stored(name)  # Plans are kept as long as all relations that they read stay the same.
            waiting.append(Needed(self.state, evaluation.remaining(kept), self._evaluations, watch).rows(given))
        while waiting:
            watch.look()
            steps = [(rows, next(rows, None)) for rows in waiting]
            self._fetch(wanted for _, step in steps if step is not None for wanted in step)
            waiting = [rows for rows, step in steps if step is not None]

    def with_births(self, watch: Watch) -> EngineViews:
        return EngineViews(self._evaluated(watch))

    def closure(self, name: str) -> ClosureShape | None:
        node = self.node_of(name)
        return None if node is None else node.closure

    # --- rows ----------------------------------------------------------------------------------------------------

    def _fetch(self, wanted: Iterable[Wanted]) -> None:
        """Fetch rows that are not there yet, and the asserted facts among them, by one Spark job. Raise UsageError
        (E0688) if they are too many."""
        fresh: dict[tuple[str, tuple[int, ...]], set[tuple[int, ...]]] = {}
        for name, columns, groups in self._with_small(wanted):
            for each in [*([] if name.startswith(ASSERTED) else [name]), *self._facts_of(name.removeprefix(ASSERTED))]:
                known = self._known.setdefault((each, columns), set())
                fresh.setdefault((each, columns), set()).update({*map(tuple, groups.tolist())} - known)
        keys = [key for key, groups in fresh.items() if groups and not self._known.get((key[0], ()))]
        if not keys:
            return
        most = self.most - self._fetched
        lookups = [_lookup(name, columns, fresh[name, columns], most + 1) for name, columns in keys]
        found = self._engine.matching(lookups)
        self._fetched += sum(map(len, found))
        if self._fetched > self.most:
            message = f"an explanation needs more rows at the driver than the embedded_limit, {self.most:,}"
            hint = "raise it with options(embedded_limit=…) if the driver has the memory"
            raise UsageError(Problem("E0688", message, hint=hint))
        for (name, columns), rows in zip(keys, found, strict=True):
            stored = self._stored(name)
            stored.insert(rows)
            stored.settle()
            self._known[name, columns] |= fresh[name, columns]

    def _with_small(self, wanted: Iterable[Wanted]) -> Iterator[Wanted]:
        """Yield what is wanted, whole relations where they are small; with the first of these come all others."""
        for each in wanted:
            if each.name in self._small:
                yield whole(each.name)
                if not self._known.get((each.name, ())):
                    yield from (whole(name) for name in self._small)
            else:
                yield each

    @cached_property
    def _small(self) -> frozenset[str]:
        """The relations of the user's program that are fetched as a whole."""
        sizes = {name: self._engine.size(name) for name in self.state.program.relations}
        small = sorted((size, name) for name, size in sizes.items() if size <= WHOLE)
        total = accumulate(size for size, _ in small)
        return frozenset(
            name for (_, name), rows in zip(small, total, strict=True) if rows <= min(MOST_WHOLE, self.most)
        )

    def _facts_of(self, name: str) -> list[str]:
        """Return the name for the asserted facts of a relation that rules derive as well, if it has any."""
        own = self.state.program.candidates.get(name, name)
        derived = any(self.node_of(each) is not None for each in (name, own))
        return [f"{ASSERTED}{own}"] if derived and own in self._engine.committed.facts else []

    def _stored(self, name: str) -> StoredRelation:
        """Return the rows of a relation, or of its asserted facts, that have been fetched."""
        own, state = name.removeprefix(ASSERTED), self.state
        relations = state.views if name == own else state.asserted
        if own not in relations:
            arity = len(state.program.relations[own].columns)
            relations[own] = StoredRelation(state.catalog, arity, counted=False)
            if name == own and self.node_of(name) is None and own not in state.program.candidates.values():
                state.asserted[own] = relations[own]
        return relations[own]


def _lookup(name: str, columns: tuple[int, ...], groups: set[tuple[int, ...]], most: int) -> Lookup:
    """Return the lookup of rows of a relation, or of its asserted facts."""
    rows = numpy.array(sorted(groups), numpy.int64).reshape(len(groups), -1)
    return Lookup(name.removeprefix(ASSERTED), name.startswith(ASSERTED), columns, rows, most)
