"""A store for rdflib: `rdflib.Graph(store="tidelog")`, and `rdflib.Graph(store=RdflibStore(store))` for one at hand.
`graph.open("kg.tide", create=True)` opens the one in a folder.

rdflib shows changes at once, tidelog with a commit. So changes wait in `_changes` until something is read, and are then
committed. `_undo` has what `rollback` takes back: the changes since the last `commit` of rdflib.

Graphs of rdflib whose name is a blank node, such as `Graph()`, are the default graph with what follows.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import rdflib
from rdflib.query import Result
from rdflib.store import NO_STORE, VALID_STORE
from rdflib.store import Store as AnyStore

from tidelog.errors import Problem, UsageError, quote, wrong_argument
from tidelog.rdf.connect import connect, is_rules
from tidelog.rdf.output import node_of
from tidelog.rdf.sparql.evaluation import Solutions
from tidelog.rdf.sparql.texts import words
from tidelog.rdf.store import Store
from tidelog.rdf.tables import RULE_SETS
from tidelog.rdf.terms import term
from tidelog.rdf.verbs import StoredQuad, apply_changes
from tidelog.store import is_marked

_DEFAULT = "urn:x-rdflib:default"


class RdflibStore(AnyStore):
    """A store of tidelog as rdflib has stores. Its errors are those of tidelog."""

    context_aware = True
    graph_aware = True
    transaction_aware = True

    def __init__(self, configuration: Any = None, identifier: Any = None) -> None:
        """Use the store `configuration`, or open one, see `open`. Raise UsageError (E0662) if that is no store."""
        is_store = isinstance(configuration, Store)
        self.store = configuration if is_store else connect()
        """The store of tidelog."""
        self._is_own = not is_store
        self._changes: dict[StoredQuad, bool] = {}
        self._undo: list[tuple[StoredQuad, bool]] = []
        self._prefixes: dict[str, Any] = {}
        super().__init__(None, identifier)
        if not is_store and configuration is not None and self.open(configuration) == NO_STORE:
            hint = f"pass {', '.join(RULE_SETS)}, or make a store with graph.open(folder, create=True)"
            raise UsageError(Problem("E0662", f"neither rules nor a store: {quote(configuration)}", hint=hint))

    def open(self, configuration: Any, create: bool = False) -> int:
        """Open the store in a folder, or begin anew with an empty one in memory.

        `configuration` is a folder, which `create` makes; rules as in `tidelog.rdf.connect`, for a store in memory; or
        a tuple of a folder and rules. Return NO_STORE if there is no store and `create` is False. Raise as
        `tidelog.rdf.connect`.
        """
        folder, rules = _folder_and_rules(configuration)
        if folder is not None and not create and not is_marked(Path(folder)):
            return NO_STORE
        if self._is_own:
            self.store.close()
        self.store, self._is_own = connect(folder, rules), True
        self._changes, self._undo = {}, []
        return VALID_STORE

    def close(self, commit_pending_transaction: bool = False) -> None:
        """Close the store; changes since the last commit are lost unless asked otherwise."""
        if commit_pending_transaction:
            self.commit()
        else:
            self.rollback()
        self.store.close()

    # --- changes -------------------------------------------------------------------------------------------------

    def add(self, triple: Any, context: Any, quoted: bool = False) -> None:
        """Assert a triple in a graph. Raise DataError (E0465) for what is no triple of RDF."""
        self.addN([(*triple, context)])

    def addN(self, quads: Iterable[Any]) -> None:
        """Assert triples in graphs."""
        for *triple, context in quads:
            subject, predicate, value = map(term, triple)
            self._changes[subject, predicate, value, _name(context)] = True

    def remove(self, triple: Any, context: Any = None) -> None:
        """Retract the asserted triples that match, from one graph or all. Those that follow stay."""
        self._flush()
        for quad in self._asserted_quads(triple, context):
            self._changes[quad] = False

    def remove_graph(self, graph: Any) -> None:
        """Retract the triples of a graph."""
        self.remove((None, None, None), graph)

    def add_graph(self, graph: Any) -> None:
        """Change nothing: a graph is there as long as it has triples."""

    def commit(self) -> None:
        """Keep the changes: `rollback` goes back to here."""
        self._flush()
        self._undo = []

    def rollback(self) -> None:
        """Take the changes since the last `commit` back."""
        self._changes = {}
        for quad, was_there in reversed(self._undo):
            self._changes[quad] = was_there
        self._apply(self._changes)
        self._changes, self._undo = {}, []

    def _flush(self) -> None:
        """Commit what waits."""
        if self._changes:
            before = self.store.asserted(self._changes)
            self._apply(self._changes)
            self._undo += [
                (quad, quad in before) for quad, is_there in self._changes.items() if is_there != (quad in before)
            ]
            self._changes = {}

    def _apply(self, changes: Mapping[StoredQuad, bool]) -> None:
        with self.store.transaction() as block:
            apply_changes(block, changes)

    # --- reading -------------------------------------------------------------------------------------------------

    def triples(self, triple_pattern: Any, context: Any = None) -> Iterator[tuple[Any, Iterator[Any]]]:
        """Yield the triples that match: of the default graph and what follows, of a named graph, or all of them."""
        self._flush()
        graphs: dict[tuple[str, ...], list[str]] = {}
        for *triple, graph in self._asserted_quads(triple_pattern, context):
            graphs.setdefault(tuple(triple), []).append(graph)
        if context is None or not _name(context):
            asserted = self.store.triples(*triple_pattern, inferred=False)
            for row in self.store.triples(*triple_pattern) - asserted:
                graphs.setdefault(tuple(map(str, row)), [])
        known: dict[str, Any] = {}
        for symbols, names in graphs.items():
            nodes = tuple(known.get(each) or known.setdefault(each, _node(each)) for each in symbols)
            yield nodes, iter([self._graph(name) for name in names or [""]])

    def _asserted_quads(self, pattern: Any, context: Any) -> list[StoredQuad]:
        """Return the asserted quads that match, of one graph or all."""
        subject, predicate, value = pattern
        graph = None if context is None else _name(context)
        rows = self.store.quads(subject, predicate, value, graph)
        return [(str(s), str(p), str(o), str(g)) for s, p, o, g in rows]

    def __len__(self, context: Any = None) -> int:
        """Return the number of triples that `triples` would yield."""
        self._flush()
        if context is None:
            return len(self.store)
        name = _name(context)
        return len(self.store.quads(graph=name)) + (0 if name else len(self.store.inferred()))

    def contexts(self, triple: Any = None) -> Generator[Any, None, None]:
        """Yield the graphs that have triples, or that have one."""
        self._flush()
        names = {str(row[3]) for row in self.store.quads(*triple)} if triple else {"", *self.store.graphs()}
        yield from (self._graph(name) for name in sorted(names))

    def _graph(self, name: str) -> rdflib.Graph:
        return rdflib.Graph(store=self, identifier=_node(name or _DEFAULT))

    # --- SPARQL and prefixes ---------------------------------------------------------------------------------------

    def query(self, query: Any, initNs: Any, initBindings: Any, queryGraph: Any, **options: Any) -> Result:
        """Return the answer of `Store.query` over the default graph. rdflib itself evaluates a query that is prepared,
        has values of variables, or is about one named graph or the union of all."""
        text = self._own_text(query, initNs, initBindings, queryGraph)
        found = self.store.query(text, **options)
        if not isinstance(found, Solutions):
            raise wrong_argument("a query", "a query in SPARQL", query)
        result = Result(found.form)
        rows: list[list[Any]] = [[_node(str(each)) if each else None for each in row] for row in found]
        if found.form == "ASK":
            result.askAnswer = bool(rows)
        elif found.form == "SELECT":
            result.vars = [rdflib.Variable(column.name) for column in found.columns]
            result.bindings = [
                {name: value for name, value in zip(result.vars, row, strict=True) if value is not None} for row in rows
            ]
        else:
            result.graph = rdflib.Graph()
            for subject, predicate, value in rows:
                result.graph.add((subject, predicate, value))
        return result

    def update(self, update: Any, initNs: Any, initBindings: Any, queryGraph: Any, **options: Any) -> None:
        """Run an update of `Store.update` over the default graph; rdflib evaluates others itself, as for `query`."""
        text = self._own_text(update, initNs, initBindings, queryGraph)
        self._changes = self.store.draft_update(text, **options)

    def _own_text(self, text: Any, prefixes: Mapping[str, Any], values: Any, graph: Any) -> str:
        """Return a text with the prefixes that it uses. Raise NotImplementedError, by which a store of rdflib leaves a
        query to rdflib's own evaluator, for one of a single named graph or with values of variables."""
        if not isinstance(text, str) or values or graph == "__UNION__" or (graph and _name(graph)):
            raise NotImplementedError
        self._flush()
        used = {word.text.partition(":")[0] for word in words(text) if word.kind == "name"}
        declared = [f"PREFIX {name}: <{iri}> " for name, iri in prefixes.items() if name in used]
        return f"{''.join(declared)}{text}"

    def bind(self, prefix: str, namespace: Any, override: bool = True) -> None:
        """Bind a prefix, for rdflib only: `store.prefixes` stays."""
        if override or (prefix not in self._prefixes and namespace not in self._prefixes.values()):
            self._prefixes = {name: iri for name, iri in self._prefixes.items() if iri != namespace}
            self._prefixes[prefix] = namespace

    def prefix(self, namespace: Any) -> str | None:
        """Return the prefix of a namespace."""
        return next((name for name, iri in self._prefixes.items() if str(iri) == str(namespace)), None)

    def namespace(self, prefix: str) -> Any:
        """Return the namespace of a prefix."""
        return self._prefixes.get(prefix)

    def namespaces(self) -> Iterator[tuple[str, Any]]:
        """Yield prefixes with their namespaces."""
        yield from self._prefixes.items()


def _folder_and_rules(configuration: Any) -> tuple[Any, Any]:
    """Return the folder and the rules of a configuration, see `RdflibStore.open`."""
    given = list(configuration) if isinstance(configuration, (tuple, list)) else [configuration]
    if given and isinstance(given[0], (str, os.PathLike)) and str(given[0]) and not is_rules(given[0]):
        return given[0], given[1:] or None
    return None, configuration or None


def _node(symbol: str) -> Any:
    """Return a symbol as a term of rdflib."""
    return node_of(rdflib, symbol)


def _name(context: Any) -> str:
    """Return the symbol of the name of a graph; the empty text for the default graph, and for blank nodes."""
    name = getattr(context, "identifier", context)
    is_default = isinstance(name, rdflib.BNode) or str(name) == _DEFAULT
    return "" if is_default else term(name)
