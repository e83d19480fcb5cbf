"""How explanations show triples and rules over RDF: terms as in Turtle, with the prefixes of a store."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import starmap

from tidelog.explain.instances import FlatRule
from tidelog.explain.steps import RowOf
from tidelog.explain.wording import RuleWords, Wording
from tidelog.language.literals import unquoted
from tidelog.language.printer import quoted
from tidelog.language.syntax import Atom, Constant, Literal, Rule, Term, Value, Variable
from tidelog.rdf.derivations import TripleDerivations
from tidelog.rdf.lists import without_cells
from tidelog.rdf.names import (
    COLON,
    EQUAL,
    GIVEN,
    ILL,
    INCONSISTENCY,
    ITSELF,
    LITERAL_FACTS,
    OUTSIDE,
    REST,
    TRIPLE,
    UNLIKE,
)
from tidelog.rdf.tables import AXIOM, CELL, FALSE, MEMBER, Triple
from tidelog.rdf.terms import SAME_AS, TYPE, is_iri
from tidelog.storage.record_text import row_text

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
        meaning = self._names.meaning(relation)
        if meaning is None or meaning.predicate in (MEMBER, CELL, AXIOM, *LITERAL_FACTS):
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
        return self.renamed(row_text(relation, values))

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
        return f"<{term}>" if term.isprintable() and _IRI.fullmatch(term) else quoted(term)

    def literal_text(self, literal: Literal) -> str:
        """Return a literal of a body as text: an atom as a triple where it is one."""
        return (self._triple(literal) if isinstance(literal, Atom) else None) or self.renamed(str(literal))

    def _triple(self, atom: Atom) -> str | None:
        """Return an atom as a triple, None for one of a program's own relation."""
        meaning = self._names.meaning(atom.relation) if atom.path is None else None
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
        return RuleWords(flat.rule.name or "", self.renamed(str(rule)), flat.rule.span)

    def _table_text(self, name: str) -> str:
        """Return a rule of a table in its notation; the name for one over lists of any length."""
        rule = next((each for each in self._derivations.table if each.name == name), None)
        if rule is None:
            return name
        body = " . ".join(self.triple_text(*each.terms[:3]) for each in rule.body)
        clash = " ".join(["false", rule.head.subject, rule.head.object, rule.head.more]).strip()
        return f"{body} => {clash if rule.head.predicate == FALSE else self.triple_text(*rule.head.terms[:3])}"

    def renamed(self, text: str) -> str:
        """Return a text of the language with terms as Turtle has them."""
        return _NAMED.sub(self._name, text)

    def _name(self, match: re.Match[str]) -> str:
        if match[0].startswith('"'):
            return self.term_text(unquoted(match[0]))
        meaning = self._names.meaning(match[0])
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
