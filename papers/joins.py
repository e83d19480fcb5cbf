"""Joins that start from a change, over plain sets; the maintenance algorithms of this folder share them.

    Rows          a set of tuples that finds those with given values at given positions
    Source        the tuples that one atom of a body ranges over: rows, restricted by other sets
    derivations   the derivations of a rule, each once, from a substitution or from one atom of the body
    through_*     the derivations that a change of the atoms, or of negated tuples, causes
    Visits        counts the derivations that an algorithm looks at, so that algorithms can be compared

A derivation is a rule with a substitution that satisfies its body; it is given as the fact that it derives. The order
of the literals is that of `seminaive.rank`, behind the changed atom, which comes first (Section 4.2, "Scheduling", of
the paper on elastic incrementalization).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from tidelog.reference.seminaive import CountedTable, aggregate_rows, binds, rank
from tidelog.rules.core import AggregateRule, CoreAtom, CoreLiteral, CoreProgram, CoreRule, HyperNode
from tidelog.semantics.literals import Substitution, is_bound, step, unify, value_of
from tidelog.semantics.values import Row, normal_row

Fact: TypeAlias = tuple[str, Row]
"""A relation's name and a tuple."""

AnyRule: TypeAlias = CoreRule | AggregateRule


class Rows:
    """A set of tuples, with an index for each requested choice of positions."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.rows = set(rows)
        self._indexes: dict[tuple[int, ...], dict[Row, set[Row]]] = {}

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __contains__(self, row: Row) -> bool:
        return row in self.rows

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, row: Row) -> None:
        self.rows.add(row)
        for positions, index in self._indexes.items():
            index.setdefault(at(row, positions), set()).add(row)

    def discard(self, row: Row) -> None:
        self.rows.discard(row)
        for positions, index in self._indexes.items():
            index.get(at(row, positions), set()).discard(row)

    def matching(self, positions: tuple[int, ...], values: Row) -> Iterable[Row]:
        """Return the tuples with `values` at `positions`."""
        if not positions:
            return self.rows
        index = self._indexes.get(positions)
        if index is None:
            index = self._indexes[positions] = {}
            for row in self.rows:
                index.setdefault(at(row, positions), set()).add(row)
        return index.get(values, ())


Tables: TypeAlias = Mapping[str, Rows]
"""An interpretation, or a change of one: relations without an entry are empty."""

NO_ROWS = Rows()


def at(row: Row, positions: Iterable[int]) -> Row:
    return tuple(row[position] for position in positions)


def rows_of(tables: Tables, relation: str) -> Rows:
    return tables.get(relation, NO_ROWS)


def holds(tables: Tables, fact: Fact) -> bool:
    relation, row = fact
    return row in rows_of(tables, relation)


def as_tables(facts: Iterable[Fact]) -> dict[str, Rows]:
    tables: dict[str, Rows] = {}
    for relation, row in facts:
        tables.setdefault(relation, Rows()).add(row)
    return tables


# --- rules -----------------------------------------------------------------------------------------------------------

ALWAYS = "#always"
"""A relation with one empty tuple, an input of every program."""


def with_premise(rule: CoreRule) -> CoreRule:
    """Return `rule`; it reads `#always` if it has no positive atom, so that every derivation comes from some input."""
    return rule if positives(rule) else replace(rule, body=(CoreAtom(ALWAYS, ()), *rule.body))


def positives(rule: CoreRule) -> list[CoreAtom]:
    return [literal for literal in rule.body if isinstance(literal, CoreAtom) and not literal.negated]


def negatives(rule: CoreRule) -> list[CoreAtom]:
    return [literal for literal in rule.body if isinstance(literal, CoreAtom) and literal.negated]


def plain_rules(node: HyperNode) -> list[CoreRule]:
    """Return the rules of a node that are not aggregates, each with a positive atom."""
    return [with_premise(rule) for rule in node.rules if isinstance(rule, CoreRule)]


def aggregated(rules: Iterable[AnyRule], tables: Mapping[str, Iterable[Row]]) -> Iterator[Fact]:
    """Yield the tuples of the aggregates among `rules`, computed from the whole of the relations that they read."""
    for rule in rules:
        if isinstance(rule, AggregateRule):
            names = (rule.inner, rule.outer)
            read: dict[str, CountedTable] = {name: dict.fromkeys(tables.get(name, ()), (1, 1)) for name in names}
            for row in aggregate_rows(rule, read):
                yield rule.head, row


# --- facts -----------------------------------------------------------------------------------------------------------


def given(core: CoreProgram, facts: Mapping[str, Iterable[Row]]) -> dict[str, set[Row]]:
    """Return `facts` for every relation of the program, in the form in which values are compared."""
    found: dict[str, set[Row]] = {name: set() for name in core.relations}
    for name, rows in facts.items():
        found[name] |= {normal_row(row, core.relations[name], core.records) for row in rows}
    return found


def all_given(core: CoreProgram, facts: Mapping[str, Iterable[Row]]) -> dict[str, set[Row]]:
    """Return `facts` and those in the text of the program, with `#always`."""
    found = given(core, facts)
    for fact in core.facts:
        found[fact.relation] |= given(core, {fact.relation: [fact.values]})[fact.relation]
    return {**found, ALWAYS: {()}}


def edited(
    core: CoreProgram,
    facts: Mapping[str, set[Row]],
    insert: Mapping[str, Iterable[Row]],
    delete: Mapping[str, Iterable[Row]],
) -> dict[str, set[Row]]:
    """Return `facts` without `delete` and with `insert`; facts in both are kept."""
    plus, minus = given(core, insert), given(core, delete)
    return {name: rows - minus.get(name, set()) | plus.get(name, set()) for name, rows in facts.items()}


# --- bodies ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """The tuples of `rows` that are in all of `only` and in none of `without`."""

    rows: Rows = NO_ROWS
    only: tuple[Rows, ...] = ()
    without: tuple[Rows, ...] = ()

    def __iter__(self) -> Iterator[Row]:
        return self.narrowed(self.rows)

    def matching(self, atom: CoreAtom, bound: Substitution) -> Iterator[Row]:
        """Yield the tuples that agree with the arguments of `atom` which have values."""
        positions = tuple(position for position, arg in enumerate(atom.args) if is_bound(arg, bound))
        values = tuple(value_of(atom.args[position], bound) for position in positions)
        return self.narrowed(self.rows.matching(positions, values))

    def narrowed(self, rows: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            if all(row in others for others in self.only) and not any(row in others for others in self.without):
                yield row


Goal: TypeAlias = tuple[CoreLiteral, Source]


def in_order(goals: Iterable[Goal], names: Iterable[str]) -> tuple[Goal, ...]:
    """Return the goals in an order in which each can be evaluated, with the variables `names` bound at the
    beginning."""
    rest = tuple(goals)
    bound: Substitution = dict.fromkeys(names)
    ordered: list[Goal] = []
    while rest:
        _, chosen = min((rank(literal, rest, bound), position) for position, (literal, _) in enumerate(rest))
        ordered.append(rest[chosen])
        bound |= dict.fromkeys(binds(rest[chosen][0]))
        rest = rest[:chosen] + rest[chosen + 1 :]
    return tuple(ordered)


def solve(goals: tuple[Goal, ...], bound: Substitution) -> Iterator[Substitution]:
    """Yield the substitutions that extend `bound` and satisfy all `goals`, which stand in order; each once."""
    if not goals:
        yield bound
        return
    for extended in satisfied(goals[0], bound):
        yield from solve(goals[1:], extended)


def satisfied(goal: Goal, bound: Substitution) -> Iterator[Substitution]:
    literal, source = goal
    return step(literal, source.matching(literal, bound) if isinstance(literal, CoreAtom) else (), bound)


def derivations(
    rule: CoreRule,
    sources: Sequence[Source],
    absent: Iterable[Tables],
    first: int | None = None,
    start: Iterable[Substitution] = ({},),
    refused: Iterable[Goal] = (),
) -> Iterator[Fact]:
    """Yield the head of `rule` once for each derivation from a substitution of `start`; these bind the same variables.

    Its positive atoms range over `sources`, in order; its negated atoms have no match in any of `absent`. The positive
    atom at `first` is joined first. `refused` are more negated atoms.
    """
    ready = [(atom, Source(rows_of(tables, atom.relation))) for atom in negatives(rule) for tables in absent]
    others = [(literal, Source()) for literal in rule.body if not isinstance(literal, CoreAtom)]
    joined = list(zip(positives(rule), sources, strict=True))
    leading = () if first is None else (joined.pop(first),)
    goals: tuple[Goal, ...] | None = None
    for begin in start:
        if goals is None:
            known = {*begin, *(name for literal, _ in leading for name in binds(literal))}
            goals = leading + in_order((*joined, *others, *ready, *refused), known)
        for found in solve(goals, begin):
            yield rule.head.relation, tuple(value_of(arg, found) for arg in rule.head.args)


def heads_bound(rule: CoreRule, rows: Iterable[Row]) -> Iterator[Substitution]:
    """Yield the substitutions of the head's variables, one for each of `rows` that the head can derive."""
    for row in rows:
        yield from unify(rule.head.args, row, {})


def through_atoms(
    rule: CoreRule, changed: Tables, view: Tables, absent: Iterable[Tables], gone: Tables | None = None
) -> Iterator[Fact]:
    """Yield the derivations over `view` without `gone` with an atom in its part `changed`; each at the first such
    atom."""
    gone = gone or {}
    absent = tuple(absent)
    body = positives(rule)
    for changing, atom in enumerate(body):
        if rows_of(changed, atom.relation):
            sources = []
            for position, other in enumerate(body):
                name = other.relation
                if position == changing:
                    sources.append(Source(rows_of(changed, name)))
                elif position < changing:
                    sources.append(Source(rows_of(view, name), without=(rows_of(gone, name), rows_of(changed, name))))
                else:
                    sources.append(Source(rows_of(view, name), without=(rows_of(gone, name),)))
            yield from derivations(rule, sources, absent, first=changing)


def through_negations(
    rule: CoreRule, changed: Tables, sources: Sequence[Source], absent: Iterable[Tables]
) -> Iterator[Fact]:
    """Yield the derivations with a negated atom that matches a tuple of `changed`; each at the first such atom."""
    absent = tuple(absent)
    earlier: list[Goal] = []
    for atom in negatives(rule):
        here = rows_of(changed, atom.relation)
        start = [found for row in here for found in unify(atom.args, row, {})]
        yield from derivations(rule, sources, absent, start=start, refused=tuple(earlier))
        earlier.append((atom, Source(here)))


# --- work ------------------------------------------------------------------------------------------------------------

Item = TypeVar("Item")


class TooMuchWork(Exception):
    """More derivations were visited than allowed."""


class Visits:
    """A counter of the derivations looked at, with a limit."""

    def __init__(self) -> None:
        self.total = 0
        self.limit: float | None = None

    def __call__(self, found: Iterable[Item]) -> Iterator[Item]:
        """Yield `found`, counted on the way. Raise TooMuchWork when the total passes the limit."""
        for item in found:
            self.total += 1
            if self.limit is not None and self.total > self.limit:
                raise TooMuchWork
            yield item
