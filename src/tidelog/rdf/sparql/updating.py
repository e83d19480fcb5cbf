"""An update in SPARQL: the quads that its operations insert and delete.

pyoxigraph finds the solutions of patterns over the mirror, and makes quads of templates and data in empty stores. Each
operation sees what those before it have changed: a draft has these changes beside the mirror, and the mirror has them
only while a pattern begins. So the cost is that of the patterns, and in proportion to the change, not to the store.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tidelog.errors import DataError, Problem, TidelogError, UsageError
from tidelog.rdf import reader
from tidelog.rdf.documents import Labels
from tidelog.rdf.formats import INFERRED, load
from tidelog.rdf.sparql.evaluation import FoundTerms, SparqlPlan, dataset
from tidelog.rdf.sparql.mirror import MERGED, named_graphs, parse_quads
from tidelog.rdf.sparql.reading import UpdateOperation
from tidelog.rdf.sparql.texts import words
from tidelog.rdf.terms import NESTED, ntriples

_NODE = "urn:tidelog:node:"
_BLANK_NODE = re.compile(r'"(?:[^"\\]|\\.)*"|_:([^\s"<>]+)')
_CHUNK = 5_000
"""Solutions that a template gets at a time."""
Asked = Callable[[SparqlPlan, "UpdateDraft"], FoundTerms]


class UpdateDraft:
    """The changes of an update so far: quads of pyoxigraph, with True for those to insert."""

    def __init__(
        self,
        mirror: Any,
        ask: Asked,
        labels: Labels,
        inferred: bool,
        chosen: Mapping[str, Any],
        follows: Callable[[Any], bool],
        wider: Callable[[SparqlPlan, UpdateDraft], FoundTerms | None],
    ) -> None:
        """`chosen` has the graphs that patterns match, as pyoxigraph takes them, if the call names them. `follows`
        returns True for a quad that is not asserted, but follows. `wider` answers a plan over what follows as well, and
        returns None if nothing does."""
        self._mirror = mirror
        self._ask = ask
        self._labels = labels
        self._inferred = inferred
        self._chosen = chosen
        self._follows = follows
        self._wider = wider
        self.changes: dict[Any, bool] = {}
        """The net change."""
        self._created: set[Any] = set()
        self._lacking: list[Any] = []
        """The quads to delete that are not asserted, but follow."""
        self._passed: list[Any] = []
        """Quads that follow, and that patterns over asserted triples have passed over."""

    @property
    def undeletable_quad(self) -> Any:
        """Return a quad that the update cannot delete, because it follows, or None. Quads that patterns have
        passed over count if the update deletes nothing: it may follow from what is deleted."""
        passed = self._passed if all(self.changes.values()) else []
        return next((quad for quad in (*self._lacking, *passed) if not self.has(quad)), None)

    def has(self, quad: Any) -> bool:
        """Return True if a quad is there after the operations so far."""
        return self.changes.get(quad, quad in self._mirror)

    @contextmanager
    def in_mirror(self) -> Iterator[None]:
        """Have the changes in the mirror inside the block. The caller has the mirror alone."""
        graphs = {quad.graph_name for quad, is_there in self.changes.items() if is_there}
        new = [graph for graph in graphs if not self._mirror.contains_named_graph(graph)]
        try:
            self._apply(inserted=True)
            yield
        finally:
            self._apply(inserted=False)
            for graph in new:
                self._mirror.remove_graph(graph)

    def _apply(self, inserted: bool) -> None:
        for quad, is_there in self.changes.items():
            (self._mirror.add if is_there == inserted else self._mirror.remove)(quad)

    def run(self, operation: UpdateOperation) -> None:
        """Make the changes of an operation. Raise UsageError (E0669: unknown graph, E0670), DataError, LimitError."""
        verb = operation.verb
        if verb in ("INSERT", "DELETE", "WITH"):
            (self._data if operation.is_data else self._modify)(operation)
        elif verb == "LOAD":
            self._load(operation)
        elif verb in ("CLEAR", "DROP"):
            self._delete(quad for graph in self._graphs(operation) for quad in self._quads(graph))
        elif verb == "CREATE":
            graph = _name(operation.iri(operation.words[-1].text))
            if self._has(graph) and not operation.has("SILENT"):
                raise UsageError(
                    Problem("E0669", f"the graph {graph.value} exists already", hint="write CREATE SILENT")
                )
            self._created.add(graph)
        else:
            self._move(operation)

    # --- data and patterns -----------------------------------------------------------------------------------------

    def _data(self, operation: UpdateOperation) -> None:
        data = operation.text(operation.words[1].start, operation.words[-1].end)
        quads = operation.insertions(f"INSERT {data}")
        (self._insert if operation.verb == "INSERT" else self._delete)(quads)

    def _modify(self, operation: UpdateOperation) -> None:
        plan = SparqlPlan(operation.query, {"base_iri": operation.base, "prefixes": dict(operation.prefixes)})
        graph = operation.iri_after("WITH")
        if self._chosen:
            plan = SparqlPlan(plan.text, {**plan.options, **self._chosen})
        elif not operation.has("USING"):
            plan = self._with_graphs(plan, graph, self._inferred)
        found = self._ask(plan, self)
        within = "" if graph is None else f"WITH <{graph}>"
        # DELETE WHERE has one block, which is pattern and template.
        templates = [operation.block(verb) for verb in ("DELETE", "INSERT")]
        deleted, inserted = (
            self._template_quads(operation, within, template, found) if template else [] for template in templates
        )
        self._delete(deleted)
        self._insert(inserted)
        is_default = not self._chosen and not operation.has("USING")
        # A deletion by pattern alone that finds nothing to delete may aim at triples that follow.
        if templates[0] and not templates[1] and not deleted and is_default and not self._inferred:
            self._pass_over(operation, within, templates[0], self._with_graphs(plan, graph, inferred=True))

    def _pass_over(self, operation: UpdateOperation, within: str, template: str, plan: SparqlPlan) -> None:
        """Note what a deletion would delete if patterns matched what follows, because it deletes nothing."""
        found = self._wider(plan, self)
        if found is not None:
            quads = self._template_quads(operation, within, template, found)
            self._passed += (quad for quad in quads if not self.has(quad) and self._follows(quad))

    def _with_graphs(self, plan: SparqlPlan, graph: str | None, inferred: bool) -> SparqlPlan:
        """Return a plan for the graphs of the draft, with what follows or without; `graph` is the default graph if
        WITH names one."""
        options = dataset(self._mirror, inferred)
        if graph is not None:
            options["default_graph"] = [_name(graph), *options["default_graph"][1:]]
        return SparqlPlan(plan.text, {**plan.options, **options, "named_graphs": self._named_graphs()})

    def _template_quads(self, operation: UpdateOperation, within: str, template: str, found: FoundTerms) -> list[Any]:
        """Return the quads that a template makes of solutions. Blank nodes of these are IRIs meanwhile, because data in
        SPARQL cannot name any."""
        used = {word.text[1:] for word in words(template) if word.kind == "variable"}
        places = [i for i, name in enumerate(found.names) if name in used]
        names = " ".join(f"?{found.names[i]}" for i in places)
        rows = [f"({' '.join(_data_term(found.columns[i][row]) for i in places)})" for row in range(found.count)]
        quads: dict[Any, None] = {}
        for start in range(0, len(rows), _CHUNK):
            values = f"VALUES ({names}) {{ {' '.join(rows[start : start + _CHUNK])} }}"
            text = f"{within} INSERT {template} WHERE {{ {values} }}"
            quads |= dict.fromkeys(_with_nodes(operation.insertions(text)))
        return list(quads)

    # --- graphs ----------------------------------------------------------------------------------------------------

    def _graphs(self, operation: UpdateOperation) -> list[Any]:
        """Return the graphs that CLEAR or DROP names."""
        oxigraph = load()
        target = operation.words[-1]
        named = self._named_graphs()
        if target.is_keyword("DEFAULT", "NAMED", "ALL"):
            default = [] if target.is_keyword("NAMED") else [oxigraph.DefaultGraph()]
            return default + ([] if target.is_keyword("DEFAULT") else named)
        return [self._existing_graph(_name(operation.iri(target.text)), operation)]

    def _move(self, operation: UpdateOperation) -> None:
        """Run ADD, COPY or MOVE."""
        ends = [word for word in operation.words[1:] if not word.is_keyword("SILENT", "TO", "GRAPH")]
        one, other = (
            load().DefaultGraph() if word.is_keyword("DEFAULT") else _name(operation.iri(word.text)) for word in ends
        )
        self._existing_graph(one, operation)
        if one == other:
            return
        quads = self._quads(one)
        if operation.verb != "ADD":
            self._delete(self._quads(other))
        self._insert(load().Quad(*quad.triple, other) for quad in quads)
        if operation.verb == "MOVE":
            self._delete(quads)

    def _existing_graph(self, graph: Any, operation: UpdateOperation) -> Any:
        """Return a graph. Raise UsageError (E0669) if no graph has this name."""
        if not self._has(graph) and not operation.has("SILENT"):
            hint = f"check the name, or write {operation.verb} SILENT; graphs without triples are not kept"
            raise UsageError(Problem("E0669", f"there is no graph {graph.value}", hint=hint))
        return graph

    def _has(self, graph: Any) -> bool:
        is_default = type(graph).__name__ == "DefaultGraph"
        return is_default or graph in self._created or any(True for _ in self._quads_in(graph))

    def _quads_in(self, graph: Any) -> Iterator[Any]:
        for quad in self._mirror.quads_for_pattern(None, None, None, graph):
            if self.changes.get(quad, True):
                yield quad
        yield from (quad for quad, is_there in self.changes.items() if is_there and quad.graph_name == graph)

    def _named_graphs(self) -> list[Any]:
        new = (quad.graph_name for quad, is_there in self.changes.items() if is_there)
        default = load().DefaultGraph()
        return list(dict.fromkeys([*named_graphs(self._mirror), *(graph for graph in new if graph != default)]))

    def _quads(self, graph: Any) -> list[Any]:
        return list(self._quads_in(graph))

    def _load(self, operation: UpdateOperation) -> None:
        is_silent = operation.has("SILENT")
        source = operation.iri(operation.words[1 + is_silent].text)
        graph = operation.iri(operation.words[-1].text) if operation.has("INTO") else None
        try:
            self._insert(self._document(source, graph))
        except TidelogError:
            if not is_silent:
                raise

    def _document(self, source: str, graph: str | None) -> list[Any]:
        """Return the quads of a file that LOAD names."""
        parts = urlsplit(source)
        if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
            hint = "download it first, and write LOAD <file:///…>; tidelog fetches nothing from the web"
            raise DataError(Problem("E0410", "LOAD reads files only", place=source, hint=hint))
        columns = reader.read_triples(Path(unquote(parts.path)), None, source, self._labels)
        texts = [columns.subjects, columns.predicates, columns.objects]
        names = [graph or ""] * len(columns)
        if columns.graphs is not None:
            names = [name or graph or "" for name in columns.graphs.to_pylist()]
        rows = zip(*(each.to_pylist() for each in texts), names, strict=True)
        lines = "".join(f"{' '.join(ntriples(term) for term in row if term)} .\n" for row in rows)
        return list(parse_quads(lines.encode()))

    # --- quads -----------------------------------------------------------------------------------------------------

    def _insert(self, quads: Iterable[Any]) -> None:
        for quad in self._changeable_quads(quads):
            self._note_change(quad, True)

    def _delete(self, quads: Iterable[Any]) -> None:
        for quad in self._changeable_quads(quads):
            if self.has(quad):
                self._note_change(quad, False)
            elif self._follows(quad):
                self._lacking.append(quad)

    def _note_change(self, quad: Any, is_there: bool) -> None:
        if (quad in self._mirror) == is_there:
            self.changes.pop(quad, None)
        else:
            self.changes[quad] = is_there

    def _changeable_quads(self, quads: Iterable[Any]) -> Iterator[Any]:
        """Yield quads that are about to change. Raise UsageError (E0669) for the graph of inferred triples."""
        for quad in list(quads):
            graph = getattr(quad.graph_name, "value", "")
            if graph in (INFERRED, MERGED):
                hint = "change the triples of other graphs"
                raise UsageError(Problem("E0669", f"tidelog itself fills the graph {graph}", hint=hint))
            yield quad


def _name(iri: str) -> Any:
    return load().NamedNode(iri)


def _data_term(symbol: str) -> str:
    """Return a symbol as data of SPARQL, with IRIs for blank nodes."""
    if not symbol:
        return "UNDEF"
    if "_:" not in symbol or not symbol.startswith(("_:", NESTED)):
        return ntriples(symbol)
    return _BLANK_NODE.sub(lambda match: f"<{_NODE}{match[1]}>" if match[1] else match[0], symbol)


def _with_nodes(quads: Iterable[Any]) -> Iterator[Any]:
    """Yield quads with blank nodes in the place of their IRIs; leave out those with a blank node as a predicate."""
    oxigraph = load()

    def node(term: Any) -> Any:
        if type(term).__name__ == "Triple":
            return oxigraph.Triple(*map(node, term))
        value = str(getattr(term, "value", ""))
        is_node = type(term).__name__ == "NamedNode" and value.startswith(_NODE)
        return oxigraph.BlankNode(value.removeprefix(_NODE)) if is_node else term

    for quad in quads:
        if not quad.predicate.value.startswith(_NODE):
            yield oxigraph.Quad(*map(node, quad))
