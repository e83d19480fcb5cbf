"""Deletions in recursions that cross partitions: the rows sent that may rest on deleted ones are suspected.

Each partition's engine is exact about the consequences of the rows that it was sent. But rows of several partitions can
support each other after their grounds have gone. So a recursion that has lost something goes through these steps, once
all its inputs have changed:

    suspect     partitions add rules by which the deletion spreads to all rows with a derivation from it (`watching`),
                here and, through the exports of the recursion, elsewhere
    withdraw    partitions forget suspected rows that they were sent, and send rows again that they still derive
    then rounds as for insertions lead to the fix-point

A row that is not suspected has a derivation, in the relations as they were before, that lost nothing, so it is right.
Derivations of partitions from such rows are right, and rows retracted by mistake come back. This is deletion with
re-derivation (DRed), except that within partitions nothing is re-derived.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy

from tidelog.arrays import Words
from tidelog.maintain.deltas import Deltas, rows_of
from tidelog.rules.core import CoreAtom, CoreLiteral, CoreProgram, CoreRule, RelationInfo
from tidelog.rules.graph import hyper_nodes
from tidelog.spark.cluster.exchange.pieces import PieceChange
from tidelog.spark.cluster.placement.plan import ClusterPlan, Cycle
from tidelog.storage.stored import StoredRelation

_SUFFIX = "@gone"


def gone_name(relation: str) -> str:
    """Return the relation of rows of another relation that have gone, or have derivations from such."""
    return relation + _SUFFIX


def watched(name: str) -> str | None:
    """Return the relation whose suspected rows a relation has."""
    return name.removesuffix(_SUFFIX) if name.endswith(_SUFFIX) else None


def watching(program: CoreProgram, cycles: Sequence[Cycle], lost: Collection[str]) -> CoreProgram:
    """Return the program of a partition with rules for suspected rows in cycles, after relations have `lost` rows; for
    relations that are read negatively, gained rows count as lost."""
    within = frozenset[str]().union(*(cycle.relations for cycle in cycles))
    names = within | set(lost)
    info = program.relations
    extra = {gone_name(name): RelationInfo(gone_name(name), info[name].columns, True) for name in names if name in info}
    relations = {**program.relations, **extra}
    own = [rule for node in program.nodes for rule in node.rules if isinstance(rule, CoreRule)]
    rules = [each for rule in own if rule.head.relation in within for each in _suspecting(rule, names)]
    nodes = (*program.nodes, *hyper_nodes(rules, relations))
    return CoreProgram(relations, program.records, nodes, functors=program.functors, dropping=program.dropping)


def _suspecting(rule: CoreRule, names: Collection[str]) -> Iterator[CoreRule]:
    """Yield rules for the heads that a rule derives from suspected rows of the relations `names`: at least one of its
    atoms reads these, and any of the others may."""
    forms: list[list[CoreLiteral]] = []
    for literal in rule.body:
        forms.append([literal])
        if isinstance(literal, CoreAtom) and literal.relation in names:
            forms[-1].append(replace(literal, relation=gone_name(literal.relation), negated=False))
    head = replace(rule.head, relation=gone_name(rule.head.relation))
    for number, body in enumerate(product(*forms)):
        if number:  # The first one is the rule itself.
            yield replace(rule, name=f"{rule.name}{_SUFFIX}{number}", head=head, body=body)


class Suspicions:
    """The rows of an epoch that concern the cycles of a partition: those that have gone, and those that are
    suspected."""

    def __init__(self) -> None:
        self.lost: dict[str, list[Words]] = {}
        self.told: dict[str, list[Words]] = {}
        """The rows that other partitions have sent here and suspect now."""
        self.cycles: tuple[int, ...] = ()
        self.program: CoreProgram | None = None
        self.fresh = False

    def note(self, plan: ClusterPlan, deltas: Deltas, statements: Iterable[PieceChange]) -> None:
        """Remember, after a round, what has gone of the relations of cycles and of what these read."""
        self.fresh = False
        if not plan.cycles:
            return
        within = {name for cycle in plan.cycles for name in cycle.relations}
        read = {name for cycle in plan.cycles for name in cycle.reads}
        negated = {name for cycle in plan.cycles for name, negated in cycle.reads.items() if negated}
        for name, delta in deltas.items():
            if name in within or name in read:
                self.lost.setdefault(name, []).append(rows_of(delta.deleted))
            if name in negated:
                self.lost.setdefault(name, []).append(rows_of(delta.inserted))
        for name, asserts, rows, _ in statements:
            if not asserts and name in within:
                self.lost.setdefault(name, []).append(rows)
            if of := watched(name):
                self.told.setdefault(of, []).append(rows)

    def begin(
        self, plan: ClusterPlan, cycles: tuple[int, ...], program: CoreProgram, views: Mapping[str, StoredRelation]
    ) -> list[PieceChange]:
        """Suspect what rests on what has gone, from now on, or nothing any more if there are no cycles."""
        self.cycles, begun = cycles, self.program is not None
        if not cycles:
            self.program = None
            self.told.clear()
        if begun or not cycles:
            return []
        chosen = [plan.cycles[number] for number in cycles]
        lost: dict[str, Words] = {}
        for cycle in chosen:
            for name in (*cycle.relations, *cycle.reads):
                if name in views and (rows := self.lost.get(name)):
                    gone = numpy.concatenate(rows).astype(numpy.int64)
                    if name in cycle.reads:  # These are as they are to be.
                        here = views[name].find(gone) >= 0
                        gone = gone if cycle.reads[name] else gone[~here]
                    if len(gone):
                        lost[name] = gone
        self.fresh = True
        self.program = watching(program, chosen, lost)
        return [PieceChange(gone_name(name), True, rows) for name, rows in lost.items()]

    def new(self, source: str, views: Mapping[str, StoredRelation], deltas: Deltas) -> Words:
        """Return the rows of a relation that have come to be suspected in the last round."""
        name = gone_name(source)
        if self.fresh or name not in deltas:
            return views[name].words(None if self.fresh else 0)
        return rows_of(deltas[name].inserted)

    def end(
        self, plan: ClusterPlan, cycles: tuple[int, ...], views: Mapping[str, StoredRelation]
    ) -> tuple[dict[str, Words], list[PieceChange]]:
        """Return the suspected rows of those that this partition sends in cycles, and the statements that take back
        suspected rows that it was sent."""
        internal = [export for export in plan.exports if export.cycle in cycles]
        sources, targets = {each.source for each in internal}, {each.target for each in internal}
        due = {name: views[gone_name(name)].words().astype(numpy.int64) for name in sources}
        return due, [PieceChange(name, False, rows) for name in targets for rows in self.told.pop(name, ())]
