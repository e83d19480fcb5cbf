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
relations of the recursion can have at most (reached.py).
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
from tidelog.language.trees import rebuild, rebuild_atom, variables, walk, whole
from tidelog.rules.anonymous import named
from tidelog.rules.bench import Bench
from tidelog.rules.core import AggregateRule, OwnAggregate
from tidelog.rules.disjunctions import MOST_ALTERNATIVES
from tidelog.rules.grounding import connected, evaluable, grounded
from tidelog.rules.kinds import kind_of, local_kinds, result_kind
from tidelog.rules.reached import relaxed

AGGREGATE = "#aggregate."
"""How the names of the relations of aggregates begin; their last column follows from the others."""


@dataclass(frozen=True)
class _Found:
    """An aggregate of a rule, the variable for its value, and the variables that group it."""

    aggregate: Aggregate
    value: Variable
    groups: tuple[str, ...]


def aggregates(rule: Rule, bench: Bench) -> tuple[Rule, ...]:
    """Return the rule with a variable and an atom for each aggregate; the bench gets the rules that define the atom.

    The result is two rules if absent groups have to come from a negation (see the module).
    """
    if not any(isinstance(node, Aggregate) for node in walk(whole(rule))):
        return (rule,)
    rule, found = _hoisted(rule, bench)
    placed: list[Literal] = []
    bodies: list[tuple[Literal, ...]] = [rule.body]
    waiting = list(found)
    while waiting:
        bound = grounded([*rule.body, *placed])
        ready = next((each for each in waiting if bound.issuperset(each.groups)), None)
        if ready is None:
            names = ", ".join(waiting[0].groups)
            raise InternalError(Problem("E0901", f"nothing grounds the groups {names} in {bench.origin}", rule.span))
        waiting.remove(ready)
        atom, absent = _defined(ready, rule, placed, bench)
        placed.append(_possible(atom, absent))
        bodies = [(*body, *choice) for body in bodies for choice in ((atom,), absent) if choice]
        if len(bodies) > MOST_ALTERNATIVES:
            message = f"rule {bench.origin} has more than {MOST_ALTERNATIVES:,} combinations of empty groups"
            raise ProgramError(Problem("E0304", message, rule.span, hint="give some aggregates rules of their own"))
    return tuple(replace(rule, body=body) for body in bodies)


def _hoisted(rule: Rule, bench: Bench) -> tuple[Rule, tuple[_Found, ...]]:
    """Return the rule with variables in place of its aggregates; equal aggregates share one."""
    outside = set(variables(whole(rule), aggregates=False))
    found: dict[Aggregate, _Found] = {}

    def hoist(term: Term) -> Term | None:
        if not isinstance(term, Aggregate):
            return None
        if term not in found:
            groups = tuple(name for name in variables([term]) if name in outside)
            found[term] = _Found(term, bench.variable(term.word, result_kind(term)), groups)
        return found[term].value

    heads = tuple([rebuild_atom(head, hoist) for head in rule.heads])
    body = tuple([rebuild(literal, hoist) for literal in rule.body])
    return replace(rule, heads=heads, body=body), tuple(found.values())


def _defined(found: _Found, rule: Rule, placed: Sequence[Literal], bench: Bench) -> tuple[Atom, tuple[Literal, ...]]:
    """Return the atom for an aggregate, and literals that hold where the atom has no tuple; the bench gets its rules.

    The second is empty if the atom has a tuple for every group, or if a group without one gives nothing.
    """
    aggregate = replace(found.aggregate, body=named(found.aggregate.body, bench))
    found = replace(found, aggregate=aggregate)
    groups = tuple(Variable(name) for name in found.groups)
    op = aggregate.op
    stem = f"{bench.origin}.{aggregate.word}{bench.number(aggregate.word)}"
    columns = [(name, bench.kind(name, rule)) for name in found.groups]
    kinds = {**rule.kinds, **local_kinds(aggregate.body, bench), **dict(columns)}

    context, from_outside = _context(found, rule, placed, bench)
    outer = bench.relation(f"#outer.{stem}", columns)
    outer_atom = Atom(outer, groups, span=aggregate.span)
    bench.pending.append(
        replace(rule, name=outer, heads=(outer_atom,), body=context, kinds=rule.kinds if from_outside else kinds)
    )

    inner = _inner(found, outer_atom, f"#inner.{stem}", replace(rule, kinds=kinds), bench)
    head = bench.relation(f"{AGGREGATE}{stem}", [*columns, (found.value.name, result_kind(aggregate))])
    kind = "number" if aggregate.target is None else _target_kind(aggregate, aggregate.target, kinds, bench)
    own = None
    if aggregate.declared is not None:
        own = OwnAggregate(aggregate.declared, aggregate.start, tuple(group_kind for _, group_kind in columns))
    bench.aggregates.append(
        AggregateRule(head, bench.origin, head, op, kind, len(groups), inner, outer, own, span=aggregate.span)
    )
    atom = Atom(head, (*groups, found.value), span=aggregate.span)
    result, value = result_kind(aggregate), AGGREGATES[op].empty
    empty = aggregate.start if value is None else Constant(value, result)
    if from_outside or empty is None:
        return atom, ()
    return atom, (Negation(outer_atom), Comparison("=", found.value, empty, kind=result))


def _context(found: _Found, rule: Rule, placed: Sequence[Literal], bench: Bench) -> tuple[tuple[Literal, ...], bool]:
    """Return a body that grounds the groups, and True if it comes from the rule around the aggregate.

    Bodies that do not read the recursion come first.
    """
    inside, groups = found.aggregate.body, found.groups
    steady = [literal for literal in rule.body if not _recursive(literal, bench)]
    body = _grounding((steady, [*steady, *placed]), groups)
    if body is not None:
        return connected(body, groups), True
    body = _grounding(((), steady, [*steady, *placed]), groups, inside)
    if body is not None:
        return body, False
    columns = {**dict.fromkeys(bench.recursive, ()), **bench.bounded()}
    values = relaxed(rule, columns, bench).body
    body = _grounding((values, [*values, *placed]), groups)
    if body is not None:
        return connected(body, groups), True
    body = _grounding(([*values, *placed],), groups, inside)
    if body is not None:
        return body, False
    return connected(evaluable([*rule.body, *placed]), groups), True


def _grounding(
    bodies: Iterable[Sequence[Literal]], groups: Collection[str], inside: Sequence[Literal] = ()
) -> tuple[Literal, ...] | None:
    """Return the first body that grounds the groups together with literals `inside` of the aggregate; None if there is
    none."""
    found = ((*evaluable(body), *inside) for body in bodies)
    return next((body for body in found if grounded(body).issuperset(groups)), None)


def _possible(atom: Atom, absent: tuple[Literal, ...]) -> Literal:
    """Return the rules from which other aggregates may take an aggregate's value: its tuples, and the value of groups
    without one.

    Those groups are known only inside of the recursion; asking for more groups than needed does no harm.
    """
    if not absent:
        return atom
    unlinked = replace(atom, args=(*[Anonymous()] * (len(atom.args) - 1), atom.args[-1]))
    return Disjunction(((unlinked,), absent[-1:]))


def _recursive(literal: Literal, bench: Bench) -> bool:
    return any(isinstance(node, Atom) and node.relation in bench.recursive for node in walk([literal]))


def _inner(found: _Found, outer: Atom, name: str, rule: Rule, bench: Bench) -> str:
    """Declare the relation that is aggregated and leave its rule on the bench."""
    aggregate = found.aggregate
    target = _operands(aggregate)
    carried = {*found.groups, *(term.name for term in target if isinstance(term, Variable))}
    witnesses: tuple[str, ...] = ()
    if not AGGREGATES[aggregate.op].selective:
        bound = grounded(aggregate.body, found.groups)
        own = variables(aggregate.body, aggregates=False)
        witnesses = tuple(variable for variable in own if variable in bound and variable not in carried)
    columns: list[tuple[str, Kind]] = [(group, bench.kind(group, rule)) for group in found.groups]
    kinds = [
        kind_of(term, rule, bench) if aggregate.called else _target_kind(aggregate, term, rule.kinds, bench)
        for term in target
    ]
    columns += [("value" if i == 0 else f"value{i + 1}", kind) for i, kind in enumerate(kinds)]
    columns += [(witness, bench.kind(witness, rule)) for witness in witnesses]
    bench.relation(name, columns)
    head = Atom(name, (*outer.args, *target, *(Variable(witness) for witness in witnesses)), span=aggregate.span)
    bench.pending.append(replace(rule, name=name, heads=(head,), body=(outer, *aggregate.body)))
    return name


def _operands(aggregate: Aggregate) -> tuple[Term, ...]:
    """Return the terms that an aggregate takes of each member of a group."""
    if aggregate.called and isinstance(aggregate.target, Record):
        return aggregate.target.fields or ()
    return () if aggregate.target is None else (aggregate.target,)


def _target_kind(aggregate: Aggregate, target: Term, kinds: Mapping[str, Kind], bench: Bench) -> Kind:
    return aggregate.kind or kind_of(target, Rule(None, (), kinds=kinds), bench)
