"""The rules that a store needs at the moment, given its schema, its properties and classes, and the schema facts of its
data. A rule keeps its name as long as it exists.

The instances of a table are in parts, each of which rests on the facts of a few properties: after a change of the
ontology only the parts of the changed properties are made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from functools import cached_property
from operator import is_
from typing import TypeAlias

from tidelog.language.syntax import Atom, CheckedProgram, Constant, Rule, Variable
from tidelog.rdf.literals import instances_of_literals
from tidelog.rdf.matching import CHAIN, INTERSECTION, KEY, SchemaFacts
from tidelog.rdf.names import REST, TRIPLE, Names, is_internal
from tidelog.rdf.naming import derives, reads
from tidelog.rdf.specialise import (
    InstancesOfRule,
    RuleInstance,
    binding_atoms,
    expand_variables,
    instances_of_lists,
    is_generic,
    properties_and_classes,
    reads_same,
    reflexive_instances,
    relevant_instances,
)
from tidelog.rdf.tables import AXIOM, TableRule, Triple, of_member
from tidelog.rdf.terms import LIST_FIRST, LIST_REST, TYPE, is_iri

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
    found["lists"] = RuleSource((INTERSECTION, CHAIN, KEY, LIST_FIRST, LIST_REST), instances_of_lists)
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
        return properties_and_classes(self.instances)[0].keys()

    @cached_property
    def classes(self) -> Set[str]:
        """Return the classes that instances name."""
        return properties_and_classes(self.instances)[1].keys()

    @cached_property
    def _open(self) -> tuple[RuleInstance, ...]:
        return tuple(each for each in self.instances if each.is_open)

    def opens(self, alive: Set[str]) -> bool:
        """Return True if an instance stands for one about each property or class."""
        return any(True for _ in relevant_instances(self._open, alive))

    def needed_instances(self, alive: frozenset[str], properties: frozenset[str], classes: frozenset[str]) -> RuleKeys:
        """Return the instances that can derive something new, about all properties and classes: the same object as long
        as these are the same."""
        known = (alive, properties, classes) if self.opens(alive) else (alive,)
        if self._wanted[0] != known:
            found = expand_variables(relevant_instances(self.instances, alive), properties, classes)
            self._wanted = known, dict.fromkeys(relevant_instances(found, alive))
        return self._wanted[1]


# --- the rules in force ----------------------------------------------------------------------------------------------


class Instances:
    """The rules of the moment. `current` maps the parts of a rule to the rule as the database has it; it is replaced
    and never changed.

    The rules are kept in parts: of each rule of the table, of lists, of guards, and of views. A part whose facts are
    the same lists as before is the same object, and costs nothing.
    """

    def __init__(self, table: Iterable[TableRule], names: Names) -> None:
        self.current: dict[object, Rule] = {}
        self._names = names
        self._current_for: object = None
        self._sources = sources(table)
        self._parts: dict[object, tuple[tuple[object, ...], RulePart]] = {}
        """The parts of instances by their source, with the lists of facts that each rests on."""
        self._wanted: dict[object, RuleKeys] | None = None
        """The rules of each part as of `current`; None if these are others."""
        self._program: CheckedProgram | None = None
        self._views = _Views()
        self._theirs: tuple[list[Rule], object] = [], None
        """The user's rules that `_views` is of, and the names that these may read."""
        self._own: tuple[object, frozenset[str]] = None, frozenset()
        """The rules as of `current`, and their names."""
        self._count = 0

    def changes(
        self, facts: SchemaFacts, guards: Iterable[RuleInstance], alive: Set[str], program: CheckedProgram
    ) -> tuple[list[str], list[Rule]]:
        """Return the names of the rules to remove, and the rules to add.

        The rules are for the `facts` of a schema as instances need them, and for `guards`. SAME_AS and NOTHING are
        `alive` if they have facts, or had some under this schema: rules that only could derive some do not count, since
        equality asks for rules about each property and class. `program` is the user's program. If nothing of this has
        changed, the rules stay.
        """
        guards, alive = tuple(guards), frozenset(alive)
        if program is not self._program:
            own = self._names_of_current
            theirs = [rule for rule in program.rules if rule.name not in own]
            self._program, self._views = program, self._views_of(theirs)
        if self._current_for == (facts, guards, alive, self._views, *self._sizes):
            return [], []
        wanted = self._wanted_for(facts, guards, alive)
        removed, new = self._difference(wanted)
        names = [str(self.current[key].name) for key in removed]
        more = {key: self._rule(key) for key in new}
        if removed or more:
            # Another mapping, so that whoever has the one before can come back to it.
            own = self._names_of_current.difference(names).union(str(rule.name) for rule in more.values())
            self.current = {**self.current, **more}
            for key in removed:
                del self.current[key]
            self._own = self.current, own
        self._wanted = wanted
        self._current_for = facts, guards, alive, self._views, *self._sizes
        return names, list(more.values())

    @property
    def count(self) -> int:
        """Return the number that the name of the last rule ends with."""
        return self._count

    def adopt(
        self,
        facts: SchemaFacts,
        guards: Iterable[RuleInstance],
        alive: Set[str],
        program: CheckedProgram,
        old: Mapping[str, Rule],
        count: int,
    ) -> tuple[list[str], bool]:
        """Take the `old` rules of a program, by name, for those that `changes` has added before, of which `count` is
        the number. Return the names of those that nobody asks for now, and True if others are missing. The other
        arguments are those of `changes`."""
        guards, alive = tuple(guards), frozenset(alive)
        theirs = [rule for rule in program.rules if rule.name not in old]
        self._program, self._views = program, self._views_of(theirs)
        wanted = self._wanted_for(facts, guards, alive)
        unclaimed = {_origin(rule): rule for rule in old.values()}
        for key in dict.fromkeys(key for each in wanted.values() for key in each):
            known = unclaimed.pop(_origin(self._rule(key)), None)
            if known is not None:
                self.current[key] = known
        self._count = count
        is_missing = any(key not in self.current for each in wanted.values() for key in each)
        if not unclaimed and not is_missing:
            self._wanted, self._current_for = wanted, (facts, guards, alive, self._views, *self._sizes)
        return [str(rule.name) for rule in unclaimed.values()], is_missing

    def _wanted_for(
        self, facts: SchemaFacts, guards: tuple[RuleInstance, ...], alive: frozenset[str]
    ) -> dict[object, RuleKeys]:
        """Return the rules of each part."""
        parts: dict[object, RulePart] = {}
        for source, make in self._sources.items():
            rests_on = tuple(facts.pairs.get(name) for name in make.predicates)
            before = self._parts.get(source)
            if before is None or not all(map(is_, before[0], rests_on)):
                before = self._parts[source] = rests_on, RulePart(tuple(make.instances(facts)))
            parts[source] = before[1]
        parts["guards"] = RulePart(guards)
        parts["literals"] = RulePart(tuple(instances_of_literals(self._names)))
        if AXIOM in facts.pairs:
            parts["members"] = RulePart(tuple(instances_of_members(self._names.properties)))
        if any(part.reads_same for part in parts.values()):
            parts["reflexive"] = RulePart(
                tuple(reflexive_instances([each for part in parts.values() for each in part.instances]))
            )
        views, types = self._views, any(part.derives_types for part in parts.values())
        properties, classes = frozenset[str](), frozenset[str]()
        if views != _Views() or types or any(part.opens(alive) for part in parts.values()):
            properties = frozenset().union(self._names.properties, *(part.properties for part in parts.values()))
            classes = frozenset().union(self._names.classes, *(part.classes for part in parts.values()))
        wanted: dict[object, RuleKeys] = {
            source: part.needed_instances(alive, properties, classes) for source, part in parts.items()
        }
        if views.derives_types or types:
            rules = (
                RuleInstance("type", Triple("?x", TYPE, name), (Triple("?x", REST, name),), ())
                for name in sorted(classes)
            )
            wanted["types"] = dict.fromkeys(rules)
        wanted["views"] = dict.fromkeys(self._of_views(views, properties, classes))
        return wanted

    def _difference(self, wanted: dict[object, RuleKeys]) -> tuple[list[object], list[object]]:
        """Return the keys of the present rules that are not wanted, and of the wanted ones that are not present."""
        before = self._wanted
        if before is None:
            all_of_them = {key: None for each in wanted.values() for key in each}
            return (
                [key for key in self.current if key not in all_of_them],
                [key for key in all_of_them if key not in self.current],
            )
        changed = [
            (before.get(source, {}), wanted.get(source, {}))
            for source in dict.fromkeys((*before, *wanted))
            if before.get(source) is not wanted.get(source)
        ]
        # Nearly all keys are the same objects, whose hashes need not be computed once more.
        lost = {key: None for old, new in changed for key in _new_keys(old, new) if key not in new}
        removed = [key for key in lost if not any(key in each for each in wanted.values())]
        more = {key: None for old, new in changed for key in _new_keys(new, old) if key not in self.current}
        return removed, list(more)

    def _views_of(self, theirs: list[Rule]) -> _Views:
        """Return the relations of everything that the user's rules mention: the known ones, if nothing has changed."""
        known, readable = self._theirs, (self._names.has_triples, self._names.properties.get(TYPE))
        if readable == known[1] and len(theirs) == len(known[0]) and all(map(is_, theirs, known[0])):
            return self._views
        self._theirs = theirs, readable
        return _Views.of(theirs, self._names)

    @property
    def _names_of_current(self) -> frozenset[str]:
        if self._own[0] is not self.current:
            self._own = self.current, frozenset(str(rule.name) for rule in self.current.values())
        return self._own[1]

    @property
    def _sizes(self) -> tuple[int, ...]:
        names = self._names
        return len(names.properties), len(names.classes), len(names.with_ill), len(names.with_outside)

    def restore(self, current: dict[object, Rule]) -> None:
        """Go back to earlier rules."""
        self.current = current
        self._current_for = self._wanted = None

    def _rule(self, key: object) -> Rule:
        self._count += 1
        if isinstance(key, RuleInstance):
            return key.rule(f"{key.table.replace('-', '_')}_{self._count}", self._names)
        assert isinstance(key, tuple)
        inward, predicate, value = key
        if inward is None:
            types, class_ = self._names.property(TYPE), self._names.class_(value)
            head = Atom(types, (Variable("x"), Constant(value, "symbol")))
            return Rule(f"type_{self._count}", (head,), (Atom(class_, (Variable("x"),)),))
        relation, terms = self._names.relation(Triple("?x", predicate, value))
        args = tuple(Variable(term[1:]) if term.startswith("?") else Constant(term, "symbol") for term in terms)
        third = Variable("y") if value == "?y" else Constant(value, "symbol")
        triple = Atom(TRIPLE, (Variable("x"), Constant(predicate, "symbol"), third))
        head, body = (Atom(relation, args), triple) if inward else (triple, Atom(relation, args))
        return Rule(f"triple_{self._count}", (head,), (body,))

    def _of_views(self, views: _Views, properties: Set[str], classes: Set[str]) -> Iterator[object]:
        """Yield rules from relations to the relations of all triples and of all types if a program reads these, and
        back if it derives triples."""
        if views.reads_types:
            yield from ((None, TYPE, name) for name in sorted(classes))
        pairs = [(name, "?y") for name in sorted({*properties} - {TYPE}) if is_iri(name) and not is_internal(name)]
        pairs += [(TYPE, name) for name in sorted(classes)]
        if views.reads_triples or views.derives_triples:
            yield from ((False, *pair) for pair in pairs)
        if views.derives_triples:
            yield from ((True, *pair) for pair in pairs)


def _new_keys(keys: RuleKeys, known: RuleKeys) -> Iterator[object]:
    """Yield the keys that are not among the known ones as the same objects."""
    same = set(map(id, known))
    return (key for key in keys if id(key) not in same)


def _origin(rule: Rule) -> tuple[str, str]:
    """Return the rule of a table that an instance is of, as in its name, and its text without the name."""
    return str(rule.name).rpartition("_")[0], str(replace(rule, name=None))


@dataclass(frozen=True)
class _Views:
    """The relations of everything that a user's rules mention."""

    reads_triples: bool = False
    derives_triples: bool = False
    reads_types: bool = False
    derives_types: bool = False

    @staticmethod
    def of(rules: list[Rule], names: Names) -> _Views:
        all_triples = names.has_triples
        return _Views(
            all_triples and reads(rules, TRIPLE),
            all_triples and derives(rules, TRIPLE),
            reads(rules, names.properties.get(TYPE, "")),
            derives(rules, names.property(REST)),
        )
