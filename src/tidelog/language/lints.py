"""`warnings`: constructs that the language allows, but that probably are mistakes."""

from __future__ import annotations

from collections import Counter

from tidelog.errors import Problem
from tidelog.language.branched import endless
from tidelog.language.paths import steps
from tidelog.language.syntax import Atom, CheckedProgram, Rule, Step, Variable
from tidelog.language.trees import atoms, occurrences, whole


def warnings(checked: CheckedProgram) -> list[Problem]:
    """Return problems of severity "warning": types without values, relations that are read but never filled, and
    variables that occur once."""
    found = (
        endless(checked)
        + _empty_relations(checked)
        + [problem for rule in checked.written for problem in _single_variables(rule)]
    )
    return list(dict.fromkeys(found))  # instances of a component have the same variables


def _empty_relations(checked: CheckedProgram) -> list[Problem]:
    """Return a warning for each relation that rules read, but that has no facts, rules or input."""
    filled = {head.relation for rule in checked.rules for head in rule.heads}
    filled |= {fact.relation for fact in checked.facts}
    filled |= {directive.relation for directive in checked.directives if directive.name == "input"}
    first: dict[str, Atom | Step] = {}
    for rule in checked.rules:
        for atom in atoms(rule.body):
            for reading in steps(atom.path) if atom.path is not None else (atom,):
                if reading.relation not in filled:
                    first.setdefault(reading.relation, reading)
    hint = "declare `.input`, or insert facts from outside"
    return [
        Problem(
            "E0291", f"the relation `{name}` has no facts, rules or input", reading.span, hint=hint, severity="warning"
        )
        for name, reading in first.items()
    ]


def _single_variables(rule: Rule) -> list[Problem]:
    """Return a warning for each variable that occurs once in a rule, unless its name begins with `_`."""
    if not rule.body:
        return []
    found = list(occurrences(whole(rule)))
    counts = Counter(variable.name for variable in found)
    return [
        Problem(
            "E0292",
            f"variable `{_written(v)}` occurs once",
            v.span,
            hint="write `_` if any value will do",
            severity="warning",
        )
        for v in found
        if counts[v.name] == 1 and not v.name.startswith("_")
    ]


def _written(variable: Variable) -> str:
    """Return the name as the text has it, because `separate` renames the variables of aggregates."""
    span = variable.span
    text = variable.name if span is None else span.source.text[span.start : span.end]
    return text if variable.name.startswith(f"{text}_") else variable.name
