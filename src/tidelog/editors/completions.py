"""Words that fit where the cursor stands."""

from __future__ import annotations

import re
from pathlib import Path

from lsprotocol.types import CompletionItem, CompletionItemKind

from tidelog.editors.answers import declarations, variables
from tidelog.editors.documents import Documents
from tidelog.editors.names import Sort
from tidelog.language import lexer
from tidelog.language.aggregates import SPELLINGS
from tidelog.language.syntax import PRIMITIVES

_KINDS: dict[Sort, CompletionItemKind] = {
    "relation": CompletionItemKind.Class,
    "type": CompletionItemKind.Interface,
    "branch": CompletionItemKind.EnumMember,
    "functor": CompletionItemKind.Function,
    "component": CompletionItemKind.Module,
    "parameter": CompletionItemKind.TypeParameter,
    "instance": CompletionItemKind.Variable,
}
_DIRECTIVE = re.compile(r"(^|[\s}])\.\w*$")
_TYPE = re.compile(r"(^\s*\.(decl|functor|aggregate)\b[^)]*:\s*|<:\s*|^\s*\.type\s+\w+\s*=[^\[{]*)[\w.]*$")
_NAMES = re.compile(r"^\s*\.(input|output|printsize|limitsize|override)\b[^(]*$")
_COMPONENT = re.compile(r"^\s*\.(init\s+\w+\s*=|comp\s+\w+(<[^>]*>)?\s*:)[^<{]*$")
_BRANCH = re.compile(r"\$\w*$")
_CALL = re.compile(r"@\w*$")


def completions(documents: Documents, path: Path, offset: int) -> list[CompletionItem]:
    """Return the words that may stand at an offset."""
    document = documents[path]
    line = document.text[document.text.rfind("\n", 0, offset) + 1 : offset]
    if _DIRECTIVE.search(line) and line.lstrip().startswith("."):
        return [_word(each, CompletionItemKind.Keyword) for each in sorted(lexer.DIRECTIVES)]
    if _BRANCH.search(line):
        return _declared(documents, path, "branch")
    if _CALL.search(line) and not line.lstrip().startswith(".decl"):
        return _declared(documents, path, "functor")
    if _COMPONENT.search(line):
        return _declared(documents, path, "component", "parameter")
    if _TYPE.search(line):
        return [
            *(_word(each, CompletionItemKind.Interface) for each in PRIMITIVES),
            *_declared(documents, path, "type", "parameter"),
        ]
    if _NAMES.search(line):
        return _declared(documents, path, "relation", "instance")
    words = sorted({*lexer.FUNCTIONS, *SPELLINGS, "nil", "true", "false", "match", "contains"})
    found = document.stretch(offset)
    return [
        *(_word(each, CompletionItemKind.Variable) for each in (variables(found[0]) if found is not None else ())),
        *_declared(documents, path, "relation", "instance"),
        *(_word(each, CompletionItemKind.Keyword) for each in words),
    ]


def _word(label: str, kind: CompletionItemKind) -> CompletionItem:
    return CompletionItem(label, kind=kind)


def _declared(documents: Documents, path: Path, *sorts: Sort) -> list[CompletionItem]:
    """Return the names that the program declares, each once, with their declarations."""
    found: dict[str, CompletionItem] = {}
    for each in declarations(documents.program(path), *sorts):
        stretch = each.document.stretch(each.start)
        detail = "" if stretch is None else " ".join(stretch[0].source.text.split())
        item = CompletionItem(each.occurrence.name, kind=_KINDS[each.occurrence.sort], detail=detail[:120])
        found.setdefault(each.occurrence.name, item)
    return list(found.values())
