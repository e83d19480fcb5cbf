"""From a checked program to the core program: the rewrites in their order, then the rule graph.

Each rewrite takes one rule and returns the rules that replace it. Auxiliary rules that it needs besides are left on
the bench, and go through all rewrites in turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from tidelog.language.paths import steps
from tidelog.language.syntax import Atom, CheckedProgram, Rule
from tidelog.rules import core
from tidelog.rules.aggregates import aggregates
from tidelog.rules.anonymous import anonymous
from tidelog.rules.bench import Bench
from tidelog.rules.closures import with_closures
from tidelog.rules.components import components
from tidelog.rules.disjunctions import disjunctions
from tidelog.rules.equalities import equalities
from tidelog.rules.graph import hyper_nodes
from tidelog.rules.growth import check_growth
from tidelog.rules.heads import heads
from tidelog.rules.negations import negations
from tidelog.rules.nesting import nesting
from tidelog.rules.paths import paths
from tidelog.rules.translation import translation
from tidelog.rules.trees import walk

Rewrite: TypeAlias = Callable[[Rule, Bench], tuple[Rule, ...]]

REWRITES: tuple[Rewrite, ...] = (paths, disjunctions, aggregates, anonymous, heads, negations, nesting)


def compile_program(checked: CheckedProgram) -> core.CoreProgram:
    """The core program of a checked one. Raises ProgramError for negation or aggregation through recursion, and for
    paths with `*` over values without end."""
    check_growth(checked)
    relations = {name: core.RelationInfo(name, relation.columns) for name, relation in checked.relations.items()}
    rules: list[core.Rule | core.AggregateRule] = []
    recursive = _recursive_with(checked.rules)
    shared: dict[str, core.RelationInfo] = {}
    nodes = _nodes(checked)
    for rule in checked.rules:
        reach = frozenset().union(*(recursive.get(head.relation, frozenset()) for head in rule.heads))
        bench = Bench(rule.name or "", checked.relations, checked.records, reach, shared=shared, nodes=nodes)
        rules += [*_named_apart(_rewritten(rule, bench)), *bench.aggregates]
        relations.update(bench.auxiliary)
    relations.update(shared)
    found = with_closures(hyper_nodes(rules, relations), relations)
    return core.CoreProgram(relations, checked.records, found, checked.facts)


def _rewritten(rule: Rule, bench: Bench) -> Iterator[core.Rule]:
    """The core rules of a user's rule and of everything that it needs."""
    bench.pending.append(rule)
    while bench.pending:
        rules: tuple[Rule, ...] = (bench.pending.pop(0),)
        for rewrite in REWRITES:
            rules = tuple([rewritten for each in rules for rewritten in rewrite(each, bench)])
        for each in rules:
            solved = equalities(translation(each, bench))
            if solved is not None:
                yield solved


def _named_apart(rules: Iterable[core.Rule]) -> list[core.Rule]:
    """The rules with numbers behind the names that several of them have."""
    rules = list(rules)
    total = Counter(rule.name for rule in rules)
    seen: Counter[str] = Counter()
    named = []
    for rule in rules:
        seen[rule.name] += 1
        named.append(replace(rule, name=f"{rule.name}#{seen[rule.name]}") if total[rule.name] > 1 else rule)
    return named


def _nodes(checked: CheckedProgram) -> dict[str, tuple[tuple[str, int], ...]]:
    """For each domain of a path the columns whose values are its nodes: those of relations that no rule derives."""
    derived = {head.relation for rule in checked.rules if rule.body for head in rule.heads}
    return {
        domain: tuple(column for column in columns if column[0] not in derived)
        for domain, columns in checked.domains.items()
    }


def _recursive_with(rules: Iterable[Rule]) -> dict[str, frozenset[str]]:
    """For each relation the relations that it depends on and that depend on it, itself included if so."""
    reads: dict[str, dict[str, None]] = {}
    for rule in rules:
        atoms = [node for node in walk(rule.body, aggregates=False) if isinstance(node, Atom)]
        names = [each.relation for atom in atoms for each in (steps(atom.path) if atom.path is not None else (atom,))]
        for head in rule.heads:
            reads.setdefault(head.relation, {}).update(dict.fromkeys(names))
    recursive: dict[str, frozenset[str]] = {}
    for component in components(reads):
        if len(component) > 1 or component[0] in reads.get(component[0], {}):
            recursive |= dict.fromkeys(component, frozenset(component))
    return recursive
