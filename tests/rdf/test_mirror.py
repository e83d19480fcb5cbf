"""The mirror of a store between threads: commits wait for no query, and queries for no commit."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tests.rdf.stores import EXAMPLE
from tidelog.rdf import Store, connect
from tidelog.rdf.sparql import mirror
from tidelog.rdf.sparql.mirror import Gate

TRIPLES = "@prefix : <http://example.org/> . :a :n 0 . :b :n 0 ."
VALUES = "SELECT ?n { ?x :n ?n }"
STEP = "DELETE { ?x :n ?n } INSERT { ?x :n ?more } WHERE { ?x :n ?n BIND(?n + 1 AS ?more) }"
_DEADLINE = 30.0


@pytest.fixture
def store() -> Iterator[Store]:
    with connect() as found:
        found.prefixes[""] = EXAMPLE
        found.insert(TRIPLES, "turtle")
        found.commit()
        assert rows(found, "SELECT ?x { ?x :n 0 }") == [("a",), ("b",)]
        yield found


@contextmanager
def beginning(store: Store) -> Iterator[None]:
    """Inside, a query of another thread is at its beginning, which takes long."""
    with store._share_mirror():
        yield


def rows(store: Store, query: str) -> list[tuple[str, ...]]:
    """The sorted rows of an answer, without the namespace of the examples."""
    return sorted(tuple(str(term).removeprefix(EXAMPLE) for term in row) for row in store.query(query))


def quads(store: Store) -> set[str]:
    """The quads of the mirror."""
    with store._share_mirror() as copy:
        return set(map(str, copy.store))


def elsewhere(store: Store, query: str) -> list[tuple[str, ...]]:
    """The answer to a query in another thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(rows, store, query).result(_DEADLINE)


def test_a_query_does_not_wait_for_a_commit_under_way(store: Store) -> None:
    with store.turns.changing, store.turns.using:
        assert len(elsewhere(store, "SELECT ?x { ?x :n 0 }")) == 2


def test_a_long_beginning_holds_up_neither_commits_nor_queries(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror, "_PATIENCE", 0.01)
    with beginning(store):
        store.update(STEP)
        assert rows(store, "SELECT ?x { ?x :n 1 }") == [("a",), ("b",)]
        store.delete("<http://example.org/a> <http://example.org/n> 1 .", "turtle")
        store.commit()
        assert rows(store, "SELECT ?x { ?x :n 1 }") == [("b",)]
        assert elsewhere(store, "ASK { :a :n ?n }") == []


def test_an_operation_waits_for_beginnings_only_if_it_sees_those_before_it(store: Store) -> None:
    done = threading.Event()

    def update() -> None:
        store.update(f"INSERT DATA {{ :c :n 0 }} ; {STEP}")
        done.set()

    with ThreadPoolExecutor(1) as pool:
        with beginning(store):
            running = pool.submit(update)
            store.check()  # waits for no update
            assert not done.wait(0.2)
        running.result(_DEADLINE)
    assert rows(store, "SELECT ?x { ?x :n 1 }") == [("a",), ("b",), ("c",)]


def test_a_draft_leaves_no_trace_in_the_mirror(store: Store) -> None:
    before = quads(store)
    operations = (
        "INSERT DATA { GRAPH :g { :c :n 0 } }",
        "CLEAR DEFAULT",
        ("INSERT { :d :n ?n } WHERE { GRAPH ?g { ?x :n ?n } }"),
    )
    found = store.draft_update(" ; ".join(operations))
    changes = {(row[0].removeprefix(EXAMPLE), row[3].removeprefix(EXAMPLE)): there for row, there in found.items()}
    assert changes == {("a", ""): False, ("b", ""): False, ("c", "g"): True, ("d", ""): True}
    assert quads(store) == before
    assert list(store.query("SELECT ?g { GRAPH ?g {} }")) == []


def test_who_waits_to_be_alone_comes_before_later_readers() -> None:
    gate, order = Gate(), list[str]()
    assert gate.enter()

    def change() -> None:
        with gate.exclusive() as is_alone:
            assert is_alone
            order.append("change")

    def read() -> None:
        gate.enter()
        order.append("read")
        gate.leave()

    writer = threading.Thread(target=change)
    writer.start()
    while gate.enter(waits=False):
        gate.leave()
    reader = threading.Thread(target=read)
    reader.start()
    reader.join(0.05)
    gate.leave()
    for thread in (writer, reader):
        thread.join(_DEADLINE)
    assert order == ["change", "read"]
    with gate.exclusive(), gate.exclusive(0.01) as is_alone:
        assert not is_alone
