"""Equations between variables, and between a variable and a constant, are solved by substitution."""

from __future__ import annotations

from tidelog.rules.core import Atom, Comparison, Constant, Literal, Pack, Rule, Unpack, Value, Variable
from tidelog.rules.literals import substituted


def equalities(rule: Rule) -> Rule | None:
    """The rule without equations and without doubled literals; None if it can never derive anything."""
    solution: dict[Variable, Value] = {}
    for literal in rule.body:
        if isinstance(literal, Comparison) and literal.op == "=":
            left, right = _solved(literal.left, solution), _solved(literal.right, solution)
            if isinstance(left, Variable) and (_is_auxiliary(left) or not isinstance(right, Variable)):
                left, right = right, left
            if isinstance(right, Variable) and left != right:
                solution[right] = left
            elif isinstance(right, Constant) and left != right:
                return None

    def solved(value: Value) -> Value:
        return _solved(value, solution)

    rest = [literal for literal in rule.body if not (isinstance(literal, Comparison) and literal.op == "=")]
    body = tuple(dict.fromkeys(substituted(literal, solved) for literal in rest))
    if any(_is_impossible(literal) for literal in body):
        return None
    head = Atom(rule.head.relation, tuple(map(solved, rule.head.args)))
    return Rule(rule.name, rule.origin, head, body, rule.span)


def _is_auxiliary(variable: Variable) -> bool:
    return variable.name.startswith("#")


def _solved(value: Value, solution: dict[Variable, Value]) -> Value:
    while isinstance(value, Variable) and value in solution:
        value = solution[value]
    return value


def _is_impossible(literal: Literal) -> bool:
    """Whether a literal is plainly false: a record that is nil has no fields, and nothing differs from itself."""
    match literal:
        case Pack(target=Constant()) | Unpack(source=Constant()):
            return True
        case Comparison(op="!=" | "<" | ">", kind=kind, left=left, right=right) if kind != "float":
            return left == right
    return False
