"""From frames to views, and what a pipeline leaves behind: nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import tidelog
from tidelog.errors import DataError, LimitError, ProgramError, UsageError
from tidelog.spark import Counts, Pipeline

PROGRAM = """
.decl edge(x: symbol, y: symbol)
.decl weight(x: symbol, w: float)
.decl reach(x: symbol, y: symbol)
.decl lonely(x: symbol)
.decl total(x: symbol, n: number, w: float)
.output total
.output reach
edge("start", "a").
r1: reach(x, y) :- edge(x, y).
r2: reach(x, z) :- reach(x, y), edge(y, z).
r3: lonely(x) :- edge(x, _), !reach(x, x).
r4: total(x, n, w) :- edge(x, _), n = count : { reach(x, _) }, w = sum v : { reach(x, y), weight(y, v) }.
"""
EDGES = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "ü"), ("a", "b")]
WEIGHTS = [("a", 1.5), ("b", 2.0), ("ü", -4.0)]


def kept(spark: SparkSession) -> tuple[object, ...]:
    """What a pipeline must leave as it was: configuration, cached data, temporary views, Spark's temporary files."""
    context = spark.sparkContext
    return (
        dict(spark.conf.getAll),
        context._jsc.getPersistentRDDs().size(),
        [table.name for table in spark.catalog.listTables()],
        sorted(os.listdir(context._temp_dir)),
    )


def test_views_are_those_of_the_embedded_engine_and_nothing_is_left(spark: SparkSession, tmp_path: Path) -> None:
    before = kept(spark)
    edges = spark.createDataFrame([*EDGES, ("d", None)], "x string, y string")
    weights = spark.createDataFrame(WEIGHTS, "x string, w double")
    stages = []
    with Pipeline(spark, PROGRAM, progress=lambda stage, seconds: stages.append(stage)) as pipeline:
        pipeline.read("edge", edges)
        pipeline.read("weight", weights)
        result = pipeline.run()
        assert {tuple(row) for row in pipeline.database.query('reach("a", Y)')} == {("a", y) for y in "abcü"}
        assert result.quarantine.count() == 1
    assert stages == list(result.seconds) == ["check", "dictionary", "facts", "engine"]
    assert result.counts == {
        "edge": Counts(read=6, accepted=5, quarantined=1, duplicates=1),
        "weight": Counts(read=3, accepted=3),
    }
    assert list(result) == ["total", "reach"]
    assert {tuple(row) for row in result["total"].collect()} == {
        ("start", 4, -0.5),
        ("a", 4, -0.5),
        ("b", 4, -0.5),
        ("c", 1, -4.0),
    }

    db = tidelog.connect()
    db.load(PROGRAM)
    db.insert("edge", EDGES)
    db.insert("weight", WEIGHTS)
    db.commit()
    for name in result:
        assert {tuple(row) for row in result[name].collect()} == set(db[name])

    result.write(tmp_path / "views")
    assert {tuple(row) for row in spark.read.parquet(str(tmp_path / "views/reach")).collect()} == set(db["reach"])
    with pytest.raises(DataError) as there_already:
        result.write(tmp_path / "views")
    assert there_already.value.code == "E0483"
    assert "overwrite=True" in str(there_already.value)
    result.write(tmp_path / "views", overwrite=True)
    assert spark.read.parquet(str(tmp_path / "views/total")).count() == 4
    assert kept(spark) == before


def test_later_runs_add_to_the_views_and_the_dictionary_only_grows(spark: SparkSession) -> None:
    with Pipeline(spark, PROGRAM) as pipeline:
        dictionary = pipeline.database.dictionary
        pipeline.read("edge", spark.createDataFrame(EDGES[:2], "x string, y string"))
        first = pipeline.run()
        ids = {text: dictionary.find(text, "symbol") for text in ("start", "a", "b")}
        assert sorted(ids.values()) == [0, 1, 2]
        pipeline.database.insert("edge", [("here", "there")])
        pipeline.read("edge", spark.createDataFrame([("b", "new"), ("a", "b"), ("there", "a")], "x string, y string"))
        second = pipeline.run()
        assert {text: dictionary.find(text, "symbol") for text in ids} == ids
        assert sorted(dictionary.decode(i, "symbol") for i in range(len(dictionary))) == sorted(
            ["start", "a", "b", "new", "here", "there"]
        )
        assert set(second.change["edge"].inserted) == {("b", "new"), ("there", "a"), ("here", "there")}
        assert ("here", "new") in pipeline.database["reach"]
    # A result is what the views were when its run ended.
    assert {tuple(row) for row in first["reach"].collect()} == {
        ("start", "a"), ("start", "b"), ("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")
    }  # fmt: skip


def test_symbols_are_numbered_without_gaps_across_partitions(spark: SparkSession) -> None:
    names = spark.range(3000).select(F.concat(F.lit("n"), F.col("id") % 1000).alias("x")).repartition(5)
    with Pipeline(spark, ".decl name(x: symbol)") as pipeline:
        pipeline.read("name", names)
        result = pipeline.run()
        assert result.counts["name"] == Counts(read=3000, accepted=3000, duplicates=2000)
        ids = pipeline.database["name"].words()[:, 0]
        assert sorted(ids) == list(range(1000))
        assert set(pipeline.database["name"]) == {(f"n{i}",) for i in range(1000)}


def test_rows_that_differ_each_time_are_counted_once(spark: SparkSession) -> None:
    frame = spark.range(2000).select(F.when(F.rand() < 0.5, F.col("id")).alias("x"))
    with Pipeline(spark, ".decl n(x: number)") as pipeline:
        pipeline.read("n", frame)
        result = pipeline.run()
        count = result.counts["n"]
        assert count.read == 2000 == count.accepted + count.quarantined
        assert len(pipeline.database["n"]) == count.accepted
        assert result.quarantine.count() == count.quarantined


def test_a_relation_without_columns_is_true_when_a_row_is_there(spark: SparkSession) -> None:
    with Pipeline(spark, ".decl go()\n.decl stop()\n.decl went()\nwent() :- go(), !stop().\n.output went") as pipeline:
        pipeline.read("go", spark.range(3))
        pipeline.read("stop", spark.range(0))
        result = pipeline.run()
        assert result.counts == {"go": Counts(read=3, accepted=3, duplicates=2), "stop": Counts()}
        assert result["went"].count() == 1


def test_more_facts_than_the_limit_change_nothing(spark: SparkSession) -> None:
    before = kept(spark)
    with Pipeline(spark, PROGRAM, embedded_limit=4) as pipeline:
        pipeline.read("edge", spark.createDataFrame(EDGES, "x string, y string"))
        with pytest.raises(LimitError) as caught:
            pipeline.run()
        assert caught.value.code == "E0502"
        assert "cluster engine is not part of this version" in str(caught.value)
        assert set(pipeline.database["edge"]) == {("start", "a")}
        pipeline.embedded_limit = 5
        assert pipeline.run().counts["edge"].accepted == 5
    assert kept(spark) == before


def test_a_source_that_fails_changes_nothing_and_leaves_nothing(spark: SparkSession) -> None:
    before = kept(spark)
    frame = spark.range(3).select(
        F.raise_error(F.lit("the tape is torn")).cast("string").alias("x"), F.lit("y").alias("y")
    )
    with Pipeline(spark, PROGRAM) as pipeline:
        pipeline.read("edge", frame)
        with pytest.raises(DataError) as caught:
            pipeline.run()
        assert caught.value.code == "E0482"
        assert "the tape is torn" in str(caught.value)
        assert len(str(caught.value).splitlines()) == 1
        assert set(pipeline.database["reach"]) == {("start", "a")}
    assert kept(spark) == before


def test_wrong_calls_are_told(spark: SparkSession) -> None:
    with pytest.raises(ProgramError):
        Pipeline(spark, ".decl e(x: nothing)")
    pipeline = Pipeline(spark, PROGRAM)
    result = pipeline.run()
    with pytest.raises(UsageError) as unknown:
        result["edges"]
    assert unknown.value.code == "E0601"
    assert "views are: total, reach" in str(unknown.value)
    pipeline.close()
    pipeline.close()
    with pytest.raises(UsageError) as closed:
        pipeline.run()
    assert closed.value.code == "E0602"
