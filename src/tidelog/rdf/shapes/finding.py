"""The nodes of a graph that are shapes, and the words of the graph that SHACL does not have.

Source: SHACL Core, sections 2.1 and 2.1.5. A shape inside of deactivated ones alone is never asked for, and not read.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from contextlib import suppress

from tidelog.errors import DataError, Problem
from tidelog.rdf.shapes.documents import ShapesGraph
from tidelog.rdf.shapes.vocabulary import (
    CLASSES,
    MEANT,
    PARAMETERS,
    SH,
    SHAPE_LISTS,
    SHAPES,
    TARGETS,
    UNSUPPORTED,
    WORDS,
)
from tidelog.rdf.terms import TYPE, XSD

_MARKS = frozenset(f"{SH}{name}" for name in (*TARGETS, *PARAMETERS, *UNSUPPORTED, "sparql", "path"))
_TYPES = frozenset((f"{SH}NodeShape", f"{SH}PropertyShape"))
_TARGETS = frozenset(f"{SH}{name}" for name in TARGETS)


def is_true(literal: str) -> bool:
    """Return True for the literal true. W3C's tests want this term: `"1"^^xsd:boolean` is another one."""
    return literal == f'"true"^^<{XSD}boolean>'


def is_deactivated(graph: ShapesGraph, name: str) -> bool:
    """Return True for a shape that is not validated."""
    return any(map(is_true, graph.objects(name, "deactivated")))


def names_of(graph: ShapesGraph) -> dict[str, None]:
    """Return the names of the shapes of a graph, without parameters of components and functions. Raise DataError
    (E0674) for malformed lists of shapes."""
    parameters = {value for each in graph.subjects for value in graph.objects(each, "parameter")}
    found = {
        each: None
        for each in graph.subjects
        if each not in parameters
        and (_MARKS.intersection(graph.predicates(each)) or _TYPES.intersection(graph.objects(each, TYPE)))
    }
    unread = _unread(graph, found)
    found = {name: None for name in found if name not in unread}
    waiting = [name for name in found if not is_deactivated(graph, name)]
    while waiting:
        more = [each for each in _inner(graph, waiting.pop()) if each not in found]
        found |= dict.fromkeys(more)
        waiting += [name for name in more if not is_deactivated(graph, name)]
    return found


def _unread(graph: ShapesGraph, names: Iterable[str]) -> set[str]:
    """Return the shapes without targets that deactivated shapes ask for, and those that these ask for."""
    found, waiting = set[str](), [name for name in names if is_deactivated(graph, name)]
    while waiting:
        name = waiting.pop()
        with suppress(DataError):
            more = {each for each in _inner(graph, name) if not _TARGETS.intersection(graph.predicates(each))} - found
            found |= more
            waiting += more
    return found


def _inner(graph: ShapesGraph, name: str) -> list[str]:
    """Return the shapes that a shape asks for. Raise DataError (E0674)."""
    inner = [value for parameter in SHAPES for value in graph.objects(name, parameter)]
    for parameter in SHAPE_LISTS:
        for node in graph.objects(name, parameter):
            inner += graph.members(node, name, parameter)
    return inner


def note_unknown(graph: ShapesGraph, names: Collection[str]) -> None:
    """Note the words of SHACL's namespace that do not exist, see `ShapesGraph.pass_over`: SHACL gives them no meaning.
    Deactivated shapes are not looked into."""
    unread = _unread(graph, names)
    for subject in graph.subjects:
        if (subject in unread and subject not in names) or is_deactivated(graph, subject):
            continue
        used = ((graph.predicates(subject), WORDS, ""), (graph.objects(subject, TYPE), CLASSES, "the type "))
        for iris, known, sort in used:
            for word in (iri.removeprefix(SH) for iri in iris if iri.startswith(SH)):
                if word not in known:
                    message = f"{sort}sh:{word} of {graph.shown(subject)} is unknown, and says nothing"
                    problem = Problem("E0674", message, place="<shapes>", hint=_advice(word, known))
                    graph.pass_over(DataError(problem))


def _advice(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, known, 1)
    meant = MEANT.get(word) or next(iter(near), None)
    return f"did you mean sh:{meant}?" if meant else "use the words of SHACL 1.0"
