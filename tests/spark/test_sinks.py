"""Sinks of pipelines: folders and tables of the session's catalog, and everything that is wrong with them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from tests.spark.test_pipeline import SMALL, rows
from tidelog.errors import DataError, TidelogError, UsageError
from tidelog.spark import Pipeline, Sink, Source
from tidelog.spark.sinks.folders import _put_in_place, folder_of
from tidelog.spark.sinks.tables import DatabaseTarget
from tidelog.spark.sinks.targets import records

VIEWS = SMALL + "\n.decl v(x: number, y: symbol)\nv(x, y) :- e(x, y)."


def run(spark: SparkSession, tmp_path: Path, sinks: list[Sink], *values: tuple[int, str]) -> tuple[str, ...]:
    frame = spark.createDataFrame(list(values), "x int, y string")
    with Pipeline(VIEWS, [Source("e", frame=frame)], sinks, state=tmp_path / "state").run(spark) as result:
        return result.notes


def table(spark: SparkSession, name: str) -> set[tuple[Any, ...]]:
    return rows(spark.table(name))


def test_tables_are_made_and_then_written(spark: SparkSession, tmp_path: Path, schema: str) -> None:
    sinks = [
        Sink("v", table="lake.v", partition_by=["x"]),
        Sink("v", table="lake.changes", what="changes", format="orc"),
        Sink("n", table="lake.n", mode="append"),
    ]
    run(spark, tmp_path, sinks, (1, "a"), (2, "b"))
    spark.sql("alter table lake.v set tblproperties (team = 'me')")
    run(spark, tmp_path, sinks, (2, "b"), (3, "c"), (4, "d"))
    assert rows(spark.table("lake.v").select("x", "y")) == {(2, "b"), (3, "c"), (4, "d")}
    assert [c.name for c in spark.catalog.listColumns("lake.v") if c.isPartition] == ["x"]
    assert "me" in str(spark.sql("show tblproperties lake.v").collect())
    assert table(spark, "lake.changes") == {
        ("insert", 1, "a", 1),
        ("insert", 2, "b", 1),
        ("delete", 1, "a", 2),
        ("insert", 3, "c", 2),
        ("insert", 4, "d", 2),
    }
    assert "orc" in str(spark.sql("describe extended lake.changes").collect())
    assert table(spark, "lake.n") == {(2, 1), (3, 2)}


def test_texts_read_back_from_csv_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    texts = [" a", "b\t", 'c,"d"', "\\", '\\"', "e\nf", "", "null", "\r\ng"]
    values = list(enumerate(texts))
    run(spark, tmp_path, [Sink("v", tmp_path / "v", format="csv", options={"header": "true"})], *values)
    source = Source("e", path=tmp_path / "v", options={"header": "true", "escape": '"'})
    with Pipeline(VIEWS, [source], []).run(spark) as result:
        assert rows(result["v"]) == set(values)


def test_a_line_of_text_has_no_line_break(spark: SparkSession, tmp_path: Path) -> None:
    program = f"{VIEWS}\n.decl t(y: symbol)\nt(y) :- e(_, y)."
    for text, complaint in (("a\nb", "a text in column y contains a line break"), ("a b", None)):
        frame = spark.createDataFrame([(1, text)], "x int, y string")
        pipeline = Pipeline(program, [Source("e", frame=frame)], [Sink("t", tmp_path / "t", format="text")])
        if complaint is not None:
            with pytest.raises(DataError, match=complaint):
                pipeline.run(spark)
            assert not (tmp_path / "t").exists()
        else:
            pipeline.run(spark).close()
    assert rows(spark.read.text(str(tmp_path / "t"))) == {("a b",)}


def test_an_epoch_that_comes_again_replaces_its_own_rows(spark: SparkSession, tmp_path: Path, schema: str) -> None:
    """The second run has written its tables, and is killed before its epoch lasts. Then the source has other rows."""
    sinks = [Sink("v", table="lake.changes", what="changes", partition_by=["y"]), Sink("v", tmp_path / "v")]
    (tmp_path / "file").touch()
    run(spark, tmp_path, sinks, (1, "a"))
    with pytest.raises(DataError, match="E0483"):
        run(spark, tmp_path, [*sinks, Sink("n", tmp_path / "file/n")], (1, "a"), (2, "b"), (3, "c"))
    columns = ["op", "x", "y", "epoch"]
    assert rows(spark.table("lake.changes").select(columns).where("epoch = 2")) == {
        ("insert", 2, "b", 2),
        ("insert", 3, "c", 2),
    }
    run(spark, tmp_path, sinks, (1, "a"), (4, "d"))
    assert rows(spark.table("lake.changes").select(columns)) == {("insert", 1, "a", 1), ("insert", 4, "d", 2)}
    assert rows(spark.read.parquet(str(tmp_path / "v"))) == {(1, "a"), (4, "d")}


@pytest.mark.parametrize("to", ["table", "path"])
def test_epochs_of_another_database_stay(spark: SparkSession, tmp_path: Path, schema: str, to: str) -> None:
    """A new state folder begins with epoch 1, which would replace the one that is there."""
    place = {"table": "lake.changes"} if to == "table" else {"path": tmp_path / "changes"}
    sinks = [Sink("v", what="changes", **place)]
    run(spark, tmp_path, sinks, (1, "a"))
    run(spark, tmp_path, sinks, (1, "a"), (2, "b"))
    (tmp_path / "new").mkdir()
    with pytest.raises(DataError, match="epochs up to 2, and the next one of this database is 1") as raised:
        run(spark, tmp_path / "new", sinks, (3, "c"))
    assert raised.value.code == "E0488"
    found = spark.table("lake.changes") if to == "table" else spark.read.parquet(str(tmp_path / "changes"))
    assert rows(found.select("op", "x", "y", "epoch")) == {("insert", 1, "a", 1), ("insert", 2, "b", 2)}
    run(spark, tmp_path, sinks, (2, "b"))


def test_a_new_column_of_a_table_is_noted_and_null(spark: SparkSession, tmp_path: Path, schema: str) -> None:
    spark.sql("create table lake.v (Y string, more int, x decimal(20, 0)) using parquet")
    notes = run(spark, tmp_path, [Sink("v", table="lake.v")], (1, "a"))
    assert notes == ("lake.v has a column more besides those of v",)
    assert table(spark, "lake.v") == {("a", None, 1)}


def test_folders_have_partitions_and_are_replaced_in_one_step(spark: SparkSession, tmp_path: Path) -> None:
    sinks = [Sink("v", tmp_path / "v", partition_by=["x"]), Sink("v", tmp_path / "e", mode="append", format="json")]
    run(spark, tmp_path, sinks, (1, "a"))
    run(spark, tmp_path, sinks, (2, "b"))
    assert sorted(path.name for path in (tmp_path / "v").iterdir() if path.is_dir()) == ["x=2"]
    assert rows(spark.read.json(str(tmp_path / "e")).select("x", "y", "epoch")) == {(1, "a", 1), (2, "b", 2)}
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_changes_of_this_process_replace_an_attempt_and_are_compressed_as_in_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    sink = Sink("v", tmp_path / "changes", what="changes")
    assert folder_of(spark, Sink("v", tmp_path, what="changes", options={"maxRecordsPerFile": 1})).codec is None
    spark.conf.set("spark.sql.parquet.compression.codec", "gzip")
    try:
        target = folder_of(spark, sink)
    finally:
        spark.conf.unset("spark.sql.parquet.compression.codec")
    for value in (1, 2):
        (tmp_path / "changes/.epoch=7.new/killed").mkdir(parents=True)
        target.append_table(pa.table({"op": ["insert"], "x": [value]}), 7)
        assert sorted(path.name for path in (tmp_path / "changes").iterdir()) == ["_manifest.json", "epoch=7"]
        assert rows(spark.read.parquet(str(tmp_path / "changes"))) == {("insert", value, 7)}
    [file] = (tmp_path / "changes/epoch=7").glob("*.parquet")
    assert parquet.ParquetFile(file).metadata.row_group(0).column(0).compression == "GZIP"
    assert (tmp_path / "changes/epoch=7/_SUCCESS").exists()


@pytest.mark.parametrize("exchanges", [True, False])
def test_a_folder_takes_the_place_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchanges: bool) -> None:
    if not exchanges:
        monkeypatch.setattr("tidelog.spark.sinks.folders._exchange", lambda one, other: False)
    for number in range(3):
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / str(number)).touch()
        _put_in_place(str(tmp_path / "new"), str(tmp_path / "there"))
        assert os.listdir(tmp_path) == ["there"]
        assert os.listdir(tmp_path / "there") == [str(number)]


def test_changes_for_kafka_are_records_with_their_epoch(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("delete", 1, "a", 7)], "op string, x long, y string, epoch long")
    assert records(frame).collect() == [('{"x":1,"y":"a"}', '{"op":"delete","x":1,"y":"a","epoch":7}')]


POSTGRES = {"url": "jdbc:postgresql://host/db"}
KAFKA = {"kafka.bootstrap.servers": "host:9092", "topic": "t"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "the sink of v has no place"),
        ({"path": "a", "table": "b"}, "path and table exclude each other"),
        ({"table": ""}, "the name of the table is empty"),
        ({"table": "delta.`/data/v`"}, "is a path, not the name of a table"),
        ({"table": "s3://bucket/v"}, "is a path, not the name of a table"),
        ({"path": "v", "format": "iceberg"}, "the format iceberg needs a table, found a path"),
        ({"path": "v", "format": "JDBC"}, "the format jdbc needs a table, found a path"),
        ({"table": "v", "format": "jdbc"}, "the format jdbc needs the option 'url'"),
        ({"path": "v", "mode": "merge"}, "rows cannot be merged into files of the format parquet"),
        ({"path": "v", "what": "changes", "mode": "replace"}, "changes are appended, found the mode 'replace'"),
        ({"path": "v", "partition_by": "x"}, "partition_by must be a list of columns, found 'x'"),
        ({"path": "v", "partition_by": ["x", "x"]}, "partition_by names x twice"),
        ({"table": "v", "format": "jdbc", "options": POSTGRES, "partition_by": ["x"]}, "jdbc has no partitions"),
        ({"format": "kafka", "options": KAFKA}, "the format kafka takes changes, found a view"),
        ({"format": "kafka", "what": "changes"}, "kafka needs the option 'kafka.bootstrap.servers'"),
        ({"format": "kafka", "what": "changes", "table": "t", "options": KAFKA}, "the format kafka has no table"),
    ],
)
def test_sinks_that_make_no_sense_are_rejected(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        Sink("v", **given)
    assert caught.value.code == "E0686"
    assert caught.value.problems[0].place
    assert caught.value.problems[0].hint


def test_tables_that_do_not_fit_are_rejected_before_anything_is_written(
    spark: SparkSession, tmp_path: Path, schema: str
) -> None:
    for text in (
        "create table lake.short (x bigint) using parquet",
        "create table lake.narrow (x int, y string) using parquet",
        "create table lake.flat (op string, x bigint, y string, epoch bigint) using parquet",
        "create table lake.parts (x bigint, y string) using parquet partitioned by (y)",
        "create view lake.seen as select 1 x, 'a' y",
    ):
        spark.sql(text)
    for sink, code, said in (
        (Sink("v", table="lake.short"), "E0488", "the table lacks the column y of v"),
        (Sink("v", table="lake.narrow"), "E0488", "the column x of the table has the type int, needed is bigint"),
        (Sink("v", table="lake.flat", what="changes"), "E0488", "partition columns none, needed are epoch"),
        (Sink("v", table="lake.parts", partition_by=["x"]), "E0488", "partition columns y, needed are x"),
        (Sink("v", table="lake.seen"), "E0488", "lake.seen is a view, not a table"),
        (Sink("v", table="lake.parts", format="orc"), "E0488", "of the format parquet, found the format orc"),
        (Sink("v", table="lake.parts", mode="merge"), "E0488", "cannot be merged into a table of the format parquet"),
        (Sink("v", table="lake.new", mode="merge"), "E0488", "cannot be merged into a table of the session's default"),
        (Sink("v", table="lake.parts", mode="error"), "E0483", "already exists"),
        (Sink("v", table="nowhere.t"), "E0488", "the schema nowhere does not exist"),
        (Sink("v", table="no.such.t"), "E0488", "Spark cannot use this table"),
        (Sink("v", table="a b"), "E0488", "Spark cannot use this table"),
        (Sink("v", "x", partition_by=["z"]), "E0686", "partition_by names 'z', which is no column of v"),
        (Sink("v", "x", partition_by=["y", "x"]), "E0686", "partition_by names all columns"),
        (Sink("u", table="lake.u"), "E0601", "the relation 'u' is not declared"),
        (Sink("go", table="lake.u"), "E0686", "go has no columns"),
        (Sink("ops", table="lake.u", what="changes"), "E0686", "ops has a column 'op', which the sink"),
        (Sink("v", table="x;y", format="jdbc", options=POSTGRES), "E0686", "'x;y' is not the name of a table"),
        (Sink("v", table="t", format="jdbc", mode="merge", options={"url": "jdbc:h2:mem"}), "E0686", "needs a Postgre"),
        (Sink("v", table="t", format="jdbc", options=POSTGRES), "E0483", "No suitable driver"),
    ):
        other = Sink("v", tmp_path / "other")
        program = VIEWS + "\n.decl go()\n.decl ops(op: number)"
        frame = spark.createDataFrame([(1, "a")], "x int, y string")
        with pytest.raises(TidelogError) as caught:
            Pipeline(program, [Source("e", frame=frame)], [other, sink], state=tmp_path / "state").run(spark)
        [problem] = caught.value.problems
        assert (problem.code, said in problem.message) == (code, True), str(caught.value)
        assert problem.place or code == "E0601"
        assert problem.hint
        assert not (tmp_path / "other").exists()


@pytest.mark.smoke
def test_one_table_under_two_names_is_one(spark: SparkSession, schema: str) -> None:
    spark.sql("create table lake.t (x bigint, y string) using parquet")
    source = Source("e", table="spark_catalog.lake.t")
    with pytest.raises(UsageError, match=r"would replace the source spark_catalog\.lake\.t"):
        Pipeline(VIEWS, [source], [Sink("v", table="lake.T")]).run(spark)
    with pytest.raises(UsageError, match="is a sink twice"):
        Pipeline(VIEWS, sinks=[Sink("v", table="lake.t"), Sink("v", table="spark_catalog.lake.t")]).run(spark)


def test_statements_for_postgresql(spark: SparkSession) -> None:
    """Their effect is tested with a real server by `make test-lake`; here, which names they have."""
    sink = Sink("v", table='shop."The T"', format="jdbc", options=POSTGRES)
    target = DatabaseTarget(spark, sink, sink.place, spark.range(0).schema)
    assert target._staging_table == 'shop."The T_tidelog_given"'
