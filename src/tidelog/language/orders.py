"""Orders of `.plan`: checked, then ignored, because the planner knows the sizes of relations."""

from __future__ import annotations

from tidelog.errors import Problem
from tidelog.language.syntax import Atom, Disjunction, Rule


def plan_problems(rule: Rule) -> list[Problem]:
    """Return the problems of the orders of a rule (E0116): each has to name all atoms of the body once, and there are
    at most as many versions as atoms."""
    if any(isinstance(literal, Disjunction) for literal in rule.body):
        return []  # Each alternative is a rule with atoms of its own.
    total = sum(isinstance(literal, Atom) for literal in rule.body)
    problems: list[Problem] = []
    versions: set[int] = set()
    for order in rule.plan:
        if sorted(order.atoms) != list(range(1, total + 1)):
            found = ", ".join(map(str, order.atoms))
            message = f"the order ({found}) of this plan does not name each of the rule's {_atoms(total)} once"
            hint = f"use each number from 1 to {total}" if total else "remove the plan"
            problems.append(Problem("E0116", message, order.span, hint=hint))
        elif not 0 <= order.version < max(total, 1):
            message = f"the rule has {_atoms(total)}, and no version {order.version}"
            problems.append(Problem("E0116", message, order.span, hint="count versions from 0"))
        elif order.version in versions:
            message = f"this plan has two orders for version {order.version}"
            problems.append(Problem("E0116", message, order.span, hint="remove one of the two"))
        versions.add(order.version)
    return problems


def _atoms(number: int) -> str:
    return "1 atom" if number == 1 else f"{number} atoms"
