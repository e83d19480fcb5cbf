"""Relations for RDF: a property is a binary relation, a class a unary one.

The triple `s p o` is the tuple (s, o) of the property p, and `s rdf:type c` the tuple (s) of the class c. Relations are
named after the last part of the IRI: `pːknows`, `aːPerson`, with a number if several end the same. The colon is a
letter (U+02D0), so these are valid names that nobody types by chance. Rule text has `foaf:knows(x, y)`, see `prefixes`.
REST holds the types that rules derive with a variable as class, until the class has a relation of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set

from tidelog.common.source import Span
from tidelog.errors import Problem, UsageError
from tidelog.language.lexer import NO_NODES
from tidelog.language.syntax import Attribute, Declaration
from tidelog.rdf.tables import AXIOM, CELL, FALSE, MEMBER, Triple
from tidelog.rdf.terms import TYPE

COLON = "ː"
GRAPH = f"graph{COLON}"
"""The relation of triples and their graphs, see `quads`."""
NAMES = f"names{COLON}"
"""The relation of the relations of properties and classes with their IRIs and their sort, of stores that last. It has
three columns, because the values of binary relations are nodes of paths."""
INCONSISTENCY = f"inconsistency{COLON}"
TRIPLE = "triple"
"""The relation of all triples, for programs that ask for it."""
REST = "tidelog:type"
"""The property of types that need not be classes."""
ITSELF = "tidelog:itself"
"""The property of what is the same as itself by other rules than eq-ref, where rules read owl:sameAs like any other
property."""
GIVEN = "tidelog:given:"
"""How the properties begin that hold the asserted triples of another one, where paths ask for nodes."""
ILL, OUTSIDE, UNLIKE, EQUAL = (f"tidelog:{name}" for name in ("ill", "outside", "unlike", "equal"))
LITERAL_FACTS = (ILL, OUTSIDE, UNLIKE, EQUAL)
"""The properties of facts about literals, see `literals`."""
INTERNAL = frozenset([MEMBER, CELL, AXIOM, REST, ITSELF, *LITERAL_FACTS])
"""The properties that no triple of a user has, with those of GIVEN."""
_CLASS = "a"
"""How the names of the relations of classes begin."""
_LONGEST = 40


class Names:
    """The relations of properties and classes by their IRIs; makes new ones on request."""

    def __init__(self) -> None:
        self.properties: dict[str, str] = {}
        self.classes: dict[str, str] = {}
        self.has_triples = False
        """True if TRIPLE is the relation of all triples, and not one of a program's own."""
        self.with_ill: dict[str, None] = {}
        """The properties that have or had literals that are not of their datatypes."""
        self.with_outside: dict[str, None] = {}
        """The datatypes that have or had members with values outside."""
        self._meanings: dict[str, Triple] = {}

    @property
    def meanings(self) -> Mapping[str, Triple]:
        """Return the relations with the patterns of their triples."""
        return self._meanings

    def know(self, relation: str, iri: str) -> None:
        """Give a property or class the relation that it has had before, which says which of the two it is."""
        is_class = relation.startswith(f"{_CLASS}{COLON}")
        (self.classes if is_class else self.properties)[iri] = relation
        self._meanings[relation] = Triple("?s", TYPE, iri) if is_class else Triple("?s", iri, "?o")

    def property(self, iri: str) -> str:
        """Return the relation of a property."""
        found = self.properties.get(iri)
        if found is None:
            found = self.properties[iri] = self._new("g" if iri.startswith(GIVEN) else "p", iri)
            self._meanings[found] = Triple("?s", iri, "?o")
        return found

    def class_(self, iri: str) -> str:
        """Return the relation of a class."""
        found = self.classes.get(iri)
        if found is None:
            found = self.classes[iri] = self._new(_CLASS, iri)
            self._meanings[found] = Triple("?s", TYPE, iri)
        return found

    def given(self, iri: str) -> str:
        """Return the relation of the asserted triples of a property, types among them."""
        return self.property(f"{GIVEN}{iri}")

    def meaning(self, relation: str) -> Triple | None:
        """Return the pattern of the triples of a relation, None for one of a program's own."""
        return self._meanings.get(relation)

    def relation(self, triple: Triple) -> tuple[str, tuple[str, ...]]:
        """Return the relation of a pattern and its arguments. The predicate is not a variable."""
        if triple.predicate == FALSE:
            return INCONSISTENCY, triple.terms[0:1] + triple.terms[2:]
        if triple.predicate == TYPE:
            if not triple.object.startswith("?"):
                return self.class_(triple.object), (triple.subject,)
            return self.property(REST), (triple.subject, triple.object)
        return self.property(triple.predicate), (triple.subject, triple.object)

    def declarations(self, known: Set[str]) -> list[Declaration]:
        """Return declarations of all relations except those known already."""
        if known >= self._meanings.keys():
            return []
        columns = dict.fromkeys(self.properties.values(), "so") | dict.fromkeys(self.classes.values(), "s")
        literals = {self.properties[iri] for iri in LITERAL_FACTS if iri in self.properties}
        return [
            declaration(name, names, (NO_NODES,) if name in literals else ())
            for name, names in columns.items()
            if name not in known
        ]

    def _new(self, sort: str, iri: str) -> str:
        local = local_name(iri)
        name, number = f"{sort}{COLON}{local}", 1
        while name in self._meanings:
            number += 1
            name = f"{sort}{COLON}{local}{COLON}{number}"
        return name


def local_name(iri: str) -> str:
    """Return the last part of an IRI as a part of a relation's name."""
    return re.sub(r"\W", "_", re.split(r"[#/:]", iri.rstrip("#/:"))[-1])[:_LONGEST]


def is_internal(iri: str) -> bool:
    """Return True for a property that no triple of a user has."""
    return iri in INTERNAL or iri.startswith(GIVEN)


def declaration(name: str, columns: str, qualifiers: tuple[str, ...] = ()) -> Declaration:
    """Return the declaration of a relation of symbols with columns of one letter each."""
    return Declaration(name, tuple(Attribute(column, "symbol") for column in columns), qualifiers)


def unknown_prefix(prefix: str, known: Iterable[str], span: Span) -> UsageError:
    """Return the error about a prefix that nobody has declared."""
    hint = f"write @prefix {prefix}: <…> . in the program; known are {', '.join(f'{name}:' for name in sorted(known))}"
    return UsageError(Problem("E0661", f"the prefix {prefix}: is not declared", span, hint=hint))
