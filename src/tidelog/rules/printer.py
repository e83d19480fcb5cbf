"""Core rules as text, near to the source that they stem from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.language.functors import TESTS

if TYPE_CHECKING:
    from tidelog.language.syntax import BranchType
    from tidelog.rules import core

_INFIX = frozenset(
    ("+", "-", "*", "/", "%", "^", "band", "bor", "bxor", "bshl", "bshr", "bshru", "land", "lor", "lxor")
)


def value_text(value: core.CoreValue) -> str:
    """Return a variable's name, or a constant as it is written in a program."""
    name = getattr(value, "name", None)
    if name is not None:
        return "_" if name.startswith("#_") else str(name)
    constant = getattr(value, "value", None)
    if constant is None:
        return "nil"
    if isinstance(constant, str):
        escaped = constant.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        return f'"{escaped}"'
    return str(constant)


def atom_text(atom: core.CoreAtom) -> str:
    """Return `relation(args)`, with `!` in front if negated."""
    return f"{'!' if atom.negated else ''}{atom.relation}({_list(atom.args)})"


def comparison_text(comparison: core.CoreComparison) -> str:
    """Return `left op right`, with tests such as `match` in front."""
    left, right = value_text(comparison.left), value_text(comparison.right)
    word = comparison.op.lstrip("!")
    if word in TESTS:
        return f"{comparison.op}({left}, {right})"
    return f"{left} {comparison.op} {right}"


def computation_text(computation: core.Computation) -> str:
    """Return `target = functor(args)`, with operators between their operands."""
    target, args = value_text(computation.target), computation.args
    match computation.functor:
        case "neg":
            return f"{target} = -{value_text(args[0])}"
        case "as":
            kind = getattr(computation.target, "kind", "")
            return f"{target} = as({value_text(args[0])}, {kind})"
        case name if name in _INFIX and len(args) == 2:
            return f"{target} = {value_text(args[0])} {name} {value_text(args[1])}"
        case name:
            return f"{target} = {name}({_list(args)})"


def pack_text(target: core.CoreValue, args: tuple[core.CoreValue, ...], branch: BranchType | None) -> str:
    """Return `target = [args]`, or `target = $branch(…)` with the arguments that the branch has."""
    if branch is None:
        return f"{value_text(target)} = [{_list(args)}]"
    parts = _list(tuple(args[place] for place in branch.places))
    return f"{value_text(target)} = ${branch.name}" + (f"({parts})" if parts else "")


def rule_text(rule: core.CoreRule) -> str:
    """Return `name: head :- body.`"""
    body = f" :- {', '.join(map(str, rule.body))}" if rule.body else ""
    return f"{rule.name}: {atom_text(rule.head)}{body}."


def aggregate_text(rule: core.AggregateRule) -> str:
    """Return `head(groups, value)` in words."""
    return f"{rule.head}: {rule.word} of {rule.inner} for each tuple of {rule.outer}."


def _list(values: tuple[core.CoreValue, ...]) -> str:
    return ", ".join(map(value_text, values))
