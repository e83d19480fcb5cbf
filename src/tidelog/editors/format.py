"""`format_program`: a program's text in one layout, with the same meaning and all comments.

`statement` says where spaces stand between the items of a statement, and where its lines may break; `layout` has the
items, and fits them into lines.

A statement stands on lines of its own; facts that stand side by side stay so. One empty line between statements stays,
of several as well. Preprocessor lines, and statements with such lines or annotations inside, keep their text. A text
that asks for the numbers of its lines (`__LINE__`) stays as it is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path

from tidelog.common.source import SourceText, Span
from tidelog.editors.layout import (
    ANNOTATION,
    COMMENT,
    INDENT,
    LINE,
    Arrangement,
    Break,
    Fragment,
    Item,
    NewLine,
    Pretty,
    fitted_text,
    group,
    indent,
    items,
    without_lines,
)
from tidelog.editors.names import BEFORE_LITERAL
from tidelog.errors import InternalError, Problem
from tidelog.language import lexer
from tidelog.language.reading import Preprocessing, ProgramText, parse
from tidelog.language.statements import ReadPiece, pieces
from tidelog.language.syntax import About

WIDTH = 100
"""The number of columns that a line has at most, if it can break."""


def format_program(
    text: str, name: str = "<text>", folder: Path | None = None, preprocessing: Preprocessing | None = None
) -> str:
    """Return the text of a program in the layout of `tidelog format`. `name` is shown in messages, `folder` is where
    `#include` begins to look. Raise ProgramError for a text with errors of syntax, and InternalError (E0901) instead of
    a text with another meaning."""
    text = text.replace("\r\n", "\n").removeprefix("\ufeff")
    given = partial(_parse_meaning, name, folder or Path(), preprocessing or Preprocessing())
    before = given(text)
    if "__LINE__" in text:
        return text
    result = _laid_out(text)
    if given(result) != before or _notes(text) != _notes(result):
        raise InternalError(Problem("E0901", "formatting this program would change its meaning", place=name))
    return result


def _parse_meaning(name: str, folder: Path, preprocessing: Preprocessing, text: str) -> list[object]:
    """Return the program that a text means, in a form whose equality means equality of everything but places."""
    return _plain(parse(ProgramText(SourceText(name, text), folder, preprocessing)))


def _plain(node: object) -> list[object]:
    """Return a tree as lists, with the documentation of statements, which equality of trees leaves out."""
    found: list[object] = []
    if isinstance(node, (tuple, list)):
        return [_plain(each) for each in node]
    if isinstance(node, About):
        return [" ".join(node.doc.split()), node.annotations]
    if is_dataclass(node):
        found.append(type(node).__name__)
        found += [_plain(getattr(node, each.name)) for each in fields(node) if each.name != "span"]
        return found
    return [type(node).__name__, node]


def _notes(text: str) -> list[tuple[str, str]]:
    """Return the comments, annotations and preprocessor lines of a text, without their indentation."""
    return [
        (each.kind, "\n".join(line.strip() for line in each.text.split("\n")))
        for each in items(text)
        if each.kind in (COMMENT, ANNOTATION, LINE)
    ]


def _laid_out(text: str) -> str:
    """Return the text in the layout of the formatter."""
    writer = _Writer(text)
    found = items(text)
    starts = [each.start for each in found]
    position = 0
    for piece in _statements(text):
        first, behind = bisect_left(starts, piece.start), bisect_left(starts, piece.end)
        writer.between(found[position:first])
        writer.statement(found[first:behind], known=not piece.problems)
        position = behind
    writer.between(found[position:])
    return writer.text


def _statements(text: str) -> Iterator[ReadPiece]:
    """Yield the statements of a text. Those that need the preprocessor come with problems, several in one piece."""
    plain, _ = without_lines(text)
    for piece in pieces(plain, partial(Span, SourceText("", plain))):
        if piece.end > piece.start:
            yield piece


class _Writer:
    """The lines so far."""

    def __init__(self, text: str) -> None:
        self._source = text
        self._lines: list[str] = []
        self._margin = 0
        self._facts = False
        """True if the last line has facts, to which others may come."""

    @property
    def text(self) -> str:
        """The text, with a line feed at its end if it has any lines."""
        return "".join(f"{line}\n" for line in self._lines)

    def between(self, items: list[Item]) -> None:
        """Add comments, annotations and preprocessor lines between statements."""
        for item in items:
            if item.kind == COMMENT and not item.begins and self._lines:
                self._lines[-1] += f"{'  ' if item.text.startswith('//') else ' '}{item.text}"
            else:
                self._begin(item)
                self._lines.append(item.text if item.kind == LINE else " " * self._margin + item.text)
            self._facts = False

    def statement(self, items: list[Item], *, known: bool) -> None:
        """Add a statement, unchanged if it is not `known` to be one before the preprocessor has gone over it."""
        first, last = items[0], items[-1]
        kept = is_kept(items) or not known
        if first.kind == "RBRACE":
            self._margin = max(0, self._margin - INDENT)
        if kept:
            text = self._source[first.start : last.end]
        else:
            text = fitted_text(statement(items), WIDTH, self._margin)
        fact = not kept and all(each.kind not in (COMMENT, "IF") for each in items) and last.kind == "DOT"
        if fact and self._facts and not first.begins and len(self._lines[-1]) + 1 + len(text) <= WIDTH:
            self._lines[-1] += f" {text}"
            return
        self._begin(first)
        self._lines.append(" " * self._margin + text)
        self._facts = fact and "\n" not in text
        if first.kind == "COMP":
            self._margin += INDENT

    def _begin(self, item: Item) -> None:
        """Leave an empty line where the source has one."""
        if item.blank and self._lines:
            self._lines.append("")


# --- one statement ---------------------------------------------------------------------------------------------------

_CLOSING = {"LPAR": "RPAR", "LBRACKET": "RBRACKET", "LBRACE": "RBRACE"}
_ENDS_OPERAND = frozenset(
    ("NAME", "NUMBER", "STRING", "UNDERSCORE", "NIL", "BRANCH", "DOLLAR", "RPAR", "RBRACKET", "RBRACE")
)
_CALLS = frozenset(("NAME", "FUNCTION", "AS", "CONSTRAINT", "BRANCH", "POSTFIX", "GREATER"))
_KEEPS_SPACE = frozenset(("AGGREGATE", "OWN_AGGREGATE", "PREFIX", "COUNT"))
"""Fragment of which `word(x)` and `word (x)` are both usual."""
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
    return group(heads, Fragment(" :-"), indent(Break(), *parts), Fragment("."), *_Sequence("").parts(behind))


class _Sequence:
    """The layout of items in a row, in a statement that begins with a token of the type `first`, "" for a clause.
    `begun` says that a rule's name cannot stand in front any more."""

    def __init__(self, first: str, *, begun: bool = False, depth: int = 0) -> None:
        self._first = first
        self._begun = begun
        self._depth = depth

    def parts(self, items: Sequence[Item]) -> list[Pretty]:
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
            if item.kind == "LESS" and not self._first and (before is None or before.kind in BEFORE_LITERAL):
                path = True
            if before is not None and not (path and item.kind != "LESS") and self._has_space_before(items, i, before):
                found += self._gap(items, i, before)
            if item.kind in _CLOSING and not path and (close := _find_closing_bracket(items, i)):
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
            return [indent(Break())]
        return [Fragment(" ")]

    def _bracket(self, items: Sequence[Item]) -> Arrangement:
        opening, closing, inner = items[0], items[-1], items[1:-1]
        if not inner:
            return Arrangement((Fragment(opening.text + closing.text),))
        parts = _Sequence(self._first, begun=True, depth=self._depth + 1).parts(inner)
        blank = opening.kind == "LBRACE"
        return group(Fragment(opening.text), indent(Break(blank), *parts), Break(blank), Fragment(closing.text))

    def _has_space_before(self, items: Sequence[Item], i: int, before: Item) -> bool:
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


def _find_closing_bracket(items: Sequence[Item], i: int) -> int | None:
    """Return the position of the bracket that closes the one at `i`."""
    depth = 0
    for j in range(i, len(items)):
        kind = items[j].kind
        depth += (kind in _CLOSING) - (kind in _CLOSING.values())
        if depth == 0:
            return j
    return None
