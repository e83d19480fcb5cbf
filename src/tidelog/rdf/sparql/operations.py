"""The operations of an update in SPARQL: where each begins and ends, and what its parts are.

pyoxigraph has checked the whole text before. An operation keeps the declarations in front of it, so its parts can be
put into other texts: a query for the solutions of its pattern, an insertion of what a template makes of these.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from tidelog.rdf.formats import load
from tidelog.rdf.sparql.problems import syntax_error
from tidelog.rdf.sparql.words import Word, after_prologue, words

NAME = "<update>"
FIRST = "DROP GRAPH <urn:tidelog:none> ; "
"""An operation that fails before any other one runs, once the text has been parsed."""
_STACK = 4 * 1024**2
"""Bytes, half of those that a thread usually has."""


@dataclass(frozen=True)
class UpdateOperation:
    """One operation: its declarations as text, its words, and the text that these are part of."""

    source: str
    prologue: str
    words: tuple[Word, ...]
    prefixes: Mapping[str, str]
    base: str | None

    @property
    def verb(self) -> str:
        """Return the first keyword in capitals."""
        return self.words[0].text.upper()

    @property
    def is_data(self) -> bool:
        """Return True for INSERT DATA and DELETE DATA."""
        return self.words[1].is_keyword("DATA")

    def has(self, keyword: str) -> bool:
        """Return True if a keyword stands outside of all braces."""
        return any(word.depth == 0 and word.is_keyword(keyword) for word in self.words)

    def text(self, start: int, end: int) -> str:
        """Return the text between two places."""
        return self.source[start:end]

    def block(self, keyword: str) -> str | None:
        """Return the braces behind a keyword outside of braces, with what is inside; None without the keyword."""
        for i, word in enumerate(self.words):
            if word.depth == 0 and word.is_keyword(keyword):
                start = next(each for each in self.words[i:] if each.depth == 0 and each.is_mark("{"))
                end = next(each for each in self.words[i:] if each.depth == 0 and each.is_mark("}"))
                return self.text(start.start, end.end)
        return None

    def behind(self, keyword: str) -> str | None:
        """Return the IRI behind a keyword, None without the keyword."""
        for word, follower in zip(self.words, self.words[1:], strict=False):
            if word.depth == 0 and word.is_keyword(keyword):
                return self.iri(follower.text)
        return None

    def iri(self, written: str) -> str:
        """Return the IRI that a text such as `:a` or `<a>` means here."""
        (quad,) = self.inserted(f"INSERT DATA {{ {written} {written} {written} }}")
        return str(quad.subject.value)

    def inserted(self, text: str) -> list[Any]:
        """Return the quads that an operation inserts into an empty store, after the declarations of this one."""
        store = load().Store()
        store.update(f"{self.prologue} {text}", base_iri=self.base, prefixes=dict(self.prefixes))
        return list(store)

    @property
    def query(self) -> str:
        """Return a query for the solutions of the pattern behind WHERE, over the graphs of USING."""
        where = next(i for i, word in enumerate(self.words) if word.depth == 0 and word.is_keyword("WHERE"))
        graphs = []
        for i, word in enumerate(self.words[:where]):
            if word.depth == 0 and word.is_keyword("USING"):
                is_named = self.words[i + 1].is_keyword("NAMED")
                graphs.append(f"FROM {'NAMED ' if is_named else ''}{self.words[i + 1 + is_named].text}")
        return f"{self.prologue} SELECT * {' '.join(graphs)} WHERE {self.block('WHERE')}"


def check(text: str, prefixes: Mapping[str, str], base: str | None) -> None:
    """Raise ProgramError (E0664) if a text is no update; run nothing of it.

    pyoxigraph knows declarations in front of the first operation only. So those of later ones stand there, too.
    """
    parts = _parts(words(text))
    start = next((rest[0].start for part in parts if (rest := after_prologue(part))), len(text))
    behind = [part[: len(part) - len(after_prologue(part))] for part in parts]
    later = [(part[0].start, part[-1].end) for part in behind if part and part[0].start > start]
    added = "".join(f"{text[one:end]} " for one, end in later) + FIRST
    own = text[start:]
    for one, end in later:
        blank = "".join(character if character in "\r\n" else " " for character in text[one:end])
        own = own[: one - start] + blank + own[end - start :]
    read = partial(load().Store().update, base_iri=base, prefixes=dict(prefixes))
    try:
        read(text[:start] + added + own)
    except SyntaxError as error:
        raise syntax_error(text, NAME, error.msg, read, (start, added)) from None
    except RuntimeError:  # of the first operation: the text has been parsed
        return


@dataclass(frozen=True)
class CheckedUpdate:
    """The check of an update, for a process of its own: one that is nested too deeply ends that."""

    text: str
    prefixes: Mapping[str, str]
    base: str | None

    def started(self, _: Any) -> Any:
        """Return the answer yes, or raise as `check`. The stack is smaller than that of the process of the store."""
        with ThreadPoolExecutor(1) as pool:
            before = threading.stack_size(_STACK)
            try:
                checked = pool.submit(check, self.text, self.prefixes, self.base)
            finally:
                threading.stack_size(before)
            checked.result()
        return load().Store().query("ASK {}")


def operations(text: str, prefixes: Mapping[str, str], base: str | None) -> list[UpdateOperation]:
    """Return the operations of an update that `check` has accepted."""
    found: list[UpdateOperation] = []
    prologue = ""
    for part in _parts(words(text)):
        rest = after_prologue(part)
        declared = part[: len(part) - len(rest)]
        if declared:
            prologue += f"{text[declared[0].start : declared[-1].end]} "
        if rest:
            found.append(UpdateOperation(text, prologue, tuple(rest), prefixes, base))
    return found


def _parts(found: Sequence[Word]) -> list[list[Word]]:
    """Return the words between semicolons outside of braces."""
    parts: list[list[Word]] = [[]]
    for word in found:
        if word.depth == 0 and word.is_mark(";"):
            parts.append([])
        else:
            parts[-1].append(word)
    return parts
