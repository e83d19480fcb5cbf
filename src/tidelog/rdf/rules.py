"""The rules that a store needs at the moment, given its schema, its properties and classes, and the schema facts of its
data. A rule keeps its name as long as it exists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass

from tidelog.language.syntax import Atom, CheckedProgram, Constant, Rule, Variable
from tidelog.rdf.matching import SchemaFacts
from tidelog.rdf.names import REST, TRIPLE, Names, is_internal
from tidelog.rdf.naming import derives, reads
from tidelog.rdf.specialise import RuleInstance, expanded, instances, named, reflexive, relevant
from tidelog.rdf.tables import TableRule, Triple
from tidelog.rdf.terms import TYPE, is_iri


class Instances:
    """The rules of the moment. `current` maps the parts of a rule to the rule as the database has it; it is replaced
    and never changed."""

    def __init__(self, table: Iterable[TableRule], names: Names) -> None:
        self.current: dict[object, Rule] = {}
        self._table = tuple(table)
        self._names = names
        self._made_for: object = None
        self._base: tuple[SchemaFacts | None, list[RuleInstance]] = (None, [])
        self._program: CheckedProgram | None = None
        self._views = _Views()
        self._count = 0

    def changes(
        self, facts: SchemaFacts, guards: Iterable[RuleInstance], alive: Set[str], program: CheckedProgram
    ) -> tuple[list[str], list[Rule]]:
        """Return the names of the rules to remove, and the rules to add.

        The rules are for the `facts` of a schema as instances need them, and for `guards`. SAME_AS and NOTHING are
        `alive` if they have rows: rules that only could derive some do not count, because equality asks for rules about
        each property and class. `program` is the user's program. If nothing of this has changed, the rules stay.
        """
        guards = tuple(guards)
        if self._base[0] is not facts:
            self._base = facts, list(instances(self._table, facts))
        if program is not self._program:
            own = {rule.name for rule in self.current.values()}
            theirs = [rule for rule in program.rules if rule.name not in own]
            self._program, self._views = program, _Views.of(theirs, self._names)
        views, alive = self._views, frozenset(alive)
        if self._made_for == (facts, guards, alive, views, *self._sizes):
            return [], []
        found = [*self._base[1], *guards]
        found += reflexive(found)
        properties, classes = named(found)
        known = {*properties, *self._names.properties}, {*classes, *self._names.classes}
        wanted: dict[object, None] = dict.fromkeys(
            relevant(expanded(relevant(found, alive), *map(frozenset, known)), alive)
        )
        if views.derives_types or any(each.head.predicate == TYPE and each.head.object[0] == "?" for each in found):
            for name in sorted(known[1]):
                wanted[RuleInstance("type", Triple("?x", TYPE, name), (Triple("?x", REST, name),), ())] = None
        wanted.update(dict.fromkeys(self._of_views(views, *known)))
        names = [str(rule.name) for key, rule in self.current.items() if key not in wanted]
        more = {key: self._rule(key) for key in wanted if key not in self.current}
        # Another mapping, so that whoever has the one before can come back to it.
        self.current = {key: rule for key, rule in self.current.items() if key in wanted} | more
        self._made_for = facts, guards, alive, views, *self._sizes
        return names, list(more.values())

    def are_for(self, facts: SchemaFacts) -> bool:
        """Return True if the rules of the moment are those for the facts of a schema."""
        return self._base[0] is facts

    @property
    def _sizes(self) -> tuple[int, int]:
        return len(self._names.properties), len(self._names.classes)

    def restore(self, current: dict[object, Rule]) -> None:
        """Go back to earlier rules."""
        self.current = current
        self._made_for = None

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

    def _of_views(self, views: _Views, properties: set[str], classes: set[str]) -> Iterator[object]:
        """Yield rules from relations to the relations of all triples and of all types if a program reads these, and
        back if it derives triples."""
        if views.reads_types:
            yield from ((None, TYPE, name) for name in sorted(classes))
        pairs = [(name, "?y") for name in sorted(properties - {TYPE}) if is_iri(name) and not is_internal(name)]
        pairs += [(TYPE, name) for name in sorted(classes)]
        if views.reads_triples or views.derives_triples:
            yield from ((False, *pair) for pair in pairs)
        if views.derives_triples:
            yield from ((True, *pair) for pair in pairs)


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
