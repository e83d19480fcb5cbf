"""Orders of `.plan`: read, and ignored, because the planner knows the sizes of relations."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.errors import Problem
from tidelog.language.inlining import INLINE
from tidelog.language.syntax import Atom, CheckedProgram, Disjunction, Literal, Negation, Rule


def unfit_plans(checked: CheckedProgram) -> Iterator[Problem]:
    """Yield a warning (E0299) for each order that does not name all atoms of its rule once, or is one too many. As in
    Soufflé, an atom of an inline relation counts as the atoms of the relation's rule."""
    rules = [rule for rule in checked.texts if rule.plan and not rule.subsumes]
    if not rules:
        return
    inline: dict[str, list[Rule]] = {
        name: [] for name, relation in checked.relations.items() if INLINE in relation.qualifiers
    }
    for rule in checked.texts:
        for head in rule.heads:
            if head.relation in inline:
                inline[head.relation].append(rule)
    for rule in rules:
        total = _atoms(rule.body, inline)
        if total is not None:
            yield from _unfit(rule, total)


def _atoms(body: tuple[Literal, ...], inline: dict[str, list[Rule]]) -> int | None:
    """Return the number of atoms of a body, None if alternatives have atoms of their own."""
    total = 0
    for literal in body:
        atom = literal.atom if isinstance(literal, Negation) else literal
        count: int | None = int(isinstance(literal, Atom))
        if isinstance(atom, Disjunction):
            count = None
        elif isinstance(atom, Atom) and atom.relation in inline:
            own = inline[atom.relation]
            count = _atoms(own[0].body, inline) if atom is literal and len(own) == 1 else None
        if count is None:
            return None
        total += count
    return total


def _unfit(rule: Rule, total: int) -> Iterator[Problem]:
    """Yield a warning for each order that does not fit a rule with so many atoms."""
    atoms = "1 atom" if total == 1 else f"{total} atoms"
    versions: set[int] = set()
    for order in rule.plan:
        message, hint = "", ""
        if sorted(order.atoms) != list(range(1, total + 1)):
            found = ", ".join(map(str, order.atoms))
            message = f"the order ({found}) of this plan does not name each of the rule's {atoms} once"
            hint = f"use each number from 1 to {total}" if total else "remove the plan"
        elif not 0 <= order.version < max(total, 1):
            message, hint = f"the rule has {atoms}, and no version {order.version}", "count versions from 0"
        elif order.version in versions:
            message, hint = f"this plan has two orders for version {order.version}", "remove one of the two"
        if message:
            yield Problem("E0299", message, order.span, hint=hint, severity="warning")
        versions.add(order.version)
