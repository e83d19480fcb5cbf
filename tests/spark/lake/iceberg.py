"""Iceberg tables as sinks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.test_pipeline import rows
from tests.spark.test_sinks import VIEWS
from tidelog.errors import DataError
from tidelog.spark import Pipeline, Sink, Source


@pytest.fixture(autouse=True)
def _namespace(spark: SparkSession) -> Iterator[None]:
    spark.sql("create namespace if not exists ice.db")
    yield
    for table in spark.catalog.listTables("ice.db"):
        spark.sql(f"drop table ice.db.{table.name}")


def run(spark: SparkSession, folder: Path, sinks: list[Sink], *values: tuple[int, str]) -> tuple[str, ...]:
    source = Source("e", frame=spark.createDataFrame(list(values), "x int, y string"))
    with Pipeline(VIEWS, [source], sinks, state=folder / "state").run(spark) as result:
        return result.notes


def test_tables_are_made_and_then_written(spark: SparkSession, tmp_path: Path) -> None:
    sinks = [
        Sink("v", table="ice.db.v", partition_by=["y"]),
        Sink("v", table="ice.db.merged", mode="merge"),
        Sink("v", table="ice.db.changes", what="changes"),
    ]
    run(spark, tmp_path, sinks, (1, "a"), (2, "b"))
    spark.sql("alter table ice.db.merged add column more int")
    notes = run(spark, tmp_path, sinks, (2, "b"), (3, "c"))
    assert notes == ("ice.db.merged has a column more besides those of v",)
    assert rows(spark.table("ice.db.v")) == {(2, "b"), (3, "c")}
    assert rows(spark.table("ice.db.merged")) == {(2, "b", None), (3, "c", None)}
    assert rows(spark.table("ice.db.changes")) == {
        ("insert", 1, "a", 1),
        ("insert", 2, "b", 1),
        ("delete", 1, "a", 2),
        ("insert", 3, "c", 2),
    }
    assert [column.name for column in spark.catalog.listColumns("ice.db.v") if column.isPartition] == ["y"]
    assert spark.table("ice.db.v.snapshots").count() == 2


def test_an_epoch_that_is_written_again_replaces_its_own_rows(spark: SparkSession, tmp_path: Path) -> None:
    sinks = [Sink("v", table="ice.db.again", what="changes")]
    (tmp_path / "file").touch()
    run(spark, tmp_path, sinks, (1, "a"))
    with pytest.raises(DataError, match="E0483"):
        run(spark, tmp_path, [*sinks, Sink("v", tmp_path / "file/v")], (1, "a"), (2, "b"))
    run(spark, tmp_path, sinks, (1, "a"), (3, "c"))
    assert rows(spark.table("ice.db.again")) == {("insert", 1, "a", 1), ("insert", 3, "c", 2)}


def test_tables_that_do_not_fit(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("create table ice.db.unfit (x int, z string not null)")
    for sink, count, said in (
        (Sink("v", table="ice.db.unfit"), 3, "the table lacks the column y of v"),
        (Sink("v", table="ice.nowhere.v"), 1, "the schema ice.nowhere does not exist"),
        (Sink("v", table="ice.db.unfit", format="delta"), 1, "of the format iceberg, found the format delta"),
    ):
        with pytest.raises(DataError, match=said) as caught:
            run(spark, tmp_path, [sink], (1, "a"))
        assert [problem.code for problem in caught.value.problems] == ["E0488"] * count


def test_a_source_that_appends_reads_new_snapshots(spark: SparkSession, tmp_path: Path) -> None:
    source = Source("e", table="ice.db.grown", mode="append")

    def read() -> tuple[int, tuple[str, ...]]:
        with Pipeline(VIEWS, [source], state=tmp_path / "state").run(spark) as result:
            return result.counts["e"].read, result.notes

    spark.sql("create table ice.db.grown (x int, y string)")
    assert read() == (0, ())
    spark.sql("insert into ice.db.grown values (1, 'a'), (2, 'b')")
    assert [read(), read()] == [(2, ()), (0, ())]
    spark.sql("insert into ice.db.grown values (3, 'c')")
    assert read() == (1, ())
    spark.sql("delete from ice.db.grown where x = 1")
    assert read() == (2, ("ice.db.grown has other changes than new rows, so that all of its rows were read",))


def test_a_snapshot_is_read_again_once_the_table_has_another(spark: SparkSession, tmp_path: Path) -> None:
    source = Source("e", table="ice.db.whole")

    def read() -> tuple[int, int]:
        with Pipeline(VIEWS, [source], state=tmp_path / "state").run(spark) as result:
            return result.counts["e"].read, result.database["e"].count()

    spark.sql("create table ice.db.whole (x int, y string)")
    assert [read(), read()] == [(0, 0), (0, 0)]
    spark.sql("insert into ice.db.whole values (1, 'a'), (2, 'b')")
    assert [read(), read()] == [(2, 2), (0, 2)]
    spark.sql("delete from ice.db.whole where x = 1")
    assert [read(), read()] == [(1, 1), (0, 1)]
    spark.sql("drop table ice.db.whole")
    spark.sql("create table ice.db.whole (x int, y string)")
    assert [read(), read()] == [(0, 0), (0, 0)]
