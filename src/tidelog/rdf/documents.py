"""A text on its way to columns of terms, with all errors that it can have.

Lines of N-Triples and N-Quads in the canonical form are cut as they are (see `lines`). Of other lines and every other
text, pyoxigraph makes such lines first. So pyoxigraph decides what is right wherever a text is not of the plainest
form.

Texts of RDF/XML are checked before. pyoxigraph accepts a truncated text, gives no places, cannot read some
declarations, and its stack and time do not stand deeply nested elements. Literals of `rdf:parseType="Literal"` keep all
namespaces that are declared around them; RDF/XML asks for exclusive canonical XML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from secrets import token_hex
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError, canonicalize
from xml.parsers import expat

import numpy

from tidelog.errors import DataError, Problem, quote
from tidelog.rdf.formats import TITLES, ending_of, load, mistaken
from tidelog.rdf.lines import (
    TermColumns,
    TripleColumns,
    concatenate_columns,
    lines_of,
    plain_parts,
    quad_columns,
    triple_columns,
)
from tidelog.rdf.terms import DEEPEST, NESTED, RDF, TERMS, VALUES, ill_typed, too_deep
from tidelog.storage.arrow_arrays import mask_to_numpy, text_to_arrow

if TYPE_CHECKING:
    import pyarrow as pa


_LARGEST_ENTITY = 100_000
"""Characters of an entity with those that it names."""
_ENTITY = re.compile("&([^#;&]+);")
_QUOTED_ENTITY = re.compile(rb"(<!ENTITY\s+[^\s'\"<>%]+\s+)'([^'<>]*)'")
"""A declaration in single quotation marks, which XML has and pyoxigraph cannot read."""
_ELEMENTS = 20_000
"""Elements around an element. A list that is written as nested nodes has two for each member. The time of pyoxigraph is
the square of the depth."""
_CANONICAL = 200
"""The same in a literal that gets its canonical form, whose time is that square as well."""


def refuse_broken(text: bytes, name: str) -> None:
    """Raise DataError (E0460) for a text that is no XML, is nested too deeply, or has entities of entities without
    measure."""
    parser, sizes, depth = expat.ParserCreate(), dict[str, int](), _Depth()

    def refuse(message: str, hint: str) -> None:
        place = f"{name}:{parser.CurrentLineNumber}:{parser.CurrentColumnNumber + 1}"
        raise DataError(Problem("E0460", message, place=place, hint=hint))

    def check_entity(entity: str, is_parameter: bool, value: str | None, *_: object) -> None:
        if value is None or is_parameter:
            return
        sizes[entity] = len(value) + sum(sizes.get(each, 0) for each in _ENTITY.findall(value))
        if sizes[entity] > _LARGEST_ENTITY:  # pyoxigraph would write it out at once, and expat only where it is used.
            message = f"the entity {entity} of the document is larger than {_LARGEST_ENTITY:,} characters"
            refuse(message, "write the text where it is used")

    def check_element(element: str, attributes: dict[str, str]) -> None:
        depth.start(element, attributes)
        if depth.most > _ELEMENTS:
            refuse(f"elements are nested more than {_ELEMENTS:,} deep", "refer to the inner nodes by rdf:resource")
        if depth.terms > DEEPEST:
            refuse(*TERMS)

    parser.EntityDeclHandler = check_entity
    parser.StartElementHandler, parser.EndElementHandler = check_element, depth.end
    try:
        parser.Parse(text, True)
    except (ValueError, LookupError) as error:  # of an encoding that expat cannot read, or that nobody knows
        hint = "save it as UTF-8"
        raise DataError(Problem("E0460", f"the text cannot be read: {error}", place=name, hint=hint)) from None
    except expat.ExpatError as error:
        broken = f"the text is not XML: {expat.ErrorString(error.code)}"
        message, hint = mistaken(text, "RDF_XML") or (broken, "check that the text is complete, and its format")
        place = f"{name}:{error.lineno}:{error.offset + 1}"
        raise DataError(Problem("E0460", message, place=place, hint=hint)) from None


class _Depth:
    """The most elements that there were around a place, and the triple terms among those around the last one."""

    def __init__(self) -> None:
        self.terms = self.most = 0
        self._open: list[bool] = []

    def start(self, _: str, attributes: dict[str, str]) -> None:
        is_term = "Triple" in attributes.values()
        self.terms += is_term
        self._open.append(is_term)
        self.most = max(self.most, len(self._open))

    def end(self, _: str) -> None:
        """Come out of an element."""
        self.terms -= self._open.pop()


def readable(text: bytes) -> bytes:
    """Return a text with its entities in double quotation marks, in lines as they are."""
    start = text.find(b"<!DOCTYPE")
    end = text.find(b"]", start)
    if start < 0 or end < 0:
        return text
    quoted = _QUOTED_ENTITY.sub(lambda match: b'%b"%b"' % (match[1], match[2].replace(b'"', b"&#34;")), text[start:end])
    return b"".join((text[:start], quoted, text[end:]))


def canonical(quads: Iterable[Any]) -> Iterator[Any]:
    """Yield quads of pyoxigraph with their literals of XML in canonical form."""
    oxigraph = load()
    for quad in quads:
        found = _canonical(quad.object)
        yield quad if found is quad.object else oxigraph.Quad(quad.subject, quad.predicate, found, quad.graph_name)


def _canonical(term: Any) -> Any:
    oxigraph = load()
    if isinstance(term, oxigraph.Triple):
        inner = _canonical(term.object)
        return term if inner is term.object else oxigraph.Triple(term.subject, term.predicate, inner)
    if not isinstance(term, oxigraph.Literal) or term.datatype.value != f"{RDF}XMLLiteral":
        return term
    return oxigraph.Literal(_exclusive(term.value), datatype=term.datatype)


def _exclusive(text: str) -> str:
    """Return exclusive canonical XML. Return the text as it is if it is no XML, or nested too deeply."""
    whole, depth, parser = f"<x>{text}</x>", _Depth(), expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = depth.start, depth.end
    try:
        parser.Parse(whole, True)
        return canonicalize(whole)[3:-4] if depth.most <= _CANONICAL else text
    except (expat.ExpatError, ParseError):
        return text


# --- texts of all formats --------------------------------------------------------------------------------------------


_LONGEST = 300
"""Characters of what a message repeats."""
_BLANK_NODE = re.compile(r'"(?:[^"\\]|\\.)*"|<[^\s<>]*>|(?P<node>_:[^\s"<>]+)')
"""A blank node in a term; literals and IRIs match as well, so that none is found inside of them."""
_TOKEN = 8
"""Bytes that tell the names of files, and those of stores, apart."""
_OF_LINES = ("N_TRIPLES", "N_QUADS")
"""The formats whose statements have a line each."""
ONE_BY_ONE = "<triples>"
"""The name for messages of what is no text, but triples."""


class Labels:
    """New names for blank nodes; no other store has them. The names of a `file` are those that it had before, in any
    store, if its bytes are the same."""

    def __init__(self, file: bytes | None = None) -> None:
        self._file = file
        self._count = 0

    @cached_property
    def _token(self) -> str:
        return token_hex(_TOKEN) if self._file is None else sha256(self._file).digest()[:_TOKEN].hex()

    def new(self) -> str:
        self._count += 1
        return f"_:n{self._token}x{self._count}"


@dataclass(frozen=True)
class Document:
    """A text on its way to columns. `labels` names its blank nodes; without `labels` it must have none. With `keep`,
    blank nodes keep their own names."""

    text: bytes
    name: str
    format: str
    base: str | None
    labels: Labels | None
    keep: bool = False
    prefixes: dict[str, str] = field(default_factory=dict)
    """Those that the text declares, once it has been read."""

    def columns(self) -> TripleColumns:
        """Return its triples. Raise DataError (E0460 to E0465)."""
        if self.format in _OF_LINES:
            found = self.of_lines(has_graphs=self.format == "N_QUADS")
        else:
            found = self.of_other()
        subjects, predicates, objects, *graphs = found
        ill = {term: term[term.rindex("<") + 1 : -1] for term in ill_typed(objects.dictionary)}
        names: dict[str, str] = {}
        subjects, predicates, objects = (self.to_symbols(part, names) for part in (subjects, predicates, objects))
        if not graphs or graphs[0].dictionary.to_pylist() in ([], [""]):
            return TripleColumns(subjects, predicates, objects, None, ill, self.prefixes)
        return TripleColumns(subjects, predicates, objects, self.to_symbols(graphs[0], names), ill, self.prefixes)

    def of_lines(self, *, has_graphs: bool) -> TermColumns:
        """Return the terms of N-Triples or N-Quads, where each statement has a line. Raise DataError (E0460 to
        E0465)."""
        parts, others = plain_parts(self.text, has_graphs=has_graphs)
        if others.strip():
            try:
                parts.append(replace(self, text=others).of_other())
            except DataError:  # Its place is one in the whole text.
                parts = [self.of_other()]
        return concatenate_columns(parts or [(quad_columns if has_graphs else triple_columns)(lines_of(b""))])

    def of_other(self) -> TermColumns:
        """Return the terms of a text of any form, as pyoxigraph reads it, with graphs if the format has some. Raise
        DataError (E0460 to E0465)."""
        written, has_graphs = self.to_lines()
        return (quad_columns if has_graphs else triple_columns)(lines_of(written))

    def to_symbols(self, column: pa.Array, names: dict[str, str]) -> pa.Array:
        """Return the column with the symbols of terms in its dictionary."""
        import pyarrow as pa
        import pyarrow.compute as pc

        symbols = column.dictionary
        nested = pc.starts_with(symbols, NESTED)
        is_iri = pc.and_(pc.starts_with(symbols, "<"), pc.invert(nested))
        symbols = pc.if_else(is_iri, pc.binary_slice(symbols.cast("binary"), 1, -1), symbols)
        symbols = symbols.cast(pa.string())
        blank = pc.or_(pc.starts_with(symbols, "_:"), pc.and_(nested, pc.match_substring(symbols, "_:")))
        if not self.keep and pc.any(blank).as_py():
            found = next(filter(None, map(_blank_node, symbols.filter(blank).to_pylist())), None)
            if self.labels is None and found is not None:
                message = f"triples to delete cannot contain blank nodes of a text: {found}"
                hint = "pass triples as `store.triples` returns them; a text cannot name a blank node of the store"
                raise DataError(Problem("E0463", message, place=self.place_of(found), hint=hint))
            texts = symbols.to_pylist()
            for i in numpy.flatnonzero(mask_to_numpy(blank)).tolist():
                texts[i] = _BLANK_NODE.sub(lambda match: self.new_label(match, names), texts[i])
            symbols = text_to_arrow(texts).cast(pa.string())
        return pa.DictionaryArray.from_arrays(column.indices, symbols)

    def new_label(self, match: re.Match[str], names: dict[str, str]) -> str:
        """Return the new name of a blank node, and any other match as it is."""
        if self.labels is None or match["node"] is None:
            return match[0]
        return names.get(match[0]) or names.setdefault(match[0], self.labels.new())

    def to_lines(self) -> tuple[bytes, bool]:
        """Return the text as canonical N-Triples, or as N-Quads and True if its format has graphs."""
        oxigraph = load()
        text, is_xml = self.text, self.format == "RDF_XML"
        if is_xml:
            refuse_broken(text, self.name)
            text = readable(text)
        self.refuse_deep()
        try:
            form = getattr(oxigraph.RdfFormat, self.format)
            quads = parser = oxigraph.parse(text, form, base_iri=self.base)
            if is_xml and b"Literal" in text:
                quads = canonical(quads)
            lines = oxigraph.RdfFormat.N_QUADS if form.supports_datasets else oxigraph.RdfFormat.N_TRIPLES
            written: bytes = oxigraph.serialize(quads, format=lines)
            self.prefixes.update(parser.prefixes)
        except SyntaxError as error:
            raise self.wrong(error) from None
        except (TypeError, ValueError) as error:
            hint = "pass an absolute IRI such as http://example.org/"
            raise DataError(
                Problem("E0461", f"the base {quote(self.base)} is not an absolute IRI: {error}", hint=hint)
            ) from None
        return written, form.supports_datasets

    def wrong(self, error: SyntaxError) -> DataError:
        """Return pyoxigraph's complaint about a text that it cannot read, as an error."""
        reason = re.sub(r"^Parser error(?: at line \d+ (?:between columns? \d+ and (?:line \d+ column )?\d+|column \d+)"
                        r"|[^:]*)?: ", "", error.msg)  # fmt: skip
        reason = reason if len(reason) <= _LONGEST else f"{reason[:_LONGEST]}…"
        if self.name == ONE_BY_ONE and error.lineno:
            message = f"expected a triple, found `{self.text.splitlines()[error.lineno - 1].decode()}`: {reason}"
            hint = "use IRIs or blank nodes as subjects, IRIs as predicates, and absolute IRIs such as http://example.org/a"
            return DataError(Problem("E0465", message, place=f"{self.name}, row {error.lineno - 1}", hint=hint))
        place = f"{self.name}:{error.lineno}:{error.offset}" if error.lineno else self.name
        if "No scheme found" in reason:
            if self.format in _OF_LINES:
                message, hint = "N-Triples and N-Quads cannot have relative IRIs", "write absolute IRIs"
            else:
                message = "the text has a relative IRI, but no base"
                hint = f'pass base="http://…/", or write {self.as_base}'
            return DataError(Problem("E0461", message, place=place, hint=hint))
        other = mistaken(self.text, self.format)
        if other is not None:
            return DataError(Problem("E0460", other[0], place=place, hint=other[1]))
        hint = f"pass `format` if the text is not {TITLES[self.format]}"
        if re.match("(?:INSERT|DELETE|WITH) is not a valid subject", reason, re.IGNORECASE):
            hint = "pass an update in SPARQL to `store.update`"
        if ending_of(self.name) == "n3":
            hint = "pass rules to `store.load_n3`; of N3, `insert` reads the part that is Turtle"
        undeclared = re.fullmatch(r"The prefix (.*): has not been declared", reason)
        if undeclared:
            hint = f"write @prefix {undeclared[1]}: <…> . at the top"
        elif self.name == "<text>" and not re.search(rb"\s", self.text.strip()):
            hint = "pass a pathlib.Path if this is the path of a file, or name the file .ttl, .nt or .nq.gz"
        return DataError(Problem("E0460", f"the text cannot be read: {reason}", place=place, hint=hint))

    @property
    def as_base(self) -> str:
        """Return the declaration of a base IRI in this format."""
        return {"RDF_XML": 'xml:base="…"', "JSON_LD": '"@base" in its context'}.get(self.format, "@base <…> .")

    def refuse_deep(self) -> None:
        """Raise DataError (E0460) for a text whose depth would overflow the stack of pyoxigraph."""
        offset = too_deep(self.text, self.format)
        if offset is not None:
            message, hint = VALUES if self.format == "JSON_LD" else TERMS
            where = f"{self.name}:{place(self.text[:offset].decode(errors='replace'))}"
            raise DataError(Problem("E0460", message, place=where, hint=hint))

    def place_of(self, found: str) -> str:
        """Return the place where the text first contains a term, if the text spells it as messages do."""
        quoted = found[: found.rindex('"') + 1] if found.startswith('"') else found
        offset = self.text.find(f"{quoted}^^".encode() if found.startswith('"') else quoted.encode())
        if offset < 0:
            return self.name
        before = self.text[:offset].decode(errors="replace")
        return (
            f"{self.name}, row {before.count(chr(10))}" if self.name == ONE_BY_ONE else f"{self.name}:{place(before)}"
        )


def _blank_node(symbol: str) -> str | None:
    """Return the first blank node in a term, None without any."""
    return next((match[0] for match in _BLANK_NODE.finditer(symbol) if match["node"]), None)


def place(before: str) -> str:
    """Return line and column behind a text."""
    return f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"
