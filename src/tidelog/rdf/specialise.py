"""The rules of a table for the ontology at hand: `C(x) :- D(x)` in place of a rule about all classes.

A rule of a table is *generic* when it names all its properties and classes: it is a rule about relations as it stands.
In any other rule some atoms speak of the schema and bind the properties and classes of the rest. For each match of
these among the schema's facts there is an `Instance`, a rule about relations of properties and classes. So joins
along `?x ?p ?y` turn into joins of two relations, and a change of the ontology into a change of rules.

A match among facts that follow from the data, not from the schema alone, gives an instance that keeps the atoms about
the schema in its body, with constants; such a rule is right whatever the data, and derives nothing when they change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from itertools import chain, count
from typing import NamedTuple

from tidelog.language.syntax import Atom, Comparison, Constant, Rule, Term, Variable
from tidelog.rdf.matching import Binding, Pair, SchemaFacts, list_rules, matches, substitute
from tidelog.rdf.names import EQUAL, INCONSISTENCY, ITSELF, REST, Names, is_internal
from tidelog.rdf.tables import FALSE, MEMBER, TableRule, Triple
from tidelog.rdf.terms import OWL, SAME_AS, TYPE

DIFFERENT = f"{OWL}differentFrom"
_DATA = frozenset([TYPE, SAME_AS, DIFFERENT, MEMBER, EQUAL])
NOTHING, _THING = f"{OWL}Nothing", f"{OWL}Thing"
_NO_CHOICE = frozenset([SAME_AS, TYPE])
_REPLACING = frozenset(["eq-rep-s", "eq-rep-o", "eq-diff1", "eq-diff2", "eq-diff3"])
"""Rules that need something to be the same as something else."""


class RuleInstance(NamedTuple):
    """A rule about relations of properties and classes. `table` names the rule of the table."""

    table: str
    head: Triple
    body: tuple[Triple, ...]
    unequal: tuple[tuple[str, str], ...]

    @property
    def is_open(self) -> bool:
        """Return True if the body is about a property or class that is a variable."""
        return any(map(_open, self.body))

    def rule(self, name: str, names: Names) -> Rule:
        """Return the rule in the language."""
        relation, terms = names.relation(self.head)
        args = tuple(map(_term, terms))
        if relation == INCONSISTENCY:
            args = (Constant(self.table, "symbol"), *args)
        body = [names.relation(triple) for triple in self.body]
        atoms = tuple(Atom(relation, tuple(map(_term, terms))) for relation, terms in body)
        differ = tuple(Comparison("!=", _term(one), _term(other)) for one, other in self.unequal)
        return Rule(name, (Atom(relation, args),), (*atoms, *differ))


def _term(text: str) -> Term:
    return Variable(text[1:]) if text.startswith("?") else Constant(text, "symbol")


def is_schema(triple: Triple) -> bool:
    """Return True if an atom of a table is about the schema."""
    if triple.predicate == TYPE:
        return not triple.object.startswith("?") and triple.object not in (NOTHING, _THING)
    return not triple.predicate.startswith("?") and triple.predicate not in _DATA


def is_generic(rule: TableRule) -> bool:
    """Return True if a rule names all its properties and classes."""
    return all(not _open(triple) for triple in (*rule.body, rule.head))


def _open(triple: Triple) -> bool:
    return triple.predicate.startswith("?") or (triple.predicate == TYPE and triple.object.startswith("?"))


def binding_atoms(rule: TableRule) -> list[Triple]:
    """Return the atoms that bind the properties and classes of a rule: atoms about the schema, or about a property or
    class."""
    positions = {term for triple in (*rule.body, rule.head) if _open(triple) for term in triple.terms[1:3]}
    positions -= {triple.object for triple in (*rule.body, rule.head) if triple.predicate.startswith("?")}
    return [
        triple
        for triple in rule.body
        if is_schema(triple) or (not _open(triple) and positions & {triple.subject, triple.object})
    ]


def fixed_rules(table: Iterable[TableRule], names: Names) -> tuple[Rule, ...]:
    """Return generic rules as they are, under names of their own."""
    rules: dict[str, Rule] = {}
    for each in table:
        name = each.name.replace("-", "_")
        names_left = chain([name, f"{name}_same"], (f"{name}_of_{number}" for number in count(1)))
        name = next(each for each in names_left if each not in rules)
        rules[name] = RuleInstance(each.name, each.head, each.body, each.unequal).rule(name, names)
    return tuple(rules.values())


def instances(table: Iterable[TableRule], facts: SchemaFacts, *, guarded: bool = False) -> Iterator[RuleInstance]:
    """Yield the instances of the rules that are not generic, for the facts of a schema; `guarded` ones keep the facts
    that they rest on in their bodies."""
    for rule in table:
        if not is_generic(rule):
            yield from instances_of(rule, facts, guarded=guarded)
    yield from instances_of_lists(facts, guarded=guarded)


def instances_of(rule: TableRule, facts: SchemaFacts, *, guarded: bool = False) -> Iterator[RuleInstance]:
    about, rest = _split_binding_atoms(rule)
    for binding, used in matches(about, facts, {}):
        yield from _bind_rule(rest, binding, used * guarded)


class InstancesOfRule:
    """A source of the instances of one rule, which are not guarded. It keeps those for the last facts: a change of the
    ontology brings few others."""

    def __init__(self, rule: TableRule) -> None:
        self._about, self._rest = _split_binding_atoms(rule)
        self._known: dict[object, tuple[RuleInstance, ...]] = {}
        """By the facts about the schema that they are for, or by a pair where each is for one fact."""

    def __call__(self, facts: SchemaFacts) -> Iterator[RuleInstance]:
        known = self._known
        if len(self._about) == 1:
            (pattern,) = self._about
            self._known = {
                pair: self._of_pair(pattern, pair, facts) if (found := known.get(pair)) is None else found
                for pair in facts.candidate_pairs(pattern)
            }
        else:
            self._known = {
                used: known.get(used) or tuple(_bind_rule(self._rest, binding, ()))
                for binding, used in matches(self._about, facts, {})
            }
        return chain.from_iterable(self._known.values())

    def _of_pair(self, pattern: Triple, pair: Pair, facts: SchemaFacts) -> tuple[RuleInstance, ...]:
        one = SchemaFacts({pattern.predicate: [pair]}, facts.classes)
        return tuple(each for binding, _ in matches([pattern], one, {}) for each in _bind_rule(self._rest, binding, ()))


def _split_binding_atoms(rule: TableRule) -> tuple[list[Triple], TableRule]:
    """Return the atoms of a rule that bind its properties and classes, and the rule without them."""
    about = binding_atoms(rule)
    body = tuple(triple for triple in rule.body if triple not in about)
    return about, TableRule(rule.name, body, rule.head, rule.unequal)


def instances_of_lists(facts: SchemaFacts, *, guarded: bool = False) -> Iterator[RuleInstance]:
    for rule, used in list_rules(facts):
        yield from _bind_rule(rule, {}, used * guarded)


def _bind_rule(rule: TableRule, binding: Binding, guards: tuple[Triple, ...]) -> Iterator[RuleInstance]:
    """Yield the instance of a rule for a binding, with guards before its body; None if terms that must differ are
    equal."""
    head = substitute(rule.head, binding)
    pairs = [(binding.get(one, one), binding.get(other, other)) for one, other in rule.unequal]
    if head.predicate == SAME_AS:  # what eq-ref says is left out
        pairs = [pair for pair in pairs if pair != (head.subject, head.object)] + [(head.subject, head.object)]
    if any(one == other for one, other in pairs):
        return
    unequal = tuple(pair for pair in pairs if pair[0].startswith("?") or pair[1].startswith("?"))
    body = tuple(dict.fromkeys(substitute(triple, binding) for triple in rule.body))
    yield RuleInstance(rule.name, head, (*guards, *body), unequal)


def relevant_instances(found: Iterable[RuleInstance], alive: Set[str]) -> Iterator[RuleInstance]:
    """Yield the instances that can derive something new. Instances of equality count only if SAME_AS is `alive`, those
    about members of owl:Nothing only if NOTHING is."""
    for each in found:
        idle = (each.table in _REPLACING and SAME_AS not in alive) or (
            each.table == "cax-sco" and each.body[-1].object == NOTHING and NOTHING not in alive
        )
        if not idle and each.head not in each.body:
            yield each


def reflexive_instances(found: Iterable[RuleInstance]) -> Iterator[RuleInstance]:
    """Yield the consequences of equality with oneself, for instances that read owl:sameAs like any other property:
    instances that derive ITSELF, and those that read owl:sameAs again, with ITSELF."""
    known = list(found)
    if not any(map(reads_same, known)):
        return
    said = [
        one._replace(head=one.head._replace(predicate=ITSELF))
        for each in known
        if each.head.predicate == SAME_AS and (one := _unify_ends(each.head, each, each.unequal[:-1])) is not None
    ]
    said.append(RuleInstance("eq-trans", Triple("?x", ITSELF, "?x"), (Triple("?x", SAME_AS, "?y"),), ()))
    waiting = [each for each in (*known, *said[:-1]) if reads_same(each)]
    yield from said
    while waiting:
        each = waiting.pop()
        for i, triple in enumerate(each.body):
            if _says_same(triple) and (one := _unify_ends(triple, each, each.unequal)) is not None:
                body = (*one.body[:i], one.body[i]._replace(predicate=ITSELF), *one.body[i + 1 :])
                waiting.append(one._replace(body=body))
                yield waiting[-1]


def reads_same(each: RuleInstance) -> bool:
    """Return True if an instance reads owl:sameAs like any other property."""
    return each.table not in _REPLACING and any(map(_says_same, each.body))


def _says_same(triple: Triple) -> bool:
    """Return True if a pattern is about owl:sameAs, and not about two given terms."""
    return triple.predicate == SAME_AS and (triple.subject.startswith("?") or triple.object.startswith("?"))


def _unify_ends(triple: Triple, each: RuleInstance, unequal: Iterable[tuple[str, str]]) -> RuleInstance | None:
    """Return an instance for the case that the subject and the object of one of its triples are the same, None if they
    cannot be. Of the terms that must differ only `unequal` counts."""
    kept, other = triple.subject, triple.object
    if not other.startswith("?"):
        kept, other = other, kept
    if not other.startswith("?") and kept != other:
        return None
    binding = {other: kept} if other.startswith("?") else {}
    pairs = tuple((binding.get(a, a), binding.get(b, b)) for a, b in unequal)
    if any(a == b for a, b in pairs):
        return None
    body = tuple(substitute(part, binding) for part in each.body)
    return RuleInstance(each.table, substitute(each.head, binding), body, pairs)


def expand_variables(found: Iterable[RuleInstance], properties: Set[str], classes: Set[str]) -> Iterator[RuleInstance]:
    """Yield instances with all properties, or all classes, in place of a variable for these."""
    for each in found:
        place = next((triple for triple in each.body if _open(triple)), None)
        if place is None:
            yield each
            continue
        if place.predicate != TYPE:
            named = (name for name in properties if name not in _NO_CHOICE and not is_internal(name))
            choices = [{place.predicate: name} for name in named]
            if each.table != "eq-rep-o":
                choices += [{place.predicate: TYPE, place.object: name} for name in classes]
        else:
            choices = [{place.object: name} for name in classes]
        for binding in choices:
            more = _bind_rule(TableRule(each.table, each.body, each.head, each.unequal), binding, ())
            yield from expand_variables(more, properties, classes)


def properties_and_classes(found: Iterable[RuleInstance]) -> tuple[dict[str, None], dict[str, None]]:
    properties: dict[str, None] = {}
    classes: dict[str, None] = {}
    for each in found:
        for triple in (each.head, *each.body):
            if triple.predicate == TYPE and not triple.object.startswith("?"):
                classes[triple.object] = None
            elif not triple.predicate.startswith("?") and triple.predicate != FALSE:
                properties[triple.predicate if triple.predicate != TYPE else REST] = None
    return properties, classes
