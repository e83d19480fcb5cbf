"""The verbs that stores of triples share with databases: transactions, subscribers, closing, certificates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tidelog
import tidelog.rdf
from tidelog.errors import UsageError
from tidelog.rdf import Store, StoreChange

HEAD = "@prefix : <http://x/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
CAT = HEAD + ":Cat rdfs:subClassOf :Animal . :tom a :Cat ."
TOM = ("http://x/tom", tidelog.rdf.TYPE, "http://x/Animal")
RULE = "@prefix : <http://x/> .\nfamous: :Star(x) :- :Cat(x)."
STAR = ("http://x/tom", tidelog.rdf.TYPE, "http://x/Star")


@pytest.fixture
def store() -> Store:
    return tidelog.rdf.connect(rules="rdfs")


def test_a_transaction_commits_at_its_end(store: Store) -> None:
    with store.transaction() as transaction:
        transaction.insert(CAT)
        transaction.load(RULE)
        assert TOM not in store
    assert transaction.change is not None
    assert set(transaction.change.inserted) >= {TOM, STAR}
    assert {TOM in store, STAR in store} == {True}
    with store.transaction() as transaction:
        transaction.delete([("http://x/tom", tidelog.rdf.TYPE, "http://x/Cat")])
        transaction.rules.remove("famous")
    assert {TOM in store, STAR in store, store.has_pending} == {False}


def test_a_transaction_drops_its_changes_when_the_block_raises(store: Store) -> None:
    transaction = store.transaction()

    def block() -> None:
        with transaction:
            transaction.insert(CAT)
            transaction.load(RULE)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        block()
    assert transaction.change is None
    assert not store.has_pending
    assert not len(store.commit().inserted)


def test_a_transaction_drops_its_changes_when_the_commit_fails(store: Store) -> None:
    store.options(max_rows=1)
    with pytest.raises(tidelog.LimitError, match="E0502"), store.transaction() as transaction:
        transaction.insert(CAT)
    store.options(max_rows=None)
    assert not store.has_pending
    assert not len(store)


def test_a_transaction_is_alone(store: Store) -> None:
    store.insert(CAT)
    with pytest.raises(UsageError, match="E0606"):
        store.transaction()
    store.rollback()
    with store.transaction() as transaction:
        for call in (store.commit, store.rollback, store.close, store.transaction):
            with pytest.raises(UsageError, match="E0625"):
                call()
    with pytest.raises(UsageError, match="E0626"):
        transaction.insert(CAT)


def test_what_waits(store: Store) -> None:
    waits: list[bool] = []
    changes: list[Callable[[], object]] = [
        lambda: store.query("<http://x/nobody>(x, y)"),  # It declares relations, which changes nothing.
        lambda: store.load(RULE),
        store.rollback,
        lambda: store.load('.decl own(x: symbol)\nown("a").'),
        store.commit,
        lambda: store.insert(CAT),
        store.rollback,
    ]
    for change in changes:
        change()
        waits.append(store.has_pending)
    assert waits == [False, True, False, True, False, True, False]


def test_subscribers_hear_of_triples_that_come_and_go(store: Store) -> None:
    heard: list[StoreChange] = []
    end = store.subscribe(heard.append)
    store.insert(CAT)
    change = store.commit()
    assert heard == [change]
    assert TOM in set(heard[0].inserted)
    store.load('.decl own(x: symbol)\nown("a").')
    store.commit()
    assert heard == [change], "no triple has changed"
    store.delete(CAT)
    store.commit()
    assert TOM in set(heard[1].deleted)
    end()
    store.insert(CAT)
    store.commit()
    assert len(heard) == 2


def test_a_subscriber_may_commit_and_may_fail(store: Store) -> None:
    def follow(change: StoreChange) -> None:
        if TOM in set(change.inserted):
            store.insert([("http://x/tom", "http://x/seen", "http://x/yes")])
            store.commit()

    def fail(change: StoreChange) -> None:
        raise ZeroDivisionError

    store.subscribe(follow)
    store.subscribe(fail)
    store.insert(CAT)
    change = store.commit()
    assert [type(error) for error in change.errors] == [ZeroDivisionError]
    assert ("http://x/tom", "http://x/seen", "http://x/yes") in store
    with pytest.raises(UsageError, match="E0609"):
        store.subscribe(5)  # type: ignore[call-overload]  # the point of the test


CALLS: dict[str, Callable[[Store], Any]] = {
    "load": lambda store: store.load(RULE),
    "rules.remove": lambda store: store.rules.remove("famous"),
    "insert": lambda store: store.insert(CAT),
    "delete": lambda store: store.delete(CAT),
    "commit": lambda store: store.commit(),
    "transaction": lambda store: store.transaction(),
    "subscribe": lambda store: store.subscribe(print),
    "contains": lambda store: store.contains(*TOM),
    "triples": lambda store: store.triples(),
    "inferred": lambda store: store.inferred(),
    "inconsistencies": lambda store: len(store.inconsistencies()),
    "query": lambda store: store.query("<http://x/p>(x, y)"),
    "len": len,
    "iter": list,
    "to_text": lambda store: store.to_text(),
    "stats": lambda store: store.stats(),
    "check": lambda store: store.check(),
    "save_certificate": lambda store: store.save_certificate("nowhere"),
}


def test_a_closed_store_is_closed() -> None:
    with tidelog.rdf.connect(rules="rdfs") as store:
        store.insert(CAT)
        store.commit()
        found = store.triples()
    assert TOM in set(found), "what was returned stays"
    for call in CALLS.values():
        with pytest.raises(UsageError, match="E0602"):
            call(store)
    store.close()


def test_stats_and_certificates(store: Store, tmp_path: Path) -> None:
    store.insert(CAT)
    store.commit()
    stats = store.stats()
    assert (stats["triples"], stats["epochs"]) == (len(store), 2)
    assert stats["rules"] > 0
    store.check()
    store.save_certificate(tmp_path / "proof")
    tidelog.check_certificate(tmp_path / "proof")
