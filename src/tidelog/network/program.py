"""A located program: rules that each node can run alone, and the location of every relation.

`LocatedProgram` is what `localize` makes of a checked program and what a node runs. Auxiliary relations are named by
what they mean: nodes that run other versions of a program while rules travel never confuse their tuples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from tidelog.common.source import Span
from tidelog.language.aggregates import AggregateName
from tidelog.language.syntax import Column, RecordType
from tidelog.rules import core
from tidelog.rules.graph import components

NodeRow: TypeAlias = tuple[Any, ...]
LocatedTuple: TypeAlias = tuple[str, NodeRow]
"""A tuple of a relation, with the relation's name."""

LOCATABLE = ("symbol", "number", "unsigned")
"""The kinds whose values can name nodes: a node is known by the text of the value."""


@dataclass(frozen=True)
class RelationLocation:
    """The location of a relation: `location` is the position of the column that names the node, None if every node has
    the relation for itself."""

    name: str
    columns: tuple[Column, ...]
    location: int | None
    auxiliary: bool = False


@dataclass(frozen=True)
class LocalRule:
    """A rule `head :- body` at the node `at` (None: at every node).

    All relations of the body live there, so the node asks no other; the head may live elsewhere. `key` is the same for
    equal rules and for no others.
    """

    key: str
    head: core.CoreAtom
    body: tuple[core.CoreLiteral, ...]
    at: core.CoreValue | None
    origin: str = field(compare=False, repr=False)

    @cached_property
    def positive(self) -> tuple[core.CoreAtom, ...]:
        return tuple(each for each in self.body if isinstance(each, core.CoreAtom) and not each.negated)

    @cached_property
    def negative(self) -> tuple[core.CoreAtom, ...]:
        return tuple(each for each in self.body if isinstance(each, core.CoreAtom) and each.negated)

    @cached_property
    def calls(self) -> tuple[core.Computation, ...]:
        return tuple(each for each in self.body if isinstance(each, core.Computation) and each.declared is not None)

    @cached_property
    def functors(self) -> Mapping[str, str]:
        """Return the names of the functors in Python that the rule calls, each with its title for messages."""
        return {each.declared.name: each.declared.title for each in self.calls if each.declared is not None}

    @cached_property
    def conditions(self) -> tuple[core.CoreLiteral, ...]:
        """Return comparisons and computations."""
        return tuple(each for each in self.body if not isinstance(each, core.CoreAtom))


@dataclass(frozen=True)
class LocalAggregate:
    """An aggregate whose groups live with their collected values, see `core.AggregateRule`; `own` is one in Python."""

    key: str
    head: str
    op: AggregateName
    kind: str
    groups: int
    inner: str
    outer: str
    origin: str = field(compare=False, repr=False)
    own: core.OwnAggregate | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def functors(self) -> Mapping[str, str]:
        """Return the name of the aggregate in Python, or of the functor that it folds, with its title for messages."""
        return {} if self.own is None else {self.own.declared.name: self.own.declared.title}

    @property
    def word(self) -> str:
        """Return the word that begins it in a text."""
        return self.op if self.own is None else self.own.word


AnyLocal: TypeAlias = LocalRule | LocalAggregate


@dataclass(frozen=True)
class LocatedProgram:
    """A located program: `places` by relation, and the `facts` that its text states."""

    places: Mapping[str, RelationLocation]
    records: Mapping[str, RecordType]
    rules: tuple[LocalRule, ...]
    aggregates: tuple[LocalAggregate, ...]
    facts: tuple[LocatedTuple, ...] = ()

    def owner(self, fact: LocatedTuple) -> str | None:
        """Return the node of a tuple; None if every node has the relation for itself."""
        place = self.places.get(fact[0])
        return None if place is None or place.location is None else str(fact[1][place.location])

    @cached_property
    def all_rules(self) -> tuple[AnyLocal, ...]:
        """Return all rules, those that aggregate included."""
        return (*self.rules, *self.aggregates)

    @cached_property
    def keys(self) -> frozenset[str]:
        """Return the keys of all rules."""
        return frozenset(rule.key for rule in self.all_rules)

    @cached_property
    def rule_of(self) -> Mapping[str, AnyLocal]:
        """Return the rules by their keys."""
        return {rule.key: rule for rule in self.all_rules}

    @cached_property
    def offered_relations(self) -> frozenset[str]:
        """Return the relations whose tuples nodes other than their own can derive."""
        found = set()
        for rule in self.rules:
            location = self.places[rule.head.relation].location
            if location is not None and rule.head.args[location] != rule.at:
                found.add(rule.head.relation)
        return frozenset(found)

    @cached_property
    def component(self) -> Mapping[str, int]:
        """Return for each derived relation the number of its strongly connected component; relations that do not depend
        on themselves have none."""
        reads: dict[str, dict[str, None]] = {}
        for rule in self.rules:
            reads.setdefault(rule.head.relation, {}).update(dict.fromkeys(atom.relation for atom in rule.positive))
        for each in self.aggregates:
            reads.setdefault(each.head, {}).update({each.inner: None, each.outer: None})
        number = {}
        for index, group in enumerate(components(reads)):
            if len(group) > 1 or group[0] in reads.get(group[0], {}):
                number.update(dict.fromkeys(group, index))
        return number

    @cached_property
    def readers(self) -> Mapping[str, tuple[tuple[LocalRule, int], ...]]:
        """Return for each relation the rules that need it, each with the position among its positive atoms."""
        found: dict[str, list[tuple[LocalRule, int]]] = {}
        for rule in self.rules:
            for position, atom in enumerate(rule.positive):
                found.setdefault(atom.relation, []).append((rule, position))
        return {name: tuple(each) for name, each in found.items()}

    @cached_property
    def collectors(self) -> Mapping[str, tuple[LocalAggregate, ...]]:
        """Return for each relation the aggregates that read it."""
        found: dict[str, list[LocalAggregate]] = {}
        for each in self.aggregates:
            for name in dict.fromkeys((each.inner, each.outer)):
                found.setdefault(name, []).append(each)
        return {name: tuple(each) for name, each in found.items()}

    def __str__(self) -> str:
        """Return the rules, each with the mark `@` in front of locations."""
        lines = [f"{self._atom(rule.head)}{self._body(rule)}." for rule in self.rules]
        lines += [
            f"{each.head}: {each.word} of {each.inner} for each tuple of {each.outer}." for each in self.aggregates
        ]
        return "\n".join(lines)

    def _body(self, rule: LocalRule) -> str:
        parts = [self._atom(each) if isinstance(each, core.CoreAtom) else str(each) for each in rule.body]
        return f" :- {', '.join(parts)}" if parts else ""

    def _atom(self, atom: core.CoreAtom) -> str:
        location = self.places[atom.relation].location
        shown = [f"{'@' if index == location else ''}{arg}" for index, arg in enumerate(atom.args)]
        return f"{'!' if atom.negated else ''}{atom.relation}({', '.join(shown)})"
