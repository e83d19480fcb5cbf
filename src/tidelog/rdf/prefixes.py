"""Rule text with the terms of RDF, read with the parser of the language.

`foaf:knows(x, y)` is the relation of a property, `foaf:Person(x)` that of a class, `foaf:knows+(x, y)` a path, and
`ex:alice` anywhere else a constant; `<http://example.org/is-a>` is an IRI in full, `"chat"@fr` and
`"5"^^xsd:integer` are literals. The language has none of these: before a text is read, each is replaced by a word of
the same length (the colon becomes a letter that looks like it), and `@prefix` lines by blanks, so that all places stay
where they were. `naming` then puts relations and constants in the place of the words.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tidelog.common.source import SourceText, Span
from tidelog.errors import DataError, Problem, ProgramError
from tidelog.language import read as read_program
from tidelog.language.components import expand
from tidelog.language.reading import file_text, read_body
from tidelog.language.syntax import Literal, Program, Rule
from tidelog.language.terms import string_value
from tidelog.rdf.formats import FORMATS, ending_of, load
from tidelog.rdf.names import COLON, TRIPLE, Names, check_prefix, unknown_prefix
from tidelog.rdf.naming import Naming, rebuilt, rule_with_constants
from tidelog.rdf.sparql.texts import asks, is_update
from tidelog.rdf.terms import ill_typed, literal

_CHARACTER = r'[^\s<>"{}|^`\\]'


def _name(sort: str = "") -> str:
    return rf"(?<![\w:])(?P<{sort}prefix>[^\W\d]\w*)?:(?P<{sort}local>\w+(?:-\w+)*)"


def _iri(sort: str = "") -> str:
    """Return an IRI in angle brackets: one with `//`, or any other where the syntax allows no path."""
    return rf"<(?P<{sort}iri>[A-Za-z][\w+.-]*:(?://{_CHARACTER}*|{_CHARACTER}+(?=>\s*[,)\].;}}]|>\s*!=|>\s+=)))>"


_PREFIX = re.compile(r"^[ \t]*@?prefix[ \t]+([^\W\d]\w*)?:[ \t]*<([^<>\s]*)>[ \t]*\.?[ \t]*$", re.MULTILINE | re.I)
_TERM = re.compile(
    r"(?P<comment>//[^\n]*|/\*(?s:.*?)\*/)"
    r'|(?P<string>"(?:[^"\\\n]|\\.)*")'
    rf"(?:@(?P<language>[A-Za-z]+(?:-[A-Za-z0-9]+)*)|\^\^(?:{_name('type_')}|{_iri('type_')}))?"
    rf"|{_name()}|{_iri()}"
)
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def parse_program(
    program: str | os.PathLike[str], prefixes: Mapping[str, str], names: Names, declared: Collection[str]
) -> tuple[Program, dict[str, str]]:
    """Return a parsed program, and the known prefixes with those that it declares.

    `names` gets its properties and classes; `declared` are the relations that exist already. Raise ProgramError,
    DataError (E0461, E0462, E0465) or UsageError (E0661).
    """
    is_path = isinstance(program, os.PathLike) or (program.endswith(".dl") and "\n" not in program)
    name = str(program) if is_path else "<text>"
    text = file_text(Path(program), name) if is_path else str(program)
    known = {**prefixes, **{match[1] or "": match[2] for match in _PREFIX.finditer(text)}}
    blank = _PREFIX.sub(lambda match: " " * len(match[0]), text)
    source = SourceText(name, text)
    for match in _PREFIX.finditer(text):
        check_prefix(match[1] or "", match[2], Span(source, match.start(2), match.end(2)))
    words = _Words(known, source)
    try:
        (parsed,) = expand([read_program(f"{_TERM.sub(words.replace_term, blank)}\n", name=name)])
    except ProgramError as error:
        if hint := _other_verb(program, text):
            raise ProgramError(replace(words.original(error.problems[0]), hint=hint)) from None
        _refuse_unknown_prefix(source, blank, known)
        raise ProgramError(*(words.original(problem) for problem in error.problems)) from None
    there = {*declared, *(each.name for each in parsed.declarations)}
    for rule in parsed.rules:
        _refuse_prefix_as_label(rule, source, there, known)
    is_plain = blank == text and not words.symbols and TRIPLE not in text  # There is nothing to rename or to place.
    if not is_plain:
        own_triples = TRIPLE in there and not names.has_triples
        parsed = Naming(words.symbols, names, own_triples).rename(parsed)
    parsed = replace(parsed, rules=tuple(rule_with_constants(rule) for rule in parsed.rules))
    return parsed if is_plain else _with_places(parsed, source), known


def is_plain(text: str, prefixes: Mapping[str, str]) -> bool:
    """Return True if a program has no terms of RDF, as the thousands of rules that views and shapes make."""
    words = _Words(prefixes, SourceText("<text>", text))
    return TRIPLE not in text and _PREFIX.search(text) is None and _TERM.sub(words.replace_term, text) == text


def _other_verb(program: str | os.PathLike[str], text: str) -> str:
    """Return a hint at the verb that takes a text which is no program, "" if no verb does."""
    if asks(text):
        return "pass a query in SPARQL to `store.query`, or to `store.view`; `load` takes rules"
    if is_update(text):
        return "pass an update in SPARQL to `store.update`; `load` takes rules"
    is_file = isinstance(program, str) and "\n" not in text and ending_of(text) in FORMATS and "<" not in text
    try:
        is_turtle = is_file or any(True for _ in load().parse(text.encode(errors="replace"), load().RdfFormat.TURTLE))
    except (SyntaxError, ValueError):
        is_turtle = False
    return "pass triples to `store.insert`; `load` takes rules" if is_turtle else ""


def query(
    text: str, prefixes: Mapping[str, str], names: Names, declared: Collection[str]
) -> tuple[Literal, ...] | None:
    """Return the literals of a query in the names of the database; None for text that is no body of a rule."""
    source = SourceText("<query>", text)
    words = _Words(prefixes, source)
    try:
        body = read_body(_TERM.sub(words.replace_term, text.strip()))
    except (ProgramError, ValueError):
        _refuse_unknown_prefix(source, text, prefixes, around=":-")
        return None
    own_triples = TRIPLE in declared and not names.has_triples
    named: tuple[Literal, ...] = Naming(words.symbols, names, own_triples).rename(body)
    return named


class _Words:
    """Replaces terms of RDF by words of the language; `symbols` has the term of each word."""

    def __init__(self, prefixes: Mapping[str, str], source: SourceText) -> None:
        self.symbols: dict[str, str] = {}
        self._prefixes = prefixes
        self._source = source
        self._spelled: dict[str, str] = {}

    def replace_term(self, match: re.Match[str]) -> str:
        """Return the word for a term. Text without a known prefix is something else: a type, a label."""
        text = match[0]
        symbol = self._symbol(match)
        if symbol is None:
            return text
        if match["local"] and "-" not in text:
            word = text.replace(":", COLON)
        else:
            word = COLON * 2 + _number(len(self.symbols)).rjust(len(text) - 2, _DIGITS[0])
        self.symbols[word] = symbol
        self._spelled[word] = text
        return word

    def _symbol(self, match: re.Match[str]) -> str | None:
        if match["comment"]:
            return None
        if match["string"]:
            return self._literal(match)
        return match["iri"] or self._full(match["prefix"], match["local"])

    def _full(self, prefix: str | None, local: str | None) -> str | None:
        iri = self._prefixes.get(prefix or "")
        return None if iri is None or local is None else iri + local

    def _literal(self, match: re.Match[str]) -> str | None:
        """Return a literal with its language or datatype; None for a plain text, which `Naming` turns into a literal
        where needed. Raise DataError (E0462) if the datatype has no such value."""
        import pyarrow as pa

        datatype = match["type_iri"] or self._full(match["type_prefix"], match["type_local"])
        if datatype is None and match["language"] is None:
            return None
        span = Span(self._source, match.start(), match.end())
        text, problem = string_value(match["string"], replace(span, end=match.end("string")))
        if problem is not None:
            raise ProgramError(problem)
        try:
            symbol = literal(text, datatype, match["language"])
        except DataError as error:
            raise DataError(*(replace(problem, span=span) for problem in error.problems)) from None
        if ill_typed(pa.array([symbol])):
            hint = "correct the literal, or give it another datatype"
            raise DataError(Problem("E0462", f"the literal does not fit its datatype: {symbol}", span, hint=hint))
        return symbol

    def original(self, problem: Problem) -> Problem:
        """Return a problem in the terms and with the places of the original text."""
        message = re.sub(rf"\w*{COLON}\w+", lambda match: self._spelled.get(match[0], match[0]), problem.message)
        placed: Problem = _with_places(replace(problem, message=message), self._source)
        return placed


def _number(value: int) -> str:
    """Return a number in the digits and letters of a word."""
    return (_number(value // len(_DIGITS)) if value >= len(_DIGITS) else "") + _DIGITS[value % len(_DIGITS)]


def _refuse_unknown_prefix(source: SourceText, text: str, known: Mapping[str, str], around: str = "") -> None:
    """Raise UsageError (E0661) if an unreadable text has an undeclared prefix: of a datatype, of an atom in a body or
    behind a label or another head, or of a term. `around` is the text before it."""
    for match in _TERM.finditer(text):
        prefix = match["type_prefix"] if match["string"] else match["prefix"]
        local = match["type_local"] if match["string"] else match["local"]
        if match["comment"] or local is None or (prefix or "") in known:
            continue
        before, behind = (around + text[: match.start()]).rstrip(), text[match.end() :].lstrip()[:1]
        is_atom = behind == "(" and before.endswith((",", ":-", "!", ";", "{", ":"))
        is_term = behind in (",", ")") and before.endswith(("(", ",")) and ".decl" not in before.rpartition("\n")[2]
        if match["string"] or is_atom or is_term:
            raise unknown_prefix(prefix or "", known, Span(source, match.start(), match.end()))


def _refuse_prefix_as_label(
    rule: Rule, source: SourceText, declared: Collection[str], known: Mapping[str, str]
) -> None:
    """Raise UsageError (E0661) where the label of a rule is the prefix of its head: `foaf:knows(x, y) :- …`."""
    span = rule.heads[0].span
    if rule.name is None or span is None or rule.heads[0].relation in declared or COLON in rule.heads[0].relation:
        return
    if source.text[: span.start].endswith(f"{rule.name}:"):
        raise unknown_prefix(rule.name, known, Span(source, span.start - len(rule.name) - 1, span.end))


def _with_places(node: Any, source: SourceText) -> Any:
    """Return a tree or problem with its places in another source of the same length."""
    if isinstance(node, Span):
        return replace(node, source=source, end=min(node.end, len(source.text)))
    return rebuilt(node, lambda part: _with_places(part, source))
