"""Answers to queries: the rows of a relation, or the pairs that a path connects, that match an atom."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy
from numpy.typing import NDArray

from tidelog.arrays import Words
from tidelog.errors import wrong_argument
from tidelog.limits.watch import guarded
from tidelog.maintain.engine import EmbeddedEngine, evaluated
from tidelog.options import DatabaseOptions
from tidelog.pattern import QUERY, Pattern, matching, remaining
from tidelog.relation import Relation, WordRows
from tidelog.workspace import Workspace

NO_ROWS: Mapping[str, Words] = {}


def pattern_of(text: str, workspace: Workspace[Any]) -> Pattern:
    """Return the pattern of a query. Raises ProgramError where the atom is wrong, UsageError where there is no such
    relation."""
    if not isinstance(text, str):
        raise wrong_argument("a query", "the text of an atom, such as 'edge(1, X)'", text)
    return matching(text, workspace.programs)


def answer(
    pattern: Pattern,
    workspace: Workspace[Any],
    engine: EmbeddedEngine,
    options: DatabaseOptions,
    given: Mapping[str, Words] = NO_ROWS,
    derived: Collection[str] = (),
) -> Relation:
    """Return the tuples that match a pattern, as of the last epoch of an engine.

    A path finds the rows `given` in these relations, and its nodes are not those of the relations called `derived`.
    Raises LimitError; the caller keeps words from being given back meanwhile.
    """
    dictionary = workspace.dictionary
    if pattern.program is None:
        columns = workspace.relation(pattern.relation).columns
        stored = engine.views.get(pattern.relation)
        none = numpy.empty((0, len(columns)), numpy.int64)
        words: NDArray[Any] = none if stored is None else stored.near(pattern.words(dictionary))
    else:
        columns = pattern.program.relations[QUERY].columns
        kept = {*engine.views, *given}
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
