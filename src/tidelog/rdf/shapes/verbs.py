"""The verbs of a store about shapes, for which `Store` has the rest; and the report of a validation: rows of views of
violations, as results and as a graph of SHACL.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from tidelog.errors import LimitError, Problem, ProgramError, ShapesWarning, UsageError, flag, quote_name
from tidelog.io.relation import Relation
from tidelog.limits.watch import changing_within_memory, reading_within_memory
from tidelog.rdf import output
from tidelog.rdf.change import StoreChange
from tidelog.rdf.literals import parts
from tidelog.rdf.names import COLON
from tidelog.rdf.shapes.compiling import COLUMNS, MESSAGES, WARNINGS, ShapeCompiler
from tidelog.rdf.shapes.documents import SH, SPARQL, ShapesGraph
from tidelog.rdf.shapes.paths import path_triples
from tidelog.rdf.shapes.queries import QUERIES, Ask, StoredQuery
from tidelog.rdf.shapes.shape import knowable, read_shapes
from tidelog.rdf.shapes.testing import FUNCTIONS
from tidelog.rdf.sparql.bodies import Unsupported, too_large
from tidelog.rdf.sparql.computing import FUNCTIONS as SPARQL_FUNCTIONS
from tidelog.rdf.sparql.evaluation import dataset
from tidelog.rdf.sparql.texts import query_errors
from tidelog.rdf.sparql.verbs import SparqlVerbs
from tidelog.rdf.sparql.views import refuse_taken, refuse_wrong, with_functions
from tidelog.rdf.terms import TYPE, literal

if TYPE_CHECKING:
    import rdflib


class ValidationResult(NamedTuple):
    """A violation: terms, with the empty text where a part is missing. `path` is an IRI, or a path as SPARQL writes it.
    `detail` is the value of the parameter that is violated."""

    focus_node: str
    path: str
    value: str
    source_shape: str
    component: str
    severity: str
    message: str
    detail: str

    def __str__(self) -> str:
        what = " ".join(filter(None, (self.focus_node, self.path, self.value)))
        return f"{what}: {parts(self.message)[0]} ({self.component.removeprefix(SH)})"


def _messages_of(pairs: Iterable[tuple[Any, ...]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for shape, message in pairs:
        found[str(shape)] = (*found.get(str(shape), ()), str(message))
    return found


class ValidationReport:
    """The violations of a commit, in order; `conforms` is True without any."""

    def __init__(
        self,
        names: Iterable[str],
        rows: Callable[[str], Iterable[tuple[Any, ...]]],
        ask: Ask,
        prefixes: Mapping[str, str],
    ) -> None:
        """Make the report of the shapes with some names. `rows` gives those of a relation, none if it is not there;
        `ask` evaluates queries that no view has."""
        queries = [StoredQuery(*row) for name in names for row in rows(f"{name}{COLON}{QUERIES}")]
        evaluated = (row for each in queries for row in each.rows((str(node) for (node,) in rows(each.focus)), ask))
        found = {*evaluated, *(row for name in names for row in rows(name))}
        self.results = tuple(sorted(ValidationResult(*row) for row in found))
        """The violations."""
        self.warnings = tuple(
            Problem("E0659", str(message), place="<shapes>", hint=str(hint), severity="warning")
            for name in names
            for message, hint in rows(f"{name}{COLON}{WARNINGS}")
        )
        """The parts of the shapes that are not validated."""
        self._messages = _messages_of(pair for name in names for pair in rows(f"{name}{COLON}{MESSAGES}"))
        self._prefixes = {**prefixes, "sh": SH}

    @property
    def conforms(self) -> bool:
        """Return True if no shape is violated."""
        return not self.results

    def __iter__(self) -> Iterator[ValidationResult]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __repr__(self) -> str:
        more = f", {len(self.warnings)} warnings" if self.warnings else ""
        return f"<ValidationReport: conforms={self.conforms}, {len(self.results)} results{more}>"

    def triples(self) -> list[tuple[str, str, str]]:
        """Return the report as triples in SHACL's vocabulary: a sh:ValidationReport with its results."""
        numbers = count(1)

        def new() -> str:
            return f"_:r{next(numbers)}"

        report = new()
        found = [(report, TYPE, f"{SH}ValidationReport"), (report, f"{SH}conforms", literal(self.conforms))]
        for each in self.results:
            node = new()
            path, more = path_triples(each.path, new)
            found += [(report, f"{SH}result", node), (node, TYPE, f"{SH}ValidationResult"), *more]
            terms = {
                "focusNode": each.focus_node,
                "resultPath": path,
                "value": each.value,
                "sourceShape": each.source_shape,
                "sourceConstraintComponent": each.component,
                "sourceConstraint": each.detail if each.component == SPARQL else "",
                "resultSeverity": each.severity,
            }
            found += [(node, f"{SH}{name}", term) for name, term in terms.items() if term]
            messages = self._messages.get(each.source_shape, ())
            messages = messages if each.message in messages else (each.message,)
            found += [(node, f"{SH}resultMessage", message) for message in messages]
        return found

    def to_text(self, format: str = "turtle") -> str:
        """Return the report as turtle, ntriples, nquads, trig or jsonld. Raise UsageError (E0660) for others."""
        return output.text(self._relation(), None, format, self._prefixes).decode()

    def to_rdflib(self) -> rdflib.Graph:
        """Return the report as a graph of rdflib. Raise as `Store.to_rdflib`."""
        return output.to_rdflib(self._relation(), self._prefixes)

    def _relation(self) -> Relation:
        triples = self.triples()
        names = ("subject", "predicate", "object")
        return Relation("report", output.rows(names, zip(*triples, strict=True), len(triples)))


class ShapeVerbs(SparqlVerbs):
    """Verbs that validate triples by shapes of SHACL."""

    _asks_nodes: bool

    def shapes(
        self,
        data: Any,
        name: str = "shapes",
        format: str | None = None,
        *,
        base: str | None = None,
        inferred: bool = True,
        strict: bool = False,
    ) -> None:
        """Validate by shapes of SHACL from the next `commit` on: the relation `name` has the violations.

        `data`, `format` and `base` are those of `insert`. The shapes stay apart from the triples of the store. They see
        the union of all graphs with what follows; without `inferred`, asserted triples only. The columns are focus,
        path, value, shape, component, severity, message and detail, all symbols. `validate` returns a report,
        `subscribe` follows the view, `drop_view` removes it.

        Parts that tidelog does not know or validate are passed over with a ShapesWarning (E0659) for each, which the
        report of `validate` has, too; with `strict`, they are errors.

        Raise DataError as `insert`, and E0674 for shapes that are ill-formed; UsageError (E0663: the name is taken,
        E0675: beyond SHACL).
        """
        with self._hold_change_turn(), changing_within_memory:
            refuse_wrong(name)
            refuse_taken(name, self._database.program)
            inferred, strict = flag("inferred", inferred), flag("strict", strict)
            graph = ShapesGraph(data, format, base, self._labels, is_strict=strict)
            infers = any(rule.name in ("cax-sco", "rdfs9") for rule in self._table)
            try:
                shapes = knowable(read_shapes(graph, self._declared_prefixes, inferred=inferred), graph)
                self._refuse_entailment(graph)
                rules = ShapeCompiler(
                    name,
                    shapes,
                    self._names.property if inferred else self._names.asserted_relation,
                    self._names.class_ if inferred and infers else None,
                    graph.warnings,
                    inferred=inferred,
                ).text()
            except Unsupported as error:
                raise _too_much(str(error), "split them among several calls of `store.shapes`") from None
            except RecursionError:
                raise _too_much("a path or a list is nested too deeply", "write the path in fewer steps") from None
            for problem in graph.warnings:
                warnings.warn(str(problem), ShapesWarning, stacklevel=2)
            try:
                self._load_view(with_functions(rules, self._database, (*FUNCTIONS, *SPARQL_FUNCTIONS)))
            except (ProgramError, RecursionError) as error:
                raise too_large(name, error) from None
            self._asks_nodes |= not inferred

    def _refuse_entailment(self, graph: ShapesGraph) -> None:
        """Raise UsageError (E0675) for shapes that need inferences in a store without rules of its own."""
        regimes = [regime for subject in graph.subjects for regime in graph.objects(subject, "entailment")]
        if regimes and not self._table:
            hint = 'connect with rules="rdfs" or rules="owl-rl"'
            message = f"the shapes need the entailment {regimes[0]}, but the store has no rules"
            raise UsageError(Problem("E0675", message, place="<shapes>", hint=hint))

    def validate(self, *names: str) -> ValidationReport:
        """Return the violations of the last commit: of the shapes with some names, or of all.

        Raise UsageError (E0601) if there are no such shapes.
        """
        with self._hold_turn(), reading_within_memory:
            relations = self._database.workspace.committed.checked.relations
            there = [
                name for name, each in relations.items() if tuple(column.name for column in each.columns) == COLUMNS
            ]
            for name in names or there[:1] or ("shapes",):
                if not isinstance(name, str) or name not in there:
                    hint = "add shapes with `store.shapes(…)`, and commit"
                    raise UsageError(Problem("E0601", f"there are no shapes called {quote_name(name)}", hint=hint))
            asked = names or tuple(there)
            return self._report(asked, lambda each: self._database[each] if each in relations else ())

    def validate_change(self, change: StoreChange, name: str) -> ValidationReport:
        """Return the violations that a change of shapes alone brings to those with a name: all, if it brings them. For
        modules of this package."""
        return self._report([name], lambda each: change[each].inserted if change.knows(each) else ())

    def _report(self, names: Sequence[str], rows: Callable[[str], Iterable[tuple[Any, ...]]]) -> ValidationReport:
        """Return the report of shapes, whose relations have certain `rows`, over the triples of the last commit."""
        end = None if self._options.timeout is None else time.monotonic() + self._options.timeout

        def ask(text: str, options: Mapping[str, Any], inferred: bool) -> Any:
            if end is not None and time.monotonic() > end:
                hint = "raise the limit with store.options(timeout=…), or validate fewer nodes"
                message = f"the validation took longer than {self._options.timeout:g} seconds"
                raise LimitError(Problem("E0501", message, hint=hint))
            with self._share_mirror(union=True, inferred=inferred) as copy, query_errors(text, "<shapes>"):
                return copy.store.query(text, **dataset(copy.store, inferred, union=True), **options)

        return ValidationReport(names, rows, ask, self._all_prefixes)


def _too_much(reason: str, hint: str) -> UsageError:
    """Return the error for shapes that no view can have."""
    return UsageError(Problem("E0675", f"the shapes cannot be maintained: {reason}", place="<shapes>", hint=hint))
