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
from dataclasses import dataclass

from tidelog.language.syntax import Atom, Comparison, Constant, Rule, Term, Variable
from tidelog.rdf.lists import list_rules
from tidelog.rdf.matching import Binding, Facts, matches, substituted
from tidelog.rdf.names import INCONSISTENCY, REST, Names
from tidelog.rdf.tables import FALSE, MEMBER, TableRule, Triple
from tidelog.rdf.terms import OWL, SAME_AS, TYPE

DIFFERENT = f"{OWL}differentFrom"
_DATA = frozenset([TYPE, SAME_AS, DIFFERENT, MEMBER])
NOTHING, _THING = f"{OWL}Nothing", f"{OWL}Thing"
_NO_CHOICE = frozenset([SAME_AS, MEMBER, REST, TYPE])
_REPLACING = frozenset(["eq-rep-s", "eq-rep-o", "eq-diff1", "eq-diff2", "eq-diff3"])
"""Rules that need something to be the same as something else."""


@dataclass(frozen=True)
class Instance:
    """A rule about relations of properties and classes. `table` names the rule of the table."""

    table: str
    head: Triple
    body: tuple[Triple, ...]
    unequal: tuple[tuple[str, str], ...]

    def rule(self, name: str, names: Names) -> Rule:
        """The rule in the language."""
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
    """Whether an atom of a table speaks of the schema."""
    if triple.predicate == TYPE:
        return not triple.object.startswith("?") and triple.object not in (NOTHING, _THING)
    return not triple.predicate.startswith("?") and triple.predicate not in _DATA


def is_generic(rule: TableRule) -> bool:
    """Whether a rule names all properties and classes that it is about."""
    return all(not _open(triple) for triple in (*rule.body, rule.head))


def _open(triple: Triple) -> bool:
    return triple.predicate.startswith("?") or (triple.predicate == TYPE and triple.object.startswith("?"))


def _binding(rule: TableRule) -> list[Triple]:
    """The atoms that bind the properties and classes of a rule: about the schema, or about what is one."""
    positions = {term for triple in (*rule.body, rule.head) if _open(triple) for term in triple.terms[1:3]}
    positions -= {triple.object for triple in (*rule.body, rule.head) if triple.predicate.startswith("?")}
    return [
        triple
        for triple in rule.body
        if is_schema(triple) or (not _open(triple) and positions & {triple.subject, triple.object})
    ]


def generic(rule: TableRule) -> Instance:
    """A generic rule as an instance."""
    return Instance(rule.name, rule.head, rule.body, rule.unequal)


def instances(table: Iterable[TableRule], facts: Facts, *, guarded: bool = False) -> Iterator[Instance]:
    """The instances of the rules that are not generic, for the facts of a schema; `guarded` ones keep the facts that
    they rest on in their bodies."""
    for rule in table:
        if not is_generic(rule):
            binding_atoms = _binding(rule)
            rest = [triple for triple in rule.body if triple not in binding_atoms]
            for binding, used in matches(binding_atoms, facts, {}):
                yield from _bound(TableRule(rule.name, tuple(rest), rule.head, rule.unequal), binding, used * guarded)
    for rule, used in list_rules(facts):
        yield from _bound(rule, {}, used * guarded)


def _bound(rule: TableRule, binding: Binding, guards: tuple[Triple, ...]) -> Iterator[Instance]:
    """The instance of a rule for a binding, with guards before its body; none where terms that must differ are
    equal."""
    head = substituted(rule.head, binding)
    pairs = [(binding.get(one, one), binding.get(other, other)) for one, other in rule.unequal]
    if head.predicate == SAME_AS and (head.subject, head.object) not in pairs:
        pairs.append((head.subject, head.object))  # what eq-ref says is left out
    if any(one == other for one, other in pairs):
        return
    unequal = tuple(pair for pair in pairs if pair[0].startswith("?") or pair[1].startswith("?"))
    body = tuple(dict.fromkeys(substituted(triple, binding) for triple in rule.body))
    yield Instance(rule.name, head, (*guards, *body), unequal)


def relevant(found: Iterable[Instance], alive: Set[str]) -> Iterator[Instance]:
    """Instances that can derive something new. Those of equality count only where something may be the same as
    something else, and those about members of owl:Nothing where there may be some: where SAME_AS and NOTHING are
    `alive`."""
    for each in found:
        idle = (each.table in _REPLACING and SAME_AS not in alive) or (
            each.table == "cax-sco" and each.body[-1].object == NOTHING and NOTHING not in alive
        )
        if not idle and each.head not in each.body:
            yield each


def expanded(found: Iterable[Instance], properties: Set[str], classes: Set[str]) -> Iterator[Instance]:
    """Instances with all properties, or all classes, in place of a variable for these."""
    for each in found:
        place = next((triple for triple in each.body if _open(triple)), None)
        if place is None:
            yield each
            continue
        if place.predicate != TYPE:
            choices = [{place.predicate: name} for name in properties if name not in _NO_CHOICE]
            if each.table != "eq-rep-o":
                choices += [{place.predicate: TYPE, place.object: name} for name in classes]
        else:
            choices = [{place.object: name} for name in classes]
        for binding in choices:
            more = _bound(TableRule(each.table, each.body, each.head, each.unequal), binding, ())
            yield from expanded(more, properties, classes)


def named(found: Iterable[Instance]) -> tuple[dict[str, None], dict[str, None]]:
    """The properties and classes that instances name."""
    properties: dict[str, None] = {}
    classes: dict[str, None] = {}
    for each in found:
        for triple in (each.head, *each.body):
            if triple.predicate == TYPE and not triple.object.startswith("?"):
                classes[triple.object] = None
            elif not triple.predicate.startswith("?") and triple.predicate != FALSE:
                properties[triple.predicate if triple.predicate != TYPE else REST] = None
    return properties, classes
