"""A mirror of a store in pyoxigraph: asserted triples in their graphs, and what follows in the graph INFERRED.

It is made at the first query. From then on each commit notes the triples that it may have changed, and the next query
looks up where each of them is now: so a commit costs next to nothing, and a query sees one epoch. A query that has
begun goes on over the mirror as it was, because pyoxigraph gives each a view of its own.

Queries share the copy of the triples while they begin, and need no lock of the store if it is up to date: a commit
waits for none of them, and they do not wait for a commit. Only the change of the copy excludes beginnings. A beginning
that takes long, because a query sorts or counts, keeps that copy, and the others get a new one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy

from tidelog.common.arrays import Words
from tidelog.errors import Problem, UsageError, path_problem, quote
from tidelog.language.syntax import Column
from tidelog.rdf.data import COLUMNS, QUAD_COLUMNS, Triples
from tidelog.rdf.formats import INFERRED, load
from tidelog.rdf.names import GRAPH
from tidelog.rdf.output import nquads
from tidelog.rdf.quads import DEFAULT, Quads, is_among
from tidelog.rdf.terms import XSD


class Gate:
    """A lock for many threads that share something, or for one that has it alone.

    A thread that waits to be alone comes before those that arrive later, so that readers do not starve it.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._sharing = 0
        self._waiting = 0
        self._is_taken = False

    def enter(self, *, waits: bool = True) -> bool:
        """Share from now on until `leave`. Return False without it if `waits` is False and a thread is alone, or waits
        for that."""
        with self._condition:
            if not waits and (self._is_taken or self._waiting):
                return False
            self._condition.wait_for(lambda: not (self._is_taken or self._waiting))
            self._sharing += 1
            return True

    def leave(self) -> None:
        with self._condition:
            self._sharing -= 1
            self._condition.notify_all()

    @contextmanager
    def exclusive(self, seconds: float | None = None) -> Iterator[bool]:
        """Be alone inside the block, with True. With False, others have not left within some seconds."""
        with self._condition:
            self._waiting += 1
            try:
                found = self._condition.wait_for(lambda: not (self._is_taken or self._sharing), seconds)
                self._is_taken |= found
            finally:
                self._waiting -= 1
                self._condition.notify_all()
        try:
            yield found
        finally:
            if found:
                with self._condition:
                    self._is_taken = False
                    self._condition.notify_all()


MERGED = "urn:tidelog:merged"
"""The graph of triples that are asserted in named graphs only, for queries over the union of all graphs: with it, each
triple counts once."""
OFF = "off"
MEMORY = "memory"
_BYTES = 500
"""Memory of a quad in pyoxigraph's store in memory, about, with its terms: measured for 400,000 short triples."""
_FEW = 100_000
"""Up to so many changed triples wait for the next query; of more, a large part of the store, a new mirror is made."""
_PATIENCE = 1.0
"""Seconds that a change of a copy waits for queries that begin over it."""


@dataclass
class MirrorCopy:
    """The quads of one epoch: a `pyoxigraph.Store`, with the gate to it, the process that has made it, and the number
    of its changes. A fork may have taken a copy halfway through a change."""

    store: Any
    gate: Gate = field(default_factory=Gate)
    process: int = field(default_factory=os.getpid)
    changes: int = 0


class Mirror:
    """The quads of a store in pyoxigraph. `share` gives them as of the last epoch."""

    def __init__(self, triples: Triples, quads: Quads) -> None:
        self._triples = triples
        self._quads = quads
        self.where: str | Path = MEMORY
        self._merges = False
        """True if the graph MERGED is there, which a query has asked for."""
        self._copy: MirrorCopy | None = None
        self._noted: list[Words] = []
        self._rows: list[Words] = []
        self._count = 0
        triples.dictionary.hold(self)

    def words_in_use(self) -> Iterator[tuple[tuple[Column, ...], Words]]:
        """Yield the noted words, which the dictionary keeps."""
        yield from ((COLUMNS, words) for words in self._noted)
        yield from ((QUAD_COLUMNS, words) for words in self._rows)

    def place(self, where: object) -> None:
        """Keep the mirror in "memory", in an empty folder, or not at all, for "off". Raise UsageError (E0603)."""
        if isinstance(where, (str, os.PathLike)) and str(where) in (OFF, MEMORY):
            self.drop()
            self.where = str(where)
            return
        folder = Path(where) if isinstance(where, (str, os.PathLike)) and str(where).strip() else None
        try:
            if folder is None or path_problem(folder) is not None or (folder.exists() and any(folder.iterdir())):
                raise OSError
        except OSError:
            hint = 'pass "memory", "off", or the path of an empty folder'
            raise UsageError(
                Problem("E0603", f"mirror must be one of these, found {quote(where)}", hint=hint)
            ) from None
        self.drop()
        self.where = folder

    def drop(self) -> None:
        """Forget everything; the next query makes a new mirror."""
        self._copy, self._noted, self._rows, self._count = None, [], [], 0

    @property
    def is_on_disk(self) -> bool:
        return isinstance(self.where, Path)

    @property
    def is_there(self) -> bool:
        """Return True if a query has made the mirror."""
        return self._copy is not None

    def stats(self) -> dict[str, Any]:
        """Return where the mirror is, its number of quads, and its size in bytes: an estimate in memory."""
        size = 0
        if self.is_there:
            copy = self.share()
            size = len(copy.store)
            copy.gate.leave()
        return {"place": str(self.where), "quads": size, "bytes": size * _BYTES if self.where == MEMORY else 0}

    # --- following -----------------------------------------------------------------------------------------------

    def note(self, triples: Words, rows: Words) -> None:
        """Note triples that a commit may have changed, and rows of GRAPH, if there is a mirror."""
        if not self.is_there:
            return
        self._noted.append(triples)
        self._rows.append(rows)
        if sum(map(len, self._noted)) > max(_FEW, self._count // 4):
            self.drop()

    def fresh(self, merges: bool = False) -> MirrorCopy | None:
        """Return the copy of the last epoch, with `merges` also with the graph MERGED, and share it until
        `gate.leave`; None if it is not there, or about to change. This needs no lock of the store."""
        copy = self._copy
        if copy is None or self._is_old(copy, merges) or not copy.gate.enter(waits=False):
            return None
        if copy is not self._copy or self._is_old(copy, merges):
            copy.gate.leave()
            return None
        return copy

    def share(self, merges: bool = False) -> MirrorCopy:
        """Bring the mirror to the present epoch, and return the copy as `fresh` does. Raise UsageError (E0665) if the
        mirror is off. The caller has the store."""
        if self.where == OFF:
            hint = 'call store.options(mirror="memory")'
            raise UsageError(Problem("E0665", "SPARQL needs the mirror, which is switched off", hint=hint))
        copy = self._copy
        if copy is not None and (copy.process != os.getpid() or (merges and not self._merges)):
            self.drop()
        self._merges |= merges
        try:
            if self._copy is not None and self._noted:
                # A folder has one copy at a time.
                with self._copy.gate.exclusive(None if self.is_on_disk else _PATIENCE) as is_alone:
                    if is_alone:
                        self._follow(self._copy.store)
                        self._copy.changes += 1
                    else:
                        self.drop()
            if self._copy is None:
                self._make()
        except BaseException:
            self.drop()
            raise
        assert self._copy is not None
        self._copy.gate.enter()
        return self._copy

    def _is_old(self, copy: MirrorCopy, merges: bool) -> bool:
        return bool(self._noted) or (merges and not self._merges) or copy.process != os.getpid()

    def _make(self) -> None:
        asserted = self._quads.with_graphs(self._triples.match_terms(None, None, None, asserted=True))
        inferred = self._triples.inferred_triples()
        self._fill(self._oxigraph_quads(asserted, inferred, self._only_named(asserted)), len(asserted) + len(inferred))

    def _fill(self, quads: Iterable[Any], count: int) -> None:
        """Make a copy of quads of pyoxigraph, about `count` of them."""
        store = self._empty_store(load())
        store.bulk_extend(quads)
        self._copy, self._count = MirrorCopy(store), count

    def _empty_store(self, oxigraph: Any) -> Any:
        if not self.is_on_disk:
            return oxigraph.Store()
        store = oxigraph.Store(os.fspath(self.where))
        store.clear()
        return store

    def _follow(self, store: Any) -> None:
        """Look up where the noted triples are now."""
        noted = self._with_equals(numpy.unique(numpy.concatenate(self._noted), axis=0))
        rows = numpy.unique(numpy.concatenate(self._rows), axis=0)
        visible, asserted = self._quads.are_visible(noted), self._quads.are_asserted(noted)
        there = self._quads.with_graphs(noted[asserted])
        default = self._triples.dictionary.encode(DEFAULT, "symbol")
        in_default = there[there[:, 3] == default][:, :3]
        others = noted[~is_among(noted, in_default)]
        left = numpy.column_stack([others, numpy.full(len(others), default)])
        stored = self._triples.stored_relation(GRAPH, asserted=True)
        if stored is not None and len(rows):
            rows = rows[stored.find(rows) < 0]
        merged = self._only_named(there)
        others = noted[~is_among(noted, merged)] if self._merges else merged
        removed = numpy.concatenate([left, rows[rows[:, 3] != default]])
        for quad in self._oxigraph_quads(removed, noted[asserted | ~visible], others):
            store.remove(quad)
        store.extend(self._oxigraph_quads(there, noted[visible & ~asserted], merged))
        self._forget_empty(store, rows)
        self._noted, self._rows = [], []

    def _with_equals(self, noted: Words) -> Words:
        """Return noted triples with those that pyoxigraph may take for the same, because it keeps numbers, dates and
        truth values without their spelling: when one of them goes, the other ones have to come again."""
        texts = self._triples.dictionary.strings(noted[:, 2])
        typed = noted[[f'"^^<{XSD}' in text for text in texts]] if texts else noted
        if not len(typed):
            return noted
        return numpy.unique(numpy.concatenate([noted, self._quads.siblings(typed)]), axis=0)

    def _forget_empty(self, store: Any, rows: Words) -> None:
        """Let graphs that have lost their last quad not be there any more."""
        for name in self._triples.dictionary.strings(numpy.unique(rows[:, 3])):
            if name != DEFAULT:
                graph = named_graph(name)
                if next(iter(store.quads_for_pattern(None, None, None, graph)), None) is None:
                    store.remove_graph(graph)

    def _only_named(self, quads: Words) -> Words:
        """Return the triples that are in named graphs only, if MERGED has these."""
        if not self._merges:
            return quads[:0, :3]
        default = self._triples.dictionary.encode(DEFAULT, "symbol")
        triples = numpy.unique(quads[:, :3], axis=0)
        return triples[~is_among(triples, quads[quads[:, 3] == default][:, :3])]

    def _oxigraph_quads(self, quads: Words, inferred: Words, merged: Words) -> Iterator[Any]:
        """Yield quads, and inferred and merged triples in their graphs, as pyoxigraph has them."""
        yield from parse_quads(nquads(self._triples.relation("quads", quads)))
        for triples, graph in ((inferred, INFERRED), (merged, MERGED)):
            yield from parse_quads(nquads(self._triples.relation(graph, triples), f" <{graph}>"))


def named_graphs(mirror: Any) -> list[Any]:
    """Return the names of the graphs in a mirror, without those that the mirror adds."""
    return [graph for graph in mirror.named_graphs() if getattr(graph, "value", "") not in (INFERRED, MERGED)]


def named_graph(name: str) -> Any:
    """Return the name of a graph as pyoxigraph has it."""
    oxigraph = load()
    return oxigraph.BlankNode(name[2:]) if name.startswith("_:") else oxigraph.NamedNode(name)


def parse_quads(lines: bytes) -> Iterator[Any]:
    """Yield the quads of lines of N-Quads, some of them twice. Leave out lines that are no RDF, because a rule has
    made up the terms."""
    oxigraph = load()
    form = oxigraph.RdfFormat.N_QUADS
    try:
        yield from oxigraph.parse(lines, form, lenient=True)
    except SyntaxError:
        for line in lines.splitlines():
            with suppress(SyntaxError):  # The store shows this triple elsewhere, but it is no RDF.
                yield from oxigraph.parse(line, form, lenient=True)
