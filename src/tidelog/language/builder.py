"""Reductions of the grammar to statements (one method per rule of grammar.lark).

`bodies` has the methods for the bodies of rules, `terms` those for terms.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lark import Token

from tidelog.errors import Problem
from tidelog.language import lexer, literals
from tidelog.language.blocks import Closing, Opening, Statement
from tidelog.language.functor_declarations import FunctorBuilder
from tidelog.language.qualifiers import qualifier_problems
from tidelog.language.selections import two_ways, with_selections
from tidelog.language.syntax import (
    Atom,
    Attribute,
    BranchDeclaration,
    ComponentType,
    Declaration,
    Directive,
    Instance,
    Override,
    PlanDirective,
    PlanOrder,
    Pragma,
    Rule,
    TypeDeclaration,
)
from tidelog.language.terms import inline, without_commas

_OLD_DIRECTIVES = ("input", "output", "printsize")
"""Qualifiers of declarations that mean the directives of the same names."""


_MANY_DIGITS = 400
"""Python converts only so many digits in linear time."""


class Builder(FunctorBuilder[tuple[Statement, ...]]):
    """The methods for clauses, declarations and directives."""

    # --- clauses -----------------------------------------------------------------------------------------------------

    @inline
    def rule_name(self, name: Token, _colon: Token) -> Token:
        return name

    def heads(self, children: list[Any]) -> tuple[Atom, ...]:
        return tuple(map(with_selections, without_commas(children)))

    @inline
    def facts(self, *children: Any) -> tuple[Statement, ...]:
        heads = children[-2]
        if len(children) == 3:
            return (Rule(str(children[0]), heads, span=self._join(children[0], children[-1])),)
        return tuple(Rule(None, (head,), span=head.span) for head in heads)

    def plain_fact(self, tokens: list[Token]) -> tuple[Statement, ...]:
        """Build a fact of numbers and texts from its tokens, as the parser would."""
        build = {"NUMBER": self.number, "STRING": self.string}
        children: list[Any] = [build[each.type]([each]) if each.type in build else each for each in tokens[:-1]]
        head = self.atom(children)
        return (Rule(None, (head,), span=head.span),)

    @inline
    def rule(self, *children: Any) -> tuple[Statement, ...]:
        named = isinstance(children[0], Token)
        heads, body = children[-4], children[-2]
        name = str(children[0]) if named else None
        return (Rule(name, heads, body, span=self._join(children[0] if named else heads[0], children[-1])),)

    @inline
    def subsumption(self, *children: Any) -> tuple[Statement, ...]:
        named = isinstance(children[0], Token)
        worse, _, better, _, body, _ = children[-6:]
        name = str(children[0]) if named else None
        span = self._join(children[0], children[-1])
        return (Rule(name, (worse, better), body, subsumes=True, span=span),)

    # --- declarations and directives ---------------------------------------------------------------------------------

    def names(self, children: list[Token]) -> tuple[Token, ...]:
        return without_commas(children)

    def attributes(self, children: list[Any]) -> tuple[Attribute, ...]:
        return without_commas(children)

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
        self.problems += qualifier_problems(qualifiers, self._at)
        words = tuple(word for word in map(str, qualifiers) if word not in _OLD_DIRECTIVES)
        declared = tuple(Declaration(str(name), attributes, words, selections, span=self._at(name)) for name in names)
        old = (word for word in qualifiers if str(word) in _OLD_DIRECTIVES)
        return declared + tuple(
            Directive(str(word), str(name), deprecated=True, span=self._at(word)) for word in old for name in names
        )

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
            number, _, problem = literals.number(str(value), self._at(value))
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
        return int(token) if token.isdecimal() and len(token) <= _MANY_DIGITS else -1

    @inline
    def pragma(self, _word: Token, *words: Token) -> tuple[Statement, ...]:
        return (Pragma(tuple(str(word)[1:-1] for word in words)),)

    @inline
    def start(self, statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return statements
