"""The state of an engine as of its last epoch, for readers in other threads, while the engine goes on.

A `FrozenState` begins as references to relations and closures, which costs nothing. The rows of a relation are frozen
when somebody reads them, and at the latest when an epoch is about to change them (`storage.readers`). Closures change
in place, so that the epoch copies one before. A reader that comes later builds it from its edges.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from tidelog.common.looking import Look, ignore_limits
from tidelog.maintain.state import EngineState, closure_over
from tidelog.storage.catalog import Catalog
from tidelog.storage.closed_relation import ClosedMembers, ClosedRelation
from tidelog.storage.closure import Closure
from tidelog.storage.readers import FrozenRows, Readers, freeze
from tidelog.storage.stored import StoredRelation


class FrozenState:
    """The views and facts of `engine` as of its last epoch. The caller keeps the engine from ending an epoch meanwhile.
    Afterwards any thread may call any method at any time."""

    def __init__(self, engine: EngineState) -> None:
        self.dictionary = engine.dictionary
        self.readers = engine.readers
        self.room = engine.catalog.room
        with self.readers.lock:
            self._bits = engine.catalog.bits
            self._views, self._asserted = dict(engine.views), dict(engine.asserted)
        self._shapes = dict(engine.closures)
        self._known = engine.program, engine.nodes, dict(engine.mirrors), dict(engine.unsettled)
        self._rows: dict[int, FrozenRows] = {}
        self._graphs = {
            id(graph): FrozenClosure(self, graph, self.readers, self._bits) for _, graph in self._shapes.values()
        }
        with self.dictionary.hold_words():
            self.dictionary.keepers.add(self)
        self.readers.add(self)

    # --- what an epoch reports -----------------------------------------------------------------------------------

    @cached_property
    def _numbers(self) -> frozenset[int]:
        """The ids of all relations."""
        return frozenset(map(id, (*self._views.values(), *self._asserted.values())))

    def preserve(self, stored: StoredRelation) -> None:
        """Freeze the rows of a relation before they change. The caller has the lock of the readers."""
        if id(stored) in self._numbers and id(stored) not in self._rows:
            self._rows[id(stored)] = freeze(stored)

    def preserve_closure(self, graph: Closure, *, changed: bool) -> None:
        """Copy a closure before it changes, or know that it has `changed`. The caller has the lock of the readers."""
        if id(graph) in self._graphs:
            self._graphs[id(graph)].preserve(changed=changed)

    # --- reading -------------------------------------------------------------------------------------------------

    def view(self, name: str) -> FrozenRows | ClosedRelation | None:
        """Return the rows of a relation, None if no epoch has seen it yet."""
        return self._frozen(self._views.get(name))

    def facts(self, name: str) -> FrozenRows | ClosedRelation | None:
        """Return the asserted facts of a relation."""
        return self._frozen(self._asserted.get(self._known[0].candidates.get(name, name)))

    def _frozen(self, stored: StoredRelation | None) -> FrozenRows | ClosedRelation | None:
        if stored is None:
            return None
        if isinstance(stored, ClosedRelation):
            return FrozenPairs(Catalog(self._bits), self._graphs[id(stored.graph)])
        return self.rows(stored)

    def rows(self, stored: StoredRelation) -> FrozenRows:
        """Return the rows of a relation of the engine that is no closure."""
        with self.readers.lock:
            self.preserve(stored)
        return self._rows[id(stored)]

    def readable_state(self) -> EngineState:
        """Return the same as the state of an engine, for queries and explanations; births among it. The caller has the
        `turns` of the readers, also when it reads a relation for the first time."""
        catalog = self.readers.catalog(self._bits)
        program, nodes, mirrors, unsettled = self._known
        found: dict[int, StoredRelation] = {}
        asserted, views = (
            ShownRelations(each, lambda stored: self._relation_for_plans(stored, catalog, found))
            for each in (self._asserted, self._views)
        )
        return EngineState(
            self.dictionary, program, catalog, asserted, views, nodes,  # type: ignore[arg-type]  # nobody writes them
            closures=self._shapes, mirrors=mirrors, unsettled=unsettled,
        )  # fmt: skip

    def _relation_for_plans(
        self, stored: StoredRelation, catalog: Catalog, found: dict[int, StoredRelation]
    ) -> StoredRelation:
        """Return a relation as plans read it; `found` has those that were shown before, and gets it."""
        if id(stored) not in found:
            rows = self._frozen(stored)
            if isinstance(stored, ClosedMembers):
                pairs = FrozenPairs(catalog, self._graphs[id(stored.pairs.graph)])
                found[id(stored)] = FrozenMembers(
                    pairs, self._relation_for_plans(stored.asked, catalog, found), stored.backward
                )
            elif isinstance(stored, ClosedRelation):
                found[id(stored)] = FrozenPairs(catalog, self._graphs[id(stored.graph)])
            elif isinstance(rows, FrozenRows):
                found[id(stored)] = self.readers.relation(rows)
        return found[id(stored)]

    def rebuilt(self, graph: Closure) -> Closure:
        """Build a closure from its edges. The caller has the `turns` of the readers."""
        shown = self.readable_state()
        name, shape = next((name, shape) for name, (shape, each) in self._shapes.items() if each is graph)
        return closure_over(shape, shown.views, shown.asserted[name])


class ShownRelations(Mapping[str, StoredRelation]):
    """Relations by name as plans read them, as `show` gives them when they are asked for: a query reads few."""

    def __init__(self, known: Mapping[str, StoredRelation], show: Callable[[StoredRelation], StoredRelation]) -> None:
        self._known = known
        self._show = show

    def __getitem__(self, name: str) -> StoredRelation:
        return self._show(self._known[name])

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


class FrozenClosure:
    """The closure `graph` as of the epoch of `state`. It is copied when somebody reads it, or before it changes."""

    def __init__(self, state: FrozenState, graph: Closure, readers: Readers, bits: int) -> None:
        self._state = weakref.ref(state)  # It has this object.
        self._graph = graph
        self._readers = readers
        self._bits = bits
        self._copy: Closure | None = None
        self._changed = False

    def preserve(self, *, changed: bool) -> None:
        """Make a copy unless there is one, or know that it is too late. The caller has the lock of the readers."""
        if changed:
            self._changed = True
        elif self._copy is None and not self._changed:
            self._copy = self._graph.copy(self._bits)

    def closure(self) -> Closure:
        """Return the copy."""
        with self._readers.lock:
            if not (self._changed or self._readers.is_changing(self._graph)) and self._graph.is_whole:
                self.preserve(changed=False)
        if self._copy is None:
            with self._readers.turns:
                state = self._state()
                assert state is not None  # Whoever asks has it.
                self._copy = self._copy or state.rebuilt(self._graph)
        return self._copy


class FrozenPairs(ClosedRelation):
    """The pairs of a closure as of an epoch."""

    def __init__(self, catalog: Catalog, frozen: FrozenClosure) -> None:
        StoredRelation.__init__(self, catalog, 2)
        self._frozen = frozen

    @property
    def closure(self) -> Closure:
        return self._frozen.closure()

    @property
    def identity(self) -> int:
        return id(self._frozen)

    def snapshot(self) -> ClosedRelation:
        """Return the pairs, which never change."""
        return self

    def copy_to(self, catalog: Catalog, counted: bool = False, look: Look = ignore_limits) -> StoredRelation:
        return ClosedRelation(catalog, self.closure)


class FrozenMembers(ClosedMembers):
    """Pairs of a closure as of an epoch that begin with a tuple of a relation of that epoch."""

    def __init__(self, pairs: FrozenPairs, asked: StoredRelation, backward: bool) -> None:
        StoredRelation.__init__(self, pairs.catalog, 2)
        self.pairs = pairs
        self.asked = asked
        self.backward = backward

    @property
    def closure(self) -> Closure:
        return self.pairs.closure
