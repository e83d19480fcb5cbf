"""The situation of a hyper-node in an epoch, and the estimated cost of each strategy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidelog.maintain.epoch import EpochState
from tidelog.maintain.structure import user_relations
from tidelog.rules.core import AggregateRule, CoreRule, HyperNode, head_of
from tidelog.rules.projections import PROJECTION
from tidelog.storage.closed_relation import ClosedMembers, ClosedRelation

_ALWAYS_WORTH = 0.1
"""Seconds that an update may take whatever the last bootstrap took."""
_FEW = 100
"""So many changed input tuples are followed in any case."""
_REMEMBERED = 100
"""The texts about sets of changed inputs that a hyper-node remembers."""
_SHOWING = 2e-7
"""Seconds per pair that an update takes at least to see what has changed in a closure."""
_REGROUPING = 1e-6
"""Seconds per changed pair that an aggregate over a closure takes to change the values of groups one by one. All groups
at once take a fraction of that for each."""


@dataclass(frozen=True)
class Situation:
    """The situation of a hyper-node: the nodes `old` of the last epoch that it consists of, the rules `added` and
    `dropped` since then, and the `inputs` that changed. Without a `reason`, None, the epoch skips the hyper-node."""

    old: list[HyperNode]
    added: list[CoreRule | AggregateRule]
    dropped: list[CoreRule | AggregateRule]
    inputs: frozenset[str]
    reason: str | None


def situation_of(node: HyperNode, state: EpochState) -> Situation:
    """Return the situation of a hyper-node in this epoch."""
    old = former_nodes(node, state)
    added, dropped = rule_changes(node, old) if state.is_new else ([], [])
    inputs = node.inputs.intersection(state.deltas)
    reason = reason_to_visit(node, state, inputs, rules_changed=bool(added or dropped))
    if old and node.relations[0] in state.renewed:
        added = [*node.rules]
        reason = f"the aggregate {state.renewed[node.relations[0]]} has other functions"
    if old and has_other_members(node, state):
        added = [*node.rules]
        reason = reason or "the members of its groups are others"
    return Situation(old, added, dropped, inputs, reason)


def has_other_members(node: HyperNode, state: EpochState) -> bool:
    """Return True if the members of an aggregate's groups are pairs of a closure only now, or no more, or are those of
    another one than in the last epoch: nobody knows what has changed in them."""
    rule = node.rules[0] if node.rules else None
    if not isinstance(rule, AggregateRule):
        return False
    before, now = state.engine.views.get(rule.inner), state.views[rule.inner]
    if isinstance(before, ClosedMembers) and isinstance(now, ClosedMembers):
        return before.closure is not now.closure or before.backward != now.backward
    return isinstance(before, ClosedMembers) or isinstance(now, ClosedMembers)


def former_nodes(node: HyperNode, state: EpochState) -> list[HyperNode]:
    """Return the hyper-nodes of the last epoch that derived relations of this one."""
    if not state.is_new or state.engine.structure.node_of(node.relations[0]) is node:
        return [node]
    before = state.engine.structure
    found = (before.node_of(name) for name in node.relations)
    return list({id(other): other for other in found if other is not None}.values())


def is_broken_up(node: HyperNode, state: EpochState) -> bool:
    """Return True if a hyper-node must be bootstrapped, because it is a part of a former one or relations changed their
    shape."""
    if not state.is_new:
        return False
    old = former_nodes(node, state)
    within = all(other is node or other.derives <= node.derives for other in old)
    if old and node.selects != tuple(each for other in old for each in other.selects):
        within = False  # Counts are of derivations from selected tuples.
    return not within or (bool(state.reshaped) and not state.reshaped.isdisjoint(node.touches))


def rule_changes(
    node: HyperNode, old: list[HyperNode]
) -> tuple[list[CoreRule | AggregateRule], list[CoreRule | AggregateRule]]:
    """Return the rules that a node has gained and lost against the nodes of the last epoch that it consists of."""
    if len(old) == 1 and old[0].rules is node.rules:
        return [], []
    names = node.derives
    before = {id(rule): rule for other in old for rule in other.rules if head_of(rule) in names}
    now = {id(rule): rule for rule in node.rules}
    # Nearly all rules are the same objects, which need not be compared part by part.
    added = dict.fromkeys(rule for key, rule in now.items() if key not in before)
    dropped = dict.fromkeys(rule for key, rule in before.items() if key not in now)
    return [rule for rule in added if rule not in dropped], [rule for rule in dropped if rule not in added]


def reason_to_visit(node: HyperNode, state: EpochState, inputs: frozenset[str], *, rules_changed: bool) -> str | None:
    """Return the reason to visit a node, of which these inputs have changed, or None."""
    if state.is_new and all(name not in state.before for name in node.relations):
        return "new"
    if rules_changed:
        return "its rules have changed"
    if inputs:
        known = state.structure.labels_of(node).changes
        if inputs not in known:
            told = sorted({each for name in inputs for each in relations_behind(state, name)})
            text = f"{', '.join(user_relations(told)) or 'an aggregate or a path'} changed"
            if len(known) >= _REMEMBERED or any(name.startswith(PROJECTION) for name in inputs):
                return text
            known[inputs] = text
        return known[inputs]
    if not state.facts.keys().isdisjoint(node.relations):
        return "its asserted facts changed"
    return None


def relations_behind(state: EpochState, name: str) -> set[str]:
    """Return the changed relations behind a relation, if it is a part of a body and derived here; otherwise the
    relation."""
    if not name.startswith(PROJECTION) or name not in state.derived:  # A partition is sent some as well.
        return {name}
    rules = state.structure.nodes[state.derived[name]].rules
    read = {each for rule in rules if head_of(rule) == name for each, _ in rule.reads if each in state.deltas}
    return {each for other in read for each in relations_behind(state, other)}


def estimate(node: HyperNode, state: EpochState, situation: Situation) -> tuple[str, str]:
    """Return "update" or "bootstrap", and the reason for the latter, before anything is done."""
    if not state.choice.maintain:
        return "bootstrap", "views are not maintained" if situation.old else ""
    if state.choice.strategy != "auto":
        return state.choice.strategy, "forced" if state.choice.strategy == "bootstrap" else ""
    if not situation.old:
        return "bootstrap", ""
    if node.chooses:  # Another evaluation knows no more which candidates are the oldest.
        return "update", ""
    change = 0
    for name in situation.inputs:
        change += len(state.deltas[name])
    for name, (inserted, deleted) in state.facts.items():
        change += len(inserted) + len(deleted) if name in node.derives else 0
    if change > _FEW:
        inputs = sum(len(state.views[name]) for name in node.reads if name not in node.derives)
        inputs += sum(len(state.asserted[name]) for name in node.relations)
        if change > max(_FEW, inputs // 2):
            return "bootstrap", f"{change:,} of {inputs:,} input tuples changed"
    pairs = 0 if node.closure else changed_pairs(state, situation.inputs)
    if pairs and pairs * (_SHOWING if node.folds is None else _REGROUPING) > budget(node, state):
        return "bootstrap", f"{pairs:,} pairs of closures changed"
    return "update", ""


def budget(node: HyperNode, state: EpochState) -> float:
    """Return the seconds that the update of a node may take: as long as its last bootstrap, while all updates that this
    epoch gives up stay below `switch` of a bootstrap of everything."""
    costs = state.engine.costs
    left = state.choice.switch * state.engine.spent - state.wasted
    return max(_ALWAYS_WORTH, min(left, sum([costs.get(name, 0.0) for name in node.relations])))


def changed_pairs(state: EpochState, relations: Iterable[str]) -> int:
    """Return the number of pairs that this epoch has changed in the closures among these relations."""
    pairs = 0
    for name in relations:
        if name in state.deltas and isinstance(state.views[name], ClosedRelation):
            pairs += len(state.deltas[name])
    return pairs
