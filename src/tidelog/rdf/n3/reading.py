"""A text in N3 as rules: triples of rdflib behind and before an arrow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tidelog.common.source import SourceText, Span
from tidelog.errors import DataError, Problem, SetupError, UsageError, how_to_install, surrogate_in
from tidelog.rdf.terms import shown_term

IMPLIES = "http://www.w3.org/2000/10/swap/log#implies"
_TOKEN = re.compile(
    r'(?P<skipped>\#[^\r\n]*|"""(?:[^"\\]|\\.|"(?!""))*"""|"(?:[^"\\]|\\.)*"|<[^<>"{}|^`\\\s]*>)'
    r"|(?P<arrow>=>|<=|\b[\w-]*:implies\b)|(?P<brace>[{}])",
    re.DOTALL,
)


@dataclass(frozen=True)
class N3Rule:
    """A rule: the triples of its body and of its head, in rdflib's terms, and its arrow in the text."""

    body: tuple[Any, ...]
    head: tuple[Any, ...]
    span: Span


def read_rules(source: SourceText, base: str) -> list[N3Rule]:
    """Return the rules of a text, in its order. Raise DataError (E0460) for a text that is no N3, UsageError (E0678)
    for one with more than rules, SetupError (E0790)."""
    try:
        import rdflib
        from rdflib.graph import QuotedGraph
        from rdflib.plugins.parsers.notation3 import BadSyntax, RDFSink, SinkParser
    except ImportError:
        message = "this needs rdflib, which is not installed"
        raise SetupError(Problem("E0790", message, hint=how_to_install("rdf"))) from None
    graph, whole = rdflib.Graph(), Span(source, 0, min(1, len(source.text)))
    data = _encoded(source)
    try:
        # Its class for N3 does the same, and warns about itself.
        parser = SinkParser(RDFSink(graph), baseURI=base, turtle=False)
        parser.loadBuf(data)
    except BadSyntax as error:
        # rdflib counts bytes, and keeps what it has found to itself.
        place, why = int(error._i), str(error._why)
        start = min(len(data[:place].decode(errors="ignore")), max(0, len(source.text) - 1))
        message, hint = (
            f"the N3 text cannot be parsed here: {why}",
            "look before this place; the reason is that of rdflib",
        )
        raise DataError(Problem("E0460", message, Span(source, start, start + 1), hint=hint)) from None
    except RecursionError:
        hint = "give names to the inner parts"
        raise DataError(Problem("E0460", "the parts of the N3 text are nested too deeply", whole, hint=hint)) from None
    except MemoryError:
        raise
    except Exception as error:  # rdflib asserts some of its syntax, and raises what its terms and IRIs raise.
        reason = str(error).split("\n", 1)[0][:200] or type(error).__name__
        hint = "check names, texts and relative IRIs; the reason is that of rdflib"
        raise DataError(Problem("E0460", f"the N3 text cannot be parsed: {reason}", whole, hint=hint)) from None
    pairs = []
    for subject, predicate, value in graph:
        if str(predicate) != IMPLIES:
            hint = "keep data apart: insert them with `store.insert`"
            message = f"a triple stands outside of the rules: {shown_term(subject)} {shown_term(predicate)} …"
            raise UsageError(Problem("E0678", message, whole, hint=hint))
        pairs.append((subject, value))
    pairs.sort(key=lambda pair: min(_number(each) for each in pair))
    arrows = list(_arrows(source)) if pairs else []
    spans = arrows if len(arrows) == len(pairs) else [whole] * len(pairs)
    found = []
    for (body, head), span in zip(pairs, spans, strict=True):
        if not isinstance(head, QuotedGraph) or not isinstance(body, QuotedGraph):
            hint = "write { … } => { … }; contradictions are those of OWL, or a view"
            raise UsageError(Problem("E0678", "a rule leads from triples to triples", span, hint=hint))
        found.append(N3Rule(tuple(body), tuple(head), span))
    return found


def _encoded(source: SourceText) -> bytes:
    """Return a text in UTF-8. Raise DataError (E0460) for one with an unpaired surrogate."""
    if (start := surrogate_in(source.text)) is not None:
        span = Span(source, start, start + 1)
        hint = "remove the unpaired surrogate"
        raise DataError(Problem("E0460", "the N3 text is not valid Unicode here", span, hint=hint))
    return source.text.encode()


def _number(formula: Any) -> float:
    """Return the place of a formula among those of a text: rdflib numbers them."""
    digits = re.search(r"\d+$", str(getattr(formula, "identifier", "")))
    return int(digits[0]) if digits else float("inf")


def _arrows(source: SourceText) -> Iterator[Span]:
    """Yield the arrows outside of braces."""
    depth = 0
    for match in _TOKEN.finditer(source.text):
        depth += (match[0] == "{") - (match[0] == "}")
        if match["arrow"] and depth == 0:
            yield Span(source, match.start(), match.end())
