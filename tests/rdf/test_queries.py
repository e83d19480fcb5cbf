"""Queries see the triples that rules see: compared with a database that has a relation of pairs for each property,
rdf:type among them, and knows nothing of classes as relations of their own."""

from __future__ import annotations

import random

import pytest

import tidelog
from tests.depth import cases
from tests.rdf.random_ontologies import ontology
from tests.rdf.stores import EXAMPLE, everything, full, insert, short, triples
from tests.rdf.w3c import Triple
from tests.texts import cases_of
from tidelog.rdf import Store, connect

DATA = ":x rdf:type :A; :A rdfs:subClassOf :B; :B rdfs:subClassOf :C; :y rdf:type :D; :x :p :y; :y :p :z"
NAMES = {"rdf:type": "type", "rdfs:subClassOf": "below", ":p": "p", ":q": "q"}
PATHS = cases_of(__file__, "paths")


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
    store.rules.remove("labelled")
    store.commit()
    assert set(store.query("triple(s, p, o)")) == before
    assert len(before) == len(triples(DATA))


@pytest.mark.parametrize("seed", range(cases(8)))
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


def test_bodies_over_properties_classes_types_and_triples() -> None:
    store = connect(rules="rdfs")
    prefix = "@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."
    store.load(prefix.split(" @prefix rdfs", maxsplit=1)[0] + "\n.decl old(x: symbol, n: number)\n"
               "old(x, n) :- :age(x, v), xsd:integer(v, n), n > 40.")  # fmt: skip
    store.insert(
        prefix
        + """ :Cat rdfs:subClassOf :Animal . :tom a :Cat ; :likes :ann ; :age 50 .
                 :ann :likes :tom ; :age 30 ; :name "Ann" . """
    )
    store.commit()

    def found(query: str, **values: object) -> set[tuple[object, ...]]:
        return {tuple(short(x) if isinstance(x, str) else x for x in row) for row in store.query(query, **values)}

    assert found(":likes(x, y), :likes(y, x), !:Animal(x)") == {(":ann", ":tom")}
    assert found("rdf:type(x, c), :likes(x, _), c != :Cat") == {(":tom", ":Animal")}
    assert found("rdf:type(x, c), :likes(x, who)", who="http://example.org/ann") == {
        (":tom", ":Cat"),
        (":tom", ":Animal"),
    }
    assert found("triple(x, p, y), :likes(y, x), p != :likes") == set()
    assert found("triple(x, p, _), :name(x, _), p != :likes, p != :name") == {(":ann", ":age")}
    assert found("old(x, n), n < limit", limit=60) == {(":tom", 50)}
    assert found("n = count : { :likes(_, _) }") == {(2,)}
    assert found("<rdf:type/rdfs:subClassOf*>(x, c), :age(x, _)") == {(":tom", ":Cat"), (":tom", ":Animal")}
    assert found(':name(x, "Ann"), :likes(x, y)') == {(":ann", ":tom")}
    assert not store.has_pending
    for query, values, code in (
        (":likes(x, y), y != z", {}, "E0217"),
        (":likes(x, y), nobody:knows(x, y)", {}, "E0661"),
        (":likes(x, y)", {"z": 1}, "E0612"),
        ("old(x, n), n < limit", {"limit": "many"}, "E0401"),
        (":likes(x, y)", {"x": object()}, "E0465"),
        (":likes(x, y", {}, "E0101"),
    ):
        with pytest.raises(tidelog.TidelogError, match=code):
            store.query(query, **values)
