"""Documentation comments and annotations: which statement and attribute they belong to.

`///` and `/** … */` stand in front of a statement or an attribute, `//<` behind it; `@[key = value]` stands in front,
`@![key]` in the text that it is about. They change no view. `About` keeps them in the tree.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from lark import Token

from tidelog.common.source import Span
from tidelog.errors import Problem
from tidelog.language.blocks import Opening, Statement
from tidelog.language.lexer import DIRECTIVES
from tidelog.language.syntax import (
    About,
    Attribute,
    Declaration,
    Directive,
    Instance,
    Rule,
    TypeDeclaration,
)
from tidelog.language.terms import Locate
from tidelog.language.token_types import CLOSING, OPENING

_STARTING = frozenset(DIRECTIVES.values())
Node = TypeVar("Node", Rule, Declaration, TypeDeclaration, Directive, Instance, Opening, Attribute)


@dataclass(frozen=True)
class Note:
    """A comment or an annotation: the number of tokens before it, its place and its text, and True if it stands behind
    the part that it is about."""

    position: int
    place: Span
    text: str
    behind: bool = False
    annotates: bool = False


def comment(token: Token, position: int, locate: Locate) -> Note:
    """Return the note of a documentation comment that stands behind `position` tokens."""
    text, place = str(token), locate(token.start_pos or 0, token.end_pos or 0)
    lines = text[3:-2].split("\n") if text.startswith("/**") else [text[3:]]
    words = "\n".join(line.strip().removeprefix("*").strip() for line in lines).strip("\n")
    return Note(position, place, words, text.startswith("//<"))


def split_annotations(
    text: str, tokens: list[Token], comments: Sequence[Note], locate: Locate
) -> tuple[list[Token], list[Note], list[Problem]]:
    """Return the tokens of a text without annotations, all notes in order, and the problems of annotations (E0101)."""
    if not any(token.type == "AT" for token in tokens):
        return tokens, list(comments), []
    kept: list[Token] = []
    notes: list[Note] = []
    problems: list[Problem] = []
    left = deque(comments)
    i = 0
    while i < len(tokens):
        while left and left[0].position <= i:
            notes.append(replace(left.popleft(), position=len(kept)))
        if tokens[i].type != "AT" or not _annotates(tokens, i):
            kept.append(tokens[i])
            i += 1
            continue
        place = locate(tokens[i].start_pos or 0, tokens[i].end_pos or 0)
        end = _annotation_end(tokens, i)
        if end is None:
            problems.append(Problem("E0101", "this annotation is not closed", place, hint="close it with `]`"))
            end = next((n for n in range(i + 2, len(tokens)) if tokens[n].type in _STARTING), len(tokens))
        own = text[tokens[i + 1].start_pos : tokens[min(end, len(tokens)) - 1].end_pos]
        notes.append(Note(len(kept), place, " ".join(own.split()), annotates=True))
        i = end
    return kept, [*notes, *(replace(note, position=len(kept)) for note in left)], problems


def annotation_ends(tokens: list[Token]) -> dict[int, int]:
    """Return the positions at which annotations begin, each with the position behind it."""
    found: dict[int, int] = {}
    for i, token in enumerate(tokens):
        if token.type == "AT" and _annotates(tokens, i):
            found[i] = _annotation_end(tokens, i) or len(tokens)
    return found


def _annotates(tokens: list[Token], i: int) -> bool:
    """Return True if an annotation begins with the `@` at `i`; an argument of an atom may be a located record."""
    opening = i + 1 + (i + 1 < len(tokens) and tokens[i + 1].type == "NOT")
    if opening >= len(tokens) or tokens[opening].type != "LBRACKET":
        return False
    if i == 0 or tokens[i - 1].type not in ("LPAR", "COMMA"):
        return True
    depth, outer = 0, i - 1
    while outer >= 0 and (depth or tokens[outer].type not in OPENING):
        depth += (tokens[outer].type in CLOSING) - (tokens[outer].type in OPENING)
        outer -= 1
    if outer < 0:
        return True  # behind a head
    if tokens[outer].type != "LPAR":
        return outer > 0 and tokens[outer - 1].type in ("EQUAL", "NAME")  # the fields of a type
    outer -= 1
    while outer >= 0 and tokens[outer].type in ("NAME", "COMMA"):
        outer -= 1
    return outer >= 0 and tokens[outer].type in ("DECL", "FUNCTOR")


def _annotation_end(tokens: list[Token], start: int) -> int | None:
    """Return the position behind the bracket that closes an annotation."""
    depth = 0
    for i in range(start + 1, len(tokens)):
        kind = tokens[i].type
        depth += (kind in OPENING) - (kind in CLOSING)
        if depth == 0 and kind in CLOSING:
            return i + 1
    return None


def with_notes(
    statements: Iterable[Statement], notes: Sequence[Note], tokens: Sequence[Token], start: int, end: int
) -> list[Statement]:
    """Return the statements that the tokens from `start` to `end` make, with their notes: those that stand in them, in
    front of them, and behind them with `//<`."""
    first = bisect_left(notes, start, key=lambda note: note.position)
    last = bisect_right(notes, end, key=lambda note: note.position)
    own = [
        note
        for note in notes[first:last]
        if start < note.position < end or (note.position == end if note.behind else note.position == start)
    ]
    if not own:
        return list(statements)
    closing = max((i for i in range(start, end) if tokens[i].type in CLOSING), default=start)
    inside = [note for note in own if start < note.position <= closing]
    around = [note for note in own if note.position <= start or note.position > closing]
    return [_statement_with_notes(each, around, inside) for each in statements]


def _statement_with_notes(statement: Statement, around: Sequence[Note], inside: Sequence[Note]) -> Statement:
    match statement:
        case Declaration(attributes=attributes):
            return _node_with_notes(replace(statement, attributes=_attributes_with_notes(attributes, inside)), around)
        case TypeDeclaration(fields=attributes):
            return _node_with_notes(replace(statement, fields=_attributes_with_notes(attributes, inside)), around)
        case Rule():
            return _node_with_notes(statement, [*around, *inside])
        case Directive():
            return _node_with_notes(statement, around)
        case Instance():
            return _node_with_notes(statement, around)
        case Opening():
            return _node_with_notes(statement, around)
        case _:
            return statement


def _attributes_with_notes(attributes: tuple[Attribute, ...], notes: Sequence[Note]) -> tuple[Attribute, ...]:
    """Return the attributes with the notes that stand before them, or with `//<` behind them."""
    found: dict[int, list[Note]] = {}
    for note in notes:
        before = sum(each.span is not None and each.span.start < note.place.start for each in attributes)
        index = before - 1 if note.behind else before
        if 0 <= index < len(attributes):
            found.setdefault(index, []).append(note)
    return tuple(_node_with_notes(each, found.get(i, ())) for i, each in enumerate(attributes))


def _node_with_notes(node: Node, notes: Sequence[Note]) -> Node:
    if not notes:
        return node
    doc = "\n".join(note.text for note in notes if not note.annotates)
    return replace(node, about=About(doc, tuple(note.text for note in notes if note.annotates)))
