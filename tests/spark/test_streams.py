"""Streams: one epoch for each micro-batch, once, whatever happens to the driver."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import tidelog
from tidelog.errors import TidelogError
from tidelog.spark import SparkDatabase
from tidelog.spark.sources import facts

PROGRAM = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl total(n: number)
t1: t(x, y) :- e(x, y).
t2: t(x, z) :- t(x, y), e(y, z).
s: total(n) :- n = sum x : { e(x, _) }.
"""
SCHEMA = "x long, y long"
FEED = {"relation": "e", "columns": {"x": "a", "y": "b"}, "op": "op", "insert": "I", "delete": "D"}


def rows(frame: DataFrame) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in frame.collect()}


def files(spark: SparkSession, folder: Path, schema: str = SCHEMA) -> DataFrame:
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).csv(str(folder / "in"))


def loaded(spark: SparkSession, **more: Any) -> SparkDatabase:
    db = tidelog.connect(spark=spark, **more)
    if not db.relations:
        db.load(PROGRAM)
    return db


def test_each_file_is_an_epoch(
    spark: SparkSession, tmp_path: Path, put: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    before = dict(spark.conf.getAll)
    with loaded(spark) as db:
        heard: list[set[tuple[Any, ...]]] = []
        db.subscribe("t", lambda change: heard.append(rows(change.inserted)))
        query = db.maintain(files(spark, tmp_path), into="e")
        put("1.csv", "1,2\n2,3\n")
        query.processAllAvailable()
        put("2.csv", "3,1\n1,2\n")
        query.processAllAvailable()
        assert rows(db["t"]) == {(a, b) for a in (1, 2, 3) for b in (1, 2, 3)}
        assert heard == [{(1, 2), (2, 3), (1, 3)}, {(3, 1), (3, 2), (3, 3), (2, 1), (2, 2), (1, 1)}]
        about = db.stats()["streams"]["e"]
        assert (about["batches"], about["read"], about["accepted"], about["running"]) == (2, 4, 4, True)
        assert (about["last"]["batch"], about["last"]["rows"], about["error"]) == (1, 2, None)
        assert db.stats()["epochs"] == 3  # and one for the program
        pending = {(9, 9)}
        db.insert("e", pending)
        put("3.csv", "5,5\n")
        query.processAllAvailable()
        assert rows(db["e"]) >= {(5, 5)} > pending & rows(db["e"])  # what is pending stays so
        db.commit()
        assert (9, 9) in rows(db["t"])
        query.stop()
        put("4.csv", "6,no\n")
        query = db.maintain(files(spark, tmp_path), into="e")  # goes on, and so do the counts
        query.processAllAvailable()
        about = db.stats()["streams"]["e"]
        assert (about["batches"], about["read"], about["quarantined"]) == (4, 6, 1)
    assert not query.isActive
    assert dict(spark.conf.getAll) == before
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_rate_source_counts_on(spark: SparkSession) -> None:
    with loaded(spark) as db:
        stream = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
        into = {"relation": "e", "columns": {"x": "value", "y": "value"}}
        query = db.maintain(stream, into=into, name="numbers", trigger={"processingTime": "50 milliseconds"})
        while db.stats()["streams"]["numbers"]["batches"] < 3:
            assert query.exception() is None
            query.awaitTermination(1)
        query.stop()
        batches = db.stats()["streams"]["numbers"]["batches"]
        assert rows(db["e"]) == {(i, i) for i in range(10 * batches)}


def test_feeds_of_changes_and_bad_rows(spark: SparkSession, tmp_path: Path, put: Callable[[str, str], Path]) -> None:
    with loaded(spark) as db:
        query = db.maintain(files(spark, tmp_path, "op string, a long, b long"), into=FEED)
        put("1.csv", "I,1,2\nI,2,3\nX,7,7\nI,,4\nI,no,5\n")
        query.processAllAvailable()
        put("2.csv", "D,1,2\nI,3,4\nI,5,5\nD,5,5\n,6,6\n")
        query.processAllAvailable()
        assert rows(db["e"]) == {(2, 3), (3, 4)}
        bad = sorted(row.reason for row in db.quarantine().collect())
        assert bad == ["op: null", "op: unknown operation", "x: null", "x: null"]
        about = db.stats()["streams"]["e"]
        assert (about["read"], about["accepted"], about["quarantined"]) == (10, 6, 4)


def test_batches_of_any_size_are_accounted_for(
    spark: SparkSession, tmp_path: Path, put: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some come to the driver at once; some were expected to, and are too large."""
    monkeypatch.setattr(facts, "FEW_ROWS", 1)
    monkeypatch.setattr(facts, "MANY_ROWS", 3)
    with loaded(spark) as db:
        query = db.maintain(files(spark, tmp_path), into="e")
        for number, text in enumerate(["1,1\n2,2\n", "3,3\n4,no\n5,5\n", "6,6\n7,no\n8,8\n,9\n0,0\n", "1,1\n2,no\n"]):
            put(f"{number}.csv", text)
            query.processAllAvailable()
        assert rows(db["e"]) == {(i, i) for i in (0, 1, 2, 3, 5, 6, 8)}
        about = db.stats()["streams"]["e"]
        assert [about[name] for name in ("batches", "read", "accepted", "quarantined")] == [4, 12, 8, 4]
        bad = sorted((row.reason, row.row, Path(row.source).name) for row in db.quarantine().collect())
        assert bad == [
            ("x: null", '{"x":null,"y":9}', "2.csv"),
            ("y: null", '{"x":2,"y":null}', "3.csv"),
            ("y: null", '{"x":4,"y":null}', "1.csv"),
            ("y: null", '{"x":7,"y":null}', "2.csv"),
        ]


def test_a_batch_behind_a_good_one_is_checked_as_well(spark: SparkSession, tmp_path: Path) -> None:
    """The driver sees a value that does not fit without Spark's checks, which then say what is wrong."""
    good = {"n": 1, "u": 1, "f": 1.0, "s": b"a"}
    batches = [
        [good],
        [{**good, "n": 2, "f": -0.0}, {**good, "n": None}],
        [{**good, "n": 3, "f": float("nan")}],
        [{**good, "n": 4, "s": "ü".encode()}],
        [{**good, "n": 5, "u": -1}],
        [{**good, "n": 6, "u": 2**63 - 1}],
        [{**good, "n": 7, "s": b"\xff"}, {**good, "n": 8}],
    ]
    schema = pa.schema([("n", pa.int64()), ("u", pa.int64()), ("f", pa.float64()), ("s", pa.binary())])
    (tmp_path / "in").mkdir()
    stream = spark.readStream.schema("n long, u long, f double, s binary").parquet(str(tmp_path / "in"))
    with tidelog.connect(spark=spark) as db:
        db.load(".decl r(n: number, u: unsigned, f: float, s: symbol)")
        into = {"relation": "r", "columns": {"s": F.col("s").cast("string")}}
        query = db.maintain(stream, into=into)
        for number, batch in enumerate(batches):
            parquet.write_table(pa.Table.from_pylist(batch, schema), tmp_path / f"{number}.parquet")
            (tmp_path / f"{number}.parquet").rename(tmp_path / f"in/{number}.parquet")
            query.processAllAvailable()
        assert rows(db["r"]) == {
            (1, 1, 1.0, "a"),
            (2, 1, 0.0, "a"),
            (4, 1, 1.0, "ü"),
            (6, 2**63 - 1, 1.0, "a"),
            (8, 1, 1.0, "a"),
        }
        bad = sorted(row.reason for row in db.quarantine().collect())
        assert bad == ["f: NaN", "n: null", "s: not valid UTF-8", "u: negative"]
        about = db.stats()["streams"]["r"]
        assert [about[name] for name in ("batches", "read", "accepted", "quarantined")] == [7, 9, 5, 4]


def test_a_stream_goes_on_where_it_was(spark: SparkSession, tmp_path: Path, put: Callable[[str, str], Path]) -> None:
    put("1.csv", "1,2\nx,3\n")
    with loaded(spark, state=tmp_path / "state") as db:
        db.maintain(files(spark, tmp_path), into="e").processAllAvailable()
        assert db.quarantine().count() == 1
    put("2.csv", "2,3\n")
    with loaded(spark, state=tmp_path / "state") as db:
        assert rows(db["t"]) == {(1, 2)}
        assert [row.reason for row in db.quarantine().collect()] == ["x: null"]
        db.maintain(files(spark, tmp_path), into="e", trigger={"availableNow": True}).awaitTermination()
        assert rows(db["t"]) == {(1, 2), (2, 3), (1, 3)}
        about = db.stats()["streams"]["e"]
        assert (about["batches"], about["repeated"], about["read"]) == (1, 0, 1)
    bad = spark.read.parquet(str(tmp_path / "state/quarantine"))
    assert [row.reason for row in bad.collect()] == ["x: null"]


KILLED = """
import os, sys, tidelog
from tidelog.spark import session
spark = session(2, brief=True)
db = tidelog.connect(spark=spark, state=sys.argv[1] + "/state")
db.load({program!r})
stream = spark.readStream.schema({schema!r}).option("maxFilesPerTrigger", 1).csv(sys.argv[1] + "/in")
seen = []
def kill(change):
    seen.append(1)
    if len(seen) == 2:
        os._exit(9)
db.subscribe("e", kill)
db.maintain(stream, into={into!r}).processAllAvailable()
"""


def driver_killed(folder: Path, code: str) -> None:
    """Run a driver that ends itself with the status 9."""
    with (folder / "errors").open("w") as errors:  # Java keeps it open until it notices, a minute later
        driver = subprocess.Popen([sys.executable, "-c", code, str(folder)], stderr=errors, start_new_session=True)
        status = driver.wait()
        with suppress(ProcessLookupError):
            os.killpg(driver.pid, signal.SIGKILL)
    assert status == 9, (folder / "errors").read_text()


def test_a_batch_that_comes_again_after_a_crash_changes_nothing(
    spark: SparkSession, tmp_path: Path, put: Callable[[str, str], Path]
) -> None:
    """The driver is killed when the second epoch is committed and Spark does not know it yet. The feed is one that must
    not be applied twice in another order: the third file takes back what the second says."""
    schema = "op string, a long, b long"
    for name, text in (("1.csv", "I,1,2\n"), ("2.csv", "D,1,2\nI,2,3\n"), ("3.csv", "I,1,2\nD,2,3\n")):
        put(name, text)
    driver_killed(tmp_path, KILLED.format(program=PROGRAM, schema=schema, into=FEED))
    with loaded(spark, state=tmp_path / "state") as db:
        assert rows(db["e"]) == {(2, 3)}
        assert db.stats()["epochs"] == 3
        db.maintain(files(spark, tmp_path, schema), into=FEED).processAllAvailable()
        assert rows(db["e"]) == {(1, 2)}
        about = db.stats()["streams"]["e"]
        assert (about["batches"], about["repeated"]) == (1, 1)
        assert db.stats()["epochs"] == 4


def test_a_killed_driver_forgets_no_late_event(
    spark: SparkSession, tmp_path: Path, put: Callable[[str, str], Path]
) -> None:
    """The driver is killed when it has committed a deletion. The order that it knows holds for other streams, too."""
    schema = "op string, x long, y long, at long"
    into = {"relation": "e", "op": "op", "insert": "I", "delete": "D", "order": "at", "key": "x"}
    for name, text in (
        ("1.csv", "I,1,2,5\nI,2,2,5\n"),
        ("2.csv", "D,1,,9\nI,2,3,8\n"),
        ("3.csv", "I,1,9,7\nI,3,3,1\n"),
    ):
        put(name, text)
    driver_killed(tmp_path, KILLED.format(program=PROGRAM, schema=schema, into=into))
    with loaded(spark, state=tmp_path / "state") as db:
        assert rows(db["e"]) == {(2, 3)}
        assert {(x, at, live) for x, at, _, live in rows(db["e.latest"])} == {(1, 9, 0), (2, 8, 1)}
        db.maintain(files(spark, tmp_path, schema), into=into).processAllAvailable()
        assert rows(db["e"]) == {(2, 3), (3, 3)}
        about = db.stats()["streams"]["e"]
        assert (about["batches"], about["repeated"], about["read"], about["late"]) == (1, 1, 2, 1)
        # Another stream brings the same from the beginning.
        db.maintain(files(spark, tmp_path, schema), into=into, name="again").processAllAvailable()
        about = db.stats()["streams"]["again"]
        assert (about["batches"], about["read"], about["accepted"], about["late"]) == (3, 6, 6, 6)
        assert rows(db["e"]) == {(2, 3), (3, 3)}
        with pytest.raises(TidelogError, match=r"E0685.*kept by the key \(x\), found the key \(x, y\)"):
            db.maintain(files(spark, tmp_path, schema), into={**into, "key": ["x", "y"]}, name="wrong")


def test_a_checkpoint_that_is_ahead_of_the_facts_is_refused(
    spark: SparkSession, tmp_path: Path, put: Callable[[str, str], Path]
) -> None:
    put("1.csv", "1,2\n")
    place: dict[str, Any] = {"checkpoint": tmp_path / "checkpoint"}
    with loaded(spark) as db:
        db.maintain(files(spark, tmp_path), into="e", **place).processAllAvailable()
        # Within the process the facts are there, and the stream goes on.
        for query in spark.streams.active:
            query.stop()
        put("2.csv", "2,3\n")
        db.maintain(files(spark, tmp_path), into="e", **place).processAllAvailable()
        assert rows(db["e"]) == {(1, 2), (2, 3)}
    put("3.csv", "3,4\n")
    with loaded(spark) as db:
        query = db.maintain(files(spark, tmp_path), into="e", **place)
        with pytest.raises(StreamingQueryException, match="E0683"):
            query.processAllAvailable()
        assert "is at batch 2, but the facts are at batch -1" in db.stats()["streams"]["e"]["error"]
        assert rows(db["e"]) == set()


@pytest.mark.smoke
def test_a_batch_that_fails_comes_again(spark: SparkSession, tmp_path: Path, put: Callable[[str, str], Path]) -> None:
    with loaded(spark, state=tmp_path / "state") as db:
        db.options(max_rows=3)
        put("1.csv", "1,2\n2,3\n3,4\n4,5\n")
        query = db.maintain(files(spark, tmp_path), into="e")
        with pytest.raises(StreamingQueryException, match="E0502"):
            query.processAllAvailable()
        assert rows(db["t"]) == set()
        db.options(max_rows=None)
        db.maintain(files(spark, tmp_path), into="e").processAllAvailable()
        assert len(rows(db["t"])) == 10


def test_what_ends_a_stream_is_in_the_stats(
    spark: SparkSession, tmp_path: Path, put: Callable[[str, str], Path]
) -> None:
    def fail(change: object) -> None:
        raise ValueError("not today")

    def ended(frame: DataFrame, **more: Any) -> tuple[str, int, int]:
        with pytest.raises(StreamingQueryException):
            db.maintain(frame, into="e", **more).processAllAvailable()
        about = db.stats()["streams"]["e"]
        return about["error"], about["batches"], about["read"]

    put("1.csv", "1,2\nx,y\n")
    (tmp_path / "file").touch()
    with loaded(spark, state=tmp_path / "state") as db:
        error, batches, _ = ended(files(spark, tmp_path), quarantine=tmp_path / "file")
        assert ("error[E0483]: cannot write the quarantine" in error, batches) == (True, 0)
        stop = db.subscribe("e", fail)
        assert ended(files(spark, tmp_path)) == ("not today", 1, 2)  # the epoch has happened
        stop()
        other = tmp_path / "other"  # and not what the checkpoint is of
        (tmp_path / "in").rename(other)
        (other / "2.csv").write_text("5,6\n")
        error, batches, _ = ended(spark.readStream.schema(SCHEMA).csv(str(other)))
        assert ("basePath" in error, batches) == (True, 1)
        assert rows(db["e"]) == {(1, 2)}


def test_files_of_a_schema_that_has_drifted_away(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    spark.range(2).selectExpr("id x", "id y").write.parquet(str(folder))
    with loaded(spark) as db:
        query = db.maintain(spark.readStream.schema(SCHEMA).parquet(str(folder)), into="e")
        query.processAllAvailable()
        spark.range(2).selectExpr("cast(id as string) x", "id z").write.mode("append").parquet(str(folder))
        with pytest.raises(StreamingQueryException):
            query.processAllAvailable()
        assert "E0482" in db.stats()["streams"]["e"]["error"]
        assert rows(db["e"]) == {(0, 0), (1, 1)}
        assert not db.stats()["streams"]["e"]["running"]


def test_streams_that_do_not_fit_are_refused_at_once(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    stream = files(spark, tmp_path)
    with loaded(spark) as db:
        refused: tuple[tuple[Any, Any, str], ...] = (
            (spark.range(3), "e", "E0684"),
            (stream, "f", "E0601"),
            (stream, {"relation": "e", "ops": "x"}, "E0685"),
            (stream, {"columns": {}}, "E0685"),
            (stream, {"relation": "e", "insert": "I"}, "E0685"),
            (stream, {"relation": "e", "op": "op"}, "E0480"),
            (files(spark, tmp_path, "x long, z long"), "e", "E0480"),
            (files(spark, tmp_path, "x long, y boolean"), "e", "E0481"),
            ("in", "e", "E0684"),
            (stream, 7, "E0685"),
            (stream, {"relation": "e", "columns": ["x", "y"]}, "E0685"),
            (stream.groupBy("x").count().withColumnRenamed("count", "y"), "e", "leave the aggregation to a rule"),
        )
        for frame, into, code in refused:
            with pytest.raises(TidelogError, match=code):
                db.maintain(frame, into=into)
        for trigger in ({"every": "1 second"}, {"processingTime": "often"}, {"availableNow": False}):
            with pytest.raises(TidelogError, match=r"E0685\]: unknown trigger"):
                db.maintain(stream, into="e", trigger=trigger)
        with pytest.raises(TidelogError, match="cannot name a stream"):
            db.maintain(stream, into="e", name="../e")
        query = db.maintain(stream, into="e", checkpoint=tmp_path / "checkpoint")
        with pytest.raises(TidelogError, match="running already"):
            db.maintain(stream, into="e")
        with pytest.raises(TidelogError, match="uses this checkpoint"):
            db.maintain(stream, into="e", name="other", checkpoint=tmp_path / "checkpoint")
        query.stop()
