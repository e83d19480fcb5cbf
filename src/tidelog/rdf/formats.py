"""The formats of RDF: their names, the endings of files, and the library that reads and writes them."""

from __future__ import annotations

import os
import re
from codecs import BOM_UTF8
from typing import Any

from tidelog.errors import Problem, SetupError, UsageError, how_to_install, quote

FORMATS = {
    "turtle": "TURTLE", "ttl": "TURTLE", "text/turtle": "TURTLE", "n3": "TURTLE", "text/n3": "TURTLE",
    "ntriples": "N_TRIPLES", "nt": "N_TRIPLES", "application/n-triples": "N_TRIPLES",
    "nquads": "N_QUADS", "nq": "N_QUADS", "application/n-quads": "N_QUADS",
    "trig": "TRIG", "application/trig": "TRIG",
    "jsonld": "JSON_LD", "application/ld+json": "JSON_LD",
    "rdfxml": "RDF_XML", "xml": "RDF_XML", "rdf": "RDF_XML", "owl": "RDF_XML", "application/rdf+xml": "RDF_XML",
}  # fmt: skip
"""Names of formats, which are also the endings of files, and what pyoxigraph calls them."""
TITLES = {
    "TURTLE": "Turtle", "N_TRIPLES": "N-Triples", "N_QUADS": "N-Quads", "TRIG": "TriG", "JSON_LD": "JSON-LD",
    "RDF_XML": "RDF/XML",
}  # fmt: skip
"""The names of the formats in messages."""
_BEGINNINGS = (
    ("OWL/XML", "", rb"(?s)(?=<)(?!.*(?:<rdf:RDF|\srdf:about)\b).*?<(?:\w+:)?Ontology\s"),
    ("the functional syntax of OWL", "", rb"(?:Prefix|Ontology)\s*\("),
    ("Manchester syntax", "", rb"(?:Prefix|Ontology):\s"),
    ("OBO", "", rb"format-version:"),
    ("RDF/XML", "rdf", rb"<\?xml\b|<!DOCTYPE\b|<!--|<rdf:RDF\b"),
    ("Turtle", "ttl", rb"@(?:prefix|base)\b|(?i:prefix|base)\s+[\w.-]*:?\s*<"),
    ("JSON-LD", "jsonld", rb"[\[{][\[{\s]*\""),
)
"""Syntaxes of ontologies, the endings of their files if tidelog reads them, and how their texts begin."""
_BEGINNING = 10_000
"""Bytes in which the first element of OWL/XML begins."""
_COMMENTS = re.compile(rb"\A(?:\s|[#!][^\n]*\n)*")
_CONVERT = "convert it to Turtle or RDF/XML, for example with ROBOT or Protégé"
_PACKED = ".gz"
INFERRED = "urn:tidelog:inferred"
"""The graph of N-Quads that holds what follows; it is not read."""


def format_of(name: str) -> str:
    """Return the format of pyoxigraph for a name like `turtle`, `Turtle` or `N-Triples`. Raise UsageError (E0660) for
    others."""
    found = FORMATS.get(name) or FORMATS.get(name.lower().replace("-", "")) if isinstance(name, str) else None
    if found is None:
        hint = "use turtle, ntriples, nquads, trig, jsonld or rdfxml"
        raise UsageError(Problem("E0660", f"unknown RDF format {quote(name)}", hint=hint))
    return found


def mistaken(text: bytes, format: str) -> tuple[str, str] | None:
    """Return a message and a hint if a text that is not in a format of pyoxigraph begins like another syntax."""
    start = _COMMENTS.sub(b"", text.removeprefix(BOM_UTF8)[:_BEGINNING])
    found = next(((name, ending) for name, ending, begins in _BEGINNINGS if re.match(begins, start)), None)
    if found is None or found[0] == ("Turtle" if format == "TRIG" else TITLES[format]):  # TriG begins like Turtle.
        return None
    name, ending = found
    hint = f'pass format="{ending}", or name the file .{ending}'
    return f"expected {TITLES[format]}, found {name}", hint if ending else _CONVERT


def ending_of(path: str | os.PathLike[str]) -> str:
    """Return the ending of a file's name that gives its format, without `.gz`."""
    return os.fspath(path).removesuffix(_PACKED).rpartition(".")[2].lower()


def is_packed(path: str | os.PathLike[str]) -> bool:
    """Return True if the name of a file says that gzip has packed it."""
    return os.fspath(path).endswith(_PACKED)


def load() -> Any:
    """Return the module pyoxigraph. Raise SetupError (E0790) if it is not installed."""
    try:
        import pyoxigraph
    except ImportError:
        raise missing_library("pyoxigraph") from None
    return pyoxigraph


def missing_library(library: str) -> SetupError:
    """Return the error (E0790) about a library that is not installed."""
    message = f"this needs {library}, which is not installed"
    return SetupError(Problem("E0790", message, hint=how_to_install("rdf")))
