"""Early projection: a part of a recursive rule's body gets a relation of its own, without the variable that dies in it.

    pt(y, w) :- load(y, x), pt(x, z), pt(z, w).

Nothing behind the first two atoms reads x. Where many x lead to the same pair of y and z, or few y are loaded at all,

    pt(y, w) :- #projection.1(y, z), pt(z, w).    #projection.1(y, z) :- load(y, x), pt(x, z).

makes each pair once, and a new pt(z, w) meets the y that load from something that points to z, not all that do. Where
neither holds, the relation costs memory and saves nothing: an engine decides by what it has counted
(`maintain/early.py`). Parts that join complete relations only are those of projections.py.

Source: variable elimination, as in Dechter, "Bucket elimination: a unifying framework for reasoning", Artificial
Intelligence 113, 1999.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field, replace
from itertools import chain

from tidelog.rules.core import (
    CoreAtom,
    CoreComparison,
    CoreLiteral,
    CoreProgram,
    CoreRule,
    CoreVariable,
    HyperNode,
    variables_of,
)
from tidelog.rules.projections import binds, info_of_part, named_by_content

_WIDEST = 3
"""The most columns of the relation of a part."""


@dataclass(frozen=True)
class EarlyProjection:
    """A rule with the relation of a part in its body, `rest`, and the rule that derives this relation, `part`."""

    part: CoreRule
    rest: CoreRule

    @property
    def relation(self) -> str:
        """The relation of the part, named after its content: one in the whole program."""
        return self.part.head.relation


def early_projections(rule: CoreRule, internal: Set[str]) -> Iterator[EarlyProjection]:
    """Yield the early projections of a rule: one for each variable that the head does not have and that two or more
    atoms share, but not all. One of the atoms is of `internal` relations, which are recursive with the head."""
    head = frozenset(variables_of(rule.head))
    hidden = dict.fromkeys(each for literal in rule.body for each in variables_of(literal) if each not in head)
    for part in dict.fromkeys(_part_of(rule, variable) for variable in hidden):
        found = _project_part(rule, part, head)
        if found is not None and any(name in internal for name, negated in found.part.reads if not negated):
            yield found


def _part_of(rule: CoreRule, variable: CoreVariable) -> frozenset[int]:
    """Return the positions of the literals with a variable, and of the tests of what their atoms bind; none unless all
    of them are atoms and tests."""
    own = [i for i, literal in enumerate(rule.body) if variable in literal.values]
    bound = {each for i in own if binds(rule.body[i]) for each in variables_of(rule.body[i])}
    tests = [
        i for i, x in enumerate(rule.body) if _is_test(x) and bound.issuperset(variables_of(x)) and any(variables_of(x))
    ]
    part = frozenset(own).union(tests)
    return part if all(binds(rule.body[i]) or i in tests for i in part) else frozenset()


def _project_part(rule: CoreRule, part: frozenset[int], head: frozenset[CoreVariable]) -> EarlyProjection | None:
    """Return the projection of a part; None where it has no variable of its own, too many columns, or no join inside or
    outside."""
    inside = [literal for i, literal in enumerate(rule.body) if i in part]
    outside = [literal for i, literal in enumerate(rule.body) if i not in part]
    atoms = sum(map(binds, inside))
    used = head.union(*map(variables_of, outside))
    names = frozenset(chain.from_iterable(map(variables_of, inside)))
    shared = names & used
    rest = frozenset(chain.from_iterable(variables_of(each) for each in outside if binds(each)))
    if atoms < 2 or names <= used or not 0 < len(shared) <= _WIDEST or rest <= shared or rest.isdisjoint(shared):
        return None
    made, atom = named_by_content(inside, shared, rule)
    return EarlyProjection(made, replace(rule, body=(atom, *outside)))


def _is_test(literal: CoreLiteral) -> bool:
    return isinstance(literal, CoreComparison) or (isinstance(literal, CoreAtom) and literal.negated)


# --- programs ---------------------------------------------------------------------------------------------------------


def can_be_projected(node: HyperNode) -> bool:
    """Return True for a hyper-node of ordinary rules that is recursive and reads whole relations."""
    return node.kind == "rules" and node.recursive and not node.selects


@dataclass(frozen=True)
class EarlyProgram:
    """A `program` with the early projections of the relations `names`, or with all of them if that is None, made of the
    program `source`. `nodes` has the hyper-nodes of both by the identity of the first."""

    names: frozenset[str] | None
    source: CoreProgram
    program: CoreProgram
    nodes: dict[int, tuple[HyperNode, HyperNode]] = field(default_factory=dict)


def with_early_projections(
    source: CoreProgram, names: frozenset[str] | None, last: EarlyProgram | None = None
) -> EarlyProgram:
    """Return a program with early projections. Hyper-nodes and relations that were the same in the `last` one, which
    must have the same names, stay the same objects."""
    if names is not None and not names:
        return EarlyProgram(names, source, source)
    known = last.nodes if last is not None and last.names == names else {}
    infos = last.program.relations if last is not None else {}
    fixed = {part.relations for node in source.dropping for part in node.whole}
    nodes, kept, added = [], {}, {}
    for node in source.nodes:
        found = node
        if can_be_projected(node) and node.relations not in fixed:
            found = known[id(node)][1] if id(node) in known else _with_parts(node, names)
            kept[id(node)] = node, found
            for rule in found.rules[len(node.rules) :]:  # Those of the parts come last.
                assert isinstance(rule, CoreRule)
                info = info_of_part(rule.head)
                added[info.name] = infos[info.name] if infos.get(info.name) == info else info
        nodes.append(found)
    if not added:
        return EarlyProgram(names, source, source, kept)
    program = replace(source, relations={**source.relations, **added}, nodes=tuple(nodes))
    return EarlyProgram(names, source, program, kept)


def _with_parts(node: HyperNode, names: frozenset[str] | None) -> HyperNode:
    """Return a hyper-node with the early projections of `names`."""
    rules: list[CoreRule] = []
    parts: dict[str, CoreRule] = {}
    for rule in node.rules:
        assert isinstance(rule, CoreRule)  # as `can_be_projected` asks for
        internal = node.derives
        while found := [each for each in early_projections(rule, internal) if names is None or each.relation in names]:
            parts[found[0].relation] = found[0].part
            rule, internal = found[0].rest, internal | {found[0].relation}
        rules.append(rule)
    if not parts:
        return node
    return replace(node, relations=(*node.relations, *parts), rules=(*rules, *parts.values()))
