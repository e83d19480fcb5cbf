"""Variables of aggregates, under the names that later stages need: the same name, the same variable.

`with_values` names values that nobody wants: `_ = min c : { price(x, c) }` asks if there is a value, and binds
witnesses. It becomes `value_1 = min c : { price(x, c) }`.

`with_witnesses` binds witnesses: variables that only the body of a `min` or `max` binds may be used outside of it, for
each tuple that attains the value.

    cheapest(x, p) :- p = min q : { price(x, q) }.

becomes the same rule with the value under a name, and the body a second time with that value:

    cheapest(x, p) :- p = value_1, value_1 = min q_1 : { price(x_1, q_1) }, price(x, q), q = value_1.

Other variables of the second body get new names, unless the rule grounds them: those group, as ever.

`separate` gives new names to the variables of an aggregate that share a name with another variable around it. As in
Soufflé, a name inside of an aggregate means the variable outside where that one is grounded without the aggregate's
value, and where the name does not occur in the aggregate's target expression: the variables of a target are always its
own. So in `R(x, m) :- A(x), m = max x : { A(x) }` there are two variables `x`, and the checked rule says
`m = max x_1 : { A(x_1) }`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from tidelog.language.grounding import Bindings, Scope
from tidelog.language.syntax import (
    Aggregate,
    Anonymous,
    Body,
    Comparison,
    Constant,
    Disjunction,
    Literal,
    Rule,
    Term,
    Variable,
)
from tidelog.language.trees import (
    FreshNames,
    in_aggregates,
    outermost,
    parts,
    rebuild,
    rebuild_atom,
    rebuild_term,
    renaming,
    variables,
    whole,
)

WITNESSED = ("min", "max")
"""The aggregates whose value a tuple attains."""
_ROOT = Scope(frozenset())


def _find_grounded(body: Body, given: frozenset[str], has_value: Callable[[Aggregate], bool]) -> frozenset[str]:
    """Return the variables that a body grounds besides those of `given`, where some aggregates have values."""

    def change(term: Term) -> Term | None:
        if not isinstance(term, Aggregate):
            return None
        return Constant(0) if has_value(term) else Anonymous()

    return Bindings().find_grounded(tuple([rebuild(literal, change) for literal in body]), given, _ROOT)


def _rename_variables(body: Body, names: Mapping[str, str]) -> Body:
    return tuple([rebuild(literal, renaming(names)) for literal in body])


# --- unnamed values --------------------------------------------------------------------------------------------------


def with_values(rule: Rule, names: FreshNames) -> Rule:
    """Return the rule with variables for the unnamed values of aggregates."""
    if next(outermost(whole(rule)), None) is None:
        return rule

    def value(unnamed: Anonymous) -> Variable:
        return Variable(names.fresh("value", "_"), span=unnamed.span)

    def name_values(literal: Literal) -> Literal:
        match literal:
            case Comparison(op="=", left=Anonymous() as left, right=Aggregate()):
                literal = replace(literal, left=value(left))
            case Comparison(op="=", left=Aggregate(), right=Anonymous() as right):
                literal = replace(literal, right=value(right))
            case Disjunction(alternatives=alternatives):
                return replace(literal, alternatives=tuple(map(body, alternatives)))
        return rebuild(literal, change)

    def body(literals: Body) -> Body:
        return tuple(map(name_values, literals))

    change = in_aggregates(body)
    return replace(rule, heads=tuple(rebuild_atom(head, change) for head in rule.heads), body=body(rule.body))


# --- witnesses -------------------------------------------------------------------------------------------------------


def with_witnesses(rule: Rule, names: FreshNames) -> Rule:
    """Return the rule with the bodies that ground its witnesses."""
    nodes = whole(rule)
    if not any(each.op in WITNESSED for each in outermost(nodes)):
        return rule
    missing = frozenset(variables(nodes, aggregates=False)) - _find_grounded(rule.body, frozenset(), lambda _: True)
    if not missing:
        return rule
    work = _Witnesses(rule, missing, names)
    body = work.body(rule.body)
    added: list[Literal] = []
    heads = tuple(rebuild_atom(head, partial(work.aggregate, added=added)) for head in rule.heads)
    return replace(rule, heads=heads, body=(*body, *added))


@dataclass
class _Witnesses:
    """The rewriting of one rule, in which variables are `missing`."""

    rule: Rule
    missing: frozenset[str]
    names: FreshNames

    def body(self, body: Body) -> Body:
        """Return a body with what grounds the witnesses of its aggregates."""
        found: list[Literal] = []
        for literal in body:
            if isinstance(literal, Disjunction):
                found.append(replace(literal, alternatives=tuple(map(self.body, literal.alternatives))))
                continue
            added: list[Literal] = []
            found.append(rebuild(literal, partial(self.aggregate, added=added)))
            found += added
        return tuple(found)

    def aggregate(self, term: Term, added: list[Literal]) -> Term | None:
        """Return the variable with the value of an aggregate that has witnesses, and add what grounds these; None for
        other terms."""
        if not isinstance(term, Aggregate):
            return None
        if term.op not in WITNESSED or term.target is None:
            return term
        outside = _find_grounded(self.rule.body, frozenset(), lambda other: other is not term)
        groups = outside.difference(variables([term.target]))
        witnesses = self.missing & _find_grounded(term.body, groups, lambda _: True)
        if not witnesses:
            return term
        value = Variable(self.names.fresh("value"), span=term.span)
        inside = {name: self.names.fresh(name) for name in sorted(witnesses)}
        body = _rename_variables(term.body, inside)
        aggregate = replace(term, target=rebuild_term(term.target, renaming(inside)), body=body)
        own = {name: self.names.fresh(name) for name in variables([term]) if name not in groups | witnesses}
        added.append(Comparison("=", value, aggregate, span=term.span))
        added += _rename_variables(term.body, own)
        added.append(Comparison("=", rebuild_term(term.target, renaming(own)), value, span=term.span))
        return value


# --- variables of their own ------------------------------------------------------------------------------------------


def separate(rule: Rule, names: FreshNames) -> Rule:
    """Return the rule with new names for the variables of aggregates that have the name of another one around them."""
    if next(outermost(whole(rule)), None) is None:
        return rule
    separation = _Separation(names)
    place = _Place((rule.body,), frozenset(variables(whole(rule), aggregates=False)))
    heads = tuple(rebuild_atom(head, lambda term: separation.aggregate(term, place)) for head in rule.heads)
    return replace(rule, heads=heads, body=separation.body(rule.body, place))


@dataclass(eq=False)
class _Place:
    """The place of an aggregate: the bodies around it, from outside in, and the names of their variables."""

    bodies: tuple[Body, ...]
    names: frozenset[str]
    _answers: dict[bool, frozenset[str]] = field(default_factory=dict)

    def find_grounded(self, values: bool) -> frozenset[str]:
        """Return the names that are grounded where each aggregate has a value, or where none has."""
        if values not in self._answers:
            self._answers[values] = self._find(lambda _: values)
        return self._answers[values]

    def find_grounded_without(self, aggregate: Aggregate) -> frozenset[str]:
        """Return the names that are grounded where all aggregates but one have values."""
        return self._find(lambda term: term is not aggregate)

    def _find(self, has_value: Callable[[Aggregate], bool]) -> frozenset[str]:
        found: frozenset[str] = frozenset()
        for body in self.bodies:
            found = _find_grounded(body, found, has_value)
        return found


@dataclass
class _Separation:
    """The renaming in one rule."""

    names: FreshNames

    def body(self, body: Body, place: _Place) -> Body:
        """Return a body at `place` with its aggregates changed."""
        return tuple([rebuild(literal, lambda term: self.aggregate(term, place)) for literal in body])

    def aggregate(self, term: Term, place: _Place) -> Term | None:
        """Return an aggregate with new names for its own variables; None for other terms."""
        if not isinstance(term, Aggregate):
            return None
        own = self._own(term, place)
        if own:
            new = {name: self.names.fresh(name) for name in sorted(own)}
            target = term.target and rebuild_term(term.target, renaming(new))
            term = replace(term, target=target, body=_rename_variables(term.body, new))
        inside = _Place((*place.bodies, term.body), place.names.union(variables(parts(term), aggregates=False)))
        target = term.target and rebuild_term(term.target, lambda part: self.aggregate(part, inside))
        return replace(term, target=target, body=self.body(term.body, inside))

    def _own(self, aggregate: Aggregate, place: _Place) -> set[str]:
        """Return the names in an aggregate that also occur around it, but are other variables there."""
        shared = {*variables([aggregate])} & place.names & place.find_grounded(values=True)
        own = shared.intersection(variables([aggregate.target] if aggregate.target is not None else ()))
        if shared - own - place.find_grounded(values=False):
            own |= shared - place.find_grounded_without(aggregate)
        return own
