"""Answers to queries over the views of an embedded engine, and how these would be evaluated.

A query is one atom (`pattern`), whose answer are tuples of its relation, or any other body of a rule (`bodies`), whose
answer are the values of its variables. `Answers` keeps what reading, checking and compiling has made of a text, until
declarations change.

A `QueryPlan` says which literal comes after which, and how many bindings the planner expects then. Relations that the
query derives itself, such as the groups of an aggregate, have no size yet: the evaluation plans what reads them once
they are there, and may then choose another order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.io.relation import Relation, WordRows
from tidelog.language.syntax import CheckedProgram
from tidelog.limits.watch import defer_interrupts
from tidelog.maintain.engine import evaluate_program
from tidelog.maintain.state import EngineState
from tidelog.maintain.statistics import LiveStatistics
from tidelog.queries.bodies import GIVEN, BodyQuery
from tidelog.queries.evaluation import Evaluation
from tidelog.queries.meanings import LastTexts, Meanings, Query, check_text
from tidelog.queries.pattern import QUERY, Pattern, encode_parameters, path_evaluation
from tidelog.rules.core import AnyRule, Computation, CoreAtom, CoreLiteral, CoreRule, head_of
from tidelog.rules.outline import label
from tidelog.rules.paths import has_nodes
from tidelog.rules.plans import Plan, Statistics, plan_full
from tidelog.workspace.options import THE_QUERY, DatabaseOptions
from tidelog.workspace.workspace import Workspace

_OWN = {QUERY: "the answer", GIVEN: "the parameters"}


@dataclass(frozen=True)
class QueryStep:
    """A step of a plan, and about how many bindings there are behind it."""

    text: str
    bindings: float


@dataclass(frozen=True)
class PlannedRule:
    """A rule that is evaluated for a query, by these steps; without steps where it has no plan: a walk along a path, or
    an aggregate."""

    rule: str
    steps: tuple[QueryStep, ...] = ()


@dataclass(frozen=True)
class QueryPlan:
    """How a query would be evaluated: `rules` one after the other, the answer last."""

    rules: tuple[PlannedRule, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON has it."""
        return asdict(self)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> QueryPlan:
        """Return the plan that `to_dict` has made a document of."""
        rules = ((each["rule"], tuple(QueryStep(**step) for step in each["steps"])) for each in document["rules"])
        return cls(tuple(PlannedRule(*each) for each in rules))

    def __str__(self) -> str:
        """Return the plan as text: a line for each rule, and for each of its steps with the expected bindings."""
        return "\n".join(_lines(self))


def _lines(plan: QueryPlan) -> Iterator[str]:
    for rule in plan.rules:
        yield rule.rule
        width = max((len(step.text) for step in rule.steps), default=0)
        yield from (f"  {step.text:{width}}  about {max(step.bindings, 0):,.0f} bindings" for step in rule.steps)


def plan_of_pattern(pattern: Pattern, engine: EngineState) -> QueryPlan:
    """Return the plan of a query that is one atom."""
    constants = tuple(column for column, _ in pattern.constants)
    if pattern.program is not None:
        begins = " from a known end" if constants else ""
        return QueryPlan((PlannedRule(f"walk along {pattern.relation}{begins}"),))
    stored = engine.views.get(pattern.relation)
    rows = 0.0 if stored is None else float(len(stored))
    if stored is None or not constants:
        return QueryPlan((PlannedRule("the answer", (QueryStep(f"scan {pattern.relation}", rows),)),))
    found = rows / LiveStatistics({pattern.relation: stored}, frozenset()).distinct(pattern.relation, constants)
    columns = ", ".join(str(column + 1) for column in constants)
    step = QueryStep(f"look up {pattern.relation} by column {columns}", found)
    return QueryPlan((PlannedRule("the answer", (step,)),))


def plan_of_body(evaluation: Evaluation, engine: EngineState) -> QueryPlan:
    """Return the plan of a query that is the body of a rule, over the views of an engine."""
    relations = evaluation.views(engine)
    evaluation.complete(relations, engine.catalog)
    nodes = evaluation.remaining_program(engine.views).nodes
    derived = frozenset(name for node in nodes for name in node.relations)
    for name in derived:
        relations[name] = evaluation.new(name, engine.catalog)
    statistics = LiveStatistics(relations, derived)
    rules = tuple(rule for node in nodes for rule in node.rules)
    return QueryPlan(tuple(_plan_rule(rule, rules, statistics) for rule in rules))


def _plan_rule(rule: AnyRule, rules: Sequence[AnyRule], statistics: Statistics) -> PlannedRule:
    head = _label(head_of(rule), rules)
    if not isinstance(rule, CoreRule):
        return PlannedRule(head)
    return PlannedRule(head, tuple(_steps(plan_full(rule, statistics), rules, statistics)))


def _label(name: str, rules: Sequence[AnyRule]) -> str:
    """Return an auxiliary relation in words."""
    return _OWN.get(name) or label(name, rules).removesuffix(f" in {QUERY}")


def _text(literal: CoreLiteral, rules: Sequence[AnyRule]) -> str:
    """Return a literal as text, with words for auxiliary relations."""
    if not isinstance(literal, CoreAtom) or not literal.relation.startswith("#"):
        return str(literal)
    named = str(replace(literal, relation=""))
    return f"{'!' * literal.negated}{_label(literal.relation, rules)}: {named.removeprefix('!')}"


def _steps(plan: Plan, rules: Sequence[AnyRule], statistics: Statistics) -> Iterator[QueryStep]:
    """Yield the steps of a plan; an atom that shares its variable with others takes the shortest of their lists."""
    rows, body = 1.0, plan.rule.body
    if plan.source is not None:
        source = body[plan.source]
        assert isinstance(source, CoreAtom)
        rows = statistics.size(source.relation)
        given = source.relation == GIVEN
        yield QueryStep("begin with the parameters" if given else f"scan {_text(source, rules)}", rows)
    for place in plan.order:
        literal = body[place]
        if not isinstance(literal, CoreAtom) or literal.negated:
            verb = "compute" if isinstance(literal, Computation) else "test"
            yield QueryStep(f"{verb} {_text(literal, rules)}", rows)
            continue
        rows *= plan.fanouts.get(place, 1.0)
        others = next((group[1:] for group in plan.shared if group[0] == place), ())
        shared = "".join(f" or {_text(body[other], rules)}" for other in others)
        yield QueryStep(f"join {_text(literal, rules)}{shared and f', the shorter list of it{shared}'}", rows)


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
        return self._current_meanings().query(text, names, self._workspace)

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
        meanings = self._current_meanings()
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

    def _current_meanings(self) -> Meanings:
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
        facts = {GIVEN: encode_parameters(values, body.parameters, dictionary)} if body.parameters else {}
        watch = options.watch(work=THE_QUERY)
        with defer_interrupts(watch):
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
        asked = path_evaluation(pattern, dictionary, workspace.committed.checked, kept, derived)
        watch = options.watch(work=THE_QUERY)
        with defer_interrupts(watch):
            facts = {
                name: given[name] if name in given else asked.needed_rows(name, engine.views[name].near)
                for name in asked.reads
            }
            found = evaluate_program(dictionary, asked.core, {**facts, **asked.facts}, watch)
            words = found.views[QUERY].words()
    return Relation(pattern.relation, WordRows(columns, dictionary, pattern.select(words, dictionary)))
