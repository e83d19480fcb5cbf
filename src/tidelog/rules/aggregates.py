"""An aggregate becomes a relation of its own, with three kinds of rules.

For `r: h(x, c) :- a(x), c = count : { b(x, y) }.` there are

    #outer.r.count1(x) :- a(x).                             the groups asked for
    #inner.r.count1(x, y) :- #outer.r.count1(x), b(x, y).   what is aggregated: groups, value, witnesses
    #aggregate.r.count1(x, n)                               counts the latter for each x of the former
    h(x, c) :- a(x), c = n, #aggregate.r.count1(x, n).

The groups are the aggregate's variables that also occur in the rule outside of aggregates. Witnesses are the other
variables that the aggregate's body binds; they keep equal values of different substitutions apart.

Where the groups come from a relation that depends on the rule's own head, they are taken from the aggregate's body
instead if it binds them, because an aggregate has to be complete before it is read; or else from the values that the
relations of the recursion can have at most (recursions.py).

`argmin` and `argmax`, the value that goes with the least or the greatest, are two aggregates (`arguments`):

    x = argmin(n, c) : { b(n, c) }  ->  #v = min c : { b(n, c) }, x = any n : { b(n, c), #v = c }

The variable stands in the body around the aggregate, which it then groups.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tidelog.errors import InternalError, Problem, ProgramError
from tidelog.language.aggregates import AGGREGATES
from tidelog.language.syntax import (
    Aggregate,
    Anonymous,
    Atom,
    Comparison,
    Constant,
    Disjunction,
    Kind,
    Literal,
    Negation,
    Record,
    Rule,
    Term,
    Variable,
)
from tidelog.language.trees import rebuild, rebuild_atom, rebuild_term, variables, walk, whole
from tidelog.rules.anonymous import name_wildcards
from tidelog.rules.core import AggregateRule, OwnAggregate
from tidelog.rules.disjunctions import MOST_ALTERNATIVES
from tidelog.rules.grounding import connected_literals, evaluable, grounded_variables
from tidelog.rules.recursions import relax
from tidelog.rules.rewrite_state import RewriteState, kind_of, local_kinds, result_kind

_EXTREMES = {"argmin": "min", "argmax": "max"}


def arguments(rule: Rule, state: RewriteState) -> tuple[Rule, ...]:
    """Return the rule with other aggregates in place of `argmin` and `argmax`."""
    if not any(isinstance(node, Aggregate) and node.op in _EXTREMES for node in walk(whole(rule))):
        return (rule,)
    rewriting = _Rewriting(state)
    heads = tuple([rebuild_atom(head, rewriting.term) for head in rule.heads])
    body = tuple([rebuild(literal, rewriting.term) for literal in rule.body])
    return (replace(rule, heads=heads, body=(*body, *rewriting.added)),)


class _Rewriting:
    """The literals that a body gets for the aggregates in it."""

    def __init__(self, state: RewriteState) -> None:
        self.state = state
        self.added: list[Literal] = []

    def term(self, term: Term) -> Term | None:
        if not isinstance(term, Aggregate):
            return None
        inside = _Rewriting(self.state)
        target = term.target and rebuild_term(term.target, inside.term)
        body = (*[rebuild(literal, inside.term) for literal in term.body], *inside.added)
        if term.op not in _EXTREMES:
            return replace(term, target=target, body=body)
        assert isinstance(target, Record)
        assert target.fields is not None
        value, rank = target.fields
        kind = target.kind or "number"
        best = self.state.variable("v", kind)
        least = Aggregate(_EXTREMES[term.op], rank, body, kind, kind, span=term.span)  # type: ignore[arg-type]
        self.added.append(Comparison("=", best, least, kind=kind, span=term.span))
        tied = Comparison("=", best, rank, kind=kind, span=term.span)
        return Aggregate("any", value, (*body, tied), term.kind, term.result, span=term.span)


AGGREGATE = "#aggregate."
"""How the names of the relations of aggregates begin; their last column follows from the others."""


@dataclass(frozen=True)
class _Found:
    """An aggregate of a rule, the variable for its value, and the variables that group it."""

    aggregate: Aggregate
    value: Variable
    groups: tuple[str, ...]


def aggregates(rule: Rule, state: RewriteState) -> tuple[Rule, ...]:
    """Return the rule with a variable and an atom for each aggregate; the state gets the rules that define the atom.

    The result is two rules if absent groups have to come from a negation (see the module).
    """
    if not any(isinstance(node, Aggregate) for node in walk(whole(rule))):
        return (rule,)
    rule, found = _hoist_aggregates(rule, state)
    placed: list[Literal] = []
    bodies: list[tuple[Literal, ...]] = [rule.body]
    waiting = list(found)
    while waiting:
        bound = grounded_variables([*rule.body, *placed])
        ready = next((each for each in waiting if bound.issuperset(each.groups)), None)
        if ready is None:
            names = ", ".join(waiting[0].groups)
            raise InternalError(Problem("E0901", f"nothing grounds the groups {names} in {state.origin}", rule.span))
        waiting.remove(ready)
        atom, absent = _define(ready, rule, placed, state)
        placed.append(_possible_values(atom, absent))
        bodies = [(*body, *choice) for body in bodies for choice in ((atom,), absent) if choice]
        if len(bodies) > MOST_ALTERNATIVES:
            message = f"rule {state.origin} has more than {MOST_ALTERNATIVES:,} combinations of empty groups"
            raise ProgramError(Problem("E0304", message, rule.span, hint="give some aggregates rules of their own"))
    return tuple(replace(rule, body=body) for body in bodies)


def _hoist_aggregates(rule: Rule, state: RewriteState) -> tuple[Rule, tuple[_Found, ...]]:
    """Return the rule with variables in place of its aggregates; equal aggregates share one."""
    outside = set(variables(whole(rule), aggregates=False))
    found: dict[Aggregate, _Found] = {}

    def hoist(term: Term) -> Term | None:
        if not isinstance(term, Aggregate):
            return None
        if term not in found:
            groups = tuple(name for name in variables([term]) if name in outside)
            found[term] = _Found(term, state.variable(term.word, result_kind(term)), groups)
        return found[term].value

    heads = tuple([rebuild_atom(head, hoist) for head in rule.heads])
    body = tuple([rebuild(literal, hoist) for literal in rule.body])
    return replace(rule, heads=heads, body=body), tuple(found.values())


def _define(
    found: _Found, rule: Rule, placed: Sequence[Literal], state: RewriteState
) -> tuple[Atom, tuple[Literal, ...]]:
    """Return the atom for an aggregate, and literals that hold where the atom has no tuple; the state gets its rules.

    The second is empty if the atom has a tuple for every group, or if a group without one gives nothing.
    """
    aggregate = replace(found.aggregate, body=name_wildcards(found.aggregate.body, state))
    found = replace(found, aggregate=aggregate)
    groups = tuple(Variable(name) for name in found.groups)
    op = aggregate.op
    stem = f"{state.origin}.{aggregate.word}{state.number(aggregate.word)}"
    columns = [(name, state.kind(name, rule)) for name in found.groups]
    kinds = {**rule.kinds, **local_kinds(aggregate.body, state), **dict(columns)}

    context, from_outside = _context(found, rule, placed, state)
    outer = state.relation(f"#outer.{stem}", columns)
    outer_atom = Atom(outer, groups, span=aggregate.span)
    state.pending.append(
        replace(rule, name=outer, heads=(outer_atom,), body=context, kinds=rule.kinds if from_outside else kinds)
    )

    inner = _declare_members(found, outer_atom, f"#inner.{stem}", replace(rule, kinds=kinds), state)
    head = state.relation(f"{AGGREGATE}{stem}", [*columns, (found.value.name, result_kind(aggregate))])
    kind = "number" if aggregate.target is None else _target_kind(aggregate, aggregate.target, kinds, state)
    own = None
    if aggregate.declared is not None:
        own = OwnAggregate(aggregate.declared, aggregate.start, tuple(group_kind for _, group_kind in columns))
    state.aggregates.append(
        AggregateRule(head, state.origin, head, op, kind, len(groups), inner, outer, own, span=aggregate.span)
    )
    atom = Atom(head, (*groups, found.value), span=aggregate.span)
    result, value = result_kind(aggregate), AGGREGATES[op].empty
    empty = aggregate.start if value is None else Constant(value, result)
    if from_outside or empty is None:
        return atom, ()
    return atom, (Negation(outer_atom), Comparison("=", found.value, empty, kind=result))


def _context(
    found: _Found, rule: Rule, placed: Sequence[Literal], state: RewriteState
) -> tuple[tuple[Literal, ...], bool]:
    """Return a body that grounds the groups, and True if it comes from the rule around the aggregate.

    Bodies that do not read the recursion come first.
    """
    inside, groups = found.aggregate.body, found.groups
    steady = [literal for literal in rule.body if not _reads_recursion(literal, state)]
    body = _find_grounding_body((steady, [*steady, *placed]), groups)
    if body is not None:
        return connected_literals(body, groups), True
    body = _find_grounding_body(((), steady, [*steady, *placed]), groups, inside)
    if body is not None:
        return body, False
    columns = {**dict.fromkeys(state.recursive, ()), **state.bounded()}
    values = relax(rule, columns, state).body
    body = _find_grounding_body((values, [*values, *placed]), groups)
    if body is not None:
        return connected_literals(body, groups), True
    body = _find_grounding_body(([*values, *placed],), groups, inside)
    if body is not None:
        return body, False
    return connected_literals(evaluable([*rule.body, *placed]), groups), True


def _find_grounding_body(
    bodies: Iterable[Sequence[Literal]], groups: Collection[str], inside: Sequence[Literal] = ()
) -> tuple[Literal, ...] | None:
    """Return the first body that grounds the groups together with literals `inside` of the aggregate; None if there is
    none."""
    found = ((*evaluable(body), *inside) for body in bodies)
    return next((body for body in found if grounded_variables(body).issuperset(groups)), None)


def _possible_values(atom: Atom, absent: tuple[Literal, ...]) -> Literal:
    """Return the rules from which other aggregates may take an aggregate's value: its tuples, and the value of groups
    without one.

    Those groups are known only inside of the recursion; asking for more groups than needed does no harm.
    """
    if not absent:
        return atom
    unlinked = replace(atom, args=(*[Anonymous()] * (len(atom.args) - 1), atom.args[-1]))
    return Disjunction(((unlinked,), absent[-1:]))


def _reads_recursion(literal: Literal, state: RewriteState) -> bool:
    return any(isinstance(node, Atom) and node.relation in state.recursive for node in walk([literal]))


def _declare_members(found: _Found, outer: Atom, name: str, rule: Rule, state: RewriteState) -> str:
    """Declare the relation that is aggregated and leave its rule in the state."""
    aggregate = found.aggregate
    target = _operands(aggregate)
    carried = {*found.groups, *(term.name for term in target if isinstance(term, Variable))}
    witnesses: tuple[str, ...] = ()
    if not AGGREGATES[aggregate.op].selective:
        bound = grounded_variables(aggregate.body, found.groups)
        own = variables(aggregate.body, aggregates=False)
        witnesses = tuple(variable for variable in own if variable in bound and variable not in carried)
    columns: list[tuple[str, Kind]] = [(group, state.kind(group, rule)) for group in found.groups]
    kinds = [
        kind_of(term, rule, state) if aggregate.called else _target_kind(aggregate, term, rule.kinds, state)
        for term in target
    ]
    columns += [("value" if i == 0 else f"value{i + 1}", kind) for i, kind in enumerate(kinds)]
    columns += [(witness, state.kind(witness, rule)) for witness in witnesses]
    state.relation(name, columns)
    head = Atom(name, (*outer.args, *target, *(Variable(witness) for witness in witnesses)), span=aggregate.span)
    state.pending.append(replace(rule, name=name, heads=(head,), body=(outer, *aggregate.body)))
    return name


def _operands(aggregate: Aggregate) -> tuple[Term, ...]:
    """Return the terms that an aggregate takes of each member of a group."""
    if aggregate.called and isinstance(aggregate.target, Record):
        return aggregate.target.fields or ()
    return () if aggregate.target is None else (aggregate.target,)


def _target_kind(aggregate: Aggregate, target: Term, kinds: Mapping[str, Kind], state: RewriteState) -> Kind:
    return aggregate.kind or kind_of(target, Rule(None, (), kinds=kinds), state)
