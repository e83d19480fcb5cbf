"""Texts of RDF/XML: what is refused before pyoxigraph reads them, and what it leaves to do.

pyoxigraph accepts a truncated text, gives no places, cannot read some declarations, and its stack and time do not stand
deeply nested elements. Literals of `rdf:parseType="Literal"` keep all namespaces that are declared around them; RDF/XML
asks for exclusive canonical XML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any
from xml.etree.ElementTree import ParseError, canonicalize
from xml.parsers import expat

from tidelog.errors import DataError, Problem
from tidelog.rdf.depth import DEEPEST, TERMS
from tidelog.rdf.formats import load, mistaken
from tidelog.rdf.terms import RDF

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

    def declared(entity: str, is_parameter: bool, value: str | None, *_: object) -> None:
        if value is None or is_parameter:
            return
        sizes[entity] = len(value) + sum(sizes.get(each, 0) for each in _ENTITY.findall(value))
        if sizes[entity] > _LARGEST_ENTITY:  # pyoxigraph would write it out at once, and expat only where it is used.
            message = f"the entity {entity} of the document is larger than {_LARGEST_ENTITY:,} characters"
            refuse(message, "write the text where it is used")

    def started(element: str, attributes: dict[str, str]) -> None:
        depth.start(element, attributes)
        if depth.most > _ELEMENTS:
            refuse(f"elements are nested more than {_ELEMENTS:,} deep", "refer to the inner nodes by rdf:resource")
        if depth.terms > DEEPEST:
            refuse(*TERMS)

    parser.EntityDeclHandler = declared
    parser.StartElementHandler, parser.EndElementHandler = started, depth.end
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
        """Go into an element."""
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
