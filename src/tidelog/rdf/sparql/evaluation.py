"""A query over a mirror, evaluated to rows of terms, or to the text of an answer piece by piece; and `Solutions`, its
answer for users.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from tidelog.errors import LimitError, Problem, UsageError, quote
from tidelog.io.relation import Relation
from tidelog.rdf import output
from tidelog.rdf.formats import INFERRED, format_of, load
from tidelog.rdf.sparql.mirror import MERGED, named_graphs
from tidelog.rdf.sparql.texts import name_columns, selects_all, variables
from tidelog.rdf.terms import NESTED, ntriples

_FORMS = {"QuerySolutions": "SELECT", "QueryBoolean": "ASK", "QueryTriples": "CONSTRUCT"}
_XML_NAME = re.compile(r"[^\W\d][\w.-]*$")


@dataclass(frozen=True)
class SparqlPlan:
    """A query that has been checked, with its options as pyoxigraph takes them."""

    text: str
    options: Mapping[str, Any]

    def start(self, mirror: Any) -> Any:
        """Return pyoxigraph's results over a mirror, which stay those of this moment, with their columns in the order
        of the text, also for `SELECT *`."""
        text = self.text
        if selects_all(text):
            given = [each.value for each in load().Store().query(text, **self.options).variables]
            order = variables(text)
            text = name_columns(text, sorted(given, key=order.index))
        return mirror.query(text, **self.options)


@dataclass(frozen=True)
class FoundTerms:
    """The answer to a query: its form, SELECT, ASK or CONSTRUCT, the names of the columns, and a list of symbols for
    each of them. The empty text stands where a variable has no value. `count` is the number of rows."""

    form: str
    names: tuple[str, ...]
    columns: tuple[list[str], ...]
    count: int


def dataset(mirror: Any, inferred: bool, union: bool = False) -> dict[str, Any]:
    """Return the graphs of a query that names none: as the default graph the default graph, with what follows and the
    triples of named graphs or without, and all named ones."""
    oxigraph = load()
    graphs = [oxigraph.NamedNode(name) for name, is_asked in ((INFERRED, inferred), (MERGED, union)) if is_asked]
    return {"default_graph": [oxigraph.DefaultGraph(), *graphs], "named_graphs": named_graphs(mirror)}


def collect_terms(results: Any) -> FoundTerms:
    """Return the answer in pyoxigraph's results."""
    form = _FORMS[type(results).__name__]
    if form == "ASK":
        return FoundTerms(form, (), (), int(bool(results)))
    if form == "SELECT":
        names = tuple(variable.value for variable in results.variables)
    else:
        names = ("subject", "predicate", "object")
        results = dict.fromkeys(results)
    rows = [[symbol_of(value) for value in row] for row in results]
    columns = tuple(list(column) for column in zip(*rows, strict=True)) if rows else tuple([] for _ in names)
    return FoundTerms(form, names, columns, len(rows))


def symbol_of(value: Any) -> str:
    """Return the symbol of a term of pyoxigraph, the empty text for none."""
    kind = type(value).__name__
    if kind == "NamedNode":
        return str(value.value)
    if kind == "Triple":
        return f"{NESTED} {value} )>>"
    return "" if value is None or kind == "DefaultGraph" else str(value)


# --- answers as text -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AnswerFormats:
    """The formats of an answer by its form, as `Solutions.to_text` takes them, None for none; the prefixes of triples;
    and the largest number of rows."""

    by_form: Mapping[str, str | None]
    prefixes: Mapping[str, str]
    rows: int | None = None


class NoFormat(UsageError):
    """The error about an answer that its format cannot have (E0694)."""


def write(start: Callable[[], Any], formats: AnswerFormats, begin: Callable[[str], object], out: Any) -> None:
    """Write the answer to a query to a binary file, piece by piece; `begin` gets its form: SELECT, ASK or CONSTRUCT.

    Raise what pyoxigraph raises, NoFormat (E0694) for a form without a format and for triples that RDF/XML cannot
    write, and LimitError (E0502) for more rows than the limit, before the first byte.
    """
    oxigraph, results = load(), start()
    form = _FORMS[type(results).__name__]
    begin(form)
    name = formats.by_form[form]
    if name is None:
        raise NoFormat(Problem("E0694", f"the answer to {form} has no such format", hint="accept another format"))
    if formats.rows is not None and form != "ASK":
        if sum(1 for _ in islice(results, formats.rows + 1)) > formats.rows:
            hint = "ask for less, for example with LIMIT and OFFSET"
            raise LimitError(Problem("E0502", f"the answer has more than {formats.rows:,} rows", hint=hint))
        results = start()
    if form == "CONSTRUCT":
        triples = _distinct(results) if name != "rdfxml" else named_for_xml(_distinct(results))
        used = {prefix: iri for prefix, iri in formats.prefixes.items() if iri}
        oxigraph.serialize(triples, out, format=getattr(oxigraph.RdfFormat, format_of(name)), prefixes=used)
    else:
        results.serialize(out, format=getattr(oxigraph.QueryResultsFormat, name.upper()))


def _distinct(triples: Iterator[Any]) -> Iterator[Any]:
    """Yield each triple once: CONSTRUCT makes some of them several times."""
    seen = set()
    for triple in triples:
        if triple not in seen:
            seen.add(triple)
            yield triple


def named_for_xml(triples: Iterator[Any]) -> Iterator[Any]:
    """Yield triples. Raise NoFormat (E0694) for one whose predicate has no name in XML."""
    for triple in triples:
        if not _XML_NAME.search(triple.predicate.value):
            message = f"RDF/XML has no name for the predicate {triple.predicate}"
            raise NoFormat(Problem("E0694", message, hint="accept application/n-triples"))
        yield triple


_FORMATS = {
    "json": "JSON", "srj": "JSON", "application/sparql-results+json": "JSON",
    "xml": "XML", "srx": "XML", "application/sparql-results+xml": "XML",
    "csv": "CSV", "text/csv": "CSV",
    "tsv": "TSV", "text/tab-separated-values": "TSV",
}  # fmt: skip


class Solutions(Relation):
    """The rows that a query in SPARQL has found, in its order and as often as it gives them.

    SELECT has a column for each variable, with the empty text where it has no value. CONSTRUCT and DESCRIBE have
    triples. ASK has no columns, and one row if the answer is yes: so its truth value is the answer.
    """

    def __init__(self, found: FoundTerms, prefixes: Mapping[str, str]) -> None:
        super().__init__(found.form.lower(), output.rows(found.names, found.columns, found.count))
        self.form = found.form
        """SELECT, ASK or CONSTRUCT."""
        self._prefixes = dict(prefixes)

    def to_text(self, format: str | None = None) -> str:
        """Return the answer as json, xml, csv or tsv; triples as turtle or ntriples, as `Store.to_text` does.

        The default is json, and turtle for triples. Raise UsageError (E0660) for a format that does not fit.
        """
        if self.form == "CONSTRUCT":
            return output.text(self, None, format or "turtle", self._prefixes).decode()
        form = _FORMATS.get((format or "json").lower()) if isinstance(format, str | None) else None
        if form is None or (self.form == "ASK" and form in ("CSV", "TSV")):
            usable = "json or xml" if self.form == "ASK" else "json, xml, csv or tsv"
            message = f"{self.form} has no results of the format {quote(format)}"
            raise UsageError(Problem("E0660", message, hint=f"use {usable}"))
        oxigraph = load()
        if self.form == "ASK":
            given, source = f'{{"head":{{}},"boolean":{"true" if len(self) else "false"}}}', "JSON"
        else:
            lines = ["\t".join(f"?{column.name}" for column in self.columns)]
            lines += ["\t".join(ntriples(str(term)) if term else "" for term in row) for row in self]
            given, source = "".join(f"{line}\n" for line in lines), "TSV"
        formats = oxigraph.QueryResultsFormat
        results = oxigraph.parse_query_results(given, getattr(formats, source))
        written: bytes = results.serialize(format=getattr(formats, form))
        return written.decode()
