"""The texts of updates and views in SPARQL, checked and parsed.

An update is cut into its operations. An operation keeps the declarations in front of it, so its parts can be put into
other texts: a query for the solutions of its pattern, an insertion of what a template makes of these.

A view is read in time that is in proportion to its text. pyoxigraph says what is wrong with a query, but would also
plan it, which takes very long for one of many patterns. So it reads the query as a part of an update, which fails
before it runs.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from tidelog.rdf.formats import load, missing_library
from tidelog.rdf.sparql.bodies import TEXT, Unsupported
from tidelog.rdf.sparql.texts import Word, after_prologue, query_errors, refuse, syntax_error, words

# --- updates ---------------------------------------------------------------------------------------------------------


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

    def iri_after(self, keyword: str) -> str | None:
        """Return the IRI behind a keyword, None without the keyword."""
        for word, follower in zip(self.words, self.words[1:], strict=False):
            if word.depth == 0 and word.is_keyword(keyword):
                return self.iri(follower.text)
        return None

    def iri(self, written: str) -> str:
        """Return the IRI that a text such as `:a` or `<a>` means here."""
        (quad,) = self.insertions(f"INSERT DATA {{ {written} {written} {written} }}")
        return str(quad.subject.value)

    def insertions(self, text: str) -> list[Any]:
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
    parts = _between_semicolons(words(text))
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

    def start(self, _: Any) -> Any:
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
    for part in _between_semicolons(words(text)):
        rest = after_prologue(part)
        declared = part[: len(part) - len(rest)]
        if declared:
            prologue += f"{text[declared[0].start : declared[-1].end]} "
        if rest:
            found.append(UpdateOperation(text, prologue, tuple(rest), prefixes, base))
    return found


def _between_semicolons(found: Sequence[Word]) -> list[list[Word]]:
    """Return the words between semicolons outside of braces."""
    parts: list[list[Word]] = [[]]
    for word in found:
        if word.depth == 0 and word.is_mark(";"):
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


# --- views -----------------------------------------------------------------------------------------------------------


_LONG = 50_000
"""Characters of a view. rdflib's parser takes up to a millisecond for each."""
_TRIPLES = 200
"""Triple patterns of a view: rdflib puts them in order, which takes the square of their number."""
_NEGATIONS = 5_000
"""Marks of negation in a view: in a row, they are nested."""
_OPERATORS = 2_500
"""Operators, commas and opening brackets of a view. rdflib's parser takes up to four milliseconds for an operand."""
_OPERATOR = re.compile(r"#[^\r\n]*|(\|\||&&|[-+*/=<>,(])")
_DEEP = 100
"""Brackets of a view stand in so many others: pyoxigraph would end the process at some ten times as many."""


def algebra(text: str, prefixes: Mapping[str, str]) -> Any:
    """Return the algebra of a query as rdflib has it. Raise ProgramError (E0664) for a text that is no query,
    UsageError (E0666: SERVICE), Unsupported for one that rdflib cannot read, RecursionError for parts in too many
    others, and SetupError (E0790) without rdflib."""
    if len(text) > _LONG:
        raise Unsupported(f"it has more than {_LONG:,} characters", "insert long lists as triples, and match these")
    if text.count("!") > _NEGATIONS:
        raise Unsupported(f"it has more than {_NEGATIONS:,} negations")
    refuse(text, TEXT)
    found = words(text)
    if _operators(text, found) > _OPERATORS:
        message = f"it has more than {_OPERATORS:,} operators, commas and brackets"
        raise Unsupported(message, "insert long lists as triples, and match these")
    _refuse_deep(found)
    rest = after_prologue(found)
    if rest and rest[0].is_keyword("ASK", "DESCRIBE"):
        raise Unsupported("a view is a SELECT or CONSTRUCT")
    if not _is_part(text, rest, prefixes):
        with query_errors(text, TEXT, prefixes=dict(prefixes)):
            load().Store().query(text, prefixes=dict(prefixes))
    try:
        from rdflib.plugins.sparql.algebra import translateQuery
        from rdflib.plugins.sparql.parser import parseQuery
    except ImportError:
        raise missing_library("rdflib") from None

    try:
        parsed = parseQuery(text)
        nodes = list(_nodes(parsed))
        if sum(len(terms) // 3 for node in nodes if "triples" in node for terms in node["triples"]) > _TRIPLES:
            raise Unsupported(f"it has more than {_TRIPLES} triple patterns", "split it into several views")
        # rdflib's algebra has no filters that are false.
        if any(node.name == "Filter" and _is_constant(node.expr) for node in nodes):
            raise Unsupported("a filter is a constant", "leave out the filter, or the group that it is in")
        return translateQuery(parsed, initNs=dict(prefixes)).algebra
    except (RecursionError, Unsupported):
        raise
    except Exception as error:  # rdflib raises whatever its parts raise, for texts that pyoxigraph accepts
        hint = "write it in SPARQL 1.1, or ask it with store.query"
        raise Unsupported(f"rdflib cannot read this: {error}", hint) from None


def _operators(text: str, found: list[Word]) -> int:
    """Return the number of operators, commas and opening brackets between the words of a text."""
    starts, ends = [word.start for word in found], [word.end for word in found]
    gaps = (text[start:end] for start, end in zip([0, *ends], [*starts, len(text)], strict=True))
    return sum(word.is_mark("(") for word in found) + sum(
        1 for gap in gaps for each in _OPERATOR.finditer(gap) if each[1]
    )


def _refuse_deep(found: list[Word]) -> None:
    """Raise Unsupported if a bracket stands in too many others."""
    depth = 0
    for word in found:
        depth += word.kind == "mark" and word.text in "([{"
        depth -= word.kind == "mark" and word.text in ")]}"
        if depth > _DEEP:
            raise Unsupported(f"it has more than {_DEEP} brackets in one another", "nest fewer brackets")


def _nodes(parsed: Any) -> Iterator[Any]:
    """Yield the nodes of what rdflib's parser returns."""
    from rdflib.plugins.sparql.parserutils import CompValue

    left = [parsed]
    while left:
        part = left.pop()
        if isinstance(part, CompValue):
            yield part
            left.extend(part.values())
        elif isinstance(part, Iterable) and not isinstance(part, str):
            left.extend(part)


def _is_constant(expression: Any) -> bool:
    """Return True for a literal, which rdflib's parser wraps into operators without a second operand."""
    from rdflib import Literal

    while list(getattr(expression, "keys", tuple)()) == ["expr"] and not expression.name.startswith("Unary"):
        expression = expression.expr
    return isinstance(expression, Literal)


def _is_part(text: str, rest: list[Word], prefixes: Mapping[str, str]) -> bool:
    """Return True if a SELECT or CONSTRUCT, with its words behind the prologue, can be part of an update, which has the
    syntax of the query."""
    if not rest or not rest[0].is_keyword("SELECT", "CONSTRUCT"):
        return False
    template, query = "{}", _without_from(text, rest)
    if rest[0].is_keyword("CONSTRUCT"):
        start = next((i for i, word in enumerate(rest) if word.is_mark("{")), 0)
        end = next((i for i, word in enumerate(rest) if word.is_mark("}") and word.depth == 0), 0)
        template = text[rest[start].start : rest[end].end]
        is_short = any(word.is_keyword("WHERE") for word in rest[:start])
        query = f"SELECT * {_without_from(text, rest[start if is_short else end + 1 :])}"
    update = f"{text[: rest[0].start]} {FIRST} INSERT {template} WHERE {{ {{ {query}\n}} }}"
    try:
        load().Store().update(update, prefixes=dict(prefixes))
    except RuntimeError:  # of the first operation: the text has been parsed
        return True
    except SyntaxError:
        pass
    return False


def _without_from(text: str, found: list[Word]) -> str:
    """Return the text from the first of these words on, without FROM and its graph."""
    pieces, start = [], found[0].start if found else len(text)
    for i, word in enumerate(found):
        graph = [each for each in found[i + 1 : i + 3] if not each.is_keyword("NAMED")]
        if word.depth == 0 and word.is_keyword("FROM") and graph:
            pieces.append(text[start : word.start])
            start = graph[0].end
    return " ".join((*pieces, text[start:]))
