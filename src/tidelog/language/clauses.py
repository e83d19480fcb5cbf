"""Reductions of the selections in declarations: `min(a), max(b)` and `choice-domain a, (b, c)`."""

from __future__ import annotations

from typing import Any

from lark import Token

from tidelog.errors import Problem
from tidelog.language.bodies import BodyBuilder
from tidelog.language.syntax import SelectionClause
from tidelog.language.terms import Built, inline, without_commas


class SelectionBuilder(BodyBuilder[Built]):
    """The methods for the selections of a declaration."""

    @inline
    def best(self, word: Token, _open: Token, name: Token, close: Token) -> SelectionClause:
        if str(word) not in ("min", "max"):
            message = f"expected `min` or `max`, found `{word}`"
            self.problems.append(Problem("E0101", message, self._at(word), hint="select by `min(…)` or by `max(…)`"))
        return SelectionClause("max" if word == "max" else "min", (str(name),), span=self._join(word, close))

    def domain(self, children: list[Token]) -> SelectionClause:
        names = tuple(str(each) for each in children if each.type == "NAME")
        return SelectionClause("choice", names, span=self._join(children[0], children[-1]))

    def selection(self, children: list[Any]) -> tuple[SelectionClause, ...]:
        return without_commas(children)

    def one_each(self, children: list[Any]) -> tuple[SelectionClause, ...]:
        return without_commas(children[1:])
