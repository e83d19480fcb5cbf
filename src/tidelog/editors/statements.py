"""The layout of one statement: where spaces stand between its items, and where its lines may break."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.editors.items import ANNOTATION, COMMENT, LINE, Item
from tidelog.editors.layout import Arrangement, Break, Fragment, NewLine, Pretty, group, indented
from tidelog.language import lexer

_CLOSING = {"LPAR": "RPAR", "LBRACKET": "RBRACKET", "LBRACE": "RBRACE"}
_ENDS_OPERAND = frozenset(
    ("NAME", "NUMBER", "STRING", "UNDERSCORE", "NIL", "BRANCH", "DOLLAR", "RPAR", "RBRACKET", "RBRACE")
)
_CALLS = frozenset(("NAME", "FUNCTION", "AS", "CONSTRAINT", "BRANCH", "POSTFIX", "GREATER"))
_KEEPS_SPACE = frozenset(("AGGREGATE", "OWN_AGGREGATE", "PREFIX", "COUNT"))
"""Fragment of which `word(x)` and `word (x)` are both usual."""
_BEFORE_LITERAL = frozenset(("", "IF", "COMMA", "SEMICOLON", "NOT", "COLON", "LPAR", "LBRACE"))
_DIRECTIVES = frozenset(lexer.DIRECTIVES.values())


def is_kept(items: Sequence[Item]) -> bool:
    """Return True for a statement that has no layout but its own: one with preprocessor lines or annotations inside."""
    return any(each.kind in (LINE, ANNOTATION) for each in items)


def statement(items: Sequence[Item]) -> Arrangement:
    """Return the layout of a statement, the items of which are tokens and comments."""
    first = next(each.kind for each in items if each.kind != COMMENT)
    items = _separators_first(items)
    if first not in _DIRECTIVES and first != "RBRACE":
        return _clause(items)
    return group(*_Sequence(first).parts(items))


def _separators_first(items: Sequence[Item]) -> list[Item]:
    """Return the items with each comma in front of the comments that end the lines before it."""
    found: list[Item] = []
    for item in items:
        i = len(found)
        while i and found[i - 1].ends_line and (item.kind in ("COMMA", "SEMICOLON") or _is_plain(found[i - 1], item)):
            i -= 1
        found.insert(i, item)
    return found


def _is_plain(comment: Item, item: Item) -> bool:
    """Return True if the dot behind a comment at the end of a line may stand in front of it. Comments that document
    something belong to the statement that they stand in."""
    documents = comment.text.startswith(("///", "//<", "/**"))
    return item.kind == "DOT" and not comment.begins and not documents


def _clause(items: list[Item]) -> Arrangement:
    """Return the layout of a fact or a rule."""
    neck = next((i for i, each in enumerate(items) if each.kind == "IF"), len(items))
    heads = group(*_Sequence("").parts(items[:neck]))
    if neck == len(items):
        return heads
    rest = items[neck + 1 :]
    dot = next(i for i in range(len(rest) - 1, -1, -1) if rest[i].kind == "DOT")
    body, behind = rest[:dot], rest[dot + 1 :]
    inner = _Sequence("", begun=True)
    parts = inner.parts(body)
    return group(heads, Fragment(" :-"), indented(Break(), *parts), Fragment("."), *_Sequence("").parts(behind))


class _Sequence:
    """The layout of items in a row, in a statement that begins with a token of the type `first`, "" for a clause.
    `begun` says that a rule's name cannot stand in front any more."""

    def __init__(self, first: str, *, begun: bool = False, depth: int = 0) -> None:
        self._first = first
        self._begun = begun
        self._depth = depth

    def parts(self, items: Sequence[Item]) -> list[Pretty]:
        """Return the layout of the items."""
        found: list[Pretty] = []
        before: Item | None = None
        i = 0
        path = False
        while i < len(items):
            item = items[i]
            if item.kind == COMMENT:
                found += _comment(item, before is not None)
                before = item
                i += 1
                continue
            if item.kind == "LESS" and not self._first and (before is None or before.kind in _BEFORE_LITERAL):
                path = True
            if before is not None and not (path and item.kind != "LESS") and self._spaced(items, i, before):
                found += self._gap(items, i, before)
            if item.kind in _CLOSING and not path and (close := _closing(items, i)):
                found.append(self._bracket(items[i : close + 1]))
                before = items[close]
                i = close + 1
                continue
            found.append(Fragment(item.text))
            path = path and item.kind != "GREATER"
            before = item
            i += 1
        return found

    def _gap(self, items: Sequence[Item], i: int, before: Item) -> list[Pretty]:
        """Return the space in front of item `i`."""
        kind = items[i].kind
        folds = before.kind == "COMMA" and kind == "LBRACE"  # `@@f x : start, { … }`
        if before.kind in ("COMMA", "SEMICOLON") and self._first not in ("PLAN", "COMP", "INIT") and not folds:
            return [Break()]
        if self._first == "TYPE" and self._depth == 0 and kind == "PIPE" and before.kind != "EQUAL":
            return [indented(Break())]
        return [Fragment(" ")]

    def _bracket(self, items: Sequence[Item]) -> Arrangement:
        """Return the layout of a bracket and its content."""
        opening, closing, inner = items[0], items[-1], items[1:-1]
        if not inner:
            return Arrangement((Fragment(opening.text + closing.text),))
        parts = _Sequence(self._first, begun=True, depth=self._depth + 1).parts(inner)
        blank = opening.kind == "LBRACE"
        return group(Fragment(opening.text), indented(Break(blank), *parts), Break(blank), Fragment(closing.text))

    def _spaced(self, items: Sequence[Item], i: int, before: Item) -> bool:
        """Return True if a space stands between item `i` and the one before it."""
        item = items[i]
        kind, last = item.kind, before.kind
        if kind in ("COMMA", "DOT", "POSTFIX") or last in ("NOT", "AT"):
            return False
        if last == COMMENT:
            return not before.ends_line
        if kind == "COLON":
            return self._first == "COMP" or (not self._first and not self._names_rule(items, i))
        if kind == "LPAR":
            return item.apart if last in _KEEPS_SPACE else last not in _CALLS
        if (kind in ("LESS", "GREATER") or last == "LESS") and self._first in ("COMP", "INIT"):
            return False
        if self._first == "IO" and (kind == "EQUAL" or last == "EQUAL"):
            return False
        if last in ("MINUS", "CARET"):
            j = i - 2
            operand = j >= 0 and items[j].kind in _ENDS_OPERAND
            return operand
        return True

    def _names_rule(self, items: Sequence[Item], i: int) -> bool:
        """Return True if the colon at `i` ends the name of a rule."""
        return not self._begun and all(each.kind in (COMMENT, "NAME") for each in items[:i])


def _comment(item: Item, continues: bool) -> list[Pretty]:
    """Return the layout of a comment; `continues` says that something stands before it."""
    if item.ends_line:
        alone: list[Pretty] = [NewLine()] if item.begins else [Fragment("  " if item.text.startswith("//") else " ")]
        return [*(alone if continues or item.begins else []), Fragment(item.text, ends_line=True)]
    return [*([Fragment(" ")] if continues else []), Fragment(item.text)]


def _closing(items: Sequence[Item], i: int) -> int | None:
    """Return the position of the bracket that closes the one at `i`."""
    depth = 0
    for j in range(i, len(items)):
        kind = items[j].kind
        depth += (kind in _CLOSING) - (kind in _CLOSING.values())
        if depth == 0:
            return j
    return None
