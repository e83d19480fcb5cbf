"""RDF terms as symbols: an IRI is its text, a blank node begins with `_:`, a literal with a quotation mark, a triple as
a term with `<<(`; these two are in the form of canonical N-Triples. So no two sorts of terms can be confused, and every
literal comes out as it went in, with its datatype and spelling.

Texts of RDF have been read by pyoxigraph before they come here; `term` also takes the terms of pyoxigraph and rdflib,
and Python's numbers, dates, times and truth values.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time
from decimal import Decimal
from types import NoneType
from typing import Any

from tidelog.errors import DataError, Problem, quote, wrong_argument
from tidelog.rdf.depth import TERMS, too_deep
from tidelog.rdf.formats import load

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
XSD = "http://www.w3.org/2001/XMLSchema#"
NESTED = "<<("
"""The beginning of a triple that is a term, as in RDF 1.2: it ends with `)>>` and has N-Triples between."""
IS_RESOURCE, IS_LITERAL = ' >= "@"', ' < "@"'
"""Ends of conditions about a term: literals and triples come before "@" in the order of symbols, others behind it."""
PREFIXES = {"rdf": RDF, "rdfs": RDFS, "owl": OWL, "xsd": XSD}
TYPE = f"{RDF}type"
SAME_AS = f"{OWL}sameAs"

_ESCAPES = str.maketrans(
    {
        **{chr(code): f"\\u{code:04X}" for code in (*range(32), 127)},
        "\t": r"\t",
        "\b": r"\b",
        "\n": r"\n",
        "\r": r"\r",
        "\f": r"\f",
        '"': r"\"",
        "\\": r"\\",
    }
)
_LANGUAGE = re.compile(
    "[a-z]{2,3}(?:-[a-z]{3}){0,3}(?:-[a-z]{4})?(?:-(?:[a-z]{2}|[0-9]{3}))?(?:-(?:[a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*"
    "(?:-[0-9a-wyz](?:-[a-z0-9]{2,8})+)*(?:-x(?:-[a-z0-9]{1,8})+)?|x(?:-[a-z0-9]{1,8})+"
)
_UNESCAPED = re.compile(r'"[^"\\\x00-\x1f\x7f]*"')
_DATATYPES = ((bool, "boolean"), (int, "integer"), (float, "double"), (Decimal, "decimal"))
_DATES = ((datetime, "dateTime"), (date, "date"), (time, "time"))


def literal(value: object, datatype: str | None = None, language: str | None = None) -> str:
    """Return the text of a literal: a string (with a language, or a datatype by its IRI), a number, a truth value, a
    date or time.

    Numbers, truth values, dates and times have the datatypes of XML Schema that Turtle and rdflib give them. Raise
    DataError (E0465) for an invalid tag of a language, UsageError (E0635) for tags and datatypes that are no texts.

    >>> literal("chat", language="fr"), literal(5)
    ('"chat"@fr', '"5"^^<http://www.w3.org/2001/XMLSchema#integer>')
    """
    for what, text in {"datatype": datatype, "language": language}.items():
        if not isinstance(text, (str, NoneType)):
            raise wrong_argument(f"a {what}", "a text", text)
    if isinstance(value, (int, Decimal)):  # Python's texts of integers have at most 4,300 digits.
        lexical = str(value).lower() if isinstance(value, bool) else format(Decimal(value), "f")
    else:
        lexical = str(value)
    if isinstance(value, float):
        lexical = {"inf": "INF", "-inf": "-INF", "nan": "NaN"}.get(lexical, lexical)
    for kind, name in _DATES:
        if datatype is None and isinstance(value, kind):
            lexical, datatype = value.isoformat(), XSD + name
    for python_type, name in _DATATYPES:
        if datatype is None and isinstance(value, python_type):
            datatype = XSD + name
    quoted = f'"{lexical.translate(_ESCAPES)}"'
    if language:
        if not _LANGUAGE.fullmatch(language.lower()):
            hint = "use a language tag such as fr or en-gb"
            raise DataError(Problem("E0465", f"{language!r} is not a language tag", hint=hint))
        return f"{quoted}@{language.lower()}"
    return quoted if datatype in (None, f"{XSD}string") else f"{quoted}^^<{datatype}>"


def term(value: Any) -> str:
    """Return the symbol of a term: the text of an IRI (with or without angle brackets), a blank node (`_:…`), a literal
    in N-Triples; a term of rdflib or pyoxigraph; a number, truth value, date or time. Raise DataError (E0465) for
    others."""
    module = type(value).__module__.partition(".")[0]
    if module == "rdflib" and hasattr(value, "n3"):
        return _from_rdflib(value)
    if module == "pyoxigraph":
        return f"{NESTED} {value} )>>" if type(value).__name__ == "Triple" else term(str(value))
    if isinstance(value, (bool, int, float, Decimal, date, time)):
        return literal(value)
    if not isinstance(value, str) or not value:
        message = f"expected a term, found {quote(value)}"
        hint = "pass the text of an IRI, `_:name`, or a literal made by tidelog.rdf.literal"
        raise DataError(Problem("E0465", message, hint=hint))
    if value.startswith("<") and value.endswith(">") and not value.startswith(NESTED):
        return value[1:-1]
    if value.startswith(('"', NESTED)) and not _UNESCAPED.fullmatch(value):
        return _canonical(value)
    return value


def _from_rdflib(value: Any) -> str:
    kind = type(value).__name__
    if kind == "Literal":
        return literal(str(value), str(value.datatype) if value.datatype else None, value.language)
    return f"_:{value}" if kind == "BNode" else str(value)


def _canonical(text: str) -> str:
    """Return a literal or a triple as pyoxigraph writes it. Raise DataError (E0465) if it cannot read it."""
    oxigraph = load()
    line = f"<x:s> <x:p> {text} .".encode(errors="surrogatepass")
    if too_deep(line, "N_TRIPLES") is not None:
        message, hint = TERMS
        raise DataError(Problem("E0465", message, hint=hint))
    try:
        (quad,) = oxigraph.parse(line, oxigraph.RdfFormat.N_TRIPLES)
    except (SyntaxError, ValueError):
        kind = "triple" if text.startswith(NESTED) else "literal"
        hint = "make literals with tidelog.rdf.literal, and write a triple as `<<( <subject> <predicate> object )>>`"
        raise DataError(Problem("E0465", f"not an RDF {kind}: {text}", hint=hint)) from None
    return term(quad.object) if text.startswith(NESTED) else str(quad.object)


def is_iri(symbol: str) -> bool:
    """Return True if a term is an IRI."""
    return not symbol.startswith(('"', "_:", NESTED))


def ntriples(symbol: str) -> str:
    """Return a term as N-Triples has it."""
    return f"<{symbol}>" if is_iri(symbol) else symbol


def shown_term(rdflib_term: Any) -> str:
    """Return a term of rdflib for a message. rdflib itself raises where an IRI has characters that none may have."""
    try:
        return str(rdflib_term.n3())
    except Exception:  # It has no class of its own.
        return str(rdflib_term)
