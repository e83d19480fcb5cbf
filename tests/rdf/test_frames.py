"""Data frames of triples go into a store, as they come out of one; prefixes of documents and files of N3."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow as pa
import pytest

from tidelog import DataError, TidelogError
from tidelog.rdf import Store, connect

COLUMNS = ("subject", "predicate", "object")
DATA = """@prefix : <http://e/> . :a :p 'x' , 'y"z\\\\'@en , 5 , "1"^^:own , :b , [ :q "two\\nlines" ] ; :q :a ."""


def store_of(data: object, **options: Any) -> Store:
    store = connect()
    store.insert(data, **options)
    store.commit()
    return store


@pytest.mark.parametrize(
    "convert",
    [
        lambda relation: relation.to_arrow(),
        lambda relation: relation.to_arrow().select(["object", "subject", "predicate"]),
        lambda relation: relation.to_arrow().to_reader(),
        lambda relation: relation.to_pandas(),
        lambda relation: relation.to_pandas().sample(frac=1, random_state=3),
        lambda relation: relation.to_polars(),
        lambda relation: relation.to_polars().select("predicate", "object", "subject"),
        lambda relation: relation,
    ],
)
def test_a_frame_of_triples_goes_back_into_a_store(convert: Callable[[Any], Any]) -> None:
    store = store_of(DATA)
    other = store_of(convert(store.triples()))
    assert set(other.triples()) == set(store.triples())
    other.delete(convert(store.triples()))
    other.commit()
    assert len(other) == 0


@pytest.mark.parametrize("name", ["to_arrow", "to_pandas", "to_polars"])
def test_a_frame_of_quads_keeps_its_graphs(name: str) -> None:
    store = store_of("<http://e/a> <http://e/p> 1 .")
    store.insert("<http://e/a> <http://e/p> 1, _:x .", graph="http://e/g")
    store.commit()
    frame = getattr(store.quads(), name)()
    other = store_of(frame)
    assert set(other.quads()) == set(store.quads())
    assert set(store_of(frame, graph="http://e/h").graphs()) == {"http://e/g", "http://e/h"}


def triples(*columns: list[Any]) -> pa.Table:
    return pa.table(dict(zip((*COLUMNS, "graph"), columns, strict=False)))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (triples(["http://e/a", "http://e/a b"], ["http://e/p"] * 2, ["_:x"] * 2), "row 1.*E0465.*http://e/a b"),
        (triples(["http://e/a"], ["http://e/p"], ['"x" . <http://e/a> <http://e/p> "y"']), "row 0.*E0465"),
        (triples(["http://e/a"], ["http://e/p"], ["http://e/b> . <http://e/c"]), "row 0.*E0465"),
        (triples(["http://e/a"], ["http://e/p"], [""]), "row 0.*E0465.*expected a term"),
        (triples(["http://e/a"], ["http://e/p"], ["http://e/b"], ["a b"]), "row 0.*E0465"),
        (triples(["http://e/a", '"x"'], ["http://e/p"] * 2, ["_:x"] * 2), "row 1.*E0465.*as subjects"),
        (triples(["http://e/a", "a"], ["http://e/p"] * 2, ["_:x"] * 2), "row 1.*E0465"),
        (triples(["http://e/a"], ["http://e/p"], [5]), "E0401"),
        (triples(["http://e/a"], ["http://e/p"], [None]), "E04"),
        (triples(["http://e/a"], ["http://e/p"]), "E0406.*subject, predicate, object"),
        (pandas.DataFrame({"subject": ["http://e/a"], "verb": ["http://e/p"], "object": ["_:x"]}), "E0406.*verb"),
        (polars.DataFrame({"subject": ["http://e/a"]}), "E0406"),
    ],
)
def test_a_frame_that_is_no_triples_is_refused_with_its_place(frame: object, message: str) -> None:
    store = connect()
    with pytest.raises(TidelogError, match=f"(?s){message}"):
        store.insert(frame)
    assert not store.has_pending


def test_a_frame_without_rows_changes_nothing() -> None:
    assert len(store_of(triples([], [], []).cast(pa.schema([(each, pa.string()) for each in COLUMNS])))) == 0


# --- prefixes of documents -------------------------------------------------------------------------------------------


def test_texts_are_written_with_the_prefixes_of_documents(tmp_path: Path) -> None:
    store = connect(tmp_path / "kg.tide")
    store.insert("@prefix e: <http://e/> . PREFIX f: <http://f/> e:a e:p f:b .")
    store.insert('{"@context": {"g": "http://g/"}, "@id": "g:a", "g:p": "x"}', format="jsonld")
    store.insert("@prefix e: <http://other/> . e:c e:p 1 .")
    store.prefixes["f"] = "http://own/"
    store.commit()
    for _ in range(2):
        text = store.to_text()
        assert "e:a e:p <http://f/b>" in text
        assert 'g:a g:p "x"' in text
        assert "<http://other/c>" in text
        assert "@prefix f: <http://own/>" in text
        assert "http://e/" in dict(store.to_rdflib().namespaces())["e"]
        store.close()
        store = connect(tmp_path / "kg.tide")


def test_prefixes_of_documents_mean_nothing_to_rules_and_queries() -> None:
    store = store_of("@prefix x: <http://e/> . x:a x:p x:b .")
    store.load(".decl r(x:symbol)\nr(x) :- <http://e/p>(x, _).")
    store.commit()
    assert list(store["r"]) == [("http://e/a",)]
    with pytest.raises(TidelogError, match="E0664"):
        store.query("SELECT ?s { ?s x:p ?o }")


# --- N3 --------------------------------------------------------------------------------------------------------------


def test_files_of_n3_have_triples(tmp_path: Path) -> None:
    (tmp_path / "data.n3").write_text("@prefix : <http://e/> . :a :p ( 1 2 ) .")
    store = store_of(str(tmp_path / "data.n3"))
    assert len(store) == 5
    store.write(tmp_path / "out.n3.gz")
    assert len(store_of(tmp_path / "out.n3.gz")) == 5
    assert len(store_of("<http://e/a> <http://e/p> 1 .", format="n3")) == 1
    (tmp_path / "rules.n3").write_text("@prefix : <http://e/> . { ?x :p ?y } => { ?y :p ?x } .")
    with pytest.raises(DataError, match=r"(?s)rules.n3:1:.*E0460.*store.load_n3"):
        store.insert(tmp_path / "rules.n3")
