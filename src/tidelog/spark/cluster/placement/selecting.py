"""Recursions that select, such as least labels and distances, in the first partition.

An engine that evaluates their rules as they are derives all candidates: each label of each node, or distances without
end around a cycle. Instead it takes the hyper-node that reads the selected tuples only (`CoreProgram.dropping`). All of
its relations are in one partition, so it is the same there but for names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tidelog.rules.core import CoreAtom, CoreLiteral, CoreProgram, CoreRule, HyperNode


def recursions_that_select(core: CoreProgram) -> tuple[HyperNode, ...]:
    """Return the hyper-nodes that an engine may take in place of recursions."""
    return tuple(node for node in core.dropping if not node.chooses and any(part.recursive for part in node.whole))


def gathered(node: HyperNode, names: Mapping[str, str], nodes: Sequence[HyperNode]) -> HyperNode:
    """Return one of these for the first partition, whose relations have other `names` and whose program the hyper-nodes
    `nodes`; nothing takes the place of any of these in a partition without its rules."""
    placed = {frozenset(each.relations): each for each in nodes}
    sets = [frozenset(names.get(name, name) for name in part.relations) for part in node.whole]
    whole = tuple(placed[each] for each in sets if each in placed)
    selects = tuple(replace(each, shown=names[each.shown], candidates=names[each.candidates]) for each in node.selects)
    shown = {each.candidates: each.shown for each in selects}

    def read(literal: CoreLiteral) -> CoreLiteral:
        if isinstance(literal, CoreAtom):
            return replace(literal, relation=shown.get(literal.relation, literal.relation))
        return literal

    rules = tuple(
        replace(rule, body=tuple(map(read, rule.body)))
        for part in whole
        if not shown.keys().isdisjoint(part.relations)
        for rule in part.rules
        if isinstance(rule, CoreRule)
    )
    relations = tuple(names[name] for name in node.relations)
    return replace(node, relations=relations, rules=rules, selects=selects, whole=whole)
