"""The report of a validation: rows of views of violations, as results and as a graph of SHACL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from tidelog.errors import Problem
from tidelog.io.relation import Relation
from tidelog.rdf import output
from tidelog.rdf.names import COLON
from tidelog.rdf.shapes.compiling import MESSAGES, WARNINGS
from tidelog.rdf.shapes.evaluating import QUERIES, Ask, StoredQuery
from tidelog.rdf.shapes.paths import path_triples
from tidelog.rdf.shapes.vocabulary import SH, SPARQL
from tidelog.rdf.terms import TYPE, literal
from tidelog.rdf.values import parts

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
    """Return the messages of each shape."""
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
