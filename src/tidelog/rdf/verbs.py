"""The verbs of a store that explain and try, and those that bring triples in and out, graph by graph: `Store` has the
rest.

`names_of` matches the blank nodes of one version of a graph with those of the next, for `replace`: they get colours by
their triples, round by round, as in the refinement that canonical forms begin with. A node of the new version takes the
name of one of the old version with the same colour. Any matching gives the new version, up to the names of blank nodes;
a good one gives a small change.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace as replaced
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy

from tidelog.common.arrays import Words
from tidelog.database.database import Database
from tidelog.database.transaction import check_can_begin
from tidelog.database.verbs import Verbs
from tidelog.errors import Problem, UsageError, flag, wrong_argument
from tidelog.explain.questions import EXPLANATION, Enumeration, Turn
from tidelog.io.relation import Relation
from tidelog.limits.watch import changing_within_memory, defer_interrupts, reading_within_memory
from tidelog.rdf import output, reader
from tidelog.rdf.change import StoreChange, StoreTransaction
from tidelog.rdf.data import Triples
from tidelog.rdf.documents import Labels
from tidelog.rdf.formats import INFERRED
from tidelog.rdf.justifications import Justifications
from tidelog.rdf.matching import SchemaFacts
from tidelog.rdf.names import Names, PrefixTable, prefix_table
from tidelog.rdf.quads import DEFAULT, PendingQuads, Quads, without
from tidelog.rdf.rules import Instances
from tidelog.rdf.tables import TableRule
from tidelog.rdf.terms import OWL, TYPE, term
from tidelog.workspace.objects import OF_STORES, EarlierNames
from tidelog.workspace.options import DatabaseOptions

if TYPE_CHECKING:
    import rdflib

    from tidelog.explain.absence import Absence
    from tidelog.explain.blame import Blame
    from tidelog.rdf.explaining import Now, StoredTriple, TripleExplainer
    from tidelog.rdf.proofs import TripleProof, TripleViews


_ROUNDS = 64
"""Further than so many steps away, triples do not tell nodes apart."""
_TO, _FROM, _UNKNOWN = 0, 1, 2


def names_of(old: Words, new: Words, blank: set[int]) -> dict[int, int]:
    """Return for blank nodes of a new version the node of the old version that each one is. Triples are words, int64 of
    shape (n, 3); `blank` are the blank nodes among them, of which no version has one of the other."""
    triples = [tuple(row) for each in (old, new) for row in each.tolist()]
    near: dict[int, list[tuple[int, int, int]]] = {node: [] for node in blank}
    for subject, predicate, value in triples:
        if subject in near:
            near[subject].append((_TO, predicate, value))
        if value in near:
            near[value].append((_FROM, predicate, subject))
    colours = dict.fromkeys(near, 0)
    for _ in range(_ROUNDS):
        found = {node: hash(tuple(sorted(_coloured_triples(each, colours)))) for node, each in near.items()}
        stable = len(set(found.values())) == len(set(colours.values()))
        colours = found
        if stable:
            break
    before, after = (_by_colour(each, colours) for each in (old, new))
    return {
        node: name for colour, nodes in after.items() for node, name in zip(nodes, before.get(colour, ()), strict=False)
    }


def _coloured_triples(
    near: Iterable[tuple[int, int, int]], colours: dict[int, int]
) -> Iterable[tuple[int, int, int, int]]:
    """Yield the triples of a node, blank nodes by their colours."""
    for way, predicate, other in near:
        yield (way + _UNKNOWN, predicate, 0, colours[other]) if other in colours else (way, predicate, 1, other)


def _by_colour(triples: Words, colours: dict[int, int]) -> dict[int, list[int]]:
    """Return the blank nodes of triples by colour."""
    found: dict[int, list[int]] = {}
    nodes = dict.fromkeys(word for column in (0, 2) for word in triples[:, column].tolist() if word in colours)
    for node in nodes:
        found.setdefault(colours[node], []).append(node)
    return found


TripleSet: TypeAlias = "tuple[StoredTriple, ...]"
StoredQuad: TypeAlias = tuple[str, str, str, str]
"""The symbols of subject, predicate, object and graph; the empty text is the default graph."""


class TripleVerbs(EarlierNames, Verbs[StoreChange]):
    """Verbs over triples and their graphs: explanations, trials, transactions, and triples in and out."""

    _earlier_names = OF_STORES
    _database: Database
    _options: DatabaseOptions
    _names: Names
    _table: tuple[TableRule, ...]
    _instances: Instances
    _known: SchemaFacts
    _epochs: int
    """The number of the last commit."""
    _justifications: Justifications
    _prefixes: PrefixTable
    _document_prefixes: dict[str, str]
    """The prefixes of the documents that were inserted. Texts are written with them, but rules and queries do not see
    them: `x:` of a document would give another meaning to a column or label x of a program."""
    _triples: Triples
    _quads: Quads
    _labels: Labels
    _pending: list[PendingQuads]

    @cached_property
    def _explainer(self) -> TripleExplainer:
        from tidelog.rdf.explaining import TripleExplainer

        return TripleExplainer(self._database, self._names, self._table, self._instances)

    def _now(self) -> Now:
        from tidelog.rdf.explaining import Now

        return Now(self._options.watch(work=EXPLANATION), self.prefixes, self._known)

    @abstractmethod
    def inconsistencies(self) -> Relation:
        """Return the contradictions."""

    def justifications(self) -> Relation:
        """Return the asserted triples, axioms and data, from which each inconsistency follows: a row for each of them,
        behind the row of `inconsistencies()`. They are those of the proof that `explain` returns, and found again after
        each commit, when they are first asked for. `tidelog.rdf.justified` groups the rows.

        Raise LimitError beyond the time limit of `options`.
        """
        with self._hold_turn(), reading_within_memory:
            now = self._now()
            with defer_interrupts(now.watch):
                return self._justifications.as_of(
                    self._epochs,
                    self.inconsistencies(),
                    lambda row: self._explainer.explain(row, now).triples,
                )

    @abstractmethod
    def _block(self, commit: Callable[[], StoreChange] | None) -> StoreTransaction:
        """Return a block of changes, which `commit` commits in the place of the store."""

    def proof_views(self) -> TripleViews:
        """Return all triples and facts, for the check of a proof."""
        with self._hold_turn(), reading_within_memory:
            return self._explainer.views(self._now())

    @abstractmethod
    def _dry_run(self, look: Callable[[], object] = ...) -> StoreChange:
        """Return the change that the pending changes would make, and undo them once `look` has seen their effect."""

    def transaction(self, *, dry_run: bool = False) -> StoreTransaction:
        """Return a block whose changes are committed together at its end, and dropped when it or the commit raises.
        With `dry_run` they are dropped in any case, see `what_if`.

        It belongs to the thread that opens it; changes of other threads wait until it ends. Raises UsageError where
        changes are pending already (E0606) and inside of another transaction (E0625).
        """
        with self._hold_change_turn():
            check_can_begin(self)
            return self._block(self._dry_run if flag("dry_run", dry_run) else None)

    def what_if(self) -> StoreTransaction:
        """Return a block whose changes of triples and rules are tried: at its end they are evaluated, and undone by
        another epoch; its `change` is the change that they would have made. Subscribers do not hear of it. Raises as
        `transaction`, and at the end of the block as `commit`."""
        return self.transaction(dry_run=True)

    @overload
    def explain(self, *goal: Any, all: Literal[False] = False) -> TripleProof: ...
    @overload
    def explain(self, *goal: Any, all: Literal[True]) -> Enumeration[TripleProof]: ...

    def explain(self, *goal: Any, all: bool = False) -> TripleProof | Enumeration[TripleProof]:
        """Return why a triple holds, as of the last commit: a proof over triples and axioms, as `Database.explain`.

        `goal` are the terms of a triple, the parts of a row of `inconsistencies()`, or a relation of a program and a
        tuple. With `all`, return an iterator of all proofs, the smallest first.

        Raise UsageError (E0670: it does not hold, E0671, E0673), DataError, LimitError.
        """
        with self._hold_turn(), reading_within_memory:
            now = self._now()
            if flag("all", all):
                turn = Turn(
                    self._hold_turn, lambda: reading_within_memory, lambda: None, lambda: self._epochs, now.watch
                )
                return Enumeration(self._explainer.proofs(goal, now), self._explainer.title("proofs", goal, now), turn)
            with defer_interrupts(now.watch):
                return self._explainer.explain(goal, now)

    def why_not(self, *goal: Any, depth: int = 3) -> Absence:
        """Return why a triple does not hold: how far each rule gets that could derive it, see `Database.why_not`, with
        a `goal` as in `explain`. Raise UsageError (E0672: it holds, E0673), DataError, LimitError."""
        with self._hold_change_turn(), changing_within_memory:
            now = self._now()
            with defer_interrupts(now.watch):
                return self._explainer.absence(goal, depth, now)

    def blame(self, *goal: Any) -> Blame:
        """Return since which commit a `goal` as in `explain` holds, by the triples and rules that are there now, and
        which of them came then, see `Database.blame`. Commits are numbered from 1 on; rules that were given to
        `connect` came in 0. Raise as `explain`."""
        with self._hold_turn(), reading_within_memory:
            now = self._now()
            with defer_interrupts(now.watch):
                return self._explainer.blame(goal, now)

    def ways_to_remove(self, *goal: Any) -> Enumeration[TripleSet]:
        """Return the smallest sets of asserted triples, axioms among them, without which a `goal` as in `explain` would
        not hold: an iterator, the smaller ones first. Each has been tried, see `what_if`. Raises as `explain`, and as
        `transaction`."""
        with self._hold_change_turn(), changing_within_memory:
            check_can_begin(self, "ways_to_remove()")
            now = self._now()
            found = self._explainer.ends(goal, now, lambda triples: not self._would_hold(goal, [], triples))
            return self._sets(found, "ways_to_remove", goal, now)

    def ways_to_derive(self, *goal: Any) -> Enumeration[TripleSet]:
        """Return the smallest sets of other triples that would make a `goal` as in `explain` hold, with the ontology as
        it is: an iterator, the smaller ones first. Each has been tried, see `what_if`. Raises as `why_not`, and as
        `transaction`."""
        with self._hold_change_turn(), changing_within_memory:
            check_can_begin(self, "ways_to_derive()")
            now = self._now()
            found = self._explainer.repairs(goal, now, lambda triples: self._would_hold(goal, triples, []))
            return self._sets(found, "ways_to_derive", goal, now)

    def _sets(self, found: Iterator[TripleSet], verb: str, goal: Sequence[Any], now: Now) -> Enumeration[TripleSet]:
        """Return an iterator of sets, each of which a transaction tries, which must be able to begin then."""
        ready = partial(check_can_begin, self, f"{verb}()")
        turn = Turn(self._hold_change_turn, lambda: changing_within_memory, ready, lambda: self._epochs, now.watch)
        return Enumeration(found, self._explainer.title(verb, goal, now), turn)

    def _would_hold(self, goal: Sequence[Any], more: Iterable[StoredTriple], less: Iterable[StoredTriple]) -> bool:
        """Return True if something would hold with some more triples and without others."""
        found: list[bool] = []

        def look() -> None:
            found.append(self._explainer.holds(goal))

        with self._block(partial(self._dry_run, look)) as trial:
            trial.insert(more)
            trial.delete(less)
        return found == [True]

    # --- triples in and out ----------------------------------------------------------------------------------------

    @property
    def prefixes(self) -> PrefixTable:
        """Return the prefixes for rule text, SPARQL and Turtle; those that programs declare are added. Set one by
        `store.prefixes["ex"] = "http://example.org/"`."""
        return self._prefixes

    @prefixes.setter
    def prefixes(self, given: Mapping[str, str]) -> None:
        self._prefixes = prefix_table(given)

    def insert(
        self, data: Any, format: str | None = None, *, base: str | None = None, graph: str | None = None
    ) -> None:
        """Assert triples, to take effect with the next `commit`.

        Take a text, a path (anything path-like, or one line that ends like `.ttl` or `.nt.gz`), a graph or dataset of
        rdflib or pyoxigraph, a data frame with the columns subject, predicate, object and maybe graph, or an iterable
        of triples or quads of terms. `format` is turtle, ntriples, nquads, trig, jsonld or rdfxml; by default the
        ending of a path, and turtle for texts. Relative IRIs begin with `base`, by default the IRI of a file. `to_text`
        and `write` use the prefixes of texts. Triples without a graph of their own go to `graph`, an IRI or a blank
        node, or else to the default graph. Blank nodes of a text are new ones; those of a file are the same each time,
        as long as its content is. Raise DataError with the place (E0460 to E0465, E0410, E0411), UsageError (E0660),
        SetupError (E0790), and then change nothing.
        """
        self._change(data, format, base, graph, asserts=True)

    def delete(
        self, data: Any, format: str | None = None, *, base: str | None = None, graph: str | None = None
    ) -> None:
        """Retract triples like `insert`; those not asserted change nothing.

        Retract triples without a graph of their own from `graph`, where the empty text is the default graph, or else
        from all graphs. A text must not have blank nodes (E0463).
        """
        self._change(data, format, base, graph, asserts=False)

    def replace(self, data: Any, name: str, format: str | None = None, *, base: str | None = None) -> None:
        """Make the triples of a source those of the graph `name`, in place of the ones that are there: the next version
        of an ontology, or the same file again.

        Blank nodes whose triples are the same keep their names, so that only the difference changes with the next
        `commit`. Graphs within the source do not count. Raise as `insert`, and UsageError (E0606) if changes of the
        graph wait already.
        """
        with self._hold_change_turn(), changing_within_memory:
            graph = graph_name(name)
            if not graph:
                raise wrong_argument("the name of the graph", "an IRI", name)
            columns = replaced(reader.read_triples(data, format, base, self._labels), graphs=None)
            added = self._quads.encode_change(True, columns, graph)
            assert added.graphs is not None
            word = self._triples.dictionary.encode(graph, "symbol")
            if any(each.graphs is not None and (each.graphs == word).any() for each in self._pending):
                hint = "commit these changes first"
                raise UsageError(Problem("E0606", f"changes of the graph {graph} wait already", hint=hint))
            old = self._quads.rows()
            old = old[old[:, 3] == word][:, :3]
            new = self._with_old_names(old, numpy.unique(added.words, axis=0))
            for asserts, rows in ((False, without(old, new)), (True, without(new, old))):
                if len(rows):
                    self._pending.append(PendingQuads(asserts, rows, numpy.full(len(rows), word, numpy.int64)))

    def _with_old_names(self, old: Words, new: Words) -> Words:
        """Return the triples of a new version with the names that blank nodes have in the old one."""
        words = numpy.unique(numpy.concatenate([old[:, 0], old[:, 2], new[:, 0], new[:, 2]]))
        texts = self._triples.dictionary.strings(words)
        blank = {int(word) for word, text in zip(words, texts, strict=True) if text.startswith("_:")}
        names = names_of(old, new, blank)
        if not names:
            return new
        found = new.copy()
        for column in (0, 2):
            found[:, column] = [names.get(word, word) for word in new[:, column].tolist()]
        return found

    def missing_imports(self) -> tuple[str, ...]:
        """Return the ontologies that the triples import by owl:imports, and that no triple says to be an owl:Ontology.
        tidelog fetches nothing: load them with `insert` or `replace`."""
        with self._hold_turn(), reading_within_memory:
            imported = {str(value) for _, _, value in self.triples(None, f"{OWL}imports", None)}
            there = {str(subject) for subject, _, _ in self.triples(None, TYPE, f"{OWL}Ontology")}
            return tuple(sorted(imported - there))

    def _change(self, data: Any, format: str | None, base: str | None, graph: object, *, asserts: bool) -> None:
        with self._hold_change_turn(), changing_within_memory:
            name = graph_name(graph)
            columns = reader.read_triples(data, format, base, self._labels if asserts else None, by_file=True)
            self._pending.append(self._quads.encode_change(asserts, columns, name))
            if asserts:
                self._document_prefixes = {**columns.prefixes, **self._document_prefixes}

    @property
    def _all_prefixes(self) -> dict[str, str]:
        """Return the prefixes to write with: those of the store come before those of documents."""
        return {**self._document_prefixes, **self.prefixes}

    def asserted(self, quads: Iterable[StoredQuad]) -> set[StoredQuad]:
        """Return those of some quads, of symbols with the empty text for the default graph, that are asserted."""
        with self._hold_turn(), reading_within_memory:
            find = self._triples.dictionary.find
            try:
                given = [(s, p, o, g) for s, p, o, g in quads]
                is_text = all(isinstance(part, str) for quad in given for part in quad)
            except (TypeError, ValueError, NotImplementedError):
                is_text = False
            if not is_text:
                raise wrong_argument("the quads", "tuples of four symbols", quads)
            words = [tuple(find(part, "symbol") for part in quad) for quad in given]
            known = [i for i, row in enumerate(words) if None not in row[:3]]
            triples = numpy.array([words[i][:3] for i in known], numpy.int64).reshape(-1, 3)
            triples = numpy.unique(triples[self._quads.are_asserted(triples)], axis=0)
            there = set(map(tuple, self._quads.with_graphs(triples).tolist()))
            return {given[i] for i in known if words[i] in there}

    def graphs(self) -> tuple[str, ...]:
        """Return the names of the graphs that have triples, sorted, without the default graph and the inferred
        triples."""
        with self._hold_turn(), reading_within_memory:
            return self._quads.graphs()

    def quads(self, subject: Any = None, predicate: Any = None, object: Any = None, graph: Any = None) -> Relation:
        """Return the asserted triples with these terms, any for None, and their graphs. The name of the default graph
        is the empty text. Raise DataError (E0465) for what is no term."""
        with self._hold_turn(), reading_within_memory:
            terms = [None if part is None else term(part) for part in (subject, predicate, object)]
            triples = self._triples.match_terms(*terms, asserted=True)
            rows = self._quads.select_graph(triples, graph_name(graph))
            return self._triples.relation("quads", rows)

    @abstractmethod
    def triples(
        self, subject: Any = None, predicate: Any = None, object: Any = None, *, inferred: bool = True
    ) -> Relation:
        """Return the triples with these terms."""

    @abstractmethod
    def inferred(self) -> Relation:
        """Return the triples that follow and were not asserted."""

    def to_rdflib(self, *, inferred: bool = True) -> rdflib.Graph:
        """Return an rdflib graph of the triples of all graphs. Raise SetupError (E0790) if rdflib is not installed, and
        DataError (E0464) for a term of RDF 1.2."""
        with self._hold_turn(), reading_within_memory:
            return output.to_rdflib(self.triples(inferred=inferred), self._all_prefixes)

    def to_text(self, format: str = "turtle", *, inferred: bool = False, graph: str | None = None) -> str:
        """Return the triples as turtle, ntriples, nquads, trig or jsonld.

        The last three have the graphs, and with `inferred` the graph `urn:tidelog:inferred` of what follows. With
        `graph`, return the triples of this graph alone: the empty text is the default graph, without what follows.
        """
        with self._hold_turn(), reading_within_memory:
            if graph is None:
                return self._serialize(format, flag("inferred", inferred)).decode()
            return output.text(self._of_graph(graph_name(graph)), None, format, self._all_prefixes).decode()

    def _of_graph(self, graph: str | None) -> Relation:
        if graph == INFERRED:
            return self.inferred()
        rows = self._quads.select_graph(self._triples.match_terms(None, None, None, asserted=True), graph)
        return self._triples.relation("triples", rows[:, :3])

    def write(self, path: str | os.PathLike[str], format: str | None = None, *, inferred: bool = False) -> None:
        """Write `to_text` to a file, in the format of its ending, packed for `.gz`. Raise DataError (E0412)."""
        with self._hold_turn(), reading_within_memory:
            output.write(path, self._serialize(output.format_for(path, format), flag("inferred", inferred)))

    def _serialize(self, format: str, inferred: bool) -> bytes:
        asserted = self.quads() if output.has_graphs(format) else self.triples(inferred=False)
        return output.text(asserted, self.inferred() if inferred else None, format, self._all_prefixes)


def apply_changes(block: StoreTransaction, changes: Mapping[StoredQuad, bool]) -> None:
    """Insert the quads with True and delete those with False in a transaction."""
    block.insert([quad for quad, is_there in changes.items() if is_there])
    graphs: dict[str, list[tuple[str, str, str]]] = {}
    for *triple, graph in (quad for quad, is_there in changes.items() if not is_there):
        subject, predicate, value = triple
        graphs.setdefault(graph, []).append((subject, predicate, value))
    for graph, triples in graphs.items():
        block.delete(triples, graph=graph)


def graph_name(graph: object) -> str | None:
    """Return the symbol of a graph, None for none. Raise DataError (E0465) for a literal."""
    if graph is None or (isinstance(graph, str) and graph == DEFAULT):
        return graph
    name = term(graph)
    reader.check_graph(name)
    return name
