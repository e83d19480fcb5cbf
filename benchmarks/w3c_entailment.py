"""W3C's tests of the semantics of RDF 1.1 and 1.2, through a store.

    TIDELOG_DATA=/path/to/data python -m benchmarks.w3c_entailment

reads `w3c/rdf-tests.tar.gz` of that folder, W3C's archive of tests. It prints the numbers of each suite, and each test
that a store fails. The exit code is 1 for a test that fails and is not in EXPECTED, or is there and passes, and 2
without the archive.

A store has the graph and its inferences; a graph follows if its triples match these, blank nodes standing for anything,
and literals of recognized datatypes for their values. From a contradiction everything follows.
"""

from __future__ import annotations

import sys
from typing import Any

import pyoxigraph
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

import tidelog.rdf
from benchmarks import data
from benchmarks.w3c import MF, Manifest, as_path
from tidelog import TidelogError
from tidelog.rdf import Store
from tidelog.rdf.literals import value_of
from tidelog.rdf.terms import RDF

_SUITES = ("rdf11/rdf-mt", "rdf12/rdf-semantics")
_RULES = {"simple": None, "RDF": "axioms", "RDFS": ("rdfs", "axioms"), "RDFS-Plus": ("owl-rl", "axioms")}
_JSON, _XML = "the values of rdf:JSON are unknown", "the values of rdf:XMLLiteral are unknown"
EXPECTED = {
    "rdfs-entailment-test001": _XML,
    "literal-type": "literals have no types (dt-type2)",
    "malformed-literal": "literals within triple terms are not looked at",
    "json-object-unordered": _JSON,
    "json-round-same": _JSON,
    "json-infinity": _JSON,
    "triple-terms-propositions": "triple terms have no types",
}
"""The tests that fail, with the reason; docs/how-to/rdf.md has them, too."""


class EntailmentTests(Manifest):
    """The tests of a manifest."""

    def failure(self, test: Any) -> str | None:
        """Return why a store fails a test, None if it passes."""
        kind = self._one(test, f"{RDF}type").value.rpartition("#")[2]
        regime = self._one(test, f"{MF}entailmentRegime").value
        known = {each.value for each in self._list(self._one(test, f"{MF}recognizedDatatypes"))}
        action, result = self._one(test, f"{MF}action"), self._one(test, f"{MF}result")
        store = tidelog.rdf.connect(rules=_RULES[regime])
        try:
            store.insert(as_path(action.value), base=action.value)
            store.commit()
        except TidelogError as error:
            return str(error).splitlines()[0]
        contradicts = _contradicts(store, known)
        if isinstance(result, Literal):
            follows, what = contradicts, "a contradiction"
        else:
            follows = contradicts or _follows(result, store, known)
            what = "the graph"
        wanted = kind.startswith("Positive")
        return None if follows is wanted else f"{what} {'does not follow' if wanted else 'follows'}"


def _contradicts(store: Store, known: set[str]) -> bool:
    """Return True if a store has a contradiction that rests on no unrecognized datatype."""
    return any(rule != "dt-not-type" or kind in known for rule, _, kind, _ in store.inconsistencies())


def _follows(result: Any, store: Store, known: set[str]) -> bool:
    """Return True if a graph matches the triples of a store."""
    graph = pyoxigraph.Store()
    for quad in pyoxigraph.parse(store.to_text("ntriples", inferred=True), pyoxigraph.RdfFormat.N_TRIPLES):
        graph.add(Quad(*(by_value(term, known) for term in quad.triple)))
    patterns = [
        pattern(quad.triple, known) for quad in pyoxigraph.parse(path=str(as_path(result.value)), base_iri=result.value)
    ]
    return bool(graph.query(f"ASK {{ {' . '.join(patterns)} }}"))


def pattern(triple: Triple, known: set[str]) -> str:
    """Return a triple as a pattern of SPARQL, in which blank nodes are variables."""
    return " ".join(_variable(by_value(term, known), known) for term in triple)


def _variable(term: Any, known: set[str]) -> str:
    """Return a term of a pattern: blank nodes are variables."""
    if isinstance(term, BlankNode):
        return f"?b{term.value}"
    return f"<<( {pattern(term, known)} )>>" if isinstance(term, Triple) else str(term)


def by_value(term: Any, known: set[str]) -> Any:
    """Return a literal of a recognized datatype in a spelling that all of its value share."""
    if isinstance(term, Triple):
        return Triple(*(by_value(each, known) for each in term))
    if isinstance(term, Literal) and (term.language or term.datatype.value in known) and not term.direction:
        value = value_of(str(term))
        return term if value is None else Literal(repr(value), datatype=NamedNode("urn:value"))
    return term


def main() -> int:
    """Run the tests and print the failures."""
    wrong = 0
    with data.w3c_archive() as archive:
        if archive is None:
            return 2
        for suite in _SUITES:
            manifest, passed, number = EntailmentTests(archive / "rdf" / suite / "manifest.ttl"), 0, 0
            for test in manifest.tests():
                name, reason = test.value.rpartition("#")[2], manifest.failure(test)
                number += 1
                passed += reason is None
                wrong += (reason is not None) is not (name in EXPECTED)
                if reason is not None:
                    print(f"{suite} {name}: {reason} ({EXPECTED.get(name, 'NOT EXPECTED')})")
            print(f"{suite:24} {passed} of {number} tests")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
