"""Queries see the triples that rules see: compared with a database that has a relation of pairs for each property,
rdf:type among them, and knows nothing of classes as relations of their own."""

from __future__ import annotations

import random

import pytest

import tidelog
from tests.rdf.random_ontologies import ontology
from tests.rdf.stores import EXAMPLE, everything, full, insert, short, triples
from tests.rdf.w3c import Triple
from tidelog.rdf import Store, connect

DATA = ":x rdf:type :A; :A rdfs:subClassOf :B; :B rdfs:subClassOf :C; :y rdf:type :D; :x :p :y; :y :p :z"
NAMES = {"rdf:type": "type", "rdfs:subClassOf": "below", ":p": "p", ":q": "q"}
PATHS = [
    "rdf:type/rdfs:subClassOf*",
    "rdf:type/rdfs:subClassOf+",
    "rdf:type?",
    "rdf:type*",
    "^rdf:type",
    "^rdf:type/:p",
    "(:p|rdf:type)+",
    "(:p|^:p)*/rdf:type",
    "rdf:type/^rdf:type",
    "rdfs:subClassOf*",
    ":p+/rdf:type",
    ":p?/rdf:type",
]


def store_of(facts: set[Triple], rules: str | None = None, program: str = "") -> Store:
    store = connect(rules=rules)
    store.load(f"@prefix : <{EXAMPLE}> .\n{program}")
    insert(store, sorted(facts))
    store.commit()
    return store


def asked(store: Store, path: str) -> set[tuple[str, str]]:
    return {(short(str(x)), short(str(y))) for x, y in store.query(f"<{path}>(x, y)")}


def plain(facts: set[Triple], path: str) -> set[tuple[object, ...]]:
    """The same of relations of pairs."""
    database = tidelog.connect()
    others = {name: f"other{i}" for i, name in enumerate(sorted({p for _, p, _ in facts} - NAMES.keys()))}
    for name in (*NAMES.values(), *others.values()):
        database.load(f".decl {name}(x: symbol, y: symbol)")
    for subject, predicate, value in sorted(facts):
        database.insert({**NAMES, **others}[predicate], [(subject, value)])
    database.commit()
    for name, relation in NAMES.items():
        path = path.replace(name, relation)
    return set(database.query(f"<{path}>(x, y)"))


@pytest.mark.parametrize("path", PATHS)
def test_paths_along_types(path: str) -> None:
    store = store_of(triples(DATA))
    assert asked(store, path) == plain(triples(DATA), path)


def test_a_class_that_nothing_else_speaks_of_is_a_node() -> None:
    store = store_of(triples(DATA))
    assert (":y", ":D") in asked(store, "rdf:type/rdfs:subClassOf*")
    assert (":D", ":D") in asked(store, ":p*")


def test_rules_have_the_nodes_that_queries_have() -> None:
    """Also for types that come and go later, and when the rule is there only after the data."""
    program = ".decl v(x: symbol, y: symbol)\nlabelled: v(x, y) :- <rdf:type/rdfs:subClassOf*>(x, y)."
    store = store_of(triples(DATA))
    queried = asked(store, "rdf:type/rdfs:subClassOf*")
    store.load(program)
    store.commit()
    assert {(short(str(x)), short(str(y))) for x, y in store["v"]} == queried
    more = triples(":z rdf:type :E")
    insert(store, more)
    store.commit()
    assert {(short(str(x)), short(str(y))) for x, y in store["v"]} == queried | {(":z", ":E")}
    store.delete([tuple(map(full, triple)) for triple in more])
    store.commit()
    assert {(short(str(x)), short(str(y))) for x, y in store["v"]} == queried
    assert asked(store, "rdf:type/rdfs:subClassOf*") == queried
    assert everything(store) == triples(DATA)
    store.check()


def test_no_rule_has_to_be_there_for_a_query_of_all_triples() -> None:
    program = ".decl v(x: symbol)\nlabelled: v(x) :- triple(x, _, _)."
    store = store_of(triples(DATA), program=program)
    before = set(store.query("triple(s, p, o)"))
    store.remove_rule("labelled")
    store.commit()
    assert set(store.query("triple(s, p, o)")) == before
    assert len(before) == len(triples(DATA))


@pytest.mark.parametrize("seed", range(4))
def test_queries_see_what_follows(seed: int) -> None:
    rng = random.Random(seed)
    store = store_of(ontology(rng) | ontology(rng), "owl-rl")
    seen = everything(store)
    for path in ("rdf:type/rdfs:subClassOf+", "^rdf:type/:p", "(:p|:q)+/rdf:type", "rdf:type"):
        # Literals are no subjects of triples, though rules and paths see them so.
        assert {pair for pair in asked(store, path) if not pair[0].isdigit()} == plain(seen, path), path
    assert {tuple(map(short, row)) for row in store.query("triple(s, p, o)")} == seen  # type: ignore[arg-type]
    assert {(s, o) for s, p, o in seen if p == "rdf:type"} == {
        tuple(map(short, row))  # type: ignore[arg-type]
        for row in store.query("rdf:type(s, o)")
    }
