"""Whatever is passed to a public method of a store of triples ends well or in an error of tidelog with a hint."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

import tidelog.rdf
from tests.database.test_wrong_arguments import VALUES, calls, no_raw_exception
from tidelog.errors import TidelogError, UsageError
from tidelog.rdf import GraphwiseStore, Store

TRIPLES: list[Any] = [
    *VALUES,
    [("a", "b")],
    [("a", "b", None)],
    [("a", "b", 2.5)],
    [(1, 2, 3)],
    [None],
    iter([5]),
    [[]],
]
PATHS: list[Any] = [
    *(form(name) for name in ("a\0.ttl", "\ud800.ttl", "a\0.dot", "\ud800.dot") for form in (str, Path)),
    "x" * 5000 + ".ttl",
]  # fmt: skip
"""Paths that no file can have."""
N3 = "{ ?x <urn:b> ?y } => { ?y <urn:b> ?x } ."
UPDATE = "DROP SILENT GRAPH <urn:nope>"
SHAPES = "<urn:s> <http://www.w3.org/ns/shacl#targetNode> <urn:a> ; <http://www.w3.org/ns/shacl#class> <urn:b> ."
OTHERS = [each for each in VALUES if not isinstance(each, str)]
"""Values that are no text, for what takes paths."""


def query_with(store: Store, **options: Any) -> None:
    store.options(**options)
    store.query("ASK {}")


CALLS = calls(Path(__file__).with_name("wrong_arguments.txt"), "store", globals())


@pytest.fixture(scope="module")
def store() -> Store:
    store = tidelog.rdf.connect(rules="rdfs")
    store.insert("<urn:a> <urn:b> <urn:c> .")
    store.load('.decl near(x: symbol, y: symbol) near(x, y) :- triple(x, "urn:b", y).')
    store.commit()
    return store


WRONG_PREFIXES: dict[str, list[tuple[Any, Any]]] = {
    "E0635": [(5, "http://a/"), ("x", 5), ("x", None)],
    "E0661": [(name, "http://a/") for name in ("a b", "a.", "_a", "²", "a: <x:> . @prefix b", "\ud800", "\n")],
    "E0461": [("x", iri) for iri in ("", "a", "http://a b/", "http://[", "\ud800", "a:> . <a:b> <a:c> <a:d")],
}


@pytest.mark.parametrize("code", WRONG_PREFIXES)
def test_a_prefix_is_one_that_a_text_can_declare(code: str) -> None:
    store = tidelog.rdf.connect()
    before = dict(store.prefixes)
    for prefix, iri in WRONG_PREFIXES[code]:
        for call in (
            partial(store.prefixes.__setitem__, prefix, iri),
            partial(store.prefixes.setdefault, prefix, iri),
            partial(store.prefixes.update, {prefix: iri}),
            partial(store.prefixes.__ior__, {prefix: iri}),
            partial(setattr, store, "prefixes", {prefix: iri}),
        ):
            with pytest.raises(TidelogError) as raised:
                call()
            assert raised.value.code == code, (prefix, iri)
            assert raised.value.problems[0].hint
    assert store.prefixes == before
    with pytest.raises(UsageError, match=r"<text>:1:.*E0661"):
        store.load("@prefix _a: <http://a/> .\n")


def test_prefixes_are_those_of_rules_queries_and_texts() -> None:
    store = tidelog.rdf.connect()
    store.prefixes = {"a-b": "http://a/"}
    store.prefixes |= {"c": "http://c/"}
    store.insert("<http://a/x> <http://c/y> <http://a/z> .")
    store.load("@prefix d: <http://d/> .\nd:y(x, z) :- c:y(x, z).")
    store.commit()
    assert len(store.query("SELECT ?x { ?x d:y a-b:z }")) == 1
    assert {"a-b:", "c:", "d:"} < set(store.to_text(inferred=True).split()[1::4])
    assert store.prefixes == {"a-b": "http://a/", "c": "http://c/", "d": "http://d/"}


GRAPHWISE = calls(Path(__file__).with_name("wrong_arguments_graphwise.txt"), "store", globals())


@pytest.fixture(scope="module")
def graphwise() -> GraphwiseStore:
    store = tidelog.rdf.connect(inference="graph")
    store.insert("<urn:a> <urn:b> <urn:c> .")
    store.commit()
    return store


@pytest.mark.parametrize("call", GRAPHWISE)
def test_no_raw_exception_with_inferences_per_graph(call: str, graphwise: GraphwiseStore) -> None:
    no_raw_exception(call, *GRAPHWISE[call], graphwise, graphwise.rollback)


@pytest.mark.parametrize("call", CALLS)
def test_no_raw_exception(call: str, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def undo() -> None:
        store.rollback()
        store.options(timeout=None, max_rows=None, strategy="auto")

    no_raw_exception(call, *CALLS[call], store, undo)


def test_the_path_of_a_program_that_none_can_have(tmp_path: Path) -> None:
    for name in ("\0.dl", "\ud800.dl"):
        with pytest.raises(tidelog.ProgramError, match="E0110"):
            tidelog.rdf.connect(tmp_path / "store", Path(name))


def test_a_question_does_not_see_the_relations_of_shapes_that_wait() -> None:
    store = tidelog.rdf.connect(rules="rdfs")
    prefixes = "@prefix : <http://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> .\n"
    store.shapes(prefixes + ":t sh:targetSubjectsOf :knows ; sh:property [ sh:path ( :knows :p ) ] ; sh:closed true .")
    with pytest.raises(tidelog.UsageError, match="E0670"):
        store.explain("urn:a", "urn:b", "urn:c")
