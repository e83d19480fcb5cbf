"""Ten small ontologies, which use everything of OWL 2 RL: what follows is what W3C's tables say, whichever way it came
about, and what other reasoners find, but for differences that are written down here."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import rdflib

from tests.rdf.stores import clashes, delete, everything, insert, short, stored
from tests.rdf.w3c import Triple, closure
from tidelog.rdf import Store, connect, term

FOLDER = Path(__file__).parent / "ontologies"
ONTOLOGIES = sorted(path.stem for path in FOLDER.iterdir())


def store_of(name: str) -> Store:
    return stored(FOLDER / f"{name}.ttl", rules="owl-rl")


def shortened(triples: Iterable[Iterable[Any]]) -> set[Triple]:
    return {tuple(short(term(part)) for part in triple) for triple in triples}  # type: ignore[misc]


def followed(asserted: set[Triple]) -> tuple[set[Triple], set[str]]:
    """Return the consequences by W3C's tables; literals are subjects there."""
    triples, wrong = closure(asserted)
    return {triple for triple in triples if not triple[0].startswith('"')}, wrong


def test_there_are_ten() -> None:
    assert len(ONTOLOGIES) == 10


@pytest.mark.parametrize("name", ONTOLOGIES)
def test_what_follows_is_what_the_tables_say(name: str) -> None:
    store = store_of(name)
    asserted = shortened(store.triples(inferred=False))
    assert len(store.inferred()) > 0
    assert (everything(store), clashes(store)) == followed(asserted)
    store.check()


@pytest.mark.parametrize("name", ONTOLOGIES)
def test_it_does_not_matter_how_it_came_about(name: str) -> None:
    whole = store_of(name)
    triples = sorted(shortened(whole.triples(inferred=False)))
    rng = random.Random(name)
    rng.shuffle(triples)
    store = connect(rules="owl-rl")
    for i in range(3):
        insert(store, triples[i::3])
        store.commit()
    assert (everything(store), clashes(store)) == (everything(whole), clashes(whole))
    gone = triples[::2]
    delete(store, gone)
    store.commit()
    assert (everything(store), clashes(store)) == followed(set(triples) - set(gone))
    delete(store, triples)
    store.commit()
    assert (len(store), clashes(store)) == (0, set())


# --- other reasoners --------------------------------------------------------------------------------------------------

ONLY_OWLRL = {
    # Members that agree in one property of a key are the same to owlrl, also where they differ in the other.
    "keys": {
        *((x, "owl:sameAs", y) for x, y in ((":a", ":c"), (":b", ":c"), (":c", ":a"), (":c", ":b"))),
        *((x, ":last", y) for x, y in ((":a", '"C"'), (":b", '"C"'), (":c", '"B"'))),
        (":c", ":likes", ":tea"),
    },
    # The axiomatic triple `owl:Thing rdfs:subClassOf owl:Thing` makes a restriction to owl:Thing a class below itself.
    "restrictions": {(":R7", "rdfs:subClassOf", ":R7"), (":R7", "owl:equivalentClass", ":R7")},
}
_HIERARCHIES = ("rdfs:subClassOf", "rdfs:subPropertyOf", "owl:equivalentClass", "owl:equivalentProperty")
_ERRORS = "http://www.daml.org/2002/03/agents/agent-ont#"


def says_something(triple: Triple) -> bool:
    """Return True if tidelog would have a triple of another reasoner; see "Left out" in how-to/rdf.md."""
    subject, predicate, value = triple
    return not (
        subject.startswith(("owl:", "rdf:", "rdfs:", "xsd:", '"'))
        or subject.isdigit()  # a literal as well
        or (predicate, value) == ("rdf:type", "owl:Thing")
        or (predicate == "owl:sameAs" and subject == value)
        or _ERRORS in predicate + value
    )


def expanded_by_owlrl(graph: rdflib.Graph) -> set[Triple]:
    import owlrl

    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
    return shortened(graph)


def expanded_by_reasonable(graph: rdflib.Graph) -> set[Triple]:
    import reasonable

    reasoner = reasonable.PyReasoner()
    reasoner.from_graph(graph)
    return shortened(reasoner.reason()) | shortened(graph)


@pytest.mark.parametrize("name", ONTOLOGIES)
def test_owlrl_finds_the_same(name: str) -> None:
    store = store_of(name)
    ours, theirs = everything(store), expanded_by_owlrl(store.to_rdflib(inferred=False))
    assert {triple for triple in theirs - ours if says_something(triple)} == ONLY_OWLRL.get(name, set())
    # What is equivalent to something is below itself: owlrl leaves out what comes back to where it began.
    assert all(s == o and p in _HIERARCHIES for s, p, o in ours - theirs)
    errors = {triple for triple in theirs if _ERRORS in triple[1]}
    assert bool(errors) == bool(clashes(store))


@pytest.mark.parametrize("name", ONTOLOGIES)
def test_reasonable_finds_nothing_else(name: str) -> None:
    store = store_of(name)
    theirs = expanded_by_reasonable(store.to_rdflib(inferred=False))
    assert {triple for triple in theirs - everything(store) if says_something(triple)} == set()
