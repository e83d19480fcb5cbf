"""`Solutions`: the answer to a query in SPARQL, as a relation and as text."""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.errors import Problem, UsageError, quote
from tidelog.io.relation import Relation
from tidelog.rdf import output
from tidelog.rdf.formats import load
from tidelog.rdf.sparql.evaluation import FoundTerms
from tidelog.rdf.terms import ntriples

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
