"""The ends of a closure's pairs, with their numbers of pairs, from its components."""

from __future__ import annotations

import numpy

from tidelog.common.arrays import Words
from tidelog.maintain.machine import Inputs
from tidelog.rules.core import CoreAtom, CoreRule, CoreVariable, HyperNode
from tidelog.storage.closed_relation import ClosedRelation
from tidelog.storage.folding import ClosureFold, folded


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
    with watch.telling(closure.nodes):
        nodes = numpy.arange(closure.nodes)
        counts = folded(closure, nodes, ClosureFold("count", backward), watch.look, watch.stop)
    ends = nodes[counts > 0]
    return closure.words_at(ends).reshape(-1, 1), counts[ends]
