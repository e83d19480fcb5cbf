"""W3C's test cases of OWL 2 for the profile RL, through a store.

    TIDELOG_DATA=/path/to/data python -m benchmarks.w3c_owl [profile-RL.rdf]

reads `w3c/owl-test/profile-RL.rdf` of that folder, a catalogue in the published form: ontologies in RDF/XML are
literals of the cases. `all.rdf` and the other catalogues have the same form; cases of other profiles and rejected ones
are left out. It prints the numbers of each kind of test, and each test that a store fails. The exit code is 1 for a
test that is not in EXPECTED and fails, or is there and passes. It is 2 without the catalogue.

A store has the rules "owl-rl" and "datatypes". A conclusion follows if its triples match those of the store: blank
nodes stand for anything, and literals for their values. From a contradiction everything follows. Headers of ontologies
do not count. Declarations count only where a conclusion has nothing else, because they say nothing in OWL. The triples
that the rules of the specification derive for any graph, and that the store leaves out, are there as well: eq-ref,
cls-thing, cls-nothing1, prp-ap and dt-type1.

The tests of syntax, and ontologies in functional syntax alone, are not for a store.

W3C's published catalogue has not been run: it was not at hand. EXPECTED comes from cases that were written anew after
its names and descriptions, so the first run of the catalogue may exit with 1.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyoxigraph
from pyoxigraph import BlankNode, NamedNode, Quad, RdfFormat

import tidelog.rdf
from benchmarks import data
from benchmarks.w3c_entailment import by_value, pattern
from tidelog import TidelogError
from tidelog.rdf import Store
from tidelog.rdf.literals import DATATYPES, parts
from tidelog.rdf.terms import OWL, RDF, RDFS, SAME_AS, TYPE, XSD

_TEST = "http://www.w3.org/2007/OWL/testOntology#"
_CATALOGUE = "w3c/owl-test/profile-RL.rdf"
_RULES = ("owl-rl", "datatypes")
KINDS = ("PositiveEntailment", "NegativeEntailment", "Consistency", "Inconsistency")
_ANNOTATIONS = (
    *(f"{RDFS}{name}" for name in ("label", "comment", "seeAlso", "isDefinedBy")),
    *(f"{OWL}{name}" for name in ("deprecated", "versionInfo", "priorVersion")),
    *(f"{OWL}{name}" for name in ("backwardCompatibleWith", "incompatibleWith")),
)
_DECLARATIONS = {
    *(f"{OWL}{name}" for name in ("Class", "ObjectProperty", "DatatypeProperty", "AnnotationProperty")),
    *(f"{OWL}{name}" for name in ("NamedIndividual", "Restriction", "Thing", "AllDifferent", "AllDisjointClasses")),
    *(f"{RDFS}{name}" for name in ("Class", "Datatype")),
    f"{RDF}Property",
}
_UNLIKE = "no rule derives owl:differentFrom"
_EXPRESSION = "no rule makes a class expression"
_DATATYPE = "no rule compares datatypes"
_AXIOM = "no rule derives this axiom about a property"
_NOT_BY_RULES = {
    _UNLIKE: (
        "New-Feature-DisjointDataProperties-002",
        "New-Feature-DisjointObjectProperties-001",
        "New-Feature-DisjointObjectProperties-002",
        "WebOnt-differentFrom-001",
        "owl2-rl-rules-fp-differentFrom",
        "owl2-rl-rules-ifp-differentFrom",
    ),
    _EXPRESSION: (
        "DisjointClasses-001",
        "DisjointClasses-003",
        "New-Feature-ObjectQCR-002",
        "New-Feature-SelfRestriction-002",
        "WebOnt-I5.26-010",
        "WebOnt-I5.5-005",
        "bnode2somevaluesfrom",
    ),
    _DATATYPE: ("WebOnt-I5.8-006", "WebOnt-I5.8-008", "WebOnt-I5.8-009"),
    _AXIOM: ("chain2trans1", "New-Feature-ReflexiveProperty-001"),
}
EXPECTED = {f"{name} PositiveEntailment": reason for reason, names in _NOT_BY_RULES.items() for name in names}
"""The tests that fail, by identifier and kind, with the reason; docs/how-to/rdf.md has them, too."""


@dataclass(frozen=True)
class OwlCase:
    """A test case: its kinds, and its ontologies in RDF/XML, the empty text for none."""

    identifier: str
    kinds: frozenset[str]
    premise: str
    conclusion: str
    non_conclusion: str
    imports: tuple[str, ...]

    def failure(self, kind: str) -> str | None:
        """Return why a store fails a kind of test of the case, None if it passes."""
        store = tidelog.rdf.connect(rules=_RULES)
        base = f"urn:test:{self.identifier.replace(' ', '-')}"
        try:
            for text in (self.premise, *self.imports):
                store.insert(text, "rdfxml", base=base)
            store.commit()
            contradicts = len(store.inconsistencies()) > 0
            if kind in ("Consistency", "Inconsistency"):
                found = ", ".join(sorted({str(row[0]) for row in store.inconsistencies()}))
                wanted = kind == "Inconsistency"
                return None if contradicts is wanted else f"found {found or 'no contradiction'}"
            is_positive = kind == "PositiveEntailment"
            text = self.conclusion if is_positive else self.non_conclusion
            follows = contradicts or matches(store, text, base)
        except TidelogError as error:
            return str(error).splitlines()[0]
        return None if follows is is_positive else f"the graph {'does not follow' if is_positive else 'follows'}"


def cases(catalogue: Path) -> Iterator[OwlCase]:
    """Yield the test cases for RL of a catalogue."""
    store = tidelog.rdf.connect()
    store.insert(catalogue, "rdfxml", base=_TEST)
    store.commit()

    def values(node: str, name: str) -> list[str]:
        return [str(row[2]) for row in store.triples(node, f"{_TEST}{name}", None)]

    def text(node: str, name: str) -> str:
        return next((parts(value)[0] for value in values(node, name)), "")

    nodes = {str(row[0]) for row in store.triples(None, f"{_TEST}profile", f"{_TEST}RL")}
    for node in sorted(nodes, key=lambda node: text(node, "identifier")):
        if f"{_TEST}Rejected" in values(node, "status"):
            continue
        types = {str(row[2]).removeprefix(_TEST).removesuffix("Test") for row in store.triples(node, TYPE, None)}
        yield OwlCase(
            text(node, "identifier"),
            frozenset(types.intersection(KINDS)),
            text(node, "rdfXmlPremiseOntology"),
            text(node, "rdfXmlConclusionOntology"),
            text(node, "rdfXmlNonConclusionOntology"),
            tuple(text(each, "rdfXmlInputOntology") for each in values(node, "importedOntology")),
        )


def matches(store: Store, conclusion: str, base: str) -> bool:
    """Return True if an ontology matches the triples of a store."""
    known = set(DATATYPES)
    graph = pyoxigraph.Store()
    for quad in (*pyoxigraph.parse(store.to_text("ntriples", inferred=True), RdfFormat.N_TRIPLES), *_said(store)):
        graph.add(Quad(*(by_value(term, known) for term in quad.triple)))
    wanted = tidelog.rdf.connect()  # which reads everything that a user's documents may have
    wanted.insert(conclusion, "rdfxml", base=base)
    wanted.commit()
    quads = [*pyoxigraph.parse(wanted.to_text("ntriples"), RdfFormat.N_TRIPLES)]
    headers = {quad.subject for quad in quads if quad.object == NamedNode(f"{OWL}Ontology")}
    quads = [quad for quad in quads if quad.subject not in headers]
    said = [quad for quad in quads if not _declares(quad)]
    patterns = [pattern(quad.triple, known) for quad in said or quads]
    return bool(graph.query(f"ASK {{ {' . '.join(patterns)} }}"))


def _declares(quad: Any) -> bool:
    """Return True for a triple that only says what sort of thing a name is for."""
    kind = getattr(quad.object, "value", "")
    return quad.predicate.value == TYPE and kind in _DECLARATIONS and not isinstance(quad.subject, BlankNode)


def _said(store: Store) -> Iterator[Quad]:
    """Yield the triples that the rules derive for any graph with the terms of a store."""
    terms = {str(term) for triple in store.triples() for term in triple}
    named = [NamedNode(term) for term in terms if not term.startswith(('"', "_:", "<<("))]
    nodes = [BlankNode(term[2:]) for term in terms if term.startswith("_:")]
    same = NamedNode(SAME_AS)
    yield from (Quad(term, same, term) for term in named)
    yield from (Quad(term, same, term) for term in nodes)
    kinds = {
        f"{OWL}Class": (f"{OWL}Thing", f"{OWL}Nothing"),
        f"{OWL}AnnotationProperty": _ANNOTATIONS,
        f"{RDFS}Datatype": tuple(name for name in DATATYPES if name.startswith((XSD, RDF, RDFS, OWL))),
    }
    for kind, names in kinds.items():
        yield from (Quad(NamedNode(name), NamedNode(TYPE), NamedNode(kind)) for name in names)


def main(arguments: list[str] | None = None) -> int:
    """Run the tests and print the verdicts."""
    given = sys.argv[1:] if arguments is None else arguments
    folder = data.folder()
    catalogue = Path(given[0]) if given else folder / _CATALOGUE if folder else None
    if catalogue is None or not catalogue.exists():
        print(f"no catalogue there: name one, or have TIDELOG_DATA with {_CATALOGUE}", file=sys.stderr)
        return 2
    number, passed, wrong, left_out = Counter[str](), Counter[str](), 0, 0
    for case in cases(catalogue):
        left_out += not case.premise
        for kind in KINDS if case.premise else ():
            if kind in case.kinds:
                name = f"{case.identifier} {kind}"
                reason = case.failure(kind)
                number[kind] += 1
                passed[kind] += reason is None
                wrong += (reason is not None) is not (name in EXPECTED)
                if reason is not None:
                    print(f"{name}: {reason} ({EXPECTED.get(name, 'NOT EXPECTED')})")
    for kind in KINDS:
        print(f"{kind:20} {passed[kind]:4} of {number[kind]:4}")
    print(f"{'all':20} {passed.total():4} of {number.total():4}, {left_out} cases without RDF/XML left out")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
