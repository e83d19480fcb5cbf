"""Constant regular expressions of `match` and `groups` (`regex` has their syntax)."""

from __future__ import annotations

from tidelog.errors import Problem
from tidelog.language.regex import PatternError, translated
from tidelog.language.syntax import Comparison, Constant, Functor, Rule
from tidelog.language.trees import walk, whole

_HINT = r"write a backslash of the expression as \\ in a string"
_LACKING = "write several literals with `match`, `contains` or `substr`: patterns run in linear time"


def pattern_problems(rule: Rule) -> list[Problem]:
    """Return a problem for each constant pattern that is not a regular expression."""
    problems: list[Problem] = []
    for node in walk(whole(rule)):
        match node:
            case (
                Comparison(op="match" | "!match" as word, left=Constant(value=str(text)) as pattern)
                | Functor(name="groups" as word, args=(Constant(value=str(text)) as pattern, *_))
            ):
                try:
                    translated(text)
                except PatternError as error:
                    message = f"`{word.lstrip('!')}` expects an ECMAScript regular expression: {error}"
                    problems.append(Problem("E0222", message, pattern.span, hint=_LACKING if error.lacking else _HINT))
            case _:
                pass
    return problems
