"""Frames of many rows on the driver, which tasks read when they are used."""

from __future__ import annotations

import threading
from collections.abc import Callable
from decimal import Decimal
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import tidelog
from tidelog.errors import DataError
from tidelog.spark import SparkDatabase
from tidelog.spark.frames import translation
from tidelog.spark.rows import SparkRows

PROGRAM = """
.type Place = [town: symbol, number: unsigned]
.decl n(x: number)
.decl v(x: number, s: symbol, f: float, p: Place)
.decl w(x: number)
v(x, cat("s", to_string(x % 7)), to_float(x) / 2.0, ["Oslo", to_unsigned(x)]) :- n(x).
w(x) :- n(x), x % 2 = 0.
"""


OVER = r"^\[\w+\] error\[E0687\]: .*\n  hint: ask the database for it again"


def value(x: int) -> tuple[Any, ...]:
    return (x, f"s{x % 7}", x / 2, ("Oslo", Decimal(x)))


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, frame.collect()))


@pytest.fixture
def db(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A database to which eleven rows are many."""
    monkeypatch.setattr(translation, "MOST_IN_JAVA", 10)
    with tidelog.connect(spark=spark) as found:
        found.load(PROGRAM)
        found.insert("n", [(x,) for x in range(20)])
        found.commit()
        yield found
    assert not [thread for thread in threading.enumerate() if thread.name == "tidelog-rows"]


def test_values_of_all_types_arrive(db: SparkDatabase, spark: SparkSession) -> None:
    frame = db["v"]
    assert rows(frame) == rows(frame) == [value(x) for x in range(20)]
    assert frame.where("p.number = 3").select("s").collect() == [("s3",)]
    assert frame.schema == db.query('v(_, "s1", _, _)').schema
    assert rows(db.query("v(X, S, F, P)")) == [value(x) for x in range(20)]
    assert rows(frame.join(db["w"], "x").select("x")) == [(x,) for x in range(0, 20, 2)]
    assert rows(db["w"]) == [(x,) for x in range(0, 20, 2)]  # ten are few


@pytest.mark.smoke
def test_changes_and_facts_from_a_frame_of_the_database(db: SparkDatabase) -> None:
    db.insert("n", db["v"].selectExpr("x + 15 as x"))
    change = db.commit()
    assert rows(change["v"].inserted) == [value(x) for x in range(20, 35)]
    assert rows(change["v"].deleted) == []
    assert db["n"].count() == 35


def test_a_frame_of_an_epoch_that_is_over(db: SparkDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unread, read = db["n"], db["v"]
    assert read.count() == 20
    db.insert("n", [(-1,)])
    change = db.commit()
    for frame in (unread, read):
        with pytest.raises(PySparkException, match=OVER):
            frame.collect()
    with pytest.raises(DataError, match=r"E0482.*this frame belongs to an earlier epoch"):
        db.insert("n", unread)
    assert change["n"].inserted.count() == 1
    assert db["n"].count() == 21
    late = db["n"]
    monkeypatch.chdir(tmp_path)
    db.options(engine="cluster", cluster_folder="partitions")
    db.commit()
    assert len(list(tmp_path.glob("partitions/tidelog-*/manifest"))) == 1
    with pytest.raises(PySparkException, match="E0687"):
        late.count()
    assert db["n"].count() == 21


def test_few_rows_end_with_their_epoch(db: SparkDatabase, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translation, "MOST_IN_JAVA", 1_000)
    db.load(".decl none(x: number)\n.decl on()\non() :- n(_).")
    change = db.commit()
    view, answer = db["v"], db.query("n(X), X < 3")
    derived, empty, changed, unit = view.where("x > 3").select("s"), db["none"], change["on"].inserted, db["on"]
    frames = [view, derived, empty, answer, unit]
    sizes = [20, 16, 0, 3, 1]
    assert [len(frame.collect()) for frame in frames] == [frame.count() for frame in frames] == sizes
    kept = db["n"].persist()
    assert kept.count() == 20
    for name, frame in (("old_v", view), ("old_none", empty)):
        frame.createOrReplaceTempView(name)
    db.insert("n", [(100,), (101,)])
    db.options(max_rows=1)
    with pytest.raises(tidelog.LimitError):
        db.commit()
    assert [frame.count() for frame in frames] == sizes
    db.options(max_rows=None)
    db.rollback()
    db.insert("none", [(1,)])
    db.delete("n", [(1,)])
    db.commit()
    reads: list[Callable[[], object]] = [
        *(frame.collect for frame in frames),
        *(frame.count for frame in frames),
        lambda: spark.sql("select count(*) from old_v where x = 77").collect(),
        lambda: spark.sql("select x from old_none").collect(),
    ]
    for read in reads:
        with pytest.raises(PySparkException, match=OVER):
            read()
    assert changed.count() == 1
    assert (kept.count(), db["n"].count(), db["none"].count(), db["on"].count()) == (20, 19, 1, 1)
    last = db["n"]
    db.close()
    with pytest.raises(PySparkException, match="E0687"):
        last.collect()
    kept.unpersist()


def test_frames_of_few_rows_in_queries(db: SparkDatabase, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translation, "MOST_IN_JAVA", 1_000)
    db.create_views("n", "w")
    assert spark.sql("select x from n where exists (select 1 from w where w.x = n.x + 2)").count() == 9
    largest = "(select max(w.x) from w where w.x = n.x)"
    assert spark.sql(f"select x, {largest} from n where x in (select x from w)").count() == 10
    assert spark.range(100).withColumnRenamed("id", "x").join(db["n"], "x", "left_anti").count() == 80


def test_temporary_views_follow(db: SparkDatabase, spark: SparkSession) -> None:
    def count(view: str) -> int:
        return int(spark.sql(f"select count(*) from {view}").first()[0])  # type: ignore[index]

    db.create_views("n")
    db.create_views(prefix="all_")
    assert (count("n"), count("all_n"), count("all_v")) == (20, 20, 20)
    db.insert("n", [(100,)])
    db.load(".init c = C\n.comp C {\n.decl more(x: number)\nmore(x) :- n(x).\n}")
    db.commit()
    assert (count("n"), count("all_v"), count("`all_c.more`")) == (21, 21, 21)
    with pytest.raises(tidelog.UsageError, match="E0601"):
        db.create_views("nobody")
    spark.range(1).createOrReplaceTempView("taken_n")
    with pytest.raises(tidelog.UsageError, match=r"E0603.*'taken_n' already"):
        db.create_views("n", prefix="taken_")
    assert count("taken_n") == 1
    db.rules.remove_instance("c")
    db.commit()
    assert not spark.catalog.tableExists("`all_c.more`")
    db.close()
    assert not [view for view in ("n", "all_n", "all_v") if spark.catalog.tableExists(view)]
    spark.catalog.dropTempView("taken_n")


def test_a_commit_that_fails_leaves_frames_alone(db: SparkDatabase) -> None:
    frame = db["n"]
    db.options(max_rows=1)
    db.insert("n", [(100,)])
    with pytest.raises(tidelog.LimitError):
        db.commit()
    assert rows(frame) == [(x,) for x in range(20)]


def test_only_who_knows_the_secret_is_served(db: SparkDatabase) -> None:
    frame = db["n"]
    assert frame.count() == 20
    server = db._translation._row_server
    with pytest.raises(AuthenticationError):
        Client(server._server.address, authkey=b"guessed")
    assert frame.count() == 20


def test_large_frames_come_to_the_driver_a_part_at_a_time(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.spark.rows.MOST_AT_ONCE", 30)
    frame = spark.range(100).selectExpr("id as c0", "-id as c1").repartition(3)
    assert sorted(map(tuple, SparkRows(frame, 2).local().tolist())) == [(x, -x) for x in range(100)]
    assert SparkRows(frame.where("c0 < 0"), 2).local().shape == (0, 2)
    assert SparkRows(spark.range(1).selectExpr("id as unit"), 0).local().shape == (1, 0)


def test_a_million_rows_and_one(spark: SparkSession) -> None:
    with tidelog.connect(spark=spark) as db:
        db.load(".decl n(x: number)\nn(x) :- x = range(0, 1000001).")
        db.commit()
        assert db["n"].selectExpr("count(*)", "count(distinct x)", "max(x)").first() == (
            1_000_001,
            1_000_001,
            1_000_000,
        )
