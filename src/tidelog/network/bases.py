"""The basis of a derivation: all that it rests on, by the reasons that nodes have given.

Nodes run rules that `localize` has made: a rule of the user may be a chain of them, and reads auxiliary relations that
carry tuples from node to node, or have the values of aggregates. A reason is followed through auxiliary tuples, down to
those of the user's relations.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tidelog.network.inquiry import Asked, Inquiry
from tidelog.network.joins import ground
from tidelog.network.messages import NodeReason
from tidelog.network.program import LocalAggregate, LocalRule, LocatedProgram, LocatedTuple
from tidelog.network.values import shown_row
from tidelog.rules import core
from tidelog.rules.path_forms import PATH
from tidelog.semantics.values import Row


def shown_fact(fact: LocatedTuple, program: LocatedProgram) -> tuple[str, Row]:
    """Return a tuple as the user sees it."""
    return fact[0], shown_row(fact[1], fact[0], program)


@dataclass(frozen=True)
class GroupValue:
    """The value of an aggregate, with its reason and its node."""

    rule: LocalAggregate
    reason: NodeReason
    node: str


@dataclass
class Basis:
    """The tuples of the user's relations that a derivation rests on, those along paths apart, those that are absent,
    each with the node that says so, and the values of aggregates. `gap` says what is missing, if anything."""

    tuples: dict[tuple[str, Row], Asked] = field(default_factory=dict)
    along: dict[tuple[str, Row], Asked] = field(default_factory=dict)
    absent: dict[LocatedTuple, str] = field(default_factory=dict)
    groups: list[GroupValue] = field(default_factory=list)
    gap: str | None = None


class Bases:
    """The reasons of an inquiry, and what derivations rest on."""

    def __init__(self, inquiry: Inquiry) -> None:
        self._inquiry = inquiry
        self._program = inquiry.program
        self._gaps: dict[Asked, str] = {}

    def source(self, asked: Asked) -> tuple[str, NodeReason | str | None]:
        """Return the node that asserts or derives a tuple and its reason; without one, the node that should have given
        it, and what is missing as text, None for a limit."""
        if asked in self._gaps:
            return asked[0], self._gaps[asked]
        inquiry = self._inquiry
        reason = inquiry.reasons.get(asked)
        if reason is not None and reason.sort == "heard" and asked not in inquiry.wrong:
            asked = reason.sources[0], asked[1]
            reason = inquiry.reasons.get(asked)
        node = asked[0]
        if reason is None:
            return node, f"node {node} has not answered" if inquiry.was_asked(asked) else None
        if asked in inquiry.wrong:
            return node, f"the reason that node {node} gives does not fit the rules"
        if reason.sort == "missing":
            return node, f"node {node} does not derive it any more"
        if reason.sort == "withheld":
            return node, f"the reason of node {node} is too large to send"
        if reason.rule and reason.rule not in self._program.rule_of:
            name = reason.rule.rsplit(".", 1)[0]
            return node, f"node {node} derives it by rule {name:.60} version {reason.version}, which is unknown here"
        return node, reason

    def of(self, node: str, reason: NodeReason) -> Basis:
        """Return what a derivation at a node rests on, through auxiliary tuples."""
        found = Basis()
        seen: set[Asked] = set()
        waiting = [(node, reason, False)]
        while waiting:
            node, reason, is_path = waiting.pop()
            found.absent.update(dict.fromkeys(reason.absent, node))
            for fact in reason.body:
                if not self._program.places[fact[0]].auxiliary:
                    (found.along if is_path else found.tuples)[shown_fact(fact, self._program)] = node, fact
                    continue
                if (node, fact) in seen:
                    continue
                seen.add((node, fact))
                source, inner = self.source((node, fact))
                if not isinstance(inner, NodeReason):
                    self._assume(source, fact, inner or "a limit was reached", found)
                elif inner.sort == "aggregated":
                    rule = self._program.rule_of[inner.rule]
                    assert isinstance(rule, LocalAggregate)
                    found.groups.append(GroupValue(rule, inner, source))
                elif inner.sort == "derived":
                    waiting.append((source, inner, is_path or fact[0].startswith(PATH)))
        return found

    def _assume(self, node: str, fact: LocatedTuple, gap: str, found: Basis) -> None:
        """Note what a node that gives no reason must have derived an auxiliary tuple from, as far as its values say:
        tuples that are then open."""
        waiting = [fact]
        while waiting:
            fact = waiting.pop()
            rules = [rule for rule in self._program.rules if rule.head.relation == fact[0]]
            if len(rules) != 1:
                found.gap = gap
                return
            (rule,) = rules
            bound = _bound(rule, fact)
            for atom in (*rule.positive, *rule.negative):
                if not all(isinstance(arg, core.CoreConstant) or arg.name in bound for arg in atom.args):
                    found.gap = gap
                    continue
                needed = ground(atom, bound)
                if atom.negated:
                    found.absent[needed] = node
                elif self._program.places[atom.relation].auxiliary:
                    waiting.append(needed)
                else:
                    found.tuples[shown_fact(needed, self._program)] = node, needed
                    if (node, needed) not in self._inquiry.reasons:
                        self._gaps[node, needed] = gap


def _bound(rule: LocalRule, fact: LocatedTuple) -> dict[str, Any]:
    """Return the values of the variables of a rule's head."""
    args = zip(rule.head.args, fact[1], strict=True)
    return {arg.name: value for arg, value in args if isinstance(arg, core.CoreVariable)}
