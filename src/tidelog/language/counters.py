"""Counters: `autoinc()`, or `$`, gives each substitution of its rule a number that no other one gets.

So a counter needs a rule of its own. It cannot stand in aggregates, in subsumption rules, and in rules that become a
part of others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from tidelog.errors import Problem
from tidelog.language.syntax import Aggregate, Functor, Rule
from tidelog.language.trees import Tree, walk, whole

COUNTER = "autoinc"


def counters_in(nodes: Iterable[Tree]) -> Iterator[Functor]:
    """Yield the counters in some trees, from left to right, those inside of aggregates included."""
    return (node for node in walk(nodes) if isinstance(node, Functor) and node.name == COUNTER)


def counter_problems(rule: Rule, inline: Collection[str] = ()) -> list[Problem]:
    """Return the problems of the counters of a rule (E0275): in aggregates, in subsumption rules, and in the rules of
    `inline` relations."""
    found = list(counters_in(whole(rule)))
    if not found:
        return []
    where, hint = "", ""
    derived = next((head.relation for head in rule.heads if head.relation in inline), None)
    if rule.subsumes:
        where, hint = "a subsumption rule", "compare numbers that are columns of the relation"
    elif derived is not None:
        where = f"a rule of the inline relation `{derived}`, which stands for its rules"
        hint = "remove `inline` from its declaration"
    if where:
        return [_problem(each, where, hint) for each in found]
    aggregates = (node for node in walk(whole(rule)) if isinstance(node, Aggregate))
    inside = {id(each): each for node in aggregates for each in counters_in([node])}
    hint = "number the tuples in a rule of their own, and aggregate over its relation"
    return [_problem(each, "an aggregate", hint) for each in inside.values()]


def _problem(counter: Functor, where: str, hint: str) -> Problem:
    return Problem("E0275", f"a counter cannot stand in {where}", counter.span, hint=hint)
