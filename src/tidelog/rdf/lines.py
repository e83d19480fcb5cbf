"""Lines of N-Triples to columns of terms, with Arrow: no Python code runs per triple."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy

from tidelog.rdf.terms import RDF, XSD

if TYPE_CHECKING:
    import pyarrow as pa

_SCHEME = "[A-Za-z][A-Za-z0-9+.-]*:"
_REST = "[A-Za-z0-9._~!$&'()*+,;=-]"
_IRI = f"<{_SCHEME}(?://{_REST}*(?:[/?](?:{_REST}|[:@/?])*)?|{_REST}(?:{_REST}|[:@/?])*)(?:#(?:{_REST}|[:@/?])*)?>"
_NODE = "_:[A-Za-z0-9]+"
_LANGUAGE = "[a-z]{2,3}(?:-[a-z]{4})?(?:-[a-z]{2})?"
_LITERAL = rf'"(?:[^"\\\x00-\x1f\x7f]|\\["\\nr])*"(?:@{_LANGUAGE}|\^\^{_IRI})?'
_LINE = rf"^(?:{_IRI}|{_NODE}) {_IRI} (?:{_IRI}|{_NODE}|{_LITERAL}) \.\n$"
_END = " .\n"
_OTHER = re.compile(rf'"\^\^<(?:{re.escape(XSD)}string|{re.escape(RDF)}(?:dirL|l)angString)>'.encode())
"""Datatypes that are left out, or are wrong without a language."""
_NEWLINE = 10


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

    def __len__(self) -> int:
        return len(self.subjects)


def plain_lines(text: bytes) -> pa.Array | None:
    """Return the lines of N-Triples in the canonical form; None for any other text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lines = lines_of(text)
    try:
        lines.validate(full=True)
    except pa.ArrowInvalid:
        return None
    plain = _OTHER.search(text) is None and pc.all(pc.match_substring_regex(lines, _LINE)).as_py() in (True, None)
    return lines if plain else None


def lines_of(text: bytes) -> pa.Array:
    """Return the lines of a text, with the characters that end them."""
    import pyarrow as pa

    text = text if text.endswith(b"\n") or not text else text + b"\n"
    ends = numpy.flatnonzero(numpy.frombuffer(text, numpy.uint8) == _NEWLINE)
    starts = numpy.concatenate(([0], ends + 1))
    return pa.LargeStringArray.from_buffers(len(ends), pa.py_buffer(starts), pa.py_buffer(text))


def cut(lines: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Return the subjects, predicates and objects of lines of canonical N-Triples, as the text spells them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = pc.split_pattern(lines, " ", max_splits=2).values
    rows = numpy.arange(len(lines)) * 3
    subjects, predicates, objects = (parts.take(pa.array(rows + i)).dictionary_encode() for i in range(3))
    terms = pc.binary_slice(objects.dictionary.cast(pa.large_binary()), 0, -len(_END)).cast(pa.large_string())
    return subjects, predicates, pa.DictionaryArray.from_arrays(objects.indices, terms)
