"""Joins at one node: the order in which literals are evaluated, the node's tuples with their indexes, and the ways in
which a body holds there.

Every body atom is looked up through an index over the columns that are known when its turn comes. `_plan` orders them
once for each body atom that a new tuple can match first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from tidelog.language.functors import NUMERIC
from tidelog.language.syntax import RecordType
from tidelog.network.functors import NodeFunctors
from tidelog.network.limits import LONGEST_TEXT, Meter, OverrunError
from tidelog.network.program import LocalRule, LocatedTuple, NodeRow
from tidelog.rules import core
from tidelog.rules.core import variables_of
from tidelog.semantics.literals import step, unify
from tidelog.semantics.values import normal

Substitution = dict[str, Any]


# --- literals --------------------------------------------------------------------------------------------------------


def variables(literals: Iterable[core.CoreLiteral]) -> list[core.CoreVariable]:
    """Return the variables of literals, each once, in order."""
    return list(dict.fromkeys(variable for literal in literals for variable in variables_of(literal)))


def is_ready(literal: core.CoreLiteral, known: Iterable[str]) -> bool:
    """Return True if a literal that is no negated atom can be evaluated; an atom can once it shares a variable."""

    def are_known(*wanted: core.CoreValue) -> bool:
        return all(isinstance(value, core.CoreConstant) or value.name in known for value in wanted)

    match literal:
        case core.CoreAtom():
            return any(are_known(value) for value in literal.args)
        case core.CoreComparison(op="="):
            return are_known(literal.left) or are_known(literal.right)
        case core.CoreComparison():
            return are_known(literal.left, literal.right)
        case core.Computation() | core.Pack():
            return are_known(*literal.args)
        case core.Unpack():
            return are_known(literal.source)


# --- tuples ----------------------------------------------------------------------------------------------------------


class Tuples:
    """The tuples present at a node, by relation, with an index for every set of columns that was ever used.

    Tables are dictionaries without values: they keep the order of insertion, so that a run can be repeated exactly.
    """

    def __init__(self) -> None:
        self._rows: dict[str, dict[NodeRow, None]] = {}
        self._indexes: dict[str, dict[tuple[int, ...], dict[NodeRow, dict[NodeRow, None]]]] = {}

    def __contains__(self, fact: LocatedTuple) -> bool:
        return fact[1] in self._rows.get(fact[0], ())

    def rows(self, relation: str) -> list[NodeRow]:
        return list(self._rows.get(relation, ()))

    def relations(self) -> list[str]:
        """Return the names of the relations that have tuples."""
        return [name for name, rows in self._rows.items() if rows]

    def find(self, relation: str, columns: tuple[int, ...], key: NodeRow) -> list[NodeRow]:
        """Return the tuples with the values `key` in `columns`."""
        if not columns:
            return self.rows(relation)
        indexes = self._indexes.setdefault(relation, {})
        index = indexes.get(columns)
        if index is None:
            index = indexes[columns] = {}
            for row in self._rows.get(relation, ()):
                index.setdefault(tuple([row[column] for column in columns]), {})[row] = None
        return list(index.get(key, ()))

    def add(self, fact: LocatedTuple) -> None:
        relation, row = fact
        self._rows.setdefault(relation, {})[row] = None
        for columns, index in self._indexes.get(relation, {}).items():
            index.setdefault(tuple([row[column] for column in columns]), {})[row] = None

    def remove(self, fact: LocatedTuple) -> None:
        relation, row = fact
        del self._rows[relation][row]
        for columns, index in self._indexes.get(relation, {}).items():
            key = tuple([row[column] for column in columns])
            del index[key][row]
            if not index[key]:
                del index[key]


# --- bodies ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Lookup:
    """A lookup that matches the atom at `position` through the columns with known values. `bind` names the others, and
    `same` are columns that repeat one of those."""

    position: int
    relation: str
    columns: tuple[int, ...]
    key: tuple[core.CoreValue, ...]
    bind: tuple[tuple[int, str], ...]
    same: tuple[tuple[int, str], ...]


@cache
def _plan(rule: LocalRule, first: int | None) -> tuple[_Lookup | core.CoreLiteral, ...]:
    """Return the order in which to evaluate a body: computations as soon as possible, then the atom with the most known
    columns; the atom at `first` before all."""
    known: set[str] = set()
    atoms = dict(enumerate(rule.positive))
    computed = list(rule.conditions)
    order: list[_Lookup | core.CoreLiteral] = []
    while atoms or computed:
        ready = next((literal for literal in computed if is_ready(literal, known)), None)
        if ready is not None:
            computed.remove(ready)
            order.append(ready)
            known |= {variable.name for variable in variables([ready])}
            continue
        if first is not None and first in atoms:
            position = first
        else:
            position = min(atoms, key=lambda each: (-_count_known(atoms[each], known), each))
        order.append(_lookup(position, atoms.pop(position), known))
    return tuple(order)


def _count_known(atom: core.CoreAtom, known: set[str]) -> int:
    """Return the number of columns of an atom that have a value."""
    return sum(isinstance(arg, core.CoreConstant) or arg.name in known for arg in atom.args)


def _lookup(position: int, atom: core.CoreAtom, known: set[str]) -> _Lookup:
    """Return the lookup for an atom; add the variables that it binds to `known`."""
    columns, key, bind, same = [], [], [], []
    before = set(known)
    for column, arg in enumerate(atom.args):
        if isinstance(arg, core.CoreConstant) or arg.name in before:
            columns.append(column)
            key.append(arg)
        elif arg.name in known:
            same.append((column, arg.name))
        else:
            bind.append((column, arg.name))
            known.add(arg.name)
    return _Lookup(position, atom.relation, tuple(columns), tuple(key), tuple(bind), tuple(same))


def value_of(value: core.CoreValue, bound: Mapping[str, Any]) -> Any:
    return normal(value.value, value.kind) if isinstance(value, core.CoreConstant) else bound[value.name]


def ground(atom: core.CoreAtom, bound: Mapping[str, Any]) -> LocatedTuple:
    """Return the tuple that an atom stands for."""
    return atom.relation, tuple([value_of(arg, bound) for arg in atom.args])


@dataclass(frozen=True)
class Calling:
    """The functions of a node, and the record types by which values are stored."""

    functors: NodeFunctors
    records: Mapping[str, RecordType]

    def ways(
        self, goal: core.CoreLiteral, rule: LocalRule, bound: Substitution, meter: Meter
    ) -> Iterator[Substitution]:
        """Yield the ways to satisfy a literal that is no atom. Raise FailedError if a functor has no result."""
        if not isinstance(goal, core.Computation) or (goal.declared is None and not _numbers_values(goal)):
            yield from step(goal, (), bound)
            return
        args = tuple([value_of(arg, bound) for arg in goal.args])
        if goal.declared is None:
            number = self.functors.ordinal(args[0], goal.kind, self.records)
            yield from unify((goal.target,), (number,), bound)
            return
        for value in self.functors.results(goal.declared, args, rule.origin, meter, self.records):
            yield from unify((goal.target,), (value,), bound)


def _numbers_values(goal: core.Computation) -> bool:
    """Return True for `ord` of symbols or records."""
    return goal.functor == "ord" and goal.kind not in NUMERIC


def matches(
    rule: LocalRule, tuples: Tuples, calling: Calling, meter: Meter, first: int | None = None, row: NodeRow = ()
) -> Iterator[tuple[Substitution, tuple[LocatedTuple, ...]]]:
    """Yield the ways in which a body holds, but for negation: the substitution, and the tuple of each positive atom in
    order. With `first`, only those in which `row` matches the atom at that position. Each tuple and value tried is a
    step for the `meter`, which may raise OverrunError; functors without a result raise FailedError."""
    plan = _plan(rule, first)
    chosen: list[LocatedTuple] = [("", ())] * len(rule.positive)

    def extend(number: int, bound: Substitution) -> Iterator[Substitution]:
        if number == len(plan):
            yield bound
            return
        goal = plan[number]
        if not isinstance(goal, _Lookup):
            for extended in calling.ways(goal, rule, bound, meter):
                meter.spend()
                if isinstance(goal, core.Computation) and _is_long(value_of(goal.target, extended)):
                    raise OverrunError
                yield from extend(number + 1, extended)
            return
        key = tuple([value_of(value, bound) for value in goal.key])
        if goal.position == first:
            rows = [row] if key == tuple([row[column] for column in goal.columns]) else []
        else:
            rows = tuples.find(goal.relation, goal.columns, key)
        for found in rows:
            meter.spend()
            extended = {**bound, **{name: found[column] for column, name in goal.bind}}
            if all(extended[name] == found[column] for column, name in goal.same):
                chosen[goal.position] = (goal.relation, found)
                yield from extend(number + 1, extended)

    for bound in extend(0, {}):
        yield bound, tuple(chosen)


def _is_long(value: Any) -> bool:
    """Return True if a text is longer than any packet may hold; computations could double it again and again."""
    return isinstance(value, str) and len(value) > LONGEST_TEXT
