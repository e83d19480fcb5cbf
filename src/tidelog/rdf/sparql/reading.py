"""The text of a view in SPARQL, checked and parsed in time that is in proportion to it.

pyoxigraph says what is wrong with a text. It would also plan a query, which takes very long for one of many patterns.
So it reads the query as a part of an update, which fails before it runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tidelog.errors import Problem, SetupError, how_to_install
from tidelog.rdf.formats import load
from tidelog.rdf.sparql.bodies import TEXT, Unsupported
from tidelog.rdf.sparql.operations import FIRST
from tidelog.rdf.sparql.problems import failed, refuse
from tidelog.rdf.sparql.words import Word, after_prologue, words

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
        with failed(text, TEXT, prefixes=dict(prefixes)):
            load().Store().query(text, prefixes=dict(prefixes))
    try:
        from rdflib.plugins.sparql.algebra import translateQuery
        from rdflib.plugins.sparql.parser import parseQuery
    except ImportError:
        message = "this needs rdflib, which is not installed"
        raise SetupError(Problem("E0790", message, hint=how_to_install("rdf"))) from None

    try:
        parsed = parseQuery(text)
        nodes = list(_parts(parsed))
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


def _parts(parsed: Any) -> Iterator[Any]:
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
