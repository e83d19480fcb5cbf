"""Equations between variables, and between a variable and a constant, solved by substitution."""

from __future__ import annotations

from tidelog.rules.core import (
    CoreAtom,
    CoreComparison,
    CoreConstant,
    CoreLiteral,
    CoreRule,
    CoreValue,
    CoreVariable,
    Pack,
    Unpack,
)
from tidelog.rules.literals import substituted


def equalities(rule: CoreRule) -> CoreRule | None:
    """Return the rule without equations and duplicate literals; None if it can never derive anything."""
    solution: dict[CoreVariable, CoreValue] = {}
    for literal in rule.body:
        if isinstance(literal, CoreComparison) and literal.op == "=":
            left, right = _solved(literal.left, solution), _solved(literal.right, solution)
            if isinstance(left, CoreVariable) and (_is_auxiliary(left) or not isinstance(right, CoreVariable)):
                left, right = right, left
            if isinstance(right, CoreVariable) and left != right:
                solution[right] = left
            elif isinstance(right, CoreConstant) and left != right:
                return None

    def solved(value: CoreValue) -> CoreValue:
        return _solved(value, solution)

    rest = [literal for literal in rule.body if not (isinstance(literal, CoreComparison) and literal.op == "=")]
    body = tuple(dict.fromkeys(substituted(literal, solved) for literal in rest) if solution else dict.fromkeys(rest))
    if any(_is_impossible(literal) for literal in body):
        return None
    if not solution:
        return CoreRule(rule.name, rule.origin, rule.head, body, rule.span)
    head = CoreAtom(rule.head.relation, tuple(map(solved, rule.head.args)), span=rule.head.span)
    return CoreRule(rule.name, rule.origin, head, body, rule.span)


def _is_auxiliary(variable: CoreVariable) -> bool:
    return variable.name.startswith("#")


def _solved(value: CoreValue, solution: dict[CoreVariable, CoreValue]) -> CoreValue:
    while isinstance(value, CoreVariable) and value in solution:
        value = solution[value]
    return value


def _is_impossible(literal: CoreLiteral) -> bool:
    """Return True if a literal is plainly false: a record that is nil has no fields, and nothing differs from
    itself."""
    match literal:
        case Pack(target=CoreConstant()) | Unpack(source=CoreConstant()):
            return True
        case CoreComparison(op="!=" | "<" | ">", kind=kind, left=left, right=right) if kind != "float":
            return left == right
    return False
