"""The verbs of a store that speak SPARQL: `Store` has the rest."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy

from tidelog.errors import DataError, Problem, ProgramError, TidelogError, UsageError, flag, quote, wrong_argument
from tidelog.limits.watch import changing_within_memory, reading_within_memory
from tidelog.rdf.change import StoreChange
from tidelog.rdf.formats import INFERRED, load
from tidelog.rdf.names import GRAPH
from tidelog.rdf.quads import PendingQuads
from tidelog.rdf.reader import check_graph
from tidelog.rdf.sparql.bodies import too_large
from tidelog.rdf.sparql.computing import FUNCTIONS
from tidelog.rdf.sparql.evaluation import (
    AnswerFormats,
    FoundTerms,
    Solutions,
    SparqlPlan,
    collect_terms,
    dataset,
    symbol_of,
)
from tidelog.rdf.sparql.mirror import Mirror, MirrorCopy, named_graph
from tidelog.rdf.sparql.processes import QueryProcess, TimedQuery
from tidelog.rdf.sparql.reading import NAME, CheckedUpdate, check, operations
from tidelog.rdf.sparql.texts import asks, has_dataset, is_update, query_errors, refuse
from tidelog.rdf.sparql.updating import UpdateDraft
from tidelog.rdf.sparql.views import parts, program, refuse_taken, with_functions
from tidelog.rdf.terms import NESTED, XSD, ntriples, term
from tidelog.rdf.verbs import StoredQuad, TripleVerbs, apply_changes

if TYPE_CHECKING:
    from tidelog.rdf.proofs import TripleProof

_QUERY = "<query>"
_DEEP = 2_000
"""Characters of a text that may be nested too deeply for pyoxigraph, which would end the process that evaluates it."""
_OPTIONS = ("timeout", "inferred", "base", "default_graphs", "named_graphs")


class SparqlVerbs(TripleVerbs):
    """Verbs over a mirror of the triples in pyoxigraph."""

    _mirror: Mirror

    def update(
        self,
        text: str,
        /,
        *,
        inferred: bool = False,
        timeout: float | None = None,
        base: str | None = None,
        default_graphs: Sequence[str] | None = None,
        named_graphs: Sequence[str] | None = None,
    ) -> StoreChange:
        """Run an update in SPARQL as one transaction, and return its change.

        Each operation sees what those before it have asserted and retracted; with `inferred`, patterns also match the
        triples that follow as of the last commit. `timeout` in seconds is for each pattern, by default that of
        `options`. LOAD reads files, in the formats of `insert`. With `default_graphs` or `named_graphs`, patterns match
        the union of the former, and the latter behind GRAPH, as with USING.

        Raise ProgramError (E0664, with the place), UsageError (E0665: the mirror is off, E0666: SERVICE, E0667: a
        triple to delete follows from others, E0668, E0669: unknown graph), DataError of LOAD, LimitError (E0501), and
        as `transaction`. Then nothing has changed.
        """
        with self.transaction() as block:
            graphs = {"default_graphs": default_graphs, "named_graphs": named_graphs}
            apply_changes(block, self.draft_update(text, inferred=inferred, timeout=timeout, base=base, **graphs))
        assert block.change is not None
        return block.change

    def draft_update(
        self,
        text: str,
        /,
        *,
        inferred: bool = False,
        timeout: float | None = None,
        base: str | None = None,
        default_graphs: Sequence[str] | None = None,
        named_graphs: Sequence[str] | None = None,
    ) -> dict[StoredQuad, bool]:
        """Return the quads that `update` would insert, with True, and those that it would delete, with False; change
        nothing, and raise as `update`."""
        given: object = text
        if not isinstance(given, str):
            raise wrong_argument("an update", "the text of an update in SPARQL", text)
        seconds, is_inferred, start = self._query_options({"timeout": timeout, "inferred": inferred, "base": base})
        chosen = _dataset_options(default_graphs, named_graphs)
        if asks(text):
            raise UsageError(Problem("E0664", "this text is a query, not an update", hint="pass it to `store.query`"))
        refuse(text, NAME)
        with self.turns.changing, changing_within_memory:
            with self._share_mirror() as copy:
                mirror = copy.store  # It stays as it is: only commits change it.
                checked = CheckedUpdate(text, self._declared_prefixes, start)
                first = TimedQuery(copy, checked, seconds) if self._is_long(text) else None
            with query_errors(text, NAME):
                if first is not None:
                    first.answer()
                check(text, self._declared_prefixes, start)
            ask, follows = partial(self._evaluate_plan, copy, seconds), partial(self._is_inferred, mirror)
            wider = partial(self._asked_wider, copy, seconds)
            draft = UpdateDraft(mirror, ask, self._labels, is_inferred, chosen, follows, wider)
            with query_errors(text, NAME):
                for operation in operations(text, self._declared_prefixes, start):
                    draft.run(operation)
            if (lacking := draft.undeletable_quad) is not None:
                raise self._follows(lacking)
            found = draft.changes.items()
            return {each: is_there for quad, is_there in found for each in self._stored_spellings(quad, is_there)}

    def _is_inferred(self, mirror: Any, quad: Any) -> bool:
        """Return True for a quad of pyoxigraph that is not asserted, but follows."""
        oxigraph = load()
        return oxigraph.Quad(*quad.triple, oxigraph.NamedNode(INFERRED)) in mirror

    def _asked_wider(
        self, copy: MirrorCopy, seconds: float | None, plan: SparqlPlan, draft: UpdateDraft
    ) -> FoundTerms | None:
        """Return the answer to a query of an update over what follows as well; None if nothing follows."""
        has_inferred = copy.store.contains_named_graph(load().NamedNode(INFERRED))
        return self._evaluate_plan(copy, seconds, plan, draft) if has_inferred else None

    def _proven(self, triple: tuple[str, str, str], graph: str) -> TripleProof:
        """Return why a triple holds in a graph."""
        return self.explain(*triple)

    def _evaluate_plan(
        self, copy: MirrorCopy, seconds: float | None, plan: SparqlPlan, draft: UpdateDraft
    ) -> FoundTerms:
        """Return the answer to a query over the mirror with the changes of a draft, which it has while the query
        begins."""
        if not draft.changes:
            copy.gate.enter()
            try:
                running = self._begin_evaluation(copy, plan, seconds)
            finally:
                copy.gate.leave()
        else:
            with copy.gate.exclusive(), draft.in_mirror():
                running = self._begin_evaluation(copy, plan, seconds)
        return running.answer() if isinstance(running, TimedQuery) else collect_terms(running)

    def _mirror_for(self, *, inferred: bool) -> Mirror:
        """Return the mirror that has the triples that follow, or one that need not have them."""
        return self._mirror

    @contextmanager
    def _share_mirror(self, union: bool = False, *, inferred: bool = False) -> Iterator[MirrorCopy]:
        """Share the mirror of the last epoch inside the block, in which nobody changes it."""
        self._check_usable()
        mirror = self._mirror_for(inferred=inferred)
        copy = mirror.fresh(union)
        if copy is None:
            with self._hold_turn(), changing_within_memory:
                copy = mirror.share(union)
        try:
            yield copy
        finally:
            copy.gate.leave()

    def _begin_evaluation(self, copy: MirrorCopy, plan: SparqlPlan, seconds: float | None) -> Any:
        """Return a query that has begun: pyoxigraph's results, or `TimedQuery` if another process evaluates it."""
        is_apart = seconds is not None or self._is_long(plan.text)
        return TimedQuery(copy, plan, seconds) if is_apart else plan.start(copy.store)

    def _is_long(self, text: str) -> bool:
        """Return True for a text that another process reads and evaluates. None can where the mirror is on disk."""
        return len(text) > _DEEP and not self._mirror.is_on_disk

    def _stored_spellings(self, quad: Any, is_there: bool) -> Iterator[StoredQuad]:
        """Yield a quad to insert or to delete in the spelling of the store: pyoxigraph has lost that of numbers, dates
        and truth values."""
        graph = symbol_of(quad.graph_name)
        subject, predicate, value = map(symbol_of, quad.triple)
        if is_there or f'"^^<{XSD}' not in value:
            yield subject, predicate, value, graph
            return
        for row in self.quads(subject, predicate, None, graph):
            if row[2] == value or _as_kept(str(row[2])) == quad.object:
                yield subject, predicate, str(row[2]), graph

    def _follows(self, quad: Any) -> UsageError:
        """Return the error about the deletion of a triple that was not asserted, but follows."""
        subject, predicate, value = map(symbol_of, quad.triple)
        message = f"cannot delete {quad.triple}: it follows from other triples"
        try:
            proof = self._proven((subject, predicate, value), symbol_of(quad.graph_name))
            facts = " . ".join(" ".join(map(ntriples, triple)) for triple in proof.triples)
            hint = f"delete one of those from which it follows: {facts}"
        except TidelogError:  # no proof within the limits of the store
            hint = "store.ways_to_remove(subject, predicate, object) finds the triples to delete"
        return UsageError(Problem("E0667", message, hint=hint))

    def view(self, name: str, text: str, /) -> None:
        """Add a view from the next `commit` on: the relation `name`, whose rows are those of a SELECT or CONSTRUCT.

        Its columns are symbols, with the empty text where a variable has no value. It has each row once, and sees the
        union of all graphs with what follows. The triples of a CONSTRUCT are its rows, and follow from now on, as those
        of rules do. Raise ProgramError (E0664, or E0301 and the like for a recursion that no rule may have), UsageError
        (E0663: the name is taken, or the view cannot be maintained, for the reason that the message gives; E0666:
        SERVICE), SetupError (E0790).
        """
        given: object = text
        if not isinstance(given, str):
            raise wrong_argument("a view", "the text of a SELECT or CONSTRUCT in SPARQL", text)
        with self._hold_change_turn(), changing_within_memory:
            rules = program(name, text, self._declared_prefixes)
            refuse_taken(name, self._database.program)
            if f"{GRAPH}(" in rules:
                self._quads.declare()
            try:
                self.load(with_functions(rules, self._database, FUNCTIONS))
            except (ProgramError, RecursionError) as error:
                raise too_large(name, error) from None

    def drop_view(self, name: str, /) -> None:
        """Remove a view from the next `commit` on, with its rows.

        Raise UsageError (E0601) if there is no such view, ProgramError if rules or other views read it.
        """
        with self._hold_change_turn(), changing_within_memory:
            workspace = self._database.workspace
            workspace.remove_relations(*parts(name, workspace.program))

    @abstractmethod
    def _load_view(self, text: str) -> None:
        """Add the rules of a view, from the cache of programs if they are there. Raise as `load`."""

    @abstractmethod
    def load(self, program: str | os.PathLike[str], *, replace: bool = False) -> None:
        """Add rules."""

    def _solutions(self, text: str, given: Mapping[str, Any]) -> Solutions:
        """Return the answer to a query in SPARQL."""
        parameters = dict(given)
        options: dict[str, Any] = {name: parameters.pop(name) for name in _OPTIONS if name in parameters}
        union = flag("union", parameters.pop("union", False))
        seconds, inferred, base = self._query_options(options)
        if is_update(text):
            raise UsageError(Problem("E0664", "this text is an update, not a query", hint="pass it to `store.update`"))
        chosen = _dataset_options(options.get("default_graphs"), options.get("named_graphs"))
        refuse(text, _QUERY)
        asked = {"base_iri": base, "prefixes": self._declared_prefixes, "substitutions": _substitutions(parameters)}
        with self._share_mirror(union, inferred=inferred) as copy:
            more = chosen or ({} if has_dataset(text) else dataset(copy.store, inferred, union))
            with query_errors(text, _QUERY, **asked):
                plan = SparqlPlan(text, {**asked, **more})
                running = self._begin_evaluation(copy, plan, seconds)
        with reading_within_memory, query_errors(text, _QUERY, **asked):
            found = running.answer() if isinstance(running, TimedQuery) else collect_terms(running)
        return Solutions(found, self.prefixes)

    def answer_in_process(
        self,
        text: str,
        formats: Mapping[str, str | None],
        taking: Callable[[MirrorCopy], QueryProcess],
        /,
        **limits: Any,
    ) -> QueryProcess:
        """Return a process that answers a query in SPARQL piece by piece, as text in the format for its form; `taking`
        makes it for a copy of the mirror, or finds one that has this copy. For modules of this package.

        `limits` are the number of `rows`, and `base`, `default_graphs` and `named_graphs` of `query`. Raise as `query`,
        and UsageError (E0668) for a mirror on disk.
        """
        rows = limits.pop("rows", None)
        if self._mirror.is_on_disk:
            hint = "keep the mirror in memory"
            raise UsageError(Problem("E0668", "a query over a mirror on disk cannot be stopped", hint=hint))
        chosen = _dataset_options(limits.get("default_graphs"), limits.get("named_graphs"))
        refuse(text, _QUERY)
        with self._share_mirror(inferred=True) as copy:
            more = chosen or ({} if has_dataset(text) else dataset(copy.store, inferred=True))
            process = taking(copy)
        plan = SparqlPlan(text, {"base_iri": limits.get("base"), "prefixes": self._declared_prefixes, **more})
        process.ask(plan, AnswerFormats(formats, self.prefixes, rows))
        return process

    @property
    def _declared_prefixes(self) -> dict[str, str]:
        """Return the prefixes that have an IRI."""
        return {name: iri for name, iri in self.prefixes.items() if iri}

    def _query_options(self, options: Mapping[str, Any]) -> tuple[float | None, bool, str | None]:
        """Return time limit, whether inferred triples count, and base. Raise UsageError for wrong values (E0603)."""
        seconds = options.get("timeout")
        if self._mirror.is_on_disk:
            if seconds is not None:
                hint = "leave out `timeout`, or keep the mirror in memory"
                raise UsageError(Problem("E0668", "a query over a mirror on disk cannot be stopped", hint=hint))
        elif seconds is None:
            seconds = self._options.timeout
        if seconds is not None and (
            isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0
        ):
            hint = "pass seconds, or None for no limit"
            raise UsageError(Problem("E0603", f"timeout must be a positive number, found {quote(seconds)}", hint=hint))
        inferred, base = flag("inferred", options.get("inferred", True)), options.get("base")
        if base is not None and not isinstance(base, str):
            raise wrong_argument("base", "the text of an IRI", base)
        return seconds, inferred, base

    def _note(self, pending: list[PendingQuads], change: StoreChange, has_facts: bool) -> None:
        """Let the mirror know what a commit may have changed. One that has facts of programs tells less, so that a new
        mirror is made."""
        if has_facts:
            self._mirror.drop()
        if self._mirror.is_there:
            inserted, deleted = change.words()
            triples = numpy.concatenate([inserted, deleted, *(each.words for each in pending)])
            self._mirror.note(triples, change.rows_of(GRAPH))


def _dataset_options(default_graphs: object, named_graphs: object) -> dict[str, Any]:
    """Return the graphs that a call names, as pyoxigraph takes them; nothing if it names none. Raise UsageError (E0635)
    and DataError (E0465) for wrong names."""
    if default_graphs is None and named_graphs is None:
        return {}
    return {"default_graph": _graphs(default_graphs), "named_graphs": _graphs(named_graphs)}


def _graphs(given: object) -> list[Any]:
    if given is None:
        return []
    if not isinstance(given, (list, tuple)) or not all(isinstance(name, str) for name in given):
        raise wrong_argument("the graphs of a query", "a list of IRIs", given)
    for name in given:
        check_graph(name)
    return [_node(name) for name in given]


def _substitutions(parameters: Mapping[str, Any]) -> dict[Any, Any]:
    """Return values of variables for pyoxigraph. Raise UsageError (E0612) for a name that no variable can have,
    DataError (E0465)."""
    found = {}
    for name, value in parameters.items():
        try:
            variable = load().Variable(name)
        except ValueError:
            hint = "leave out `?` and `$` in front of the name"
            raise UsageError(Problem("E0612", f"no variable has the name {name!r}", hint=hint)) from None
        found[variable] = _node(term(value))
    return found


def _as_kept(symbol: str) -> Any:
    """Return a term as pyoxigraph's store keeps it."""
    store, name = load().Store(), named_graph("urn:tidelog:kept")
    store.add(load().Quad(name, name, _node(symbol)))
    return next(iter(store)).object


def _node(symbol: str) -> Any:
    """Return a symbol as a term of pyoxigraph."""
    oxigraph = load()
    try:
        if not symbol.startswith(('"', NESTED)):
            return named_graph(symbol)
        (quad,) = oxigraph.parse(f"<x:s> <x:p> {symbol} .".encode(), oxigraph.RdfFormat.N_TRIPLES)
    except ValueError:
        hint = "pass an absolute IRI such as http://example.org/a, a blank node or a literal"
        raise DataError(Problem("E0465", f"not an RDF term: {symbol}", hint=hint)) from None
    return quad.object
