"""The next version of a graph in place of the present one."""

from __future__ import annotations

import random

import pyoxigraph
import pytest

from tests.depth import cases
from tests.rdf.stores import EXAMPLE, full, stored
from tidelog import UsageError
from tidelog.rdf import Store, connect
from tidelog.rdf.terms import PREFIXES, TYPE

HEADER = "\n".join(f"@prefix {name}: <{iri}> ." for name, iri in {**PREFIXES, "": EXAMPLE}.items())
NAME = "http://example.org/onto"
ONTOLOGY = """
:A rdfs:subClassOf [ owl:onProperty :p ; owl:someValuesFrom :B ] , [ owl:onProperty :p ; owl:someValuesFrom :C ] .
:U owl:unionOf (:A :B [ owl:complementOf :C ]) ."""


def replaced(store: Store, text: str) -> tuple[int, int]:
    """The numbers of asserted triples that came and went."""
    before = set(store.quads())
    store.replace(f"{HEADER}\n{text}", NAME)
    store.commit()
    after = set(store.quads())
    return len(after - before), len(before - after)


def test_the_same_file_twice_changes_nothing() -> None:
    store = connect(rules="owl-rl")
    assert replaced(store, ONTOLOGY) == (14, 0)
    assert replaced(store, ONTOLOGY) == (0, 0)
    assert store.graphs() == (NAME,)


def test_the_next_version_changes_the_difference() -> None:
    store = connect(rules="owl-rl")
    store.insert(f"{HEADER} :x :p :b . :b a :B .")
    replaced(store, ONTOLOGY + ":B rdfs:subClassOf :Old .")
    assert store.contains(full(":b"), TYPE, full(":Old"))
    assert replaced(store, ONTOLOGY + ":B rdfs:subClassOf :New .") == (1, 1)
    assert not store.contains(full(":b"), TYPE, full(":Old"))
    assert store.contains(full(":b"), TYPE, full(":New"))
    assert store.contains(full(":b"), TYPE, full(":B"))
    assert replaced(store, "") == (0, 15)
    assert len(store.triples(inferred=False)) == 2


def test_a_triple_that_others_assert_too_stays() -> None:
    store = connect()
    store.insert(f"{HEADER} :a :p :b .")
    replaced(store, ":a :p :b, :c .")
    replaced(store, ":a :p :c .")
    assert {tuple(row)[2:] for row in store.quads()} == {(full(":b"), ""), (full(":c"), NAME)}


@pytest.mark.parametrize("seed", range(cases(40)))
def test_any_next_version_is_what_its_text_says(seed: int) -> None:
    rng = random.Random(seed)
    store = connect()
    for _ in range(4):
        terms = [f"_:b{i}" for i in range(5)] + [":a", ":b"]
        text = " ".join(
            f"{rng.choice(terms)} :{rng.choice('pq')} {rng.choice(terms)} ." for _ in range(rng.randrange(14))
        )
        replaced(store, text)
        found, wanted = (
            pyoxigraph.Dataset(
                pyoxigraph.Quad(*quad.triple) for quad in pyoxigraph.parse(data, pyoxigraph.RdfFormat.TURTLE)
            )
            for data in (store.to_text("ntriples"), f"{HEADER}\n{text}")
        )
        for each in (found, wanted):
            each.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)
        assert set(found) == set(wanted)


def test_changes_that_wait_are_committed_first() -> None:
    store = connect()
    store.replace(f"{HEADER} :a :p :b .", NAME)
    with pytest.raises(UsageError, match="E0606"):
        store.replace(f"{HEADER} :a :p :c .", NAME)
    store.commit()
    assert len(store) == 1


def test_ontologies_that_are_imported_and_not_there() -> None:
    store = stored(f"{HEADER} :o a owl:Ontology ; owl:imports :one, :two .")
    assert store.missing_imports() == (full(":one"), full(":two"))
    store.insert(f"{HEADER} :one a owl:Ontology .")
    store.commit()
    assert store.missing_imports() == (full(":two"),)
