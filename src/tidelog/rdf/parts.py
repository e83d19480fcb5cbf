"""The instances of a table in parts, each of which rests on the facts of a few properties.

After a change of the ontology only the parts of the changed properties are made again, see `rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from tidelog.rdf.lists import CHAIN, INTERSECTION, KEY
from tidelog.rdf.matching import SchemaFacts
from tidelog.rdf.specialise import (
    InstancesOfRule,
    RuleInstance,
    binding_atoms,
    expanded,
    instances_of_lists,
    is_generic,
    named,
    reads_same,
    relevant,
)
from tidelog.rdf.tables import TableRule, of_member
from tidelog.rdf.terms import RDF, TYPE

RuleKeys: TypeAlias = Mapping[object, None]
"""The keys of rules, in order."""


@dataclass(frozen=True)
class RuleSource:
    """A maker of instances from the facts of some properties."""

    predicates: tuple[str, ...]
    instances: Callable[[SchemaFacts], Iterator[RuleInstance]]


def sources(table: Iterable[TableRule]) -> dict[object, RuleSource]:
    """Return the sources of the rules of a table that are not generic, and of its lists."""
    found: dict[object, RuleSource] = {}
    for number, rule in enumerate(table):
        if not is_generic(rule):
            predicates = tuple(dict.fromkeys(triple.predicate for triple in binding_atoms(rule)))
            found[number] = RuleSource(predicates, InstancesOfRule(rule))
    cells = (f"{RDF}first", f"{RDF}rest")
    found["lists"] = RuleSource((INTERSECTION, CHAIN, KEY, *cells), instances_of_lists)
    return found


def instances_of_members(properties: Iterable[str]) -> Iterator[RuleInstance]:
    """Yield the axiomatic triples of the membership properties of containers, `rdf:_1` and so on, among some
    properties."""
    for rule in (rule for name in properties for rule in of_member(name)):
        yield RuleInstance(rule.name, rule.head, rule.body, ())


class RulePart:
    """The instances from one source. What depends on them alone is found once."""

    def __init__(self, instances: tuple[RuleInstance, ...]) -> None:
        self.instances = instances
        self._wanted: tuple[object, RuleKeys] = None, {}

    @cached_property
    def reads_same(self) -> bool:
        """Return True if an instance reads owl:sameAs like any other property."""
        return any(map(reads_same, self.instances))

    @cached_property
    def derives_types(self) -> bool:
        """Return True if an instance derives types with a variable as class."""
        return any(each.head.predicate == TYPE and each.head.object[0] == "?" for each in self.instances)

    @cached_property
    def properties(self) -> Set[str]:
        """Return the properties that instances name."""
        return named(self.instances)[0].keys()

    @cached_property
    def classes(self) -> Set[str]:
        """Return the classes that instances name."""
        return named(self.instances)[1].keys()

    @cached_property
    def _open(self) -> tuple[RuleInstance, ...]:
        return tuple(each for each in self.instances if each.is_open)

    def opens(self, alive: Set[str]) -> bool:
        """Return True if an instance stands for one about each property or class."""
        return any(True for _ in relevant(self._open, alive))

    def wanted(self, alive: frozenset[str], properties: frozenset[str], classes: frozenset[str]) -> RuleKeys:
        """Return the instances that can derive something new, about all properties and classes: the same object as long
        as these are the same."""
        known = (alive, properties, classes) if self.opens(alive) else (alive,)
        if self._wanted[0] != known:
            found = expanded(relevant(self.instances, alive), properties, classes)
            self._wanted = known, dict.fromkeys(relevant(found, alive))
        return self._wanted[1]
