"""The programs of the paper with their facts, as arrays of words.

GALEN and CRDT are published data (see `benchmarks.data`); the facts of the points-to analysis are made once per run
and put into a folder, from which the processes that measure read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy
from numpy.typing import NDArray

import tidelog
from benchmarks import crdt, data, galen
from benchmarks.elastic import bytecode, points_to
from tidelog.database.database import Database

Words = NDArray[numpy.int64]
Facts = dict[str, Words]
NAMES = ("crdt", "points_to", "galen")
PUBLISHED = ("crdt", "galen")


@dataclass(frozen=True)
class Workload:
    """A program, its facts, and the sizes of its views where they are published."""

    name: str
    text: str
    facts: Facts
    sizes: dict[str, int]

    def database(self, facts: Facts | None = None) -> Database:
        """Return a new database, filled but not committed."""
        db = tidelog.connect()
        db.load(self.text)
        for name, words in (self.facts if facts is None else facts).items():
            if len(words):
                db.insert(name, words)
        return db


def workload(name: str, folder: str) -> Workload:
    """Return one of `NAMES`; `folder` is that of the published data, or the one that `make_points_to` has filled."""
    path = Path(folder)
    match name:
        case "galen":
            tables = galen.tables(path)
            facts = {n: numpy.column_stack([c.to_numpy() for c in t.columns]) for n, t in tables.items()}
            return Workload(name, galen.PROGRAM, facts, dict(galen.SIZES))
        case "crdt":
            read = {"insert": "abcd", "remove": "ab"}
            tables = {n: data.numbers(path / f"crdt/{n}.txt.gz", " ", columns) for n, columns in read.items()}
            facts = {n: numpy.column_stack([c.to_numpy() for c in t.columns]) for n, t in tables.items()}
            return Workload(name, (path / "crdt/crdt.dl").read_text(), facts, dict(crdt.SIZES))
        case _:
            with numpy.load(path / "points_to.npz") as kept:
                return Workload(name, points_to.PROGRAM, {n: kept[n] for n in points_to.INPUTS}, {})


def make_points_to(folder: Path, modules: int | None = None) -> int:
    """Make the facts of the points-to analysis; return their number."""
    facts = bytecode.standard_library(modules)
    numpy.savez(folder / "points_to.npz", **facts)  # type: ignore[arg-type]
    return sum(map(len, facts.values()))


def sample(facts: Facts, size: int, random: numpy.random.Generator) -> Facts:
    """Return `size` facts, chosen among all of them."""
    names = list(facts)
    ends = numpy.cumsum([len(facts[name]) for name in names])
    chosen = numpy.sort(random.choice(ends[-1], min(size, int(ends[-1])), replace=False))
    parts = numpy.split(chosen, numpy.searchsorted(chosen, ends)[:-1])
    starts = [0, *ends[:-1].tolist()]
    return {n: facts[n][part - s] for n, s, part in zip(names, starts, parts, strict=True) if len(part)}


def without(facts: Facts, gone: Facts) -> Facts:
    """Return the facts except those that are `gone`."""
    left = dict(facts)
    for name, rows in gone.items():
        away = {tuple(row) for row in rows.tolist()}
        keep = [tuple(row) not in away for row in facts[name].tolist()]
        left[name] = facts[name][numpy.array(keep, bool)]
    return left


def sizes(db: Database) -> dict[str, int]:
    """Return the size of every relation."""
    return {name: len(db[name]) for name in db.relations}
