"""The names in a text: where each stands, its sort, and which ones declare it.

Names come from tokens, not from trees, so that a text with mistakes has them as well. A qualified name `a.b` has two
parts: the instance `a` and the relation or type `b` of its component.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from lark import Token

from tidelog.language import lexer
from tidelog.language.drafts import DraftStretch
from tidelog.language.syntax import PRIMITIVES

Sort: TypeAlias = Literal[
    "relation", "type", "branch", "functor", "component", "parameter", "instance", "rule", "attribute", "variable"
]
BEFORE_LITERAL = frozenset(("", "IF", "COMMA", "SEMICOLON", "NOT", "COLON", "LPAR", "LBRACE"))
"""The tokens behind which a literal begins, and nothing for the begin of a text."""
_SIGNS = frozenset(("CARET", "NOT"))


@dataclass(frozen=True)
class NameOccurrence:
    """A name at offsets of its stretch; `declares` says that it is declared there, `qualified` that it is part of a
    name with dots."""

    sort: Sort
    name: str
    start: int
    end: int
    declares: bool = False
    qualified: bool = False


def names(stretch: DraftStretch) -> list[NameOccurrence]:
    return sorted(_names(list(stretch.tokens)), key=lambda each: each.start)


def _names(tokens: Sequence[Token]) -> Iterator[NameOccurrence]:
    if not tokens:
        return
    first = tokens[0].type
    match first:
        case "DECL":
            opening = _find(tokens, "LPAR")
            yield from (_name("relation", each, declares=True) for each in tokens[:opening] if each.type == "NAME")
            yield from _attributes(tokens[opening:])
        case "TYPE" | "OLD_TYPE":
            yield from _type(tokens)
        case "FUNCTOR" | "AGGREGATE_DECL":
            yield from (_name("functor", each, declares=True) for each in tokens[1:2] if each.type == "NAME")
            yield from _parameters(tokens[2:])
        case "IO" | "OVERRIDE":
            opening = _find(tokens, "LPAR")
            for each in tokens[1:opening]:
                yield from _split_qualified_name("relation", each)
        case "COMP":
            yield from _component(tokens)
        case "INIT":
            yield from (_name("instance", each, declares=True) for each in tokens[1:2] if each.type == "NAME")
            yield from _component_types(tokens[3:])
        case "PLAN" | "PRAGMA" | "RBRACE" | "UNSUPPORTED" | "UNKNOWN":
            return
        case _:
            yield from _clause(tokens)


def _find(tokens: Sequence[Token], kind: str, start: int = 0) -> int:
    return next((i for i in range(start, len(tokens)) if tokens[i].type == kind), len(tokens))


def _name(sort: Sort, token: Token, *, declares: bool = False, skip: int = 0) -> NameOccurrence:
    """Return the occurrence of a token, without its first `skip` characters."""
    name, end = str(token)[skip:].strip(), token.end_pos or 0
    return NameOccurrence(sort, name, end - len(name), end, declares)


def _split_qualified_name(sort: Sort, token: Token) -> Iterator[NameOccurrence]:
    """Yield the parts of a name that may have dots."""
    if token.type != "NAME":
        return
    position = token.start_pos or 0
    parts = str(token).split(".")
    for i, part in enumerate(parts):
        own: Sort = sort if i == len(parts) - 1 else "instance"
        yield NameOccurrence(own, part, position, position + len(part), qualified=len(parts) > 1)
        position += len(part) + 1


def _find_type_names(token: Token) -> Iterator[NameOccurrence]:
    if str(token) not in PRIMITIVES:
        yield from _split_qualified_name("type", token)


def _attributes(tokens: Sequence[Token]) -> Iterator[NameOccurrence]:
    """Yield the attributes of a declaration and their types; other names behind are attributes as well."""
    for i, token in enumerate(tokens):
        if token.type == "NAME" and i and tokens[i - 1].type == "COLON":
            yield from _find_type_names(token)
        elif token.type == "NAME":
            yield _name("attribute", token, declares=tokens[i + 1 : i + 2] == [":"])


def _parameters(tokens: Sequence[Token]) -> Iterator[NameOccurrence]:
    """Yield the types of a functor's parameters, which may have names, and of its value."""
    for i, token in enumerate(tokens):
        if token.type == "NAME" and tokens[i + 1 : i + 2] != [":"]:
            yield from _find_type_names(token)


def _type(tokens: Sequence[Token]) -> Iterator[NameOccurrence]:
    for i, token in enumerate(tokens):
        following = tokens[i + 1].type if i + 1 < len(tokens) else ""
        if token.type != "NAME":
            continue
        if i == 1:
            yield _name("type", token, declares=True)
        elif following == "LBRACE":
            yield _name("branch", token, declares=True)
        elif following == "COLON":
            yield _name("attribute", token, declares=True)
        else:
            yield from _find_type_names(token)


def _component(tokens: Sequence[Token]) -> Iterator[NameOccurrence]:
    yield from (_name("component", each, declares=True) for each in tokens[1:2] if each.type == "NAME")
    colon = _find(tokens, "COLON")
    yield from (_name("parameter", each, declares=True) for each in tokens[2:colon] if each.type == "NAME")
    yield from _component_types(tokens[colon:])


def _component_types(tokens: Sequence[Token]) -> Iterator[NameOccurrence]:
    depth = 0
    for token in tokens:
        depth += (token.type == "LESS") - (token.type == "GREATER")
        if token.type == "NAME":
            yield from _find_type_names(token) if depth else (_name("component", token),)


def _clause(tokens: Sequence[Token]) -> Iterator[NameOccurrence]:
    path = False
    casts = _casts(tokens)
    for i, token in enumerate(tokens):
        kind = token.type
        before = tokens[i - 1].type if i else ""
        following = tokens[i + 1].type if i + 1 < len(tokens) else ""
        if kind == "LESS" and before in BEFORE_LITERAL:
            path = True
        elif kind == "GREATER":
            path = False
        elif kind == "BRANCH":
            yield _branch(token)
        elif kind == "FUNCTION" and token.startswith("@"):
            yield _name("functor", token, skip=1)
        elif kind == "FOLD":
            yield _name("functor", token, skip=2)
        elif kind == "OWN_AGGREGATE":
            yield _name("functor", token)
        elif kind != "NAME":
            continue
        elif i == 0 and following == "COLON":
            yield _name("rule", token, declares=True)
        elif i in casts:
            yield from _find_type_names(token)
        elif path or following in ("LPAR", "POSTFIX") or (before == "CARET" and _starts(tokens, i)):
            yield from _split_qualified_name("relation", token)
        else:
            yield from _split_qualified_name("variable", token)


def _branch(token: Token) -> NameOccurrence:
    """Return the occurrence of `$a.Name`, the branch of a type in an instance, or of `$Name`."""
    name, end = str(token).removeprefix("$").strip().rpartition(".")[2], token.end_pos or 0
    return NameOccurrence("branch", name, end - len(name), end, qualified="." in token)


def _starts(tokens: Sequence[Token], i: int) -> bool:
    """Return True if the signs before the name at `i` begin a literal."""
    while i > 0 and tokens[i - 1].type in _SIGNS:
        i -= 1
    return (tokens[i - 1].type if i else "") in BEFORE_LITERAL


def _casts(tokens: Sequence[Token]) -> frozenset[int]:
    """Return the positions of the types in `as(term, type)`."""
    found = set()
    opened: list[bool] = []
    for i, token in enumerate(tokens):
        if token.type == "LPAR":
            opened.append(i > 0 and tokens[i - 1].type == "AS")
        elif token.type == "RPAR" and opened and opened.pop() and tokens[i - 1].type == "NAME":
            found.add(i - 1)
    return frozenset(found)


def is_name(text: str) -> bool:
    """Return True for a text that may stand as a name."""
    tokens = lexer.tokens(text)
    return len(tokens) == 1 and tokens[0].type == "NAME" and str(tokens[0]) == text and "." not in text
