"""Documents and graphs to columns of terms.

Everything is N-Triples in the end, and read from there by Arrow, column by column: N-Triples in the canonical form as
it is, every other text after pyoxigraph has read it and written it as that. Nothing is done per triple in Python, and
pyoxigraph decides what is right wherever a text is not of the plainest form.

Blank nodes of a text are nodes of their own: `Labels` names them apart. Those of an rdflib graph, and of triples that
are given one by one, are the nodes that their names say.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import numpy

from tidelog.errors import DataError, Problem, SetupError, UsageError
from tidelog.rdf.datatypes import ill_typed
from tidelog.rdf.terms import XSD, ntriples, term

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = {
    "turtle": "TURTLE", "ttl": "TURTLE", "text/turtle": "TURTLE",
    "ntriples": "N_TRIPLES", "nt": "N_TRIPLES", "application/n-triples": "N_TRIPLES",
    "nquads": "N_QUADS", "nq": "N_QUADS", "application/n-quads": "N_QUADS",
    "trig": "TRIG", "application/trig": "TRIG",
    "rdfxml": "RDF_XML", "xml": "RDF_XML", "rdf": "RDF_XML", "owl": "RDF_XML", "application/rdf+xml": "RDF_XML",
}  # fmt: skip
"""Names of formats, which are also the endings of files, and what pyoxigraph calls them."""
INFERRED = "urn:tidelog:inferred"
"""The graph of N-Quads that holds what follows; it is not read."""

_SCHEME = "[A-Za-z][A-Za-z0-9+.-]*:"
_REST = "[A-Za-z0-9._~!$&'()*+,;=-]"
_IRI = f"<{_SCHEME}(?://{_REST}*(?:[/?](?:{_REST}|[:@/?])*)?|{_REST}(?:{_REST}|[:@/?])*)(?:#(?:{_REST}|[:@/?])*)?>"
_NODE = "_:[A-Za-z0-9]+"
_LITERAL = rf'"(?:[^"\\\x00-\x1f\x7f]|\\["\\nr])*"(?:@[a-z]{{1,8}}(?:-[a-z0-9]{{1,8}})*|\^\^{_IRI})?'
_LINE = rf"^(?:{_IRI}|{_NODE}) {_IRI} (?:{_IRI}|{_NODE}|{_LITERAL}) \.\n$"
_END = " .\n"
_STRING = f'"^^<{XSD}string>'.encode()
_NEWLINE = 10
_NO_TERM = re.compile(r'[\x00-\x20<>"{}|^`\\\ud800-\udfff]')
_LONGEST = 300
"""Characters of what a message repeats."""


@dataclass(frozen=True)
class Columns:
    """Triples as three Arrow columns of the type dictionary, of terms as symbols."""

    subjects: pa.Array
    predicates: pa.Array
    objects: pa.Array

    def __len__(self) -> int:
        return len(self.subjects)


class Labels:
    """New names for blank nodes, which no other store has."""

    def __init__(self) -> None:
        self._token = token_hex(4)
        self._count = 0

    def new(self) -> str:
        """The next name."""
        self._count += 1
        return f"_:n{self._token}x{self._count}"


def read(data: Any, format: str | None, base: str | None, labels: Labels | None) -> Columns:
    """The triples of a text, a path (anything path-like, or one line that ends like a file of RDF), a graph of
    rdflib, or of an iterable of triples. `labels` names the blank nodes of a text; without, it must not have any.

    Raises DataError (E0460 to E0466, E0410, E0411), UsageError (E0660) for an unknown format, SetupError (E0790).
    """
    if isinstance(data, (str, bytes, os.PathLike)):
        text, name, format = _text(data, format)
        return _Document(text, name, _known(format), base, labels).columns()
    if hasattr(data, "serialize") and hasattr(data, "triples"):
        data = data.triples((None, None, None))
    return _Document(_lines(data), "<triples>", "N_TRIPLES", base, None, keep=True).columns()


def literals(texts: list[str]) -> list[str]:
    """Literals in any spelling of N-Triples in the canonical one. DataError (E0465) for what is none."""
    oxigraph = load()
    found = []
    for text in texts:
        try:
            (quad,) = oxigraph.parse(f"<x:s> <x:p> {text} .".encode(), oxigraph.RdfFormat.N_TRIPLES)
        except (SyntaxError, ValueError):
            hint = "make literals with tidelog.rdf.literal"
            raise DataError(Problem("E0465", f"this is no literal: {text}", hint=hint)) from None
        found.append(str(quad.object))
    return found


def load() -> Any:
    """The module pyoxigraph. SetupError (E0790) where it is not installed."""
    try:
        import pyoxigraph
    except ImportError:
        message = "this needs pyoxigraph, which is not installed"
        raise SetupError(Problem("E0790", message, hint="pip install 'tidelog[rdf]'")) from None
    return pyoxigraph


def _text(data: str | bytes | os.PathLike[str], format: str | None) -> tuple[bytes, str, str]:
    """The bytes of a text or file, its name for messages, and its format."""
    if isinstance(data, bytes):
        return data, "<text>", format or "turtle"
    ending = os.fspath(data).rpartition(".")[2]
    is_path = isinstance(data, os.PathLike) or ("\n" not in data and ending in FORMATS and "<" not in data)
    if not is_path:
        return _encoded(str(data)), "<text>", format or "turtle"
    path = Path(data)
    try:
        return path.read_bytes(), str(path), ending if ending in FORMATS else format or "turtle"
    except FileNotFoundError:
        raise DataError(Problem("E0410", "no such file", place=str(path), hint="check the path")) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(Problem("E0411", f"the file cannot be read: {reason}", place=str(path))) from None


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        message = f"the text is no Unicode: found {text[error.start]!r}"
        place = f"<text>:{_place(text[: error.start])}"
        raise DataError(Problem("E0460", message, place=place, hint="it is half of a pair of surrogates")) from None


def _known(format: str) -> str:
    if not isinstance(format, str) or format not in FORMATS:
        hint = "the formats are turtle, ntriples, nquads, trig and rdfxml"
        raise UsageError(Problem("E0660", f"there is no format {format!r}", hint=hint))
    return FORMATS[format]


def _lines(triples: object) -> bytes:
    """Triples given one by one as N-Triples."""
    if not isinstance(triples, Iterable):
        hint = "pass text, a path, a graph of rdflib, or triples of terms"
        raise DataError(Problem("E0407", f"expected RDF, found the {type(triples).__name__} {triples!r}", hint=hint))
    lines = []
    known: dict[Any, str] = {}
    for number, triple in enumerate(triples):
        if not isinstance(triple, (tuple, list)) or len(triple) != 3:
            place, hint = f"<triples>, row {number}", "a triple is (subject, predicate, object)"
            raise DataError(Problem("E0465", f"expected a triple, found {triple!r}", place=place, hint=hint))
        try:
            lines.append(" ".join([known.get(part) or known.setdefault(part, _written(part)) for part in triple]))
        except (DataError, TypeError) as error:
            found = error.problems[0].message if isinstance(error, DataError) else f"expected a term, found {triple!r}"
            hint = "a term is the text of an IRI, `_:name`, or a literal as tidelog.rdf.literal makes it"
            raise DataError(Problem("E0465", found, place=f"<triples>, row {number}", hint=hint)) from None
    return "".join(f"{line} .\n" for line in lines).encode()


def _written(value: Any) -> str:
    """A term as N-Triples has it. DataError (E0465) for a text that would not stay one term."""
    symbol = term(value)
    if not symbol.startswith('"') and _NO_TERM.search(symbol.removeprefix("_:")):
        raise DataError(Problem("E0465", f"expected a term, found {value!r}"))
    return ntriples(symbol)


@dataclass(frozen=True)
class _Document:
    """A text on its way to columns; with `keep`, blank nodes keep their names."""

    text: bytes
    name: str
    format: str
    base: str | None
    labels: Labels | None
    keep: bool = False

    def columns(self) -> Columns:
        lines = _plain_lines(self.text) if self.format == "N_TRIPLES" else None
        subjects, predicates, objects = _cut(_lines_of(self.rewritten()) if lines is None else lines)
        self.refuse_newer(objects.dictionary)
        wrong = ill_typed(objects.dictionary)
        if wrong:
            message = f"the datatype has no such value: {wrong[0]}"
            hint = "correct the literal, or give it another datatype"
            raise DataError(Problem("E0462", message, place=self.place_of(wrong[0]), hint=hint))
        names: dict[str, str] = {}
        return Columns(*(self.named(part, names) for part in (subjects, predicates, objects)))

    def named(self, column: pa.Array, names: dict[str, str]) -> pa.Array:
        """The column with the symbols of terms in its dictionary."""
        import pyarrow as pa
        import pyarrow.compute as pc

        symbols = column.dictionary
        symbols = pc.if_else(pc.starts_with(symbols, "<"), pc.binary_slice(symbols.cast("binary"), 1, -1), symbols)
        symbols = symbols.cast(pa.string())
        blank = pc.starts_with(symbols, "_:")
        if not self.keep and pc.any(blank).as_py():
            if self.labels is None:
                found = symbols.filter(blank)[0].as_py()
                message = f"a blank node in what is to be deleted: {found}"
                hint = "no text can name a blank node of the store; pass triples as `store.triples` gives them"
                raise DataError(Problem("E0463", message, place=self.place_of(found), hint=hint))
            texts = symbols.to_pylist()
            for i in numpy.flatnonzero(numpy.asarray(blank)).tolist():
                texts[i] = names.get(texts[i]) or names.setdefault(texts[i], self.labels.new())
            symbols = pa.array(texts, pa.string())
        return pa.DictionaryArray.from_arrays(column.indices, symbols)

    def rewritten(self) -> bytes:
        """The text as canonical N-Triples, without the names of graphs."""
        oxigraph = load()
        try:
            form = getattr(oxigraph.RdfFormat, self.format)
            quads = oxigraph.parse(self.text, form, base_iri=self.base)
            if form.supports_datasets:
                inferred = oxigraph.NamedNode(INFERRED)
                quads = (quad.triple for quad in quads if quad.graph_name != inferred)
            written: bytes = oxigraph.serialize(quads, format=oxigraph.RdfFormat.N_TRIPLES)
        except SyntaxError as error:
            raise self.wrong(error) from None
        except (TypeError, ValueError) as error:
            hint = "a base is an absolute IRI such as http://example.org/"
            raise DataError(Problem("E0461", f"{self.base!r} is no base: {error}", hint=hint)) from None
        return written

    def refuse_newer(self, objects: pa.Array) -> None:
        """DataError (E0464) for what RDF 1.2 has added."""
        import pyarrow.compute as pc

        newer = objects.filter(pc.match_substring_regex(objects, r'^<<|"@[a-z0-9-]+--(?:ltr|rtl)$'))
        if len(newer):
            message = f"triples in triples and directions of texts, of RDF 1.2, cannot be stored: {newer[0]}"
            raise DataError(Problem("E0464", message, place=self.name, hint="leave them out"))

    def wrong(self, error: SyntaxError) -> DataError:
        """What pyoxigraph says of a text that it cannot read."""
        place = f"{self.name}:{error.lineno}:{error.offset}" if error.lineno else self.name
        reason = error.msg if len(error.msg) <= _LONGEST else f"{error.msg[:_LONGEST]}…"
        reason = re.sub(r"^Parser error(?: at line \d+ (?:between columns? \d+ and (?:line \d+ column )?\d+|column \d+)"
                        r"|[^:]*)?: ", "", reason)  # fmt: skip
        if "No scheme found" in reason:
            message = "a relative IRI, and no base to complete it with"
            return DataError(Problem("E0461", message, place=place, hint='pass base="http://…/", or write @base'))
        hint = f"is it {self.format.replace('_', '-').title()}? The format is the argument `format`"
        return DataError(Problem("E0460", f"the text cannot be read: {reason}", place=place, hint=hint))

    def place_of(self, found: str) -> str:
        """The place where a term is first written in the text, as far as it is written as it is shown."""
        quoted = found[: found.rindex('"') + 1] if found.startswith('"') else found
        offset = self.text.find(f"{quoted}^^".encode() if found.startswith('"') else quoted.encode())
        return f"{self.name}:{_place(self.text[:offset].decode())}" if offset >= 0 else self.name


def _place(before: str) -> str:
    """Line and column behind a text."""
    return f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def _plain_lines(text: bytes) -> pa.Array | None:
    """The lines of N-Triples in the canonical form; None for any other text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lines = _lines_of(text)
    try:
        lines.validate(full=True)
    except pa.ArrowInvalid:
        return None
    plain = _STRING not in text and pc.all(pc.match_substring_regex(lines, _LINE)).as_py() in (True, None)
    return lines if plain else None


def _lines_of(text: bytes) -> pa.Array:
    """The lines of a text with the characters that end them."""
    import pyarrow as pa

    text = text if text.endswith(b"\n") or not text else text + b"\n"
    ends = numpy.flatnonzero(numpy.frombuffer(text, numpy.uint8) == _NEWLINE)
    starts = numpy.concatenate(([0], ends + 1))
    return pa.LargeStringArray.from_buffers(len(ends), pa.py_buffer(starts), pa.py_buffer(text))


def _cut(lines: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The subjects, predicates and objects of lines of canonical N-Triples, as they are written."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = pc.split_pattern(lines, " ", max_splits=2).values
    rows = numpy.arange(len(lines)) * 3
    subjects, predicates, objects = (parts.take(pa.array(rows + i)).dictionary_encode() for i in range(3))
    terms = pc.binary_slice(objects.dictionary.cast(pa.large_binary()), 0, -len(_END)).cast(pa.large_string())
    return subjects, predicates, pa.DictionaryArray.from_arrays(objects.indices, terms)
