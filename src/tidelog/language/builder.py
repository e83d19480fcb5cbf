"""Reductions of the grammar to nodes of the syntax tree (one method per rule of grammar.lark).

Values of literals are read here (`literals`); everything that has a place gets its span. A negated group is pushed down
to its atoms and comparisons, a group that is a plain conjunction melts into the one around it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias, cast

from lark import Token, Transformer, v_args

from tidelog.errors import Problem
from tidelog.language import lexer, literals, precedence
from tidelog.language.aggregates import SPELLINGS
from tidelog.language.blocks import Closing, Opening, Statement
from tidelog.language.nesting import too_deep_node
from tidelog.language.printer import path_name
from tidelog.language.syntax import (
    Aggregate,
    Alternation,
    Anonymous,
    Atom,
    Attribute,
    Cast,
    Comparison,
    ComponentType,
    Constant,
    Declaration,
    Directive,
    Disjunction,
    Functor,
    Instance,
    Inverse,
    Literal,
    Negation,
    Override,
    Path,
    Pragma,
    Record,
    Repeat,
    RepeatOp,
    Rule,
    Sequence,
    Step,
    Term,
    Truth,
    TypeDeclaration,
    Variable,
)
from tidelog.source import Span

Locate: TypeAlias = Callable[[int, int], Span]
Body: TypeAlias = tuple[Literal, ...]

_REPEATS: dict[str, RepeatOp] = {"+": "+", "*": "*", "?": "?"}
_OPPOSITE = {
    "=": "!=",
    "!=": "=",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
    "match": "!match",
    "contains": "!contains",
}
_OLD_DIRECTIVES = ("input", "output", "printsize")
"""Qualifiers of declarations that mean the directives of the same names."""
_OPPOSITE |= {opposite: op for op, opposite in _OPPOSITE.items()}


_inline = v_args(inline=True)


class Builder(Transformer[Token, tuple[Statement, ...]]):
    """Call `begin` before each text; `problems` collects the problems of literals."""

    def __init__(self) -> None:
        super().__init__()
        self._locate: Locate | None = None
        self._bare: dict[int, Constant] = {}  # number literals as written, without parentheses or sign
        self.problems: list[Problem] = []

    def begin(self, locate: Locate) -> None:
        self._locate = locate
        self._bare = {}
        self.problems = []

    # --- spans -------------------------------------------------------------------------------------------------------

    def _at(self, token: Token) -> Span:
        assert self._locate is not None
        return self._locate(cast(int, token.start_pos), cast(int, token.end_pos))

    def _join(self, first: Any, last: Any) -> Span:
        """Return the span from the start of `first` to the end of `last`, tokens or nodes; that of `first` if they lie
        in two files."""
        begin = self._at(first) if isinstance(first, Token) else first.span
        end = self._at(last) if isinstance(last, Token) else last.span
        if begin.source is end.source and end.end >= begin.start:
            return Span(begin.source, begin.start, end.end)
        return begin

    # --- terms -------------------------------------------------------------------------------------------------------

    def variable(self, children: list[Token]) -> Term:
        name = children[0]
        if "." in name:
            message = f"expected a term, found the name `{name}` of a relation"
            self.problems.append(Problem("E0101", message, self._at(name), hint="names of variables have no dots"))
        return Variable(str(name), span=self._at(name))

    def anonymous(self, children: list[Token]) -> Term:
        return Anonymous(span=self._at(children[0]))

    def number(self, children: list[Token]) -> Term:
        token = children[0]
        span = self._at(token)
        value, kind, problem = literals.number(str(token), span)
        if problem:
            self.problems.append(problem)
        constant = Constant(value, kind, span=span)
        self._bare[id(constant)] = constant
        return constant

    @_inline
    def string(self, token: Token) -> Term:
        return Constant(self._text(token), "symbol", span=self._at(token))

    def _text(self, token: Token) -> str:
        value, problem = literals.string(str(token), self._at(token))
        if problem:
            self.problems.append(problem)
        return value

    @_inline
    def nil(self, token: Token) -> Term:
        return Record(None, span=self._at(token))

    def record(self, children: list[Any]) -> Term:
        return Record(tuple(children[1:-1:2]), span=self._join(children[0], children[-1]))

    @_inline
    def parenthesised(self, opening: Token, term: Term, closing: Token) -> Term:
        return replace(term, span=self._join(opening, closing))

    def functor(self, children: list[Any]) -> Term:
        return Functor(str(children[0]), _arguments(children), span=self._join(children[0], children[-1]))

    @_inline
    def signed(self, sign: Token, operand: Any) -> Any:
        """Keep signs in front of their operand until `term` knows whether `^` follows, which binds it first."""
        return [sign, *(operand if isinstance(operand, list) else [operand])]

    def term(self, children: list[Any]) -> Term:
        first = children[0]
        if len(children) == 1 and not isinstance(first, list):
            return first  # type: ignore[no-any-return]
        parts: list[Any] = []
        for child in children:
            if isinstance(child, list):
                parts += child
            else:
                parts.append(child)
        return self._order(parts)

    def _order(self, parts: list[Any]) -> Term:
        """Build one term of operands, operators and signs in a row, by Soufflé's precedences (with two stacks)."""
        operands: list[Term] = []
        waiting: list[tuple[int, Token, bool]] = []
        expects_operand = True
        for part in parts:
            if not isinstance(part, Token):
                operands.append(part)
                expects_operand = False
                continue
            sign = expects_operand
            level = precedence.SIGN if sign else precedence.LEVELS[str(part)]
            while waiting and not sign and not precedence.binds_tighter(level, waiting[-1][0]):
                self._apply(*waiting.pop()[1:], operands)
            waiting.append((level, part, sign))
            expects_operand = True
        while waiting:
            self._apply(*waiting.pop()[1:], operands)
        return operands[0]

    def _apply(self, operator: Token, sign: bool, operands: list[Term]) -> None:
        operand = operands.pop()
        if not sign:
            left = operands.pop()
            operands.append(Functor(str(operator), (left, operand), span=self._join(left, operand)))
        elif operator.type == "PREFIX":
            operands.append(Functor(str(operator), (operand,), span=self._join(operator, operand)))
        else:
            operands.append(self._negative(operator, operand))

    def _negative(self, minus: Token, operand: Term) -> Term:
        """Return the negative of a term; for a bare number literal, the negative literal."""
        span = self._join(minus, operand)
        if id(operand) in self._bare and isinstance(operand, Constant) and operand.kind != "unsigned":
            return Constant(-cast(float, operand.value), operand.kind, span=span)
        return Functor("neg", (operand,), span=span)

    @_inline
    def cast(self, word: Token, _open: Token, term: Term, _comma: Token, type_: Token, closing: Token) -> Term:
        return Cast(term, str(type_), span=self._join(word, closing))

    @_inline
    def count(self, word: Token, _colon: Token, body: tuple[Body, Any]) -> Term:
        return Aggregate("count", None, body[0], span=self._join(word, body[1]))

    @_inline
    def aggregate(self, word: Token, target: Term, _colon: Token, body: tuple[Body, Any]) -> Term:
        return Aggregate(SPELLINGS[word].name, target, body[0], span=self._join(word, body[1]))

    @_inline
    def aggregate_body(self, *children: Any) -> tuple[Body, Any]:
        """Return the body and its last token or node."""
        return (children[1] if len(children) == 3 else (children[0],)), children[-1]

    # --- bodies ------------------------------------------------------------------------------------------------------

    @_inline
    def located(self, _at: Token, term: Term) -> tuple[str, Term]:
        return "@", term

    def atom(self, children: list[Any]) -> Atom:
        name = children[0]
        arguments = _arguments(children)
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

    @_inline
    def repeated(self, path: Path, sign: Token) -> Path:
        return Repeat(path, _REPEATS[str(sign)], span=self._join(path, sign))

    @_inline
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

    @_inline
    def truth(self, token: Token) -> Literal:
        return Truth(token == "true", span=self._at(token))

    @_inline
    def comparison(self, left: Term, operator: Token, right: Term) -> Literal:
        return Comparison(str(operator), left, right, span=self._join(left, right))

    @_inline
    def constraint(self, name: Token, _open: Token, left: Term, _comma: Token, right: Term, closing: Token) -> Literal:
        return Comparison(str(name), left, right, span=self._join(name, closing))

    @_inline
    def group(self, opening: Token, body: Body, closing: Token) -> Literal:
        return body[0] if len(body) == 1 else Disjunction((body,), span=self._join(opening, closing))

    @_inline
    def negation(self, mark: Token, literal: Literal) -> Literal:
        negated = _negate(literal)
        return replace(negated, span=self._join(mark, literal))

    def conjunction(self, children: list[Any]) -> Body:
        return tuple(part for child in _without_commas(children) for part in _melt(child))

    def body(self, children: list[Any]) -> Body:
        if len(children) == 1:
            return cast(Body, children[0])
        alternatives = tuple(
            flat for child in children if not isinstance(child, Token) for flat in _alternatives(child)
        )
        return (Disjunction(alternatives, span=self._join(alternatives[0][0], alternatives[-1][-1])),)

    # --- clauses -----------------------------------------------------------------------------------------------------

    @_inline
    def rule_name(self, name: Token, _colon: Token) -> Token:
        return name

    def heads(self, children: list[Any]) -> tuple[Atom, ...]:
        return _without_commas(children)

    @_inline
    def facts(self, *children: Any) -> tuple[Statement, ...]:
        heads = children[-2]
        if len(children) == 3:
            return (Rule(str(children[0]), heads, span=self._join(children[0], children[-1])),)
        return tuple(Rule(None, (head,), span=head.span) for head in heads)

    @_inline
    def rule(self, *children: Any) -> tuple[Statement, ...]:
        named = isinstance(children[0], Token)
        heads, body = children[-4], children[-2]
        name = str(children[0]) if named else None
        return (Rule(name, heads, body, span=self._join(children[0] if named else heads[0], children[-1])),)

    # --- declarations and directives ---------------------------------------------------------------------------------

    def names(self, children: list[Token]) -> tuple[Token, ...]:
        return _without_commas(children)

    def attributes(self, children: list[Any]) -> tuple[Attribute, ...]:
        return _without_commas(children)

    @_inline
    def attribute(self, name: Token, _colon: Token, type_: Token) -> Attribute:
        if "." in name:
            message = f"expected the name of an attribute, found `{name}`"
            self.problems.append(Problem("E0101", message, self._at(name), hint="names of attributes have no dots"))
        return Attribute(str(name), str(type_), span=self._join(name, type_))

    @_inline
    def located_attribute(self, _at: Token, attribute: Attribute) -> Attribute:
        return replace(attribute, located=True)

    @_inline
    def declaration(
        self, _word: Token, names: tuple[Token, ...], _open: Token, attributes: Any, _close: Token, *qualifiers: Token
    ) -> tuple[Statement, ...]:
        for qualifier in qualifiers:
            if qualifier in ("eqrel", "choice-domain"):
                message = f"the qualifier `{qualifier}` is not supported yet"
                self.problems.append(Problem("E0190", message, self._at(qualifier)))
        marked = [attribute for attribute in attributes if attribute.located]
        if len(marked) > 1:
            message = "a relation can have one location, but two attributes are marked with `@`"
            self.problems.append(Problem("E0101", message, marked[1].span, hint="remove one of the marks"))
        for name in names:
            if str(name) in lexer.NO_NAMES:
                hint = f"choose another name; `{name}` is a word of the language"
                message = f"expected a name, found the reserved word `{name}`"
                self.problems.append(Problem("E0101", message, self._at(name), hint=hint))
        words = tuple(word for word in map(str, qualifiers) if word not in _OLD_DIRECTIVES)
        declared = tuple(Declaration(str(name), attributes, words, span=self._at(name)) for name in names)
        old = (word for word in qualifiers if str(word) in _OLD_DIRECTIVES)
        return declared + tuple(Directive(str(word), str(name), span=self._at(word)) for word in old for name in names)

    @_inline
    def plain_type(self, _word: Token, name: Token) -> tuple[Statement, ...]:
        return (TypeDeclaration(str(name), "sub", ("symbol",), span=self._at(name)),)

    @_inline
    def sub_type(self, _word: Token, name: Token, _sub: Token, base: Token) -> tuple[Statement, ...]:
        return (TypeDeclaration(str(name), "sub", (str(base),), span=self._at(name)),)

    @_inline
    def union_type(self, _word: Token, name: Token, _equal: Token, *members: Token) -> tuple[Statement, ...]:
        parts = tuple(str(member) for member in members if member.type == "NAME")
        return (TypeDeclaration(str(name), "alias" if len(parts) == 1 else "union", parts, span=self._at(name)),)

    @_inline
    def record_type(self, _word: Token, name: Token, _equal: Token, *rest: Any) -> tuple[Statement, ...]:
        return (TypeDeclaration(str(name), "record", fields=rest[1], span=self._at(name)),)

    @_inline
    def old_type(self, word: Token, name: Token) -> tuple[Statement, ...]:
        base = "number" if word == ".number_type" else "symbol"
        return (TypeDeclaration(str(name), "sub", (base,), span=self._at(name)),)

    @_inline
    def directive(self, word: Token, names: tuple[Token, ...], *rest: Any) -> tuple[Statement, ...]:
        options = rest[1] if rest else {}
        directive = str(word[1:])
        if directive == "output" and options.get("IO") == "stdoutprintsize":  # what `.printsize` is to Soufflé
            directive, options = "printsize", {}
        return tuple(Directive(directive, str(name), options, span=self._at(name)) for name in names)

    def options(self, children: list[Any]) -> dict[str, str | int | bool]:
        return dict(_without_commas(children))

    @_inline
    def option(self, key: Token, _equal: Token, value: Token) -> tuple[str, str | int | bool]:
        if value.type == "STRING":
            return str(key), self._text(value)
        if value.type == "NUMBER":
            number, _, problem = literals.number(str(value), self._at(value))
            if problem:
                self.problems.append(problem)
            return str(key), int(number)
        return str(key), str(value) if value.type == "NAME" else value.type == "TRUE"

    @_inline
    def opening(self, word: Token, type_: ComponentType, *rest: Any) -> tuple[Statement, ...]:
        parents = tuple(each for each in rest if isinstance(each, ComponentType))
        return (Opening(type_, parents, self._join(word, type_)),)

    @_inline
    def closing(self, brace: Token) -> tuple[Statement, ...]:
        return (Closing(self._at(brace)),)

    @_inline
    def component_type(self, name: Token, *rest: Token) -> ComponentType:
        arguments = tuple(str(each) for each in rest if each.type == "NAME")
        return ComponentType(str(name), arguments, span=self._join(name, rest[-1] if rest else name))

    @_inline
    def instance(self, word: Token, name: Token, _equal: Token, type_: ComponentType) -> tuple[Statement, ...]:
        return (Instance(str(name), type_, span=self._join(word, type_)),)

    @_inline
    def override(self, _word: Token, *names: Token) -> tuple[Statement, ...]:
        return tuple(Override(str(name), span=self._at(name)) for name in names if name.type == "NAME")

    def plan(self, _: list[Any]) -> tuple[Statement, ...]:
        return ()

    def order(self, _: list[Any]) -> None:
        return None

    @_inline
    def pragma(self, _word: Token, *words: Token) -> tuple[Statement, ...]:
        return (Pragma(tuple(str(word)[1:-1] for word in words)),)

    @_inline
    def start(self, statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return statements


def _without_commas(children: list[Any]) -> tuple[Any, ...]:
    """Return the children between the commas, which are every second child."""
    return tuple(children[::2])


def _arguments(children: list[Any]) -> tuple[Any, ...]:
    """Return the arguments of `name(a, b)`, without name, brackets and commas."""
    return tuple(children[2:-1:2])


def _melt(literal: Literal) -> Body:
    """Return the parts of a group that is a plain conjunction."""
    if isinstance(literal, Disjunction) and len(literal.alternatives) == 1:
        return literal.alternatives[0]
    return (literal,)


def _alternatives(body: Body) -> tuple[Body, ...]:
    """Return the alternatives of a body that is one disjunction."""
    return body[0].alternatives if len(body) == 1 and isinstance(body[0], Disjunction) else (body,)


def _negate(literal: Literal) -> Literal:
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
            parts = [_either(tuple(_negate(part) for part in body), literal.span) for body in literal.alternatives]
            return parts[0] if len(parts) == 1 else Disjunction((tuple(parts),), span=literal.span)


def _either(parts: Body, span: Span | None) -> Literal:
    return parts[0] if len(parts) == 1 else Disjunction(tuple((part,) for part in parts), span=span)
