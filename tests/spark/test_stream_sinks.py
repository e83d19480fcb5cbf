"""Sinks of streams: every epoch once, whatever fails and whenever the driver is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import tidelog
from tests.spark.test_pipeline import rows
from tidelog.errors import DataError, TidelogError, UsageError
from tidelog.spark import Sink, SparkDatabase
from tidelog.spark.sinks.targets import schema_of

PROGRAM = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl go()
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(y, z).
go() :- t(x, x).
e(0, 0).
"""
Put = Callable[[str, str], Path]


def files(spark: SparkSession, folder: Path) -> DataFrame:
    stream = spark.readStream.schema("op string, x long, y long").option("maxFilesPerTrigger", 1)
    return stream.csv(str(folder / "in"))


FEED = {"relation": "e", "op": "op"}


def opened(spark: SparkSession, folder: Path) -> SparkDatabase:
    db = tidelog.connect(spark=spark, state=folder / "state")
    if not db.relations:
        db.load(PROGRAM)
    return db


def follow(db: SparkDatabase, folder: Path, sinks: list[Sink]) -> None:
    query = db.maintain(files(db.session, folder), into=FEED, sinks=sinks, trigger={"availableNow": True})
    query.awaitTermination()


FIRST = {("insert", 0, 0, 1)}  # of the text
SECOND = {("insert", 1, 2, 2), ("insert", 2, 3, 2), ("insert", 1, 3, 2)}
THIRD = {("delete", 1, 2, 3), ("delete", 1, 3, 3), ("insert", 3, 4, 3), ("insert", 2, 4, 3)}


def changes(spark: SparkSession, folder: Path) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, spark.read.parquet(str(folder)).select("op", "x", "y", "epoch").collect()))


@pytest.mark.parametrize("engine", ["embedded", "cluster"])
def test_every_epoch_reaches_the_sinks(spark: SparkSession, tmp_path: Path, put: Put, schema: str, engine: str) -> None:
    sinks = [
        Sink("t", tmp_path / "changes", what="changes"),
        Sink("t", table="lake.t"),
        Sink("go", tmp_path / "go", what="changes", format="json"),
    ]
    with opened(spark, tmp_path) as db:
        db.options(engine=engine)
        put("1.csv", "+,1,2\n+,2,3\n")
        follow(db, tmp_path, sinks)
        db.delete("e", [(1, 2)])
        db.insert("e", [(3, 4)])
        db.commit()
        put("2.csv", "-,0,0\n")
        follow(db, tmp_path, sinks)
        assert changes(spark, tmp_path / "changes") == sorted(FIRST | SECOND | THIRD | {("delete", 0, 0, 4)})
        assert rows(spark.table("lake.t")) == {(2, 3), (2, 4), (3, 4)} == rows(db["t"])
        assert rows(spark.read.json(str(tmp_path / "go"))) == {("insert", 1), ("delete", 4)}
        assert db.stats()["streams"]["e"]["sinks"] == {
            str(tmp_path / "changes"): {"epoch": 4, "waiting": 0},
            "lake.t": {"epoch": 4, "waiting": 0},
            str(tmp_path / "go"): {"epoch": 4, "waiting": 0},
        }
        assert not list((tmp_path / "state/outbox").iterdir())


@pytest.mark.smoke
def test_values_of_all_kinds_reach_the_sinks(spark: SparkSession, tmp_path: Path, put: Put) -> None:
    program = """
    .type pair = [a: unsigned, s: symbol]
    .type list = [head: number, tail: list]
    .decl e(n: number)
    .decl v(n: number, u: unsigned, f: float, s: symbol, p: pair, l: list)
    v(n, 18446744073709551615, 0.5, "it's `quoted`", nil, [1, [2, nil]]) :- e(n).
    v(-n, 0, -2.0, "", [18446744073709551615, "ü"], nil) :- e(n).
    """
    put("1.csv", "1\n")
    with tidelog.connect(spark=spark) as db:
        db.load(program)
        stream = spark.readStream.schema("n long").csv(str(tmp_path / "in"))
        sinks = [Sink("v", tmp_path / "changes", what="changes")]
        db.maintain(stream, into="e", sinks=sinks, trigger={"availableNow": True}).awaitTermination()
        view = db["v"]
        found = spark.read.parquet(str(tmp_path / "changes")).drop("op", "epoch")
        assert found.schema.simpleString() == view.schema.simpleString() == schema_of(db.workspace, "v").simpleString()
        assert (
            rows(found)
            == rows(view)
            == {
                (1, 2**64 - 1, 0.5, "it's `quoted`", None, "[1, [2, nil]]"),
                (-1, 0, -2.0, "", (2**64 - 1, "ü"), "nil"),
            }
        )


def test_a_sink_that_fails_ends_the_query_and_gets_the_epochs_later(
    spark: SparkSession, tmp_path: Path, put: Put
) -> None:
    sinks = [Sink("t", tmp_path / "no/changes", what="changes"), Sink("t", tmp_path / "view")]
    put("1.csv", "+,1,2\n+,2,3\n")
    with opened(spark, tmp_path) as db:
        db.commit()
        query = db.maintain(files(spark, tmp_path), into=FEED, sinks=sinks)
        (tmp_path / "no").touch()
        with pytest.raises(StreamingQueryException):
            query.processAllAvailable()
        error = db.stats()["streams"]["e"]["error"]
        assert "E0483]: cannot write t" in error
        assert "the epoch has happened; the next start of the stream delivers it first" in error
        assert rows(db["t"]) == {(0, 0), (1, 2), (2, 3), (1, 3)} == rows(spark.read.parquet(str(tmp_path / "view")))
        db.delete("e", [(1, 2)])
        db.insert("e", [(3, 4)])
        assert [type(error) for error in db.commit().errors] == [DataError]
        assert db.stats()["streams"]["e"]["sinks"][str(tmp_path / "no/changes")] == {"epoch": 1, "waiting": 2}
        with pytest.raises(DataError, match="E0483"):
            db.maintain(files(spark, tmp_path), into=FEED, sinks=sinks)
    with opened(spark, tmp_path) as db:  # Nobody has started the stream yet.
        db.insert("e", [(7, 7)])
        db.commit()
    (tmp_path / "no").unlink()
    with opened(spark, tmp_path) as db:
        follow(db, tmp_path, sinks)
        assert changes(spark, tmp_path / "no/changes") == sorted(SECOND | THIRD | {("insert", 7, 7, 4)})
        assert rows(spark.read.parquet(str(tmp_path / "view"))) == rows(db["t"])
        assert not list((tmp_path / "state/outbox").iterdir())


KILLED = """
import os, signal, sys
sys.path.insert(0, os.getcwd())
from pathlib import Path
from tests.spark.test_stream_sinks import follow, opened
from tidelog.spark import Sink, session
from tidelog.spark import delivery

spark, folder, moment = session(2, brief=True), Path(sys.argv[1]), int(sys.argv[2])
write, moments = delivery.write, []

def killed(target, output, *, whole):
    for step in (lambda: None, lambda: write(target, output, whole=whole)):
        step()
        moments.append(output.epoch)
        if len(moments) == moment:
            os.kill(os.getpid(), signal.SIGKILL)

delivery.write = killed
db = opened(spark, folder)
db.commit()
follow(db, folder, [Sink("t", folder / "changes", what="changes"), Sink("t", folder / "view")])
"""


@pytest.mark.parametrize("moment", [3, 4])
def test_a_driver_is_killed_before_and_after_a_sink_is_written(
    spark: SparkSession, tmp_path: Path, put: Put, moment: int
) -> None:
    """The first two moments are of the view, which its first delivery writes as a whole; then come the changes."""
    put("1.csv", "+,1,2\n+,2,3\n")
    put("2.csv", "-,1,2\n+,3,4\n")
    with (tmp_path / "errors").open("w") as errors:  # Java keeps it open until it notices, a minute later
        command = [sys.executable, "-c", KILLED, str(tmp_path), str(moment)]
        driver = subprocess.Popen(command, stderr=errors, start_new_session=True)
        status = driver.wait()
        with suppress(ProcessLookupError):
            os.killpg(driver.pid, signal.SIGKILL)
    assert status == -signal.SIGKILL, (tmp_path / "errors").read_text()
    sinks = [Sink("t", tmp_path / "changes", what="changes"), Sink("t", tmp_path / "view")]
    assert (tmp_path / "changes/epoch=2/_SUCCESS").exists() == (moment == 4)
    assert rows(spark.read.parquet(str(tmp_path / "view"))) == {(0, 0)}
    with opened(spark, tmp_path) as db:
        assert db.stats()["epochs"] == 2
        follow(db, tmp_path, sinks)
        assert changes(spark, tmp_path / "changes") == sorted(SECOND | THIRD)
        assert rows(spark.read.parquet(str(tmp_path / "view"))) == rows(db["t"]) == {(0, 0), (2, 3), (3, 4), (2, 4)}
        assert not list((tmp_path / "state/outbox").iterdir())


def test_a_damaged_outbox_is_no_data(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    sinks = [Sink("t", tmp_path / "no/changes", what="changes")]
    with opened(spark, tmp_path) as db:
        db.commit()
        follow(db, tmp_path, sinks)
        (tmp_path / "no").touch()
        db.insert("e", [(1, 2)])
        db.commit()
        [file] = (tmp_path / "state/outbox/00000002").iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    (tmp_path / "no").unlink()
    (tmp_path / "state/outbox/00000009").mkdir()  # of an epoch that was not committed
    with opened(spark, tmp_path) as db:
        assert [path.name for path in (tmp_path / "state/outbox").iterdir()] == ["00000002"]
        with pytest.raises(DataError, match="E0682"):
            follow(db, tmp_path, sinks)


def test_a_stream_that_starts_without_a_sink_ends_it(spark: SparkSession, tmp_path: Path, put: Put) -> None:
    sink = Sink("t", tmp_path / "changes", what="changes")
    with tidelog.connect(spark=spark) as db:
        db.load(PROGRAM)
        put("1.csv", "+,1,2\n+,2,3\n")
        follow(db, tmp_path, [sink])
        put("2.csv", "+,8,9\n")
        follow(db, tmp_path, [])
        put("3.csv", "+,6,7\n")
        follow(db, tmp_path, [sink])
        assert changes(spark, tmp_path / "changes") == sorted(FIRST | SECOND | {("insert", 6, 7, 4)})


def test_a_subscriber_that_raised_is_called_again_with_that_change(
    spark: SparkSession, tmp_path: Path, put: Put
) -> None:
    heard: list[list[Any]] = []

    def fail_once(change: Any) -> None:
        heard.append(change.inserted.orderBy("x").collect())
        if len(heard) in (1, 2):
            raise ValueError(f"not today, {len(heard)}")

    with opened(spark, tmp_path) as db:
        db.commit()
        stop = db.subscribe("e", fail_once)
        put("1.csv", "+,1,2\n")
        put("2.csv", "+,3,4\n")
        with pytest.raises(StreamingQueryException):
            follow(db, tmp_path, [])
        with pytest.raises(ValueError, match="not today, 2"):
            follow(db, tmp_path, [])
        follow(db, tmp_path, [])
        assert heard == [[(1, 2)], [(1, 2)], [(1, 2)], [(3, 4)]]
        stop()


def test_sinks_that_a_stream_cannot_have_are_rejected_before_it_starts(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    path = tmp_path / "changes"
    (tmp_path / "others/epoch=9").mkdir(parents=True)
    with opened(spark, tmp_path) as db:
        given: tuple[tuple[Any, str, str], ...] = (
            (Sink("t", path), "E0686", "must be a list of Sink"),
            (["t"], "E0686", "must be a list of Sink"),
            ([Sink("t", path, mode="error")], "E0686", "cannot write a view in mode 'error'"),
            ([Sink("t", path, mode="append")], "E0686", "cannot write a view in mode 'append'"),
            ([Sink("u", path)], "E0601", "u"),
            ([Sink("t", path), Sink("t", path / "t", what="changes")], "E0686", "would replace the sink at"),
            ([Sink("t", tmp_path)], "E0686", "would replace the state folder at "),
            ([Sink("t", f"file:{tmp_path}")], "E0686", "would replace the state folder at "),
            ([Sink("t", ".")], "E0686", "would replace the working directory at "),
            ([Sink("t", "/")], "E0686", "would replace the "),
            ([Sink("t", table="nowhere.t")], "E0488", "the schema nowhere does not exist"),
            ([Sink("t", tmp_path / "others", what="changes")], "E0488", "it has epochs up to 9"),
        )
        for sinks, code, said in given:
            with pytest.raises(TidelogError, match=said) as caught:
                db.maintain(files(spark, tmp_path), into=FEED, sinks=sinks)
            assert (caught.value.code, db.has_pending) == (code, True)
        follow(db, tmp_path, [Sink("t", path, what="changes")])
        with pytest.raises(TidelogError, match="is a sink of the stream 'e'"):
            db.maintain(files(spark, tmp_path), into=FEED, name="f", sinks=[Sink("t", path)])
        for place, said in ((tmp_path, "the state folder at"), (path / "t", "changes would replace the sink at")):
            with pytest.raises(UsageError, match=said):
                db.maintain(files(spark, tmp_path), into=FEED, name="f", sinks=[Sink("t", place)])
        (tmp_path / "around").mkdir()
        (tmp_path / "around/link").symlink_to(tmp_path)
        kept: dict[str, Any] = {"checkpoint": tmp_path / "near/c", "quarantine": tmp_path / "near/q"}
        for name, what in (("around/link", "state folder"), ("near/c", "checkpoint"), ("near/q", "quarantine")):
            with pytest.raises(UsageError, match=f"would replace the {what} at "):
                db.maintain(files(spark, tmp_path), into=FEED, name="f", sinks=[Sink("t", tmp_path / name)], **kept)
