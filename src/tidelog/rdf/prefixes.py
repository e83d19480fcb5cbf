"""Rule text with prefixes, and its names in the syntax tree.

`foaf:knows(x, y)` is the relation of a property, `foaf:Person(x)` that of a class, `foaf:knows+(x, y)` a path, and
`ex:alice` anywhere else a constant. The language has no such names: before a text is read, the colon of each is
replaced by a letter that looks like it, and `@prefix` lines by blanks, which leaves all places where they were; the
tree that comes out is then told which relations and constants these are, and that its places are those of the
original text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from tidelog.errors import ProgramError
from tidelog.language import read as read_program
from tidelog.language.printer import path_name
from tidelog.language.reading import file_text
from tidelog.language.syntax import Atom, Constant, Program, Rule, Source, Span, Step, Variable
from tidelog.rdf.names import COLON, Names, unknown_prefix

_PREFIX = re.compile(r"^[ \t]*@prefix[ \t]+([^\W\d]\w*)?:[ \t]*<([^<>\s]*)>[ \t]*\.?[ \t]*$", re.MULTILINE)
_SKIPPED = r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*(?s:.*?)\*/'
_NAME = re.compile(rf"(?P<skipped>{_SKIPPED})|(?<![\w:])(?P<prefix>[^\W\d]\w*)?:(?P<local>[^\W\d]\w*)")


def read(program: str | os.PathLike[str], prefixes: Mapping[str, str], names: Names) -> tuple[Program, dict[str, str]]:
    """A parsed program, and the prefixes with those that it declares; `names` gets its properties and classes.

    Raises ProgramError, UsageError (E0661).
    """
    is_path = isinstance(program, os.PathLike) or (program.endswith(".dl") and "\n" not in program)
    name = str(program) if is_path else "<text>"
    text = file_text(Path(program), name) if is_path else str(program)
    known = {**prefixes, **{match[1] or "": match[2] for match in _PREFIX.finditer(text)}}
    blank = _PREFIX.sub(lambda match: " " * len(match[0]), text)
    spelled = _NAME.sub(lambda match: _spelled(match, known), blank)
    source = Source(name, text)
    try:
        parsed = read_program(f"{spelled}\n", name=name)
    except ProgramError as error:
        lacking = _lacking(blank, known)
        if lacking is not None:
            raise unknown_prefix(lacking, list(known)) from None
        raise ProgramError(*(_placed(problem, source) for problem in error.problems)) from None
    return _placed(_Naming(known, names).named(parsed), source), known


def query(text: str, prefixes: Mapping[str, str], names: Names) -> str:
    """An atom with prefixes in the names of the database; any other text as it is, for the database to refuse."""
    spelled = _NAME.sub(lambda match: _spelled(match, prefixes), text)
    if spelled == text:
        return text
    try:
        parsed = read_program(f"query() :- {spelled}.\n")
    except ProgramError:
        return text
    (rule,) = parsed.rules
    return ", ".join(str(_Naming(prefixes, names).named(literal)) for literal in rule.body)


def _spelled(match: re.Match[str], known: Mapping[str, str]) -> str:
    """A prefixed name in the letters of the language. Without a known prefix it is something else: a type, a label."""
    if match["skipped"] or (match["prefix"] or "") not in known:
        return match[0]
    return f"{match['prefix'] or ''}{COLON}{match['local']}"


def _lacking(text: str, known: Mapping[str, str]) -> str | None:
    """A prefix that nobody has declared, of an atom in a body or behind another head."""
    for match in _NAME.finditer(text):
        if not match["skipped"] and (match["prefix"] or "") not in known and text[match.end() :].lstrip()[:1] == "(":
            before = text[: match.start()].rstrip()
            if before.endswith((",", ":-", "!", ";", "{")):
                return match["prefix"] or ""
    return None


class _Naming:
    """Puts relations and constants in place of the names with prefixes of a syntax tree."""

    def __init__(self, prefixes: Mapping[str, str], names: Names) -> None:
        self.prefixes = prefixes
        self.names = names

    def named(self, node: Any) -> Any:
        match node:
            case Atom(relation=relation, args=args, path=None) if COLON in relation:
                iri = self.iri(relation)
                name = self.names.class_(iri) if len(args) == 1 else self.names.property(iri)
                return replace(node, relation=name, args=self.named(args))
            case Atom(path=path) if path is not None:
                path = self.named(path)
                return replace(node, relation=path_name(path), args=self.named(node.args), path=path)
            case Step(relation=relation) if COLON in relation:
                return replace(node, relation=self.names.property(self.iri(relation)))
            case Variable(name=name) if COLON in name:
                return Constant(self.iri(name), "symbol", span=node.span)
        return _rebuilt(node, self.named)

    def iri(self, name: str) -> str:
        prefix, _, local = name.partition(COLON)
        return self.prefixes[prefix] + local


def _placed(node: Any, source: Source) -> Any:
    """A tree or problem with its places in another source of the same length."""
    if isinstance(node, Span):
        return replace(node, source=source, end=min(node.end, len(source.text)))
    return _rebuilt(node, lambda part: _placed(part, source))


def _rebuilt(node: Any, change: Any) -> Any:
    """A node with its parts changed."""
    if isinstance(node, tuple):
        return tuple(map(change, node))
    if not is_dataclass(node) or isinstance(node, (type, Source)):
        return node
    values = {field.name: getattr(node, field.name) for field in fields(node)}
    return replace(node, **{name: change(value) for name, value in values.items()})


def reads(rules: Iterable[Rule], relation: str) -> bool:
    """Whether some rule has an atom of a relation in its body."""
    return any(_mentions(rule.body, relation) for rule in rules)


def derives(rules: Iterable[Rule], relation: str) -> bool:
    """Whether some rule has a head of a relation, and a body."""
    return any(head.relation == relation for rule in rules for head in rule.heads)


def _mentions(node: Any, relation: str) -> bool:
    if isinstance(node, tuple):
        return any(_mentions(part, relation) for part in node)
    if isinstance(node, (Atom, Step)) and node.relation == relation:
        return True
    if not is_dataclass(node) or isinstance(node, (type, Source, Span)):
        return False
    return any(_mentions(getattr(node, field.name), relation) for field in fields(node))
