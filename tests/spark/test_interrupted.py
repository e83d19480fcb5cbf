"""Ctrl-C at any place of what a SparkDatabase does: when a call raises, nothing has changed and everything still waits;
when it returns, everything is there, and the interrupt follows."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import tidelog
from tests.depth import stride
from tests.pressing import pressed, presses
from tidelog.errors import DataError, UsageError
from tidelog.spark.sources import facts

PROGRAM = """
.decl e(x: number, y: symbol)
.decl t(x: number, y: symbol)
.decl n(x: number)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(x + 1, z), y != z.
"""
MORE = ".decl d(x: number)\nd(x) :- e(x, _), !n(x).\nn(1)."
CORE = (
    "spark/database.py", "spark/engines.py", "spark/keeping.py", "cluster/engine.py", "database/transaction.py",
    "verbs.py", "workspace.py", "change.py", "limits/interrupts.py", "turns.py", "store/state.py",
)  # fmt: skip
"""Where commits begin and end."""
ALL = ("tidelog/",)

Views = dict[str, set[tuple[Any, ...]]]
BEFORE: Views = {"e": {(1, "a"), (2, "b")}, "t": {(1, "a"), (2, "b"), (1, "b")}, "n": set()}
AFTER: Views = {"e": {(1, "a"), (2, "c")}, "t": {(1, "a"), (2, "c"), (1, "c")}, "n": {(1,)}, "d": {(2,)}}
CAME, WENT = {(2, "c"), (1, "c")}, {(2, "b"), (1, "b")}


def views(db: Any) -> Views:
    """Return the content of the database, read without Spark if the driver has it."""
    found = {}
    for name in db.relations:
        found[name] = set(db.local(name))
    return found


@pytest.fixture(autouse=True)
def few_rows_are_kept_in_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many rows are, which an interruption has to release."""
    monkeypatch.setattr(facts, "FEW_ROWS", 0)


class Case:
    """Databases of one kind: an engine, with a state folder or without."""

    def __init__(self, spark: SparkSession, engine: str, folders: Callable[[], Path] | None) -> None:
        self._spark = spark
        self._engine = engine
        self._folders = folders
        self._folder: Path | None = None

    def begun(self) -> Any:
        """A database after its first epoch."""
        if self._folders is not None:
            self._folder = self._folders()
        db = self.opened()
        db.load(PROGRAM)
        db.insert("e", [(1, "a"), (2, "b")])
        db.commit()
        return db

    @property
    def lasts(self) -> bool:
        return self._folder is not None

    def end(self, db: Any, wanted: Views, place: str) -> None:
        """The database shows these views, and so does its state folder to the next process."""
        assert views(db) == wanted, place
        db.close()
        if self._folder is not None:
            with self.opened() as again:
                assert views(again) == wanted, place

    def opened(self) -> Any:
        db: Any = tidelog.connect(spark=self._spark, **({} if self._folder is None else {"state": self._folder}))
        db.options(engine=self._engine)
        return db


def change(db: Any) -> None:
    db.load(MORE)
    db.delete("e", [(2, "b")])
    db.insert("e", [(2, "c")])


@pytest.fixture
def case(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Case:
    engine, has_state = request.param
    numbers = count()
    return Case(spark, engine, (lambda: tmp_path / str(next(numbers))) if has_state else None)


PLACES = pytest.mark.parametrize(
    ("case", "files", "first", "every"),
    [
        (("embedded", False), CORE, 1, stride(40)),
        (("embedded", False), ALL, 7, stride(2700)),
        (("embedded", True), CORE, 2, stride(130)),
        (("embedded", True), ALL, 5, stride(6500)),
        (("cluster", False), CORE, 50, stride(450)),
        (("cluster", True), CORE, 90, stride(750)),
    ],
    indirect=["case"],
    ids=["driver", "driver-deep", "driver-state", "driver-state-deep", "cluster", "cluster-state"],
)


@PLACES
def test_a_commit_is_all_there_or_all_waiting(case: Case, files: tuple[str, ...], first: int, every: int) -> None:
    seen = {True: 0, False: 0}
    for attempt in presses(*files, first=first, every=every):
        db = case.begun()
        told: list[int] = []
        db.subscribe("t", lambda change, told=told: told.append(change.deleted.count()))
        change(db)
        made: list[Any] = []

        def commit(db: Any = db, made: list[Any] = made) -> None:
            made.append(db.commit())

        stopped = pressed(attempt, commit)
        seen[stopped] += 1
        if stopped:
            assert views(db) == BEFORE | {"d": set()}, attempt.place
            assert told == [], attempt.place
            assert db.has_pending
            made.append(db.commit())
        assert {tuple(row) for row in made[0]["t"].inserted.collect()} == CAME, attempt.place
        assert {tuple(row) for row in made[0]["t"].deleted.collect()} == WENT, attempt.place
        assert (len(made), db.has_pending) == (1, False)
        assert told == [2], attempt.place
        case.end(db, AFTER, attempt.place)
    assert min(seen.values()) >= 1


@pytest.mark.parametrize(
    ("case", "files", "first", "every"),
    [
        (("embedded", False), CORE, 1, stride(80)),
        (("embedded", True), ALL, 9, stride(9000)),
        (("cluster", False), CORE, 120, stride(900)),
        (("cluster", True), CORE, 30, stride(750)),
    ],
    indirect=["case"],
    ids=["driver", "driver-state-deep", "cluster", "cluster-state"],
)
def test_a_transaction_is_all_there_or_dropped(case: Case, files: tuple[str, ...], first: int, every: int) -> None:
    seen = {True: 0, False: 0}
    for attempt in presses(*files, first=first, every=every):
        db = case.begun()
        transaction = db.transaction()

        def block(db: Any = db, transaction: Any = transaction) -> None:
            with transaction:
                change(db)

        stopped = pressed(attempt, block)
        seen[stopped] += 1
        if not stopped:
            assert {tuple(row) for row in transaction.change["t"].inserted.collect()} == CAME, attempt.place
        assert not db.has_pending, attempt.place
        with db.transaction():
            pass
        case.end(db, BEFORE if stopped else AFTER, attempt.place)
    assert min(seen.values()) >= 1


ROWS = [(2, "c"), (7, "d")]
FACTS = {(1, "a"), (2, "b"), *ROWS}
SCHEMA = "x int, y string"


def insert_rows(db: Any) -> None:
    db.insert("e", ROWS)


def insert_frame(db: Any) -> None:
    db.insert("e", db.session.createDataFrame(ROWS, SCHEMA))


def insert_bad_frame(db: Any) -> None:
    with suppress(DataError):
        db.insert("e", db.session.createDataFrame([*ROWS, (8, None)], SCHEMA))


def delete_frame(db: Any) -> None:
    db.delete("e", db.session.createDataFrame([(1, "a"), (2, "b")], SCHEMA))


def load(db: Any) -> None:
    db.load(f'{MORE} e(2, "c"). e(7, "d").')


CALLS: dict[str, tuple[Callable[[Any], None], set[tuple[Any, ...]]]] = {
    "insert": (insert_rows, FACTS),
    "insert-frame": (insert_frame, FACTS),
    "insert-bad": (insert_bad_frame, BEFORE["e"]),
    "delete-frame": (delete_frame, set()),
    "load": (load, FACTS),
}
STRIDES = {"insert": 67, "insert-frame": 523, "insert-bad": 787, "delete-frame": 919, "load": 1307}
FURTHER = {(5, "f")}
BOTH = {"e": AFTER["e"] | {(7, "d")}, "t": AFTER["t"] | {(7, "d")}, "n": {(1,)}, "d": {(2,), (7,)}}
"""After `change` and `insert_frame`."""


def kept(spark: SparkSession) -> int:
    """How many frames the session keeps."""
    return int(spark.sparkContext._jsc.getPersistentRDDs().size())


@pytest.mark.parametrize("call", CALLS)
def test_a_call_waits_whole_or_not_at_all(call: str, spark: SparkSession) -> None:
    act, after = CALLS[call]
    case, frames = Case(spark, "embedded", None), kept(spark)
    for attempt in presses(*ALL, first=3, every=STRIDES[call]):
        db = case.begun()
        db.insert("e", FURTHER)
        stopped = pressed(attempt, partial(act, db))
        db.commit()
        found = views(db)
        assert found["e"] == after | FURTHER or (stopped and found["e"] == BEFORE["e"] | FURTHER), attempt.place
        if call == "load":
            assert ("d" in found) == (found["e"] == after | FURTHER), attempt.place
        if call != "load" or "d" not in found:
            act(db)
            db.commit()
        assert views(db)["e"] == after | FURTHER, attempt.place
        db.check()
        assert kept(spark) == frames, attempt.place
        db.close()


def cases(*strides: int) -> pytest.MarkDecorator:
    kinds = [("embedded", False), ("embedded", True), ("cluster", False), ("cluster", True)]
    names = ["driver", "driver-state", "cluster", "cluster-state"]
    return pytest.mark.parametrize(
        ("case", "every"), list(zip(kinds, strides, strict=True)), indirect=["case"], ids=names
    )


CASES = cases(17, 61, 251, 401)


@CASES
def test_a_rollback_drops_all_or_nothing(case: Case, every: int, spark: SparkSession) -> None:
    frames = kept(spark)
    for attempt in presses(*ALL, first=5, every=every):
        db = case.begun()
        held = kept(spark)
        change(db)
        insert_frame(db)
        stopped = pressed(attempt, db.rollback)
        assert stopped or not db.has_pending, attempt.place
        waits = db.has_pending
        assert kept(spark) == held + waits, attempt.place
        db.commit()
        assert views(db) == (BOTH if waits else BEFORE), attempt.place
        db.check()
        db.close()
        assert kept(spark) == frames, attempt.place


@cases(17, 61, 701, 2001)
def test_a_close_is_whole_or_changes_nothing(case: Case, every: int, spark: SparkSession) -> None:
    frames = kept(spark)
    for attempt in presses(*ALL, first=5, every=every):
        db = case.begun()
        insert_frame(db)
        stopped, wanted = pressed(attempt, db.close), BEFORE
        assert stopped or is_closed(db), attempt.place
        if not is_closed(db):
            db.commit()
            wanted = views(db)
            assert wanted["e"] == FACTS, attempt.place
            db.check()
            db.close()
        assert kept(spark) == frames, attempt.place
        if case.lasts:
            case.end(case.opened(), wanted, attempt.place)


def is_closed(db: Any) -> bool:
    """Whether nothing can be done with a database any more."""
    try:
        db.stats()
    except UsageError:
        return True
    return False


@pytest.mark.smoke
@pytest.mark.parametrize("call", ["rollback", "close", "commit"])
def test_ctrl_c_ends_waiting_for_another_thread(call: str, spark: SparkSession) -> None:
    db = Case(spark, "embedded", None).begun()
    begun, end = threading.Event(), threading.Event()

    def hold() -> None:
        with db.transaction():
            begun.set()
            end.wait(60)

    holding = threading.Thread(target=hold)
    holding.start()
    begun.wait()

    def wait() -> None:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        getattr(db, call)()

    with pytest.raises(KeyboardInterrupt):
        wait()
    assert holding.is_alive()
    end.set()
    holding.join()
    assert views(db) == BEFORE
    db.close()
