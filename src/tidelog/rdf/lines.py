"""Lines of N-Triples and N-Quads to columns of terms, with Arrow: no Python code runs per triple."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy

from tidelog.rdf.formats import INFERRED
from tidelog.rdf.terms import RDF, XSD
from tidelog.storage.arrow_arrays import mask_to_arrow, numbers_to_arrow, numbers_to_numpy, text_scalar

if TYPE_CHECKING:
    import pyarrow as pa

_SCHEME = "[A-Za-z][A-Za-z0-9+.-]*:"
_REST = "[A-Za-z0-9._~!$&'()*+,;=-]"
_IRI = f"<{_SCHEME}(?://{_REST}*(?:[/?](?:{_REST}|[:@/?])*)?|{_REST}(?:{_REST}|[:@/?])*)(?:#(?:{_REST}|[:@/?])*)?>"
_NODE = "_:[A-Za-z0-9]+"
_LANGUAGE = "[a-z]{2,3}(?:-[a-z]{4})?(?:-[a-z]{2})?"
_LITERAL = rf'"(?:[^"\\\x00-\x1f\x7f]|\\["\\nr])*"(?:@{_LANGUAGE}|\^\^{_IRI})?'
_TRIPLE = rf"^(?:{_IRI}|{_NODE}) {_IRI} (?:{_IRI}|{_NODE}|{_LITERAL})"
_LINE = rf"{_TRIPLE} \.\n$"
_LINE_OF_QUAD = rf"{_TRIPLE}(?: (?:{_IRI}|{_NODE}))? \.\n$"
_END = " .\n"
_WORDS = 3
"""An object, a graph and the end of a line."""
_OTHER = tuple(f'"^^<{name}>'.encode() for name in (f"{XSD}string", f"{RDF}langString", f"{RDF}dirLangString"))
"""Datatypes that are left out, or are wrong without a language."""
_NEWLINE = 10
_PART = 1 << 24
"""Bytes of a part that one core cuts: the same on all machines, because blank nodes are numbered part by part."""


TermColumns: TypeAlias = "tuple[pa.Array, ...]"
"""Subjects, predicates and objects of the type dictionary, as a text spells them; behind these perhaps graphs, with the
empty text for the default graph."""


@dataclass(frozen=True)
class TripleColumns:
    """Triples as Arrow columns of the type dictionary, of terms as symbols. `graphs` has the graph of each, the empty
    text for the default graph; None if all are in that."""

    subjects: pa.Array
    predicates: pa.Array
    objects: pa.Array
    graphs: pa.Array | None = None
    ill: Mapping[str, str] = field(default_factory=dict)
    """Literals that are not of their datatype, with that."""
    prefixes: Mapping[str, str] = field(default_factory=dict)
    """Those that the text declares."""

    def __len__(self) -> int:
        return len(self.subjects)


def plain_parts(text: bytes, *, has_graphs: bool = False) -> tuple[list[TermColumns], bytes]:
    """Return the columns of those lines of N-Triples, or of N-Quads, that are in the canonical form, in parts, and all
    other lines. Parts of a large text are cut on all cores."""
    import pyarrow as pa

    starts = [0]
    while len(text) - starts[-1] > _PART and (end := text.find(b"\n", starts[-1] + _PART)) >= 0:
        starts.append(end + 1)
    if len(starts) == 1:
        found = [_plain_part(text, has_graphs)]
    else:
        parts = (text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True))
        with ThreadPoolExecutor(pa.cpu_count()) as pool:
            found = list(pool.map(partial(_plain_part, has_graphs=has_graphs), parts))
    return [columns for columns, _ in found if columns is not None], b"".join(others for _, others in found)


def _plain_part(text: bytes, has_graphs: bool) -> tuple[TermColumns | None, bytes]:
    """Return the columns of the plain lines of a text, and the other lines."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lines = lines_of(text)
    try:
        lines.validate(full=True)
    except pa.ArrowInvalid:
        return None, text
    plain = pc.match_substring_regex(lines, _LINE_OF_QUAD if has_graphs else _LINE)
    to_columns = quad_columns if has_graphs else triple_columns
    if any(each in text for each in _OTHER):
        for each in _OTHER:
            plain = pc.and_(plain, pc.invert(pc.match_substring(lines, each.decode())))
    if pc.all(plain).as_py() in (True, None):
        return to_columns(lines), b""
    others = pc.filter(lines, pc.invert(plain))
    return to_columns(pc.filter(lines, plain)), others.buffers()[2].to_pybytes()


def concatenate_columns(parts: Sequence[TermColumns]) -> TermColumns:
    """Return the columns of several parts as one of each kind."""
    import pyarrow as pa

    if len(parts) == 1:
        return parts[0]
    kind = pa.dictionary(pa.int32(), pa.large_string())
    columns = (pa.chunked_array(each, kind).unify_dictionaries().combine_chunks() for each in zip(*parts, strict=True))
    return tuple(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column for column in columns)


def lines_of(text: bytes) -> pa.Array:
    """Return the lines of a text, with the characters that end them."""
    import pyarrow as pa

    text = text if text.endswith(b"\n") or not text else text + b"\n"
    ends = numpy.flatnonzero(numpy.frombuffer(text, numpy.uint8) == _NEWLINE)
    starts = numpy.concatenate(([0], ends + 1))
    return pa.LargeStringArray.from_buffers(len(ends), pa.py_buffer(starts), pa.py_buffer(text))


def triple_columns(lines: pa.Array) -> TermColumns:
    """Return the subjects, predicates and objects of lines of canonical N-Triples, as the text spells them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = pc.split_pattern(lines, " ", max_splits=2).values
    rows = numpy.arange(len(lines)) * 3
    subjects, predicates, objects = (parts.take(numbers_to_arrow(rows + i)).dictionary_encode() for i in range(3))
    terms = pc.binary_slice(objects.dictionary.cast(pa.large_binary()), 0, -len(_END)).cast(pa.large_string())
    return subjects, predicates, pa.DictionaryArray.from_arrays(objects.indices, terms)


def quad_columns(lines: pa.Array) -> TermColumns:
    """Return the subjects, predicates, objects and graphs of lines of canonical N-Quads, as the text spells them, but
    leave out the graph of inferred triples."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = pc.split_pattern(lines, " ", max_splits=2).values
    rows = numpy.arange(len(lines)) * 3
    subjects, predicates, ends = (parts.take(numbers_to_arrow(rows + i)) for i in range(3))
    lists = pc.split_pattern(ends, " ", max_splits=2, reverse=True)
    offsets, texts = numbers_to_numpy(lists.offsets), lists.values
    # The last word of an object with a graph is the graph. An object alone may end with a word that begins like one,
    # but that of a literal has a quotation mark, and that of a triple begins in another way.
    words = texts.take(numbers_to_arrow(offsets[1:] - 2))
    begins = pc.or_(pc.starts_with(words, "<"), pc.starts_with(words, "_:"))
    named = pc.and_(
        pc.and_(mask_to_arrow(numpy.diff(offsets) == _WORDS), begins), pc.invert(pc.match_substring(words, '"'))
    )
    alone = pc.binary_slice(ends.cast(pa.large_binary()), 0, -len(_END)).cast(pa.large_string())
    objects = pc.if_else(named, texts.take(numbers_to_arrow(offsets[:-1])), alone)
    graphs = pc.if_else(named, words, text_scalar(""))
    columns = [subjects, predicates, objects, graphs]
    kept = pc.not_equal(graphs, text_scalar(f"<{INFERRED}>"))
    if not pc.all(kept).as_py():
        columns = [column.filter(kept) for column in columns]
    return tuple(column.dictionary_encode() for column in columns)
