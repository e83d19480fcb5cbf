"""`GraphwiseStore`: a store whose named graphs have inferences of their own.

The store itself has the asserted quads and no rules. `closures` has what follows in each graph, in memory: so the store
in a folder has the quads only, and the closures are made when it is opened. A commit changes both, or neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn, overload

import numpy

from tidelog.common.arrays import Words
from tidelog.database.verbs import callable_one
from tidelog.errors import Problem, UsageError, flag, quote, quote_name
from tidelog.io.relation import Relation, WordRows
from tidelog.language.syntax import Column
from tidelog.limits.interrupts import Interrupts
from tidelog.limits.watch import changing_within_memory, reading_within_memory
from tidelog.rdf import output
from tidelog.rdf.change import StoreChange
from tidelog.rdf.closures import ClosedMirror, GraphClosures, GraphwiseChange
from tidelog.rdf.justifications import INCONSISTENCIES, JUSTIFICATION_COLUMNS, JUSTIFICATIONS, track_view
from tidelog.rdf.names import GRAPH
from tidelog.rdf.quads import DEFAULT, PendingQuads, without
from tidelog.rdf.sparql.evaluation import FoundTerms, SparqlPlan, symbol_of
from tidelog.rdf.sparql.mirror import MEMORY, OFF, Mirror, MirrorCopy
from tidelog.rdf.sparql.texts import is_query, is_update
from tidelog.rdf.sparql.updating import UpdateDraft
from tidelog.rdf.state import EarlierState, LastingState
from tidelog.rdf.store import Store
from tidelog.rdf.tables import TableRule
from tidelog.rdf.terms import term
from tidelog.rdf.verbs import StoredQuad, graph_name

if TYPE_CHECKING:
    from tidelog.explain.absence import Absence
    from tidelog.explain.questions import Enumeration
    from tidelog.rdf.proofs import TripleProof

UNION, GRAPH_BY_GRAPH = "union", "graph"
"""The ways of inference: over the union of all graphs, or in each graph."""
_ALL = (None, None, None)


class GraphwiseEarlier(EarlierState):
    """A store with its closures before a commit."""

    def __init__(self, store: GraphwiseStore) -> None:
        super().__init__(store)
        self._closures = store._closures
        self.touched: dict[str, Words] = {}

    def restore(self) -> None:
        """Undo everything."""
        super().restore()
        self._closures.restore(self.touched)


class GraphwiseStore(Store):
    """A store in which each named graph has the triples that follow from it and the default graph, by rule sets.

    Explanations are those of one graph. Programs, views, shapes and queries of the language are over all graphs, and
    not for such a store (E0679).
    """

    def __init__(self, table: Iterable[TableRule], lasting: LastingState | None = None) -> None:
        self._closed_table = tuple(table)
        self._is_ready = False
        super().__init__((), (), lasting)
        self._closures = GraphClosures(self._triples, self._quads, self._new_closure)
        self._closed_mirror = ClosedMirror(self._triples, self._quads, self._closures)
        self._closures.begin()
        self._is_ready = True

    def _new_closure(self) -> Store:
        found = Store(self._closed_table, ())
        limits = self._options
        found.options(timeout=limits.timeout, max_rows=limits.max_rows, memory=limits.memory)
        return found

    # --- changes -------------------------------------------------------------------------------------------------

    def _earlier_state(self) -> EarlierState:
        return GraphwiseEarlier(self) if self._is_ready else super()._earlier_state()

    def _evaluate(self, interrupts: Interrupts, earlier: EarlierState) -> StoreChange:
        if not isinstance(earlier, GraphwiseEarlier):
            return super()._evaluate(interrupts, earlier)
        words = [each.words for each in self._pending]
        triples = numpy.unique(numpy.concatenate([numpy.empty((0, 3), numpy.int64), *words]), axis=0)
        before = self._closures.asserted_by_graph(triples)
        change = super()._evaluate(interrupts, earlier)
        try:
            after = self._closures.asserted_by_graph(triples)
            earlier.touched = self._closures.graphs_to_align(before, after)
            changes = self._closures.align(earlier.touched)
            return GraphwiseChange(change, self._closures.net(changes, before, after))
        except BaseException:
            with interrupts.putting_off():
                earlier.restore()
            raise

    def _note(self, pending: list[PendingQuads], change: StoreChange, has_facts: bool) -> None:
        if self._mirror.is_there:
            triples = numpy.concatenate([numpy.empty((0, 3), numpy.int64), *(each.words for each in pending)])
            self._mirror.note(triples, change.rows_of(GRAPH))
        if isinstance(change, GraphwiseChange):
            quads = numpy.concatenate(change._quads)
            if len(quads):
                self._closed_mirror.note(numpy.ascontiguousarray(quads[:, :3]), quads)

    def options(self, **options: Any) -> Any:
        """Set limits and strategies, see `Store.options`, of the store and of each closure. The `mirror` is "memory" or
        "off"."""
        if not options:
            return super().options()
        with self._hold_change_turn(), changing_within_memory:
            place = options.get("mirror", MEMORY)
            if not isinstance(place, str) or place not in (OFF, MEMORY):
                refuse(f"mirror={quote(place)}", 'pass "memory" or "off"')
            super().options(**options)
            if "mirror" in options:
                self._closed_mirror.place(options.pop("mirror"))
            for closure in self._closures.stores.values():
                closure.options(**options)
        return None

    def _end(self) -> None:
        self._closed_mirror.drop()
        self._closures.close()
        super()._end()

    # --- reading -------------------------------------------------------------------------------------------------

    def contains(self, subject: Any, predicate: Any, object: Any) -> bool:
        """Return True if a triple was asserted or follows in some graph."""
        with self._hold_turn(), reading_within_memory:
            terms = term(subject), term(predicate), term(object)
            return any(closure._triples.holds(*terms) for closure in self._closures.stores.values())

    def quads(
        self,
        subject: Any = None,
        predicate: Any = None,
        object: Any = None,
        graph: Any = None,
        *,
        inferred: bool = False,
    ) -> Relation:
        """Return the asserted triples with these terms and their graphs, see `Store.quads`; with `inferred`, also those
        that follow in each graph."""
        if not flag("inferred", inferred):
            return super().quads(subject, predicate, object, graph)
        with self._hold_turn(), reading_within_memory:
            terms = [None if part is None else term(part) for part in (subject, predicate, object)]
            rows = self._closures.visible(terms, graph_name(graph))
            return self._triples.relation("quads", rows)

    def triples(
        self, subject: Any = None, predicate: Any = None, object: Any = None, *, inferred: bool = True
    ) -> Relation:
        """Return the triples of all graphs, see `Store.triples`."""
        if not flag("inferred", inferred):
            return super().triples(subject, predicate, object, inferred=False)
        with self._hold_turn(), reading_within_memory:
            terms = [None if part is None else term(part) for part in (subject, predicate, object)]
            return self._triples.relation("triples", numpy.unique(self._closures.visible(terms)[:, :3], axis=0))

    def inferred(self) -> Relation:
        """Return the triples that follow in some graph and were asserted in none."""
        with self._hold_turn(), reading_within_memory:
            visible = numpy.unique(self._closures.visible(_ALL)[:, :3], axis=0)
            asserted = self._triples.match_terms(None, None, None, asserted=True)
            return self._triples.relation("inferred", without(visible, asserted))

    def _serialize(self, format: str, inferred: bool) -> bytes:
        if not inferred or not output.has_graphs(format):
            return super()._serialize(format, inferred)
        return output.text(self.quads(inferred=True), None, format, self.prefixes)

    def inconsistencies(self, graph: Any = None) -> Relation:
        """Return the contradictions in one graph, or in any, see `Store.inconsistencies`. Raise UsageError (E0669) for
        an unknown graph."""
        return self._of_closures(INCONSISTENCIES, JUSTIFICATION_COLUMNS[:4], graph, Store.inconsistencies)

    def justifications(self, graph: Any = None) -> Relation:
        """Return the asserted triples from which each inconsistency follows in one graph, or in any. Raise UsageError
        (E0669) for an unknown graph."""
        return self._of_closures(JUSTIFICATIONS, JUSTIFICATION_COLUMNS, graph, Store.justifications)

    def _of_closures(
        self, name: str, columns: tuple[Column, ...], graph: Any, view: Callable[[Store], Relation]
    ) -> Relation:
        """Return the rows of a view in the closure of a graph, or in all. Raise UsageError (E0669)."""
        with self._hold_turn(), reading_within_memory:
            stores = self._closures.stores
            chosen = [*stores.values()] if graph is None else [self._closure(graph)]
            rows = {row for closure in chosen for row in view(closure)}
            encode = self._triples.dictionary.encode
            words = [[encode(str(part), "symbol") for part in row] for row in rows]
            array = numpy.array(words, numpy.int64).reshape(-1, len(columns))
            return Relation(name, WordRows(columns, self._triples.dictionary, array))

    def _closure(self, graph: Any) -> Store:
        """Return the closure of a graph. Raise UsageError (E0669) for one that is not there."""
        name = graph_name(graph) or DEFAULT
        if name not in self._closures.stores:
            hint = "check the name; graphs without triples are not kept"
            raise UsageError(Problem("E0669", f"there is no graph {name}", hint=hint))
        closure = self._closures.stores[name]
        closure._prefixes = self._prefixes
        return closure

    def subscribe(self, callback: Callable[[Any], object], view: str | None = None) -> Callable[[], None]:
        """Call `callback` with each later commit that changes visible triples, as a `GraphwiseChange`, or with the
        change of "inconsistencies" or "justifications", see `Store.subscribe`."""
        self._check_usable()
        views = {INCONSISTENCIES: self.inconsistencies, JUSTIFICATIONS: self.justifications}
        if view is None:
            return self._subscribers.add("triples", _visible_change, callable_one(callback))
        if not isinstance(view, str) or view not in views:
            refuse(f"the view {quote_name(view)}", "subscribe to the store, to inconsistencies or to justifications")
        return self._subscribers.add(view, track_view(views[view]), callable_one(callback))

    def __getitem__(self, name: str) -> Relation:
        if self._is_view(name, INCONSISTENCIES):
            return self.inconsistencies()
        return super().__getitem__(name)

    def query(self, text: str, /, **parameters: Any) -> Relation:
        """Return the answer to a query in SPARQL, see `Store.query`. GRAPH and FROM name graphs with what follows in
        them; the default graph has what follows from itself."""
        given: object = text
        if isinstance(given, str) and not (is_query(text) or is_update(text)):
            refuse("a query of the language", "ask in SPARQL")
        if flag("union", parameters.get("union", False)):
            refuse("union=True", "ask the graphs by GRAPH or FROM")
        return super().query(text, **parameters)

    def _mirror_for(self, *, inferred: bool) -> Mirror:
        return self._closed_mirror if inferred else self._mirror

    def _is_inferred(self, mirror: Any, quad: Any) -> bool:
        closure = self._closures.stores.get(symbol_of(quad.graph_name))
        return closure is not None and closure._triples.holds(*map(symbol_of, quad.triple))

    def _asked_wider(
        self, copy: MirrorCopy, seconds: float | None, plan: SparqlPlan, draft: UpdateDraft
    ) -> FoundTerms | None:
        if draft.changes:  # The closures are those of the last commit.
            return None
        with self._share_mirror(inferred=True) as closed:
            return self._evaluate_plan(closed, seconds, plan, draft)

    def _proven(self, triple: tuple[str, str, str], graph: str) -> TripleProof:
        return self.explain(*triple, graph=graph)

    def draft_update(self, text: str, /, **options: Any) -> dict[StoredQuad, bool]:
        """Return the quads that `update` would change, see `Store.draft_update`."""
        if flag("inferred", options.get("inferred", False)):
            refuse("an update with inferred=True", "name the triples by a query first")
        return super().draft_update(text, **options)

    def stats(self) -> dict[str, Any]:
        """Return the stats of the store, see `Store.stats`, with the numbers of triples of each closure, by graph."""
        with self._hold_turn():
            closures = {graph: len(Store.triples(closure)) for graph, closure in self._closures.stores.items()}
            return {**super().stats(), "closures": closures}

    def check(self) -> None:
        """Check the inferred triples of each graph independently of the engine, see `Database.check`."""
        with self._hold_turn():  # A commit of another thread may begin or end closures.
            for closure in self._closures.stores.values():
                closure.check()

    def __repr__(self) -> str:
        wrong = len(self.inconsistencies())
        more = f", {wrong:,} inconsistencies" if wrong else ""
        return f"<GraphwiseStore: {len(self):,} triples, {len(self._closures.stores)} closures{more}>"

    # --- explanations --------------------------------------------------------------------------------------------

    @overload  # type: ignore[override]
    def explain(self, *goal: Any, graph: Any = DEFAULT) -> TripleProof: ...
    @overload
    def explain(self, *goal: Any, all: bool, graph: Any = DEFAULT) -> TripleProof | Enumeration[TripleProof]: ...

    def explain(self, *goal: Any, all: bool = False, graph: Any = DEFAULT) -> TripleProof | Enumeration[TripleProof]:
        """Return why a triple holds in a graph, or a row of `inconsistencies(graph)`, see `Store.explain`. Raise
        UsageError (E0669) for an unknown graph."""
        with self._hold_turn(), reading_within_memory:
            closure = self._closure(graph)
            return closure.explain(*goal, all=True) if flag("all", all) else closure.explain(*goal)

    def why_not(self, *goal: Any, depth: int = 3, graph: Any = DEFAULT) -> Absence:
        """Return why a triple does not hold in a graph, see `Store.why_not`. Raise UsageError (E0669) for an unknown
        graph."""
        with self._hold_change_turn(), changing_within_memory:
            return self._closure(graph).why_not(*goal, depth=depth)

    # --- refused -------------------------------------------------------------------------------------------------

    def load(self, *program: Any, **options: Any) -> NoReturn:
        """Raise UsageError (E0679)."""
        refuse("a program, a view or a set of shapes", "pass rule sets to `connect`")

    load_n3 = view = shapes = load

    def blame(self, *goal: Any) -> NoReturn:
        """Raise UsageError (E0679)."""
        refuse("blame, ways_to_remove and ways_to_derive", "use `explain` and `why_not` with a graph")

    ways_to_remove = ways_to_derive = blame

    def save_certificate(self, folder: Any) -> NoReturn:
        """Raise UsageError (E0679)."""
        refuse("a certificate", "call `check`")


def _visible_change(change: StoreChange) -> StoreChange | None:
    return change if isinstance(change, GraphwiseChange) and any(map(len, change._quads)) else None


def refuse(what: str, hint: str) -> NoReturn:
    """Raise UsageError (E0679) for what needs the union of all graphs."""
    message = f'{what} is not for a store with inference="{GRAPH_BY_GRAPH}"'
    raise UsageError(Problem("E0679", message, hint=hint))
