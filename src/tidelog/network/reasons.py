"""The reasons of one node: why it has its tuples, and derives those of others.

They are read off the offers that the node has chosen and the derivations that it makes. Reading them changes nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from tidelog.language.aggregates import AGGREGATES
from tidelog.network.choices import BASE
from tidelog.network.limits import LARGEST_ANSWER, MOST_MEMBERS, MOST_NEEDED, MOST_REASONS, Meter, OverrunError, weigh
from tidelog.network.machine import NodeState
from tidelog.network.messages import NodeReason
from tidelog.network.program import LocalAggregate, LocatedTuple


def reasons(machine: NodeState, facts: Sequence[LocatedTuple], meter: Meter) -> tuple[NodeReason, ...]:
    """Return why a node has the tuples asked for, then why it has those that these need there, as many as an answer
    may have. Each derivation looked at is a step for the `meter`; a reason that takes more is withheld."""
    found: dict[LocatedTuple, NodeReason] = {}
    left = LARGEST_ANSWER
    waiting = deque(facts)
    while waiting and len(found) < MOST_REASONS:
        fact = waiting.popleft()
        if fact in found:
            continue
        try:
            reason = _reason(machine, fact, meter)
        except OverrunError:
            reason = NodeReason(fact, "withheld")
        weight = weight_of(reason)
        if weight > LARGEST_ANSWER or len(reason.body) > MOST_NEEDED or len(reason.absent) > MOST_NEEDED:
            reason = NodeReason(fact, "withheld")
            weight = weight_of(reason)
        if found and weight > left:
            break
        left -= weight
        found[fact] = reason
        if reason.sort == "derived":
            waiting.extend(reason.body)
    return tuple(found.values())


def weight_of(reason: NodeReason) -> int:
    """Return an estimate of the memory of a reason, in bytes."""
    return sum(weigh(row) + 32 for _, row in (reason.fact, *reason.body, *reason.absent))


def _reason(machine: NodeState, fact: LocatedTuple, meter: Meter) -> NodeReason:
    if machine.owner(fact) == machine.name:
        chosen = machine.chosen.get(fact)
        if chosen is None:
            return NodeReason(fact, "missing")
        if chosen.source == BASE:
            return NodeReason(fact, "asserted")
        if chosen.source != machine.name:
            return NodeReason(fact, "heard", (chosen.source,))
    derivation = machine.derivation(fact, meter)
    if derivation is None:
        return NodeReason(fact, "missing")
    rule = machine.book.program.rule_of[derivation.rule]
    change = machine.book.changes.get(rule.origin)
    version = change.version if change is not None and change.text is not None else 0
    if isinstance(rule, LocalAggregate):
        return _aggregated(machine, fact, rule, version, meter)
    return NodeReason(fact, "derived", (), rule.key, version, derivation.body, derivation.absent)


def _aggregated(machine: NodeState, fact: LocatedTuple, rule: LocalAggregate, version: int, meter: Meter) -> NodeReason:
    """Return the reason for the value of a group, which names its first members: of a minimum or maximum those with
    the value."""
    group, value = fact[1][: rule.groups], fact[1][-1]
    rows = machine.tuples.find(rule.inner, tuple(range(rule.groups)), group)
    for _ in rows:
        meter.spend()
    selective = AGGREGATES[rule.op].selective
    rows.sort(key=lambda row: (selective and row[rule.groups] != value, repr(row)))
    first = tuple((rule.inner, row) for row in rows[:MOST_MEMBERS])
    names = (machine.chosen[each].source for each in first)
    sources = tuple(machine.name if name == BASE else name for name in names)
    return NodeReason(fact, "aggregated", sources, rule.key, version, first, (), len(rows))
