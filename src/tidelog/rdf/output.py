"""Triples to text, files and rdflib graphs."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

from tidelog.durable.whole_files import write_whole
from tidelog.errors import DataError, Problem, UsageError, wrong_argument
from tidelog.io.relation import Relation, WordRows
from tidelog.language.syntax import Column
from tidelog.rdf.formats import INFERRED, ending_of, format_of, is_packed, load, missing_library
from tidelog.rdf.terms import NESTED
from tidelog.storage.dictionary import Dictionary

if TYPE_CHECKING:
    import pyarrow as pa
    import rdflib

_DIRECTION = re.compile('"@[a-z0-9-]+--(?:ltr|rtl)$')
_WITH_GRAPHS = ("N_QUADS", "TRIG", "JSON_LD")
_WRITTEN = ("TURTLE", "N_TRIPLES", *_WITH_GRAPHS)


def has_graphs(format: str) -> bool:
    """Return True if a format has graphs. Raise UsageError (E0660) for a format that is not written."""
    form = format_of(format)
    if form not in _WRITTEN:
        hint = "use turtle, ntriples, nquads, trig or jsonld"
        raise UsageError(Problem("E0660", f"tidelog reads the format {format}, but does not write it", hint=hint))
    return form in _WITH_GRAPHS


def text(asserted: Relation, inferred: Relation | None, format: str, prefixes: Mapping[str, str]) -> bytes:
    """Return triples as turtle, ntriples, nquads, trig or jsonld, or quads as one of the last three. There, `inferred`
    triples have a graph of their own. Raise UsageError (E0660) for another format, DataError (E0464, E0465) for a term
    that the format lacks, and for an invalid triple."""
    graph = f" <{INFERRED}>" if has_graphs(format) else ""
    form = format_of(format)
    lines = nquads(asserted) + (nquads(inferred, graph) if inferred is not None else b"")
    if form in ("N_TRIPLES", "N_QUADS"):
        return lines
    oxigraph = load()
    usable = {name: iri for name, iri in prefixes.items() if iri}
    try:
        quads = oxigraph.parse(lines, oxigraph.RdfFormat.N_QUADS)
        parts = quads if form in _WITH_GRAPHS else (quad.triple for quad in quads)
        written: bytes = oxigraph.serialize(parts, format=getattr(oxigraph.RdfFormat, form), prefixes=usable)
    except SyntaxError as error:
        found = lines.splitlines()[error.lineno - 1].decode() if error.lineno else error.msg
        message, hint = (
            f"a triple that a rule derives cannot be written: {found}",
            "correct the rule; write ntriples to see all triples",
        )
        raise DataError(Problem("E0465", message, hint=hint)) from None
    except OSError as error:  # of a serializer without the terms of RDF 1.2
        hint = "write nquads or trig, which have all terms"
        raise DataError(Problem("E0464", f"the format {format} lacks a term: {error}", hint=hint)) from None
    return written


def rows(names: Sequence[str], columns: Iterable[Sequence[str]], count: int) -> WordRows:
    """Return so many rows of columns of symbols."""
    import pyarrow as pa

    dictionary = Dictionary()
    words = numpy.zeros((count, len(names)), numpy.int64)
    if count and names:
        for i, column in enumerate(dictionary.encode_texts([pa.array(each) for each in columns])):
            words[:, i] = column
    return WordRows(tuple(Column(name, "symbol", "symbol") for name in names), dictionary, words)


def format_for(path: str | os.PathLike[str], format: str | None) -> str:
    """Return the format to write to a file, by default that of its ending."""
    if not isinstance(path, (str, os.PathLike)):
        raise wrong_argument("the target", "the path of a file", path)
    if format is not None:
        format_of(format)
    return format or ending_of(path)


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a text to a file, packed for `.gz`. Raise DataError (E0412)."""
    if is_packed(path):
        data = gzip.compress(data, mtime=0)
    write_whole(Path(path), data)


def nquads(triples: Relation, graph: str = "") -> bytes:
    """Return triples or quads as lines of N-Triples or N-Quads, with a `graph` behind all triples."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = triples.to_arrow().combine_chunks()
    if not table.num_rows:
        return b""
    columns = [_terms(column) for column in table.columns[:3]]
    end, blank, nothing = (pa.scalar(text, pa.large_string()) for text in (f"{graph} .\n", " ", ""))
    if table.num_columns > 3:
        named = pc.binary_join_element_wise(blank, _terms(table.columns[3]), nothing)
        columns[2] = pc.binary_join_element_wise(
            columns[2], pc.if_else(pc.equal(table.columns[3].cast(pa.large_string()), ""), nothing, named), nothing
        )
    ends = pc.binary_join_element_wise(columns[2], end, nothing)
    lines = pc.binary_join_element_wise(*columns[:2], ends, blank)
    lines = lines.combine_chunks() if isinstance(lines, pa.ChunkedArray) else lines
    offsets, data = lines.buffers()[1:]
    return bytes(data)[: int.from_bytes(bytes(offsets[8 * len(lines) : 8 * len(lines) + 8]), "little")]


def _terms(column: pa.ChunkedArray) -> pa.Array:
    """Return symbols as N-Triples has them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    symbols = column.combine_chunks().cast(pa.large_string())
    symbols = symbols.chunk(0) if isinstance(symbols, pa.ChunkedArray) else symbols
    other = pc.or_(pc.starts_with(symbols, '"'), pc.or_(pc.starts_with(symbols, "_:"), pc.starts_with(symbols, NESTED)))
    left, right, nothing = (pa.scalar(text, pa.large_string()) for text in ("<", ">", ""))
    return pc.if_else(other, symbols, pc.binary_join_element_wise(left, symbols, right, nothing))


def to_rdflib(triples: Relation, prefixes: Mapping[str, str]) -> rdflib.Graph:
    """Return an rdflib graph. Raise SetupError (E0790) if rdflib is not installed, and DataError (E0464) for a term of
    RDF 1.2."""
    try:
        import rdflib
    except ImportError:
        raise missing_library("rdflib") from None
    graph = rdflib.Graph()
    for prefix, iri in prefixes.items():
        graph.bind(prefix, iri)
    known: dict[str, Any] = {}
    for triple in triples:
        terms = []
        for symbol in triple:
            found = known.get(str(symbol))
            if found is None:
                found = known[str(symbol)] = node_of(rdflib, str(symbol))
            terms.append(found)
        graph.add(tuple(terms))
    return graph


def node_of(rdflib: Any, symbol: str) -> Any:
    """Return a term of rdflib. Raise DataError (E0464) for a term of RDF 1.2."""
    if symbol.startswith(NESTED) or _DIRECTION.search(symbol):
        hint = "write nquads or trig, which have all terms"
        raise DataError(Problem("E0464", f"rdflib has no term for {symbol}", hint=hint))
    if symbol.startswith("_:"):
        return rdflib.BNode(symbol[2:])
    if not symbol.startswith('"'):
        return rdflib.URIRef(symbol)
    end = symbol.rindex('"')
    kind = symbol[end + 1 :]
    lexical = value_of(symbol[: end + 1])
    if kind.startswith("@"):
        return rdflib.Literal(lexical, lang=kind[1:])
    return rdflib.Literal(lexical, datatype=rdflib.URIRef(kind[3:-1]) if kind else None, normalize=False)


def value_of(quoted: str) -> str:
    """Return the characters of a literal without language and datatype."""
    if "\\" not in quoted:
        return quoted[1:-1]
    oxigraph = load()
    (quad,) = oxigraph.parse(f"<x:s> <x:p> {quoted} .".encode(), oxigraph.RdfFormat.N_TRIPLES)
    return str(quad.object.value)
