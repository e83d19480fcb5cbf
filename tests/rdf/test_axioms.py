"""An axiom that comes or goes is a change of rules: what is not new in it is updated or left alone."""

from __future__ import annotations

import random

import pytest

from tests.maintain.test_many_rules import bytecodes
from tests.rdf.stores import delete, full, insert, stored, terms, triples
from tidelog.maintain.strategies import situation
from tidelog.rdf import TYPE, Store, StoreChange, connect

ONTOLOGY = (
    ":A rdfs:subClassOf :Top; :p rdfs:range :Thing; :p owl:inverseOf :pi; :q rdfs:subPropertyOf :qq; :r rdfs:domain :D;"
    ":R owl:onProperty :p; :R owl:someValuesFrom :A"
)
TWO = ":l rdf:first :p; :l rdf:rest :m; :m rdf:first :q; :m rdf:rest rdf:nil"
AXIOMS = {
    "a subclass": ":B rdfs:subClassOf :A",
    "a domain": ":q rdfs:domain :A",
    "a range": ":q rdfs:range :Y",
    "an inverse": ":q owl:inverseOf :qi",
    "a symmetric property": ":p rdf:type owl:SymmetricProperty",
    "a transitive property": ":q rdf:type owl:TransitiveProperty",
    "a functional property": ":r rdf:type owl:FunctionalProperty",
    "a subproperty": ":p rdfs:subPropertyOf :q",
    "an equivalent class": ":A owl:equivalentClass :E",
    "disjoint classes": ":A owl:disjointWith :B",
    "a chain": f":c owl:propertyChainAxiom :l; {TWO}",
    "a value": ":H owl:onProperty :q; :H owl:hasValue :y1",
    "all values": ":V owl:onProperty :q; :V owl:allValuesFrom :AY; :A rdfs:subClassOf :V",
    "a key": ":A owl:hasKey :l; :l rdf:first :r; :l rdf:rest rdf:nil",
    "an intersection": ":I owl:intersectionOf :l; :l rdf:first :A; :l rdf:rest :m; :m rdf:first :D;:m rdf:rest rdf:nil",
    "two that are the same": ":x1 owl:sameAs :x4",
}


@pytest.fixture(scope="module")
def store() -> Store:
    rng, size = random.Random(1), 1200
    found = connect(rules="owl-rl")
    insert(found, triples(ONTOLOGY))
    insert(found, [(f":x{i}", ":p", f":x{rng.randrange(size)}") for i in range(size)])
    insert(found, [(f":x{i}", "rdf:type", f":{'ABC'[i % 3]}") for i in range(size)])
    insert(found, [(f":x{i}", ":q", f":y{i % 40}") for i in range(size)])
    insert(found, [(f":x{i}", ":r", f":z{i}") for i in range(size)])
    found.commit()
    return found


def evaluated_again(change: StoreChange) -> dict[str, str]:
    """The relations of data that were there and have been evaluated from scratch, though no rule for them is new and
    most of what they read has stayed, with the reasons."""
    nodes = [node for report in change.reports for node in report.nodes if node.strategy == "bootstrap"]
    return {
        name: node.reason
        for node in nodes
        for name in node.relations
        if node.impact and node.reason != "new" and "input tuples changed" not in node.reason and name != "pːmember"
    }


@pytest.mark.parametrize("axiom", AXIOMS)
def test_an_axiom_evaluates_nothing_again(axiom: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(situation, "_ALWAYS_WORTH", 60.0)  # A busy machine gives no update up.
    before, size = set(store.database.rules), len(store)
    for edit in (insert, delete):
        edit(store, triples(AXIOMS[axiom]))
        change = store.commit()
        assert len(change.reports) == 1
        assert change.bootstraps < len(change.reports[0].nodes)
        assert evaluated_again(change) == {}
    for edit in (insert, delete):  # Rules about equality stay until the ontology changes.
        edit(store, triples(":Z rdfs:subClassOf :Y"))
        store.commit()
    assert set(store.database.rules) == before
    assert len(store) == size


def _about_equality(store: Store) -> int:
    return sum(name.startswith("eq_rep_") for name in store.database.rules)


def test_rules_about_equality_come_with_the_first_pair() -> None:
    store = stored(
        terms(triples(":p rdf:type owl:FunctionalProperty; :q rdfs:domain :A; :x :p :y; :y :q :z")), rules="owl-rl"
    )
    assert _about_equality(store) == 0
    insert(store, triples(":x :p :y2"))
    change = store.commit()
    assert len(change.reports) == 2  # The pair shows after the first epoch.
    assert (full(":y2"), full(":q"), full(":z")) in store
    assert (full(":y2"), TYPE, full(":A")) in store
    known = _about_equality(store)
    assert known > 0
    delete(store, triples(":x :p :y2"))
    store.commit()
    insert(store, triples(":x :p :y3"))
    assert len(store.commit().reports) == 1  # The rules have stayed for the next pair.
    assert (full(":y3"), full(":q"), full(":z")) in store
    assert _about_equality(store) == known
    delete(store, triples(":x :p :y3"))
    store.commit()
    insert(store, triples(":B rdfs:subClassOf :A"))
    store.commit()
    assert _about_equality(store) == 0
    store.check()


def test_a_trial_leaves_no_rules_about_equality() -> None:
    store = stored(terms(triples(":p rdf:type owl:FunctionalProperty; :x :p :y; :y :q :z")), rules="owl-rl")
    before, rules = set(store), set(store.database.rules)
    with store.what_if() as trial:
        trial.insert([(full(":x"), full(":p"), full(":y2"))])
    assert trial.change is not None
    assert (full(":y2"), full(":q"), full(":z")) in trial.change.inserted
    assert set(store) == before
    assert set(store.database.rules) == rules
    insert(store, triples(":x :q :z"))
    assert len(store.commit().reports) == 1
    assert set(store.database.rules) == rules


def test_members_of_nothing_are_members_of_all_classes_below_it() -> None:
    store = stored(terms(triples(":A rdfs:subClassOf owl:Nothing; owl:Nothing rdfs:subClassOf :B")), rules="owl-rl")
    insert(store, triples(":x rdf:type :A"))
    store.commit()
    assert (full(":x"), TYPE, full(":B")) in store
    delete(store, triples(":x rdf:type :A"))
    store.commit()
    assert (full(":x"), TYPE, full(":B")) not in store
    store.check()


def _typed(store: Store) -> dict[str, str]:
    return {name: store.database.rules[name] for name in store.database.rules}


def test_an_axiom_is_a_rule_and_nothing_else_is_evaluated_again() -> None:
    store = connect(rules="owl-rl")
    insert(store, triples(":A rdfs:subClassOf :B; :C rdfs:subClassOf :D"))
    insert(store, [(f":x{i}", "rdf:type", f":{'AC'[i % 2]}") for i in range(2000)])
    store.commit()
    rules = _typed(store)
    insert(store, triples(":B rdfs:subClassOf :D"))
    change = store.commit()
    assert len(change.reports) == 1
    assert change.rules_removed == ()
    assert [store.database.rules[name] for name in change.rules_added] == [
        f"{change.rules_added[0]}: aːD(x) :- aːB(x)."
    ]
    assert _typed(store).items() >= rules.items()
    data = [node for node in change.reports[0].nodes if any(name.startswith("aː") for name in node.relations)]
    assert {node.strategy for node in data} <= {"skip", "update"}
    assert len(change.inserted) == 1000 + 2  # :A is below :D as well
    delete(store, triples(":B rdfs:subClassOf :D"))
    change = store.commit()
    data = [node for node in change.reports[0].nodes if any(name.startswith("aː") for name in node.relations)]
    assert {node.strategy for node in data} <= {"skip", "update"}
    assert _typed(store) == rules


def test_a_triple_costs_the_same_under_a_large_ontology() -> None:
    counted = []
    for classes in (20, 120):
        store = connect(rules="owl-rl")
        insert(store, {(f":C{i}", "rdfs:subClassOf", f":C{i // 2}") for i in range(1, classes)})
        insert(store, {(f":p{i}", "rdfs:subPropertyOf", f":p{i // 2}") for i in range(1, classes)})
        for i in range(4):
            insert(store, triples(f":x{i} rdf:type :C3; :x{i} :p3 :y"))
            store.commit()
        insert(store, triples(":x rdf:type :C3; :x :p3 :y"))
        counted.append(bytecodes(lambda store=store: store.commit()))  # type: ignore[misc]
    assert counted[1] - counted[0] < 100, "less than a bytecode for each of 100 classes more"
