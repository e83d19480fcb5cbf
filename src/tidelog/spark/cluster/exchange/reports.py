"""One report of an epoch from those of the partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelog.maintain.protocol import NodeReport
from tidelog.maintain.report import names_of, shown
from tidelog.rules.core import HyperNode
from tidelog.spark.cluster.exchange.rounds import Reply
from tidelog.spark.cluster.placement.plan import ClusterPlan, relation_of

_STRONGER = ("skip", "drop", "update", "bootstrap")


def merged(
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
        names = shown(node.relations)
        spent = sum(seconds.get(name, 0.0) for name in node.relations)
        impact = sum(_impact(name, plan, last) for name in names)
        found.append(NodeReport(names, names_of(node), _STRONGER[strength], f"{reason}; {way}", spent, impact, rounds))
    return tuple(found)


def _impact(name: str, plan: ClusterPlan, last: Mapping[int, Reply]) -> int:
    counts = [sum(reply.changed.get(name, (0, 0))) for reply in last.values()]
    return max(counts, default=0) if plan.homes.get(name) == "all" else sum(counts)
