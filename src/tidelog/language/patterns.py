"""Regular expressions that stand as constants in `match` (what they may be is in regex)."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.errors import Problem
from tidelog.language.regex import PatternError, translated
from tidelog.language.scopes import aggregates
from tidelog.language.syntax import Atom, Comparison, Constant, Disjunction, Literal, Negation, Rule, Term

_HINT = r"a backslash of the expression is written \\ in a string"
_LACKING = (
    "patterns run in linear time, which rules this out: write several literals with `match`, `contains` or `substr`"
)


def pattern_problems(rule: Rule) -> list[Problem]:
    """The constant patterns of `match` that are no regular expressions."""
    problems: list[Problem] = []
    _look((*rule.heads, *rule.body), problems)
    return problems


def _look(literals: Iterable[Literal], problems: list[Problem]) -> None:
    for literal in literals:
        match literal:
            case Comparison(op="match" | "!match", left=Constant(value=str(text)) as pattern):
                try:
                    translated(text)
                except PatternError as error:
                    message = f"`match` needs a regular expression of ECMAScript: {error}"
                    problems.append(Problem("E0222", message, pattern.span, hint=_LACKING if error.lacking else _HINT))
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
