"""Answers to queries over the views of an embedded engine.

A query is one atom (`pattern`), whose answer are tuples of its relation, or any other body of a rule (`bodies`), whose
answer are the values of its variables. `Answers` keeps what reading, checking and compiling has made of a text, until
declarations change.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.io.relation import Relation, WordRows
from tidelog.language.syntax import CheckedProgram
from tidelog.limits.watch import guarded
from tidelog.maintain.engine import evaluated
from tidelog.maintain.state import EngineState
from tidelog.queries.bodies import GIVEN, BodyQuery
from tidelog.queries.evaluation import Evaluation
from tidelog.queries.meanings import LastTexts, Meanings, Query, check_text
from tidelog.queries.parameters import encoded
from tidelog.queries.pattern import QUERY, Pattern, remaining
from tidelog.queries.planning import QueryPlan, plan_of_body, plan_of_pattern
from tidelog.rules.path_forms import has_nodes
from tidelog.workspace.options import THE_QUERY, DatabaseOptions
from tidelog.workspace.workspace import Workspace

NO_ROWS: Mapping[str, Words] = {}
NAME = "query"
"""The name of the answer to a query that is not one atom."""


@dataclass
class _Compiled:
    """A query that is the body of a rule, and its evaluation under the rules of `committed`."""

    committed: CheckedProgram
    evaluation: Evaluation


class Answers:
    """The answers that the database of a workspace gives. The caller keeps other threads away. `meanings` are those
    that others know already."""

    def __init__(self, workspace: Workspace[Any], meanings: Meanings | None = None) -> None:
        self._workspace = workspace
        self._meanings = meanings or Meanings(workspace.readable_programs)
        self._compiled = LastTexts[_Compiled]()

    def query(self, text: str, names: Collection[str] = ()) -> Query:
        """Return a checked query; `names` are its parameters. Raise ProgramError or UsageError."""
        check_text(text)
        return self._followed().query(text, names, self._workspace)

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
        meanings = self._followed()
        query = (None if values else meanings.atom(text, self._workspace)) or meanings.query(
            text, values, self._workspace
        )
        if isinstance(query, Pattern):
            return answer(query, self._workspace, engine, options)
        return self._of_body((text, *sorted(values)), query, values, engine, options)

    def plan(self, text: str, values: Mapping[str, object], engine: EngineState) -> QueryPlan:
        """Return how a query would be evaluated over the views of an engine. Raise as `query`."""
        query = self.query(text, values)
        if isinstance(query, Pattern):
            return plan_of_pattern(query, engine)
        return plan_of_body(query.evaluation(self._workspace.committed.checked), engine)

    def _followed(self) -> Meanings:
        """Return the meanings under the declarations of now. What was compiled under others is forgotten."""
        found = self._meanings.of(self._workspace.readable_programs)
        if found is not self._meanings:
            self._meanings, self._compiled = found, LastTexts()
        return found

    def _of_body(
        self,
        key: tuple[str, ...],
        body: BodyQuery,
        values: Mapping[str, object],
        engine: EngineState,
        options: DatabaseOptions,
    ) -> Relation:
        dictionary, committed = self._workspace.dictionary, self._workspace.committed.checked
        known = self._compiled.get(key)
        if known is None or (body.program.domains and known.committed is not committed):
            known = self._compiled.keep(key, _Compiled(committed, body.evaluation(committed)))
        facts = {GIVEN: encoded(values, body.parameters, dictionary)} if body.parameters else {}
        watch = options.watch(work=THE_QUERY)
        with guarded(watch):
            words = known.evaluation.rows(engine, facts, watch)
        return Relation(NAME, WordRows(body.columns, dictionary, words))

    def release(self, engine: EngineState) -> None:
        """Release the memory of relations that an epoch has replaced."""
        for known in self._compiled.values():
            known.evaluation.release(engine)


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
        columns = workspace.readable(pattern.relation).columns
        stored, known = engine.views.get(pattern.relation), pattern.words(dictionary)
        none = numpy.empty((0, len(columns)), numpy.int64)
        words: NDArray[Any] = none if stored is None or len(known) < len(pattern.constants) else stored.near(known)
    else:
        columns = pattern.program.relations[QUERY].columns
        kept = {*given, *(name for name in engine.views if not (derived and has_nodes(name)))}
        asked = remaining(pattern, dictionary, workspace.committed.checked, kept, derived)
        watch = options.watch(work=THE_QUERY)
        with guarded(watch):
            facts = {
                name: given[name] if name in given else asked.needed(name, engine.views[name].near)
                for name in asked.reads
            }
            found = evaluated(dictionary, asked.core, {**facts, **asked.facts}, watch)
            words = found.views[QUERY].words()
    return Relation(pattern.relation, WordRows(columns, dictionary, pattern.select(words, dictionary)))
