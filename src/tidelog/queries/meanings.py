"""Queries and the texts that stand for them, under the declarations of a program.

Texts of one atom that differ in their constants only share what reading and checking has made of the first one.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Hashable, Mapping
from dataclasses import replace
from operator import is_
from typing import Any, Generic, TypeAlias, TypeVar

from tidelog.errors import Problem, ProgramError, UsageError, quote, wrong_argument
from tidelog.io.values import RANGES
from tidelog.language import read
from tidelog.language.inlining import INLINE
from tidelog.language.reading import is_preprocessed, read_body
from tidelog.language.syntax import Literal, Program, Value, Variable
from tidelog.queries.bodies import BodyQuery, body_of, declarations
from tidelog.queries.pattern import Pattern, atom_of, check_names, checked_value, pattern_of
from tidelog.workspace.workspace import Workspace

Query: TypeAlias = Pattern | BodyQuery
Kept = TypeVar("Kept")

_MOST = 256
"""Texts that are kept."""
_SIMPLE = re.compile(r'\s*[\w?.]+\s*\((?:[^()\[\]"]|"[^"\\\n]*")*\)\s*\.?\s*')
_LITERAL = re.compile(r'"[^"\\\n]*"|(?<![\w.$])-?[0-9]+(?![\w.])')


class LastTexts(dict[Hashable, Kept], Generic[Kept]):
    """The last texts, and what is known of each. Threads may share it."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def keep(self, key: Hashable, value: Kept) -> Kept:
        """Keep a value in the place of the oldest one, and return it."""
        with self._lock:
            if key not in self and len(self) >= _MOST:
                del self[next(iter(self))]
            self[key] = value
        return value


class Meanings:
    """The queries that texts stand for under the declarations of `programs`. Threads may share them."""

    def __init__(self, programs: tuple[Program, ...]) -> None:
        self._programs = programs
        self._queries = LastTexts[Query]()
        self._patterns = LastTexts[Pattern | None]()
        """By the text of an atom without its constants; None where the constants cannot be replaced."""

    def of(self, programs: tuple[Program, ...]) -> Meanings:
        """Return the meanings under the declarations of some programs: these, if the declarations are the same."""
        if programs is self._programs:
            return self
        one, other = (
            [x for p in declarations(each) for x in (*p.types, *p.declarations, *p.rules)]
            for each in (self._programs, programs)
        )
        found = self if len(one) == len(other) and all(map(is_, one, other)) else Meanings(programs)
        found._programs = programs
        return found

    def query(self, text: str, names: Collection[str], workspace: Workspace[Any]) -> Query:
        """Return a checked query; `names` are its parameters. Raise ProgramError or UsageError."""
        key = (text, *sorted(names))
        known = self._queries.get(key)
        return known or self._queries.keep(key, checked_query(parse_query(text), names, workspace))

    def atom(self, text: str, workspace: Workspace[Any]) -> Pattern | None:
        """Return the pattern of an atom by that of one with other constants; None for all that needs a closer look.
        Raise as `query`."""
        if "#" in text or _SIMPLE.fullmatch(text) is None:
            return None
        values = _LITERAL.findall(text)
        shape = _LITERAL.sub("#", text)
        try:
            known = self._patterns[shape]
        except KeyError:
            query = self.query(text, (), workspace)
            fits = isinstance(query, Pattern) and query.program is None and len(query.constants) == len(values)
            known = self._patterns.keep(shape, query if fits and isinstance(query, Pattern) else None)
        if known is None:
            return None
        constants = []
        for (column, _), literal in zip(known.constants, values, strict=True):
            value = _value(literal, known.kinds[column])
            if value is None:
                return None
            constants.append((column, value))
        return replace(known, constants=tuple(constants))


def check_text(text: object) -> None:
    """Raise UsageError (E0635) if a query is no text."""
    if not isinstance(text, str):
        raise wrong_argument("a query", "the text of a query, such as 'edge(1, X)'", text)


def parse_query(text: str) -> tuple[Literal, ...]:
    """Return the literals of a query. Raise ProgramError, or UsageError (E0607) for statements."""
    try:
        return read_body(text)
    except ProgramError:
        if not is_preprocessed(text):  # Texts of others come here, and must not read files.
            _check_states_nothing(text)
        raise


def _check_states_nothing(text: str) -> None:
    try:
        program = read(f"{text.strip().removesuffix('.')}\n.", name="<query>")
    except ProgramError:
        return
    if program.rules:
        message = "a query is the body of a rule, without a head"
        hint = 'write for example db.query("edge(1, X), edge(X, Y)"); add rules with db.rules.add'
        raise UsageError(Problem("E0607", message, program.rules[0].span, hint=hint)) from None


def checked_query(literals: tuple[Literal, ...], names: Collection[str], workspace: Workspace[Any]) -> Query:
    """Return a query of literals, checked against the declarations of a workspace."""
    atom = None if names else atom_of(literals)
    if atom is not None and atom.path is None and is_inline(workspace, atom.relation):
        atom = None  # It has no tuples.
    if atom is not None:
        return pattern_of(atom, workspace.readable_programs)
    return body_of(literals, names, workspace.readable_programs, workspace.given)


def is_inline(workspace: Workspace[Any], name: str) -> bool:
    """Return True if a declared relation stands for the bodies of its rules."""
    relation = workspace.committed.checked.relations.get(name) or workspace.program.relations.get(name)
    return relation is not None and INLINE in relation.qualifiers


def _value(literal: str, kind: str) -> Value:
    """Return the value of a plain literal in the place of one of this kind; None if it needs a closer look."""
    if literal[0] == '"':
        return literal[1:-1] if kind == "symbol" else None
    if kind == "float":
        return float(literal)
    low, high = RANGES.get(kind, (1, 0))
    return value if len(literal) < 20 and low <= (value := int(literal)) <= high else None


def deletion(text: str, values: Mapping[str, object], workspace: Workspace[Any]) -> Pattern:
    """Return the pattern of the facts to retract, with values for its parameters. Raise ProgramError, UsageError
    (E0611 to E0613), or DataError for a wrong value."""
    check_text(text)
    atom = atom_of(parse_query(text))
    if atom is None or atom.path is not None:
        message = f"expected one atom of a relation as the pattern of facts to delete, found {quote(text)}"
        hint = 'write for example db.delete("edge(1, _)"), or db.delete("edge", db.query(…)) for a query'
        raise UsageError(Problem("E0613", message, hint=hint))
    names = [term.name if isinstance(term, Variable) else None for term in atom.args]
    check_names(values, [name for name in names if name is not None])
    pattern = pattern_of(atom, workspace.programs)
    kinds = zip(names, workspace.with_tuples(pattern.relation).columns, strict=True)
    given = tuple(
        (place, checked_value(values[name], replace(column, name=name), workspace.dictionary))
        for place, (name, column) in enumerate(kinds)
        if name is not None and name in values
    )
    return replace(pattern, constants=(*pattern.constants, *given))
