"""Spark jobs: each one that tidelog starts has a description, and the caller's comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import tidelog
from tests.spark.test_pipeline import rows
from tidelog.spark import Pipeline, Sink, Source

PROGRAM = """
.decl e(x: symbol, y: symbol)
.decl t(x: symbol, y: symbol)
.decl count_of(n: number)
t1: t(x, y) :- e(x, y).
t2: t(x, z) :- t(x, y), t(y, z).
many: count_of(n) :- n = count : { t(_, _) }.
"""
MINE = "spark.job.description"


@contextmanager
def jobs(spark: SparkSession) -> Iterator[list[str | None]]:
    """The descriptions of all jobs that begin inside the block, once it has ended."""
    store = spark.sparkContext._jsc.sc().statusStore()

    def known() -> dict[int, str | None]:
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
        found = store.jobsList(None)
        each = [found.apply(i) for i in range(found.size())]
        return {job.jobId(): job.description().get() if job.description().isDefined() else None for job in each}

    before, described = known(), list[str | None]()
    yield described
    described += [text for number, text in sorted(known().items()) if number not in before]


def test_a_few_rows_of_a_frame_take_the_jobs_of_the_rounds_only(spark: SparkSession) -> None:
    with tidelog.connect(spark=spark) as db:
        db.options(engine="cluster")
        db.load(PROGRAM)
        db.commit()
        for came, gone in ([("a", "b"), ("b", "c")], [("x", "y")]), ([("c", "d")], [("a", "b"), ("n", "n")]):
            db.insert("e", spark.createDataFrame(came, "x string, y string"))
            db.delete("e", spark.createDataFrame(gone, "x string, y string"))
            with jobs(spark) as committing:
                db.commit()
            assert committing
            assert {text for text in committing if ", round " not in str(text)} == set()
        assert rows(db["t"]) == {("b", "c"), ("c", "d"), ("b", "d")}


@pytest.mark.usefixtures("by_tasks")
def test_an_epoch_of_the_cluster_names_rules_and_rounds(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("a", "b"), ("b", "c"), ("c", "d")], "x string, y string")
    with tidelog.connect(spark=spark) as db:
        db.options(engine="cluster")
        db.load(PROGRAM)
        with jobs(spark) as loading:
            db.insert("e", frame)
        with jobs(spark) as committing:
            db.commit()
        with jobs(spark) as reading:
            assert len(db.local("t")) == 6
            db.explain("t", ("a", "d"))
        with jobs(spark) as deleting:
            db.delete("e", [("b", "c")])
            db.commit()
    assert set(loading) == {"tidelog: after epoch 0, read e"}
    assert set(committing) >= {
        "tidelog: epoch 1, new symbols",
        "tidelog: epoch 1, deliver facts of e",
        "tidelog: epoch 1, rules t1, t2, many of hyper-nodes 1 to 5, round 1",
    }
    assert {str(text)[:17] for text in committing} == {"tidelog: epoch 1,"}
    assert reading
    assert {str(text)[:23] for text in reading} == {"tidelog: after epoch 1,"}
    assert deleting == [
        "tidelog: epoch 2, rules t1, t2 of hyper-node 1, round 1",
        "tidelog: epoch 2, rule many of hyper-nodes 4 to 5, round 2",
    ]


def test_all_jobs_of_a_pipeline_say_what_they_do(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("x,y\na,b\nb,c\n")
    source = Source("e", tmp_path / "e.csv", options={"header": True})
    sinks = [Sink("t", tmp_path / "t"), Sink("t", tmp_path / "changes", what="changes")]
    pipeline = Pipeline(PROGRAM, [source], sinks, quarantine=tmp_path / "bad", state=tmp_path / "state")
    for engine in ("embedded", "cluster"):
        with jobs(spark) as begun, replace(pipeline, engine=engine).run(spark):
            pass
        assert begun
        assert [text for text in begun if not str(text).startswith(("tidelog: pipeline, ", "tidelog: close, "))] == []
        assert f"tidelog: pipeline, epoch {1 if engine == 'embedded' else 2}, sink {tmp_path}/t" in begun
        assert any("source of e" in str(text) for text in begun)


def test_a_batch_of_a_stream_has_its_number(
    spark: SparkSession, tmp_path: Path, put: Callable[[str, str], Path]
) -> None:
    put("1.csv", "a,b\n")
    put("2.csv", "b,c\nb,\n")
    stream = spark.readStream.schema("x string, y string").option("maxFilesPerTrigger", 1).csv(str(tmp_path / "in"))
    with tidelog.connect(spark=spark) as db:
        db.load(PROGRAM)
        with jobs(spark) as begun:
            sinks = [Sink("t", tmp_path / "t"), Sink("t", tmp_path / "changes", what="changes")]
            db.maintain(stream, into="e", name="edges", sinks=sinks).processAllAvailable()
    batch = [text for text in begun if "batch 0" in str(text) and "delivery" not in str(text)]
    assert batch == ["tidelog: stream edges, batch 0, read e"]  # Few rows take one job.
    assert "tidelog: stream edges, batch 1, read e" in begun
    assert "tidelog: stream edges, batch 1, quarantine" in begun
    assert f"tidelog: stream edges, batch 1, delivery, sink {tmp_path}/t" in begun
    assert not [text for text in begun if str(tmp_path / "changes") in str(text)]  # This process has the rows.
    assert rows(spark.read.parquet(f"{tmp_path}/changes/epoch=2")) == {("insert", "a", "b")}
    assert [text for text in begun if not str(text).startswith("tidelog: ")] == []


@pytest.mark.smoke
def test_the_description_of_the_caller_comes_back(spark: SparkSession) -> None:
    context = spark.sparkContext
    context.setJobDescription("mine")
    try:
        with tidelog.connect(spark=spark) as db:
            db.load(PROGRAM)
            db.insert("e", spark.createDataFrame([("a", "b")], "x string, y string"))
            with pytest.raises(tidelog.TidelogError):
                db.insert("e", spark.createDataFrame([("a", 1)], "x string, y int"))
            db.commit()
            assert context.getLocalProperty(MINE) == "mine"
            with jobs(spark) as begun:
                db["t"].count()
        assert set(begun) <= {"mine"}
    finally:
        context.setLocalProperty(MINE, None)  # type: ignore[arg-type]  # None removes it
    with tidelog.connect(spark=spark) as db:
        db.load(PROGRAM)
        db.commit()
    assert context.getLocalProperty(MINE) is None
