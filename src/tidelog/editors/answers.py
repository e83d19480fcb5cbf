"""Answers to an editor: where names lead, new names, the words for a hover and for completion, and the outline."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lsprotocol.types import CompletionItem, CompletionItemKind, DocumentSymbol, SymbolKind

from tidelog.editors.diagnostics import TextPlaces
from tidelog.editors.documents import Documents, ProgramDocument
from tidelog.editors.names import NameOccurrence, Sort, is_name, names
from tidelog.language import lexer
from tidelog.language.aggregates import SPELLINGS
from tidelog.language.drafts import DraftStretch
from tidelog.language.syntax import PRIMITIVES, About, Declaration, Rule, Variable
from tidelog.language.trees import atoms, walk, whole

LOCAL: tuple[Sort, ...] = ("variable", "attribute")
"""Sorts of names that mean something within one statement only."""


@dataclass(frozen=True)
class NamePlace:
    """A name in a document: its offsets there, the occurrence, and the components around it."""

    document: ProgramDocument
    start: int
    end: int
    occurrence: NameOccurrence
    around: tuple[str, ...] = ()


class RenameRefused(Exception):
    """A name that cannot get the new name; the text says why."""


def places(documents: list[ProgramDocument]) -> Iterator[NamePlace]:
    """Yield all names of some documents."""
    for document in documents:
        around = {start: names for _, start, names in document.components()}
        for each, start in document.occurrences:
            yield NamePlace(document, start + each.start, start + each.end, each, around[start])


def declarations(documents: list[ProgramDocument], *sorts: Sort) -> Iterator[NamePlace]:
    """Yield the places that declare names of some sorts."""
    return (each for each in places(documents) if each.occurrence.declares and each.occurrence.sort in sorts)


def definitions(documents: Documents, path: Path, offset: int) -> list[NamePlace]:
    """Return the places that declare the name at an offset: those in the nearest component, if there are any."""
    document = documents[path]
    found = document.at(offset)
    if found is None:
        return []
    name, start = found
    if name.sort in LOCAL:
        return _in_stretch(document, name, start)[:1]
    sorts = _declaring_sorts(name.sort)
    known = [each for each in declarations(documents.program(path), *sorts) if each.occurrence.name == name.name]
    around = next((names for _, begin, names in document.components() if begin == start), ())
    if name.qualified:
        return known
    near = [each for each in known if each.around == around[: len(each.around)]]
    deepest = max((len(each.around) for each in near), default=0)
    return [each for each in near if len(each.around) == deepest] or known


def _declaring_sorts(sort: Sort) -> tuple[Sort, ...]:
    """Return the sorts of declarations that a name may mean: parameters of components stand for types and others."""
    return (sort, "parameter", "component") if sort in ("type", "component") else (sort,)


def references(documents: Documents, path: Path, offset: int) -> list[NamePlace]:
    """Return all places of the name at an offset, its declarations included."""
    document = documents[path]
    found = document.at(offset)
    if found is None:
        return []
    name, start = found
    if name.sort in LOCAL:
        return _in_stretch(document, name, start)
    sorts = _declaring_sorts(name.sort)
    known = places(documents.program(path))
    return [each for each in known if each.occurrence.name == name.name and each.occurrence.sort in sorts]


def places_to_rename(documents: Documents, path: Path, offset: int, name: str) -> list[NamePlace]:
    """Return the places that get a new name. Raise RenameRefused if they cannot."""
    found = references(documents, path, offset)
    if not found:
        raise RenameRefused("there is no name here")
    own = found[0].occurrence
    if not is_name(name):
        raise RenameRefused(f"`{name}` is not a name")
    if own.sort in LOCAL:
        stretch = documents[path].stretch(offset)
        if stretch is not None and any(token.type == "NAME" and token == name for token in stretch[0].tokens):
            raise RenameRefused(f"the statement has the name `{name}` already")
        return found
    program = documents.program(path)
    declared = {(each.document.path, each.around) for each in found if each.occurrence.declares}
    if len(declared) != 1:
        known = "is declared in several places" if declared else "is not declared in this program"
        raise RenameRefused(f"the {own.sort} `{own.name}` {known}")
    sorts = _declaring_sorts(own.sort)
    if any(each.occurrence.name == name for each in declarations(program, *sorts)):
        raise RenameRefused(f"the program has the {own.sort} `{name}` already")
    word = re.compile(rf"^[^\S\n]*#(?:.*\\\n)*.*\b{re.escape(own.name)}\b", re.MULTILINE)
    if any(word.search(each.text) for each in program):
        raise RenameRefused(f"a preprocessor line has the word `{own.name}`")
    return found


def _in_stretch(document: ProgramDocument, name: NameOccurrence, start: int) -> list[NamePlace]:
    return [
        NamePlace(document, start + each.start, start + each.end, each)
        for each, begin in document.occurrences
        if begin == start and each.sort == name.sort and each.name == name.name
    ]


# --- words for a hover -----------------------------------------------------------------------------------------------


def hover_text(documents: Documents, path: Path, offset: int) -> tuple[NameOccurrence, str, str, int] | None:
    """Return the name at an offset, the text that declares it, its documentation, and its offset; None for no name."""
    document = documents[path]
    found = document.at(offset)
    if found is None:
        return None
    name, start = found
    if name.sort == "variable":
        stretch = document.stretch(start)
        types = _types_of(documents, path, stretch[0], name.name) if stretch is not None else []
        return name, f"{name.name}: {' | '.join(types)}" if types else name.name, "", start + name.start
    known = definitions(documents, path, offset)
    if not known:
        return None
    declared = known[0].document.stretch(known[0].start)
    if declared is None:
        return None
    return name, _head(declared[0]), _documentation(declared[0], name.name), start + name.start


def _head(stretch: DraftStretch) -> str:
    """Return the text of a statement without what stands around it; of a component, its first line."""
    if not stretch.tokens:
        return ""
    return stretch.source.text[stretch.tokens[0].start_pos : stretch.tokens[-1].end_pos].rstrip("{ \n")


def _documentation(stretch: DraftStretch, name: str) -> str:
    """Return the documentation comments of a statement and of its attributes."""
    for each in stretch.statements:
        about: About = getattr(each, "about", About())
        if getattr(each, "name", name) == name and about.doc:
            return about.doc
    return ""


def _types_of(documents: Documents, path: Path, stretch: DraftStretch, name: str) -> list[str]:
    """Return the types of the columns in which a variable of a rule stands."""
    columns = {
        each.name: [attribute.type for attribute in each.attributes]
        for document in documents.program(path)
        for part in document.draft.stretches
        for each in part.statements
        if isinstance(each, Declaration)
    }
    rules = [each for each in stretch.statements if isinstance(each, Rule)]
    found = [
        columns[atom.relation.rpartition(".")[2]][i]
        for rule in rules
        for atom in atoms(whole(rule))
        for i, arg in enumerate(atom.args)
        if isinstance(arg, Variable) and arg.name == name
        if i < len(columns.get(atom.relation.rpartition(".")[2], ()))
    ]
    return list(dict.fromkeys(found))


def variables(stretch: DraftStretch) -> list[str]:
    """Return the variables of a statement."""
    nodes = (node for each in stretch.statements if isinstance(each, Rule) for node in walk(whole(each)))
    return list(dict.fromkeys(node.name for node in nodes if isinstance(node, Variable)))


def full_name(document: ProgramDocument, offset: int) -> str:
    """Return the whole name of which a part begins at an offset, as in `a.b`."""
    begin = offset
    while begin and (document.text[begin - 1].isalnum() or document.text[begin - 1] in "_?."):
        begin -= 1
    found = re.compile(r"[\w?.]+").match(document.text, begin)
    return "" if found is None else found[0].strip(".")


# --- completion ------------------------------------------------------------------------------------------------------

_COMPLETION_KINDS: dict[Sort, CompletionItemKind] = {
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
        return _declared_names(documents, path, "branch")
    if _CALL.search(line) and not line.lstrip().startswith(".decl"):
        return _declared_names(documents, path, "functor")
    if _COMPONENT.search(line):
        return _declared_names(documents, path, "component", "parameter")
    if _TYPE.search(line):
        return [
            *(_word(each, CompletionItemKind.Interface) for each in PRIMITIVES),
            *_declared_names(documents, path, "type", "parameter"),
        ]
    if _NAMES.search(line):
        return _declared_names(documents, path, "relation", "instance")
    words = sorted({*lexer.FUNCTIONS, *SPELLINGS, "nil", "true", "false", "match", "contains"})
    found = document.stretch(offset)
    return [
        *(_word(each, CompletionItemKind.Variable) for each in (variables(found[0]) if found is not None else ())),
        *_declared_names(documents, path, "relation", "instance"),
        *(_word(each, CompletionItemKind.Keyword) for each in words),
    ]


def _word(label: str, kind: CompletionItemKind) -> CompletionItem:
    return CompletionItem(label, kind=kind)


def _declared_names(documents: Documents, path: Path, *sorts: Sort) -> list[CompletionItem]:
    """Return the names that the program declares, each once, with their declarations."""
    found: dict[str, CompletionItem] = {}
    for each in declarations(documents.program(path), *sorts):
        stretch = each.document.stretch(each.start)
        detail = "" if stretch is None else " ".join(stretch[0].source.text.split())
        item = CompletionItem(each.occurrence.name, kind=_COMPLETION_KINDS[each.occurrence.sort], detail=detail[:120])
        found.setdefault(each.occurrence.name, item)
    return list(found.values())


# --- outline ---------------------------------------------------------------------------------------------------------

_SYMBOL_KINDS: dict[Sort, SymbolKind] = {
    "relation": SymbolKind.Class,
    "type": SymbolKind.Interface,
    "functor": SymbolKind.Function,
    "component": SymbolKind.Module,
    "instance": SymbolKind.Object,
    "rule": SymbolKind.Event,
}


def outline(document: ProgramDocument, texts: TextPlaces) -> list[DocumentSymbol]:
    found: list[DocumentSymbol] = []
    levels = [found]
    for stretch, begin, around in document.components():
        if not stretch.tokens:
            continue
        del levels[len(around) + 1 :]
        first, last = stretch.tokens[0].start_pos or 0, stretch.tokens[-1].end_pos or 0
        whole = texts.range(begin + first, begin + last)
        declared = [each for each in names(stretch) if each.declares and each.sort in _SYMBOL_KINDS]
        symbols = [
            DocumentSymbol(
                each.name,
                _SYMBOL_KINDS[each.sort],
                whole,
                texts.range(begin + each.start, begin + each.end),
                children=[],
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
