"""The depth of texts of RDF. pyoxigraph reads what is nested by recursion, and the process ends when its stack does."""

from __future__ import annotations

import re

import numpy

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
    a check of their own, see `xml_documents`."""
    is_json = format == "JSON_LD"
    most = _json_depth(text) if is_json else text.count(b"<<(")
    depth = 0
    for match in (_JSON if is_json else _TURTLE).finditer(text if most > DEEPEST else b""):
        depth += (match.lastgroup == "open") - (match.lastgroup == "close")
        if depth > DEEPEST:
            return match.start()
    return None


def _json_depth(text: bytes) -> int:
    """Return the depth of a text of JSON."""
    if text.count(b"{") + text.count(b"[") <= DEEPEST:
        return 0
    letters = numpy.frombuffer(_STRINGS.sub(b"", text), numpy.uint8)
    steps = numpy.isin(letters, _OPEN).astype(numpy.int8) - numpy.isin(letters, _CLOSE)
    return int(steps.cumsum(dtype=numpy.int64).max(initial=0))
