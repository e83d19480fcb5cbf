"""Output that is written before an epoch lasts: the epoch then shows it. If it, or the state folder behind it, fails,
nothing has changed, and the commit can be tried again."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import tidelog
from tests.pressing import pressed, presses
from tidelog.durable.local import LocalFiles
from tidelog.errors import DataError, UsageError
from tidelog.spark import Pipeline, Sink, Source
from tidelog.spark.change import UnsealedEpoch

PROGRAM = """
.type pair = [x: number, y: symbol]
.decl e(x: number, y: number)
.decl name(x: number, s: symbol)
.decl path(x: number, y: number)
.decl odd(x: number, y: number)
.decl even(x: number, y: number)
.decl far(x: number, n: number)
.decl no(x: number)
.decl is()
.decl made(p: pair)
.decl alias(x: number, y: number)
path(x, y) :- e(x, y).
path(x, z) :- path(x, y), e(y, z).
odd(x, y) :- e(x, y).
odd(x, z) :- even(x, y), e(y, z).
even(x, z) :- odd(x, y), e(y, z).
far(x, n) :- e(x, _), n = count : { path(x, _) }.
no(x) :- name(x, _), !path(x, x).
is() :- path(x, x).
made([x, s]) :- name(x, s), e(x, _).
alias(x, y) :- path(x, y).
path(0, 0).
"""
OPERATIONS = ("create", "make", "sync", "sync_folder", "rename", "remove", "remove_folder", "kind", "entries")
Seen = dict[str, tuple[list[Any], list[Any], list[Any], int]]


def seen(names: tuple[str, ...], delivery: UnsealedEpoch) -> Seen:
    """For some relations what a delivery says of it: its rows, those that came and went, and their number."""
    found = {}
    for name in names:
        change = delivery[name]
        frames = (delivery.view(name), change.inserted, change.deleted)
        view, came, went = (sorted(map(tuple, frame.collect()), key=repr) for frame in frames)
        assert delivery.count(name) == len(came) + len(went)
        found[name] = (view, came, went, delivery.size(name))
    return found


def shown(db: Any, names: tuple[str, ...], change: Any) -> Seen:
    """The same as a committed epoch says it."""
    found = {}
    for name in names:
        frames = (db[name], change[name].inserted, change[name].deleted)
        view, came, went = (sorted(map(tuple, frame.collect()), key=repr) for frame in frames)
        found[name] = (view, came, went, db.size(name))
    return found


STEPS: list[Callable[[Any], object]] = [
    lambda db: (db.load(PROGRAM), db.insert("e", [(1, 2), (2, 3), (3, 1), (3, 4)]), db.insert("name", [(1, "a")])),
    lambda db: (db.delete("e", [(3, 1)]), db.insert("name", [(4, "d"), (3, "c")])),
    lambda db: None,
    lambda db: (db.insert("e", [(4, 5), (5, 4), (4, 1)]), db.delete("name", [(1, "a")]), db.insert("path", [(9, 9)])),
    lambda db: db.load(".decl more(x: number)  m: more(x) :- no(x).  e(7, 7)."),
    lambda db: (db.rules.remove("m"), db.delete("e", [(2, 3), (4, 5)]), db.delete("path", [(9, 9), (0, 0)])),
]


@pytest.mark.parametrize(
    ("engine", "names", "steps"),
    [("embedded", ("path", "even", "far", "is", "made"), len(STEPS)), ("cluster", ("far",), 2)],
)
def test_a_delivery_is_what_the_epoch_then_shows(
    spark: SparkSession, engine: str, names: tuple[str, ...], steps: int
) -> None:
    with tidelog.connect(spark=spark) as db:
        db.options(engine=engine)
        for step in STEPS[:steps]:
            step(db)
            delivered: list[Seen] = []

            def note(each: UnsealedEpoch, told: list[Seen] = delivered) -> None:
                told.append(seen(names, each))

            change = db.commit_delivering({}, note)
            assert delivered == [shown(db, names, change)]


@pytest.mark.parametrize("engine", ["embedded", "cluster"])
def test_a_delivery_that_fails_leaves_everything_as_it_was(spark: SparkSession, tmp_path: Path, engine: str) -> None:
    with tidelog.connect(spark=spark, state=tmp_path) as db:
        db.options(engine=engine)
        names = ("path", "no")
        STEPS[0](db)
        first = db.commit()
        told: list[int] = []
        db.subscribe("path", lambda change: told.append(change.deleted.count()))
        kept = {name: sorted(map(repr, db[name].collect())) for name in names}
        STEPS[1](db)
        delivered: list[Seen] = []

        def fail(delivery: UnsealedEpoch) -> None:
            delivered.append(seen(names, delivery))
            raise ValueError("no room there")

        for _ in range(2):
            with pytest.raises(ValueError, match="no room there"):
                db.commit_delivering({}, fail)
            assert {name: sorted(map(repr, db[name].collect())) for name in names} == kept
            assert (db.has_pending, told, db.stats()["epochs"]) == (True, [], 1)
        change = db.commit()
        assert delivered == [shown(db, names, change)] * 2
        assert (first.epoch, change.epoch, len(told)) == (1, 2, 1)
        kept = {name: sorted(map(repr, db[name].collect())) for name in names}
    with tidelog.connect(spark=spark, state=tmp_path) as db:
        assert {name: sorted(map(repr, db[name].collect())) for name in names} == kept


class Failing(LocalFiles):
    """Files of which one operation fails, counted from when `left` is set."""

    left = -1
    error: BaseException = OSError(errno.EIO, os.strerror(errno.EIO))


def telling(told: list[int]) -> Callable[[UnsealedEpoch], None]:
    return lambda each: told.append(each.size("n"))


def _failing(name: str) -> Callable[..., Any]:
    def operation(self: Failing, *arguments: Any) -> Any:
        self.left -= 1
        if not self.left:
            raise self.error
        return getattr(LocalFiles, name)(self, *arguments)

    return operation


for _name in OPERATIONS:
    setattr(Failing, _name, _failing(_name))


@pytest.mark.parametrize("error", [OSError(errno.EIO, os.strerror(errno.EIO)), KeyboardInterrupt()], ids=["", "Ctrl-C"])
def test_every_file_operation_behind_a_delivery_fails(
    spark: SparkSession, tmp_path: Path, error: BaseException
) -> None:
    failed, number, codes = 0, 0, set()
    while failed == number:
        number += 1
        with tidelog.connect(spark=spark, state=tmp_path / str(number)) as db:
            assert db.keeper.state is not None
            db.keeper.state._files.close()
            db.keeper.state._files = files = Failing(db.keeper.state.folder)
            db.load(".decl e(x: number)  .decl n(x: number)  n(x) :- e(x), x > 1.")
            db.insert("e", [(1,), (2,)])
            db.commit()
            db.insert("e", [(3,)])
            db.delete("e", [(2,)])
            delivered: list[int] = []
            files.error, files.left = error, number
            try:
                db.commit_delivering({"pipeline": {"x": 1}}, telling(delivered))
            except (UsageError, KeyboardInterrupt) as caught:
                failed += 1
                codes.add(getattr(caught, "code", "Ctrl-C"))
                assert set(db.local("n")) == {(2,)}
                assert (db.has_pending, db.keeper.state.manifest.epoch) == (True, 1)
                assert "pipeline" not in db.keeper.notes
                db.commit_delivering({"pipeline": {"x": 2}}, telling(delivered))
            files.left = -1
            assert set(db.local("n")) == {(3,)}
            assert set(delivered) == {1}
        with tidelog.connect(spark=spark, state=tmp_path / str(number)) as db:
            assert set(db.local("n")) == {(3,)}
            assert db.stats()["epochs"] == 2
    assert number > 8
    assert codes == {"E0681" if isinstance(error, OSError) else "Ctrl-C"}


@pytest.mark.smoke
def test_a_delivery_is_interrupted_at_any_place(spark: SparkSession) -> None:
    seen = {True: 0, False: 0}
    for attempt in presses("spark/database.py", "spark/engines.py", "spark/change.py", "epoch.py", first=3, every=29):
        with tidelog.connect(spark=spark) as db:
            db.load(".decl e(x: number)  .decl n(x: number)  n(x) :- e(x), x > 1.")
            db.insert("e", [(1,), (2,)])
            db.commit()
            db.delete("e", [(2,)])
            sizes: list[int] = []

            def deliver(delivery: UnsealedEpoch, sizes: list[int] = sizes) -> None:
                sizes.append(delivery.view("n").count())

            stopped = pressed(attempt, partial(db.commit_delivering, {}, deliver))
            seen[stopped] += 1
            assert set(db.local("n")) == ({(2,)} if stopped else set()), attempt.place
            assert (db.has_pending, set(sizes) <= {0}) == (stopped, True), attempt.place
            db.commit()
            assert set(db.local("n")) == set(), attempt.place
    assert min(seen.values()) >= 3


def test_sinks_that_were_written_for_an_epoch_that_failed_are_named(spark: SparkSession, tmp_path: Path) -> None:
    program = ".decl e(x: number)\n.decl n(k: number)\nc: n(k) :- k = count : { e(_) }."
    (tmp_path / "file").write_text("no folder")
    sinks = [Sink("n", tmp_path / "n"), Sink("n", tmp_path / "once", mode="error"), Sink("n", tmp_path / "file/n")]
    source = Source("e", frame=spark.createDataFrame([(1,), (2,)], "x int"))
    with tidelog.connect(spark=spark, state=tmp_path / "state") as db:
        with pytest.raises(DataError) as caught:
            Pipeline(program, [source], sinks).run(spark, db)
        hint = caught.value.problems[0].hint
        assert hint is not None
        assert hint.split("; ")[-3:] == [
            "the database is as before, but sinks have been written for its epoch 1",
            f"another run writes these anew: {tmp_path / 'n'}, {tmp_path / 'file/n'}",
            f"remove these before another run: {tmp_path / 'once'}",
        ]
        assert (db.relations, db.has_pending) == ((), False)
        with pytest.raises(DataError, match="already exists"):
            Pipeline(program, [source], sinks[:2]).run(spark, db)
        assert db.relations == ()
        Pipeline(program, [source], sinks[:1]).run(spark, db)
        assert spark.read.parquet(str(tmp_path / "n")).collect() == [(2,)]
        assert db.stats()["epochs"] == 1
