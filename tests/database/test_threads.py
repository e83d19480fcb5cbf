"""A database that several threads use: nobody loses facts, sees half an epoch or reads memory that is gone."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tidelog.language.syntax import Value

PROGRAM = """
.decl e(x: number, y: number)
.decl half(x: number, y: number)
.decl back(x: number, y: number)
.decl t(x: number, y: number)
.decl name(x: symbol)
half(x, y) :- e(x, y).
back(y, x) :- half(x, y).
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(y, z).
"""


@pytest.fixture(autouse=True)
def hurry() -> Iterator[None]:
    """Threads take turns five hundred times as often as they do by default."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(params=["memory", "store"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tidelog.Database]:
    with tidelog.connect() if request.param == "memory" else tidelog.connect(tmp_path / "db") as database:
        database.load(PROGRAM)
        database.commit()
        yield database


def together(*works: Callable[[], object]) -> None:
    """Do all of this at once, each in a thread of its own; what one raises is raised."""
    start = threading.Barrier(len(works))

    def work(each: Callable[[], object]) -> object:
        start.wait()
        return each()

    with ThreadPoolExecutor(len(works)) as pool:
        for future in [pool.submit(work, each) for each in works]:
            future.result()


@contextmanager
def reading(read: Callable[[], object]) -> Iterator[None]:
    """Meanwhile, two threads read on and on."""
    ended = threading.Event()
    counts = []

    def again() -> None:
        count = 0
        while not ended.is_set() or not count:
            read()
            count += 1
        counts.append(count)

    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(again) for _ in range(2)]
        try:
            yield
        finally:
            ended.set()
        for future in futures:
            future.result()
    assert len(counts) == 2


def test_readers_see_whole_epochs(db: tidelog.Database) -> None:
    """Each epoch is a block of 50 facts, that of the last one removed; a query reads facts and rules at once."""

    def read() -> None:
        for name in ("e", "back"):
            rows: set[tuple[Any, ...]] = set(db[name])
            assert len(rows) in (0, 50), len(rows)
            assert len({max(x, y) // 100 for x, y in rows}) <= 1
        relation = db["t"]
        assert (5, 5) not in relation
        assert relation.to_arrow().num_rows in (0, 50 * 51 // 2)
        assert len(list(db.query("e(_, Y)"))) in (0, 50)
        db.stats()
        db.births("back")

    with reading(read):
        for block in range(1, 25):
            db.delete("e", [(x, x + 1) for x in range(100 * block - 100, 100 * block - 50)])
            db.insert("e", [(x, x + 1) for x in range(100 * block, 100 * block + 50)])
            db.commit()
    db.check()


def test_iterators_stay_with_the_epoch_in_which_they_began(db: tidelog.Database) -> None:
    db.insert("e", [(x, x + 1) for x in range(200)])
    db.commit()
    for name, size in (("e", 200), ("half", 200), ("t", 200 * 201 // 2)):
        rows = iter(db[name])
        first = next(rows)

        def add() -> None:
            db.insert("e", [(-1, 0)])
            db.commit()

        change = threading.Thread(target=add)
        change.start()
        change.join()
        assert len({first, *rows}) == size
        db.delete("e", [(-1, 0)])
        later = iter(db[name])
        db.commit()
        assert len(set(later)) > size


def test_every_fact_arrives(db: tidelog.Database) -> None:
    """Three threads insert while one commits; words of symbols come from all of them."""

    def insert(first: int) -> None:
        for x in range(first, first + 150):
            db.insert("e", [(x, -x)])
            db.insert("name", [(f"name {x}",), ("shared",), (f"name {x + 1}",)])

    def commit() -> None:
        for _ in range(40):
            db.commit()

    together(*(lambda first=first: insert(first) for first in (1, 1001, 2001)), commit)
    db.commit()
    assert set(db["e"]) == {(x, -x) for first in (1, 1001, 2001) for x in range(first, first + 150)}
    assert set(db["name"]) == {
        ("shared",), *((f"name {x}",) for first in (1, 1001, 2001) for x in range(first, first + 151)),
    }  # fmt: skip
    db.check()


def test_transactions_take_turns(db: tidelog.Database) -> None:
    """Each moves everything that it finds from one node to the next, which is right only one after the other."""
    db.insert("e", [(0, 0)])
    db.commit()

    def work() -> None:
        for _ in range(20):
            with db.transaction() as transaction:
                pairs: list[Any] = list(db["e"])
                [(x, y)] = pairs
                transaction.delete("e", [(x, y)])
                transaction.insert("e", [(x + 1, 0)])
            assert transaction.change is not None
            assert set(transaction.change["e"].inserted) == {(x + 1, 0)}

    together(work, work, work)
    assert set(db["e"]) == {(60, 0)}
    db.check()


def test_changes_of_others_wait_for_a_transaction_and_reading_does_not(db: tidelog.Database) -> None:
    asked, inside, read = threading.Event(), threading.Event(), threading.Event()
    order: list[str] = []

    def other() -> None:
        inside.wait()
        assert set(db["e"]) == set()  # and this does not wait
        read.set()
        asked.set()
        db.insert("e", [(9, 9)])
        order.append("other")
        db.commit()

    thread = threading.Thread(target=other)
    thread.start()
    with db.transaction() as transaction:
        transaction.insert("e", [(1, 2)])
        inside.set()
        assert read.wait(60)
        assert asked.wait(60)
        order.append("transaction")
    thread.join()
    assert order == ["transaction", "other"]
    assert transaction.change is not None
    assert set(transaction.change["e"].inserted) == {(1, 2)}
    assert set(db["e"]) == {(1, 2), (9, 9)}


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(tidelog.TidelogError) as caught:
        call()
    assert caught.value.problems[0].hint
    return caught.value.code


def test_a_transaction_belongs_to_its_thread_and_its_block(db: tidelog.Database) -> None:
    transaction = db.transaction()
    assert code_of(lambda: transaction.insert("e", [(1, 2)])) == "E0626"
    codes: list[str] = []
    with transaction:
        thread = threading.Thread(target=lambda: codes.append(code_of(lambda: transaction.insert("e", [(1, 2)]))))
        thread.start()
        thread.join()
    assert codes == ["E0626"]
    assert code_of(lambda: transaction.delete("e", [(1, 2)])) == "E0626"
    assert code_of(lambda: transaction.rules) == "E0626"
    assert code_of(transaction.__enter__) == "E0626"
    assert not db.has_pending


def test_what_would_end_a_transaction_is_refused_inside_of_it(db: tidelog.Database) -> None:
    with db.transaction() as transaction:
        transaction.insert("e", [(1, 2)])
        db.load(".decl more(x: number)")
        db.insert("e", [(2, 3)])
        for call in (db.commit, db.rollback, db.transaction, db.close):
            assert code_of(call) == "E0625"
    assert transaction.change is not None
    assert set(transaction.change["e"].inserted) == {(1, 2), (2, 3)}
    assert "more" in db.relations


def test_a_transaction_that_fails_drops_what_was_loaded(db: tidelog.Database) -> None:
    db.options(max_rows=1)

    def fails() -> None:
        with db.transaction() as transaction:
            db.load(".decl more(x: number)")
            transaction.insert("e", [(1, 2), (2, 3)])

    assert code_of(fails) == "E0502"
    assert "more" not in db.relations
    assert not db.has_pending
    db.options(max_rows=None)
    assert list(db.commit()) == []


def test_a_subscriber_may_commit_and_others_hear_in_order(db: tidelog.Database) -> None:
    heard: list[tuple[str, set[object]]] = []

    def follow(change: object) -> None:
        rows = set(change.inserted)  # type: ignore[attr-defined]
        heard.append(("first", rows))
        if (1, 2) in rows:
            db.insert("e", [(3, 4)])
            heard.append(("inside", set(db.commit()["e"].inserted)))
        elif (3, 4) in rows:
            with db.transaction() as transaction:
                transaction.insert("e", [(5, 6)])

    db.subscribe("e", follow)
    db.subscribe("e", lambda change: heard.append(("second", set(change.inserted))))
    db.insert("e", [(1, 2)])
    db.commit()
    assert heard == [
        ("first", {(1, 2)}), ("inside", {(3, 4)}), ("second", {(1, 2)}),
        ("first", {(3, 4)}), ("second", {(3, 4)}), ("first", {(5, 6)}), ("second", {(5, 6)}),
    ]  # fmt: skip


def test_others_read_while_a_subscriber_runs(db: tidelog.Database) -> None:
    found: list[set[tuple[Value, ...]]] = []

    def hear(change: object) -> None:
        with ThreadPoolExecutor(1) as pool:
            found.append(pool.submit(lambda: set(db["e"])).result(60))

    db.subscribe("e", hear)
    db.insert("e", [(1, 2)])
    assert db.commit().errors == ()
    assert found == [{(1, 2)}]


def test_closing_while_others_read(tmp_path: Path) -> None:
    for round_ in range(8):
        db = tidelog.connect(tmp_path / str(round_))
        db.load(PROGRAM)
        db.insert("e", [(x, x + 1) for x in range(100)])
        change = db.commit()
        answer, rows = db.query("e(1, Y)"), iter(db["t"])
        relations = [db[name] for name in ("e", "half", "t")]
        codes: list[str] = []

        def read(relations: list[tidelog.Relation] = relations, codes: list[str] = codes) -> None:
            try:
                while True:
                    for relation in relations:
                        assert len(set(relation)) in (100, 5050)
                        assert (3, 4) in relation
            except tidelog.UsageError as error:
                codes.append(error.code)

        together(read, read, db.close)
        assert codes == ["E0602"] * 2
        for relation in relations:
            for call in (relation.__len__, relation.words, relation.to_arrow, relation.__repr__):
                assert code_of(call) == "E0602"
            assert code_of(partial(list, relation)) == "E0602"
        for call in (db.stats, db.check, db.transaction, partial(db.query, "e(1, Y)"), partial(db.births, "e")):
            assert code_of(call) == "E0602"
        assert set(answer) == {(1, 2)}
        assert len(change["t"].inserted) == len(set(rows)) == 5050


def test_databases_that_read_each_other_do_not_wait_for_each_other() -> None:
    one, other = tidelog.connect(), tidelog.connect()
    for each in (one, other):
        each.load(PROGRAM)
        each.insert("e", [(1, 2)])
        each.insert("name", [("a",)])
        each.commit()

    def take(into: tidelog.Database, source: tidelog.Database) -> None:
        for _ in range(60):
            into.insert("e", source["e"])
            into.insert("name", source["name"])
            into.insert("e", (row for row in source["e"]))

    together(lambda: take(one, other), lambda: take(other, one))
    assert list(one.commit()) == list(other.commit()) == []
