"""Relations for RDF: a property is a binary relation, a class a unary one.

The triple `s p o` is the tuple (s, o) of the property p, and `s rdf:type c` the tuple (s) of the class c. Relations are
named after the last part of the IRI: `pːknows`, `aːPerson`, with a number if several end the same. The colon is a
letter (U+02D0), so these are valid names that nobody types by chance. Rule text has `foaf:knows(x, y)`, see `prefixes`.
REST holds the types that rules derive with a variable as class, until the class has a relation of its own.

`PrefixTable` has the prefixes of a store, which rule text, SPARQL and Turtle share: each is one that Turtle can
declare.
"""

from __future__ import annotations

import re
from collections import UserDict
from collections.abc import Iterable, Mapping, Set
from typing import Any, Self

from tidelog.common.source import Span
from tidelog.errors import DataError, Problem, UsageError, quote, wrong_argument
from tidelog.language.lexer import NO_NODES
from tidelog.language.syntax import Attribute, Declaration
from tidelog.rdf.formats import load
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
HIDDEN = (MEMBER, CELL, AXIOM, *LITERAL_FACTS)
"""The properties whose tuples explanations do not show as triples."""
INTERNAL = frozenset([*HIDDEN, REST, ITSELF])
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

    def asserted_relation(self, iri: str) -> str:
        """Return the relation of the asserted triples of a property, types among them."""
        return self.property(f"{GIVEN}{iri}")

    def triple_pattern(self, relation: str) -> Triple | None:
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


# --- prefixes --------------------------------------------------------------------------------------------------------


class PrefixTable(UserDict[str, str]):
    """Prefixes with their IRIs, of which `known` need no check. Setting another one raises UsageError (E0635) for what
    is no text, and as `check_prefix`."""

    def __init__(self, known: Mapping[str, str]) -> None:
        super().__init__()
        self.data = dict(known)
        self._before: dict[str, str | None] = {}
        """Those that programs declare which wait for a commit, with the IRIs before; None where there was none."""

    def declare(self, known: Mapping[str, str]) -> None:
        """Add the prefixes of a program, until `keep` or `withdraw`."""
        for prefix, iri in known.items():
            if self.data.get(prefix) != iri:
                self._before.setdefault(prefix, self.data.get(prefix))
                self.data[prefix] = iri

    def keep(self) -> None:
        """Keep what programs have declared: they are committed."""
        self._before.clear()

    def withdraw(self) -> None:
        """Take back what programs have declared: they are dropped."""
        for prefix, iri in self._before.items():
            if iri is None:
                self.data.pop(prefix, None)
            else:
                self.data[prefix] = iri
        self._before.clear()

    def __delitem__(self, prefix: str) -> None:
        super().__delitem__(prefix)
        self._before.pop(prefix, None)

    def __setitem__(self, prefix: str, iri: str) -> None:
        """Set a prefix."""
        for what, text in {"a prefix": prefix, "the IRI of a prefix": iri}.items():
            given: object = text
            if not isinstance(given, str):
                raise wrong_argument(what, "a text", text)
        check_prefix(prefix, iri)
        self.data[str(prefix)] = str(iri)
        self._before.pop(prefix, None)

    def __ior__(self, others: Any) -> Self:  # type: ignore[override, misc]  # That of UserDict has no checks.
        """Set some prefixes."""
        self.update(others)
        return self


def prefix_table(given: Mapping[str, str]) -> PrefixTable:
    """Return prefixes that a user sets. Raise UsageError (E0635) for another value, and as `PrefixTable`."""
    if isinstance(given, PrefixTable):
        return given
    if not isinstance(given, Mapping):
        raise wrong_argument("`prefixes`", "a dict of texts", given)
    table = PrefixTable({})
    table.update(given)
    return table


def check_prefix(prefix: str, iri: str, span: Span | None = None) -> None:
    """Raise UsageError (E0661) for a text that no prefix can be, DataError (E0461) for an IRI that is not absolute."""
    oxigraph = load()
    try:
        parser = oxigraph.parse(f"@prefix {prefix}: <x:> .".encode(), oxigraph.RdfFormat.TURTLE)
        is_prefix = not any(True for _ in parser) and parser.prefixes == {prefix: "x:"}
    except (SyntaxError, UnicodeEncodeError):
        is_prefix = False
    if not is_prefix:
        hint = "use letters, digits, `_`, `-` and `.`, a letter first; or the empty text"
        raise UsageError(Problem("E0661", f"{quote(prefix)} cannot be a prefix", span, hint=hint))
    try:
        oxigraph.NamedNode(iri)
    except ValueError:
        message = f"the IRI of the prefix {prefix}: is not absolute: {quote(iri)}"
        hint = "write it in full, like http://example.org/"
        raise DataError(Problem("E0461", message, span, hint=hint)) from None
