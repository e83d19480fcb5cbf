"""An inquiry: the questions of one node why a tuple holds, and the reasons that the nodes give.

It begins with the node of the tuple. Each reason leads to further tuples, and to the nodes that have or derive them. A
node answers for all of its own tuples at once, so that there are about as many questions as places where the proof goes
from node to node. An inquiry has a budget of questions, and one of memory.

Others may lie, so a reason counts only if it fits the rules: a fact is asserted at its own node, and a body has tuples
of the relations that the rule reads, at the node that evaluates it. Everything else of an answer is ignored.

`reasons` says why one node has its tuples, and derives those of others: it reads them off the offers that the node has
chosen and the derivations that it makes, and changes nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TypeAlias

from tidelog.language.aggregates import AGGREGATES
from tidelog.network.choices import BASE
from tidelog.network.limits import (
    LARGEST_ANSWER,
    MOST_ASKED,
    MOST_MEMBERS,
    MOST_NEEDED,
    MOST_REASONS,
    Meter,
    OverrunError,
    weigh,
)
from tidelog.network.messages import Because, NodeReason, Why
from tidelog.network.node_state import NodeState
from tidelog.network.program import AnyLocal, LocalAggregate, LocatedProgram, LocatedTuple
from tidelog.network.rulebook import Rulebook
from tidelog.network.values import fits

Asked: TypeAlias = tuple[str, LocatedTuple]
"""A node, and a tuple that it has or derives."""


class Inquiry:
    """The inquiry `number` of a node with the rules of `book` into the tuple `goal` of the node `owner`.

    It keeps to the `program` that the node has at the beginning, and `checked`, the same in the user's words. `reasons`
    has the answers so far; `wrong` are those that do not fit the rules. `left` is the number of questions that may
    still be sent, and `room` the bytes that further reasons may take.
    """

    def __init__(
        self, number: int, book: Rulebook, owner: str, goal: LocatedTuple, *, messages: int, room: int
    ) -> None:
        self.number = number
        self.program = book.program
        self.checked = book.checked_program
        self.goal: Asked = (owner, goal)
        self.left = messages
        self.room = room
        self.reasons: dict[Asked, NodeReason] = {}
        self.wrong: set[Asked] = set()
        self._open: dict[str, dict[LocatedTuple, bool]] = {owner: {goal: False}}

    @property
    def complete(self) -> bool:
        """Return True if no further answer can come."""
        if self.room < 0:
            return True
        if self.left > 0:
            return not self._open
        return not any(sent for facts in self._open.values() for sent in facts.values())

    def was_asked(self, asked: Asked) -> bool:
        """Return True if a node was asked for a tuple."""
        node, fact = asked
        return asked in self.reasons or self._open.get(node, {}).get(fact, False)

    @property
    def open_questions(self) -> list[Asked]:
        """Return the nodes that have not answered, each with the tuples that it was asked for."""
        return [(node, fact) for node, facts in self._open.items() for fact, sent in facts.items() if sent]

    def recall(self, reasons: Iterable[tuple[str, NodeReason]], unanswered: Iterable[Asked]) -> None:
        """Take all that another inquiry into the same tuple has found."""
        self.reasons = {(node, reason.fact): reason for node, reason in reasons}
        self.wrong = {asked for asked, reason in self.reasons.items() if not self._is_right(asked[0], reason)}
        self._open = {}
        for node, fact in unanswered:
            self._open.setdefault(node, {})[fact] = True

    def questions(self, own: str, *, again: bool = False) -> list[tuple[str, Why]]:
        """Return the questions to send now, each with its receiver: one to each node, and none to a node that has yet
        to answer one, unless `again`. Questions to the node `own`, which asks, cost nothing."""
        found = []
        for node, facts in self._open.items():
            sent = [fact for fact, is_sent in facts.items() if is_sent]
            if (sent and not again) or (node != own and self.left <= 0):
                continue
            self.left -= node != own
            part = tuple(sent or islice(facts, MOST_ASKED))
            facts.update(dict.fromkeys(part, True))
            found.append((node, Why(self.number, part)))
        return found

    def take(self, sender: str, answer: Because) -> None:
        """Take the reasons of an answer that were asked for, and those at the same node that these need."""
        facts = self._open.get(sender)
        if facts is None or answer.number != self.number or self.room < 0:
            return
        given = {reason.fact: reason for reason in answer.reasons}
        waiting = [fact for fact in facts if fact in given]
        if not waiting:
            return
        while waiting:
            fact = waiting.pop()
            reason = given.get(fact)
            asked = sender, fact
            if reason is None or asked in self.reasons:
                continue
            self.room -= weight_of(reason)
            if self.room < 0:
                return
            self.reasons[asked] = reason
            facts.pop(fact, None)
            if not self._is_right(sender, reason):
                self.wrong.add(asked)
                continue
            for node, needed in _needs(sender, reason, self.program):
                if (node, needed) not in self.reasons:
                    self._open.setdefault(node, {}).setdefault(needed, False)
                    if node == sender:
                        waiting.append(needed)
        for fact in facts:
            facts[fact] = False  # The answer had no room for it.
        if not facts:
            del self._open[sender]

    def _is_right(self, sender: str, reason: NodeReason) -> bool:
        match reason.sort:
            case "asserted":
                return self._is_at(reason.fact, sender)
            case "heard":
                return self._is_at(reason.fact, sender) and reason.sources[0] != sender
            case "derived" | "aggregated":
                rule = self.program.rule_of.get(reason.rule)
                return rule is None or (_fits_rule(reason, rule) and self._are_at(sender, *reason.body, *reason.absent))
        return True

    def _are_at(self, node: str, *facts: LocatedTuple) -> bool:
        return all(fits(fact, self.program) is None and self._is_at(fact, node) for fact in facts)

    def _is_at(self, fact: LocatedTuple, node: str) -> bool:
        return self.program.owner(fact) in (None, node)


def _fits_rule(reason: NodeReason, rule: AnyLocal) -> bool:
    """Return True if a reason has the relations of its rule."""
    body = _relations(reason.body)
    if isinstance(rule, LocalAggregate):
        return reason.sort == "aggregated" and reason.fact[0] == rule.head and body == [rule.inner] * len(body)
    return (
        reason.sort == "derived"
        and reason.fact[0] == rule.head.relation
        and body == [atom.relation for atom in rule.positive]
        and _relations(reason.absent) == [atom.relation for atom in rule.negative]
    )


def _relations(facts: Iterable[LocatedTuple]) -> list[str]:
    return [relation for relation, _ in facts]


def _needs(sender: str, reason: NodeReason, program: LocatedProgram) -> list[Asked]:
    """Return the tuples that have to be explained for a reason, and their nodes. Members of a group need not."""
    if reason.sort == "heard":
        return [(reason.sources[0], reason.fact)]
    if reason.sort == "derived" and reason.rule in program.rule_of:
        return [(sender, fact) for fact in reason.body]
    return []


# --- the reasons of one node -----------------------------------------------------------------------------------------


def reasons(state: NodeState, facts: Sequence[LocatedTuple], meter: Meter) -> tuple[NodeReason, ...]:
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
            reason = _reason(state, fact, meter)
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


def _reason(state: NodeState, fact: LocatedTuple, meter: Meter) -> NodeReason:
    if state.owner(fact) == state.name:
        chosen = state.chosen.get(fact)
        if chosen is None:
            return NodeReason(fact, "missing")
        if chosen.source == BASE:
            return NodeReason(fact, "asserted")
        if chosen.source != state.name:
            return NodeReason(fact, "heard", (chosen.source,))
    derivation = state.derivation(fact, meter)
    if derivation is None:
        return NodeReason(fact, "missing")
    rule = state.book.program.rule_of[derivation.rule]
    change = state.book.changes.get(rule.origin)
    version = change.version if change is not None and change.text is not None else 0
    if isinstance(rule, LocalAggregate):
        return _aggregate_reason(state, fact, rule, version, meter)
    return NodeReason(fact, "derived", (), rule.key, version, derivation.body, derivation.absent)


def _aggregate_reason(
    state: NodeState, fact: LocatedTuple, rule: LocalAggregate, version: int, meter: Meter
) -> NodeReason:
    """Return the reason for the value of a group, which names its first members: of a minimum or maximum those with
    the value."""
    group, value = fact[1][: rule.groups], fact[1][-1]
    rows = state.tuples.find(rule.inner, tuple(range(rule.groups)), group)
    for _ in rows:
        meter.spend()
    selective = AGGREGATES[rule.op].selective
    rows.sort(key=lambda row: (selective and row[rule.groups] != value, repr(row)))
    first = tuple((rule.inner, row) for row in rows[:MOST_MEMBERS])
    names = (state.chosen[each].source for each in first)
    sources = tuple(state.name if name == BASE else name for name in names)
    return NodeReason(fact, "aggregated", sources, rule.key, version, first, (), len(rows))
