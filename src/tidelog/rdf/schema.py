"""The schema alone: asserted triples about classes and properties, and their consequences without the data.

It is a small database of its own with the generic rules of a table, maintained like any other. So the instances of the
other rules are known before the engine looks at the data. `reduced` leaves out facts that instances need not know
twice: it has the steps of the hierarchies, not their closures, and only the asserted domains and ranges. The steps that
follow are relations of that database too, derived by copies of the rules that derive a hierarchy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import is_

from tidelog.database.database import Database
from tidelog.language.syntax import Program
from tidelog.rdf.hierarchies import fewer
from tidelog.rdf.matching import Pair, SchemaFacts
from tidelog.rdf.names import GIVEN, Names
from tidelog.rdf.specialise import fixed_rules, is_generic, is_schema
from tidelog.rdf.tables import AXIOM, FALSE, MEMBER, TableRule, Triple
from tidelog.rdf.terms import OWL, RDFS, TYPE
from tidelog.workspace.change import Change

_SUB_CLASS, _SUB_PROPERTY = f"{RDFS}subClassOf", f"{RDFS}subPropertyOf"
_ASSERTED = (f"{OWL}equivalentClass", f"{OWL}equivalentProperty", f"{RDFS}domain", f"{RDFS}range")
_HIERARCHIES = (_SUB_CLASS, _SUB_PROPERTY)
_TRANSITIVE = frozenset(["scm-sco", "scm-spo", "rdfs5", "rdfs11"])
_STEP = "tidelog:step:"
"""How the properties begin that hold the steps of a hierarchy that follow."""
_NONE: list[Pair] = []
_THING, _CLASS = f"{OWL}Thing", f"{OWL}Class"


class Schema:
    """The schema of a store with the rules of `table`. `triples` are those asserted, as of the last `change`."""

    def __init__(self, table: Iterable[TableRule]) -> None:
        self.triples: dict[Triple, None] = {}
        table = tuple(table)
        atoms = [triple for rule in table for triple in (*rule.body, rule.head) if is_schema(triple)]
        self.classes = frozenset(triple.object for triple in atoms if triple.predicate == TYPE)
        lists = {f"{OWL}{name}" for name in ("intersectionOf", "propertyChainAxiom", "hasKey")}
        named = {triple.predicate for triple in atoms} - {TYPE, FALSE}
        self.properties = frozenset(named | (lists if any(rule.name == "list-1" for rule in table) else set()))
        own = [rule for rule in table if is_generic(rule) and _about_schema(rule)]
        self._axioms: dict[str, list[Pair]] = {name: [] for name in (*_ASSERTED, *_HIERARCHIES)}
        for rule in own:
            if rule.name == "axiom" and rule.head.predicate in self._axioms:
                self._axioms[rule.head.predicate].append((rule.head.subject, rule.head.object))
        self._asserted = dict(self._axioms)
        """The steps, domains and ranges that are asserted or axiomatic."""
        self._names = Names()
        self._database = Database()
        rules = fixed_rules((*own, *_rules_of_steps(own)), self._names)
        for name in (*sorted(self.properties), MEMBER, *(f"{_STEP}{name}" for name in _HIERARCHIES)):
            self._names.property(name)
        for name in _ASSERTED:
            self._names.given(name)
        for name in sorted(self.classes):
            self._names.class_(name)
        self._database.load(Program(declarations=tuple(self._names.declarations(frozenset())), rules=rules))
        if AXIOM in self.properties:
            self._database.insert(self._names.property(AXIOM), [(AXIOM, AXIOM)])
        self._database.commit()
        self._changes: list[Change] = []
        """The changes since the facts were read."""
        self._members: dict[str, list[Pair]] = {}
        self._following: dict[str, list[Pair]] = {}
        """The steps of each hierarchy that follow."""
        self._found: dict[str, tuple[tuple[list[Pair], ...], list[Pair]]] = {}
        """The steps that instances need of each hierarchy, with the lists that they rest on."""
        self._facts = self._reduced = SchemaFacts({TYPE: []}, self.classes)

    def has(self, triple: Triple) -> bool:
        """Return True if a triple belongs to the schema."""
        return triple.object in self.classes if triple.predicate == TYPE else triple.predicate in self.properties

    def change(self, triples: dict[Triple, None], among: Iterable[Triple] | None = None) -> None:
        """Go to other asserted triples, which differ only `among` some if these are given. Costs what depends on the
        properties whose pairs have changed."""
        before = self.triples
        among = triples.keys() ^ before.keys() if among is None else among
        changed = [triple for triple in among if (triple in triples) != (triple in before)]
        for verb, asserts in (("insert", True), ("delete", False)):
            rows: dict[str, list[tuple[str, ...]]] = {}
            for triple in (each for each in changed if (each in triples) == asserts):
                relation, row = self._names.relation(triple)
                rows.setdefault(relation, []).append(row)
                if triple.predicate in _ASSERTED:
                    rows.setdefault(self._names.given(triple.predicate), []).append(row)
            for relation, data in rows.items():
                getattr(self._database, verb)(relation, data)
        self._changes.append(self._database.commit())
        self.triples = triples
        for name in {triple.predicate for triple in changed}.intersection(self._asserted):
            pairs = {(each.subject, each.object): each in triples for each in changed if each.predicate == name}
            left = (pair for pair in self._asserted[name] if pairs.get(pair, True))
            came = (pair for pair, asserts in pairs.items() if asserts)
            self._asserted[name] = list(dict.fromkeys((*self._axioms[name], *left, *came)))

    def facts(self) -> SchemaFacts:
        """Return all facts of the schema."""
        known, pairs = self._facts, dict[str, list[Pair]]()
        for iri, name in self._names.properties.items():
            if not iri.startswith((GIVEN, _STEP)) and self._is_stale(name, iri in known.pairs):
                pairs[iri] = self._pairs(name, known.pairs.get(iri))
        for each in _HIERARCHIES:
            name = self._names.property(f"{_STEP}{each}")
            if self._is_stale(name, each in self._following):
                self._following[each] = sorted(self._pairs(name, self._following.get(each)))
        for iri in self.classes:
            name = self._names.class_(iri)
            if self._is_stale(name, iri in self._members):
                self._members[iri] = self._pairs(name, self._members.get(iri), iri)
                pairs[TYPE] = []
        if TYPE in pairs:
            pairs[TYPE] = [pair for found in self._members.values() for pair in found]
        self._changes.clear()
        self._facts = known.changed(pairs)
        return self._facts

    def _is_stale(self, relation: str, known: bool) -> bool:
        return not known or any(relation in change for change in self._changes)

    def _pairs(self, relation: str, known: list[Pair] | None, *class_: str) -> list[Pair]:
        """Return the rows of a relation, those of a class with its name behind, in the order in which they came;
        `known` are those before the last changes."""
        if known is None:
            return _pairs(self._database[relation], *class_)
        for change in (change for change in self._changes if relation in change):
            gone, came = set(_pairs(change[relation].deleted, *class_)), _pairs(change[relation].inserted, *class_)
            known = [*(pair for pair in known if pair not in gone), *came] if gone else [*known, *came]
        return known

    def reduced(self, facts: SchemaFacts) -> SchemaFacts:
        """Return the facts that instances need."""
        told = facts.changed({name: self._asserted[name] for name in _ASSERTED})
        hierarchies = {name: self._steps_of(name, facts) for name in _HIERARCHIES}
        before = self._reduced.pairs
        # The same list where nothing has changed: rules that rest on it need no other look.
        same = {name: before[name] if before.get(name) == new else new for name, new in hierarchies.items()}
        self._reduced = told.changed(same)
        return self._reduced

    def _steps_of(self, predicate: str, facts: SchemaFacts) -> list[Pair]:
        """Return the steps that instances need of a hierarchy, found anew only if what they rest on has changed."""
        asserted, following = self._asserted[predicate], self._following[predicate]
        rest_on = asserted, following, facts.pairs.get(predicate, _NONE), facts.pairs[TYPE]
        known = self._found.get(predicate)
        if known is None or not all(map(is_, known[0], rest_on)):
            known = self._found[predicate] = rest_on, self._steps(predicate, facts, asserted)
        return known[1]

    def _steps(self, predicate: str, facts: SchemaFacts, asserted: list[Pair]) -> list[Pair]:
        """Return pairs whose closure is the hierarchy of classes or properties: those asserted, and those that rules
        other than that of the closure derive. Each class below nothing else is below owl:Thing."""
        steps = [(low, high) for low, high in (*asserted, *self._following[predicate]) if low != high]
        declared = {name for name, kind in facts.pairs[TYPE] if kind == _CLASS}
        closure = set(facts.pairs.get(predicate, ()))
        below = {low for low, high in steps if high in declared and high != _THING and (high, low) not in closure}
        kept = set(asserted)
        return fewer(asserted, [step for step in steps if step[1] != _THING or step in kept or step[0] not in below])


def _rules_of_steps(rules: Iterable[TableRule]) -> Iterator[TableRule]:
    """Yield copies of the rules that derive a hierarchy, for its steps: without the rule of the closure, and from the
    asserted ones of the properties of which instances need only these."""
    for rule in rules:
        name = rule.head.predicate
        if rule.name == "axiom" and name in _ASSERTED:
            yield TableRule(rule.name, rule.body, rule.head._replace(predicate=f"{GIVEN}{name}"))
        elif name in _HIERARCHIES and rule.name not in _TRANSITIVE:
            body = (
                each._replace(predicate=f"{GIVEN}{each.predicate}") if each.predicate in _ASSERTED else each
                for each in rule.body
            )
            head = rule.head._replace(predicate=f"{_STEP}{name}")
            yield TableRule(rule.name, tuple(body), head, rule.unequal)


def _pairs(rows: Iterable[tuple[object, ...]], *class_: str) -> list[Pair]:
    """Return the rows of a property, or those of a class with its name behind."""
    if class_:
        return [(str(row[0]), class_[0]) for row in rows]
    return [(str(one), str(other)) for one, other in rows]


def _about_schema(rule: TableRule) -> bool:
    triples = (*rule.body, rule.head)
    return rule.head.predicate != FALSE and all(is_schema(each) or each.predicate == MEMBER for each in triples)


def added(facts: SchemaFacts, known: SchemaFacts) -> Iterator[Triple]:
    """Yield the facts that are not known."""
    for predicate, pairs in facts.pairs.items():
        there = set(known.pairs.get(predicate, ()))
        yield from (Triple(subject, predicate, value) for subject, value in pairs if (subject, value) not in there)
