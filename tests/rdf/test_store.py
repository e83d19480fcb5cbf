"""Stores: what is asserted and what follows, changes, failures that leave no trace, the relations underneath."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

import tidelog
from tests.rdf.stores import EXAMPLE, clashes, delete, everything, full, insert, stored, terms, triples
from tests.rdf.w3c import closure
from tidelog import DataError, LimitError
from tidelog.rdf import TYPE, Store, connect

ANIMALS = triples(":Dog rdfs:subClassOf :Mammal; :Mammal rdfs:subClassOf :Animal; :rex rdf:type :Dog")


def animals() -> Store:
    return stored(terms(ANIMALS), rules="owl-rl")


def test_inferred_triples_are_kept_apart() -> None:
    store = animals()
    follows = triples(":Dog rdfs:subClassOf :Animal; :rex rdf:type :Mammal; :rex rdf:type :Animal")
    assert everything(store) == ANIMALS | follows
    assert {tuple(map(full, triple)) for triple in follows} == set(store.inferred())
    assert {tuple(map(full, triple)) for triple in ANIMALS} == set(store.triples(inferred=False))
    assert len(store.to_rdflib(inferred=False)) == 3
    assert store.to_text("nquads", inferred=True).count("<urn:tidelog:inferred>") == 3
    again = stored(store.to_text("nquads", inferred=True), format="nquads")
    assert set(again) == set(store.triples(inferred=False))
    insert(store, follows)
    store.commit()
    assert len(store.inferred()) == 0
    delete(store, follows)
    store.commit()
    assert everything(store) == ANIMALS | follows


def test_patterns() -> None:
    store = animals()
    rex, dog = EXAMPLE + "rex", EXAMPLE + "Dog"
    assert len(store.triples(rex)) == 3
    assert list(store.triples(rex, TYPE, dog)) == [(rex, TYPE, dog)]
    assert len(store.triples(predicate=TYPE)) == 3
    assert list(store.triples(object=dog)) == [(rex, TYPE, dog)]
    assert len(store.triples(None, None, EXAMPLE + "Animal", inferred=False)) == 1
    assert len(store.triples(EXAMPLE + "nobody")) == len(store.triples(predicate=EXAMPLE + "nothing")) == 0
    assert (rex, TYPE, dog) in store
    assert (rex, dog, TYPE) not in store
    assert not store.contains(rex, TYPE, "http://nowhere/")


def test_changes_are_net() -> None:
    store = animals()
    delete(store, triples(":rex rdf:type :Dog"))
    insert(store, triples(":rex rdf:type :Mammal; :tom rdf:type :Dog"))
    change = store.commit()
    tom = {(EXAMPLE + "tom", TYPE, EXAMPLE + name) for name in ("Dog", "Mammal", "Animal")}
    assert set(change.inserted) == tom
    assert set(change.deleted) == {(EXAMPLE + "rex", TYPE, EXAMPLE + "Dog")}
    assert (change.rules_added, change.rules_removed) == ((), ())
    insert(store, triples(":tom rdf:type :Dog"))
    delete(store, triples(":nobody rdf:type :Dog"))
    change = store.commit()
    assert len(change.inserted) == len(change.deleted) == 0


def test_the_last_of_several_calls_about_a_triple_counts() -> None:
    store = animals()
    insert(store, triples(":tom rdf:type :Dog"))
    delete(store, triples(":tom rdf:type :Dog; :Mammal rdfs:subClassOf :Animal"))
    insert(store, triples(":Mammal rdfs:subClassOf :Animal"))
    change = store.commit()
    assert len(change.inserted) == len(change.deleted) == 0
    assert (change.rules_added, change.rules_removed) == ((), ())


def test_pending_changes_can_be_dropped() -> None:
    store = animals()
    insert(store, triples(":tom rdf:type :Dog; :Animal rdfs:subClassOf :Thing"))
    store.rollback()
    store.commit()
    assert len(store) == 6


def test_a_bad_document_is_not_inserted_by_half() -> None:
    store = animals()
    with pytest.raises(DataError):
        store.insert("<http://a/s> <http://a/p> 1, 2 . <http://a/s> <http://a/p> .")
    store.commit()
    assert len(store) == 6


@pytest.mark.parametrize("again", [False, True], ids=["dropped", "committed-again"])
@pytest.mark.parametrize("epochs", [1, 2])
def test_a_commit_that_fails_leaves_no_trace(epochs: int, again: bool) -> None:
    store, unlimited = animals(), animals()
    rules, before = set(store.database.rules), everything(store)
    # What :below says is found in the first epoch, and what follows from it in the second.
    axiom = ":Animal rdfs:subClassOf :Body"
    if epochs == 2:
        axiom = ":below rdfs:subPropertyOf rdfs:subClassOf; :Dog :below :B0;"
        axiom += ";".join(f":B{i} rdfs:subClassOf :B{i + 1}" for i in range(5))
    for each in (store, unlimited):
        insert(each, triples(axiom))
        insert(each, [(f":x{i}", "rdf:type", ":Dog") for i in range(3000)])
        delete(each, triples(":rex rdf:type :Dog"))
        each.load("@prefix : <http://example.org/> .\n mine: :Mine(x) :- :Dog(x).")
    store.options(max_rows=9_500 if epochs == 1 else 13_000)
    done = store.database.stats()["epochs"]
    with pytest.raises(LimitError):
        store.commit()
    assert store.database.stats()["epochs"] == done + (2 if epochs == 2 else 0), "one that succeeds, and one back"
    assert everything(store) == before
    assert set(store.database.rules) == rules
    store.options(max_rows=None)
    if again:
        store.commit()
        unlimited.commit()
        assert everything(store) == everything(unlimited)
        assert len(store.database.rules) == len(unlimited.database.rules)  # some names have numbers
        return
    store.rollback()
    insert(store, triples(axiom))
    store.commit()
    assert everything(store) == closure(ANIMALS | triples(axiom))[0]
    delete(store, triples(axiom))
    store.commit()
    assert everything(store) == before


def test_equality_is_a_closure_where_nothing_else_derives_it() -> None:
    store = stored(terms([(f":x{i}", "owl:sameAs", f":x{i + 1}") for i in range(60)]), rules="owl-rl")
    assert len(store) == 61 * 60
    assert store.database.engine.views["pːsameAs"].form == "compressed"
    delete(store, triples(":x30 owl:sameAs :x31"))
    store.commit()
    assert len(store) == 31 * 30 + 30 * 29


def test_updates_alone_give_the_same() -> None:
    rng = random.Random(11)
    store = connect(rules="owl-rl")
    schema = triples(
        ":p rdf:type owl:TransitiveProperty; :p rdfs:domain :A; :A rdfs:subClassOf :B; :q owl:inverseOf :p;"
        ":R owl:someValuesFrom :B; :R owl:onProperty :q; :f rdf:type owl:FunctionalProperty"
    )
    facts = set(schema)
    insert(store, schema)
    store.commit()
    store.options(strategy="update")
    for _ in range(12):
        came = {(f":{rng.choice('abcdef')}", f":{rng.choice('pqf')}", f":{rng.choice('abcdef')}") for _ in range(3)}
        went = set(rng.sample(sorted(facts), 2))
        facts = (facts | came) - went
        insert(store, came)
        delete(store, went)
        change = store.commit()
        assert {node.strategy for report in change.reports for node in report.nodes if node.reason != "new"} <= {
            "skip",
            "update",
            "drop",
        }
        assert everything(store) == closure(facts)[0]


def test_certificates_hold() -> None:
    store = animals()
    insert(store, triples(":A owl:disjointWith :Animal; :rex rdf:type :A; :p rdf:type owl:SymmetricProperty; :a :p :b"))
    store.commit()
    assert clashes(store) == {"cax-dw"}
    store.check()


def test_a_change_says_what_can_no_longer_be() -> None:
    store = animals()
    insert(store, triples(":Plant owl:disjointWith :Mammal; :rex rdf:type :Plant"))
    change = store.commit()
    found = ("cax-dw", full(":rex"), full(":Plant"), full(":Mammal"))
    assert change.inconsistencies == set(store.inconsistencies()) == {found}
    assert "inconsistencies +1" in repr(change)
    assert "1 inconsistencies" in repr(store)
    insert(store, triples(":tom rdf:type :Dog"))
    assert store.commit().inconsistencies == set()
    delete(store, triples(":rex rdf:type :Plant"))
    change = store.commit()
    assert change.inconsistencies == set()
    assert "inconsistencies" not in repr(change) + repr(store)


def test_equal_last_parts_are_different_relations() -> None:
    store = stored(
        "<http://a/x> <http://a/p> 1 ; <http://b/p> 2 ; <http://c#p> 3 . <http://a/x> a <http://a/p>, <http://b/p> ."
    )
    assert len(store) == 5
    assert len(store.triples(predicate="http://b/p")) == 1


def test_importing_loads_neither_library() -> None:
    code = "import sys, tidelog; print(*sorted({'pyoxigraph', 'rdflib', 'tidelog.rdf'} & set(sys.modules)));"
    code += "tidelog.rdf.connect(rules='rdfs'); print(*sorted({'pyoxigraph', 'rdflib'} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded == "\n\n"


def test_libraries_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    monkeypatch.setitem(sys.modules, "rdflib", None)
    store = stored("<http://a/s> <http://a/p> <http://a/o> .\n", format="nt")
    for call in (lambda: store.insert("@base <http://a/> ."), store.to_rdflib, store.to_text):
        with pytest.raises(tidelog.SetupError) as caught:
            call()
        assert caught.value.code == "E0790"
        assert ".[rdf]" in str(caught.value)
    assert "Store" in repr(store)
