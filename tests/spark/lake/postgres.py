"""Tables of a PostgreSQL server as sinks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import tidelog
from tests.spark.lake.components import Postgres
from tests.spark.lake.iceberg import run
from tests.spark.test_pipeline import rows
from tests.spark.test_sinks import VIEWS
from tidelog.errors import DataError
from tidelog.spark import Sink


def sink(server: Postgres, table: str, **given: Any) -> Sink:
    return Sink("v", table=table, format="jdbc", options=server.options, **given)


def test_tables_are_made_and_then_written(spark: SparkSession, tmp_path: Path, postgres: Postgres) -> None:
    postgres.ask("create schema shop; create table shop.merged (x bigint primary key, y text, more int default 5)")
    sinks = [
        sink(postgres, "v"),
        sink(postgres, "shop.merged", mode="merge"),
        sink(postgres, 'shop."The changes"', what="changes"),
    ]
    notes = run(spark, tmp_path, sinks, (1, "a"), (2, "b"))
    assert notes == ("shop.merged has a column more besides those of v",)
    postgres.ask("update shop.merged set more = 7; insert into shop.merged values (8, 'not of the view')")
    run(spark, tmp_path, sinks, (1, "new"), (2, "b"))
    assert postgres.ask("select * from v") == {("1", "new"), ("2", "b")}
    assert postgres.ask("select * from shop.merged") == {("1", "new", "5"), ("2", "b", "7")}
    assert postgres.ask('select * from shop."The changes"') == {
        ("insert", "1", "a", "1"),
        ("insert", "2", "b", "1"),
        ("delete", "1", "a", "2"),
        ("insert", "1", "new", "2"),
    }
    assert postgres.ask("select relname from pg_class where relname like '%tidelog_given%'") == set()


def test_an_epoch_that_is_written_again_replaces_its_own_rows(
    spark: SparkSession, tmp_path: Path, postgres: Postgres
) -> None:
    sinks = [sink(postgres, "again", what="changes")]
    (tmp_path / "file").touch()
    run(spark, tmp_path, sinks, (1, "a"))
    with pytest.raises(DataError, match="E0483"):
        run(spark, tmp_path, [*sinks, Sink("v", tmp_path / "file/v")], (1, "a"), (2, "b"))
    run(spark, tmp_path, sinks, (1, "a"), (3, "c"))
    assert postgres.ask("select * from again") == {("insert", "1", "a", "1"), ("insert", "3", "c", "2")}


def test_a_statement_that_fails_changes_nothing(spark: SparkSession, tmp_path: Path, postgres: Postgres) -> None:
    postgres.ask("create table checked (x bigint check (x < 10), y text); insert into checked values (1, 'old')")
    for mode in ("replace", "merge"):
        with pytest.raises(DataError, match="violates check constraint") as caught:
            run(spark, tmp_path, [sink(postgres, "checked", mode=mode)], (2, "new"), (11, "too large"))
        assert caught.value.code == "E0483"
        assert postgres.ask("select * from checked") == {("1", "old")}


def test_tables_that_do_not_fit(spark: SparkSession, tmp_path: Path, postgres: Postgres) -> None:
    postgres.ask("create table unfit (x int)")
    with pytest.raises(DataError) as caught:
        run(spark, tmp_path, [sink(postgres, "unfit")], (1, "a"))
    assert [problem.code for problem in caught.value.problems] == ["E0488", "E0488"]
    with pytest.raises(DataError, match="already exists"):
        run(spark, tmp_path, [sink(postgres, "unfit", mode="error")], (1, "a"))


def test_a_stream_merges_each_epoch(spark: SparkSession, tmp_path: Path, postgres: Postgres) -> None:
    (tmp_path / "in").mkdir()
    stream = spark.readStream.schema("op string, x int, y string").csv(str(tmp_path / "in"))
    sinks = [sink(postgres, "followed", mode="merge"), sink(postgres, "log", what="changes")]
    with tidelog.connect(spark=spark, state=tmp_path / "state") as db:
        db.load(VIEWS)
        for number, text in enumerate(("+,1,a\n+,2,b\n", "-,1,a\n+,3,c\n")):
            (tmp_path / f"in/{number}.csv").write_text(text)
            into = {"relation": "e", "op": "op"}
            db.maintain(stream, into=into, sinks=sinks, trigger={"availableNow": True}).awaitTermination()
            found = {(int(x), y) for x, y in postgres.ask("select x, y from followed")}
            assert found == rows(db["v"])
            assert len(found) == 2
    assert postgres.ask("select op, x, epoch from log") == {
        ("insert", "1", "2"),
        ("insert", "2", "2"),
        ("delete", "1", "3"),
        ("insert", "3", "3"),
    }
    (tmp_path / "new").mkdir()
    with pytest.raises(DataError, match="it has epochs up to 3, and the next one of this database is 1"):
        run(spark, tmp_path / "new", [sink(postgres, "log", what="changes")], (1, "a"))
