"""Reductions of declarations of functors to nodes of the syntax tree."""

from __future__ import annotations

from typing import Any

from lark import Token

from tidelog.errors import Problem
from tidelog.language import lexer
from tidelog.language.aggregates import SPELLINGS
from tidelog.language.clauses import SelectionBuilder
from tidelog.language.syntax import Attribute, FunctorDeclaration
from tidelog.language.terms import Built, inline, without_commas


class FunctorBuilder(SelectionBuilder[Built]):
    """The methods for `.functor` and `.aggregate`."""

    def parameters(self, children: list[Any]) -> tuple[Attribute, ...]:
        return without_commas(children)

    @inline
    def unnamed(self, type_: Token) -> Attribute:
        return Attribute("", str(type_), span=self._at(type_))

    @inline
    def functor_declaration(
        self, word: Token, name: Token, _open: Token, parameters: Any, _close: Token, _colon: Token, *rest: Token
    ) -> tuple[FunctorDeclaration, ...]:
        if str(name) in lexer.NO_NAMES or str(name) in SPELLINGS:
            hint = f"choose another name; `{name}` is a word of the language"
            message = f"expected a name, found the reserved word `{name}`"
            self.problems.append(Problem("E0101", message, self._at(name), hint=hint))
        aggregate = word.type == "AGGREGATE_DECL"
        if aggregate and not parameters:
            message = f"the aggregate `{name}` has no parameter"
            hint = f"declare what it takes of each member of a group: `.aggregate {name}(x: number): {rest[0]}`"
            self.problems.append(Problem("E0101", message, self._at(name), hint=hint))
        result, *stateful = rest
        span = self._join(word, result)
        return (FunctorDeclaration(str(name), parameters, str(result), aggregate, any(stateful), span=span),)
