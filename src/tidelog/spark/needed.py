"""The rows that a question about views reads: a program of a few rules, with given tuples.

Its rules are walked atom by atom. The values that variables can have by the atoms before say which rows of the next one
can match. A negation needs the rows that match its variables, an aggregate all members of the groups that are asked
for. Relations that do not depend on the given tuples, such as that of the first column for `!a(x, _)`, are asked for
the values that a rule can need; where they are recursive, everything that they read is needed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy

from tidelog.common.arrays import Words
from tidelog.language.syntax import Column
from tidelog.limits.watch import Watch
from tidelog.maintain.state import EngineState
from tidelog.queries.bodies import GIVEN
from tidelog.queries.evaluation import Evaluation
from tidelog.rules.core import (
    AggregateRule,
    CoreAtom,
    CoreConstant,
    CoreLiteral,
    CoreProgram,
    CoreRule,
    CoreVariable,
    HyperNode,
    RelationInfo,
)
from tidelog.rules.literals import variables_of
from tidelog.semantics.values import normal

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
                    yield from self.along(rule, {GIVEN: given}, free)

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

    def along(
        self, rule: CoreRule, facts: Mapping[str, Words], free: Mapping[str, HyperNode]
    ) -> Iterator[list[Wanted]]:
        """Yield the rows that the body of a rule needs, atom by atom."""
        met: list[CoreLiteral] = []
        rest = list(rule.body)
        bound: set[str] = set()
        own = {name for node in self.program.nodes for name in node.relations} | facts.keys()
        while rest:
            ready = [literal for literal in rest if is_at_hand(literal, bound, own - free.keys())]
            if not ready:
                tests = [each for each in rest if isinstance(each, CoreAtom) and names_of(each) <= bound]
                others = [
                    each for each in rest if isinstance(each, CoreAtom) and not each.negated and each not in tests
                ]
                atoms = [*tests, *sorted(others, key=lambda atom: openness(atom, bound))[:1]]
                yield from self.around(atoms, met, bound, facts, free)
                ready = [*atoms] or [*rest]
            for literal in ready:
                rest.remove(literal)
                met.append(literal)
                if not (isinstance(literal, CoreAtom) and literal.negated):
                    bound |= names_of(literal)

    def around(
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
                yield from self.asked(atom.relation, columns, groups, free)
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

    def asked(
        self, name: str, columns: tuple[int, ...], groups: Words, free: Mapping[str, HyperNode]
    ) -> Iterator[list[Wanted]]:
        """Yield the rows for those tuples of a relation without given ones whose `columns` are one of `groups`."""
        node = free[name]
        if node.recursive:
            yield [whole(each) for each in self.reached(node, free)]
            return
        for rule in node.rules:
            if isinstance(rule, AggregateRule):
                keys = tuple(column for column in columns if column < rule.groups)
                distinct = numpy.unique(groups[:, : len(keys)], axis=0) if keys else numpy.empty((1, 0), numpy.int64)
                for each in (rule.outer, rule.inner):
                    yield from self.asked(each, keys, distinct, free)
            elif rule.head.relation == name:
                start = CoreAtom(_ASKED, tuple(rule.head.args[column] for column in columns))
                yield from self.along(replace(rule, body=(start, *rule.body)), {_ASKED: groups}, free)

    def reached(self, node: HyperNode, free: Mapping[str, HyperNode]) -> list[str]:
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


def is_at_hand(literal: CoreLiteral, bound: set[str], own: Collection[str]) -> bool:
    """Return True if a literal can be evaluated and reads at most relations that are evaluated already, `own`."""
    if isinstance(literal, CoreAtom):
        return literal.relation in own and not literal.negated
    return {each.name for each in literal.needs if isinstance(each, CoreVariable)} <= bound


def openness(atom: CoreAtom, bound: set[str]) -> tuple[bool, int]:
    """Return the place of an atom among others: those with something bound come first, those with few open variables
    before others."""
    known = any(isinstance(arg, CoreConstant) or arg.name in bound for arg in atom.args)
    return not known, len(names_of(atom) - bound)
