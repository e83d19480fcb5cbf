"""Facts of the farm's nodes, as RDF: a Turtle document per turbine and one of the control room.

Turbines have IRIs, which are also the names of their nodes. A triple about a document's own node is a tuple of the
relation named like the property. The control room also has triples about others, and stores them itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeAlias

from tidelog.rdf.documents import Labels
from tidelog.rdf.reader import read_triples
from tidelog.rdf.terms import TYPE

FactSet: TypeAlias = set[tuple[str, tuple[Any, ...]]]
"""Tuples with their relations."""

FARM = "urn:farm:"
CONTROL = f"{FARM}control"
_PREFIX = f"@prefix : <{FARM}> .\n"
_OF_OTHERS = {"hasNeighbour": "map", "inRow": "inRow"}


def turbines(rows: int, per_row: int) -> list[list[str]]:
    """Return the turbines of each row."""
    return [[f"{FARM}t{row * per_row + number}" for number in range(1, per_row + 1)] for row in range(rows)]


def turbine_document(turbine: str, temperature: int) -> str:
    """Return the document of a turbine."""
    return (
        f"{_PREFIX}:{short(turbine)} a :WindTurbine ; :reportsTo :control ;\n"
        f"    :hasAirTemperatureMeasurement {temperature} .\n"
    )


def control_document(rows: list[list[str]]) -> str:
    """Return the document with the places of the turbines: each in a row, beside the next one."""
    lines = []
    for number, row in enumerate(rows, 1):
        lines += [f":{short(x)} :inRow :row{number} ." for x in row]
        lines += [f":{short(x)} :hasNeighbour :{short(y)} ." for x, y in pairwise(row)]
    return _PREFIX + "\n".join(lines) + "\n"


def facts(node: str, turtle: str) -> FactSet:
    """Return the facts of a node's document. Raise DataError for a broken text, SetupError (E0790) without
    pyoxigraph."""
    return set(_facts(node, turtle))


def _facts(node: str, turtle: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    columns = read_triples(turtle, "turtle", None, Labels())
    parts = (part.to_pylist() for part in (columns.subjects, columns.predicates, columns.objects))
    for s, p, o in zip(*parts, strict=True):
        if p == TYPE:
            continue
        name = short(p)
        yield (name, (s, _value(o))) if s == node else (_OF_OTHERS[name], (node, s, _value(o)))


def _value(term: str) -> str | int:
    """Return an IRI as it is, or the number of a literal."""
    return int(term.split('"')[1]) if term.startswith('"') else term


def short(name: str) -> str:
    """Return a name of the farm without its prefix."""
    return name.removeprefix(FARM)
