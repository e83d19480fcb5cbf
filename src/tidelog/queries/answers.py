"""Answers to queries over the views of an embedded engine.

A query is one atom (`pattern`), whose answer are tuples of its relation, or any other body of a rule (`bodies`), whose
answer are the values of its variables. `Answers` keeps what reading and checking has made of a text, until declarations
change. Texts of one atom that differ in their constants only share that.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from operator import is_
from typing import Any, TypeAlias

import numpy
from numpy.typing import NDArray

from tidelog.arrays import Words
from tidelog.errors import Problem, ProgramError, UsageError, wrong_argument
from tidelog.io.values import RANGES
from tidelog.language import read
from tidelog.language.inlining import INLINE
from tidelog.language.reading import read_body
from tidelog.language.syntax import CheckedProgram, Literal, Value
from tidelog.limits.watch import guarded
from tidelog.maintain.engine import evaluated
from tidelog.maintain.state import EngineState
from tidelog.options import DatabaseOptions
from tidelog.queries.bodies import GIVEN, BodyQuery, body_of, declarations
from tidelog.queries.evaluation import Evaluation
from tidelog.queries.parameters import encoded
from tidelog.queries.pattern import QUERY, Pattern, atom_of, matching, remaining
from tidelog.relation import Relation, WordRows
from tidelog.rules.path_forms import has_nodes
from tidelog.workspace import Workspace

NO_ROWS: Mapping[str, Words] = {}
NAME = "query"
"""The name of the answer to a query that is not one atom."""
_MOST = 256
"""Texts that are kept."""
_SIMPLE = re.compile(r'\s*[\w?.]+\s*\((?:[^()\[\]"]|"[^"\\\n]*")*\)\s*\.?\s*')
_LITERAL = re.compile(r'"[^"\\\n]*"|(?<![\w.$])-?[0-9]+(?![\w.])')

Query: TypeAlias = Pattern | BodyQuery


@dataclass
class _Known:
    """A query that has been asked, and the way to evaluate it under the rules of `committed`."""

    query: Query
    committed: CheckedProgram | None = None
    evaluation: Evaluation | None = None


class Answers:
    """The queries that the database of a workspace has been asked. The caller keeps other threads away."""

    def __init__(self, workspace: Workspace[Any]) -> None:
        self._workspace = workspace
        self._programs = workspace.programs
        self._known: dict[tuple[str, ...], _Known] = {}
        self._lifted: dict[str, Pattern | None] = {}
        """Patterns by the text of their atom without its constants; None where the constants cannot be replaced."""

    def query(self, text: str, names: Collection[str] = ()) -> Query:
        """Return a checked query; `names` are its parameters. Raise ProgramError or UsageError."""
        check_text(text)
        return self._asked(text, names).query

    def answer(
        self,
        text: str,
        values: Mapping[str, object],
        engine: EngineState,
        options: DatabaseOptions,
    ) -> Relation:
        """Return the answer to a query as of the last epoch of an engine, with values for its parameters.

        Raises ProgramError, UsageError, DataError for a wrong value, and LimitError. The caller keeps words from being
        given back meanwhile.
        """
        check_text(text)
        pattern = None if values else self._with_constants(text)
        if pattern is not None:
            return answer(pattern, self._workspace, engine, options)
        known = self._asked(text, values)
        if isinstance(known.query, Pattern):
            return answer(known.query, self._workspace, engine, options)
        return self._of_body(known, known.query, values, engine, options)

    def _of_body(
        self,
        known: _Known,
        body: BodyQuery,
        values: Mapping[str, object],
        engine: EngineState,
        options: DatabaseOptions,
    ) -> Relation:
        dictionary, committed = self._workspace.dictionary, self._workspace.committed.checked
        if known.evaluation is None or (body.program.domains and known.committed is not committed):
            known.evaluation, known.committed = body.evaluation(committed), committed
        facts = {GIVEN: encoded(values, body.parameters, dictionary)} if body.parameters else {}
        watch = options.watch()
        with guarded(watch):
            words = known.evaluation.rows(engine, facts, watch)
        return Relation(NAME, WordRows(body.columns, dictionary, words))

    def release(self, engine: EngineState) -> None:
        """Release the memory of relations that an epoch has replaced."""
        for known in self._known.values():
            if known.evaluation is not None:
                known.evaluation.release(engine)

    # --- texts -------------------------------------------------------------------------------------------------------

    def _asked(self, text: str, names: Collection[str]) -> _Known:
        self._follow_declarations()
        key = (text, *sorted(names))
        known = self._known.get(key)
        if known is None:
            known = _Known(checked_query(parsed(text), names, self._workspace))
            if len(self._known) >= _MOST:
                del self._known[next(iter(self._known))]
            self._known[key] = known
        return known

    def _with_constants(self, text: str) -> Pattern | None:
        """Return the pattern of an atom by that of one with other constants; None for all that needs a closer look."""
        self._follow_declarations()
        if "#" in text or _SIMPLE.fullmatch(text) is None:
            return None
        values = _LITERAL.findall(text)
        shape = _LITERAL.sub("#", text)
        if shape not in self._lifted:
            query = self.query(text)
            fits = isinstance(query, Pattern) and query.program is None and len(query.constants) == len(values)
            if len(self._lifted) >= _MOST:
                del self._lifted[next(iter(self._lifted))]
            self._lifted[shape] = query if fits and isinstance(query, Pattern) else None
        known = self._lifted[shape]
        if known is None:
            return None
        constants = []
        for (column, _), literal in zip(known.constants, values, strict=True):
            value = _value(literal, known.kinds[column])
            if value is None:
                return None
            constants.append((column, value))
        return replace(known, constants=tuple(constants))

    def _follow_declarations(self) -> None:
        """Forget everything if types or relations have been declared since."""
        before, programs = self._programs, self._workspace.programs
        if programs is not before:
            one, other = (
                [x for p in declarations(each) for x in (*p.types, *p.declarations, *p.rules)]
                for each in (before, programs)
            )
            same = len(one) == len(other) and all(map(is_, one, other))
            if not same:
                self._known.clear()
                self._lifted.clear()
            self._programs = programs


def check_text(text: object) -> None:
    """Raise UsageError (E0635) if a query is no text."""
    if not isinstance(text, str):
        raise wrong_argument("a query", "the text of a query, such as 'edge(1, X)'", text)


def parsed(text: str) -> tuple[Literal, ...]:
    """Return the literals of a query. Raise ProgramError, or UsageError (E0607) for statements."""
    try:
        return read_body(text)
    except ProgramError:
        try:
            program = read(f"{text.strip().removesuffix('.')}\n.", name="<query>")
        except ProgramError:
            pass
        else:
            if program.rules:
                message = "a query is the body of a rule, without a head"
                hint = 'write for example db.query("edge(1, X), edge(X, Y)"); add rules with db.rules.add'
                raise UsageError(Problem("E0607", message, program.rules[0].span, hint=hint)) from None
        raise


def checked_query(literals: tuple[Literal, ...], names: Collection[str], workspace: Workspace[Any]) -> Query:
    """Return a query of literals, checked against the declarations of a workspace."""
    atom = None if names else atom_of(literals)
    if atom is not None and atom.path is None and is_inline(workspace, atom.relation):
        atom = None  # It has no tuples.
    if atom is not None:
        return matching(atom, workspace.programs)
    return body_of(literals, names, workspace.programs, workspace.given)


def is_inline(workspace: Workspace[Any], name: str) -> bool:
    """Return True if a declared relation stands for the bodies of its rules."""
    relation = workspace.program.relations.get(name)
    return relation is not None and INLINE in relation.qualifiers


def answer(
    pattern: Pattern,
    workspace: Workspace[Any],
    engine: EngineState,
    options: DatabaseOptions,
    given: Mapping[str, Words] = NO_ROWS,
    derived: Collection[str] = (),
) -> Relation:
    """Return the tuples that match a pattern, as of the last epoch of an engine.

    A path finds the rows `given` in these relations, and its nodes are not those of the relations called `derived`;
    with these, what rules keep of paths has other nodes.
    Raises LimitError; the caller keeps words from being given back meanwhile.
    """
    dictionary = workspace.dictionary
    if pattern.program is None:
        columns = workspace.relation(pattern.relation).columns
        stored, known = engine.views.get(pattern.relation), pattern.words(dictionary)
        none = numpy.empty((0, len(columns)), numpy.int64)
        words: NDArray[Any] = none if stored is None or len(known) < len(pattern.constants) else stored.near(known)
    else:
        columns = pattern.program.relations[QUERY].columns
        kept = {*given, *(name for name in engine.views if not (derived and has_nodes(name)))}
        asked = remaining(pattern, dictionary, workspace.committed.checked, kept, derived)
        watch = options.watch()
        with guarded(watch):
            facts = {
                name: given[name] if name in given else asked.needed(name, engine.views[name].near)
                for name in asked.reads
            }
            found = evaluated(dictionary, asked.core, {**facts, **asked.facts}, watch)
            words = found.views[QUERY].words()
    return Relation(pattern.relation, WordRows(columns, dictionary, pattern.select(words, dictionary)))


def _value(literal: str, kind: str) -> Value:
    """Return the value of a plain literal in the place of one of this kind; None if it needs a closer look."""
    if literal[0] == '"':
        return literal[1:-1] if kind == "symbol" else None
    if kind == "float":
        return float(literal)
    low, high = RANGES.get(kind, (1, 0))
    return value if len(literal) < 20 and low <= (value := int(literal)) <= high else None
