"""The substitutions that satisfy a body, found by backtracking over the literals as they stand in the text.

The evaluator takes a literal as soon as its needed variables are bound, so their order in the text never matters:

    atom          at any time: for each tuple, its arguments are matched; an argument that has to be computed from
                  variables which are not bound yet stays behind as an `Equation`
    l = r         once one side can be computed: the other one is matched with its values; two records field by field
    comparison    once both sides can be computed
    negation      once all its variables are bound; `_` inside fits everything
    aggregate     (inside a term) once the variables that it shares with its surroundings are bound

A term has no value, one, or - where range occurs in it - several; a literal holds for each of the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count, product
from typing import Any, TypeAlias

from tidelog.errors import InternalError, Problem
from tidelog.language.branches import make_branch
from tidelog.language.syntax import (
    Aggregate,
    Anonymous,
    Atom,
    Cast,
    Comparison,
    Constant,
    Disjunction,
    Functor,
    Literal,
    Negation,
    Record,
    Rule,
    Term,
    Truth,
    Value,
    Variable,
)
from tidelog.language.trees import in_aggregates, parts, rebuild, rebuild_atom, rebuild_term, variables
from tidelog.rules.core import OwnAggregate
from tidelog.semantics.aggregates import aggregate
from tidelog.semantics.functors import apply, holds
from tidelog.semantics.literals import Substitution
from tidelog.semantics.user_aggregates import fold_group
from tidelog.semantics.user_functors import values_of
from tidelog.semantics.values import NoValueError, Row, cast, normal


@dataclass(frozen=True)
class Equation:
    """The goal that `term` has the value `value`."""

    term: Term
    value: Value


Goal: TypeAlias = Literal | Equation

ANYTHING: Any = object()
"""The value of `_` inside of a negation."""


@dataclass
class RuleScope:
    """The variables of a rule outside of its aggregates, or of an aggregate and all around it; and the relations."""

    variables: frozenset[str]
    tables: Mapping[str, Iterable[Row]]
    _needs: dict[int, frozenset[str]] = field(default_factory=dict)
    _inner: dict[int, RuleScope] = field(default_factory=dict)

    def needs(self, term: Term) -> frozenset[str]:
        """Return the variables that `term` needs before it can be computed, with "_" if it never can."""
        found = self._needs.get(id(term))
        if found is None:
            found = self._needs[id(term)] = frozenset(self._find_needs(term))
        return found

    def _find_needs(self, term: Term) -> Iterable[str]:
        match term:
            case Variable():
                return [term.name]
            case Anonymous():
                return ["_"]
            case Constant():
                return []
            case Aggregate():
                return self.variables.intersection(variables([term]))
            case Functor():
                return [name for arg in term.args for name in self.needs(arg)]
            case Record():
                return [name for part in term.fields or () for name in self.needs(part)]
            case Cast():
                return self.needs(term.term)

    def inside(self, term: Aggregate) -> RuleScope:
        """Return the scope of the body of an aggregate that stands in this scope."""
        found = self._inner.get(id(term))
        if found is None:
            local = frozenset(variables(parts(term), aggregates=False))
            found = self._inner[id(term)] = RuleScope(self.variables | local, self.tables)
        return found


# --- bodies ----------------------------------------------------------------------------------------------------------


def bound_by(body: tuple[Literal, ...]) -> frozenset[str]:
    """Return the variables that `body` binds. A disjunction binds those that all alternatives bind (except a plain
    `false`)."""
    found: set[str] = set()
    for literal in body:
        if isinstance(literal, Disjunction):
            possible = [each for each in literal.alternatives if Truth(False) not in each]
            found |= frozenset.intersection(*map(bound_by, possible)) if possible else frozenset()
        else:
            found |= {*variables([literal], aggregates=False)}
    return frozenset(found)


def name_wildcards(rule: Rule) -> Rule:
    """Return `rule` with a variable of its own for each `_` of a positive atom, as that takes part in substitutions."""
    fresh = (Variable(f"_{number}#") for number in count())

    def literal(node: Literal) -> Literal:
        match node:
            case Atom():
                return rebuild_atom(node, name_wildcard)
            case Disjunction():
                return replace(node, alternatives=tuple(tuple(map(literal, each)) for each in node.alternatives))
            case _:
                return rebuild(node, computed)

    def name_wildcard(term: Term) -> Term | None:
        """Return an argument that is matched with a value: a wildcard in it stands for a value."""
        if isinstance(term, Anonymous):
            return next(fresh)
        return rebuild_term(term, computed) if isinstance(term, Functor | Aggregate) else None

    computed = in_aggregates(lambda body: tuple(map(literal, body)))
    heads = tuple(rebuild_atom(head, computed) for head in rule.heads)
    return replace(rule, heads=heads, body=tuple(map(literal, rule.body)))


# --- terms -----------------------------------------------------------------------------------------------------------


def values(term: Term, bound: Substitution, scope: RuleScope) -> Iterator[Any]:
    """Return the values of a term whose `needs` are bound."""
    match term:
        case Variable():
            yield bound[term.name]
        case Anonymous():
            yield ANYTHING
        case Constant():
            yield normal(term.value, term.kind or "symbol")
        case Functor():
            for args in combinations(term.args, bound, scope):
                if term.declared is not None:
                    yield from values_of(term.declared, args)
                else:
                    yield from apply(term.name, term.kind or "symbol", args)
        case Record(fields=None):
            yield None
        case Record(fields=tuple(fields), branch=None):
            yield from combinations(fields, bound, scope)
        case Record(fields=tuple(fields), branch=str(name)):
            yield from (make_branch(name, parts) for parts in combinations(fields, bound, scope))
        case Cast():
            for value in values(term.term, bound, scope):
                yield from cast(value, term.kind or "symbol")
        case Aggregate():
            yield from aggregate_values(term, bound, scope)


def combinations(terms: Iterable[Term], bound: Substitution, scope: RuleScope) -> Iterator[Row]:
    """Return the tuples of values of `terms`."""
    return product(*(values(term, bound, scope) for term in terms))


def aggregate_values(term: Aggregate, bound: Substitution, scope: RuleScope) -> Iterator[Value]:
    """Return the value of an aggregate, if it has one, over the distinct substitutions of the variables that its body
    binds."""
    inner = scope.inside(term)
    given = {name: bound[name] for name in scope.needs(term)}
    names = sorted(bound_by(term.body))
    distinct = {tuple(found[name] for name in names): found for found in solve(term.body, given, inner)}.values()
    if term.declared is not None and term.target is not None:
        own = OwnAggregate(term.declared, term.start, ())
        value = fold_group(own, [row for found in distinct for row in values(term.target, found, inner)])
        yield from () if value is None else (value,)
        return
    if term.target is None:
        targets: list[Any] = list(distinct)
    else:
        targets = [value for found in distinct for value in values(term.target, found, inner)]
    try:
        yield aggregate(term.op, term.kind or "number", targets)
    except NoValueError:
        return


def match(term: Term, value: Any, bound: Substitution, behind: list[Goal]) -> bool:
    """Return True if `term` can have `value`. Bind its variables in `bound`, and leave terms to compute in `behind`."""
    match term:
        case Variable():
            return bool(bound.setdefault(term.name, value) == value)
        case Anonymous():
            return True
        case Constant():
            return bool(normal(term.value, term.kind or "symbol") == value)
        case Record():
            if term.fields is None or value is None:
                return term.fields is None and value is None
            if term.branch != getattr(value, "_name", None):
                return False
            return all(match(part, each, bound, behind) for part, each in zip(term.fields, value, strict=True))
        case _:
            behind.append(Equation(term, value))
            return True


def fits(pattern: Any, value: Any) -> bool:
    """Return True if a value fits an argument of a negated atom, in which `_` leaves any value open."""
    if isinstance(pattern, tuple) and isinstance(value, tuple):
        if getattr(pattern, "_name", None) != getattr(value, "_name", None):
            return False
        return all(fits(part, each) for part, each in zip(pattern, value, strict=True))
    return pattern is ANYTHING or bool(pattern == value)


# --- bodies ----------------------------------------------------------------------------------------------------------


def solve(goals: tuple[Goal, ...], bound: Substitution, scope: RuleScope) -> Iterator[Substitution]:
    """Yield the substitutions that extend `bound` and satisfy all `goals`; one may come several times (by
    disjunctions)."""
    if not goals:
        yield bound
        return
    chosen = choose(goals, bound, scope)
    rest = goals[:chosen] + goals[chosen + 1 :]
    for behind, extended in step(goals[chosen], bound, scope):
        yield from solve((*behind, *rest), extended, scope)


def choose(goals: tuple[Goal, ...], bound: Substitution, scope: RuleScope) -> int:
    """Return the position of a goal that can be evaluated now: filters and computed literals first, then atoms, then
    disjunctions."""

    def computable(term: Term) -> bool:
        return scope.needs(term) <= bound.keys()

    def solvable(term: Term) -> bool:
        """Return True for a call of `cat` whose operands are variables or can be computed."""
        return (
            isinstance(term, Functor)
            and term.name == "cat"
            and all(isinstance(arg, Variable) or computable(arg) for arg in term.args)
        )

    texts: list[int] = []
    atoms: list[tuple[int, int]] = []
    disjunctions: list[int] = []
    for position, goal in enumerate(goals):
        match goal:
            case Truth():
                return position
            case Equation():
                ready = computable(goal.term)
                if not ready and solvable(goal.term):
                    texts.append(position)
            case Comparison(op="="):
                records = isinstance(goal.left, Record) and isinstance(goal.right, Record)
                ready = records or computable(goal.left) or computable(goal.right)
            case Comparison():
                ready = computable(goal.left) and computable(goal.right)
            case Negation():
                ready = all(scope.needs(arg) - {"_"} <= bound.keys() for arg in goal.atom.args)
            case Atom():
                atoms.append((sum(not computable(arg) for arg in goal.args), position))
                continue
            case Disjunction():
                disjunctions.append(position)
                continue
        if ready:
            return position
    if atoms:
        return min(atoms)[1]
    if texts:
        return texts[0]
    if disjunctions:
        return disjunctions[0]
    raise InternalError(Problem("E0901", f"no literal can be evaluated of {', '.join(map(str, goals))}"))


def step(goal: Goal, bound: Substitution, scope: RuleScope) -> Iterator[tuple[tuple[Goal, ...], Substitution]]:
    """Yield the ways to satisfy `goal`: the goals left behind, and the substitution."""
    match goal:
        case Truth():
            if goal.value:
                yield (), bound
        case Disjunction():
            for alternative in goal.alternatives:
                yield alternative, bound
        case Atom():
            for row in scope.tables[goal.relation]:
                yield from matches(goal.args, row, bound)
        case Negation():
            for pattern in combinations(goal.atom.args, bound, scope):
                if not any(fits(pattern, row) for row in scope.tables[goal.atom.relation]):
                    yield (), bound
        case Equation(term=Functor(name="cat", args=args)) if not scope.needs(goal.term) <= bound.keys():
            for extended in split(args, goal.value, bound, scope):
                yield (), extended
        case Equation():
            if any(value == goal.value for value in values(goal.term, bound, scope)):
                yield (), bound
        case Comparison(op="="):
            yield from equate(goal, bound, scope)
        case Comparison():
            for left, right in combinations((goal.left, goal.right), bound, scope):
                if holds(goal.op, left, right):
                    yield (), bound


def split(operands: tuple[Term, ...], text: Any, bound: Substitution, scope: RuleScope) -> Iterator[Substitution]:
    """Yield the ways in which the operands, one after the other, are a text."""
    if not operands:
        if not text:
            yield bound
        return
    first, *rest = operands
    if scope.needs(first) <= bound.keys():
        for value in values(first, bound, scope):
            if text.startswith(value):
                yield from split(tuple(rest), text[len(value) :], bound, scope)
        return
    assert isinstance(first, Variable)
    for end in range(len(text) + 1):
        yield from split(tuple(rest), text[end:], {**bound, first.name: text[:end]}, scope)


def matches(terms: tuple[Term, ...], row: Row, bound: Substitution) -> Iterator[tuple[tuple[Goal, ...], Substitution]]:
    """Yield at most one way in which `terms` have the values of `row`."""
    extended, behind = dict(bound), list[Goal]()
    if all(match(term, value, extended, behind) for term, value in zip(terms, row, strict=True)):
        yield tuple(behind), extended


def equate(goal: Comparison, bound: Substitution, scope: RuleScope) -> Iterator[tuple[tuple[Goal, ...], Substitution]]:
    """Yield the ways to make both sides equal: one of them is computed or, if neither can be, both are records."""
    for computed, matched in ((goal.left, goal.right), (goal.right, goal.left)):
        if scope.needs(computed) <= bound.keys():
            for value in values(computed, bound, scope):
                yield from matches((matched,), (value,), bound)
            return
    if isinstance(goal.left, Record) and isinstance(goal.right, Record) and goal.left.fields and goal.right.fields:
        if goal.left.branch != goal.right.branch:
            return
        pairs = zip(goal.left.fields, goal.right.fields, strict=True)
        yield tuple(Comparison("=", left, right) for left, right in pairs), bound
