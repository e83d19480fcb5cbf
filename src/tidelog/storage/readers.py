"""The readers of an engine in other threads: what they have to know of its epochs, and what they share.

An epoch reports each relation and closure that it is about to change, so that readers of the last epoch keep what they
need of it (`frozen`). Without readers, that costs a lock for each changed relation.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import numpy
from numpy.typing import NDArray

from tidelog.storage.catalog import Catalog
from tidelog.storage.closure import Closure
from tidelog.storage.frozen import FrozenRelation, FrozenRows
from tidelog.storage.stored import StoredRelation

_REST = 2
"""Seconds that a thread rests for each second of CPU of a read and each thread that reads."""
_LONGEST = 0.005


class Passage:
    """A block in which a thread reads, of which many threads may be inside.

    Threads that read on and on would starve an epoch: Python gives its lock away each 5 ms, and to one thread after the
    other. So while an epoch is `busy` and several threads read, each of them rests between two reads, in proportion to
    the CPU that the first one has taken. A thread that does something else meanwhile has rested.
    """

    def __init__(self) -> None:
        self.busy = False
        """True if an epoch runs."""
        self._threads: set[int] = set()
        self._last = _LastRead()

    @property
    def is_empty(self) -> bool:
        """Return True if no other thread is inside."""
        return self._threads <= {threading.get_ident()}

    def __enter__(self) -> None:
        last = self._last
        self._threads.add(threading.get_ident())
        if self.busy and len(self._threads) > 1:
            rest = min(_LONGEST, len(self._threads) * _REST * last.seconds) - (time.perf_counter() - last.ended)
            if rest > 0:
                time.sleep(rest)
        last.started = time.thread_time()

    def __exit__(self, *_: object) -> None:
        last = self._last
        last.seconds, last.ended = time.thread_time() - last.started, time.perf_counter()
        self._threads.discard(threading.get_ident())


class _LastRead(threading.local):
    """The last read of a thread: the CPU that the thread had taken when it began, the CPU that it took, and its end."""

    started = 0.0
    seconds = 0.0
    ended = 0.0


class Reader(Protocol):
    """A reader of one epoch."""

    def preserve(self, stored: StoredRelation) -> None:
        """Keep the rows of a relation, which later epochs may change."""

    def preserve_closure(self, graph: Closure, *, changed: bool) -> None:
        """Keep a closure that the next epoch changes, or know that it is too late: an epoch has `changed` it."""


class Readers:
    """The readers of an engine.

    `lock` keeps relations and closures from beginning or ending a change. Nobody holds it for longer than a copy of
    births or of a closure takes. A thread that runs plans over the catalogs of readers holds `turns`.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.turns = threading.RLock()
        self.passing = Passage()
        self._catalogs: dict[int, Catalog] = {}
        self._known: list[weakref.ref[Reader]] = []
        self._closures: dict[int, Closure] = {}
        """Closures that an epoch is changing."""
        self._unlisted: Callable[[], None] | None = None
        """Lists the deaths of an epoch that is about to last, unless that is done."""

    def add(self, reader: Reader) -> None:
        """Report changes to a reader from now on. MemoryError changes nothing."""
        with self.lock:
            if self._unlisted is not None:
                self._unlisted()
                self._unlisted = None
            self._known = [*(each for each in self._known if each() is not None), weakref.ref(reader)]

    def _all(self) -> Iterator[Reader]:
        for known in self._known:
            reader = known()
            if reader is not None:
                yield reader

    # --- what an epoch reports -----------------------------------------------------------------------------------

    def begin(self, stored: StoredRelation) -> None:
        """Note that an epoch is about to change a relation. MemoryError changes nothing."""
        with self.lock:
            for reader in self._all() if self._known else ():
                reader.preserve(stored)
            stored.begin()

    def begin_closure(self, graph: Closure) -> None:
        """Note that an epoch is about to change a closure, unless it has begun to. MemoryError changes nothing."""
        with self.lock:
            if id(graph) not in self._closures:
                for reader in self._all():
                    reader.preserve_closure(graph, changed=False)
                self._closures[id(graph)] = graph

    def close(self, list_deaths: Callable[[], None]) -> None:
        """Note that an epoch has made its changes, and let it list the rows that die: now if there are readers, or else
        when there are some."""
        with self.lock:
            if self._known and any(True for _ in self._all()):
                list_deaths()
            else:
                self._unlisted = list_deaths

    def commit(self, changed: Iterable[tuple[StoredRelation, NDArray[numpy.int32] | None]]) -> None:
        """Note that the changes of relations are about to last, and which rows die, if any do; and those of closures.
        It asks for little memory."""
        with self.lock:
            self._unlisted = None
            readers = list(self._all()) if self._known else []
            for stored, died in changed:
                for reader in readers:
                    reader.preserve(stored)
                if died is not None:
                    stored.note_deaths(died)
            for reader in readers:
                for graph in self._closures.values():
                    reader.preserve_closure(graph, changed=True)

    def end(self, changed: Iterable[StoredRelation]) -> None:
        """Note that the epoch is over, or undone, which has changed these relations."""
        with self.lock:
            self._unlisted = None
            self._closures.clear()
            for stored in changed:
                stored.end()

    # --- what readers share --------------------------------------------------------------------------------------

    def is_changing(self, graph: Closure) -> bool:
        """Return True if an epoch is changing a closure. The caller holds the `lock`."""
        return id(graph) in self._closures

    def catalog(self, bits: int) -> Catalog:
        """Return the catalog of a word size. The caller has the `turns`."""
        return self._catalogs.setdefault(bits, Catalog(bits))

    def relation(self, frozen: FrozenRows) -> FrozenRelation:
        """Return rows as join plans read them, one object for all plans. The caller has the `turns`."""
        found = None if frozen.relation is None else frozen.relation()
        if found is None:
            found = FrozenRelation(self.catalog(frozen.catalog.bits), frozen, self.lock)
            frozen.relation = weakref.ref(found)
        return found
