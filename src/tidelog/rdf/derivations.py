"""The derivations of triples: instances of the rules of a store, with the axioms that these are specialised to.

The database has `aːAnimal(x) :- aːCat(x).` for cax-sco and the axiom `:Cat rdfs:subClassOf :Animal`. A proof over
triples needs both premises. So the rule of the table is matched with the specialised one, and its atoms about the
schema with the schema's facts: each match is a list of axioms, and makes derivations of its own.

`TripleWording` shows triples and rules over RDF: terms as in Turtle, with the prefixes of a store.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import starmap

from tidelog.explain.derivations import Batch, PremiseColumns, TupleDerivation, TupleDerivations
from tidelog.explain.instances import FlatRule
from tidelog.explain.search import Cone, Found, ProofSearch
from tidelog.explain.steps import RowOf, RuleWords, Wording
from tidelog.explain.views import EngineViews
from tidelog.explain.walks import Key
from tidelog.language.printer import quote_string
from tidelog.language.syntax import Atom, CheckedProgram, Constant, Literal, Rule, Term, Value, Variable
from tidelog.language.terms import unquote_string
from tidelog.limits.watch import Watch
from tidelog.rdf.matching import Binding, SchemaFacts, bindings, list_rules, matches, substitute, without_cells
from tidelog.rdf.names import (
    COLON,
    EQUAL,
    GIVEN,
    HIDDEN,
    ILL,
    INCONSISTENCY,
    ITSELF,
    LITERAL_FACTS,
    OUTSIDE,
    REST,
    TRIPLE,
    UNLIKE,
    Names,
)
from tidelog.rdf.specialise import RuleInstance, binding_atoms, fixed_rules, is_generic
from tidelog.rdf.tables import CELL, FALSE, LITERAL_RULES, MEMBER, TableRule, Triple
from tidelog.rdf.terms import SAME_AS, TYPE, is_iri
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.record_text import row_text

Axioms = tuple[Triple, ...]
"""The facts about the schema that a specialised rule rests on, without those that its body has."""


class TripleDerivations(TupleDerivations):
    """The rules of a store, asked for their instances; for as long as its program and schema are the same."""

    def __init__(
        self,
        checked: CheckedProgram,
        dictionary: Dictionary,
        table: Sequence[TableRule],
        names: Names,
        current: dict[object, Rule],
        facts: SchemaFacts,
    ) -> None:
        """`current` are the specialised rules of the moment by their parts, `facts` those of the schema."""
        super().__init__(checked, dictionary)
        self.table = table
        self.names = names
        self.facts = facts
        self.parts = {rule.name: part for part, rule in current.items()}
        """The parts of a specialised rule by its name."""
        generic = [rule for rule in table if is_generic(rule)]
        self.generic = {rule.name: each for rule, each in zip(fixed_rules(generic, names), generic, strict=True)}
        """The rules of the table that are rules of the database as they are, by their names there."""
        names_of_rules = {rule.name for rule in checked.rules if rule.name is not None}
        self.of_programs = names_of_rules - self.parts.keys() - self.generic.keys()
        """The names of the rules of programs."""
        self._by_name: dict[str, list[TableRule]] = {}
        for rule in table:
            self._by_name.setdefault(rule.name, []).append(rule)
        self._axioms: dict[RuleInstance, list[Axioms]] = {}
        self._lists: list[tuple[TableRule, Axioms]] | None = None
        self._leaves_out_axioms = False

    def is_walk(self, views: EngineViews, name: str) -> bool:
        """Return True for paths: closures are explained by their rules."""
        return name in self._paths

    def instances(self, views: EngineViews, keys: Sequence[Key], watch: Watch) -> Iterable[Batch]:
        """Yield the instances of all rules that derive tuples of one relation, with the axioms among the premises."""
        for batch in super().instances(views, keys, watch):
            if self._leaves_out_axioms:
                yield batch
                continue
            for more in self.axioms(batch.flat):
                extended = batch
                for axiom in more:
                    extended = extended.with_premise(*self._words(axiom))
                if self._is_itself(batch.flat):
                    pair = PremiseColumns(batch.premises[0].relation, batch.premises[0].columns[::-1])
                    extended = replace(extended, premises=(*extended.premises, pair))
                yield extended

    @contextmanager
    def leaving_out_axioms(self) -> Iterator[None]:
        """Inside, instances have no axioms among their premises."""
        self._leaves_out_axioms = True
        try:
            yield
        finally:
            self._leaves_out_axioms = False

    def with_axioms(self, derivation: TupleDerivation) -> TupleDerivation:
        """Return a derivation with the first axioms that its rule rests on."""
        if derivation.flat is None:
            return derivation
        more = [Key(*self._words(axiom)) for axiom in self.axioms(derivation.flat)[0]]
        if self._is_itself(derivation.flat):
            more.append(Key(derivation.premises[0].relation, derivation.premises[0].words[::-1]))
        return replace(derivation, premises=(*derivation.premises, *more))

    def table_rule(self, flat: FlatRule) -> str | None:
        """Return the name of the rule of the table that a rule stands for, None for other rules."""
        part = self.parts.get(flat.rule.name)
        if isinstance(part, RuleInstance):
            return part.table
        generic = self.generic.get(flat.rule.name)
        return None if generic is None else generic.name

    def is_conversion(self, flat: FlatRule) -> bool:
        """Return True for a rule from one relation to another one that has the same triples."""
        part = self.parts.get(flat.rule.name)
        return part is not None and (not isinstance(part, RuleInstance) or part.table == "type")

    def rules_for(self, key: Key) -> Iterator[tuple[FlatRule, Key]]:
        """Yield the rules that could derive a triple, each with the tuple of the relation in which it would."""
        waiting, seen = [key], {key}
        while waiting:
            each = waiting.pop(0)
            for flat in self.by_head.get(each.relation, ()):
                if not self.is_conversion(flat):
                    yield flat, each
                    continue
                other = self._source_of_conversion(flat, each)
                if other is not None and other not in seen:
                    seen.add(other)
                    waiting.append(other)

    def _source_of_conversion(self, flat: FlatRule, key: Key) -> Key | None:
        """Return the tuple of which a conversion makes another one, None if it makes no such tuple."""
        words: dict[int, int] = {}
        for source, word in zip(flat.head.arguments, key.words, strict=True):
            if isinstance(source, Constant):
                if self.dictionary.find(source.value, "symbol") != word:
                    return None
            elif words.setdefault(source, word) != word:
                return None
        (premise,) = flat.premises
        encode = self.dictionary.encode
        row = (
            encode(each.value, "symbol") if isinstance(each, Constant) else words[each] for each in premise.arguments
        )
        return Key(premise.relation, tuple(row))

    # --- axioms ------------------------------------------------------------------------------------------------------

    def axioms(self, flat: FlatRule) -> list[Axioms]:
        """Return the axioms that a rule rests on, in all ways; one empty way for a rule that rests on none."""
        part = self.parts.get(flat.rule.name)
        if (
            not isinstance(part, RuleInstance)
            or part.table in ("type", "axiom", *LITERAL_RULES)
            or self._is_itself(flat)
        ):
            return [()]
        if part not in self._axioms:
            self._axioms[part] = self._find_axioms(part)
        return self._axioms[part]

    def _is_itself(self, flat: FlatRule) -> bool:
        """Return True for the rule that something is the same as itself because it is the same as something else. It
        leaves out the other direction."""
        part = self.parts.get(flat.rule.name)
        return isinstance(part, RuleInstance) and part.table == "eq-trans" and part.head.predicate == ITSELF

    def _words(self, axiom: Triple) -> tuple[str, tuple[int, ...]]:
        relation, row = self.names.relation(axiom)
        return relation, tuple(self.dictionary.encode(term, "symbol") for term in row)

    def _find_axioms(self, part: RuleInstance) -> list[Axioms]:
        head, *body = (as_property(triple) for triple in (part.head, *part.body))
        found: dict[Axioms, None] = {}
        for rule in self._by_name.get(part.table, ()):
            for binding in bindings(rule.head, head, {}):
                for bound, rest in _partly(rule.body, body, binding_atoms(rule), binding):
                    for _, used in matches([substitute(each, bound) for each in rest], self.facts, {}):
                        found[tuple(axiom for axiom in used if axiom not in body)] = None
        if not found:
            if self._lists is None:
                self._lists = list(list_rules(self.facts))
            for rule, used in self._lists:
                if rule.name == part.table:
                    for binding in bindings(rule.head, head, {}):
                        if any(True for _ in _partly(rule.body, body, (), binding)):
                            found[tuple(axiom for axiom in used if axiom not in body)] = None
        assert found, part
        fewest = min(map(len, found))
        return sorted(found, key=repr) if fewest else [()]


def as_property(triple: Triple) -> Triple:
    """Return a pattern with owl:sameAs in the place of the internal property for equality with oneself."""
    return triple._replace(predicate=SAME_AS) if triple.predicate == ITSELF else triple


def _partly(
    patterns: Sequence[Triple], body: Sequence[Triple], about: Sequence[Triple], binding: Binding
) -> Iterator[tuple[Binding, list[Triple]]]:
    """Yield the bindings that turn patterns into triples of a body, with the patterns `about` the schema that are left
    out of it."""
    if not patterns:
        yield binding, []
        return
    first, rest = patterns[0], patterns[1:]
    for triple in body:
        for more in bindings(first, triple, binding):
            yield from _partly(rest, body, about, more)
    if first in about:
        for more, left in _partly(rest, body, about, binding):
            yield more, [first, *left]


class TripleSearch(ProofSearch):
    """A search for proofs over triples."""

    derivations: TripleDerivations

    def founded_proof(self, goal: Key, avoided: Collection[object] = ()) -> Found:
        """Return a proof whose tuples each follow from tuples born before them. Axioms may be younger: where they need
        the goal again, return a proof of least height."""
        found = super().founded_proof(goal, avoided)
        if not is_circular(found, goal):
            return found
        self.views.budget = 1 << 60
        return self.least_proof(Cone(self, goal))

    def founded_ways(self, name: str, keys: list[Key]) -> dict[Key, TupleDerivation]:
        """Return for each tuple of a relation a derivation from tuples born before it, and its axioms, whose births do
        not count."""
        with self.derivations.leaving_out_axioms():
            found = super().founded_ways(name, keys)
        return {key: self.derivations.with_axioms(each) for key, each in found.items()}


def is_circular(found: Found, goal: Key) -> bool:
    """Return True if some tuple of what a search has found is needed for itself."""
    waiting, done, open_ = [goal], set[Key](), set[Key]()
    while waiting:
        key = waiting[-1]
        if key in done or key in open_:
            done.add(waiting.pop())
            open_.discard(key)
            continue
        open_.add(key)
        chosen = found.chosen.get(key)
        for premise in () if chosen is None else chosen.premises:
            if premise in open_:
                return True
            if premise not in done:
                waiting.append(premise)
    return False


# --- texts -----------------------------------------------------------------------------------------------------------


TRIPLES = "rdf:triple"
"""The relation of the triples of proofs."""
_LOCAL = re.compile(r"\w(?:[\w-]*\w)?")
_IRI = re.compile(r'[A-Za-z][\w+.-]*:[^\s<>"{}|^`\\]*')
_NAMED = re.compile(rf'"(?:[^"\\]|\\.)*"|\w+{COLON}\w+')

_LITERAL_FACTS = {ILL: "is not well-typed as", OUTSIDE: "is outside of", UNLIKE: "differs from", EQUAL: "equals"}


class TripleWording(Wording):
    """The words of a store: its prefixes, the names of its derivations, and the rules of its programs by name."""

    def __init__(
        self, written: Mapping[str, Rule], derivations: TripleDerivations, prefixes: Mapping[str, str]
    ) -> None:
        super().__init__(written)
        self._derivations = derivations
        self._names = derivations.names
        self._prefixes = sorted(prefixes.items(), key=lambda item: (-len(item[1]), item[0]))
        self._terms: dict[str, str] = {}

    def row(self, relation: str, values: tuple[Value, ...]) -> RowOf:
        """Return a tuple of the database, as a triple where it is one."""
        if relation == TRIPLE and self._names.has_triples:
            return TRIPLES, values
        meaning = self._names.triple_pattern(relation)
        if meaning is None or meaning.predicate in HIDDEN:
            return relation.removesuffix(COLON) if relation == INCONSISTENCY else relation, values
        if meaning.predicate in (TYPE, REST, f"{GIVEN}{TYPE}"):
            return TRIPLES, (values[0], TYPE, values[1] if len(values) > 1 else meaning.object)
        predicate = SAME_AS if meaning.predicate == ITSELF else meaning.predicate.removeprefix(GIVEN)
        return TRIPLES, (values[0], predicate, values[1])

    def row_text(self, relation: str, values: tuple[Value, ...]) -> str:
        """Return a tuple of the database as text."""
        return self.shown_text(*self.row(relation, values))

    def shown_text(self, relation: str, values: tuple[Value, ...]) -> str:
        """Return a triple, or a tuple of a program's own relation, as text."""
        if relation == TRIPLES:
            return self.triple_text(*map(str, values))
        if f"{relation}{COLON}" == INCONSISTENCY:
            return f"inconsistent: {', '.join(self.term_text(str(term)) for term in values[1:] if term)}"
        return self.turtle_text(row_text(relation, values))

    def triple_text(self, *terms: str) -> str:
        """Return a triple of terms and variables as text."""
        return " ".join("a" if term == TYPE and i == 1 else self.term_text(term) for i, term in enumerate(terms))

    def axiom_text(self, triple: Triple, members: Sequence[str] | None) -> str:
        """Return a triple whose object is a list with these members, if it is one, as text."""
        if members is None:
            return self.triple_text(*triple.terms[:3])
        return f"{self.triple_text(triple.subject, triple.predicate)} ({' '.join(map(self.term_text, members))})"

    def term_text(self, term: str) -> str:
        """Return a term as Turtle has it: an IRI with its prefix, if it has one."""
        found = self._terms.get(term)
        if found is None:
            found = self._terms[term] = self._term_text(term)
        return found

    def _term_text(self, term: str) -> str:
        if not term or term.startswith(("?", "_")) or term.isdigit():
            return term
        if not is_iri(term):
            value, typed, datatype = term.partition('"^^<')
            return f'{value}"^^{self.term_text(datatype[:-1])}' if typed else term
        for prefix, iri in self._prefixes:
            if term.startswith(iri) and _LOCAL.fullmatch(term, len(iri)):
                return f"{prefix}:{term[len(iri) :]}"
        return f"<{term}>" if term.isprintable() and _IRI.fullmatch(term) else quote_string(term)

    def literal_text(self, literal: Literal) -> str:
        """Return a literal of a body as text: an atom as a triple where it is one."""
        return (self._triple(literal) if isinstance(literal, Atom) else None) or self.turtle_text(str(literal))

    def _triple(self, atom: Atom) -> str | None:
        """Return an atom as a triple, None for one of a program's own relation."""
        meaning = self._names.triple_pattern(atom.relation) if atom.path is None else None
        if meaning is not None and meaning.predicate in (MEMBER, CELL):
            part, whole = _term(atom.args[1]), _term(atom.args[0])
            return f"{self.term_text(part)} in the list {self.term_text(whole)}"
        if meaning is not None and meaning.predicate in LITERAL_FACTS:
            one, other = map(self.term_text, map(_term, atom.args))
            return f"{one} {_LITERAL_FACTS[meaning.predicate]} {other}"
        relation, values = self.row(atom.relation, tuple(map(_term, atom.args))) if atom.path is None else ("", ())
        return self.triple_text(*map(str, values)) if relation == TRIPLES else None

    def rule(self, flat: FlatRule) -> RuleWords:
        """Return the words for a rule: those of the table for a specialised one, with the axioms that it rests on; the
        text of a program for others."""
        table = self._derivations.table_rule(flat)
        if table is not None:
            axioms = tuple(starmap(self.axiom_text, without_cells(self._derivations.axioms(flat)[0])))
            return RuleWords(table, self._table_text(table), None, axioms)
        rule = self.written.get(flat.rule.name or "", flat.rule)
        return RuleWords(flat.rule.name or "", self.turtle_text(str(rule)), flat.rule.span)

    def _table_text(self, name: str) -> str:
        """Return a rule of a table in its notation; the name for one over lists of any length."""
        rule = next((each for each in self._derivations.table if each.name == name), None)
        if rule is None:
            return name
        body = " . ".join(self.triple_text(*each.terms[:3]) for each in rule.body)
        clash = " ".join(["false", rule.head.subject, rule.head.object, rule.head.more]).strip()
        return f"{body} => {clash if rule.head.predicate == FALSE else self.triple_text(*rule.head.terms[:3])}"

    def turtle_text(self, text: str) -> str:
        """Return a text of the language with terms as Turtle has them."""
        return _NAMED.sub(self._name, text)

    def _name(self, match: re.Match[str]) -> str:
        if match[0].startswith('"'):
            return self.term_text(unquote_string(match[0]))
        meaning = self._names.triple_pattern(match[0])
        if meaning is None:
            return match[0]
        is_class = meaning.predicate == TYPE and not meaning.object.startswith("?")
        predicate = TYPE if meaning.predicate == REST else meaning.predicate.removeprefix(GIVEN)
        return self.term_text(meaning.object if is_class else predicate)


def _term(term: Term) -> str:
    """Return an argument of an atom as a term: variables begin with `?`."""
    if isinstance(term, Variable):
        return f"?{term.name}"
    return str(term.value) if isinstance(term, Constant) else "_"
