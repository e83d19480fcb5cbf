"""Records of epochs, batches and runs in the log, with fields that formatters find."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import tidelog
from tidelog.spark import Pipeline, Source

PROGRAM = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(y, z).
"""


def fields(caplog: pytest.LogCaptureFixture, *names: str) -> list[tuple[Any, ...]]:
    """Some fields of all records of tidelog so far, which are forgotten then."""
    found = [record for record in caplog.records if record.name == "tidelog.spark"]
    caplog.clear()
    for record in found:
        seconds = vars(record)["seconds"]
        assert abs(seconds["total"] - sum(value for name, value in seconds.items() if name != "total")) < 0.01
    return [tuple(vars(record).get(name) for name in names) for record in found]


@pytest.mark.smoke
def test_each_epoch_is_a_record(spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tidelog.spark")
    with tidelog.connect(spark=spark, state=tmp_path / "state") as db:
        db.load(PROGRAM)
        db.insert("e", [(1, 2), (2, 3)])
        db.commit()
        assert caplog.messages[0].startswith("epoch 1 on the embedded engine: 3 tuples changed, ")
        assert list(vars(caplog.records[0])["seconds"]) == ["facts", "store", "evaluate", "deliver", "total"]
        db.delete("e", [(2, 3)])
        db.commit()
        db.options(max_rows=1)
        db.insert("e", [(7, 8), (8, 9)])
        with pytest.raises(tidelog.TidelogError):
            db.commit()
    assert fields(caplog, "event", "epoch", "engine", "changed") == [
        ("epoch", 1, "embedded", 3),
        ("epoch", 2, "embedded", 2),
    ]
    with tidelog.connect(spark=spark, state=tmp_path / "state"):
        assert fields(caplog, "event", "epoch", "changed") == [("open", 2, 1)]


def test_a_batch_counts_its_rows(
    spark: SparkSession, tmp_path: Path, put: Callable[[str, str], Path], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "tidelog.spark")
    put("1.csv", "1,2\n2,3\n3,\n")
    put("2.csv", "5,6\n")
    stream = spark.readStream.schema("x long, y long").option("maxFilesPerTrigger", 1).csv(str(tmp_path / "in"))
    with tidelog.connect(spark=spark) as db:
        db.load(PROGRAM)
        db.maintain(stream, into="e", name="edges", quarantine=tmp_path / "bad").processAllAvailable()
    names = ("event", "stream", "batch", "epoch", "read", "accepted", "quarantined", "late")
    batches = [each for each in fields(caplog, *names) if each[0] == "batch"]
    assert batches == [("batch", "edges", 0, 2, 3, 2, 1, 0), ("batch", "edges", 1, 3, 1, 1, 0, 0)]


def test_a_run_counts_the_rows_of_all_sources(
    spark: SparkSession, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO, "tidelog.spark")
    edges = spark.createDataFrame([("1", "2"), ("2", "x")], "x string, y string")
    with Pipeline(PROGRAM, [Source("e", frame=edges)]).run(spark):
        pass
    runs = fields(caplog, "event", "epoch", "read", "accepted", "quarantined")
    assert runs[-1] == ("run", 1, 2, 1, 1)
    assert capsys.readouterr() == ("", "")
