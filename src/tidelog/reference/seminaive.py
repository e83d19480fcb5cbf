"""Semi-naive evaluation of a core program, with the birth and the count of every derived tuple.

This is Algorithm 2 ("Bootstrap") of the paper on elastic incrementalization, one run per hyper-node of the rule graph
(the HRDG of the ZodiacEdge paper, which Algorithm 1 there walks in topological order), with rounds numbered from 1:

- round 1: the facts asserted for the node's relations, and the consequences without any tuple of the node itself;
- round k: the consequences of the tuples born before round k, at least one of them in round k - 1. A derivation is met
  once: at the first of its body atoms that was born in round k - 1, the atoms before it being older;
- of a relation with choice-domains a round shows the candidates born in it that are free, the least first;
- the birth of a tuple is the first round that derives it, its count the number of derivations of that round - one for
  each rule with a substitution of all variables of the body that positive literals bind, and one for a fact.

Relations that no rule derives have birth 1 and count 1 throughout.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from tidelog.errors import InternalError, Problem
from tidelog.reference.selections import choose_rows
from tidelog.rules.core import (
    NUMBERED,
    AggregateRule,
    Computation,
    CoreAtom,
    CoreComparison,
    CoreLiteral,
    CoreProgram,
    CoreRule,
    CoreValue,
    CoreVariable,
    HyperNode,
    Pack,
    Unpack,
)
from tidelog.semantics.aggregates import aggregate
from tidelog.semantics.literals import Substitution, is_bound, step, value_of
from tidelog.semantics.user_aggregates import fold_group
from tidelog.semantics.values import NoValueError, Row, normal_row

CountedTable: TypeAlias = dict[Row, tuple[int, int]]
"""The tuples of a relation, each with birth and count."""


def evaluate(core: CoreProgram, facts: Mapping[str, Iterable[Row]]) -> dict[str, CountedTable]:
    """Return every relation of the least model of the program and `facts`, auxiliary ones included."""
    asserted: dict[str, set[Row]] = {name: set() for name in core.relations}
    for relation, rows in [*facts.items(), *((fact.relation, [fact.values]) for fact in core.facts)]:
        asserted[core.candidates.get(relation, relation)] |= {
            normal_row(row, core.relations[relation], core.records) for row in rows
        }
    tables: dict[str, CountedTable] = {name: dict.fromkeys(rows, (1, 1)) for name, rows in asserted.items()}
    others = [each.shown for node in core.dropping if not node.chooses for each in node.selects]
    for node in core.nodes_to_evaluate(others):
        bootstrap(node, asserted, tables)
    return tables


def bootstrap(node: HyperNode, asserted: Mapping[str, set[Row]], tables: dict[str, CountedTable]) -> None:
    """Fill the tables of the relations of `node`, those of all nodes before it being complete."""
    for relation in node.relations:
        tables[relation] = {}
    born = Counter((relation, row) for relation in node.relations for row in asserted[relation])
    for rule in node.rules:
        if isinstance(rule, AggregateRule):
            born.update((rule.head, row) for row in aggregate_rows(rule, tables))
        elif not internal_atoms(rule, node):
            born.update(derivations(rule, [tables[atom.relation] for atom in atoms(rule)]))
    latest = 0
    while born:
        older = {relation: dict(tables[relation]) for relation in node.relations}
        newest: dict[str, CountedTable] = {relation: {} for relation in node.relations}
        latest += 1
        for (relation, row), count in born.items():
            newest[relation][row] = tables[relation][row] = (latest, count)
        for choice in node.selects:
            for row in choose_rows(choice.domains, newest[choice.candidates], tables[choice.shown]):
                newest[choice.shown][row] = tables[choice.shown][row] = (latest, 1)
        born = Counter()
        for rule in node.rules:
            if isinstance(rule, CoreRule):
                for sources in delta_positions(rule, node, older, newest, tables):
                    born.update(derivations(rule, sources))
        for relation, row in list(born):
            if row in tables[relation]:
                del born[relation, row]


def delta_positions(
    rule: CoreRule,
    node: HyperNode,
    older: Mapping[str, CountedTable],
    newest: Mapping[str, CountedTable],
    tables: Mapping[str, CountedTable],
) -> Iterator[list[CountedTable]]:
    """Return for each internal atom the range of every atom, so that this atom is the first of the latest round."""
    body = atoms(rule)
    for delta in internal_atoms(rule, node):
        yield [
            newest[atom.relation]
            if position == delta
            else older[atom.relation]
            if position < delta and atom.relation in older
            else tables[atom.relation]
            for position, atom in enumerate(body)
        ]


def atoms(rule: CoreRule) -> list[CoreAtom]:
    return [literal for literal in rule.body if isinstance(literal, CoreAtom)]


def internal_atoms(rule: CoreRule, node: HyperNode) -> list[int]:
    """Return the positions, among its atoms, of those whose relations are derived in the rule's own hyper-node."""
    return [position for position, atom in enumerate(atoms(rule)) if atom.relation in node.relations]


def derivations(rule: CoreRule, sources: Iterable[Iterable[Row]]) -> Iterator[tuple[str, Row]]:
    """Yield the head's relation and tuple once for each substitution, with the source of each atom of the body in
    order."""
    source = dict(zip(map(id, atoms(rule)), sources, strict=True))
    goals: Goals = tuple((literal, source.get(id(literal), ())) for literal in rule.body)
    for found in solve(goals, {}):
        yield rule.head.relation, tuple(value_of(arg, found) for arg in rule.head.args)


# --- bodies ----------------------------------------------------------------------------------------------------------

Goals: TypeAlias = tuple[tuple[CoreLiteral, Iterable[Row]], ...]
"""Literals, each with the tuples that it ranges over if it is an atom."""


def solve(goals: Goals, bound: Substitution) -> Iterator[Substitution]:
    """Yield the substitutions that extend `bound` and satisfy all `goals`, each once."""
    if not goals:
        yield bound
        return
    ranked = [(rank(goal, goals, bound), position) for position, (goal, _) in enumerate(goals)]
    best, chosen = min(ranked)
    if best == NEVER:
        raise InternalError(Problem("E0901", f"no literal can be evaluated of {[goal for goal, _ in goals]}"))
    literal, source = goals[chosen]
    rest = goals[:chosen] + goals[chosen + 1 :]
    for extended in step(literal, source, bound):
        yield from solve(rest, extended)


NEVER = 1_000_000


def rank(literal: CoreLiteral, goals: Goals, bound: Substitution) -> int:
    """Return the rank of a literal: 0 if it can be computed now; atoms follow by how many arguments are free."""
    match literal:
        case CoreAtom(negated=True):
            elsewhere = {name for other, _ in goals if other is not literal for name in binds(other)}
            free = {arg.name for arg in literal.args if isinstance(arg, CoreVariable) and arg.name not in bound}
            ready = not free & elsewhere
        case CoreAtom():
            return 1 + sum(not is_bound(arg, bound) for arg in literal.args)
        case CoreComparison(op="="):
            ready = is_bound(literal.left, bound) or is_bound(literal.right, bound)
        case CoreComparison():
            ready = is_bound(literal.left, bound) and is_bound(literal.right, bound)
        case Computation() | Pack():
            ready = all(is_bound(arg, bound) for arg in literal.args)
        case Unpack():
            ready = is_bound(literal.source, bound)
    return 0 if ready else NEVER


def binds(literal: CoreLiteral) -> Iterator[str]:
    """Return the variables that `literal` can bind. A free variable of a negated atom that no literal binds is
    existential."""
    match literal:
        case CoreAtom(negated=True):
            values: tuple[CoreValue, ...] = ()
        case CoreAtom():
            values = literal.args
        case CoreComparison():
            values = (literal.left, literal.right)
        case Computation() | Pack():
            values = (literal.target,)
        case Unpack():
            values = literal.targets
    return (value.name for value in values if isinstance(value, CoreVariable))


# --- aggregates ------------------------------------------------------------------------------------------------------


def aggregate_rows(rule: AggregateRule, tables: Mapping[str, CountedTable]) -> Iterator[Row]:
    """Return the tuples (groups, value) of an aggregate, for the groups that the rule asks for."""
    if rule.op == "autoinc":
        yield from numbered_rows(rule, tables)
        return
    for group in tables[rule.outer]:
        inside = [row for row in tables[rule.inner] if row[: rule.groups] == group[: rule.groups]]
        if rule.own is not None:
            operands = slice(rule.groups, rule.groups + len(rule.own.operands))
            value = fold_group(rule.own, [row[operands] for row in inside])
            if value is not None:
                yield (*group[: rule.groups], value)
            continue
        values = [None if rule.op == "count" else row[rule.groups] for row in inside]
        try:
            yield (*group[: rule.groups], aggregate(rule.op, rule.kind, values))
        except NoValueError:
            continue


def numbered_rows(rule: AggregateRule, tables: Mapping[str, CountedTable]) -> Iterator[Row]:
    """Return the substitutions of a counter with their numbers: those that the table has already, and the next ones
    for others, in the order of their values."""
    known = {row[:-1]: row[-1] for row in tables[rule.head]}
    new = sorted(tables[rule.inner].keys() - known.keys(), key=repr)
    given = (row[-1] for name, table in tables.items() if name.startswith(NUMBERED) for row in table)
    used = [number for number in given if isinstance(number, int)]
    first = max(used, default=-1) + 1
    known |= {row: first + i for i, row in enumerate(new)}
    yield from ((*row, known[row]) for row in tables[rule.inner])
