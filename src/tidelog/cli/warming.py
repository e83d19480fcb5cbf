"""Small programs that need every kernel between them, in both sizes of words, so that `tidelog warm` compiles all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy

from tidelog.common.looking import ignore_limits
from tidelog.database.database import Database
from tidelog.kernels import layout
from tidelog.language.syntax import Column
from tidelog.storage.catalog import Catalog
from tidelog.storage.changes import change_facts, difference
from tidelog.storage.closed_relation import ClosureFold, fold_closure
from tidelog.storage.closure import Closure
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.grids import make_grid
from tidelog.storage.memory import Block, Stop
from tidelog.storage.readers import freeze
from tidelog.storage.rows import positions
from tidelog.storage.stored import StoredRelation
from tidelog.storage.waiting import WaitingRows

Row = tuple[int, ...]
WIDE = 1 << 40
"""A number that does not fit into words of 32 bits."""


@dataclass(frozen=True)
class Part:
    """A program with its facts, in words of 32 bits or `wide` ones. The epochs after the first one delete the first
    facts of each relation, as many as `changed`, and insert them again."""

    program: str
    facts: Mapping[str, Sequence[Row]]
    options: Mapping[str, Any] = field(default_factory=dict)
    changed: int = 1
    wide: bool = False


_DECLARED = ".decl e(x: number, y: number) .decl s(x: number) .decl t(x: number, y: number) .decl g(x: number)\n"
_EDGES = [(i, i + 1) for i in range(1, 9)] + [(3, 1), (9, 9)]
_WEIGHTED = [(x, y, x % 3) for x, y in _EDGES]
_SHORTENING = [(1, -1, 3), (1, -2, 10), (-2, -1, -9), (-1, -3, 1)]
"""Edges of which one shortens a way after a search has read its end."""
_FACTS: dict[str, Sequence[Row]] = {"e": _EDGES, "s": [(2,), (3,)]}

_BOTH = (
    Part(
        _DECLARED + "t(x, y) :- e(x, y), !s(x). t(x, z) :- t(x, y), e(y, z), x != z. g(x) :- t(x, _), s(x).",
        _FACTS,
        {"strategy": "update"},
    ),
    Part(_DECLARED + "t(x, y) :- e(x, y). t(x, z) :- t(x, y), t(y, z). g(x) :- t(x, y), s(y).", _FACTS),
    Part(
        ".decl e(x: number, y: number, w: number) .decl d(x: number, c: number) min(c) .decl h(x: number, c: number)\n"
        "d(x, 0) :- e(x, _, 1). d(y, c + w) :- d(x, c), e(x, y, w). h(x, c) :- d(x, c), c > 1.",
        {"e": _WEIGHTED},
    ),
    Part(
        _DECLARED.replace("t(x: number, y: number)", "t(x: number, y: number) choice-domain x")
        + "t(y, x) :- e(x, y). t(y, x) :- t(x, _), e(x, y). g(x) :- t(x, _), s(x).",
        _FACTS,
    ),
    Part(
        _DECLARED + "t(x, y) :- e(x, y). t(x, y) :- e(y, x). t(x, z) :- t(x, y), t(y, z). g(x) :- e(x, _), !s(x).",
        {**_FACTS, "g": [(1,), (2,)]},
        {"strategy": "update"},
    ),
    Part(
        ".decl e(x: number, y: number, w: number) .decl f(x: number, y: number, w: number)\n"
        ".decl d(x: number, c: number) min(c) d(y, c + w) :- d(x, c), e(x, y, w). d(y, c + w) :- d(x, c), f(x, y, w).",
        {"e": _WEIGHTED, "f": _SHORTENING, "d": [(1, 0), (2, 4)]},
    ),
    Part(
        _DECLARED.replace(" .decl s", " .decl h(x: number, c: float) .decl s")
        + "h(x, c) :- e(x, _), c = sum to_float(y) : { e(x, y) }.",
        {"e": _EDGES},
    ),
    Part(
        _DECLARED + "t(x, z) :- e(x, y), e(y, z). g(x) :- s(x), !t(x, _).",
        {"e": [(i, i + 1) for i in range(20_000)], "s": [(2,)]},
        {"threads": 2},
        changed=1_500,
    ),
    Part(
        _DECLARED + "t(x, z) :- e(x, y), e(y, z).",
        {"e": [(i, j) for i in range(80) for j in range(80)]},
        {"threads": 2, "strategy": "update"},
        changed=6_000,
    ),
)
PARTS = tuple(replace(part, wide=wide) for part in _BOTH for wide in (False, True))
"""The parts, those that take longest first."""


def run(part: Part) -> None:
    """Run the program of a part through its epochs, and what only large databases do."""
    db = Database()
    db.load(part.program)
    db.options(**part.options)
    facts = {name: _widen(rows) if part.wide and name == "e" else rows for name, rows in part.facts.items()}
    for name, rows in facts.items():
        db.insert(name, rows)
    db.commit()
    for change in (db.delete, db.insert):
        for name, rows in facts.items():
            change(name, rows[: part.changed])
        db.commit()
    db.check()
    with db.snapshot() as snapshot:
        snapshot.query(f"e(x{', _' * (len(facts['e'][0]) - 1)}), x > 0")
    bits = 64 if part.wide else 32
    _read_closure(bits)
    _outgrow(bits)
    _read_texts(bits)


def _widen(rows: Sequence[Row]) -> list[Row]:
    return [tuple(x + WIDE for x in row) for row in rows]


def _read_closure(bits: int) -> None:
    """Read a closure in all ways, change it and forget most of its nodes."""
    edges = numpy.array(_EDGES + [(i, i + 1) for i in range(20, 1_100)])
    for symmetric in (False, True):
        closure = Closure(symmetric, bits=bits)
        closure.build([edges])
        dtype = numpy.dtype(f"int{bits}")
        closure.words(dtype)
        closure.pairs_to(1, dtype)
        closure.holds(edges[:2])
        closure.lengths(edges[:2])
        for fold in (
            ClosureFold("count"),
            ClosureFold("sum", backward=True),
            ClosureFold("first", ranks=numpy.argsort),
        ):
            fold_closure(closure, numpy.arange(9), fold, lambda _: None, Stop())
        for seconds in (0.0, float("inf")):
            many, _, _ = closure.change(edges[500:501], edges[:0], seconds)
            many.ends(1)
            closure.take_back(lambda: [edges])
        shrunk = Closure(symmetric, bits=bits)
        shrunk.build([edges[:700]])
        many, _, _ = shrunk.change(edges[10:700], edges[700:], float("inf"))
        shrunk.change(edges[:1], edges[:0], float("inf"))
        many.words()


def _outgrow(bits: int) -> None:
    """Fill a relation beyond its room, pack its index, freeze it, remove rows, copy and compare it, let rows wait, fill
    a grid."""
    from tidelog.kernels.live import mark

    rows = numpy.arange(10_000).reshape(-1, 2)
    stored = StoredRelation(Catalog(bits), 2)
    stored.insert(rows)
    stored.select((0,), rows[:1, :1])
    stored.index((0, 1)).extend(stored.rows)
    stored.index((0, 1)).pack()
    freeze(stored).find(rows[:2])
    stored.open()
    change_facts(stored, numpy.array([0]), numpy.array([[1, 0]]))
    sieve = Block(layout.SIEVE // 4)
    mark(stored.catalog.table, stored.number, layout.OUT, 0, sieve.address, stored.catalog.tag)
    stored.close()
    difference(stored, stored.copy_to(stored.catalog))
    waiting = WaitingRows(stored, len(rows))
    stored.fields[layout.R_WAITING_N] = len(rows)
    waiting.insert(ignore_limits)
    waiting.end()
    make_grid(stored, len(rows) * 2, len(rows) * 2)
    positions(rows, rows[:1])


def _read_texts(bits: int) -> None:
    """Split rows of text, keep their symbols as if they were many, and read them back in words of a size."""
    from tidelog.io.text_reader import split_text

    known = Dictionary()
    symbols = known.table_for(1 << 30)
    assert symbols is not None
    columns = tuple(Column(name, kind, kind) for name, kind in (("a", "symbol"), ("b", "number"), ("c", "unsigned")))
    text = "".join(f"text {i}\t{-i}\t{i}\n" for i in range(2_000)).encode()
    words = split_text(text, 0, "\t", columns, (0, 1, 2), known, exact=True, blank=False)
    assert words is not None
    symbols.array(words[:, 0].astype(f"int{bits}"))
    symbols.get("absent")
