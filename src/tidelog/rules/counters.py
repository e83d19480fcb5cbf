"""A counter becomes a relation of its own, with a number for each substitution of the rule.

For `r: h(x, autoinc()) :- a(x, _), !b(x).` there are

    #substitution.r.1(x, #_1) :- a(x, #_1), !b(x).
    #counter.r.1(x, #_1, n)                            a number for each tuple of the former
    h(x, n) :- #counter.r.1(x, #_1, n).

The substitutions are of all variables that the body binds without the numbers, each `_` of a positive atom and each
value of a functor with several included. Literals that need a number stay behind in the rule. Two counters of a rule
number the same substitutions, each for itself.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.language.counters import COUNTER, counters_in
from tidelog.language.functors import several
from tidelog.language.syntax import Aggregate, Atom, Comparison, Functor, Literal, Rule, Term, Variable
from tidelog.language.trees import rebuild, rebuild_atom, rebuild_term, variables, whole
from tidelog.rules.anonymous import name_wildcards
from tidelog.rules.core import NUMBERED, AggregateRule
from tidelog.rules.grounding import evaluable
from tidelog.rules.rewrite_state import RewriteState


def counters(rule: Rule, state: RewriteState) -> tuple[Rule, ...]:
    """Return the rule with a variable and an atom for each counter; the state gets the rules that define the atom."""
    if next(counters_in(whole(rule)), None) is None:
        return (rule,)
    rule = with_variables(rule, state)
    plain = [literal for literal in rule.body if next(counters_in([literal]), None) is None]
    steady = evaluable(plain, frozenset(variables(whole(rule), aggregates=False)))
    names = variables(steady, aggregates=False)
    columns = [(name, state.kind(name, rule)) for name in names]
    substitution = tuple(map(Variable, names))
    stem = f"{state.origin}.{state.number('counter')}"
    inner = state.relation(f"#substitution.{stem}", columns)
    state.pending.append(replace(rule, name=inner, heads=(Atom(inner, substitution, span=rule.span),), body=steady))
    atoms: list[Literal] = []

    def number(term: Term) -> Term | None:
        if not isinstance(term, Functor) or term.name != COUNTER:
            return None
        value = state.variable("number", "number")
        suffix = f".{len(atoms) + 1}" if atoms else ""
        head = state.relation(f"{NUMBERED}{stem}{suffix}", [*columns, (value.name, "number")])
        groups = len(columns)
        state.aggregates.append(
            AggregateRule(head, state.origin, head, "autoinc", "number", groups, inner, inner, span=term.span)
        )
        atoms.append(Atom(head, (*substitution, value), span=term.span))
        return value

    kept = set(map(id, steady))
    heads = tuple([rebuild_atom(head, number) for head in rule.heads])
    rest = tuple([rebuild(literal, number) for literal in rule.body if id(literal) not in kept])
    return (replace(rule, heads=heads, body=(*atoms, *rest)),)


def with_variables(rule: Rule, state: RewriteState) -> Rule:
    """Return the rule with a variable for each `_` of positive atoms, and for each call with several values, which
    then take part in substitutions."""
    calls: list[Literal] = []

    def hoist_call(term: Term) -> Term | None:
        if isinstance(term, Aggregate):
            return term
        if not isinstance(term, Functor) or not (term.declared is not None or several(term.name, len(term.args))):
            return None
        kind = term.result or "number"
        value = state.variable("v", kind)
        call = replace(term, args=tuple([rebuild_term(arg, hoist_call) for arg in term.args]))
        calls.append(Comparison("=", value, call, kind=kind, span=term.span))
        return value

    heads = tuple([rebuild_atom(head, hoist_call) for head in rule.heads])
    body = tuple([literal if _gives_variable(literal) else rebuild(literal, hoist_call) for literal in rule.body])
    return replace(rule, heads=heads, body=name_wildcards((*body, *calls), state))


def _gives_variable(literal: Literal) -> bool:
    """Return True for an equation between a variable and a call of arguments without calls."""
    match literal:
        case Comparison(op="=", left=Variable(), right=Functor(args=args)):
            return all(not isinstance(arg, Functor) for arg in args)
    return False
