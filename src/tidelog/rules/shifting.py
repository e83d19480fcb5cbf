"""Recursions that only add to the values that they select by.

There a cycle that improves does so for ever: from a tuple whose value is less by some number follow tuples whose values
are less by the same number. `shifts` reads that off the rules of a hyper-node that drops dominated tuples.
"""

from __future__ import annotations

from tidelog.rules.core import Computation, CoreAtom, CoreLiteral, CoreRule, CoreValue, CoreVariable, HyperNode
from tidelog.rules.literals import variables_of


def shifts(node: HyperNode) -> bool:
    """Return True if each recursive rule reads one tuple of the hyper-node, and puts the value to select by of that
    tuple into the head after additions and subtractions of others, and nowhere else. All values are of type number."""
    orders = {name: each.orders for each in node.selects for name in (each.shown, each.candidates)}
    if not orders.keys() >= set(node.relations):
        return False
    if any(len(order) != 1 or order[0][2] != "number" for order in orders.values()):
        return False
    columns = {name: order[0][0] for name, order in orders.items()}
    return all(isinstance(rule, CoreRule) and _shifts(rule, columns) for rule in node.rules)


def _shifts(rule: CoreRule, columns: dict[str, int]) -> bool:
    """Return True if a rule does so, given the column to select by of each relation of the hyper-node."""
    read = [each for each in rule.body if isinstance(each, CoreAtom) and each.relation in columns]
    if not read:
        return True
    value = read[0].args[columns[read[0].relation]]
    literals: list[CoreLiteral] = [each for each in rule.body if each is not read[0]]
    if len(read) > 1 or _uses(read[0], value) != 1:
        return False
    while isinstance(value, CoreVariable):
        users = [each for each in literals if value in variables_of(each)]
        if not users:
            at = columns[rule.head.relation]
            return rule.head.args[at] == value and _uses(rule.head, value) == 1
        user = users[0]
        if len(users) > 1 or not isinstance(user, Computation) or _uses(rule.head, value) or not _adds(user, value):
            return False
        literals.remove(user)
        value = user.target
    return False


def _uses(atom: CoreAtom, value: CoreValue) -> int:
    return atom.args.count(value)


def _adds(literal: Computation, value: CoreValue) -> bool:
    """Return True if a computation adds something to a value, or subtracts it."""
    if literal.target == value or literal.args.count(value) != 1:
        return False
    return literal.functor == "+" or (literal.functor == "-" and literal.args[0] == value)
