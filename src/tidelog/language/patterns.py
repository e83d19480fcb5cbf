"""Regular expressions that stand as constants in `match`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tidelog.errors import Problem
from tidelog.language.scopes import aggregates
from tidelog.language.syntax import Atom, Comparison, Constant, Disjunction, Literal, Negation, Rule, Term


def pattern_problems(rule: Rule) -> list[Problem]:
    """The constant patterns of `match` that are no regular expressions."""
    problems: list[Problem] = []
    _look((*rule.heads, *rule.body), problems)
    return problems


def _look(literals: Iterable[Literal], problems: list[Problem]) -> None:
    for literal in literals:
        match literal:
            case Comparison(op="match" | "!match", left=Constant(value=str(text)) as pattern):
                reason = _wrong(text)
                if reason is not None:
                    message = f"`match` needs a regular expression: {reason}"
                    hint = r"a backslash of the expression is written \\ in a string"
                    problems.append(Problem("E0222", message, pattern.span, hint=hint))
                _look_into((literal.right,), problems)
            case Comparison(left=left, right=right):
                _look_into((left, right), problems)
            case Atom(args=args) | Negation(atom=Atom(args=args)):
                _look_into(args, problems)
            case Disjunction(alternatives=alternatives):
                for alternative in alternatives:
                    _look(alternative, problems)
            case _:
                pass


def _look_into(terms: Iterable[Term], problems: list[Problem]) -> None:
    for term in terms:
        for aggregate in aggregates(term):
            if aggregate.target is not None:
                _look_into((aggregate.target,), problems)
            _look(aggregate.body, problems)


def _wrong(pattern: str) -> str | None:
    try:
        re.compile(pattern)
    except re.error as error:
        return str(error)
    except (OverflowError, RecursionError):
        return "it is too large"
    return None
