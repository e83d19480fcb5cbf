"""Ctrl-C at any place of what a store of triples does: when a call raises, nothing has changed and everything still
waits; when it returns, everything is there."""

from __future__ import annotations

from functools import partial

import pytest

import tidelog.rdf
from tests.pressing import pressed, presses
from tidelog.rdf import Store
from tidelog.rdf.change import StoreTransaction

BEFORE = """
@prefix : <http://x/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:a :knows :b . :Cat rdfs:subClassOf :Animal . :tom a :Cat .
"""
GONE = "@prefix : <http://x/> . :tom a :Cat ."
MORE = """
@prefix : <http://x/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:knows a owl:SymmetricProperty . :Animal rdfs:subClassOf :Being . :felix a :Cat ; owl:sameAs :cat .
"""
RULES = "@prefix : <http://x/> .\n.decl who(x: symbol)\nwho(x) :- :knows(x, _), :Animal(:cat)."
ALL = ("tidelog/",)


def begun(rules: str = "owl-rl") -> Store:
    store = tidelog.rdf.connect(rules=rules)
    store.insert(BEFORE)
    store.commit()
    return store


def shown(store: Store) -> tuple[object, ...]:
    names = [name for name in store.database.relations if name == "who"]
    return set(store.triples()), {name: set(store[name]) for name in names}


def change(store: Store) -> None:
    store.load(RULES)
    store.delete(GONE)
    store.insert(MORE)


@pytest.fixture(scope="module")
def both() -> tuple[tuple[object, ...], tuple[object, ...]]:
    """Return the triples before, and those after the change."""
    store = begun()
    before = shown(store)
    change(store)
    store.commit()
    return before, shown(store)


@pytest.mark.parametrize(
    ("files", "first", "every"),
    [(("rdf/store.py",), 8, 16), (ALL, 40_009, 60_017)],
    ids=["store", "deep"],
)
def test_a_commit_is_all_there_or_all_waiting(
    both: tuple[tuple[object, ...], tuple[object, ...]], files: tuple[str, ...], first: int, every: int
) -> None:
    (before, _), after = both
    seen = {True: 0, False: 0}
    for attempt in presses(*files, first=first, every=every):
        store = begun()
        change(store)
        stopped = pressed(attempt, store.commit)
        seen[stopped] += 1
        if stopped:
            assert set(store.triples()) == before, attempt.place
            store.commit()
        assert shown(store) == after, attempt.place
        assert not store.database.has_pending, attempt.place
    assert min(seen.values()) >= 1


@pytest.mark.parametrize(
    ("files", "first", "every"),
    [(("rdf/store.py", "rdf/change.py", "database/transaction.py", "verbs.py"), 1, 16), (ALL, 20_011, 60_017)],
    ids=["store", "deep"],
)
def test_a_transaction_is_all_there_or_dropped(
    both: tuple[tuple[object, ...], tuple[object, ...]], files: tuple[str, ...], first: int, every: int
) -> None:
    (before, _), after = both
    seen = {True: 0, False: 0}
    for attempt in presses(*files, first=first, every=every):
        store = begun()
        transaction = store.transaction()

        def block(store: Store = store, transaction: StoreTransaction = transaction) -> None:
            with transaction:
                change(store)

        stopped = pressed(attempt, block)
        seen[stopped] += 1
        if stopped:
            assert set(store.triples()) == before, attempt.place
        else:
            assert shown(store) == after, attempt.place
        assert not store.has_pending, attempt.place
        with store.transaction():
            pass
    assert min(seen.values()) >= 1


@pytest.mark.parametrize("call", ["load", "insert", "delete", "rollback"])
def test_what_comes_before_a_commit_is_done_or_not(call: str) -> None:
    """Whatever else waits, waits on."""
    store = begun("rdfs")
    change(store)
    store.commit()
    after = shown(store)
    for attempt in presses("rdf/store.py", "database/database.py", first=2, every=7):
        store = begun("rdfs")
        if call == "rollback":
            change(store)
            stopped = pressed(attempt, store.rollback)
            if stopped:
                store.rollback()
            assert not store.commit().inserted, attempt.place
            change(store)
        elif call == "load":
            store.delete(GONE)
            store.insert(MORE)
            pressed(attempt, partial(store.load, RULES))
            if "who" not in store.database.relations:
                store.load(RULES)
        else:
            change(store)
            given = {"insert": MORE, "delete": GONE}[call]
            pressed(attempt, partial(getattr(store, call), given))
        store.commit()
        assert shown(store) == after, attempt.place
