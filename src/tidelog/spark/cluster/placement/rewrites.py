"""Rules and hyper-nodes that partitions evaluate in another form.

Rules that read one column of a closure read its nodes, not its pairs (`read_ends`). `#outer(x) :- con(x, _)` with
the bucket of `x` would go through all pairs of the closure `con`, which nobody has written. It reads `#ends.con.0(x) :-
con(x, _)` instead, which the engine of a partition takes from the components.

Rules that need two partitionings are split (`split_join`): the join of two atoms becomes a relation, which another
column places. A rule such as h(a, d) :- p(a, b), q(b, c), r(c, d) has no site that all its atoms share. It becomes
#join(a, c) :- p(a, b), q(b, c), at the site of b, and h(a, d) :- #join(a, c), r(c, d), at that of c.

Recursions that select, such as least labels and distances, are in the first partition (`gathered_node`). An engine that
evaluates their rules as they are derives all candidates: each label of each node, or distances without end around a
cycle. Instead it takes the hyper-node that reads the selected tuples only (`CoreProgram.dropping`). All of its
relations are in one partition, so it is the same there but for names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from tidelog.language.syntax import Column
from tidelog.rules.core import (
    CoreAtom,
    CoreLiteral,
    CoreProgram,
    CoreRule,
    CoreVariable,
    HyperNode,
    RelationInfo,
    variables_of,
)

_ENDS = "#ends."


def read_ends(rule: CoreRule, closures: Collection[str]) -> tuple[CoreRule, dict[str, tuple[str, int]]]:
    """Return a rule with atoms of one column where it uses only that of a closure, and for the name of the relation of
    each the closure and the column."""
    used = Counter(name for literal in (rule.head, *rule.body) for name in variables_of(literal))
    found: dict[str, tuple[str, int]] = {}
    body: list[CoreLiteral] = []
    for literal in rule.body:
        if isinstance(literal, CoreAtom) and not literal.negated and literal.relation in closures:
            free = [isinstance(arg, CoreVariable) and used[arg] == 1 for arg in literal.args]
            if free.count(True) == 1 and len(free) == 2:
                column = free.index(False)
                name = f"{_ENDS}{literal.relation}.{column}"
                found[name] = literal.relation, column
                literal = replace(literal, relation=name, args=(literal.args[column],))
        body.append(literal)
    return (replace(rule, body=tuple(body)) if found else rule), found


def ends_of(name: str, closure: RelationInfo, column: int) -> tuple[RelationInfo, CoreRule]:
    """Return the relation `name` of the nodes in a column of a closure, and its rule."""
    row = tuple(CoreVariable(f"#{i}", each.kind) for i, each in enumerate(closure.columns))
    rule = CoreRule(name, "", CoreAtom(name, (row[column],)), (CoreAtom(closure.name, row),))
    return RelationInfo(name, (closure.columns[column],), True), rule


def split_join(rule: CoreRule, name: str) -> tuple[RelationInfo, CoreRule, CoreRule] | None:
    """Return a rule in two: an auxiliary relation `name`, its rule, and the rule that is left; None where no two atoms
    share a variable, or nothing but these is there. Of several pairs, the one that leaves the fewest columns."""
    atoms = [literal for literal in rule.body if isinstance(literal, CoreAtom)]
    positive = [atom for atom in atoms if not atom.negated]
    if len(atoms) < 3:
        return None
    pairs = [pair for pair in combinations(positive, 2) if set(variables_of(pair[0])) & set(variables_of(pair[1]))]
    if not pairs:
        return None
    first, second = min(pairs, key=lambda pair: len(_needed_variables(rule, pair)))
    columns = _needed_variables(rule, (first, second))
    info = RelationInfo(name, tuple(Column(each.name, each.kind, each.kind) for each in columns), True)
    join = CoreAtom(name, columns)
    rest = [literal for literal in rule.body if literal is not first and literal is not second]
    return info, CoreRule(name, rule.origin, join, (first, second), rule.span), replace(rule, body=(join, *rest))


def _needed_variables(rule: CoreRule, pair: tuple[CoreAtom, CoreAtom]) -> tuple[CoreVariable, ...]:
    """Return the variables of two atoms of a body that the rest of the rule uses."""
    used = set(variables_of(rule.head))
    for literal in rule.body:
        if literal is not pair[0] and literal is not pair[1]:
            used |= set(variables_of(literal))
    return tuple(dict.fromkeys(each for atom in pair for each in variables_of(atom) if each in used))


def recursions_that_select(core: CoreProgram) -> tuple[HyperNode, ...]:
    """Return the hyper-nodes that an engine may take in place of recursions."""
    return tuple(node for node in core.dropping if not node.chooses and any(part.recursive for part in node.whole))


def gathered_node(node: HyperNode, names: Mapping[str, str], nodes: Sequence[HyperNode]) -> HyperNode:
    """Return one of these for the first partition, whose relations have other `names` and whose program the hyper-nodes
    `nodes`; nothing takes the place of any of these in a partition without its rules."""
    placed = {frozenset(each.relations): each for each in nodes}
    sets = [frozenset(names.get(name, name) for name in part.relations) for part in node.whole]
    whole = tuple(placed[each] for each in sets if each in placed)
    selects = tuple(replace(each, shown=names[each.shown], candidates=names[each.candidates]) for each in node.selects)
    shown = {each.candidates: each.shown for each in selects}

    def rename_relation(literal: CoreLiteral) -> CoreLiteral:
        if isinstance(literal, CoreAtom):
            return replace(literal, relation=shown.get(literal.relation, literal.relation))
        return literal

    rules = tuple(
        replace(rule, body=tuple(map(rename_relation, rule.body)))
        for part in whole
        if not shown.keys().isdisjoint(part.relations)
        for rule in part.rules
        if isinstance(rule, CoreRule)
    )
    relations = tuple(names[name] for name in node.relations)
    return replace(node, relations=relations, rules=rules, selects=selects, whole=whole)
