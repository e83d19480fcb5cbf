"""rdflib over a store: its graphs and datasets read, change and ask it like any store of rdflib."""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import rdflib
from rdflib import RDF, RDFS, Literal, Namespace, URIRef

from tests.rdf.stores import stored
from tidelog import DataError, UsageError
from tidelog.rdf import connect
from tidelog.rdf.plugin import RdflibStore

pytestmark = pytest.mark.filterwarnings("ignore:Dataset:DeprecationWarning")  # that rdflib causes itself
E = Namespace("http://example.org/")
TURTLE = """@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Dog rdfs:subClassOf :Animal . :rex a :Dog ; :age 4 ; :owner [ :name "Ann"@en ] ."""


def graph(rules: Any = "rdfs") -> rdflib.Graph:
    found = rdflib.Graph(store=RdflibStore(rules))
    found.parse(data=TURTLE, format="turtle")
    return found


def test_the_entry_point_is_the_class() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    ((name, value),) = project["project"]["entry-points"]["rdf.plugins.store"].items()
    assert name == "tidelog"
    assert EntryPoint(name, value, "rdf.plugins.store").load() is RdflibStore


def test_a_graph_has_what_was_added_and_what_follows() -> None:
    found = graph()
    assert (E.rex, RDF.type, E.Animal) in found
    assert len(found) == len(list(found)) == 6
    assert found.value(E.rex, E.age) == Literal(4)
    assert found.value(found.value(E.rex, E.owner), E.name) == Literal("Ann", lang="en")
    found.add((E.tom, RDF.type, E.Dog))
    assert set(found.subjects(RDF.type, E.Animal)) == {E.rex, E.tom}
    found.remove((E.tom, None, None))
    found.set((E.rex, E.age, Literal(5)))
    assert set(found.subjects(RDF.type, E.Animal)) == {E.rex}
    assert list(found.objects(E.rex, E.age)) == [Literal(5)]
    plain = rdflib.Graph().parse(data=graph(None).serialize(format="turtle"), format="turtle")
    assert plain.isomorphic(rdflib.Graph().parse(data=TURTLE, format="turtle"))


def test_commit_and_rollback() -> None:
    found = graph()
    found.commit()
    found.add((E.tom, RDF.type, E.Dog))
    found.remove((E.rex, RDF.type, None))
    assert set(found.subjects(RDF.type, E.Animal)) == {E.tom}
    found.add((E.max, RDF.type, E.Dog))
    found.rollback()
    assert set(found.subjects(RDF.type, E.Animal)) == {E.rex}
    assert found.isomorphic(graph())
    found.update("PREFIX : <http://example.org/> DELETE WHERE { :rex ?p ?o }")
    assert (E.rex, None, None) not in found
    found.rollback()
    assert (E.rex, E.age, Literal(4)) in found


def test_sparql_with_the_prefixes_of_rdflib() -> None:
    found = graph()
    found.bind("e", E)
    rows = list(found.query("SELECT ?x ?n ?no { ?x a e:Animal ; e:age ?n OPTIONAL { ?x e:no ?no } }"))
    assert [(row.x, row.n, row.no) for row in rows] == [(E.rex, Literal(4), None)]  # type: ignore[union-attr]  # rows
    assert found.query("ASK { e:rex a e:Animal }").askAnswer
    made = found.query("CONSTRUCT { ?x a e:Old } WHERE { ?x e:age ?n }").graph
    assert made is not None
    assert set(made) == {(E.rex, RDF.type, E.Old)}
    assert len(list(found.query("SELECT ?n { ?x e:age ?n }", initBindings={"x": E.rex}))) == 1
    prepared = rdflib.plugins.sparql.prepareQuery("SELECT ?x { ?x a e:Animal }", initNs={"e": E})
    assert [row.x for row in found.query(prepared)] == [E.rex]  # type: ignore[union-attr]  # as above
    found.update("INSERT { ?x e:next ?m } WHERE { ?x e:age ?n BIND(?n + 1 AS ?m) }")
    assert found.value(E.rex, E.next) == Literal(5)


def test_datasets_have_graphs() -> None:
    store = connect(rules="rdfs")
    dataset = rdflib.Dataset(store=RdflibStore(store))
    dataset.graph(E.one).add((E.rex, RDF.type, E.Dog))
    dataset.graph(E.two).add((E.rex, RDF.type, E.Dog))
    dataset.add((E.Dog, RDFS.subClassOf, E.Animal))
    assert {each.identifier for each in dataset.graphs()} == {E.one, E.two, URIRef("urn:x-rdflib:default")}
    assert len(dataset.graph(E.one)) == 1
    assert (E.rex, RDF.type, E.Animal) in dataset
    assert store.graphs() == (str(E.one), str(E.two))
    assert {c for _, _, _, c in dataset.quads((E.rex, RDF.type, E.Dog, None))} == {E.one, E.two}
    rows = dataset.query("SELECT ?g { GRAPH ?g { ?s a <http://example.org/Dog> } }")
    assert {row.g for row in rows} == {E.one, E.two}  # type: ignore[union-attr]  # rows
    assert len(list(dataset.graph(E.one).query("SELECT ?s { ?s a ?c }"))) == 1
    dataset.remove_graph(E.one)
    dataset.graph(E.two).remove((None, None, None))
    assert (E.rex, None, None) not in dataset
    assert store.graphs() == ()


def test_a_store_at_hand_is_shared() -> None:
    store = stored(TURTLE, rules="owl-rl")
    found = rdflib.Graph(store=RdflibStore(store))
    assert (E.rex, RDF.type, E.Animal) in found
    found.add((E.tom, RDF.type, E.Dog))
    found.commit()
    assert store.contains(str(E.tom), str(RDF.type), str(E.Animal))
    found.close()
    with pytest.raises(UsageError, match="E0602"):
        len(found)


def test_what_no_store_can_have_is_refused() -> None:
    found = graph()
    found.commit()
    with pytest.raises(UsageError, match="E0662"):
        RdflibStore("owl")
    with pytest.raises(UsageError, match="E0664"):
        found.query("INSERT DATA {}")
    found.add((Literal("x"), E.p, E.o))
    with pytest.raises(DataError, match="E0465"):
        len(found)
    found.rollback()
    assert len(found) > 0


def test_a_graph_opens_the_store_in_a_folder(tmp_path: Path) -> None:
    folder = str(tmp_path / "kg.tide")
    found = rdflib.Graph(store=RdflibStore())
    assert found.open(folder) == rdflib.store.NO_STORE
    assert not (tmp_path / "kg.tide").exists()
    assert found.open((folder, "rdfs"), create=True) == rdflib.store.VALID_STORE
    found.parse(data=TURTLE, format="turtle")
    found.commit()
    found.add((E.tom, RDF.type, E.Dog))
    assert (E.tom, RDF.type, E.Animal) in found
    found.close()
    found = rdflib.Graph(store=RdflibStore())
    assert found.open(folder) == rdflib.store.VALID_STORE
    assert set(found.subjects(RDF.type, E.Animal)) == {E.rex}
    found.add((E.tom, RDF.type, E.Dog))
    found.close(commit_pending_transaction=True)
    with connect(folder) as store:
        assert store.contains(E.tom, RDF.type, E.Animal)
