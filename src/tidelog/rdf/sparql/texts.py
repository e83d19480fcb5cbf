"""Words of a text of SPARQL, and the errors of such a text with their places.

The words tell keywords from strings, IRIs, names and comments: enough to see which kind of text it is and where its
operations end. pyoxigraph parses and checks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tidelog.common.source import SourceText, Span
from tidelog.errors import Problem, ProgramError, UsageError, surrogate_in
from tidelog.rdf.formats import load

_WORD = re.compile(
    r"""(?P<comment>\#[^\r\n]*)
    |(?P<iri><[^\s<>"{}|^`\\]*>)
    |(?P<string>\"\"\"(?:[^"\\]|\\.|\"(?!\"\"))*+(?:\"\"\")?|'''(?:[^'\\]|\\.|'(?!''))*+(?:''')?
        |"(?:[^"\\\r\n]|\\.)*+"?|'(?:[^'\\\r\n]|\\.)*+'?)
    |(?P<variable>[?$]\w+)
    |(?P<language>@[A-Za-z][A-Za-z0-9-]*)
    |(?P<name>:(?:[\w:%-]|\\.|\.(?=[\w:%\\-]))*)
    |(?P<word>\w[\w.-]*+(?P<local>:(?:[\w:%-]|\\.|\.(?=[\w:%\\-]))*+)?)
    |(?P<mark>[][{}();])""",
    re.VERBOSE | re.DOTALL,
)
"""Each character is read once, so that the time is in proportion to the text: a string that does not end goes on to the
end of its line, or of the text."""
_KEYWORD = re.compile(r"[A-Za-z_]\w*")
_ALL = re.compile(r"SELECT\s*(?:DISTINCT|REDUCED)?\s*(\*)", re.IGNORECASE)
_FORMS = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")
_OPERATIONS = ("INSERT", "DELETE", "WITH", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY")


@dataclass(frozen=True)
class Word:
    """A word with its kind, its place in the text, and the number of braces around it."""

    kind: str
    text: str
    start: int
    end: int
    depth: int

    def is_keyword(self, *keywords: str) -> bool:
        return self.kind == "word" and self.text.upper() in keywords

    def is_mark(self, mark: str) -> bool:
        """Return True if this is a certain brace, bracket or semicolon."""
        return self.kind == "mark" and self.text == mark


def words(text: str) -> list[Word]:
    """Return the words of a text, without comments. A closing brace has the depth of its opening one."""
    return list(_words(text))


def _words(text: str) -> Iterator[Word]:
    depth = 0
    for match in _WORD.finditer(text):
        kind = str(match.lastgroup)
        if kind == "comment":
            continue
        if kind == "word" and match["local"] is None:
            for part in _KEYWORD.finditer(text, match.start(), match.end()):
                yield Word(kind, part[0], part.start(), part.end(), depth)
            continue
        depth -= match[0] == "}"
        yield Word("name" if kind == "word" else kind, match[0], match.start(), match.end(), depth)
        depth += match[0] == "{"


def after_prologue(found: list[Word]) -> list[Word]:
    """Return the words behind declarations of prefixes, of a base and of a version."""
    i = 0
    while i < len(found) and found[i].is_keyword("PREFIX", "BASE", "VERSION"):
        i += 3 if found[i].is_keyword("PREFIX") else 2
    return found[i:]


def is_query(text: str) -> bool:
    """Return True if a text is a query in SPARQL, or meant as one, and not the body of a rule."""
    found = words(text)
    rest = after_prologue(found)
    if any(word.kind == "variable" and word.text[0] == "?" for word in rest) or len(found) > len(rest):
        return True
    # `select(x)` is a relation: behind a form of SPARQL, no bracket comes without a variable.
    return len(rest) > 1 and rest[0].is_keyword(*_FORMS) and not rest[1].is_mark("(")


def asks(text: str) -> bool:
    """Return True if a text begins as a query in SPARQL."""
    rest = after_prologue(words(text))
    return bool(rest) and rest[0].is_keyword(*_FORMS)


def is_update(text: str) -> bool:
    rest = after_prologue(words(text))
    return len(rest) > 1 and rest[0].is_keyword(*_OPERATIONS) and not rest[1].is_mark("(")


def has_dataset(text: str) -> bool:
    """Return True if a query names the graphs that it asks, by FROM."""
    return any(word.depth == 0 and word.is_keyword("FROM") for word in words(text))


def variables(text: str) -> list[str]:
    """Return the names of the variables of a query in the order of the text."""
    return list(dict.fromkeys(word.text[1:] for word in words(text) if word.kind == "variable"))


def selects_all(text: str) -> bool:
    """Return True for `SELECT *`, whose columns pyoxigraph gives in an order of its own."""
    rest = after_prologue(words(text))
    return bool(rest) and _ALL.match(text, rest[0].start) is not None


def name_columns(text: str, names: list[str]) -> str:
    """Return a query with `SELECT *` as one that names its columns. Without columns it stays as it is."""
    found = _ALL.match(text, after_prologue(words(text))[0].start)
    assert found is not None
    columns = " ".join(f"?{name}" for name in names) or "*"
    return f"{text[: found.start(1)]} {columns} {text[found.end(1) :]}"


# --- errors ----------------------------------------------------------------------------------------------------------


_PLACE = re.compile(r"error at (\d+):(\d+): (.*)", re.DOTALL)
_MARK = re.compile(r'"([^\w\s"\\]+)"|\[[^]]+\]')
_NAME = re.compile(r"[\w.-]*:(?=[^\s:]*$)")
_LAST_WORD = re.compile(r"(?<![\w?$:@.<\"'-])[A-Za-z_]\w*(?=\s*$)")
_ENDS = frozenset(" \t\r\n(){}[];,")
"""Characters that end a word, and that no longer word has inside."""
_MOST = 8
"""Keywords that a hint names."""
_NEAR = 2_000
"""The place of an error among so many characters is looked for again."""
_SHORT = 40
"""Characters before a reported place where the real one is."""
_CHECK = "check the syntax of SPARQL 1.1 at this place"


@contextmanager
def query_errors(text: str, name: str, **options: Any) -> Iterator[None]:
    """Turn pyoxigraph's complaint about a query, read with these options, into ProgramError (E0664) with the place."""
    try:
        yield
    except SyntaxError as error:
        query = load().Store().query
        raise syntax_error(text, name, error.msg, lambda beginning: query(beginning, **options)) from None
    except (OSError, RuntimeError, ValueError) as error:
        if "SELECT projection" in str(error):
            hint = "write the variable behind SELECT, or `SELECT *`"
            raise UsageError(Problem("E0612", f"no such result: {error}", place=name, hint=hint)) from None
        message = f"the SPARQL text cannot be evaluated: {error}"
        raise UsageError(Problem("E0664", message, place=name, hint="use the functions of SPARQL 1.1")) from None


def syntax_error(
    text: str, name: str, reason: str, parse: Callable[[str], object], added: tuple[int, str] = (0, "")
) -> ProgramError:
    """Return the error for what pyoxigraph says about a text, in which something was `added` at a place. `parse` reads
    a beginning of that, and raises as pyoxigraph."""
    at, more = added
    read = text[:at] + more + text[at:]
    found = _place(read, reason)
    if found is None:
        return ProgramError(Problem("E0664", f"the SPARQL text cannot be parsed: {reason}", place=name, hint=_CHECK))
    start, hint = _advice(read, *found, parse)
    if more and start <= at + len(more):
        hint = "begin with INSERT, DELETE, LOAD or the like; add triples in Turtle with `store.insert`"
    start = min(start if start < at else max(at, start - len(more)), len(text))
    span = Span(SourceText(name, text), start, min(start + 1, len(text)))
    return ProgramError(Problem("E0664", "the SPARQL text cannot be parsed here", span, hint=hint))


def _place(text: str, reason: str) -> tuple[int, str] | None:
    """Return the place that pyoxigraph names, and what it expected there."""
    found = _PLACE.match(reason)
    if found is None:
        return None
    lines = text.split("\n")
    return sum(len(each) + 1 for each in lines[: int(found[1]) - 1]) + int(found[2]) - 1, found[3]


def _advice(text: str, reported: int, expected: str, parse: Callable[[str], object]) -> tuple[int, str]:
    """Return where a text goes wrong, and advice, of the place that pyoxigraph reports and what it expected there."""
    tokens = re.sub(r"^expected (?:one of )?", "", expected).split(", ")
    sentences = [token for token in tokens if re.fullmatch(r"[A-Z][\w ]+ [\w ,]+", token)]
    if tokens == ["CONSTRUCT"] or not text.strip():
        return reported, "begin with SELECT, ASK, CONSTRUCT or DESCRIBE, behind declarations of prefixes"
    if sentences and "Prefix not found" not in sentences:
        return reported, f"correct this: {sentences[0]}"
    if reported >= len(text) and expected == "expected [_]" and text.rstrip().endswith("}"):
        return reported, "let BIND and AS name variables that have no value yet"
    is_final = reported > _NEAR or "<unreported>" in expected
    found = None if is_final else _find_valid_end(text, reported, expected, parse)
    if found is not None:
        return _advice_behind(text, *found)
    keywords = [token for token in tokens if re.fullmatch(r"[A-Z]+(?: [A-Z]+)?", token)]
    return reported, f"expected one of {', '.join(keywords[:_MOST])} here, or a term" if keywords else _CHECK


def _find_valid_end(text: str, reported: int, expected: str, parse: Callable[[str], object]) -> tuple[int, str] | None:
    """Return the end of the longest beginning of a text that may go on, and what pyoxigraph expects there; None for a
    reported place that is far from there.

    pyoxigraph reports a keyword that is not there behind the place where it would end, and hides what is wrong before.
    A beginning may go on if pyoxigraph expects marks or characters at its end, not keywords alone.
    """
    for end in range(min(reported, len(text)), max(0, reported - _SHORT), -1):
        beginning = text[:end]
        found: tuple[int, str] | None = reported, expected
        if end < reported:
            if not _ENDS & set(text[end - 1 : end + 1]):
                continue
            if 0 < beginning.count("{") == beginning.count("}"):  # To plan a whole query may take long.
                return end, ""
            try:
                parse(beginning)
            except SyntaxError as error:
                found = _place(beginning, error.msg)
            except (OSError, RuntimeError, ValueError):
                return end, ""
        if found is not None and found[0] == end and _marks(found[1]):
            return end, found[1]
    return None


def _advice_behind(text: str, end: int, expected: str) -> tuple[int, str]:
    """Return the place of what stands behind a beginning of a text, where pyoxigraph expects something else."""
    if "Prefix not found" in expected and (name := _NAME.search(text, 0, end)):
        return name.start(), f"write `PREFIX {name[0]} <…>` in front, or declare the prefix in `store.prefixes`"
    start, marks = len(text) - len(text[end:].lstrip()), _marks(expected)
    if not expected:
        return start, "put `;` between updates, and LIMIT and the like behind the pattern of a query"
    if text.startswith("<", start):
        return start, "write an absolute IRI, or a name with a prefix; a relative IRI needs BASE"
    word = _LAST_WORD.search(text, 0, end)
    if word and ":" in marks and text.startswith("(", start):
        return word.start(), f"{word[0]} is no function or keyword of SPARQL; use one, or the IRI of a function"
    if {"?", ":"} <= set(marks):
        return start, "expected a variable or a term here"
    plain = [f"`{mark}`" for mark in marks if not mark.startswith("[")]
    return start, f"expected {' or '.join(plain) or 'a number'} here"


def _marks(expected: str) -> list[str]:
    """Return the marks, and the sets of characters, among expected tokens."""
    return [each[1] or each[0] for each in _MARK.finditer(expected) if each[0] != "[_]"]


def refuse(text: str, name: str) -> None:
    """Raise ProgramError (E0664) for a text with an unpaired surrogate, UsageError (E0666) for one that asks another
    server."""
    if (start := surrogate_in(text)) is not None:
        span = Span(SourceText(name, text), start, start + 1)
        message = f"the SPARQL text is not valid Unicode: found {text[start]!r}"
        raise ProgramError(Problem("E0664", message, span, hint="remove the unpaired surrogate"))
    for word in words(text):
        if word.is_keyword("SERVICE"):
            span = Span(SourceText(name, text), word.start, word.end)
            hint = "ask that server by a client of its own, and insert the triples that it returns"
            raise UsageError(
                Problem("E0666", "tidelog asks no other servers, but the text has SERVICE", span, hint=hint)
            )
