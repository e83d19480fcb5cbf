"""The messages between the driver and the partitions: rounds, tasks, replies, and the log that restores a partition;
and one report of an epoch from the replies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tidelog.common.arrays import Words
from tidelog.functions.callables import Named
from tidelog.maintain.protocol import NodeReport
from tidelog.maintain.structure import rule_names, user_relations
from tidelog.rules.core import HyperNode
from tidelog.spark.cluster.exchange.pieces import Bundle, Piece, PieceMessage
from tidelog.spark.cluster.placement.buckets import Frequent
from tidelog.spark.cluster.placement.plan import ClusterPlan, relation_of

RoundState: TypeAlias = tuple[str, int, str]
"""The round that a partition has done last, and who did it: two that do the same round may number symbols apart."""
NOWHERE: RoundState = ("", 0, "")


@dataclass(frozen=True)
class Round:
    """A round as all partitions get it, as a file. They `forget` what they have been sent for these relations
    and send what the exports of `cycles` say anew. `bundles` have pieces for single partitions, `shared` are those for
    all. Of facts that have been everywhere and have become too many for that they keep those that live with them
    (`narrow`)."""

    token: str
    number: int
    plan: str
    forget: tuple[str, ...] = ()
    cycles: tuple[int, ...] = ()
    narrow: tuple[str, ...] = ()
    bundles: Sequence[Bundle] = ()
    shared: Sequence[Piece] = ()
    symbols: Sequence[str] = ()
    """The files of symbols and records, in order."""
    level: int = -1
    """The level of the messages, see `plan.Export`; less than all levels for facts."""
    settled: tuple[int, ...] = ()
    """Cycles in which nothing goes any more: partitions send what has come meanwhile, or has come back."""
    epoch: int = 0
    """The number of the epoch for `blame`, negative if its facts have come in that epoch or before."""
    clock: int = 0
    """No birth before this round is larger; those of this round are (a logical clock, as Lamport's)."""

    @property
    def name(self) -> str:
        """Return the name of the file."""
        return f"round-{self.token}-{self.number}"


@dataclass(frozen=True)
class Logged:
    """One entry of what came to partitions in the past: pieces, and relations to forget or narrow before them, and the
    epoch of the facts in these pieces."""

    forget: tuple[str, ...]
    narrow: tuple[str, ...]
    shared: tuple[Piece, ...]
    bundles: tuple[Bundle, ...]
    epoch: int


@dataclass(frozen=True)
class Lookup:
    """The rows of a relation of the user's program, or of its asserted `facts`, whose `columns`, ascending, are one of
    the distinct rows of `groups`: from each partition at most `most`."""

    relation: str
    facts: bool
    columns: tuple[int, ...]
    groups: Words
    most: int


@dataclass(frozen=True)
class Saved:
    """All that a partition had in some epoch: the file of the plan of that time, and a file with its checksum. The
    first `entries` of the log had led there; None if the partition has been sent nothing since."""

    plan: str
    file: str
    checksum: str
    entries: int | None


@dataclass(frozen=True)
class Task:
    """The task of a partition. It is to be in `state`; where it is not, it is restored from what it has `saved`, the
    rest of the log in the file `past`, and the rounds `since` then (names of files), with the `symbols` known by now.

    It imports the `functions` of functors, also from the `paths` of the worker that brings the task: the folder, where
    others may write, names none.
    """

    folder: str
    partition: int
    partitions: int
    state: RoundState
    past: str
    since: tuple[str, ...]
    symbols: tuple[str, ...]
    what: str
    round: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    arguments: tuple[Any, ...] = ()
    functions: tuple[Named, ...] = ()
    paths: tuple[str, ...] = ()
    saved: Saved | None = None

    @property
    def reads_changes(self) -> bool:
        """Return True if the partition has to know what the last epoch has changed, which it does not save."""
        return self.what in ("came", "went", "changes")


@dataclass(frozen=True)
class Reply:
    """The answer of a partition to a round: its `state`, the `messages` that wait to be released, the cycles that have
    `shrunk` because copies of their rows have to go, those that are `losing` something that they read, and those that
    are `unordered` from now on, the sizes of the user's relations, the bytes of messages that it has `kept`, the
    numbers of inserted and deleted rows of each relation in the epoch so far, the reports of the hyper-nodes, and a
    file of new symbols and records."""

    partition: int
    state: RoundState
    messages: tuple[PieceMessage, ...]
    shrunk: tuple[int, ...]
    losing: tuple[int, ...]
    unordered: tuple[int, ...]
    sizes: Mapping[str, int]
    kept: int
    changed: Mapping[str, tuple[int, int]]
    nodes: tuple[NodeReport, ...]
    symbols: str
    seconds: float
    restored: bool
    replayed: int
    """The rows of earlier epochs that the partition has evaluated again, because it was restored."""
    frequent: Mapping[str, Frequent]
    """The frequent words of relations."""
    clock: int
    """The largest birth so far."""


_STRONGER = ("skip", "drop", "update", "bootstrap")


def merge_reports(
    nodes: Iterable[HyperNode],
    plan: ClusterPlan,
    replies: Iterable[tuple[Reply, bool]],
    last: Mapping[int, Reply],
    rounds: int,
) -> tuple[NodeReport, ...]:
    """Return a report for each hyper-node of the user's program: the strongest thing that any partition did in any
    round, with its reason; the impact is that on relations that users know."""
    ways = {name: way for relations, way in plan.nodes for name in relations}
    done: dict[str, tuple[int, str]] = {}
    seconds: dict[str, float] = {}
    for reply, reset in replies:
        for each in reply.nodes:
            for copy in each.relations:
                name = relation_of(copy)
                strength, reason = _STRONGER.index(each.strategy), each.reason
                if reset and each.strategy != "skip":
                    strength, reason = 3, "something it read has gone, and its recursion crosses partitions"
                done[name] = max(done.get(name, (0, "")), (strength, reason))
                seconds[name] = seconds.get(name, 0.0) + each.seconds / len(each.relations)
    found = []
    for node in nodes:
        strength, reason = max((done.get(name, (0, "")) for name in node.relations), default=(0, ""))
        reason = reason if strength else "nothing that it reads has changed"
        way = ways.get(node.relations[0], "split")
        names = user_relations(node.relations)
        spent = sum(seconds.get(name, 0.0) for name in node.relations)
        impact = sum(_impact(name, plan, last) for name in names)
        found.append(
            NodeReport(names, rule_names(node), _STRONGER[strength], f"{reason}; {way}", spent, impact, rounds)
        )
    return tuple(found)


def _impact(name: str, plan: ClusterPlan, last: Mapping[int, Reply]) -> int:
    counts = [sum(reply.changed.get(name, (0, 0))) for reply in last.values()]
    return max(counts, default=0) if plan.homes.get(name) == "all" else sum(counts)
