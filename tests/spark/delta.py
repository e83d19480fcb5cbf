"""Delta tables as sources and sinks: `make test-delta`, which takes a Spark that Delta has jars for, and Maven Central.

Not part of `make test`, whose Spark is newer than any that Delta supports.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import tidelog
from tests.spark.test_pipeline import SMALL, rows
from tidelog.errors import DataError
from tidelog.spark import Pipeline, Sink, Source, session
from tidelog.spark.pipelines.sinks import write_view

CONF = {
    "spark.jars.packages": "io.delta:delta-spark_4.2_2.13:4.4.0",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.databricks.delta.properties.defaults.enableChangeDataFeed": "true",
}


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    started = session(threads=2, brief=True, conf=CONF)
    yield started
    started.stop()


def table(spark: SparkSession, path: Path, **options: Any) -> DataFrame:
    return spark.read.format("delta").options(**options).load(str(path))


def write(frame: DataFrame, path: Path, mode: str = "append") -> None:
    frame.write.format("delta").mode(mode).save(str(path))


def versions(spark: SparkSession, path: Path) -> list[int]:
    return sorted(row.version for row in spark.sql(f"describe history delta.`{path}`").collect())


def facts(spark: SparkSession, *values: tuple[int, str]) -> DataFrame:
    return spark.createDataFrame(list(values), "x int, y string")


def test_a_view_gets_a_version_for_each_epoch(spark: SparkSession, tmp_path: Path) -> None:
    sinks = [
        Sink("n", tmp_path / "n", format="delta", mode="overwrite"),
        Sink("e", tmp_path / "changes", what="changes", format="delta"),
    ]
    for frame in (facts(spark, (1, "a"), (2, "b")), facts(spark, (2, "b"))):
        with Pipeline(SMALL, [Source("e", frame=frame)], sinks, state=tmp_path / "state").run(spark):
            pass
    assert versions(spark, tmp_path / "n") == [0, 1]
    assert rows(table(spark, tmp_path / "n")) == {(1,)}
    assert rows(table(spark, tmp_path / "n", versionAsOf=0)) == {(2,)}
    assert rows(table(spark, tmp_path / "changes").select("epoch", "op", "x", "y")) == {
        (1, "insert", 1, "a"),
        (1, "insert", 2, "b"),
        (2, "delete", 1, "a"),
    }


def test_an_epoch_that_is_written_again_is_recognised(spark: SparkSession, tmp_path: Path) -> None:
    sink = Sink("n", tmp_path / "n", format="delta", mode="overwrite")
    for _ in range(2):
        write_view(spark, sink, spark.range(3), 1, "one")
    write_view(spark, sink, spark.range(4), 2, "one")
    assert versions(spark, tmp_path / "n") == [0, 1]
    assert table(spark, tmp_path / "n").count() == 4


def test_runs_without_a_state_folder_are_all_first_epochs_and_written(spark: SparkSession, tmp_path: Path) -> None:
    for frame in (facts(spark, (1, "a"), (2, "b")), facts(spark, (2, "b"))):
        Pipeline(SMALL, [Source("e", frame=frame)], [Sink("n", tmp_path / "n", format="delta")]).run(spark).close()
    assert rows(table(spark, tmp_path / "n")) == {(1,)}


def test_a_change_data_feed_is_a_source(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "edges"
    write(facts(spark, (1, "a"), (2, "b"), (3, "c")), path)
    spark.sql(f"delete from delta.`{path}` where x = 1")
    spark.sql(f"update delta.`{path}` set y = 'z' where x = 2")
    write(facts(spark, (3, "c"), (4, "d")), path, "overwrite")  # (3, "c") goes and comes in one version
    feed = {"readChangeFeed": "true", "startingVersion": "0"}
    source = Source(
        "e", format="delta", path=path, options=feed, mode="cdc", op="_change_type", order="_commit_version"
    )
    with Pipeline(SMALL, [source]).run(spark) as result:
        assert rows(result.database["e"]) == {(3, "c"), (4, "d")}
        assert rows(result.database["n"]) == {(2,)}


def test_a_feed_as_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "edges"
    write(facts(spark, (1, "a")), path)
    spark.sql(f"update delta.`{path}` set y = 'b' where x = 1")
    with tidelog.connect(spark=spark, state=tmp_path / "state") as db:
        db.load(SMALL)
        db.commit()
        feed = spark.readStream.format("delta").option("readChangeFeed", "true").option("startingVersion", 0)
        into = {"relation": "e", "op": "_change_type", "order": "_commit_version"}
        query = db.maintain(feed.load(str(path)), into=into, trigger={"availableNow": True})
        query.awaitTermination()
        assert rows(db["e"]) == {(1, "b")}


def test_a_table_that_is_not_there(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught, Pipeline(SMALL, [Source("e", format="delta", path=tmp_path)]).run(spark):
        pass
    assert caught.value.code == "E0482"
