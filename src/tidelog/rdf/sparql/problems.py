"""The errors of texts of SPARQL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from tidelog.errors import Problem, ProgramError, UsageError
from tidelog.rdf.sparql.words import words
from tidelog.source import SourceText, Span

_PLACE = re.compile(r"error at (\d+):(\d+): (.*)", re.DOTALL)
_MOST = 8
"""Keywords that a hint names."""


@contextmanager
def failed(text: str, name: str) -> Iterator[None]:
    """Turn pyoxigraph's complaint about a text into ProgramError (E0664) with the place."""
    try:
        yield
    except SyntaxError as error:
        raise syntax_error(text, name, error.msg) from None
    except (OSError, RuntimeError, ValueError) as error:
        if "SELECT projection" in str(error):
            hint = "write the variable behind SELECT, or `SELECT *`"
            raise UsageError(Problem("E0612", f"no such result: {error}", place=name, hint=hint)) from None
        message = f"the SPARQL text cannot be evaluated: {error}"
        raise UsageError(Problem("E0664", message, place=name, hint="use the functions of SPARQL 1.1")) from None


def syntax_error(text: str, name: str, reason: str, added: tuple[int, str] = (0, "")) -> ProgramError:
    """Return the error for what pyoxigraph says about a text, in which something was `added` at a place."""
    found = _PLACE.match(reason)
    if found is None:
        return ProgramError(Problem("E0664", f"the SPARQL text cannot be parsed: {reason}", place=name, hint=_hint("")))
    line, column, expected = int(found[1]), int(found[2]), found[3]
    at, more = added
    lines = (text[:at] + more + text[at:]).split("\n")
    start = sum(len(each) + 1 for each in lines[: line - 1]) + column - 1
    start = min(start if start < at else max(at, start - len(more)), len(text))
    span = Span(SourceText(name, text), start, min(start + 1, len(text)))
    return ProgramError(Problem("E0664", "the SPARQL text cannot be parsed here", span, hint=_hint(expected)))


def _hint(expected: str) -> str:
    """Return advice made of the list of the tokens that pyoxigraph expected: of its sentences, or of its keywords."""
    if "Prefix not found" in expected:
        return "write `PREFIX name: <…>` in front, or declare the prefix in `store.prefixes`"
    tokens = re.sub(r"^expected (?:one of )?", "", expected).split(", ")
    sentences = [token for token in tokens if re.fullmatch(r"[A-Z][\w ]+ [\w ,]+", token)]
    keywords = [token for token in tokens if re.fullmatch(r"[A-Z]+(?: [A-Z]+)?", token)]
    if sentences:
        return f"correct this: {sentences[0]}"
    if keywords == ["CONSTRUCT"]:
        return "begin with SELECT, ASK, CONSTRUCT or DESCRIBE, behind declarations of prefixes"
    if keywords:
        return f"expected one of {', '.join(keywords[:_MOST])} here, or a term"
    return "check the syntax of SPARQL 1.1 at this place"


def refuse_services(text: str, name: str) -> None:
    """Raise UsageError (E0666) for a query or update that asks another server."""
    for word in words(text):
        if word.is_keyword("SERVICE"):
            span = Span(SourceText(name, text), word.start, word.end)
            hint = "ask that server by a client of its own, and insert the triples that it returns"
            raise UsageError(
                Problem("E0666", "tidelog asks no other servers, but the text has SERVICE", span, hint=hint)
            )
