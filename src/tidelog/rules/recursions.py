"""Which relations of a program are recursive with which, worked out when a rule asks: those with an aggregate do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import is_
from typing import TypeAlias

from tidelog.language.paths import steps
from tidelog.language.syntax import Atom, RecordType, RelationType, Rule
from tidelog.language.trees import walk
from tidelog.rules import core
from tidelog.rules.bench import Bench
from tidelog.rules.components import components
from tidelog.rules.growing import Graph
from tidelog.rules.reached import VALUES, Reached, facts_of, reached

RuleText: TypeAlias = tuple[Rule, tuple[str, ...], Mapping[str, RelationType]]
"""A rule, the relations that it reads, and all relations that it knows."""


class Recursions:
    """The recursions of a program, and the values that their relations can have at most (`reached`), which few rules
    ask for.

    `last` are those of a program before, and `graph` its rule graph. Rules added since that read what stands before
    their heads leave them as they are.
    """

    def __init__(
        self,
        rules: Sequence[Rule] = (),
        reads: Sequence[tuple[str, ...]] = (),
        last: Recursions | None = None,
        graph: Graph | None = None,
    ) -> None:
        self._rules, self._reads = rules, reads
        self.reached: dict[frozenset[str], Reached] = {}
        self._before = last.reached if last is not None else {}
        if last is not None and graph is not None and "_found" in vars(last) and last._lead_to(self, graph):
            self._found = last._found

    def of(self, rule: Rule) -> frozenset[str]:
        """Return the relations that are recursive with the heads of a rule."""
        return frozenset[str]().union(*(self._found.get(head.relation, ()) for head in rule.heads))

    def values_of(
        self, rule: Rule, relations: Mapping[str, RelationType], records: Mapping[str, RecordType]
    ) -> Reached:
        """Return the values that the relations recursive with the heads of a rule can have at most."""
        names = self.of(rule)
        if names not in self.reached:
            own = [each for each in self._rules if any(head.relation in names for head in each.heads)]
            before = self._before.get(names)
            same = before is not None and len(before.own) == len(own) and all(map(is_, before.own, own))
            if before is None or not same:
                before = reached(names, own, Bench(VALUES, relations, records))
            self.reached[names] = before
        return self.reached[names]

    def of_values(self, relations: Mapping[str, RelationType]) -> Iterator[RuleText]:
        """Yield the rules that derive such values, for the rules that have asked before, with the relations that they
        know."""
        for values in self.reached.values():
            types = {**relations, **values.relations}
            yield from ((rule, reads_of(rule), types) for rule in values.rules)

    @property
    def added(self) -> Mapping[str, core.RelationInfo]:
        """The relations of such values, and those of facts."""
        types = (type_ for values in self.reached.values() for type_ in values.relations.values())
        return {type_.name: core.RelationInfo(type_.name, type_.columns, auxiliary=True) for type_ in types}

    @property
    def facts(self) -> Mapping[str, str]:
        """The relations in which facts of others belong."""
        return {
            name: facts_of(name) for values in self.reached.values() for name, kept in values.columns.items() if kept
        }

    @cached_property
    def _found(self) -> Mapping[str, frozenset[str]]:
        return _recursive_with(self._rules, self._reads)

    def _lead_to(self, later: Recursions, graph: Graph) -> bool:
        """Return True if the rules that `later` has besides close no cycle."""
        known = len(self._rules)
        if len(later._rules) < known or not all(map(is_, later._rules, self._rules)):
            return False
        for rule, names in zip(later._rules[known:], later._reads[known:], strict=True):
            for head in rule.heads:
                place = graph.places.get(head.relation)
                if place is None and head.relation in (graph.read | {*names}):
                    return False
                own = self._found.get(head.relation, ())
                if place is not None and any(graph.places.get(name, -1) >= place and name not in own for name in names):
                    return False
        return True


def reads_of(rule: Rule) -> tuple[str, ...]:
    """Return the relations in the body of a rule, except inside aggregates."""
    atoms = [node for node in walk(rule.body, aggregates=False) if isinstance(node, Atom)]
    names = [each.relation for atom in atoms for each in (steps(atom.path) if atom.path is not None else (atom,))]
    return tuple(dict.fromkeys(names))


def _recursive_with(rules: Iterable[Rule], read: Iterable[tuple[str, ...]]) -> dict[str, frozenset[str]]:
    """Return for each relation those that it depends on and that depend on it, itself included if it does; `read` are
    the relations that the rules read."""
    reads: dict[str, dict[str, None]] = {}
    for rule, names in zip(rules, read, strict=True):
        for head in rule.heads:
            reads.setdefault(head.relation, {}).update(dict.fromkeys(names))
    recursive: dict[str, frozenset[str]] = {}
    for component in components(reads):
        if len(component) > 1 or component[0] in reads.get(component[0], {}):
            recursive |= dict.fromkeys(component, frozenset(component))
    return recursive
