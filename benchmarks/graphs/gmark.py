"""Files of gMark: graphs as lines `source predicate target`, and workloads of queries as XML.

A query is a union of conjunctions; each conjunct is a regular path between two variables, a disjunction of words of
symbols, some inverted, possibly under a Kleene star.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any, TypeAlias
from xml.etree import ElementTree

import numpy
from numpy.typing import NDArray
from pyarrow import csv

Edges: TypeAlias = NDArray[numpy.int64]
"""Rows of two nodes, each row once."""
Graph: TypeAlias = dict[str, Edges]
"""Edges by the name of their symbol; every symbol of the schema is there."""


@dataclass(frozen=True)
class Step:
    """A symbol by its name, forwards or inverted."""

    symbol: str
    inverse: bool = False


Word: TypeAlias = tuple[Step, ...]


@dataclass(frozen=True)
class Path:
    """One of the words, or with a star any number of them in a row. Each word is there once."""

    words: tuple[Word, ...]
    star: bool = False


@dataclass(frozen=True)
class Conjunct:
    """A path from one variable to another one."""

    path: Path
    source: str
    target: str


@dataclass(frozen=True)
class Query:
    """A query: its number in the workload, the variables of the answers, and the conjunctions."""

    number: int
    head: tuple[str, ...]
    bodies: tuple[tuple[Conjunct, ...], ...]

    @property
    def symbols(self) -> set[str]:
        """Return the symbols that it reads, except for the ranges of stars."""
        words = (word for body in self.bodies for conjunct in body for word in conjunct.path.words)
        return {step.symbol for word in words for step in word}

    @property
    def starred(self) -> bool:
        """Return True if it has a star, so that it reads the nodes of the whole graph."""
        return any(conjunct.path.star for body in self.bodies for conjunct in body)


def read_graph(file: File, symbols: Mapping[int, str]) -> Graph:
    """Return the edges of a file, which may be compressed; `symbols` are the names of the predicates."""
    table = csv.read_csv(
        file,
        read_options=csv.ReadOptions(column_names=["source", "predicate", "target"]),
        parse_options=csv.ParseOptions(delimiter=" "),
    )
    source, predicate, target = (table[name].to_numpy().astype(numpy.int64) for name in table.column_names)
    rows = numpy.column_stack([source, target])
    return {name: numpy.unique(rows[predicate == number], axis=0) for number, name in symbols.items()}


def read_workload(file: File, symbols: Mapping[int, str]) -> list[Query]:
    """Return the queries of a workload, without the empty conjunctions that gMark writes if it has found nothing."""
    root = ElementTree.parse(file).getroot()
    return [_query(element, symbols) for element in root.iter("query")]


def _query(element: Any, symbols: Mapping[int, str]) -> Query:
    head = tuple(_variable(var.text) for var in element.find("head").iter("var"))
    bodies = [tuple(_conjunct(each, symbols) for each in body.iter("conjunct")) for body in element.iter("body")]
    return Query(int(element.find("metadata/number").text), head, tuple(body for body in bodies if body))


def _conjunct(element: Any, symbols: Mapping[int, str]) -> Conjunct:
    words = [
        tuple(Step(symbols[int(symbol.text)], symbol.get("inverse") == "true") for symbol in word.iter("symbol"))
        for word in element.iter("concat")
    ]
    path = Path(tuple(dict.fromkeys(words)), element.find("star") is not None)
    return Conjunct(path, _variable(element.get("src")), _variable(element.get("trg")))


def _variable(text: str) -> str:
    return text.lstrip("?")
