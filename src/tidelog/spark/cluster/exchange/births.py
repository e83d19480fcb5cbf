"""Deletions in recursions that cross partitions: births say which copies of rows have to go.

Within a partition each tuple has a derivation from older ones (docs/theory.md, birth-ranked counting). The relations of
a cycle of exports are one hyper-node there (`plan.joining_rules`). Each round gives births above those of all rounds
before (a logical clock, as Lamport's). So a copy is younger than its row. While that holds, every tuple rests on older
ones, in whichever partition, and in the end on facts: tuples cannot support each other in a circle.

A row that has lost its derivations from older tuples may have others: it is reborn, and its copies are older than
itself from then on. So an epoch that takes something from a cycle goes through these steps, once all inputs of the
cycle have changed:

    1. Copies of rows that have gone or are reborn go, round by round, until there are no more. Nothing comes meanwhile,
       so that it ends. Each copy that is left is younger than its row: what is there is right.
    2. In a round in which the cycle is `settled`, partitions send the rows that have come or are reborn, and are there.
    3. Rounds as for insertions lead to the fix-point.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy

from tidelog.common.arrays import AnyWords
from tidelog.maintain.deltas import Deltas
from tidelog.maintain.protocol import NodeReport
from tidelog.spark.cluster.exchange.pieces import PieceChange
from tidelog.spark.cluster.exchange.rounds import Round
from tidelog.spark.cluster.placement.plan import ClusterPlan, Export, joins
from tidelog.storage.changes import reborn_rows
from tidelog.storage.stored import StoredRelation


def losing_cycles(plan: ClusterPlan, deltas: Deltas, statements: Iterable[PieceChange]) -> Iterator[int]:
    """Yield the cycles from which a round has taken something that they read. Where births cannot be compared, any row
    may have rested on it."""
    copies = {export.target for export in plan.exports if export.cycle is not None}
    retracted = {each.relation for each in statements if not each.asserts and len(each.words)} - copies
    for number, cycle in enumerate(plan.cycles):
        lost = any(
            name in deltas and (len(deltas[name].deleted) or (negated and len(deltas[name].inserted)))
            for name, negated in cycle.reads.items()
        )
        if lost or not cycle.relations.isdisjoint(retracted):
            yield number


class CyclicRows:
    """The rows of an epoch that a partition sends in cycles."""

    def __init__(self) -> None:
        self.shrunk: set[int] = set()
        """Cycles in which copies have to go after the round."""
        self._fed: set[int] = set()
        """Cycles of which the partition had rows or copies before the round."""
        self._reborn: dict[str, AnyWords] = {}
        self._waiting: dict[Export, list[AnyWords]] = {}
        """Rows that are sent once their cycle is settled, if something goes in it."""

    def begin(self, exports: Iterable[Export], views: Mapping[str, StoredRelation]) -> None:
        """Note which cycles have rows and copies before a round, of exports that go on."""
        self.shrunk, self._reborn = set(), {}
        self._fed = {
            export.cycle
            for export in exports
            if export.cycle is not None and any(len(views.get(name, ())) for name in (export.source, export.target))
        }

    def look(self, plan: ClusterPlan, views: Mapping[str, StoredRelation]) -> None:
        """Note the rows that a round has given another birth, just before it ends."""
        for name in {export.source for export in plan.exports if export.cycle is not None}:
            stored = views.get(name)
            if stored is not None and stored.changing and stored.marks.keeps_births:
                self._reborn[name] = reborn_rows(stored)

    def find_unordered_cycles(self, plan: ClusterPlan, nodes: Iterable[NodeReport]) -> set[int]:
        """Return the cycles in which a round has evaluated all rows of the partition anew, although there were some:
        any copy may be older than its row."""
        anew = {name for node in nodes if node.strategy == "bootstrap" for name in node.rules}
        found = {number for number in self._fed if not anew.isdisjoint(joins(plan.cycles[number].relations))}
        if found:
            names = {export.source for export in plan.exports if export.cycle in found}
            self._reborn = {name: rows for name, rows in self._reborn.items() if name not in names}
        return found

    def select_copies(
        self,
        export: Export,
        round: Round,
        removed: AnyWords,
        inserted: AnyWords,
        stored: StoredRelation,
        *,
        goes_on: bool,
    ) -> tuple[AnyWords, AnyWords]:
        """Return the rows whose copies go and come after a round, of a `stored` relation that has lost and gained these
        rows. An export that begins has no copies yet."""
        assert export.cycle is not None
        again = self._reborn.get(export.source, inserted[:0]) if goes_on else inserted[:0]
        if len(removed) or len(again):
            self.shrunk.add(export.cycle)
        if export.cycle in round.settled:
            rows = numpy.concatenate([inserted, *self._waiting.pop(export, ())])
            inserted = rows[stored.find(rows) >= 0]
        elif round.level > export.level:
            self._waiting.pop(export, None)
        else:
            self._waiting.setdefault(export, []).extend(each for each in (inserted, again) if len(each))
        return numpy.concatenate([removed, again]) if len(again) else removed, inserted
