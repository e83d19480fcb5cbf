"""Every family of rules, with conclusions written down by hand; and everything against the tables of W3C."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from tests.depth import cases
from tests.rdf.random_ontologies import ontology, triple
from tests.rdf.stores import clashes, delete, everything, insert, stored, terms, triples
from tests.rdf.w3c import closure
from tests.texts import cases_of
from tidelog.rdf import connect

_TEXT = (Path(__file__).parent / "rule_tables.txt").read_text(encoding="utf-8")
_CASES: list[tuple[str, str, str]] = re.findall(r"^(.+)\n(.+)\n=> (.+)$", _TEXT, re.MULTILINE)
CASES = {name: (asserted, expected) for name, asserted, expected in _CASES}
"""By the name of a case, triples and what follows from them."""

NO_CLASHES = {
    "members that must differ, and others that are the same as these": (
        ":all rdf:type owl:AllDifferent; :all owl:members :l; :l rdf:first :x; :l rdf:rest :m; :m rdf:first :y;"
        ":m rdf:rest rdf:nil; :x owl:sameAs :x2; :y owl:sameAs :y2"
    ),
    "distinct members, and one that is the same as one of these": (
        ":all rdf:type owl:AllDifferent; :all owl:distinctMembers :l; :l rdf:first :x; :l rdf:rest :m; :m rdf:first :y;"
        ":m rdf:rest rdf:nil; :x2 owl:sameAs :x"
    ),
    "disjoint classes, and one that is the same as one of these": (
        ":all rdf:type owl:AllDisjointClasses; :all owl:members :l; :l rdf:first :A; :l rdf:rest :m;"
        ":m rdf:first :B; :m rdf:rest rdf:nil; :A owl:sameAs :A2; :x rdf:type :A; :y rdf:type :B"
    ),
    "disjoint properties, and one that is the same as one of these": (
        ":all rdf:type owl:AllDisjointProperties; :all owl:members :l; :l rdf:first :p; :l rdf:rest :m;"
        ":m rdf:first :q; :m rdf:rest rdf:nil; :p owl:sameAs :p2; :x :p :y; :y :q :x"
    ),
}

CLASHES = dict(cases_of(__file__, "clashes"))


@pytest.mark.parametrize("case", CASES)
def test_conclusions(case: str) -> None:
    asserted, expected = map(triples, CASES[case])
    store = stored(terms(asserted), rules="owl-rl")
    assert everything(store) == asserted | expected
    assert clashes(store) == set()
    assert closure(asserted)[0] == asserted | expected, "the tables of W3C agree"


@pytest.mark.parametrize("case", NO_CLASHES)
def test_members_that_must_differ_are_told_apart_by_their_places(case: str) -> None:
    asserted = triples(NO_CLASHES[case])
    store = stored(terms(asserted), rules="owl-rl")
    assert clashes(store) == set() == closure(asserted)[1]


def test_a_property_that_has_no_iri_is_for_rules_only() -> None:
    """What an anonymous inverse relates follows and is used, but is no triple of RDF."""
    store = connect(rules="owl-rl")
    asserted = triples(
        ":R owl:onProperty _:i; :R owl:someValuesFrom :C; _:i owl:inverseOf :p; :x :p :y; :x rdf:type :C;"
        "_:i rdfs:subPropertyOf :q"
    )
    insert(store, asserted)
    change = store.commit()
    expected = asserted | triples(":y rdf:type :R; :y :q :x")
    assert everything(store) == expected
    assert len(store) == len(expected) == len(change.inserted) == len(store.query("triple(s, p, o)"))
    assert not store.contains("http://example.org/y", "_:i", "http://example.org/x")
    again = stored(store.to_text("ntriples", inferred=True), "ntriples")
    assert len(again) == len(expected)
    assert len(store.to_text("turtle", inferred=True).splitlines()) > len(expected)


def test_what_is_the_same_as_itself_counts_where_equality_is_read_as_a_property() -> None:
    store = connect(rules="owl-rl")
    asserted = triples(":r rdfs:subPropertyOf owl:sameAs; owl:sameAs rdfs:subPropertyOf :p; :a :r :a; :b :r :c")
    insert(store, asserted)
    store.commit()
    derived = triples(
        ":a :p :a; :b owl:sameAs :c; :c owl:sameAs :b; :b :p :c; :c :p :b; :b :p :b; :c :p :c; :c :r :c;"
        ":b :r :b; :c :r :b; :r rdfs:subPropertyOf :p"
    )
    assert everything(store) == asserted | derived
    delete(store, triples("owl:sameAs rdfs:subPropertyOf :p"))
    store.commit()
    assert not any(predicate == ":p" for _, predicate, _ in everything(store))


@pytest.mark.parametrize("rule", CLASHES)
def test_inconsistencies_come_and_go(rule: str) -> None:
    asserted = triples(CLASHES[rule])
    store = stored(terms(asserted), rules="owl-rl")
    assert clashes(store) == {rule}
    last = CLASHES[rule].split(";")[-1]
    delete(store, triples(last))
    store.commit()
    assert clashes(store) == set()


def test_members_of_nothing_are_members_of_all_classes() -> None:
    store = connect(rules="owl-rl")
    asserted = triples(":A rdf:type owl:Class; :B rdfs:subClassOf owl:Nothing")
    insert(store, asserted)
    store.commit()
    insert(store, triples(":x rdf:type :B"))
    store.commit()
    assert everything(store) >= triples(":x rdf:type owl:Nothing; :x rdf:type :A; :x rdf:type owl:Thing")
    assert (everything(store), clashes(store)) == closure(asserted | triples(":x rdf:type :B"))


def test_inconsistencies_name_what_clashes() -> None:
    store = stored(terms(triples(CLASHES["cax-dw"])), rules="owl-rl")
    names = ("http://example.org/x", "http://example.org/A", "http://example.org/B")
    assert list(store.inconsistencies()) == [("cax-dw", *names)]


def test_rdfs_concludes_less_than_owl() -> None:
    asserted = triples(":p rdfs:domain :A; :p owl:inverseOf :q; :A rdfs:subClassOf :B; :x :p :y")
    store = stored(terms(asserted), rules="rdfs")
    assert everything(store) == asserted | triples(":x rdf:type :A; :x rdf:type :B")


def of_rdf(found: set[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
    """Those of the triples that RDF has: W3C's rules derive others as well."""
    return {each for each in found if each[1][0] not in '_"' and each[0][0] != '"'}


def _random_changes(rules: str, seed: int, odd: float, steps: int = 4) -> None:
    rng = random.Random(seed)
    store, facts = connect(rules=rules), set[tuple[str, str, str]]()
    for step in range(steps):
        came = {triple(rng, odd) for _ in range(rng.randrange(1, 14 if step == 0 else 5))}
        went = set(rng.sample(sorted(facts), min(len(facts), rng.randrange(4)))) - came
        insert(store, sorted(came))
        delete(store, sorted(went))
        facts = (facts | came) - went
        store.commit()
        expected, wrong = closure(facts, rules)
        assert everything(store) == expected, (seed, step)
        assert clashes(store) == wrong, (seed, step)


@pytest.mark.parametrize("seed", range(cases(20)))
def test_owl_says_of_lists_inverses_and_equality_what_w3c_says(seed: int) -> None:
    rng = random.Random(seed)
    store, facts = connect(rules="owl-rl"), set[tuple[str, str, str]]()
    for step in range(2):
        came = ontology(rng)
        went = set(rng.sample(sorted(facts), min(len(facts), rng.randrange(4)))) - came
        insert(store, sorted(came))
        delete(store, sorted(went))
        facts = (facts | came) - went
        store.commit()
        expected, wrong = closure(facts)
        assert everything(store) == of_rdf(expected), (seed, step)
        assert clashes(store) == wrong, (seed, step)


@pytest.mark.parametrize("seed", range(cases(24)))
def test_owl_follows_data_and_ontology(seed: int) -> None:
    _random_changes("owl-rl", seed, 0.0)


@pytest.mark.parametrize("seed", range(100, 100 + cases(20)))
def test_owl_follows_data_that_speak_of_the_ontology(seed: int) -> None:
    _random_changes("owl-rl", seed, 0.25)


@pytest.mark.parametrize("seed", range(200, 200 + cases(12)))
def test_rdfs_follows_data_and_ontology(seed: int) -> None:
    _random_changes("rdfs", seed, 0.2)
