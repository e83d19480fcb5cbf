"""Stores whose named graphs have inferences of their own, against a store for each graph."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import depth
from tests.rdf.random_ontologies import triple
from tests.rdf.stores import EXAMPLE, full, stored
from tidelog import LimitError, UsageError
from tidelog.rdf import TYPE, GraphwiseChange, GraphwiseStore, Store, StoreChange, connect

PREFIXES = """@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> ."""
TRIG = f"""{PREFIXES}
:Dog rdfs:subClassOf :Animal . :zoe a :Dog .
:one {{ :rex a :Dog . :Animal rdfs:subClassOf :Thing . }}
:two {{ :rex :likes :zoe . :likes rdfs:range :Liked . }}"""
NAMES = ("", ":one", ":two", ":three")
Quad = tuple[str, str, str, str]


def store_of(text: str = TRIG) -> GraphwiseStore:
    store = stored(text, "trig", prefix=EXAMPLE, rules="owl-rl", inference="graph")
    assert isinstance(store, GraphwiseStore)
    return store


def short(term: object) -> str:
    text = str(term)
    return f":{text.removeprefix(EXAMPLE)}" if text.startswith(EXAMPLE) else text.rpartition("#")[2]


def types(store: GraphwiseStore, graph: str) -> set[tuple[str, str]]:
    rows = store.quads(None, TYPE, None, graph, inferred=True)
    return {(short(row[0]), short(row[2])) for row in rows}


def test_a_graph_has_what_follows_from_it_and_the_default_graph() -> None:
    store = store_of()
    assert types(store, "") == {(":zoe", ":Dog"), (":zoe", ":Animal")}
    # The class above :Animal is known in :one alone; there it also holds for :zoe of the default graph.
    one = {(":rex", ":Dog"), (":rex", ":Animal"), (":rex", ":Thing"), (":zoe", ":Thing")}
    assert types(store, f"{EXAMPLE}one") == one
    assert types(store, f"{EXAMPLE}two") == {(":zoe", ":Liked")}
    assert store.contains(f"{EXAMPLE}rex", TYPE, f"{EXAMPLE}Animal")
    assert len(store.inferred()) == len(store.triples()) - len(store.triples(inferred=False))
    store.check()


def test_sparql_answers_what_follows_in_its_graph() -> None:
    store = store_of()
    ask = "SELECT ?g ?c { GRAPH ?g { :rex a ?c } }"
    of_one = {(":one", ":Dog"), (":one", ":Animal"), (":one", ":Thing")}
    assert {tuple(map(short, row)) for row in store.query(ask)} == of_one
    assert {tuple(map(short, row)) for row in store.query(ask, inferred=False)} == {(":one", ":Dog")}
    assert {short(row[0]) for row in store.query("SELECT ?x { ?x a :Animal }")} == {":zoe"}
    from_one = "SELECT ?c FROM :one { :rex a ?c }"
    assert {short(row[0]) for row in store.query(from_one)} == {":Dog", ":Animal", ":Thing"}
    store.update("INSERT DATA { GRAPH :three { :tom a :Dog } } ; DELETE DATA { GRAPH :one { :rex a :Dog } }")
    assert {tuple(map(short, row)) for row in store.query("SELECT ?g ?x { GRAPH ?g { ?x a :Animal } }")} == {
        (":three", ":tom")
    }
    store.update("CLEAR GRAPH :three")
    assert store.graphs() == (f"{EXAMPLE}one", f"{EXAMPLE}two")
    assert list(store.query("SELECT ?x { GRAPH :three { ?x a ?c } }")) == []


def test_a_triple_that_follows_in_a_graph_cannot_be_deleted_there() -> None:
    store = store_of()
    with pytest.raises(UsageError) as raised:
        store.update("DELETE DATA { GRAPH :one { :rex a :Animal } }")
    assert raised.value.code == "E0667"
    assert "<http://example.org/rex>" in str(raised.value)
    with pytest.raises(UsageError, match="E0667"):
        store.update("DELETE WHERE { GRAPH ?g { :rex a :Thing } }")
    before = set(store.quads())
    store.update("DELETE DATA { GRAPH :two { :rex a :Animal } }")
    store.update("DELETE WHERE { GRAPH :two { :rex a :Animal } }")
    assert set(store.quads()) == before


def test_explanations_are_those_of_a_graph() -> None:
    store = store_of()
    rex, animal = f"{EXAMPLE}rex", f"{EXAMPLE}Animal"
    assert "cax-sco" in str(store.explain(rex, TYPE, animal, graph=f"{EXAMPLE}one"))
    with pytest.raises(UsageError, match="E0670"):
        store.explain(rex, TYPE, animal, graph=f"{EXAMPLE}two")
    assert "does not hold" in str(store.why_not(rex, TYPE, animal))
    with pytest.raises(UsageError, match="E0669"):
        store.explain(rex, TYPE, animal, graph=f"{EXAMPLE}nowhere")


def test_inconsistencies_are_those_of_graphs() -> None:
    store = store_of()
    heard: list[Any] = []
    store.subscribe(heard.append, "inconsistencies")
    store.insert(f"{PREFIXES} :Dog owl:disjointWith :Cat . :one {{ :rex a :Cat }} :two {{ :zoe a :Cat }}", "trig")
    store.commit()
    assert {short(row[1]) for row in store.inconsistencies()} == {":rex", ":zoe"}
    assert {short(row[1]) for row in store.inconsistencies(f"{EXAMPLE}two")} == {":zoe"}
    assert len(store.inconsistencies("")) == 0
    assert len(store.justifications(f"{EXAMPLE}one")) == 3
    assert [(len(each.inserted), len(each.deleted)) for each in heard] == [(2, 0)]


def test_subscribers_hear_of_quads() -> None:
    store = store_of()
    heard: list[GraphwiseChange] = []
    store.subscribe(heard.append)
    store.insert(f"<{EXAMPLE}rex> a <{EXAMPLE}Dog> .", graph=f"{EXAMPLE}two")
    store.commit()
    (change,) = heard
    assert {tuple(map(short, row)) for row in change.inserted_quads} == {
        (":rex", "type", ":Dog", ":two"),
        (":rex", "type", ":Animal", ":two"),
    }
    assert len(change.deleted_quads) == 0


def closure(quads: set[Quad], graph: str) -> Iterator[tuple[str, ...]]:
    store = stored([quad[:3] for quad in quads if quad[3] in ("", graph)], rules="owl-rl")
    return (tuple(map(str, row)) for row in store.triples())


def expected(quads: set[Quad]) -> set[tuple[str, ...]]:
    """The visible quads, by a store for each graph."""
    shared = set(closure(quads, ""))
    found: set[tuple[str, ...]] = {*quads, *((*row, "") for row in shared)}
    for graph in {quad[3] for quad in quads} - {""}:
        found |= {(*row, graph) for row in set(closure(quads, graph)) - shared}
    return found


def mirrored(store: Store) -> set[tuple[str, ...]]:
    rows = store.query("SELECT ?s ?p ?o ?g { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }")
    return {tuple(map(str, row)) for row in rows}


def by_value(quads: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """Quads as pyoxigraph keeps them: without the datatypes of integers."""
    return {tuple(part.replace("#nonNegativeInteger", "#integer") for part in quad) for quad in quads}


@pytest.mark.parametrize("seed", range(depth.cases(3)))
def test_random_graphs_equal_a_store_for_each(seed: int) -> None:
    rng = random.Random(seed)
    store = connect(rules="owl-rl", inference="graph")
    quads: set[Quad] = set()
    seen = expected(quads)
    for step in range(5):
        more = {
            (*map(full, triple(rng, 0.1)), "" if (name := rng.choice(NAMES)) == "" else full(name))
            for _ in range(rng.randint(1, 8))
        }
        less = set(rng.sample(sorted(quads), min(len(quads), rng.randint(0, 4))))
        store.delete(less)
        store.insert(more)
        change = store.commit()
        quads = (quads - less) | more  # type: ignore[operator]
        wanted = expected(quads)
        place = (seed, step)
        assert {tuple(map(str, row)) for row in store.quads(inferred=True)} == wanted, place
        assert by_value(mirrored(store)) == by_value(wanted), place
        assert isinstance(change, GraphwiseChange)
        assert {tuple(map(str, row)) for row in change.inserted_quads} == wanted - seen, place
        assert {tuple(map(str, row)) for row in change.deleted_quads} == seen - wanted, place
        assert set(store.triples()) == {row[:3] for row in wanted}, place
        seen = wanted


def test_a_failed_commit_and_a_trial_change_nothing() -> None:
    store = store_of()
    before, mirror = set(store.quads(inferred=True)), mirrored(store)
    with store.what_if() as trial:
        trial.insert(f"<{EXAMPLE}tom> a <{EXAMPLE}Dog> .", graph=f"{EXAMPLE}four")
        trial.delete(f"<{EXAMPLE}Dog> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <{EXAMPLE}Animal> .")
    assert isinstance(trial.change, StoreChange)
    assert len(trial.change.inserted) > 0
    assert (set(store.quads(inferred=True)), mirrored(store)) == (before, mirror)
    many = "".join(f":x{i} :next :x{i + 1} . " for i in range(300))
    store.insert(f"{PREFIXES} :four {{ :next a owl:TransitiveProperty . {many} }} :two {{ :ann :likes :bob }}", "trig")
    store.options(max_rows=10_000)
    with pytest.raises(LimitError):
        store.commit()
    assert (set(store.quads(inferred=True)), mirrored(store)) == (before, mirror)
    store.rollback()
    store.insert(f"<{EXAMPLE}ann> <{EXAMPLE}likes> <{EXAMPLE}bob> .", graph=f"{EXAMPLE}two")
    store.commit()
    assert (":bob", ":Liked") in types(store, f"{EXAMPLE}two")


def test_a_folder_keeps_the_inferences_per_graph(tmp_path: Path) -> None:
    with connect(tmp_path / "kg.tide", rules="owl-rl", inference="graph") as store:
        store.insert(TRIG, "trig")
        store.commit()
        seen = set(store.quads(inferred=True))
    with connect(tmp_path / "kg.tide") as store:
        assert isinstance(store, GraphwiseStore)
        assert set(store.quads(inferred=True)) == seen
        store.insert(f"<{EXAMPLE}tom> a <{EXAMPLE}Dog> .", graph=f"{EXAMPLE}two")
        store.commit()
        assert (":tom", ":Animal") in types(store, f"{EXAMPLE}two")
    with pytest.raises(UsageError, match="E0657"):
        connect(tmp_path / "kg.tide", inference="union")
    with connect(tmp_path / "plain.tide", rules="owl-rl") as plain:
        plain.commit()
    with pytest.raises(UsageError, match="E0657"):
        connect(tmp_path / "plain.tide", rules="owl-rl", inference="graph")


REFUSED: dict[str, Callable[[GraphwiseStore], object]] = {
    "a program": lambda store: store.load("p(x) :- q(x)."),
    "rules in N3": lambda store: store.load_n3("{ ?x ?p ?y } => { ?y ?p ?x } ."),
    "a view": lambda store: store.view("dogs", "SELECT DISTINCT ?x { ?x a <http://example.org/Dog> }"),
    "shapes": lambda store: store.shapes(PREFIXES),
    "a query of the language": lambda store: store.query("rdf:type(x, y)"),
    "the union": lambda store: store.query("SELECT * { ?s ?p ?o }", union=True),
    "inferred patterns": lambda store: store.update("DELETE WHERE { ?x a ?c }", inferred=True),
    "ways_to_remove": lambda store: store.ways_to_remove("http://example.org/rex", TYPE, "http://example.org/Dog"),
    "a certificate": lambda store: store.save_certificate("nowhere"),
    "a mirror on disk": lambda store: store.options(mirror="folder"),
    "a view to follow": lambda store: store.subscribe(print, "dogs"),
    "rules of a program": lambda store: connect(rules=("owl-rl", "p(x) :- q(x)."), inference="graph"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_verbs_over_the_union_are_refused(what: str) -> None:
    with pytest.raises(UsageError, match="E0679"):
        REFUSED[what](store_of(""))


def test_inference_is_one_of_two() -> None:
    with pytest.raises(UsageError, match="E0603"):
        connect(rules="rdfs", inference="graphs")
    assert type(connect(rules="rdfs", inference="union")) is Store
