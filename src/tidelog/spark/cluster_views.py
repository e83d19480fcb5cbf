"""The views of the cluster engine on the driver, as far as explanations read them.

Before a question is evaluated on the driver, the rows that it reads are fetched from the partitions, step by step
(`Needed`); each step of several questions together is one Spark job. Rows stay until the next epoch, so that no row is
fetched twice, and small relations come as a whole.

A question about views is a program of a few rules, with given tuples. Its rules are walked atom by atom. The values
that variables can have by the atoms before say which rows of the next one can match. A negation needs the rows that
match its variables, an aggregate all members of the groups that are asked for. Relations that do not depend on the
given tuples, such as that of the first column for `!a(x, _)`, are asked for the values that a rule can need; where they
are recursive, everything that they read is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import AnyWords, Words
from tidelog.explain.search import LARGE
from tidelog.explain.views import EngineViews
from tidelog.explain.walks import ASSERTED
from tidelog.language.syntax import Column
from tidelog.limits.watch import Watch
from tidelog.maintain.state import EngineState
from tidelog.queries.bodies import GIVEN
from tidelog.queries.evaluation import Evaluation, Evaluations
from tidelog.rules.core import (
    AggregateRule,
    ClosureShape,
    CoreAtom,
    CoreConstant,
    CoreLiteral,
    CoreProgram,
    CoreRule,
    CoreVariable,
    HyperNode,
    RelationInfo,
    variables_of,
)
from tidelog.semantics.values import normal
from tidelog.spark.cluster.engine import PartitionedEngine
from tidelog.spark.cluster.exchange.rounds import Lookup
from tidelog.spark.rows import too_many_rows
from tidelog.storage.catalog import Catalog
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.stored import StoredRelation

_ASKED, _BOUND = "#asked", "#bound"


class Wanted(NamedTuple):
    """The rows of a relation whose `columns`, ascending, are one of the distinct rows of `groups`."""

    name: str
    columns: tuple[int, ...]
    groups: Words


def whole(name: str) -> Wanted:
    """Return all rows of a relation."""
    return Wanted(name, (), numpy.empty((1, 0), numpy.int64))


@dataclass(frozen=True)
class Needed:
    """The rows that a program reads of the views of `state`, which get them meanwhile."""

    state: EngineState
    program: CoreProgram
    evaluations: dict[object, Evaluation]
    """Those of parts of bodies, for all questions about one state."""
    watch: Watch

    def rows(self, given: Words) -> Iterator[list[Wanted]]:
        """Yield the rows that an evaluation for given tuples reads, step by step; the caller brings the rows of a step
        before it asks for the next one."""
        free = self.free()
        for node in self.program.nodes:
            for rule in node.rules:
                if isinstance(rule, CoreRule) and rule.head.relation not in free:
                    yield from self.rows_for_rule(rule, {GIVEN: given}, free)

    def free(self) -> Mapping[str, HyperNode]:
        """Return the hyper-nodes of the relations that do not depend on the given tuples."""
        bound = {GIVEN}
        found: dict[str, HyperNode] = {}
        for node in self.program.nodes:
            if bound.isdisjoint(node.reads):
                found |= dict.fromkeys(node.relations, node)
            else:
                bound.update(node.relations)
        return found

    def rows_for_rule(
        self, rule: CoreRule, facts: Mapping[str, Words], free: Mapping[str, HyperNode]
    ) -> Iterator[list[Wanted]]:
        """Yield the rows that the body of a rule needs, atom by atom."""
        met: list[CoreLiteral] = []
        rest = list(rule.body)
        bound: set[str] = set()
        own = {name for node in self.program.nodes for name in node.relations} | facts.keys()
        while rest:
            ready = [literal for literal in rest if is_evaluable(literal, bound, own - free.keys())]
            if not ready:
                tests = [each for each in rest if isinstance(each, CoreAtom) and names_of(each) <= bound]
                others = [
                    each for each in rest if isinstance(each, CoreAtom) and not each.negated and each not in tests
                ]
                atoms = [*tests, *sorted(others, key=lambda atom: order_of_atom(atom, bound))[:1]]
                yield from self.rows_for_atoms(atoms, met, bound, facts, free)
                ready = [*atoms] or [*rest]
            for literal in ready:
                rest.remove(literal)
                met.append(literal)
                if not (isinstance(literal, CoreAtom) and literal.negated):
                    bound |= names_of(literal)

    def rows_for_atoms(
        self,
        atoms: Sequence[CoreAtom],
        met: Sequence[CoreLiteral],
        bound: set[str],
        facts: Mapping[str, Words],
        free: Mapping[str, HyperNode],
    ) -> Iterator[list[Wanted]]:
        """Yield the rows of the relations of atoms that match the bindings of the literals `met`."""
        if not atoms:
            return
        variables = {each.name: each for atom in atoms for each in variables_of(atom) if each.name in bound}
        bindings = self.bindings(met, tuple(variables.values()), facts)
        if not len(bindings):
            return
        wanted = []
        for atom in atoms:
            columns, groups = self.groups(atom, list(variables), bindings)
            if atom.relation in free:
                yield from self.rows_for_free(atom.relation, columns, groups, free)
            elif atom.relation in self.state.program.relations and len(groups):
                wanted.append(Wanted(atom.relation, columns, groups))
        if wanted:
            yield wanted

    def groups(self, atom: CoreAtom, names: Sequence[str], bindings: Words) -> tuple[tuple[int, ...], Words]:
        """Return the columns of an atom that have values, and their distinct values."""
        columns: list[int] = []
        parts: list[Words] = []
        for column, arg in enumerate(atom.args):
            if isinstance(arg, CoreConstant):
                word = self.state.dictionary.find(normal(arg.value, arg.kind), arg.kind)
                if word is None:
                    return (), bindings[:0, :0]
                parts.append(numpy.full(len(bindings), word, numpy.int64))
            elif arg.name in names:
                parts.append(bindings[:, names.index(arg.name)])
            else:
                continue
            columns.append(column)
        if not columns:
            return (), numpy.empty((1, 0), numpy.int64)
        return tuple(columns), numpy.unique(numpy.column_stack(parts), axis=0)

    def bindings(
        self, met: Sequence[CoreLiteral], variables: Sequence[CoreVariable], facts: Mapping[str, Words]
    ) -> Words:
        """Return the values that variables have by some literals, each combination once."""
        rule = CoreRule(_BOUND, "", CoreAtom(_BOUND, tuple(variables)), tuple(met))
        columns = tuple(Column(each.name, each.kind, each.kind) for each in variables)
        relations = {**self.program.relations, _BOUND: RelationInfo(_BOUND, columns, True)}
        for name, rows in facts.items():
            if name not in relations:
                kinds = next(
                    tuple(arg.kind for arg in each.args)
                    for each in met
                    if isinstance(each, CoreAtom) and each.relation == name
                )
                assert len(kinds) == rows.shape[1]
                relations[name] = RelationInfo(name, tuple(Column(f"c{i}", kind, kind) for i, kind in enumerate(kinds)))
        read = {each.relation for each in met if isinstance(each, CoreAtom)}
        nodes: list[HyperNode] = []
        for node in reversed(self.program.nodes):
            if not read.isdisjoint(node.relations):
                nodes.insert(0, node)
                read.update(node.reads)
        program = CoreProgram(relations, self.program.records, (*nodes, HyperNode((_BOUND,), (rule,), False)))
        evaluation = self.evaluations.setdefault((rule, *nodes), Evaluation(program, _BOUND, tuple(facts)))
        return evaluation.rows(self.state, facts, self.watch).astype(numpy.int64)

    def rows_for_free(
        self, name: str, columns: tuple[int, ...], groups: Words, free: Mapping[str, HyperNode]
    ) -> Iterator[list[Wanted]]:
        """Yield the rows for those tuples of a relation without given ones whose `columns` are one of `groups`."""
        node = free[name]
        if node.recursive:
            yield [whole(each) for each in self.relations_behind(node, free)]
            return
        for rule in node.rules:
            if isinstance(rule, AggregateRule):
                keys = tuple(column for column in columns if column < rule.groups)
                distinct = numpy.unique(groups[:, : len(keys)], axis=0) if keys else numpy.empty((1, 0), numpy.int64)
                for each in (rule.outer, rule.inner):
                    yield from self.rows_for_free(each, keys, distinct, free)
            elif rule.head.relation == name:
                start = CoreAtom(_ASKED, tuple(rule.head.args[column] for column in columns))
                yield from self.rows_for_rule(replace(rule, body=(start, *rule.body)), {_ASKED: groups}, free)

    def relations_behind(self, node: HyperNode, free: Mapping[str, HyperNode]) -> list[str]:
        """Return the relations of views that a hyper-node reads, directly or by way of others."""
        waiting, nodes, found = [node], list[HyperNode](), dict[str, None]()
        while waiting:
            nodes.append(each := waiting.pop())
            for name in each.reads:
                if name in free:
                    waiting += [free[name]] if free[name] not in nodes else []
                else:
                    found[name] = None
        return [name for name in found if name in self.state.program.relations]


def names_of(literal: CoreLiteral) -> set[str]:
    """Return the names of the variables of a literal."""
    return {each.name for each in variables_of(literal)}


def is_evaluable(literal: CoreLiteral, bound: set[str], own: Collection[str]) -> bool:
    """Return True if a literal can be evaluated and reads at most relations that are evaluated already, `own`."""
    if isinstance(literal, CoreAtom):
        return literal.relation in own and not literal.negated
    return {each.name for each in literal.needs if isinstance(each, CoreVariable)} <= bound


def order_of_atom(atom: CoreAtom, bound: set[str]) -> tuple[bool, int]:
    """Return the place of an atom among others: those with something bound come first, those with few open variables
    before others."""
    known = any(isinstance(arg, CoreConstant) or arg.name in bound for arg in atom.args)
    return not known, len(names_of(atom) - bound)


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
        super().__init__(EngineState(dictionary, core, Catalog(64), nodes=core.nodes_to_evaluate()))
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

    def are_asserted(self, name: str, rows: Words) -> NDArray[numpy.bool_]:
        self.holds(name, rows)  # The facts come with the rows.
        return super().are_asserted(name, rows)

    def epochs(self, asked: Sequence[tuple[str, Words]]) -> list[Words]:
        return self._engine.epochs([(self.state.program.candidates.get(name, name), rows) for name, rows in asked])

    def near(self, name: str, columns: tuple[int, ...], groups: Words, most: int | None = None) -> AnyWords:
        if most is not None and name not in self._small:
            return self._engine.look_up_rows([Lookup(name, False, columns, groups, most)])[0]
        self._fetch([Wanted(name, columns, groups)])
        return super().near(name, columns, groups)

    def answers(self, evaluations: Evaluations, given: Words, watch: Watch) -> list[AnyWords]:
        self.prepare_answers([(evaluation, given) for evaluation in evaluations.parts], watch)
        return super().answers(evaluations, given, watch)

    def prepare_answers(self, asked: Iterable[tuple[Evaluation, Words]], watch: Watch) -> None:
        kept = self.state.program.relations
        waiting = []
        for evaluation, given in asked:
            for node in evaluation.nodes:
                for name in (*node.relations, *node.reads):
                    if name in kept:
                        # Plans are kept as long as all relations that they read stay the same.
                        self._fetched_relation(name)
            waiting.append(Needed(self.state, evaluation.remaining_program(kept), self._evaluations, watch).rows(given))
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
        for name, columns, groups in self._small_as_whole(wanted):
            for each in [*([] if name.startswith(ASSERTED) else [name]), *self._facts_of(name.removeprefix(ASSERTED))]:
                known = self._known.setdefault((each, columns), set())
                fresh.setdefault((each, columns), set()).update({*map(tuple, groups.tolist())} - known)
        keys = [key for key, groups in fresh.items() if groups and not self._known.get((key[0], ()))]
        if not keys:
            return
        most = self.most - self._fetched
        lookups = [_lookup(name, columns, fresh[name, columns], most + 1) for name, columns in keys]
        found = self._engine.look_up_rows(lookups)
        self._fetched += sum(map(len, found))
        if self._fetched > self.most:
            message = f"an explanation needs more rows at the driver than the embedded_limit, {self.most:,}"
            raise too_many_rows(message)
        for (name, columns), rows in zip(keys, found, strict=True):
            stored = self._fetched_relation(name)
            stored.insert(rows)
            stored.settle()
            self._known[name, columns] |= fresh[name, columns]

    def _small_as_whole(self, wanted: Iterable[Wanted]) -> Iterator[Wanted]:
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

    def _fetched_relation(self, name: str) -> StoredRelation:
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
