"""Ctrl-C at any place of what a SparkDatabase does: when a call raises, nothing has changed and everything still waits;
when it returns, everything is there, and the interrupt follows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import tidelog
from tests.depth import stride
from tests.pressing import pressed, presses
from tidelog.relation import Relation, WordRows

PROGRAM = """
.decl e(x: number, y: symbol)
.decl t(x: number, y: symbol)
.decl n(x: number)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(x + 1, z), y != z.
"""
MORE = ".decl d(x: number)\nd(x) :- e(x, _), !n(x).\nn(1)."
CORE = (
    "spark/database.py", "spark/embedded.py", "spark/keeping.py", "cluster/engine.py", "transaction.py",
    "subscribers.py", "limits/interrupts.py", "turns.py", "store/state.py",
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
        columns = db.front[name].columns
        found[name] = set(Relation(name, WordRows(columns, db.front.dictionary, db.words(name))))
    return found


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
        db = self._open()
        db.load(PROGRAM)
        db.insert("e", [(1, "a"), (2, "b")])
        db.commit()
        return db

    def end(self, db: Any, wanted: Views, place: str) -> None:
        """The database shows these views, and so does its state folder to the next process."""
        assert views(db) == wanted, place
        db.close()
        if self._folder is not None:
            with self._open() as again:
                assert views(again) == wanted, place

    def _open(self) -> Any:
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
        (("embedded", False), CORE, 1, stride(28)),
        (("embedded", False), ALL, 7, stride(1828)),
        (("embedded", True), CORE, 2, stride(87)),
        (("embedded", True), ALL, 5, stride(4389)),
        (("cluster", False), CORE, 50, stride(300)),
        (("cluster", True), CORE, 90, stride(500)),
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
