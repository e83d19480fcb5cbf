"""Algorithms 2 and 3 of *Towards Elastic Incrementalization for Datalog* (Zhao et al., 2021): Bootstrap and Update.

The state of a stratum is the sequence N# of multisets: N#_k has the facts first derived in iteration k, each with the
number of derivations of that iteration. As the sets are disjoint (Lemma 3.6), that is two numbers per fact; `numbers`
gives them so. Update yields exactly the sequence that Bootstrap would (Theorem 3.5). Numbers in comments are the lines
of the algorithms; names are the paper's: I is `known`, N `recent`, I- `removed`, I+ `added`, and `_old` is its mark °.

Strata are the hyper-nodes of the core program, in order. E is everything that a stratum reads of the others, the facts
asserted for its own relations, and its aggregates, worked out from the whole group relation.

Three things are not as printed in the paper:

- Section 3.3 gives the deletion term I0- in its formula and I0+ in its text; it has to be I0+, the inserted facts.
- The re-discovery term takes derivations over I° ∩ I. For negated atoms "not in I° ∩ I" would let in derivations that
  do not hold now, and those that the insertion term has too; a derivation that held and holds is one whose negated
  atoms are neither in I° nor in I.
- The operator wants a positive body atom; a rule without one reads `#always`, which E always has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias

from papers.joins import (
    Fact,
    Rows,
    Source,
    Tables,
    TooMuchWork,
    Visits,
    aggregated,
    all_given,
    as_tables,
    derivations,
    edited,
    heads_bound,
    holds,
    negatives,
    plain_rules,
    positives,
    rows_of,
    through_negations,
)
from tidelog.rules.core import CoreProgram, CoreRule, HyperNode
from tidelog.semantics.values import Row

Sequence: TypeAlias = list[Counter[Fact]]
"""N#: for each iteration the facts that are first derived in it, with their counts."""


class Elastic:
    """The views of a program, updated by one `epoch` after the other.

    An epoch runs Update. If that visits more derivations than `switch` times those of the last Bootstrap, its partial
    state is discarded, and Bootstrap runs (Section 3); without a `switch` it never does. The paper measures time.
    """

    def __init__(self, core: CoreProgram, facts: Mapping[str, Iterable[Row]], switch: float | None = None) -> None:
        self.core = core
        self.switch = switch
        self.bootstraps = self.updates = 0
        self._visits = Visits()
        self._facts = all_given(core, facts)
        self._states: list[Sequence] = []
        self._tables: dict[str, Rows] = {}
        self._bootstrap_cost = 0
        self._bootstrap(self._facts)

    @property
    def visited(self) -> int:
        """Return the number of derivations looked at since the beginning, those of stopped updates included."""
        return self._visits.total

    @property
    def views(self) -> dict[str, set[Row]]:
        return {name: rows.rows for name, rows in self._tables.items()}

    def numbers(self, relation: str) -> dict[Row, tuple[int, int]]:
        """Return for each tuple of a derived relation the iteration that first derives it, and its count there."""
        return {
            row: (iteration, number)
            for sequence in self._states
            for iteration, multiset in enumerate(sequence)
            for (name, row), number in multiset.items()
            if name == relation
        }

    def epoch(self, insert: Mapping[str, Iterable[Row]], delete: Mapping[str, Iterable[Row]]) -> None:
        """Delete the facts `delete` and insert `insert`; facts in both are inserted."""
        facts = edited(self.core, self._facts, insert, delete)
        if self.switch is not None:
            self._visits.limit = self._visits.total + self.switch * self._bootstrap_cost
        try:
            self._update(facts)
            self.updates += 1
        except TooMuchWork:
            self._visits.limit = None
            self._bootstrap(facts)
        self._visits.limit = None

    def _bootstrap(self, facts: Mapping[str, set[Row]]) -> None:
        start = self._visits.total
        tables, states = {name: Rows(rows) for name, rows in facts.items()}, []
        for node in self.core.nodes:
            asserted = own_facts(node, facts, tables)
            states.append(bootstrap(Stratum(node, self._visits), tables, asserted))
            tables |= views_of(node, states[-1])
        self._facts, self._tables, self._states = dict(facts), tables, states
        self._bootstrap_cost = self._visits.total - start
        self.bootstraps += 1

    def _update(self, facts: Mapping[str, set[Row]]) -> None:
        """Update the state; change nothing of it before the end, so that the update may stop at any time."""
        old = self._tables
        tables, states = {name: Rows(rows) for name, rows in facts.items()}, []
        for node, state in zip(self.core.nodes, self._states, strict=True):
            before = {fact for fact in state[0] if fact[0] in node.relations}
            after = own_facts(node, facts, tables)
            outside = [name for name in tables if name not in node.relations]
            minus = {name: Rows(old[name].rows - tables[name].rows) for name in outside} | as_tables(before - after)
            plus = {name: Rows(tables[name].rows - old[name].rows) for name in outside} | as_tables(after - before)
            states.append(update(Stratum(node, self._visits), (old, state), (minus, plus), tables, after))
            tables |= views_of(node, states[-1])
        self._facts, self._tables, self._states = dict(facts), tables, states


def own_facts(node: HyperNode, facts: Mapping[str, set[Row]], tables: Tables) -> set[Fact]:
    """Return the part of E that is in relations of the stratum itself."""
    asserted = {(name, row) for name in node.relations for row in facts[name]}
    return asserted.union(aggregated(node.rules, tables))


def views_of(node: HyperNode, sequence: Sequence) -> dict[str, Rows]:
    found: dict[str, Rows] = {name: Rows() for name in node.relations}
    return found | as_tables(fact for multiset in sequence for fact in multiset)


# --- one stratum -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stratum:
    """The rules P of a stratum, with a counter of the derivations that an operator yields."""

    node: HyperNode
    visits: Visits

    @property
    def rules(self) -> list[CoreRule]:
        return plain_rules(self.node)

    def nothing(self) -> dict[str, Rows]:
        return {name: Rows() for name in self.node.relations}

    def inputs(self, tables: Tables) -> dict[str, Rows]:
        """Return the part of E that is in relations of other strata."""
        return {name: rows for name, rows in tables.items() if name not in self.node.relations}


def bootstrap(stratum: Stratum, inputs: Tables, asserted: Iterable[Fact]) -> Sequence:
    """Run Algorithm 2. E is `inputs` for other strata, and `asserted` for the stratum's own relations."""
    sequence: Sequence = [Counter(set(asserted))]  # 1
    known = {**stratum.inputs(inputs), **stratum.nothing()}
    for k in count(1):  # 2
        recent = as_tables(sequence[k - 1])  # 3
        if k == 1:
            recent |= stratum.inputs(inputs)
        add(known, sequence[k - 1])  # 4
        found = Counter(  # 5
            head
            for rule in stratum.rules
            for head in stratum.visits(instances(rule, known, recent))
            if not holds(known, head)
        )
        if not found:  # 6
            break
        sequence.append(found)
    return sequence  # 7


def update(
    stratum: Stratum,
    old: tuple[Tables, Sequence],
    change: tuple[Tables, Tables],
    inputs: Tables,
    asserted: Iterable[Fact],
) -> Sequence:
    """Run Algorithm 3, with line 9 of Section 3.3, for (E, N#°) = `old` and (E-, E+) = `change`.

    The changed E is given as in `bootstrap`, by `inputs` and `asserted`.
    """
    inputs_old, sequence_old = old
    minus, plus = change
    sequence: Sequence = [Counter(set(asserted))]  # 1
    removed = copy(minus)  # 2
    added = copy(plus)  # 3
    known = {**stratum.inputs(inputs), **stratum.nothing()}
    known_old = {**stratum.inputs(inputs_old), **stratum.nothing()}
    for k in count(1):  # 4
        recent = as_tables(sequence[k - 1])  # 5
        recent_old = as_tables(at(sequence_old, k - 1))  # 6
        if k == 1:
            recent |= stratum.inputs(inputs)
            recent_old |= stratum.inputs(inputs_old)
        add(known, sequence[k - 1])  # 7
        add(known_old, at(sequence_old, k - 1))  # 8

        found = Counter(at(sequence_old, k))  # 9
        for rule in stratum.rules:
            lost = stratum.visits(changed_instances(rule, known_old, recent_old, removed, plus))
            found.subtract(head for head in lost if not holds(known_old, head))
            won = stratum.visits(changed_instances(rule, known, recent, added, minus))
            found.update(head for head in won if not holds(known, head))
            found.update(stratum.visits(rediscovered(rule, known_old, known, recent, removed)))
        new = Counter({fact: number for fact, number in found.items() if number > 0 and not holds(added, fact)})  # 10

        for relation, row in new:  # 11, the first half
            rows_of(removed, relation).discard(row)
        for fact in at(sequence_old, k):  # 12, the first half
            rows_of(added, fact[0]).discard(fact[1])
        add(removed, (fact for fact in at(sequence_old, k) if fact not in new and not holds(known, fact)))  # 11
        add(added, (fact for fact in new if fact not in at(sequence_old, k) and not holds(known_old, fact)))  # 12
        if not new:  # 13
            break
        sequence.append(new)
    return sequence  # 14


def at(sequence: Sequence, k: int) -> Counter[Fact]:
    """Return N#_k, which is empty behind the last iteration."""
    return sequence[k] if k < len(sequence) else Counter()


def add(tables: dict[str, Rows], facts: Iterable[Fact]) -> None:
    for relation, row in facts:
        tables.setdefault(relation, Rows()).add(row)


def copy(tables: Tables) -> dict[str, Rows]:
    return {name: Rows(rows) for name, rows in tables.items()}


# --- operators -------------------------------------------------------------------------------------------------------


def instances(rule: CoreRule, known: Tables, recent: Tables) -> Iterator[Fact]:
    """Yield Π#[I | N]: derivations over I with an atom in N, each at the first such atom."""
    for first, sources in first_in(rule, [Source(rows_of(known, atom.relation)) for atom in positives(rule)], recent):
        yield from derivations(rule, sources, (known,), first)


def changed_instances(rule: CoreRule, known: Tables, recent: Tables, changed: Tables, denied: Tables) -> Iterator[Fact]:
    """Yield Π#[I | I1 | I2, I2']: derivations over I with an atom in I1 and a positive one in I2 or a negated one in
    I2'.

    Each at the first atom in I2 and the first in I1; those through a negated atom have no atom in I2.
    """
    every = [Source(rows_of(known, atom.relation)) for atom in positives(rule)]
    for first, sources in first_in(rule, every, changed):
        for _, narrowed in first_in(rule, sources, recent):
            yield from derivations(rule, narrowed, (known,), first)
    unchanged = [outside(source, atom.relation, changed) for source, atom in zip(every, positives(rule), strict=True)]
    if any(rows_of(denied, atom.relation) for atom in negatives(rule)):
        for _, narrowed in first_in(rule, unchanged, recent):
            yield from through_negations(rule, denied, narrowed, (known,))


def rediscovered(rule: CoreRule, known_old: Tables, known: Tables, recent: Tables, removed: Tables) -> Iterator[Fact]:
    """Yield I- ∩ Π#[I° ∩ I | N], looked up from the heads (Section 3.2, "provenance")."""
    start = list(heads_bound(rule, rows_of(removed, rule.head.relation)))
    both = [
        Source(rows_of(known, atom.relation), only=(rows_of(known_old, atom.relation),)) for atom in positives(rule)
    ]
    for _, sources in first_in(rule, both, recent) if start else ():
        yield from derivations(rule, sources, (known_old, known), start=start)


def first_in(rule: CoreRule, sources: list[Source], part: Tables) -> Iterator[tuple[int, list[Source]]]:
    """Yield for each positive atom the sources narrowed so that it is the first in `part`; leave out empty ones."""
    body = positives(rule)
    for first, atom in enumerate(body):
        inside = rows_of(part, atom.relation)
        if inside:
            before = [outside(sources[position], body[position].relation, part) for position in range(first)]
            yield first, [*before, within(sources[first], inside), *sources[first + 1 :]]


def outside(source: Source, relation: str, part: Tables) -> Source:
    return Source(source.rows, source.only, (*source.without, rows_of(part, relation)))


def within(source: Source, part: Rows) -> Source:
    """Return the tuples of both, searched in the smaller set."""
    small, large = (part, source.rows) if len(part) <= len(source.rows) else (source.rows, part)
    return Source(small, (*source.only, large), source.without)
