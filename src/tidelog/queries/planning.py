"""How a query would be evaluated: which literal comes after which, and how many bindings the planner expects then.

Relations that the query derives itself, such as the groups of an aggregate, have no size yet: the evaluation plans what
reads them once they are there, and may then choose another order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tidelog.maintain.state import EngineState
from tidelog.maintain.statistics import LiveStatistics
from tidelog.queries.bodies import GIVEN
from tidelog.queries.evaluation import Evaluation
from tidelog.queries.pattern import QUERY, Pattern
from tidelog.rules.core import Computation, CoreAtom, CoreLiteral, CoreRule
from tidelog.rules.edges import AnyRule, head_of
from tidelog.rules.outline import label
from tidelog.rules.plans import Plan, Statistics, plan_full

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
    nodes = evaluation.remaining(engine.views).nodes
    derived = frozenset(name for node in nodes for name in node.relations)
    for name in derived:
        relations[name] = evaluation.new(name, engine.catalog)
    statistics = LiveStatistics(relations, derived)
    rules = tuple(rule for node in nodes for rule in node.rules)
    return QueryPlan(tuple(_planned(rule, rules, statistics) for rule in rules))


def _planned(rule: AnyRule, rules: Sequence[AnyRule], statistics: Statistics) -> PlannedRule:
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
