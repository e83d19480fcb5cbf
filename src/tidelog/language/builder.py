"""Reductions of the grammar to statements (one method per rule of grammar.lark).

`bodies` has the methods for clauses and their bodies, `terms` those for terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from lark import Token

from tidelog.common.source import Span
from tidelog.errors import Problem
from tidelog.language import lexer
from tidelog.language.aggregates import SPELLINGS
from tidelog.language.blocks import Closing, Opening, Statement
from tidelog.language.bodies import BodyBuilder
from tidelog.language.selections import two_ways
from tidelog.language.syntax import (
    Attribute,
    BranchDeclaration,
    ComponentType,
    Declaration,
    Directive,
    FunctorDeclaration,
    Instance,
    Override,
    PlanDirective,
    PlanOrder,
    Pragma,
    SelectionClause,
    TypeDeclaration,
)
from tidelog.language.terms import MANY_DIGITS, inline, number_value, without_commas

_OLD_DIRECTIVES = ("input", "output", "printsize")
"""Qualifiers of declarations that mean the directives of the same names."""


class Builder(BodyBuilder):
    """The methods for declarations and directives."""

    # --- declarations and directives ---------------------------------------------------------------------------------

    def names(self, children: list[Any]) -> tuple[Any, ...]:
        return without_commas(children)

    attributes = parameters = selection = names

    @inline
    def attribute(self, name: Token, _colon: Token, type_: Token) -> Attribute:
        if "." in name:
            message = f"expected the name of an attribute, found `{name}`"
            self.problems.append(Problem("E0101", message, self._at(name), hint="names of attributes have no dots"))
        return Attribute(str(name), str(type_), span=self._join(name, type_))

    @inline
    def located_attribute(self, _at: Token, attribute: Attribute) -> Attribute:
        return replace(attribute, located=True)

    @inline
    def declaration(
        self, _word: Token, names: tuple[Token, ...], _open: Token, attributes: Any, _close: Token, *rest: Any
    ) -> tuple[Statement, ...]:
        qualifiers = [each for each in rest if isinstance(each, Token)]
        ways = [each for each in rest if not isinstance(each, Token)]
        selections = ways[0] if ways else ()
        if len(ways) > 1:
            self.problems.append(two_ways(str(names[0]), selections, ways[1][0].span))
        marked = [attribute for attribute in attributes if attribute.located]
        if len(marked) > 1:
            message = "a relation can have one location, but two attributes are marked with `@`"
            self.problems.append(Problem("E0101", message, marked[1].span, hint="remove one of the marks"))
        for name in names:
            if str(name) in lexer.NO_NAMES:
                hint = f"choose another name; `{name}` is a word of the language"
                message = f"expected a name, found the reserved word `{name}`"
                self.problems.append(Problem("E0101", message, self._at(name), hint=hint))
        self.problems += _qualifier_problems(qualifiers, self._at)
        words = tuple(word for word in map(str, qualifiers) if word not in _OLD_DIRECTIVES)
        declared = tuple(Declaration(str(name), attributes, words, selections, span=self._at(name)) for name in names)
        old = (word for word in qualifiers if str(word) in _OLD_DIRECTIVES)
        return declared + tuple(
            Directive(str(word), str(name), deprecated=True, span=self._at(word)) for word in old for name in names
        )

    @inline
    def best(self, word: Token, _open: Token, name: Token, close: Token) -> SelectionClause:
        if str(word) not in ("min", "max"):
            message = f"expected `min` or `max`, found `{word}`"
            self.problems.append(Problem("E0101", message, self._at(word), hint="select by `min(…)` or by `max(…)`"))
        return SelectionClause("max" if word == "max" else "min", (str(name),), span=self._join(word, close))

    def domain(self, children: list[Token]) -> SelectionClause:
        names = tuple(str(each) for each in children if each.type == "NAME")
        return SelectionClause("choice", names, span=self._join(children[0], children[-1]))

    def one_each(self, children: list[Any]) -> tuple[SelectionClause, ...]:
        return without_commas(children[1:])

    @inline
    def unnamed(self, type_: Token) -> Attribute:
        return Attribute("", str(type_), span=self._at(type_))

    @inline
    def functor_declaration(
        self, word: Token, name: Token, _open: Token, parameters: Any, _close: Token, _colon: Token, *rest: Token
    ) -> tuple[Statement, ...]:
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

    @inline
    def plain_type(self, _word: Token, name: Token) -> tuple[Statement, ...]:
        return (TypeDeclaration(str(name), "sub", ("symbol",), span=self._at(name)),)

    @inline
    def sub_type(self, _word: Token, name: Token, _sub: Token, base: Token) -> tuple[Statement, ...]:
        return (TypeDeclaration(str(name), "sub", (str(base),), span=self._at(name)),)

    @inline
    def union_type(self, _word: Token, name: Token, _equal: Token, *members: Token) -> tuple[Statement, ...]:
        parts = tuple(str(member) for member in members if member.type == "NAME")
        return (TypeDeclaration(str(name), "alias" if len(parts) == 1 else "union", parts, span=self._at(name)),)

    @inline
    def record_type(self, _word: Token, name: Token, _equal: Token, *rest: Any) -> tuple[Statement, ...]:
        return (TypeDeclaration(str(name), "record", fields=rest[1], span=self._at(name)),)

    @inline
    def branched_type(self, _word: Token, name: Token, _equal: Token, *rest: Any) -> tuple[Statement, ...]:
        branches = tuple(each for each in rest if isinstance(each, BranchDeclaration))
        return (TypeDeclaration(str(name), "branches", branches=branches, span=self._at(name)),)

    @inline
    def branch_declaration(self, name: Token, _open: Token, fields: Any, _close: Token) -> BranchDeclaration:
        return BranchDeclaration(str(name), fields, span=self._at(name))

    @inline
    def old_type(self, word: Token, name: Token) -> tuple[Statement, ...]:
        base = "number" if word == ".number_type" else "symbol"
        return (TypeDeclaration(str(name), "sub", (base,), deprecated=True, span=self._at(name)),)

    @inline
    def directive(self, word: Token, names: tuple[Token, ...], *rest: Any) -> tuple[Statement, ...]:
        options = rest[1] if rest else {}
        directive = str(word[1:])
        if directive == "output" and options.get("IO") == "stdoutprintsize":  # what `.printsize` is to Soufflé
            directive, options = "printsize", {}
        return tuple(Directive(directive, str(name), options, span=self._at(name)) for name in names)

    def options(self, children: list[Any]) -> dict[str, str | int | bool]:
        return dict(without_commas(children))

    @inline
    def option(self, key: Token, _equal: Token, value: Token) -> tuple[str, str | int | bool]:
        if value.type == "STRING":
            return str(key), self._text(value)
        if value.type == "NUMBER":
            number, _, problem = number_value(str(value), self._at(value))
            if problem:
                self.problems.append(problem)
            return str(key), int(number)
        return str(key), str(value) if value.type == "NAME" else value.type == "TRUE"

    @inline
    def opening(self, word: Token, type_: ComponentType, *rest: Any) -> tuple[Statement, ...]:
        parents = tuple(each for each in rest if isinstance(each, ComponentType))
        return (Opening(type_, parents, self._join(word, type_)),)

    @inline
    def closing(self, brace: Token) -> tuple[Statement, ...]:
        return (Closing(self._at(brace)),)

    @inline
    def component_type(self, name: Token, *rest: Token) -> ComponentType:
        arguments = tuple(str(each) for each in rest if each.type == "NAME")
        return ComponentType(str(name), arguments, span=self._join(name, rest[-1] if rest else name))

    @inline
    def instance(self, word: Token, name: Token, _equal: Token, type_: ComponentType) -> tuple[Statement, ...]:
        return (Instance(str(name), type_, span=self._join(word, type_)),)

    @inline
    def override(self, _word: Token, *names: Token) -> tuple[Statement, ...]:
        return tuple(Override(str(name), span=self._at(name)) for name in names if name.type == "NAME")

    def plan(self, children: list[Any]) -> tuple[Statement, ...]:
        return (PlanDirective(without_commas(children[1:]), span=self._join(children[0], children[-1])),)

    @inline
    def order(self, version: Token, _colon: Token, _open: Token, *rest: Token) -> PlanOrder:
        atoms = tuple(self._ordinal(each) for each in rest if each.type == "NUMBER")
        return PlanOrder(self._ordinal(version), atoms, span=self._join(version, rest[-1]))

    def _ordinal(self, token: Token) -> int:
        """Return the number of an atom or a version, -1 for what cannot be one."""
        return int(token) if token.isdecimal() and len(token) <= MANY_DIGITS else -1

    @inline
    def pragma(self, _word: Token, *words: Token) -> tuple[Statement, ...]:
        return (Pragma(tuple(str(word)[1:-1] for word in words)),)

    @inline
    def start(self, statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return statements


_EITHER = (
    frozenset(("btree", "btree_delete", "brie", "eqrel")),
    frozenset(("inline", "no_inline")),
    frozenset(("magic", "no_magic")),
)


def _qualifier_problems(qualifiers: Sequence[Token], place: Callable[[Token], Span]) -> Iterator[Problem]:
    """Yield a problem for each qualifier that an earlier one repeats or contradicts."""
    for i, word in enumerate(qualifiers):
        earlier = next((each for each in qualifiers[:i] if each == word or {each, word} <= _group(word)), None)
        if earlier is None:
            continue
        if earlier == word:
            message, hint = f"the qualifier `{word}` stands twice", "remove one of the two"
        else:
            message, hint = f"the qualifiers `{earlier}` and `{word}` contradict each other", "keep one of the two"
        yield Problem("E0117", message, place(word), ((place(earlier), "the first one"),), hint)


def _group(word: Token) -> frozenset[str]:
    return next((group for group in _EITHER if word in group), frozenset())
