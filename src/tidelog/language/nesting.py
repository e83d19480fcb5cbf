"""The depth of brackets, signs and terms. Later stages recurse over trees, so this module bounds their depth."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from lark import Token

from tidelog.common.source import Span

LIMIT = 150
"""Deepest nesting of a statement; a walk that takes five frames a level stays within Python's limit."""

_OPENING = frozenset(("LPAR", "LBRACKET", "LBRACE"))
_CLOSING = frozenset(("RPAR", "RBRACKET", "RBRACE"))
_SIGNS = frozenset(("NOT", "MINUS", "PREFIX", "CARET", "POSTFIX"))


def too_deep_tokens(tokens: list[Token]) -> frozenset[int]:
    """Return positions of the tokens that open a level beyond LIMIT, by brackets or by signs in a row."""
    found: set[int] = set()
    depth = run = 0
    for i, token in enumerate(tokens):
        kind = token.type
        if kind in _OPENING:
            depth += 1
            if depth > LIMIT:
                found.add(i)
        elif kind in _CLOSING:
            depth = max(0, depth - 1)  # a dot may stand between the braces of a component
        elif kind == "DOT":
            depth = 0
        elif kind in _SIGNS:
            run += 1
            if run > LIMIT:
                found.add(i)
            continue
        run = 0
    return frozenset(found)


def too_deep_node(root: Any) -> Span | None:
    """Return the span of a node more than LIMIT levels below `root` (a node or a tuple of nodes), if there is one."""
    waiting: list[tuple[Any, int]] = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        if isinstance(node, tuple):
            waiting += [(part, depth) for part in node]
        elif is_dataclass(node) and not isinstance(node, Span):
            if depth > LIMIT:
                span: Span | None = getattr(node, "span", None)
                return span
            waiting += [(getattr(node, f.name), depth + 1) for f in fields(node) if f.name not in ("span", "kinds")]
    return None
