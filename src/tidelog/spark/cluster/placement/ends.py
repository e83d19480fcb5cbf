"""Rules that read one column of a closure read its nodes, not its pairs.

`#outer(x) :- con(x, _)` with the bucket of `x` would go through all pairs of the closure `con`, which nobody has
written. It reads `#ends.con.0(x) :- con(x, _)` instead, which the engine of a partition takes from the components.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from tidelog.rules.core import CoreAtom, CoreLiteral, CoreRule, CoreVariable, RelationInfo
from tidelog.rules.literals import variables_of

_ENDS = "#ends."


def reading_ends(rule: CoreRule, closures: Collection[str]) -> tuple[CoreRule, dict[str, tuple[str, int]]]:
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
