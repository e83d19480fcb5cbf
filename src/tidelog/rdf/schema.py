"""The schema alone: asserted triples about classes and properties, and their consequences without the data.

It is a small database of its own with the generic rules of a table, maintained like any other. So the instances of the
other rules are known before the engine looks at the data. `reduced` leaves out facts that instances need not know
twice: it has the steps of the hierarchies, not their closures, and only the asserted domains and ranges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidelog.database import Database
from tidelog.language.syntax import Program
from tidelog.rdf.matching import Pair, SchemaFacts, matches, substituted
from tidelog.rdf.names import Names
from tidelog.rdf.specialise import fixed_rules, is_generic, is_schema
from tidelog.rdf.tables import FALSE, MEMBER, TableRule, Triple
from tidelog.rdf.terms import OWL, RDFS, TYPE

_SUB_CLASS, _SUB_PROPERTY = f"{RDFS}subClassOf", f"{RDFS}subPropertyOf"
_ASSERTED = (f"{OWL}equivalentClass", f"{OWL}equivalentProperty", f"{RDFS}domain", f"{RDFS}range")
_TRANSITIVE = frozenset(["scm-sco", "scm-spo", "rdfs5", "rdfs11"])
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
        self._rules = [rule for rule in table if is_generic(rule) and _about_schema(rule)]
        self._names = Names()
        self._database = Database()
        rules = fixed_rules(self._rules, self._names)
        for name in (*sorted(self.properties), MEMBER):
            self._names.property(name)
        for name in sorted(self.classes):
            self._names.class_(name)
        self._database.load(Program(declarations=tuple(self._names.declarations(frozenset())), rules=rules))
        self._database.commit()

    def has(self, triple: Triple) -> bool:
        """Return True if a triple belongs to the schema."""
        return triple.object in self.classes if triple.predicate == TYPE else triple.predicate in self.properties

    def change(self, triples: dict[Triple, None]) -> None:
        """Go to other asserted triples."""
        for verb, one, other in (("insert", triples, self.triples), ("delete", self.triples, triples)):
            rows: dict[str, list[tuple[str, ...]]] = {}
            for triple in one:
                if triple not in other:
                    relation, row = self._names.relation(triple)
                    rows.setdefault(relation, []).append(row)
            for relation, data in rows.items():
                getattr(self._database, verb)(relation, data)
        self._database.commit()
        self.triples = triples

    def facts(self) -> SchemaFacts:
        """Return all facts of the schema."""
        pairs: dict[str, list[Pair]] = {
            iri: [(str(one), str(other)) for one, other in self._database[name]]
            for iri, name in self._names.properties.items()
        }
        pairs[TYPE] = [(str(row[0]), iri) for iri in self.classes for row in self._database[self._names.class_(iri)]]
        return SchemaFacts(pairs, self.classes)

    def reduced(self, facts: SchemaFacts) -> SchemaFacts:
        """Return the facts that instances need."""
        asserted: dict[str, list[Pair]] = {name: [] for name in (*_ASSERTED, _SUB_CLASS, _SUB_PROPERTY)}
        for triple in self.triples:
            if triple.predicate in asserted:
                asserted[triple.predicate].append((triple.subject, triple.object))
        told = facts.changed({name: asserted[name] for name in _ASSERTED})
        return told.changed(
            {name: self._steps(name, facts, told, asserted[name]) for name in (_SUB_CLASS, _SUB_PROPERTY)}
        )

    def _steps(self, predicate: str, facts: SchemaFacts, told: SchemaFacts, asserted: list[Pair]) -> list[Pair]:
        """Return pairs whose closure is the hierarchy of classes or properties: those asserted, and those that rules
        other than that of the closure derive. Each class below nothing else is below owl:Thing."""
        found = dict.fromkeys(asserted)
        for rule in self._rules:
            if rule.head.predicate == predicate and rule.name not in _TRANSITIVE:
                for binding, _ in matches(rule.body, told, {}):
                    head = substituted(rule.head, binding)
                    found[head.subject, head.object] = None
        steps = [(low, high) for low, high in found if low != high]
        declared = {name for name, kind in facts.pairs[TYPE] if kind == _CLASS}
        closure = set(facts.pairs.get(predicate, ()))
        below = {low for low, high in steps if high in declared and high != _THING and (high, low) not in closure}
        kept = set(asserted)
        return [step for step in steps if step[1] != _THING or step in kept or step[0] not in below]


def _about_schema(rule: TableRule) -> bool:
    triples = (*rule.body, rule.head)
    return rule.head.predicate != FALSE and all(is_schema(each) or each.predicate == MEMBER for each in triples)


def added(facts: SchemaFacts, known: SchemaFacts) -> Iterator[Triple]:
    """Yield the facts that are not known."""
    for predicate, pairs in facts.pairs.items():
        there = set(known.pairs.get(predicate, ()))
        yield from (Triple(subject, predicate, value) for subject, value in pairs if (subject, value) not in there)
