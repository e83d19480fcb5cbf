"""Reductions of clauses, of their bodies and of paths to nodes of the syntax tree.

A negated group is pushed down to its atoms and comparisons, a group that is a plain conjunction melts into the one
around it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from lark import Token

from tidelog.common.source import Span
from tidelog.errors import Problem
from tidelog.language.functors import TESTS
from tidelog.language.printer import path_name
from tidelog.language.selections import with_selections
from tidelog.language.sizes import too_deep_node
from tidelog.language.syntax import (
    Alternation,
    Atom,
    Body,
    Comparison,
    Disjunction,
    Inverse,
    Literal,
    Negation,
    Path,
    Repeat,
    RepeatOp,
    Rule,
    Sequence,
    Step,
    Term,
    Truth,
)
from tidelog.language.terms import TermBuilder, arguments_of, inline, without_commas

_REPEATS: dict[str, RepeatOp] = {"+": "+", "*": "*", "?": "?"}
_OPPOSITE = {
    "=": "!=",
    "!=": "=",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
    **{test: f"!{test}" for test in TESTS},
}
_OPPOSITE |= {opposite: op for op, opposite in _OPPOSITE.items()}


class BodyBuilder(TermBuilder):
    """The methods for atoms, paths, literals, bodies and clauses."""

    @inline
    def located(self, _at: Token, term: Term) -> tuple[str, Term]:
        return "@", term

    def atom(self, children: list[Any]) -> Atom:
        name = children[0]
        arguments = arguments_of(children)
        span = self._join(name, children[-1])
        marked = [i for i, argument in enumerate(arguments) if isinstance(argument, tuple)]
        if len(marked) > 1:
            message = "an atom can have one location, but two arguments are marked with `@`"
            second = arguments[marked[1]][1].span
            self.problems.append(Problem("E0101", message, second, hint="remove one of the marks"))
        if marked:
            arguments = tuple(a[1] if isinstance(a, tuple) else a for a in arguments)
        return Atom(str(name), arguments, marked[0] if marked else None, span=span)

    def short_path(self, children: list[Any]) -> Atom:
        """Build the path of `^p+(x, y)`: signs behind the relation bind more tightly than those before it."""
        opening = next(i for i, child in enumerate(children) if isinstance(child, Token) and child.type == "LPAR")
        before = [child for child in children[:opening] if child.type == "CARET"]
        name, *behind = children[len(before) : opening]
        path: Path = self.relation([name])
        for sign in behind:
            path = self.repeated(path, sign)
        for sign in reversed(before):
            path = self.inverse(sign, path)
        return self._path_atom(path, children, opening)

    def long_path(self, children: list[Any]) -> Atom:
        return self._path_atom(children[1], children, 3)

    def _path_atom(self, path: Path, children: list[Any], opening: int) -> Atom:
        span = self._join(children[0], children[-1])
        name = path_name(path) if too_deep_node(path) is None else "<…>"  # the statement is then refused as a whole
        return Atom(name, tuple(children[opening + 1 : -1 : 2]), path=path, span=span)

    def relation(self, children: list[Token]) -> Step:
        return Step(str(children[0]), span=self._at(children[0]))

    @inline
    def repeated(self, path: Path, sign: Token) -> Path:
        return Repeat(path, _REPEATS[str(sign)], span=self._join(path, sign))

    @inline
    def inverse(self, sign: Token, path: Path) -> Path:
        return Inverse(path, span=self._join(sign, path))

    def sequence(self, children: list[Any]) -> Path:
        parts = [part for child in children[::2] for part in (child.parts if isinstance(child, Sequence) else (child,))]
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts), span=self._join(children[0], children[-1]))

    def choice(self, children: list[Any]) -> Path:
        parts = [
            part for child in children[::2] for part in (child.parts if isinstance(child, Alternation) else (child,))
        ]
        return parts[0] if len(parts) == 1 else Alternation(tuple(parts), span=self._join(children[0], children[-1]))

    @inline
    def truth(self, token: Token) -> Literal:
        return Truth(token == "true", span=self._at(token))

    @inline
    def comparison(self, left: Term, operator: Token, right: Term) -> Literal:
        return Comparison(str(operator), left, right, span=self._join(left, right))

    @inline
    def constraint(self, name: Token, _open: Token, left: Term, _comma: Token, right: Term, closing: Token) -> Literal:
        return Comparison(str(name), left, right, span=self._join(name, closing))

    @inline
    def group(self, opening: Token, body: Body, closing: Token) -> Literal:
        return body[0] if len(body) == 1 else Disjunction((body,), span=self._join(opening, closing))

    @inline
    def negation(self, mark: Token, literal: Literal) -> Literal:
        negated = negate(literal)
        return replace(negated, span=self._join(mark, literal))

    def conjunction(self, children: list[Any]) -> Body:
        return tuple(part for child in without_commas(children) for part in _melt(child))

    def body(self, children: list[Any]) -> Body:
        if len(children) == 1:
            return cast(Body, children[0])
        alternatives = tuple(
            flat for child in children if not isinstance(child, Token) for flat in _alternatives(child)
        )
        return (Disjunction(alternatives, span=self._join(alternatives[0][0], alternatives[-1][-1])),)

    # --- clauses -----------------------------------------------------------------------------------------------------

    @inline
    def rule_name(self, name: Token, _colon: Token) -> Token:
        return name

    def heads(self, children: list[Any]) -> tuple[Atom, ...]:
        return tuple(map(with_selections, without_commas(children)))

    @inline
    def facts(self, *children: Any) -> tuple[Rule, ...]:
        heads = children[-2]
        if len(children) == 3:
            return (Rule(str(children[0]), heads, span=self._join(children[0], children[-1])),)
        return tuple(Rule(None, (head,), span=head.span) for head in heads)

    def plain_fact(self, tokens: list[Token]) -> tuple[Rule, ...]:
        """Build a fact of numbers and texts from its tokens, as the parser would."""
        build = {"NUMBER": self.number, "STRING": self.string}
        children: list[Any] = [build[each.type]([each]) if each.type in build else each for each in tokens[:-1]]
        head = self.atom(children)
        return (Rule(None, (head,), span=head.span),)

    @inline
    def rule(self, *children: Any) -> tuple[Rule, ...]:
        named = isinstance(children[0], Token)
        heads, body = children[-4], children[-2]
        name = str(children[0]) if named else None
        return (Rule(name, heads, body, span=self._join(children[0] if named else heads[0], children[-1])),)

    @inline
    def subsumption(self, *children: Any) -> tuple[Rule, ...]:
        named = isinstance(children[0], Token)
        worse, _, better, _, body, _ = children[-6:]
        name = str(children[0]) if named else None
        span = self._join(children[0], children[-1])
        return (Rule(name, (worse, better), body, subsumes=True, span=span),)


def _melt(literal: Literal) -> Body:
    """Return the parts of a group that is a plain conjunction."""
    if isinstance(literal, Disjunction) and len(literal.alternatives) == 1:
        return literal.alternatives[0]
    return (literal,)


def _alternatives(body: Body) -> tuple[Body, ...]:
    """Return the alternatives of a body that is one disjunction."""
    return body[0].alternatives if len(body) == 1 and isinstance(body[0], Disjunction) else (body,)


def negate(literal: Literal) -> Literal:
    """Return the negation of a literal, with `!` at atoms only."""
    match literal:
        case Atom():
            return Negation(literal, span=literal.span)
        case Negation():
            return literal.atom
        case Truth():
            return Truth(not literal.value, span=literal.span)
        case Comparison():
            return replace(literal, op=_OPPOSITE[literal.op])
        case Disjunction():
            parts = [either(tuple(negate(part) for part in body), literal.span) for body in literal.alternatives]
            return parts[0] if len(parts) == 1 else Disjunction((tuple(parts),), span=literal.span)


def either(parts: Body, span: Span | None) -> Literal:
    """Return a literal that holds where one of the parts does."""
    return parts[0] if len(parts) == 1 else Disjunction(tuple((part,) for part in parts), span=span)
