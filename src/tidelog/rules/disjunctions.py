"""A body with alternatives is several bodies: disjunctive normal form. Several heads are several rules as well.

Where the form would explode, each disjunction becomes an auxiliary relation instead, so that the number of rules stays
in proportion to the text.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.errors import Problem, ProgramError
from tidelog.language.syntax import Atom, Disjunction, Literal, Rule, Variable
from tidelog.language.trees import Tree, alternatives, combinations, variables
from tidelog.rules.grounding import evaluable, grounded_variables
from tidelog.rules.rewrite_state import RewriteState

MOST_ALTERNATIVES = 1_000


def disjunctions(rule: Rule, state: RewriteState) -> tuple[Rule, ...]:
    """Return one rule for each alternative of the body. Aggregates keep theirs until their bodies are rules
    themselves."""
    if combinations(rule.body) > MOST_ALTERNATIVES:
        rule = _with_auxiliary_relations(rule, state)
    return tuple(replace(rule, body=body) for body in alternatives(rule.body))


def _with_auxiliary_relations(rule: Rule, state: RewriteState) -> Rule:
    """Return the rule with each disjunction replaced by an atom of an auxiliary relation over the variables that it
    shares."""
    body = list(rule.body)
    waiting = [literal for literal in body if isinstance(literal, Disjunction)]
    while waiting:
        for literal in waiting:
            atom = _relation_for(literal, [other for other in body if other is not literal], rule, state)
            if atom is not None:
                break
        else:
            message = f"rule {state.origin} has more than {MOST_ALTERNATIVES:,} combinations of alternatives"
            hint = "give each disjunction a relation of its own"
            raise ProgramError(Problem("E0304", message, rule.span, hint=hint))
        waiting = [other for other in waiting if other is not literal]
        body = [atom if other is literal else other for other in body]
    return replace(rule, body=tuple(body))


def _relation_for(literal: Disjunction, rest: list[Literal], rule: Rule, state: RewriteState) -> Atom | None:
    """Return the atom that stands for `literal`; the state gets its rules. Return None if these would not be safe
    yet."""
    shared = _shared_variables([literal], [*rule.heads, *rest])
    context: tuple[Literal, ...] = ()
    if not all(grounded_variables(alternative).issuperset(shared) for alternative in literal.alternatives):
        context = evaluable([other for other in rest if not isinstance(other, Disjunction)])
        if not all(
            grounded_variables([*context, *alternative]).issuperset(shared) for alternative in literal.alternatives
        ):
            return None
    name = f"#either.{state.origin}.{state.number('either')}"
    state.relation(name, [(variable, state.kind(variable, rule)) for variable in shared])
    atom = Atom(name, tuple(Variable(variable) for variable in shared), span=literal.span)
    for alternative in literal.alternatives:
        state.pending.append(replace(rule, name=name, heads=(atom,), body=(*context, *alternative)))
    return atom


def _shared_variables(one: list[Tree], other: list[Tree]) -> tuple[str, ...]:
    """Return the variables of `one` that occur in `other`. Do not count one that is local to an aggregate on both
    sides."""
    outside, inside = set(variables(other, aggregates=False)), set(variables(other))
    open_here = set(variables(one, aggregates=False))
    return tuple(name for name in variables(one) if name in outside or (name in inside and name in open_here))


def heads(rule: Rule, state: RewriteState) -> tuple[Rule, ...]:
    """Return one rule for each head."""
    return tuple(replace(rule, heads=(head,)) for head in rule.heads)
