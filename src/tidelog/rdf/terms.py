"""RDF terms as symbols: an IRI is its text, a blank node begins with `_:`, a literal with a quotation mark, a triple as
a term with `<<(`; these two are in the form of canonical N-Triples. So no two sorts of terms can be confused, and every
literal comes out as it went in, with its datatype and spelling.

Texts of RDF have been read by pyoxigraph before they come here; `term` also takes the terms of pyoxigraph and rdflib,
and Python's numbers, dates, times and truth values.

`ill_typed` finds literals that are wrong in themselves (rule dt-not-type of OWL 2 RL): one regular expression for each
datatype of XML Schema checks a whole column. `too_deep` finds texts that are nested too deeply: pyoxigraph reads them
by recursion, and the process ends when its stack does.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time
from decimal import Decimal
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy

from tidelog.errors import DataError, Problem, quote, wrong_argument
from tidelog.rdf.formats import load

if TYPE_CHECKING:
    import pyarrow as pa


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
LIST_FIRST, LIST_REST, NIL = f"{RDF}first", f"{RDF}rest", f"{RDF}nil"

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


# --- literals and their datatypes ------------------------------------------------------------------------------------


_INTEGER = r"[+-]?[0-9]+"
_REAL = r"(?:[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN)"
_ZONE = r"(?:Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))?"
_DATE = r"-?(?:[1-9][0-9]{3,}|0[0-9]{3})-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_TIME = r"(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?|24:00:00(?:\.0+)?)"
SPELLINGS = {
    "integer": _INTEGER,
    "decimal": r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)",
    "double": _REAL,
    "float": _REAL,
    "boolean": "true|false|0|1",
    "dateTime": f"{_DATE}T{_TIME}{_ZONE}",
    "dateTimeStamp": f"{_DATE}T{_TIME}(?:Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))",
    "date": f"{_DATE}{_ZONE}",
    "time": f"{_TIME}{_ZONE}",
    "hexBinary": "(?:[0-9A-Fa-f]{2})*",
}
_DIGITS = 40
_BITS = {"byte": 8, "short": 16, "int": 32, "long": 64}
RANGES: dict[str, tuple[int | None, int | None]] = {
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
    **{name: (-(1 << bits - 1), (1 << bits - 1) - 1) for name, bits in _BITS.items()},
    **{f"unsigned{name.capitalize()}": (0, (1 << bits) - 1) for name, bits in _BITS.items()},
}
NUMBERS = {
    **dict.fromkeys((f"{XSD}{name}" for name in ("decimal", "double", "float")), "to_float"),
    **dict.fromkeys((f"{XSD}{name}" for name in ("integer", *RANGES)), "to_number"),
}
"""Datatypes of numbers, and the functor that reads one."""


def ill_typed(literals: pa.Array) -> list[str]:
    """Return the distinct terms of a column that are literals outside of their datatype."""
    import pyarrow.compute as pc

    typed = literals.filter(pc.match_substring(literals, f'"^^<{XSD}'))
    wrong: list[str] = []
    for name, spelling in {**SPELLINGS, **dict.fromkeys(RANGES, _INTEGER)}.items():
        of_type = typed.filter(pc.ends_with(typed, f'"^^<{XSD}{name}>'))
        if not len(of_type):
            continue
        right = pc.match_substring_regex(of_type, f'^"(?:{spelling})"')
        wrong += of_type.filter(pc.invert(right)).to_pylist()
        if name in RANGES:
            wrong += [text for text in of_type.filter(right).to_pylist() if not _is_in_range(text, *RANGES[name])]
    return wrong


def _is_in_range(text: str, low: int | None, high: int | None) -> bool:
    """Return True if the number of an integer literal, which may have any number of digits, is within bounds."""
    spelled = text[1 : text.index('"', 1)]
    digits = spelled.lstrip("+-0")
    size = int(digits or "0") if len(digits) < _DIGITS else 10**_DIGITS
    number = -size if spelled.startswith("-") else size
    return (low is None or number >= low) and (high is None or number <= high)


# --- texts that are nested -------------------------------------------------------------------------------------------


DEEPEST = 500
"""Triple terms around a triple term, or objects and arrays around a value of JSON."""
TERMS = f"triple terms are nested more than {DEEPEST} deep", "give names to the inner ones by rdf:reifies"
VALUES = f"objects and arrays are nested more than {DEEPEST} deep", "give inner nodes an @id, and list them in @graph"
"""Messages and their hints."""
_STRING = rb'"(?:[^"\\]|\\.)*"'
_STRINGS = re.compile(_STRING, re.DOTALL)
_JSON = re.compile(_STRING + rb"|(?P<open>[{\[])|(?P<close>[}\]])", re.DOTALL)
_TURTLE = re.compile(
    rb'\\.|"""(?:[^"\\]|\\.|"(?!""))*"""|' + rb"'''(?:[^'\\]|\\.|'(?!''))*'''|" + _STRING + rb"|'(?:[^'\\]|\\.)*'"
    rb"|#[^\r\n]*|(?P<open><<\()|(?P<close>\)>>)|<[^<>\"{}|^`\s]*>",
    re.DOTALL,
)
"""The brackets of triple terms, and all that may contain such brackets without their meaning."""
_OPEN, _CLOSE = (numpy.frombuffer(brackets, numpy.uint8) for brackets in (b"{[", b"}]"))


def too_deep(text: bytes, format: str) -> int | None:
    """Return where a text is nested more than DEEPEST deep, as an offset, None if it nowhere is. Texts of RDF/XML have
    a check of their own, see `documents`."""
    is_json = format == "JSON_LD"
    most = _json_depth(text) if is_json else text.count(b"<<(")
    depth = 0
    for match in (_JSON if is_json else _TURTLE).finditer(text if most > DEEPEST else b""):
        depth += (match.lastgroup == "open") - (match.lastgroup == "close")
        if depth > DEEPEST:
            return match.start()
    return None


def _json_depth(text: bytes) -> int:
    if text.count(b"{") + text.count(b"[") <= DEEPEST:
        return 0
    letters = numpy.frombuffer(_STRINGS.sub(b"", text), numpy.uint8)
    steps = numpy.isin(letters, _OPEN).astype(numpy.int8) - numpy.isin(letters, _CLOSE)
    return int(steps.cumsum(dtype=numpy.int64).max(initial=0))
