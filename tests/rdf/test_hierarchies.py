"""Hierarchies with fewer steps, and rules that an axiom leaves alone."""

from __future__ import annotations

import random

import pytest

from tests.depth import cases
from tests.maintain.test_many_rules import bytecodes
from tests.rdf.stores import delete, insert, triples
from tidelog.rdf import connect
from tidelog.rdf.schema import reduced_steps


def closure(steps: set[tuple[str, str]]) -> set[tuple[str, str]]:
    found = set(steps)
    while more := {(a, d) for a, b in found for c, d in found if b == c} - found:
        found |= more
    return {(a, b) for a, b in found if a != b}


def test_a_circle_has_as_many_steps_as_members() -> None:
    everything = [(a, b) for a in "abcde" for b in "abcde"]
    assert sorted(reduced_steps([], everything)) == [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "a")]


def test_asserted_steps_stay_and_derived_ones_that_they_imply_go() -> None:
    assert reduced_steps([("a", "b"), ("b", "c"), ("a", "c")], [("a", "c"), ("a", "d"), ("c", "d")]) == [
        ("a", "b"),
        ("b", "c"),
        ("a", "c"),
        ("c", "d"),
    ]


@pytest.mark.parametrize("seed", range(cases(80)))
def test_the_closure_stays(seed: int) -> None:
    rng = random.Random(seed)
    names = "abcdefgh"
    asserted, derived = (
        [(rng.choice(names), rng.choice(names)) for _ in range(rng.randrange(most))] for most in (8, 30)
    )
    found = reduced_steps(asserted, derived)
    assert closure({*found}) == closure({*asserted, *derived})
    assert len({*found}) == len(found) <= len({*asserted, *derived}) + len(names)
    assert {*found} >= {(a, b) for a, b in asserted if a != b}


def test_restrictions_that_say_the_same_have_rules_in_proportion() -> None:
    """All n restrictions are below each other: W3C's rules derive n * n steps between them."""
    store = connect(rules="owl-rl")
    size = 30
    found = ";".join(f":R{i} owl:onProperty :p; :R{i} owl:hasValue :v; :R{i} rdf:type owl:Class" for i in range(size))
    insert(store, triples(found))
    insert(store, triples(":x :p :v"))
    store.commit()
    assert len([rule for rule in store.database.rules if rule.startswith("cax_sco")]) < 3 * size
    assert all(
        store.contains(
            "http://example.org/x", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", f"http://example.org/R{i}"
        )
        for i in range(size)
    )
    store.check()


def test_an_axiom_makes_no_rules_of_other_properties_again() -> None:
    counted = []
    for size in (50, 250):
        store = connect(rules="owl-rl")
        insert(store, {(f":p{i}", "rdfs:domain", f":C{i}") for i in range(size)})
        insert(store, {(f":p{i}", "rdfs:range", f":D{i}") for i in range(size)})
        store.commit()
        for edit in (insert, delete):  # What is done once for a store is done.
            edit(store, triples(":A rdfs:subClassOf :B"))
            store.commit()
        insert(store, triples(":A rdfs:subClassOf :B"))
        counted.append(bytecodes(lambda store=store: store.commit()))  # type: ignore[misc]
    # 2,600 where all rules were made and compared again; the engine looks at each rule, which takes 1,200.
    assert (counted[1] - counted[0]) / 400 < 1_600
