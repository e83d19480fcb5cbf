"""Named graphs: which graph has a triple, what rules see of it, and how graphs come in and out."""

from __future__ import annotations

import random
from pathlib import Path

import pyoxigraph
import pytest
import rdflib

from tests import depth
from tests.rdf.stores import stored
from tidelog import DataError, UsageError
from tidelog.rdf import TYPE, Store, connect

EXAMPLE = "http://example.org/"
TRIG = """@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Dog rdfs:subClassOf :Animal .
:one { :rex a :Dog . :rex :likes :tom . }
:two { :rex a :Dog . }"""


def store_of(text: str, format: str = "trig") -> Store:
    return stored(text, format, rules="rdfs")


def quads(store: Store) -> set[tuple[str, ...]]:
    return {tuple(str(part).removeprefix(EXAMPLE) for part in row) for row in store.quads()}


def test_graphs_are_kept_and_rules_see_all_of_them() -> None:
    store = store_of(TRIG)
    assert store.graphs() == (EXAMPLE + "one", EXAMPLE + "two")
    assert len(store.triples(inferred=False)) == 3
    assert len(store.quads()) == 4
    assert store.contains(EXAMPLE + "rex", TYPE, EXAMPLE + "Animal")
    assert quads(store) >= {("rex", TYPE, "Dog", "one"), ("rex", TYPE, "Dog", "two"), ("rex", "likes", "tom", "one")}
    assert len(store.quads(None, TYPE, None, EXAMPLE + "two")) == 1
    assert {row[1] for row in store.quads(graph="")} == {"http://www.w3.org/2000/01/rdf-schema#subClassOf"}
    store.check()


def test_a_triple_is_asserted_until_no_graph_has_it() -> None:
    store, rex = store_of(TRIG), [(EXAMPLE + "rex", TYPE, EXAMPLE + "Dog")]
    store.delete(rex, graph=EXAMPLE + "one")
    assert len(store.commit().deleted) == 0
    assert ("rex", TYPE, "Dog", "two") in quads(store)
    store.insert(rex)
    store.delete(rex, graph=EXAMPLE + "two")
    assert len(store.commit().deleted) == 0
    assert ("rex", TYPE, "Dog", "") in quads(store)
    store.delete(rex, graph="")
    assert len(store.commit().deleted) == 2
    assert store.graphs() == (EXAMPLE + "one",)


def test_without_a_graph_a_deletion_counts_in_all_graphs() -> None:
    store = store_of(TRIG)
    store.delete("<http://example.org/rex> a <http://example.org/Dog> .")
    assert {str(row[2]) for row in store.commit().deleted} == {EXAMPLE + "Dog", EXAMPLE + "Animal"}
    assert quads(store) & {("rex", TYPE, "Dog", "one"), ("rex", TYPE, "Dog", "two")} == set()


def test_random_changes_against_sets_of_quads() -> None:
    for seed in range(depth.cases(4)):
        rng = random.Random(seed)
        store, expected = connect(), set[tuple[str, str, str, str]]()
        for _ in range(12):
            for _ in range(rng.randrange(1, 5)):
                some = [
                    (EXAMPLE + rng.choice("ab"), rng.choice([TYPE, EXAMPLE + "p"]), EXAMPLE + rng.choice("xyz"))
                    for _ in range(rng.randrange(1, 6))
                ]
                graph = rng.choice([None, "", EXAMPLE + "g", EXAMPLE + "h"])
                if rng.random() < 0.6:
                    store.insert(some, graph=graph)
                    expected |= {(*triple, graph or "") for triple in some}
                else:
                    store.delete(some, graph=graph)
                    expected = {
                        quad for quad in expected if quad[:3] not in some or (graph is not None and quad[3] != graph)
                    }
            if rng.random() < 0.2:
                store.rollback()
                expected = {tuple(map(str, row)) for row in store.quads()}  # type: ignore[misc]  # of four parts
            store.commit()
            assert {tuple(map(str, row)) for row in store.quads()} == expected, seed
            assert len(store.quads()) == len(expected)
            assert set(store.triples()) == {quad[:3] for quad in expected}
            assert set(store.graphs()) == {quad[3] for quad in expected} - {""}


@pytest.mark.parametrize("format", ["nquads", "trig", "jsonld"])
def test_graphs_come_out_as_they_went_in(format: str, tmp_path: Path) -> None:
    store = store_of(TRIG)
    assert quads(store_of(store.to_text(format), format)) == quads(store)
    store.write(tmp_path / "graphs.out", format, inferred=True)
    again = stored(tmp_path / "graphs.out", format)
    assert quads(again) == quads(store)
    assert store.to_text("nquads", inferred=True).count("urn:tidelog:inferred") == 1
    assert "urn:tidelog:inferred" not in store.to_text("nquads")
    assert len(store.to_text("ntriples").splitlines()) == 3


def test_datasets_of_libraries_keep_their_graphs() -> None:
    dataset = rdflib.Dataset()
    for quad in pyoxigraph.parse(TRIG, pyoxigraph.RdfFormat.TRIG):
        s, p, o, graph = (rdflib.URIRef(getattr(part, "value", "urn:x-rdflib:default")) for part in quad)
        dataset.graph(graph).add((s, p, o))
    one, two = connect(), connect()
    one.insert(dataset)
    two.insert(pyoxigraph.Dataset(pyoxigraph.parse(TRIG, pyoxigraph.RdfFormat.TRIG)))
    for store in (one, two):
        store.commit()
        assert quads(store) == quads(store_of(TRIG))
    two.delete(pyoxigraph.parse(TRIG, pyoxigraph.RdfFormat.TRIG))
    two.commit()
    assert len(two) == 0


def test_blank_nodes_name_graphs_and_stay_the_same_inside_of_triples() -> None:
    store = store_of("_:g { _:b <http://a/p> <<( _:b <http://a/p> 'x _:b' )>> . _:b <http://a/q> _:g }")
    ((node, _, said, graph), (_, _, other, _)) = sorted(store.quads(), key=lambda row: str(row[1]))
    assert said == f'<<( {node} <http://a/p> "x _:b" )>>'
    assert graph == other != node
    assert not str(node).startswith("_:b")
    (quad,) = pyoxigraph.parse(store.to_text("nq").splitlines()[0].encode(), pyoxigraph.RdfFormat.N_QUADS)
    store.delete([quad])
    store.commit()
    assert len(store) == 1


def test_a_triple_as_a_term_is_no_subject() -> None:
    store = stored(
        """@prefix : <http://a/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
        :says owl:inverseOf :saidBy . :ann :says <<( :rex a :Dog )>> , "yes"@en--ltr .""",
        rules="owl-rl",
    )
    assert len(store.triples(None, "http://a/saidBy")) == 0
    assert len(store.triples("http://a/ann", "http://a/says")) == 2
    assert connect().to_text("turtle") is not None
    assert '"yes"@en--ltr' in store.to_text("ntriples")
    with pytest.raises(DataError, match="E0464"):
        store.to_rdflib()


@pytest.mark.parametrize("graph", ['"x"', "no iri", 5, ["x"], "<<( <x:a> <x:b> <x:c> )>>"])
def test_what_names_no_graph_is_refused(graph: object) -> None:
    store = store_of(TRIG)
    for call in (store.insert, store.delete):
        with pytest.raises(DataError, match="E0465"):
            call("<http://a/x> <http://a/p> 1 .", graph=graph)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(DataError, match="E0465"):
        store.quads(graph=graph)
    assert not store.has_pending


def test_a_commit_that_fails_leaves_the_graphs() -> None:
    store = store_of(TRIG)
    before = quads(store)
    store.options(max_rows=1)
    store.insert("".join(f"<http://a/{n}> a <http://example.org/Dog> .\n" for n in range(9)), graph=EXAMPLE + "one")
    with pytest.raises(Exception, match="E0502"):
        store.commit()
    assert quads(store) == before
    store.rollback()
    store.close()
    with pytest.raises(UsageError, match="E0602"):
        store.graphs()
