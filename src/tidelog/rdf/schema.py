"""The schema alone: asserted triples about classes and properties, and their consequences without the data.

It is a small database of its own with the generic rules of a table, maintained like any other. So the instances of the
other rules are known before the engine looks at the data. `reduced` leaves out facts that instances need not know
twice: it has the steps of the hierarchies, not their closures, and only the asserted domains and ranges. The steps that
follow are relations of that database too, derived by copies of the rules that derive a hierarchy.

`reduced_steps` leaves out steps of a hierarchy of classes or properties that others imply, for rules that take one step
at a time. Restrictions that say the same are below each other, each below all others: of n such classes n steps in a
circle say as much as n * (n - 1). Between circles one step is enough, and none where others lead the same way. Asserted
steps stay, because a user looks for the rules of these.

`guards` gives the rules that hold as long as certain facts about the schema follow from the data. `Schema` has only the
consequences of schema triples. Data can add to it: a rule derives a subclass, a member of a user's class becomes a
transitive property, two classes are the same. The instances that rest on such facts keep them in their bodies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import is_

import numpy

from tidelog.database.database import Database
from tidelog.language.syntax import Program
from tidelog.rdf.matching import Pair, SchemaFacts
from tidelog.rdf.names import GIVEN, Names
from tidelog.rdf.specialise import RuleInstance, fixed_rules, instances, is_generic, is_schema
from tidelog.rdf.tables import AXIOM, FALSE, MEMBER, TableRule, Triple
from tidelog.rdf.terms import OWL, RDFS, SAME_AS, TYPE
from tidelog.rules.graph import components
from tidelog.workspace.change import Change


def reduced_steps(asserted: Iterable[Pair], derived: Iterable[Pair]) -> list[Pair]:
    """Return all asserted steps, and steps that together with these have the closure of all; none of a class to
    itself."""
    fixed = dict.fromkeys(step for step in asserted if step[0] != step[1])
    more = [step for step in dict.fromkeys(derived) if step[0] != step[1] and step not in fixed]
    above: dict[str, dict[str, None]] = {}
    for low, high in (*fixed, *more):
        above.setdefault(low, {})[high] = None
        above.setdefault(high, {})
    circles = components(above)
    number = {name: i for i, circle in enumerate(circles) for name in circle}
    found = dict(fixed)
    for circle in circles:
        if len(circle) > 1 and not _connects(circle, fixed):
            ordered = sorted(circle)
            found.update(dict.fromkeys(zip(ordered, [*ordered[1:], ordered[0]], strict=True)))
    reached: list[int] = []
    between: list[dict[int, Pair | None]] = [{} for _ in circles]
    for step in more:
        between[number[step[0]]].setdefault(number[step[1]], step)
    for step in fixed:
        between[number[step[0]]][number[step[1]]] = None  # It is there in any case.
    # Circles come after all those that are above them. The nearest ones lead to most others, so they go first.
    for i, targets in enumerate(between):
        reach = 1 << i
        for j in (j for j, each in targets.items() if each is None and j != i):
            reach |= reached[j]
        for j in sorted(targets, reverse=True):
            nearest = targets[j]
            if nearest is not None and not reach >> j & 1:
                reach |= reached[j]
                found[nearest] = None
        reached.append(reach)
    return list(found)


def _connects(circle: list[str], steps: dict[Pair, None]) -> bool:
    """Return True if steps alone lead from each member of a circle to each other one."""
    members = set(circle)
    inside = [step for step in steps if step[0] in members and step[1] in members]
    above: dict[str, dict[str, None]] = {name: {} for name in circle}
    for low, high in inside:
        above[low][high] = None
    return len(components(above)) == 1


# --- the consequences of the ontology --------------------------------------------------------------------------------


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
            self._names.asserted_relation(name)
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
                    rows.setdefault(self._names.asserted_relation(triple.predicate), []).append(row)
            for relation, data in rows.items():
                getattr(self._database, verb)(relation, data)
        self._changes.append(self._database.commit())
        self.triples = triples
        for name in {triple.predicate for triple in changed}.intersection(self._asserted):
            pairs = {(each.subject, each.object): each in triples for each in changed if each.predicate == name}
            left = (pair for pair in self._asserted[name] if pairs.get(pair, True))
            inserted = (pair for pair, asserts in pairs.items() if asserts)
            self._asserted[name] = list(dict.fromkeys((*self._axioms[name], *left, *inserted)))

    def facts(self) -> SchemaFacts:
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
        self._facts = known.with_pairs(pairs)
        return self._facts

    def _is_stale(self, relation: str, known: bool) -> bool:
        return not known or any(relation in change for change in self._changes)

    def _pairs(self, relation: str, known: list[Pair] | None, *class_: str) -> list[Pair]:
        """Return the rows of a relation, those of a class with its name behind, in the order in which they came;
        `known` are those before the last changes."""
        if known is None:
            return _pairs(self._database[relation], *class_)
        for change in (change for change in self._changes if relation in change):
            removed, inserted = (
                set(_pairs(change[relation].deleted, *class_)),
                _pairs(change[relation].inserted, *class_),
            )
            known = [*(pair for pair in known if pair not in removed), *inserted] if removed else [*known, *inserted]
        return known

    def reduce_facts(self, facts: SchemaFacts) -> SchemaFacts:
        """Return the facts that instances need."""
        told = facts.with_pairs({name: self._asserted[name] for name in _ASSERTED})
        hierarchies = {name: self._steps_of(name, facts) for name in _HIERARCHIES}
        before = self._reduced.pairs
        # The same list where nothing has changed: rules that rest on it need no other look.
        same = {name: before[name] if before.get(name) == new else new for name, new in hierarchies.items()}
        self._reduced = told.with_pairs(same)
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
        derived = [step for step in steps if step[1] != _THING or step in kept or step[0] not in below]
        return reduced_steps(asserted, derived)


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


def new_facts(facts: SchemaFacts, known: SchemaFacts) -> Iterator[Triple]:
    for predicate, pairs in facts.pairs.items():
        there = set(known.pairs.get(predicate, ()))
        yield from (Triple(subject, predicate, value) for subject, value in pairs if (subject, value) not in there)


# --- guards ----------------------------------------------------------------------------------------------------------


def guards(
    table: tuple[TableRule, ...], database: Database, names: Names, known: SchemaFacts
) -> tuple[RuleInstance, ...]:
    """Return the instances that rest on facts of the views of a database beside the `known` ones."""
    same = _equal_names(database, names)
    if not same and not _has_more_facts(database, names, known):
        return ()
    facts = _facts(database, names, known).with_pairs({SAME_AS: same})
    new = set(new_facts(facts, known))
    if not new:
        return ()
    return tuple(dict.fromkeys(each for each in instances(table, facts, guarded=True) if not new.isdisjoint(each.body)))


def _has_more_facts(database: Database, names: Names, known: SchemaFacts) -> bool:
    """Return True if a view has more schema facts than the known ones."""
    properties = ((names.properties.get(iri), len(pairs)) for iri, pairs in known.pairs.items() if iri != TYPE)
    classes = ((names.classes.get(iri), known.members.get(iri, 0)) for iri in known.classes)
    return any(_size(database, name) > size for name, size in (*properties, *classes))


def _size(database: Database, name: str | None) -> int:
    stored = database.engine.views.get(name) if name is not None else None
    return len(stored) if stored is not None else 0


def _facts(database: Database, names: Names, known: SchemaFacts) -> SchemaFacts:
    pairs: dict[str, list[Pair]] = {}
    for iri in known.pairs:
        name = names.properties.get(iri)
        if iri != TYPE and _size(database, name):
            pairs[iri] = list(database[str(name)])  # type: ignore[arg-type]
    pairs[TYPE] = [
        (str(row[0]), iri)
        for iri in known.classes
        if _size(database, names.classes.get(iri))
        for row in database[names.classes[iri]]
    ]
    return SchemaFacts(pairs, known.classes)


def _equal_names(database: Database, names: Names) -> list[Pair]:
    """Return the properties and classes that are the same as something else."""
    name = names.property(SAME_AS)
    if not _size(database, name):
        return []
    stored = database.engine.views.get(name)
    assert stored is not None
    texts = {*names.properties, *names.classes, TYPE}
    words = [word for text in texts if (word := database.workspace.dictionary.find(text, "symbol")) is not None]
    rows = stored.words()
    rows = rows[numpy.isin(rows[:, 0], words)]
    left, right = (database.workspace.dictionary.strings(column) for column in rows.T)
    return [pair for pair in zip(left, right, strict=True) if pair[0] != pair[1]]
