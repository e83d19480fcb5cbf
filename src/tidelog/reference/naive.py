"""Naive evaluation: apply the immediate consequence operator until nothing new follows, stratum by stratum.

This is section 2.2 of the paper on elastic incrementalization before any optimisation: Γ(I) = I ∪ {t | t follows from I
by a rule}, iterated from the facts. Relations that a rule reads under negations or aggregates belong to lower strata,
and so do relations that select, unless they depend on the rule's own head: its recursion reads all of their tuples.
Conditions of subsumption rules belong to the recursion of their relation.

Relations with choice-domains are evaluated in rounds, all of them and their recursion at once: a round brings the facts
and consequences of the rounds before, and shows those that are free, the least first (`_choose`).

The numbers of counters are in a table, by the substitutions of the rule. The literals without a counter, as far as they
can be evaluated, say which substitutions there are. Each counter of the rule then has a number for each of them. All
relations that the rule reads are complete by then (`strata`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import count
from types import MappingProxyType
from typing import Any, TypeAlias

from tidelog.errors import InternalError, Problem
from tidelog.language.counters import COUNTER, counters_in
from tidelog.language.functors import several
from tidelog.language.paths import readings
from tidelog.language.syntax import (
    Aggregate,
    Atom,
    CheckedProgram,
    Comparison,
    Functor,
    Literal,
    Negation,
    Rule,
    Term,
    Variable,
)
from tidelog.language.trees import alternatives as alternatives_of
from tidelog.language.trees import parts, rebuild, rebuild_atom, rebuild_term, variables, whole
from tidelog.reference.paths import WithPaths
from tidelog.reference.selections import Domains, choose_rows, recursions, select_rows, selections
from tidelog.reference.substitutions import RuleScope, combinations, name_wildcards, solve
from tidelog.rules.grounding import evaluable
from tidelog.semantics.literals import Substitution
from tidelog.semantics.values import Row, normal_row

# --- counters ---------------------------------------------------------------------------------------------------------


@dataclass
class Counted:
    """A rule with counters: `heads` with variables in their places; for each alternative the literals that say which
    substitutions there are, and those that need the numbers; and the numbers so far."""

    heads: tuple[Atom, ...]
    alternatives: tuple[tuple[tuple[Literal, ...], tuple[Literal, ...]], ...]
    places: tuple[str, ...]
    scope: frozenset[str]
    numbers: dict[Any, int] = field(default_factory=dict)

    def rows(self, head: Atom, tables: Mapping[str, set[Row]], numbers: Iterator[int]) -> Iterator[Row]:
        """Yield the tuples of a head; new substitutions take the next `numbers`."""
        scope = RuleScope(self.scope, tables)
        for alternative, (steady, rest) in enumerate(self.alternatives):
            names = variables(steady, aggregates=False)
            found = {tuple(each[name] for name in names): each for each in solve(steady, {}, scope)}
            for values in sorted(found, key=lambda row: tuple(map(_rank, row))):
                bound: Substitution = dict(found[values])
                for place in self.places:
                    key = alternative, place, values
                    if key not in self.numbers:
                        self.numbers[key] = next(numbers)
                    bound[place] = self.numbers[key]
                for each in solve(rest, bound, scope):
                    yield from combinations(head.args, each, scope)


def separate_counters(rule: Rule) -> Counted | None:
    """Return a rule, whose `_` have names, with its counters apart; None for a rule without one."""
    if next(counters_in(whole(rule)), None) is None:
        return None
    fresh, places, calls = count(), list[str](), list[Comparison]()

    def number(term: Term) -> Term | None:
        if isinstance(term, Aggregate):
            return term
        if not isinstance(term, Functor):
            return None
        if term.name == COUNTER:
            places.append(f"#{next(fresh)}")
            return Variable(places[-1])
        if term.declared is None and not several(term.name, len(term.args)):
            return None
        value = Variable(f"#{next(fresh)}")
        args = tuple(rebuild_term(arg, number) for arg in term.args)
        calls.append(Comparison("=", value, Functor(term.name, args, term.kind, term.result, term.declared)))
        return value

    alternatives = []
    names = frozenset(variables(whole(rule), aggregates=False))
    heads = tuple(rebuild_atom(head, number) for head in rule.heads)
    for body in alternatives_of(rule.body):
        rest = [rebuild(literal, number) for literal in body] + calls
        given = set(places)
        steady = evaluable([literal for literal in rest if given.isdisjoint(variables([literal]))], names)
        alternatives.append((steady, tuple(literal for literal in rest if literal not in steady)))
    named = {variable.name for call in calls for variable in [call.left] if isinstance(variable, Variable)}
    return Counted(heads, tuple(alternatives), tuple(places), names | named | {*places})


def _rank(value: Any) -> tuple[Any, ...]:
    """Return a key that orders the values of a column."""
    return (1, value) if isinstance(value, str | int | float) else (0, repr(value))


# --- evaluation -------------------------------------------------------------------------------------------------------


ChosenRows: TypeAlias = Mapping[str, Set[Row]]
"""Tuples of relations with choice-domains."""
Consequences: TypeAlias = tuple[str, Callable[[], set[Row]]]
"""A relation, and what gives the tuples that a rule now derives for it from the tables as they are."""


def evaluate(
    checked: CheckedProgram,
    facts: Mapping[str, Iterable[Row]],
    dropping: Collection[str] = (),
    choices: ChosenRows = MappingProxyType({}),
) -> dict[str, set[Row]]:
    """Return every relation of the least (stratified) model of the program and `facts`. Relations in `dropping` select
    after each step already, which shows the same tuples where rules are monotone, and may end where the model has no
    end. Those in `choices` show no others than these tuples, each that is derived from such."""
    return with_candidates(checked, facts, dropping, choices)[0]


def with_candidates(
    checked: CheckedProgram,
    facts: Mapping[str, Iterable[Row]],
    dropping: Collection[str] = (),
    choices: ChosenRows = MappingProxyType({}),
) -> tuple[dict[str, set[Row]], dict[str, set[Row]]]:
    """Return the same, and all tuples that the rules derive for relations with choice-domains."""
    tables: dict[str, set[Row]] = {name: set() for name in checked.relations}
    for name, rows in facts.items():
        tables[name] |= {normal_row(row, checked.relations[name], checked.records) for row in rows}
    for fact in checked.facts:
        tables[fact.relation].add(normal_row(fact.values, checked.relations[fact.relation], checked.records))
    readable = WithPaths(tables, checked)
    shown = selections(checked)
    rules = [*map(name_wildcards, checked.rules)]
    counters = {i: found for i, rule in enumerate(rules) if (found := separate_counters(rule)) is not None}
    numbers = count()
    candidates: dict[str, set[Row]] = {name: set() for name, each in shown.items() if each.form == "choice"}
    for stratum in strata(checked):
        consequences = [
            _counted_consequences(head, counters[i], readable, numbers)
            if i in counters
            else _consequences(head, rule, readable)
            for i, rule in enumerate(rules)
            for head in counters.get(i, rule).heads
            if head.relation in stratum
        ]
        if stratum & candidates.keys():
            domains = {name: shown[name].domains for name in stratum & candidates.keys()}
            _choose(stratum, consequences, tables, candidates, domains, choices)
        while True:
            before = {name: set(tables[name]) for name in stratum}
            new = [(relation, row) for relation, rows in consequences for row in rows() - tables[relation]]
            for relation, row in new:
                if relation not in candidates:
                    tables[relation].add(row)
            for name in stratum.intersection(dropping):
                tables[name] = select_rows(shown[name], tables[name], tables)
            if all(tables[name] == before[name] for name in stratum):
                break
        every = WithPaths({**tables}, checked)
        for name in (stratum & shown.keys()) - candidates.keys():
            tables[name] = select_rows(shown[name], every[name], every)
        readable.known.clear()
    if any(type_.branches for type_ in checked.records.values()):  # values now get the names of their fields
        for name, declared in checked.relations.items():
            tables[name] = {normal_row(row, declared, checked.records) for row in tables[name]}
    return tables, candidates


def _choose(
    stratum: set[str],
    consequences: Sequence[Consequences],
    tables: dict[str, set[Row]],
    candidates: dict[str, set[Row]],
    domains: Mapping[str, Domains],
    choices: ChosenRows,
) -> None:
    """Fill the tables of a stratum with choices, round by round; they have its facts."""
    born = {name: set(tables[name]) for name in stratum}
    for name in stratum:
        tables[name].clear()
    while True:
        for relation, consequence in consequences:
            born[relation] |= consequence()
        for name, rows in born.items():
            rows -= candidates[name] if name in domains else tables[name]
        if not any(born.values()):
            return
        for name, rows in born.items():
            if name in domains:
                candidates[name] |= rows
                allowed = rows & choices[name] if name in choices else rows
                tables[name].update(choose_rows(domains[name], allowed, tables[name]))
            else:
                tables[name] |= rows
        born = {name: set() for name in stratum}


def _consequences(head: Atom, rule: Rule, tables: Mapping[str, set[Row]]) -> Consequences:
    """Return the consequences for one head of a rule."""
    scope = RuleScope(frozenset(variables(whole(rule), aggregates=False)), tables)

    def rows() -> set[Row]:
        return {row for found in solve(rule.body, {}, scope) for row in combinations(head.args, found, scope)}

    return head.relation, rows


def _counted_consequences(
    head: Atom, rule: Counted, tables: Mapping[str, set[Row]], numbers: Iterator[int]
) -> Consequences:
    """Return the same for a rule with counters, whose new substitutions take the next `numbers`."""
    return head.relation, lambda: set(rule.rows(head, tables, numbers))


def strata(checked: CheckedProgram) -> list[set[str]]:
    """Return the relations by level: the head of a rule has at least the level of the relations that its body reads,
    and a higher one than those that it negates, or whose tuples it numbers."""
    level = dict.fromkeys(checked.relations, 0)
    edges = [
        (head.relation, relation, negative or next(counters_in(whole(rule)), None) is not None)
        for rule in checked.rules
        for head in rule.heads
        for node in (*head.args, *rule.body)
        for relation, negative in reads(node)
    ]
    shown = selections(checked)
    compared = [
        (name, relation)
        for name, selection in shown.items()
        for rule in selection.rules
        for literal in rule.body
        for relation, _ in reads(literal)
        if relation != name
    ]
    pairs = [*((head, body) for head, body, _ in edges), *compared]
    own = recursions({name: [body for head, body in pairs if head == name] for name in checked.relations})
    edges += [(name, relation, own[relation] != own[name]) for name, relation in compared]
    choosing = {own[name] for name, selection in shown.items() if selection.form == "choice"}
    edges = [
        (head, body, negative or ((body in shown or own[head] in choosing) and own[body] != own[head]))
        for head, body, negative in edges
    ]
    changed = True
    while changed:
        changed = False
        for head, relation, negative in edges:
            least = level[relation] + negative
            if level[head] < least:
                level[head], changed = least, True
                if least > len(level):
                    raise InternalError(Problem("E0901", f"{head} depends on its own negation"))
    return [{name for name in level if level[name] == height} for height in sorted(set(level.values()))]


def reads(node: Term | Literal, negative: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield the relations that occur in `node`, each with True if it does so under a negation or an aggregate."""
    if isinstance(node, Atom):
        yield from ((each.relation, negative) for each in readings(node))
    for part in parts(node):
        yield from reads(part, negative or isinstance(node, Negation | Aggregate))
