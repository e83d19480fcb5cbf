"""Hyper-nodes that are transitive closures, and aggregates over these, recognised by their shape.

A hyper-node of one binary relation t is a closure of the union E of its base rules when its recursive rules are among
    t(x, z) :- t(x, y), t(y, z).                                  non-linear
    t(x, z) :- t(x, y), e(y, z).    t(x, z) :- e(x, y), t(y, z).  right- and left-linear, for every e of E
    t(x, y) :- t(y, x).                                           symmetric, beside the non-linear one
and all that compose have `x != z` or none has. A base rule that is no plain copy of a relation gets an auxiliary
relation of its own, which the closure then reads. Linear rules over a base other than the edges that they step along
are no closure: they visit only nodes behind the base (docs/theory.md has figures). Section 6 of the paper on
Regular Datalog asks for such operators; ZodiacEdge's slowest rules (its Section 5.3) are of this kind.

An engine folds the components of a closure, not its pairs. In `c = min y : { con(x, y) }` with a closure `con` the
members of a group are pairs of the closure (see aggregates.py):

    #inner.r.min1(x, y) :- #outer.r.min1(x), con(x, y).

Nodes of one component reach the same nodes, so that they share a value. The aggregates are those whose value for a node
follows from values of the components that it reaches: count, and sum of integers, because these components are
disjoint; min, max, and any. Groups are the first nodes, the second ones, or for a count all pairs together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from types import MappingProxyType

from tidelog.rules.core import (
    AggregateRule,
    ClosureShape,
    CoreAtom,
    CoreComparison,
    CoreLiteral,
    CoreRule,
    CoreVariable,
    EdgeForm,
    EdgeSource,
    HyperNode,
    MembersShape,
    RelationInfo,
)

BASE = "#base."
"""How the names of the relations of the base rules of closures begin."""


@dataclass(frozen=True)
class RecognisedNode:
    """A recursive hyper-node as it was looked at, the one that derives the base of the closure that it is, if that
    takes one, and itself, marked if it is a closure."""

    node: HyperNode
    base: HyperNode | None
    marked: HyperNode


Known = Mapping[int, RecognisedNode]
"""Knowledge of recursive hyper-nodes, by their identity: they live as long as their entries."""


def recognise(nodes: Iterable[HyperNode], known: Known) -> dict[int, RecognisedNode]:
    """Return what is known of the recursive hyper-nodes among `nodes` that are not `known` yet."""
    return {id(node): known.get(id(node)) or _recognise(node) for node in nodes if node.recursive}


def with_closures(
    nodes: Iterable[HyperNode], relations: dict[str, RelationInfo], known: Known = MappingProxyType({})
) -> tuple[HyperNode, ...]:
    """Return the hyper-nodes, with marks on those that are closures or show one under another name. `relations` gets
    the auxiliary relations that this takes."""
    marked: list[HyperNode] = []
    closures: set[str] = set()
    for node in nodes:
        if node.recursive:
            looked = known.get(id(node)) or _recognise(node)
            if looked.base is not None:
                auxiliary = looked.base.relations[0]
                relations[auxiliary] = replace(relations[node.relations[0]], name=auxiliary, auxiliary=True)
                marked.append(looked.base)
            node = looked.marked
            if node.closure is not None:
                closures.add(node.relations[0])
        mirrors = _mirror_of(node, closures) if closures else None
        marked.append(replace(node, mirrors=mirrors) if mirrors is not None else node)
    return tuple(marked)


def _recognise(node: HyperNode) -> RecognisedNode:
    """Return the facts about a recursive hyper-node."""
    closure, others = _closure(node)
    if closure is None:
        return RecognisedNode(node, None, node)
    if not others:
        return RecognisedNode(node, None, replace(node, closure=closure))
    name, first = node.relations[0], others[0]
    auxiliary = f"{BASE}{name}"
    moved = tuple(replace(rule, head=replace(rule.head, relation=auxiliary)) for rule in others)
    copy = CoreRule(auxiliary, first.origin, _pair(name, first), (_pair(auxiliary, first),), first.span)
    rules = (*(rule for rule in node.rules if rule not in others), copy)
    return RecognisedNode(node, HyperNode((auxiliary,), moved, False), replace(node, rules=rules, closure=closure))


def _closure(node: HyperNode) -> tuple[ClosureShape | None, list[CoreRule]]:
    """Return the closure that a recursive hyper-node is, if any, and its base rules that are no plain copies."""
    rules = [rule for rule in node.rules if isinstance(rule, CoreRule)]
    name = node.relations[0]
    if len(node.relations) > 1 or len(rules) < len(node.rules):
        return None, []
    recursive = [rule for rule in rules if any(_reads(literal, name) for literal in rule.body)]
    if any(_ends(rule.head) is None for rule in recursive):
        return None, []
    steps = [_step(rule, name) for rule in recursive]
    composed = [(kind, source) for kind, source, _ in (step for step in steps if step) if kind != "symmetric"]
    unequal = {unequal for kind, _, unequal in (step for step in steps if step) if kind != "symmetric"}
    if None in steps or not composed or len(unequal) > 1:
        return None, []
    kinds = {kind for kind, _ in composed}
    symmetric = any(step is not None and step[0] == "symmetric" for step in steps)
    base = [rule for rule in rules if rule not in recursive]
    copies = {rule: source for rule in base if (source := find_copy_source(rule)) is not None}
    others = [rule for rule in base if rule not in copies]
    edges = {source for source in copies.values() if source.form != "loop"}
    stepped = {kind: {source for other, source in composed if other == kind} for kind in ("right", "left")}
    if "both" in kinds:
        complete = stepped["right"] | stepped["left"] <= edges
    else:
        complete = not symmetric and not others and bool(edges) and edges in stepped.values()
        complete &= stepped["right"] | stepped["left"] <= edges
    if not complete:
        return None, []
    sources = list(dict.fromkeys(copies.values())) + ([EdgeSource(f"{BASE}{name}", "forward")] if others else [])
    return ClosureShape(tuple(sources), symmetric, unequal == {True}, "both" not in kinds), others


def _step(rule: CoreRule, name: str) -> tuple[str, EdgeSource | None, bool] | None:
    """Return how a recursive rule steps: both, right, left or symmetric; the edges of the step; and True if its ends
    must differ."""
    ends = _ends(rule.head)
    atoms = [literal for literal in rule.body if isinstance(literal, CoreAtom)]
    tests = [literal for literal in rule.body if not isinstance(literal, CoreAtom)]
    pairs = [_ends(atom) for atom in atoms]
    if ends is None or None in pairs or any(atom.negated for atom in atoms):
        return None
    x, z = ends
    unequal = [
        isinstance(test, CoreComparison) and test.op == "!=" and {test.left, test.right} == {x, z} for test in tests
    ]
    if not all(unequal):
        return None
    if len(atoms) == 1 and pairs == [(z, x)] and not tests:
        return "symmetric", None, False
    if len(atoms) != 2:
        return None
    # The way from x over y to z: of each atom, whether it leads from x or to z, and in which direction it is written.
    for first, second in ((0, 1), (1, 0)):
        for y in set(pairs[first] or ()) - {x, z}:
            if set(pairs[first] or ()) == {x, y} and set(pairs[second] or ()) == {y, z} and x != z:
                forms: list[EdgeForm] = [
                    "forward" if pairs[first] == (x, y) else "backward",
                    "forward" if pairs[second] == (y, z) else "backward",
                ]
                own = [atoms[first].relation == name, atoms[second].relation == name]
                if any(mine and form == "backward" for mine, form in zip(own, forms, strict=True)):
                    return None
                kind = "both" if all(own) else "right" if own[0] else "left"
                edge = None if all(own) else EdgeSource(atoms[second if own[0] else first].relation, forms[own[0]])
                return kind, edge, bool(tests)
    return None


def find_copy_source(rule: CoreRule) -> EdgeSource | None:
    """Return the relation that a rule copies into its head, and in which direction."""
    if len(rule.body) != 1 or not isinstance(atom := rule.body[0], CoreAtom) or atom.negated:
        return None
    head, body = rule.head.args, atom.args
    if not all(isinstance(arg, CoreVariable) for arg in (*head, *body)):
        return None
    if len(body) == 1 and head == (body[0], body[0]):
        return EdgeSource(atom.relation, "loop")
    if len(body) == 2 and body[0] != body[1] and head in (body, body[::-1]):
        return EdgeSource(atom.relation, "forward" if head == body else "backward")
    return None


def _mirror_of(node: HyperNode, closures: set[str]) -> str | None:
    """Return the closure of a path that a relation shows under its own name, if it contains nothing else."""
    if len(node.rules) != 1 or isinstance(rule := node.rules[0], AggregateRule):
        return None
    if len(rule.reads) != 1 or not rule.reads[0][0].startswith("#"):
        return None
    source = find_copy_source(rule)
    if source is None or source.form != "forward" or source.relation not in closures:
        return None
    return source.relation


def _ends(atom: CoreAtom) -> tuple[CoreVariable, CoreVariable] | None:
    """Return the two distinct variables of an atom, if it has exactly these."""
    if len(atom.args) != 2 or atom.args[0] == atom.args[1]:
        return None
    first, second = atom.args
    return (first, second) if isinstance(first, CoreVariable) and isinstance(second, CoreVariable) else None


def _reads(literal: CoreLiteral, name: str) -> bool:
    return isinstance(literal, CoreAtom) and literal.relation == name


def _pair(name: str, rule: CoreRule) -> CoreAtom:
    """Return the atom of a binary relation with two variables of the kinds that a rule derives."""
    return CoreAtom(name, tuple(CoreVariable(f"#{i}", arg.kind) for i, arg in enumerate(rule.head.args)))


# --- aggregates over closures -----------------------------------------------------------------------------------------


_INTEGERS = ("number", "unsigned")
_FOLDED = {"sum": _INTEGERS, "min": _INTEGERS, "max": _INTEGERS, "any": (*_INTEGERS, "symbol")}
"""The kinds of values that aggregates fold by components; a count has no value."""


def with_folds(nodes: tuple[HyperNode, ...]) -> tuple[HyperNode, ...]:
    """Return the hyper-nodes with marks on the members of groups that are pairs of a closure, and on their
    aggregates."""
    closed = {name for node in nodes if node.closure or node.mirrors for name in node.relations}
    aggregates = {rule.inner: rule for node in nodes for rule in node.aggregates} if closed else {}
    if not aggregates:
        return nodes
    readers = Counter(name for node in nodes for name in node.reads if name in aggregates)
    found: dict[str, str] = {}
    marked = []
    for node in nodes:
        name, rule = node.relations[0], node.rules[0] if len(node.rules) == 1 else None
        if readers[name] == 1 and isinstance(rule, CoreRule):
            members = _members(rule, aggregates[name], closed)
            if members is not None:
                found[name] = members.closure
                node = replace(node, members=members)
        elif isinstance(rule, AggregateRule) and rule.inner in found:
            node = replace(node, folds=found[rule.inner])
        marked.append(node)
    return tuple(marked)


def _members(rule: CoreRule, aggregate: AggregateRule, closed: Set[str]) -> MembersShape | None:
    """Return the shape of the members of groups, if they are pairs of one of the closures `closed`."""
    if aggregate.op != "count" and aggregate.kind not in _FOLDED.get(aggregate.op, ()):
        return None
    atoms = [literal for literal in rule.body if isinstance(literal, CoreAtom) and not literal.negated]
    if len(atoms) != 2 or len(rule.body) != 2:
        return None
    outer, pair = sorted(atoms, key=lambda atom: atom.relation != aggregate.outer)
    head = rule.head.args
    if outer.relation != aggregate.outer or outer.args != head[: aggregate.groups] or pair.relation not in closed:
        return None
    if len(head) != 2 or not all(isinstance(arg, CoreVariable) for arg in head) or pair.args not in (head, head[::-1]):
        return None
    if aggregate.groups != 1 and (aggregate.groups or aggregate.op != "count"):
        return None
    return MembersShape(pair.relation, outer.relation, pair.args != head)
