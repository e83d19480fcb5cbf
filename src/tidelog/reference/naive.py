"""Naive evaluation: apply the immediate consequence operator until nothing new follows, stratum by stratum.

This is section 2.2 of the paper on elastic incrementalization before any optimisation: Γ(I) = I ∪ {t | t follows from I
by a rule}, iterated from the facts. Relations that a rule reads under negations or aggregates belong to lower strata,
and so do relations that select, unless they depend on the rule's own head: its recursion reads all of their tuples.
Conditions of subsumption rules belong to the recursion of their relation.

Relations with choice-domains are evaluated in rounds, all of them and their recursion at once: a round brings the facts
and consequences of the rounds before, and shows those that are free, the least first (`_choose`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import count
from types import MappingProxyType
from typing import TypeAlias

from tidelog.errors import InternalError, Problem
from tidelog.language.counters import counters_in
from tidelog.language.paths import steps
from tidelog.language.syntax import Aggregate, Atom, CheckedProgram, Literal, Negation, Rule, Term
from tidelog.language.trees import parts, variables, whole
from tidelog.reference.counters import Counted, counted
from tidelog.reference.paths import WithPaths
from tidelog.reference.selections import Domains, chosen, recursions, selected, selections
from tidelog.reference.substitutions import RuleScope, combinations, name_wildcards, solve
from tidelog.semantics.values import Row, normal_row

ChosenRows: TypeAlias = Mapping[str, Set[Row]]
"""Tuples of relations with choice-domains."""


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
    counters = {i: found for i, rule in enumerate(rules) if (found := counted(rule)) is not None}
    numbers = count()
    candidates: dict[str, set[Row]] = {name: set() for name, each in shown.items() if each.form == "choice"}
    for stratum in strata(checked):
        consequences = [
            CountedConsequences(head, counters[i], readable, numbers)
            if i in counters
            else Consequences(head, rule, readable)
            for i, rule in enumerate(rules)
            for head in counters.get(i, rule).heads
            if head.relation in stratum
        ]
        if stratum & candidates.keys():
            domains = {name: shown[name].domains for name in stratum & candidates.keys()}
            _choose(stratum, consequences, tables, candidates, domains, choices)
        while True:
            before = {name: set(tables[name]) for name in stratum}
            new = [(each.relation, row) for each in consequences for row in each.rows() - tables[each.relation]]
            for relation, row in new:
                if relation not in candidates:
                    tables[relation].add(row)
            for name in stratum.intersection(dropping):
                tables[name] = selected(shown[name], tables[name], tables)
            if all(tables[name] == before[name] for name in stratum):
                break
        every = WithPaths({**tables}, checked)
        for name in (stratum & shown.keys()) - candidates.keys():
            tables[name] = selected(shown[name], every[name], every)
        readable.known.clear()
    if any(type_.branches for type_ in checked.records.values()):  # values now get the names of their fields
        for name, declared in checked.relations.items():
            tables[name] = {normal_row(row, declared, checked.records) for row in tables[name]}
    return tables, candidates


def _choose(
    stratum: set[str],
    consequences: Sequence[Consequences | CountedConsequences],
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
        for each in consequences:
            born[each.relation] |= each.rows()
        for name, rows in born.items():
            rows -= candidates[name] if name in domains else tables[name]
        if not any(born.values()):
            return
        for name, rows in born.items():
            if name in domains:
                candidates[name] |= rows
                allowed = rows & choices[name] if name in choices else rows
                tables[name].update(chosen(domains[name], allowed, tables[name]))
            else:
                tables[name] |= rows
        born = {name: set() for name in stratum}


class Consequences:
    """The consequences for one head of a rule, from the tables as they are."""

    def __init__(self, head: Atom, rule: Rule, tables: Mapping[str, set[Row]]) -> None:
        self.relation = head.relation
        self.args = head.args
        self.body = rule.body
        self.scope = RuleScope(frozenset(variables(whole(rule), aggregates=False)), tables)

    def rows(self) -> set[Row]:
        return {row for found in solve(self.body, {}, self.scope) for row in combinations(self.args, found, self.scope)}


class CountedConsequences:
    """The same for a rule with counters, whose new substitutions take the next `numbers`."""

    def __init__(self, head: Atom, rule: Counted, tables: Mapping[str, set[Row]], numbers: Iterator[int]) -> None:
        self.relation = head.relation
        self.head = head
        self.rule = rule
        self.tables = tables
        self.numbers = numbers

    def rows(self) -> set[Row]:
        return set(self.rule.rows(self.head, self.tables, self.numbers))


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
        yield from ((each.relation, negative) for each in (steps(node.path) if node.path is not None else (node,)))
    for part in parts(node):
        yield from reads(part, negative or isinstance(node, Negation | Aggregate))
