"""Aggregates over a closure: the value of each group, and the ends of its pairs, from values of components."""

from __future__ import annotations

import numpy

from tidelog.common.arrays import AnyWords, Flags, Words
from tidelog.limits.watch import Watch
from tidelog.maintain.aggregates import changed_words, distinct_groups, replace_values, values_before
from tidelog.maintain.machine import Inputs
from tidelog.rules.core import AggregateRule, CoreAtom, CoreRule, CoreVariable, HyperNode
from tidelog.storage.closed_relation import ClosedMembers, ClosedRelation, ClosureFold, fold_closure
from tidelog.storage.dictionary import Dictionary

_UNSIGNED = -(2**63)
"""Turns the order of signed words into that of unsigned ones."""


def ends_of(node: HyperNode, inputs: Inputs) -> tuple[Words, Words] | None:
    """Return the tuples of a relation without facts that only has the first, or the second, nodes of a closure, shape
    (n, 1), and the number of derivations of each; None for other hyper-nodes. Raise what `watch.look` raises."""
    rule = node.rules[0] if len(node.rules) == 1 and len(node.relations) == 1 else None
    if not isinstance(rule, CoreRule) or len(rule.head.args) != 1 or len(inputs.relations[rule.head.relation]):
        return None
    atoms = [literal for literal in rule.body if isinstance(literal, CoreAtom) and not literal.negated]
    pairs = [atom for atom in atoms if isinstance(inputs.relations[atom.relation], ClosedRelation)]
    if len(atoms) < len(rule.body) or len(pairs) != 1 or any(atom.args for atom in atoms if atom is not pairs[0]):
        return None
    args = pairs[0].args
    if not all(isinstance(arg, CoreVariable) for arg in args) or len({*args}) < 2 or rule.head.args[0] not in args:
        return None
    none = numpy.empty((0, 1), numpy.int64)
    if not all(len(inputs.relations[atom.relation]) for atom in atoms):
        return none, none[:, 0]
    view, watch = inputs.relations[pairs[0].relation], inputs.watch
    assert isinstance(view, ClosedRelation)
    closure, backward = view.closure, rule.head.args[0] == args[1]
    with watch.stop_kernels(closure.nodes):
        nodes = numpy.arange(closure.nodes)
        counts = fold_closure(closure, nodes, ClosureFold("count", backward), watch.look, watch.stop)
    ends = nodes[counts > 0]
    return closure.words_at(ends).reshape(-1, 1), counts[ends]


def update_folded(rule: AggregateRule, inputs: Inputs, changed: Words | None) -> None:
    """Bring the open head of an aggregate rule up to date where the members of its groups are pairs of a closure. The
    pairs of the groups `changed` have changed, those of all groups if it is None. Raise as `update_aggregate`."""
    g, look = rule.groups, inputs.watch.look
    outer, inner, head = (inputs.relations[name] for name in (rule.outer, rule.inner, rule.head))
    assert isinstance(inner, ClosedMembers)
    if changed is None:
        parts = [outer.words(), head.words()[:, :g]]
    else:
        parts = [changed[outer.find(changed) >= 0], *changed_words(outer)]
    groups, _ = distinct_groups(parts, look)
    before = values_before(head, groups, look)
    replace_values(rule, inputs, groups, before, fold_members(rule, inner, groups, inputs.dictionary, inputs.watch))


def fold_members(
    rule: AggregateRule, members: ClosedMembers, groups: Words, dictionary: Dictionary, watch: Watch
) -> tuple[Words, Flags]:
    """Return the values of groups, shape (n, rule.groups), and a mask of those that have one. Raises what
    `watch.look` raises."""
    if not rule.groups:
        return numpy.full(len(groups), len(members)), numpy.ones(len(groups), bool)
    closure = members.closure
    with watch.stop_kernels(closure.nodes):
        found = fold_closure(
            closure, closure.numbers_of(groups), _fold(rule, members.backward, dictionary), watch.look, watch.stop
        )
    if rule.op in ("count", "sum"):
        return found, numpy.ones(len(groups), bool)
    has = found >= 0
    found[has] = closure.words_at(found[has])
    return found, has


def _fold(rule: AggregateRule, backward: bool, dictionary: Dictionary) -> ClosureFold:
    """Return the fold that an aggregate is."""
    if rule.op == "count":
        return ClosureFold("count", backward)
    if rule.op == "sum":
        return ClosureFold("sum", backward)
    if rule.kind == "symbol":

        def ranks(words: AnyWords) -> Words:
            order = numpy.argsort(numpy.array(dictionary.strings(words), object), kind="stable")
            found = numpy.empty(len(words), numpy.int64)
            found[order] = numpy.arange(len(words))
            return found

        return ClosureFold("first", backward, ranks=ranks)
    flip = _UNSIGNED if rule.kind == "unsigned" else 0
    return ClosureFold("first", backward, ~flip if rule.op == "max" else flip)
