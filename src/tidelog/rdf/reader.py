"""Input to columns of terms: texts, files, graphs of rdflib and pyoxigraph, and triples or quads one by one.

All input becomes N-Triples or N-Quads and then a `Document`. Blank nodes of a text are new nodes, which `Labels`
names. Blank nodes of a graph of a library, and of triples given one by one, keep their names.
"""

from __future__ import annotations

import os
import re
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy

from tidelog.common.arrays import Words
from tidelog.errors import DataError, Problem, quote, surrogate_in
from tidelog.io.encode import at_hand, encode
from tidelog.io.relation import Relation
from tidelog.language.syntax import RelationType
from tidelog.rdf.data import QUAD_COLUMNS
from tidelog.rdf.documents import ONE_BY_ONE, Document, Labels, place
from tidelog.rdf.formats import FORMATS, ending_of, format_of, is_packed
from tidelog.rdf.lines import TripleColumns
from tidelog.rdf.terms import NESTED, ntriples, term
from tidelog.storage.dictionary import Dictionary

TEXT = "<text>"
"""The name for messages of a text that is in no file."""
_RDFLIB_DEFAULT = "urn:x-rdflib:default"
_UNPACKED = 1 << 28
"""Bytes that a packed file may have, however small it is."""
_RATIO = 100
"""Larger ones may have so many times their size; N-Triples have ten to forty times."""
_GZIP = 16
"""Added to the size of zlib's window for the format of gzip."""
_NO_TERM = re.compile(r'[\x00-\x20<>"{}|^`\\\ud800-\udfff]')


def read_triples(
    data: Any, format: str | None, base: str | None, labels: Labels | None, *, by_file: bool = False
) -> TripleColumns:
    """Return the triples of a text, a path, a graph or dataset of rdflib or pyoxigraph, a data frame, or an iterable of
    triples and quads, with their graphs.

    A path is anything path-like, or one line that ends like a file of RDF, also packed by gzip. The `base` of a file is
    its own IRI, unless there is another. `labels` names the blank nodes of a text; without it, the text must not have
    any. With `by_file`, the same file gives its blank nodes the same names each time.

    Raise DataError (E0460 to E0465, E0410, E0411; of a frame also E0401, E0406 and the like), UsageError (E0660) for an
    unknown format, SetupError (E0790).
    """
    if format is not None:
        format_of(format)
    if isinstance(data, (str, bytes, os.PathLike)):
        text, name, format = _text(data, format)
        if base is None and name != TEXT:
            base = Path(name).absolute().as_uri()
        if by_file and labels is not None and name != TEXT:
            labels = Labels(text)
        return Document(text.removeprefix(BOM_UTF8), name, format_of(format), base, labels).columns()
    if hasattr(data, "serialize") and hasattr(data, "quads"):
        data = ((*quad[:3], _graph(quad[3])) for quad in data.quads((None, None, None, None)))
    elif hasattr(data, "serialize") and hasattr(data, "triples"):
        data = data.triples((None, None, None))
    lines, has_graphs = _lines_of_frame(data) if _is_frame(data) else _lines(data)
    return Document(lines, ONE_BY_ONE, "N_QUADS" if has_graphs else "N_TRIPLES", base, None, keep=True).columns()


def _graph(context: Any) -> Any:
    """Return the name of a graph of an rdflib dataset, None for the default graph."""
    name = getattr(context, "identifier", context)
    return None if str(name) == _RDFLIB_DEFAULT else name


def _text(data: str | bytes | os.PathLike[str], format: str | None) -> tuple[bytes, str, str]:
    """Return the bytes of a text or file, its name for messages, and its format."""
    if isinstance(data, bytes):
        return data, TEXT, format or "turtle"
    ending = ending_of(data)
    is_path = isinstance(data, os.PathLike) or ("\n" not in data and ending in FORMATS and "<" not in data)
    if not is_path:
        return _utf8(str(data)), TEXT, format or "turtle"
    path = Path(data)
    try:
        found = path.read_bytes()
        if is_packed(path):
            found = _unpack(found, str(path))
    except FileNotFoundError:
        hint = "download it first; tidelog fetches nothing from the web" if "://" in str(data) else "check the path"
        raise DataError(Problem("E0410", "the file does not exist", place=str(data), hint=hint)) from None
    except (OSError, ValueError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        hint = "pass the path of a file that you may read"
        raise DataError(Problem("E0411", f"the file cannot be read: {reason}", place=str(path), hint=hint)) from None
    return found, str(path), format or (ending if ending in FORMATS else "turtle")


def _unpack(packed: bytes, name: str) -> bytes:
    """Return what gzip has packed. Raise ValueError and zlib.error for anything else, DataError (E0411) for a file that
    unpacks to so much more than its size that somebody wants to fill the memory."""
    most = max(_UNPACKED, _RATIO * len(packed))
    found, size, rest = list[bytes](), 0, packed
    while rest:
        unpacking = zlib.decompressobj(zlib.MAX_WBITS | _GZIP)
        while not unpacking.eof:
            part = unpacking.decompress(rest, _UNPACKED)
            rest = unpacking.unconsumed_tail
            size += len(part)
            if size > most:
                message = f"the file unpacks to more than {_RATIO} times its size, and {_UNPACKED >> 20} MB"
                raise DataError(Problem("E0411", message, place=name, hint="unpack it first, if it is right"))
            if not part and not unpacking.eof:
                raise ValueError("it ends in the middle")
            found.append(part)
        rest = unpacking.unused_data.lstrip(b"\0")
    return b"".join(found)


def _utf8(text: str) -> bytes:
    if (start := surrogate_in(text)) is not None:
        message = f"the text is not valid Unicode: found {text[start]!r}"
        where = f"{TEXT}:{place(text[:start])}"
        raise DataError(Problem("E0460", message, place=where, hint="remove the unpaired surrogate"))
    return text.encode()


def _is_frame(data: object) -> bool:
    """Return True for a table of pandas, Polars, Arrow, DuckDB or Spark. A relation gives its rows one by one: those of
    queries have columns of other names."""
    is_pandas = type(data).__module__.startswith("pandas.") and type(data).__name__ == "DataFrame"
    return is_pandas or (hasattr(data, "__arrow_c_stream__") and not isinstance(data, Relation))


def _lines_of_frame(frame: Any) -> tuple[bytes, bool]:
    """Return the rows of a frame as N-Quads, and True if it has a column of graphs. Its columns are subject, predicate
    and object, and graph or not, with the symbols of terms as text."""
    table = at_hand(frame, ONE_BY_ONE)
    names = getattr(table, "column_names", None) or list(table.columns)
    columns = QUAD_COLUMNS if len(names) == len(QUAD_COLUMNS) else QUAD_COLUMNS[:3]
    dictionary = Dictionary()
    words = encode(table, RelationType(ONE_BY_ONE, columns), dictionary)
    different, flat = numpy.unique(words, return_inverse=True)
    places: Words = flat.reshape(words.shape)
    texts = []
    for number, symbol in enumerate(dictionary.strings(different)):
        if not symbol and not (places[:, :3] == number).any():  # the default graph
            texts.append("")
            continue
        try:
            texts.append(_term_text(symbol))
        except DataError as error:
            hint = "use the text of an IRI, `_:name`, or a literal as N-Triples has it"
            where = f"{ONE_BY_ONE}, row {numpy.argwhere(places == number)[0][0]}"
            raise DataError(Problem("E0465", error.problems[0].message, place=where, hint=hint)) from None
    lines = (" ".join(filter(None, map(texts.__getitem__, row))) for row in places.tolist())
    return "".join(f"{line} .\n" for line in lines).encode(), len(columns) == len(QUAD_COLUMNS)


def _lines(triples: object) -> tuple[bytes, bool]:
    """Return triples and quads given one by one as N-Quads, and True if one of them has a graph."""
    try:
        given = None if isinstance(triples, Mapping) else iter(triples)  # type: ignore[call-overload]  # whatever it is
    except (TypeError, NotImplementedError):  # of what cannot be gone through, such as a sparse matrix
        given = None
    if given is None:
        hint = (
            "pass text, a path, a graph of rdflib, triples of terms, or a data frame of subject, predicate and object"
        )
        raise DataError(
            Problem("E0407", f"expected RDF, found the {type(triples).__name__} {quote(triples)}", hint=hint)
        )
    lines = []
    known: dict[Any, str] = {}
    has_graphs = False
    for number, triple in enumerate(given):
        parts = _parts(triple)
        if len(parts) not in (3, 4):
            place, hint = (
                f"{ONE_BY_ONE}, row {number}",
                "pass (subject, predicate, object), with a graph behind or without",
            )
            raise DataError(Problem("E0465", f"expected a triple, found {quote(triple)}", place=place, hint=hint))
        has_graphs |= len(parts) == 4
        try:
            lines.append(" ".join([known.get(part) or known.setdefault(part, _term_text(part)) for part in parts]))
        except (DataError, TypeError) as error:
            found = (
                error.problems[0].message if isinstance(error, DataError) else f"expected a term, found {quote(triple)}"
            )
            hint = "pass the text of an IRI, `_:name`, or a literal made by tidelog.rdf.literal"
            raise DataError(Problem("E0465", found, place=f"{ONE_BY_ONE}, row {number}", hint=hint)) from None
    text = "".join(f"{line} .\n" for line in lines)
    if (start := surrogate_in(text)) is not None:
        message = f"a term is not valid Unicode: found {text[start]!r}"
        row = f"{ONE_BY_ONE}, row {text.count(chr(10), 0, start)}"
        raise DataError(Problem("E0465", message, place=row, hint="remove the unpaired surrogate"))
    return text.encode(), has_graphs


def _parts(given: object) -> Sequence[Any]:
    """Return the terms of a triple or quad, without the default graph; nothing for anything else."""
    if type(given).__module__.partition(".")[0] == "pyoxigraph" and type(given).__name__ in ("Triple", "Quad"):
        parts: Sequence[Any] = tuple(cast(Iterable[Any], given))
    else:
        parts = given if isinstance(given, (tuple, list)) else ()
    if len(parts) == 4 and (parts[3] is None or str(parts[3]) == "" or type(parts[3]).__name__ == "DefaultGraph"):
        return parts[:3]
    return parts


def _term_text(value: Any) -> str:
    """Return a term as N-Triples has it. Raise DataError (E0465) for a text that would not stay one term."""
    symbol = term(value)
    if not symbol.startswith(('"', NESTED)) and _NO_TERM.search(symbol.removeprefix("_:")):
        hint = "pass an IRI, a blank node such as _:b, or a literal, such as tidelog.rdf.literal(5)"
        raise DataError(Problem("E0465", f"expected a term, found {quote(value)}", hint=hint))
    return ntriples(symbol)


def check_graph(symbol: str) -> None:
    """Raise DataError (E0465) for a term that cannot name a graph."""
    if symbol.startswith(('"', NESTED)) or _NO_TERM.search(symbol.removeprefix("_:")) or ":" not in symbol:
        hint = "pass an absolute IRI such as http://example.org/g, or a blank node"
        raise DataError(Problem("E0465", f"expected the name of a graph, found {symbol}", hint=hint))
