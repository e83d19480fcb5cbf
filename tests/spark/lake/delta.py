"""Delta tables as sources and sinks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import tidelog
from tests.spark.test_pipeline import SMALL, rows
from tests.spark.test_sinks import VIEWS
from tidelog.errors import DataError
from tidelog.spark import Pipeline, Sink, Source


def table(spark: SparkSession, path: Path, **options: Any) -> DataFrame:
    return spark.read.format("delta").options(**options).load(str(path))


def write(frame: DataFrame, path: Path, mode: str = "append") -> None:
    frame.write.format("delta").mode(mode).save(str(path))


def versions(spark: SparkSession, path: Path) -> list[int]:
    return sorted(row.version for row in spark.sql(f"describe history delta.`{path}`").collect())


def facts(spark: SparkSession, *values: tuple[int, str]) -> DataFrame:
    return spark.createDataFrame(list(values), "x int, y string")


def run(spark: SparkSession, folder: Path, sinks: list[Sink], *values: tuple[int, str]) -> tuple[str, ...]:
    source = Source("e", frame=facts(spark, *values))
    with Pipeline(VIEWS, [source], sinks, state=folder / "state").run(spark) as result:
        return result.notes


def test_a_view_gets_a_version_for_each_epoch(spark: SparkSession, tmp_path: Path) -> None:
    sinks = [
        Sink("n", tmp_path / "n", format="delta"),
        Sink("e", tmp_path / "changes", what="changes", format="Delta", partition_by=["op"]),
    ]
    run(spark, tmp_path, sinks, (1, "a"), (2, "b"))
    run(spark, tmp_path, sinks, (2, "b"))
    assert versions(spark, tmp_path / "n") == [0, 1, 2]
    assert rows(table(spark, tmp_path / "n")) == {(1,)}
    assert rows(table(spark, tmp_path / "n", versionAsOf=1)) == {(2,)}
    assert rows(table(spark, tmp_path / "changes").select("epoch", "op", "x", "y")) == {
        (1, "insert", 1, "a"),
        (1, "insert", 2, "b"),
        (2, "delete", 1, "a"),
    }
    detail = spark.sql(f"describe detail delta.`{tmp_path}/changes`").collect()[0]
    assert detail.partitionColumns == ["op"]


def test_a_table_gets_the_difference(spark: SparkSession, tmp_path: Path) -> None:
    sinks = [Sink("v", table="merged", format="delta", mode="merge")]
    run(spark, tmp_path, sinks, (1, "a"), (2, "b"))
    spark.sql("alter table merged add column more int")
    assert run(spark, tmp_path, sinks, (2, "b"), (3, "c")) == ("merged has a column more besides those of v",)
    assert rows(spark.table("merged")) == {(2, "b", None), (3, "c", None)}
    last = spark.read.option("readChangeFeed", "true").option("startingVersion", 3).table("merged")
    assert rows(last.select("x", "_change_type")) == {(1, "delete"), (3, "insert")}
    spark.sql("insert into merged values (9, 'not of the view', 7)")
    run(spark, tmp_path, sinks, (2, "b"))
    assert rows(spark.table("merged")) == {(2, "b", None)}


def test_an_epoch_that_is_written_again_replaces_its_own_rows(spark: SparkSession, tmp_path: Path) -> None:
    sinks = [Sink("v", table="again", format="delta", what="changes")]
    (tmp_path / "file").touch()
    run(spark, tmp_path, sinks, (1, "a"))
    with pytest.raises(DataError, match="E0483"):
        run(spark, tmp_path, [*sinks, Sink("v", tmp_path / "file/v")], (1, "a"), (2, "b"))
    assert rows(spark.table("again")) == {("insert", 1, "a", 1), ("insert", 2, "b", 2)}
    run(spark, tmp_path, sinks, (1, "a"), (3, "c"))
    assert rows(spark.table("again")) == {("insert", 1, "a", 1), ("insert", 3, "c", 2)}


def test_a_table_that_does_not_fit(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("create table unfit (x int) using delta")
    with pytest.raises(DataError) as caught:
        run(spark, tmp_path, [Sink("v", table="unfit")], (1, "a"))
    assert [problem.code for problem in caught.value.problems] == ["E0488", "E0488"]
    assert spark.table("unfit").count() == 0


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


def test_a_stream_merges_and_appends_each_epoch_once(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    sinks = [
        Sink("v", tmp_path / "v", format="delta", mode="merge"),
        Sink("v", table="ice.db.followed", mode="merge"),
        Sink("v", table="log", format="delta", what="changes"),
    ]
    spark.sql("create namespace if not exists ice.db")
    stream = spark.readStream.schema("op string, x int, y string").csv(str(tmp_path / "in"))
    with tidelog.connect(spark=spark, state=tmp_path / "state") as db:
        db.load(VIEWS)
        db.insert("e", [(7, "there before")])
        into = {"relation": "e", "op": "op"}
        for number, text in enumerate(("+,1,a\n+,2,b\n", "-,1,a\n-,7,there before\n+,3,c\n")):
            (tmp_path / f"in/{number}.csv").write_text(text)
            query = db.maintain(stream, into=into, sinks=sinks, trigger={"availableNow": True})
            query.awaitTermination()
            assert rows(table(spark, tmp_path / "v")) == rows(db["v"]) == rows(spark.table("ice.db.followed"))
            assert db["v"].count() == (3, 2)[number]
    assert rows(spark.table("log")) == {
        ("insert", 7, "there before", 1),
        ("insert", 1, "a", 2),
        ("insert", 2, "b", 2),
        ("delete", 1, "a", 3),
        ("delete", 7, "there before", 3),
        ("insert", 3, "c", 3),
    }


def test_a_table_that_is_not_there(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught, Pipeline(SMALL, [Source("e", format="delta", path=tmp_path)]).run(spark):
        pass
    assert caught.value.code == "E0482"


def test_a_source_that_appends_reads_new_versions(spark: SparkSession, tmp_path: Path) -> None:
    source = Source("e", tmp_path / "in", format="delta", mode="append")

    def read() -> tuple[int, tuple[str, ...]]:
        with Pipeline(SMALL, [source], state=tmp_path / "state").run(spark) as result:
            return result.counts["e"].read, result.notes

    write(facts(spark, (1, "a"), (2, "b")), tmp_path / "in")
    assert [read(), read()] == [(2, ()), (0, ())]
    write(facts(spark, (3, "c")), tmp_path / "in")
    spark.sql(f"update delta.`{tmp_path}/in` set y = 'z' where x = 2")
    assert read() == (2, ())
    spark.sql(f"alter table delta.`{tmp_path}/in` set tblproperties (delta.enableChangeDataFeed = false)")
    write(facts(spark, (4, "d")), tmp_path / "in")
    count, [note] = read()
    assert (count, "does not say which rows are new" in note) == (4, True)


def test_a_snapshot_is_read_again_with_each_version(spark: SparkSession, tmp_path: Path) -> None:
    source = Source("e", tmp_path / "in", format="delta")

    def read() -> tuple[int, set[tuple[object, ...]]]:
        with Pipeline(SMALL, [source], state=tmp_path / "state").run(spark) as result:
            return result.counts["e"].read, rows(result.database["e"])

    write(facts(spark, (1, "a"), (2, "b")), tmp_path / "in")
    assert [read(), read()] == [(2, {(1, "a"), (2, "b")}), (0, {(1, "a"), (2, "b")})]
    spark.sql(f"delete from delta.`{tmp_path}/in` where x = 1")
    assert [read(), read()] == [(1, {(2, "b")}), (0, {(2, "b")})]
    source = replace(source, options={"versionAsOf": 0})
    assert [read(), read()] == [(2, {(1, "a"), (2, "b")}), (0, {(1, "a"), (2, "b")})]
