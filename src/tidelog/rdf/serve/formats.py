"""The media types of RDF and of the answers to queries in SPARQL."""

from __future__ import annotations

from collections.abc import Callable

from starlette.responses import Response

from tidelog.rdf.formats import load
from tidelog.rdf.sparql.evaluation import named_for_xml
from tidelog.serve.media import MediaFormat

TURTLE = MediaFormat("text/turtle", "turtle")
N_TRIPLES = MediaFormat("application/n-triples", "ntriples")
RDF_XML = MediaFormat("application/rdf+xml", "rdfxml")
TRIPLES = (
    TURTLE,
    N_TRIPLES,
    MediaFormat("application/ld+json", "jsonld"),
    RDF_XML,
    MediaFormat("application/x-turtle", "turtle"),
    MediaFormat("text/plain", "ntriples"),
)
"""Formats of triples, the preferred one first."""
TRUTH = (
    MediaFormat("application/sparql-results+json", "json"),
    MediaFormat("application/sparql-results+xml", "xml"),
    MediaFormat("application/json", "json"),
    MediaFormat("application/xml", "xml"),
    MediaFormat("text/xml", "xml"),
)
"""Formats of the answer to ASK."""
ROWS = (*TRUTH, MediaFormat("text/csv", "csv"), MediaFormat("text/tab-separated-values", "tsv"))
"""Formats of the rows of SELECT."""
READ = (TURTLE, N_TRIPLES, RDF_XML)
"""Formats of triples in requests: those without graphs."""


def written(to_text: Callable[[str], str], format: MediaFormat) -> Response:
    """Return what `to_text` writes in a format. Raise RequestError (E0694, 406) if RDF/XML cannot write a predicate."""
    if format.name == RDF_XML.name:
        oxigraph = load()
        found = (quad.triple for quad in oxigraph.parse(to_text("ntriples"), oxigraph.RdfFormat.N_TRIPLES))
        text: str | bytes = oxigraph.serialize(named_for_xml(found), format=oxigraph.RdfFormat.RDF_XML)
    else:
        text = to_text(format.name)
    return Response(text, headers=headers(format))


def headers(format: MediaFormat) -> dict[str, str]:
    """Return the headers of a response in a format."""
    return {"Content-Type": f"{format.media_type}; charset=utf-8", "Vary": "Accept"}
