"""Every family of rules, with conclusions written down by hand; and everything against the tables of W3C."""

from __future__ import annotations

import random

import pytest

from tests.depth import cases
from tests.rdf.random_ontologies import ontology, triple
from tests.rdf.stores import clashes, delete, everything, insert, triples
from tests.rdf.w3c import closure
from tidelog.rdf import connect

CASES = {
    "equality": (":a owl:sameAs :b; :a :p :c; :d :p :a", ":b owl:sameAs :a; :b :p :c; :d :p :b"),
    "equality is transitive": (
        ":a owl:sameAs :b; :c owl:sameAs :b",
        ":b owl:sameAs :a; :a owl:sameAs :c; :c owl:sameAs :a; :b owl:sameAs :c",
    ),
    "the same property": (":p owl:sameAs :q; :a :p :b", ":q owl:sameAs :p; :a :q :b"),
    "the same class": (":A owl:sameAs :B; :a rdf:type :A", ":B owl:sameAs :A; :a rdf:type :B"),
    "domain and range": (
        ":p rdfs:domain :A; :p rdfs:range :B; :x :p :y",
        ":x rdf:type :A; :y rdf:type :B",
    ),
    "functional": (
        ":p rdf:type owl:FunctionalProperty; :x :p :y; :x :p :z",
        ":y owl:sameAs :z; :z owl:sameAs :y",
    ),
    "inverse functional": (
        ":p rdf:type owl:InverseFunctionalProperty; :x :p :z; :y :p :z",
        ":x owl:sameAs :y; :y owl:sameAs :x",
    ),
    "symmetric": (":p rdf:type owl:SymmetricProperty; :x :p :y", ":y :p :x"),
    "transitive": (":p rdf:type owl:TransitiveProperty; :x :p :y; :y :p :z", ":x :p :z"),
    "sub-properties": (
        ":p rdfs:subPropertyOf :q; :q rdfs:subPropertyOf :r; :x :p :y",
        ":p rdfs:subPropertyOf :r; :x :q :y; :x :r :y",
    ),
    "equivalent properties": (
        ":p owl:equivalentProperty :q; :x :p :y; :u :q :v",
        ":q owl:equivalentProperty :p; :p rdfs:subPropertyOf :q; :q rdfs:subPropertyOf :p; :x :q :y; :u :p :v;"
        ":p rdfs:subPropertyOf :p; :q rdfs:subPropertyOf :q; :p owl:equivalentProperty :p;"
        ":q owl:equivalentProperty :q",
    ),
    "inverse": (":p owl:inverseOf :q; :x :p :y; :u :q :v", ":y :q :x; :v :p :u"),
    "chain": (
        ":p owl:propertyChainAxiom :l; :l rdf:first :q; :l rdf:rest :m; :m rdf:first :r; :m rdf:rest rdf:nil;"
        ":x :q :y; :y :r :z",
        ":x :p :z",
    ),
    "key": (
        ":A owl:hasKey :l; :l rdf:first :p; :l rdf:rest rdf:nil; :x rdf:type :A; :y rdf:type :A; :x :p :v; :y :p :v;"
        ":z :p :v",
        ":x owl:sameAs :y; :y owl:sameAs :x",
    ),
    "intersection": (
        ":A owl:intersectionOf :l; :l rdf:first :B; :l rdf:rest :m; :m rdf:first :C; :m rdf:rest rdf:nil;"
        ":x rdf:type :B; :x rdf:type :C; :y rdf:type :A",
        ":x rdf:type :A; :y rdf:type :B; :y rdf:type :C; :A rdfs:subClassOf :B; :A rdfs:subClassOf :C",
    ),
    "union": (
        ":A owl:unionOf :l; :l rdf:first :B; :l rdf:rest rdf:nil; :x rdf:type :B",
        ":x rdf:type :A; :B rdfs:subClassOf :A",
    ),
    "enumeration": (":A owl:oneOf :l; :l rdf:first :x; :l rdf:rest rdf:nil", ":x rdf:type :A"),
    "some values": (
        ":R owl:someValuesFrom :B; :R owl:onProperty :p; :x :p :y; :y rdf:type :B; :u :p :v",
        ":x rdf:type :R",
    ),
    "some values of any class": (":R owl:someValuesFrom owl:Thing; :R owl:onProperty :p; :u :p :v", ":u rdf:type :R"),
    "all values": (":R owl:allValuesFrom :B; :R owl:onProperty :p; :x rdf:type :R; :x :p :y", ":y rdf:type :B"),
    "a value": (
        ":R owl:hasValue :v; :R owl:onProperty :p; :x rdf:type :R; :y :p :v",
        ":x :p :v; :y rdf:type :R",
    ),
    "at most one": (
        ":R owl:maxCardinality 1; :R owl:onProperty :p; :x rdf:type :R; :x :p :y; :x :p :z; :u :p :v; :u :p :w",
        ":y owl:sameAs :z; :z owl:sameAs :y",
    ),
    "at most one of a class": (
        ":R owl:maxQualifiedCardinality 1; :R owl:onProperty :p; :R owl:onClass :B; :x rdf:type :R; :x :p :y; :x :p :z;"
        ":x :p :w; :y rdf:type :B; :z rdf:type :B",
        ":y owl:sameAs :z; :z owl:sameAs :y",
    ),
    "sub-classes": (
        ":A rdfs:subClassOf :B; :B rdfs:subClassOf :C; :x rdf:type :A",
        ":A rdfs:subClassOf :C; :x rdf:type :B; :x rdf:type :C",
    ),
    "declared classes": (
        ":A rdf:type owl:Class; :x rdf:type :A",
        ":A rdfs:subClassOf :A; :A owl:equivalentClass :A; :A rdfs:subClassOf owl:Thing; "
        "owl:Nothing rdfs:subClassOf :A;"
        ":x rdf:type owl:Thing; owl:Nothing rdfs:subClassOf owl:Thing",
    ),
    "members of nothing are everything": (
        ":A rdf:type owl:Class; :B rdfs:subClassOf owl:Nothing",
        ":A rdfs:subClassOf :A; :A owl:equivalentClass :A; :A rdfs:subClassOf owl:Thing;"
        "owl:Nothing rdfs:subClassOf :A; owl:Nothing rdfs:subClassOf owl:Thing;"
        ":B rdfs:subClassOf :A; :B rdfs:subClassOf owl:Thing",
    ),
    "schema of restrictions": (
        ":R owl:someValuesFrom :A; :R owl:onProperty :p; :S owl:someValuesFrom :B; :S owl:onProperty :p;"
        ":A rdfs:subClassOf :B; :x rdf:type :R",
        ":R rdfs:subClassOf :S; :x rdf:type :S",
    ),
    "domains are inherited": (
        ":p rdfs:domain :A; :A rdfs:subClassOf :B; :q rdfs:subPropertyOf :p",
        ":p rdfs:domain :B; :q rdfs:domain :A; :q rdfs:domain :B",
    ),
    "data that make a property transitive": (
        ":Way rdfs:subClassOf owl:TransitiveProperty; :p rdf:type :Way; :x :p :y; :y :p :z",
        ":p rdf:type owl:TransitiveProperty; :x :p :z",
    ),
    "data that make a class": (
        ":kind rdfs:subPropertyOf rdf:type; :x :kind :A; :A rdfs:subClassOf :B",
        ":x rdf:type :A; :x rdf:type :B",
    ),
    "data that make a subclass": (
        ":below rdfs:subPropertyOf rdfs:subClassOf; :A :below :B; :x rdf:type :A",
        ":A rdfs:subClassOf :B; :x rdf:type :B",
    ),
}

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

CLASHES = {
    "prp-adp": ":all rdf:type owl:AllDisjointProperties; :all owl:members :l; :l rdf:first :p; :l rdf:rest :m;"
    ":m rdf:first :o; :m rdf:rest :n; :n rdf:first :q; :n rdf:rest rdf:nil; :x :p :y; :x :q :y",
    "eq-diff3": ":all rdf:type owl:AllDifferent; :all owl:distinctMembers :l; :l rdf:first :x; :l rdf:rest :m;"
    ":m rdf:first :x; :m rdf:rest rdf:nil",
    "cls-nothing2": ":x rdf:type owl:Nothing",
    "cls-com": ":A owl:complementOf :B; :x rdf:type :A; :x rdf:type :B",
    "cls-maxc1": ":R owl:maxCardinality 0; :R owl:onProperty :p; :x rdf:type :R; :x :p :y",
    "cls-maxqc1": ":R owl:maxQualifiedCardinality 0; :R owl:onProperty :p; :R owl:onClass :B; :x rdf:type :R; :x :p :y;"
    ":y rdf:type :B",
    "cax-dw": ":A owl:disjointWith :B; :x rdf:type :A; :x rdf:type :B",
    "cax-adc": ":all rdf:type owl:AllDisjointClasses; :all owl:members :l; :l rdf:first :A; :l rdf:rest :m;"
    ":m rdf:first :B; :m rdf:rest rdf:nil; :x rdf:type :A; :x rdf:type :B",
    "prp-irp": ":p rdf:type owl:IrreflexiveProperty; :x :p :x",
    "prp-asyp": ":p rdf:type owl:AsymmetricProperty; :x :p :y; :y :p :x",
    "prp-pdw": ":p owl:propertyDisjointWith :q; :x :p :y; :x :q :y",
    "prp-npa1": ":n owl:sourceIndividual :x; :n owl:assertionProperty :p; :n owl:targetIndividual :y; :x :p :y",
    "eq-diff1": ":x owl:sameAs :y; :x owl:differentFrom :y",
    "eq-diff2": ":all rdf:type owl:AllDifferent; :all owl:members :l; :l rdf:first :x; :l rdf:rest :m; :m rdf:first :y;"
    ":m rdf:rest rdf:nil; :x owl:sameAs :y",
}


@pytest.mark.parametrize("case", CASES)
def test_conclusions(case: str) -> None:
    asserted, expected = map(triples, CASES[case])
    store = connect(rules="owl-rl")
    insert(store, asserted)
    store.commit()
    assert everything(store) == asserted | expected
    assert clashes(store) == set()
    assert closure(asserted)[0] == asserted | expected, "the tables of W3C agree"


@pytest.mark.parametrize("case", NO_CLASHES)
def test_members_that_must_differ_are_told_apart_by_their_places(case: str) -> None:
    asserted = triples(NO_CLASHES[case])
    store = connect(rules="owl-rl")
    insert(store, asserted)
    store.commit()
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
    again = connect()
    again.insert(store.to_text("ntriples", inferred=True), "ntriples")
    again.commit()
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
    store = connect(rules="owl-rl")
    insert(store, asserted)
    store.commit()
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
    store = connect(rules="owl-rl")
    insert(store, triples(CLASHES["cax-dw"]))
    store.commit()
    names = ("http://example.org/x", "http://example.org/A", "http://example.org/B")
    assert list(store.inconsistencies()) == [("cax-dw", *names)]


def test_rdfs_concludes_less_than_owl() -> None:
    asserted = triples(":p rdfs:domain :A; :p owl:inverseOf :q; :A rdfs:subClassOf :B; :x :p :y")
    store = connect(rules="rdfs")
    insert(store, asserted)
    store.commit()
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
