"""The outline of a text: declarations, components with what stands in them, and rules."""

from __future__ import annotations

from lsprotocol.types import DocumentSymbol, SymbolKind

from tidelog.editors.documents import ProgramDocument
from tidelog.editors.names import Sort, names
from tidelog.editors.places import TextPlaces
from tidelog.language.syntax import Rule

_KINDS: dict[Sort, SymbolKind] = {
    "relation": SymbolKind.Class,
    "type": SymbolKind.Interface,
    "functor": SymbolKind.Function,
    "component": SymbolKind.Module,
    "instance": SymbolKind.Object,
    "rule": SymbolKind.Event,
}


def outline(document: ProgramDocument, texts: TextPlaces) -> list[DocumentSymbol]:
    """Return the outline of a document."""
    found: list[DocumentSymbol] = []
    levels = [found]
    for stretch, begin, around in document.components():
        if not stretch.tokens:
            continue
        del levels[len(around) + 1 :]
        first, last = stretch.tokens[0].start_pos or 0, stretch.tokens[-1].end_pos or 0
        whole = texts.range(begin + first, begin + last)
        declared = [each for each in names(stretch) if each.declares and each.sort in _KINDS]
        symbols = [
            DocumentSymbol(
                each.name, _KINDS[each.sort], whole, texts.range(begin + each.start, begin + each.end), children=[]
            )
            for each in declared
        ]
        if not symbols:
            symbols = [
                DocumentSymbol(str(each.heads[0]), SymbolKind.Event, whole, whole)
                for each in stretch.statements
                if isinstance(each, Rule) and each.body
            ]
        levels[-1] += symbols
        if stretch.tokens[0].type == "COMP" and symbols:
            inner: list[DocumentSymbol] = []
            symbols[0].children = inner
            levels.append(inner)
        elif stretch.tokens[0].type == "RBRACE" and len(levels) > 1:
            levels.pop()
    return found
