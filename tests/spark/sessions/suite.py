"""One suite for all sessions and all versions of PySpark: `TestEachSession` (each.py), and classes that derive from it.

A test module gives the suite a session by a fixture `spark`. Expectations are written by hand, and every test has a
database of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import tidelog
from tidelog.errors import TidelogError
from tidelog.spark import Pipeline, Sink, Source, SparkDatabase
from tidelog.spark.frames import translation
from tidelog.spark.sessions import is_connect, memory_of_partitions
from tidelog.storage.room import installed_memory

FACTS = """
.type Place = [city: symbol, floor: number]
.decl item(id: number, name: symbol, price: float, pieces: unsigned)
.decl at(id: number, place: Place)
.decl dear(id: number, name: symbol)
.decl here(place: Place)
.decl any_dear()
dear(i, n) :- item(i, n, p, _), p > 1.0.
here(p) :- at(i, p), dear(i, _).
any_dear() :- dear(_, _).
"""
ITEMS = "(1L, 'tea', 0.5D, 3), (2L, 'oil', 1.5D, 4), (3L, 'jam', 2.5D, 5) as t(id, name, price, pieces)"
EDGES = """
.decl edge(x: number, y: number, name: symbol)
.decl path(x: number, y: number)
.decl named(name: symbol, weight: float)
path(x, y) :- edge(x, y, _).
path(x, z) :- path(x, y), edge(y, z, _).
named(n, 0.5) :- path(1, y), edge(_, y, n).
"""
ORDERS = """
.decl ordered(who: symbol, item: symbol, amount: unsigned)
.decl total(item: symbol, amount: unsigned)
.output total
total(i, n) :- ordered(_, i, _), n = sum a : { ordered(_, i, a) }.
"""
FUNCTION = """
import tidelog

@tidelog.functor("symbol -> symbol")
def shipped_to_sessions(name):
    return name.upper()
"""


def rows(frame: DataFrame) -> set[tuple[Any, ...]]:
    """Return the rows of a frame as tuples; decimals are equal to integers."""
    return {tuple(row) for row in frame.collect()}


class Sessions:
    """Behaviour over the session of the fixture `spark`."""

    @pytest.fixture
    def db(self, spark: SparkSession) -> Iterator[SparkDatabase]:
        """Return an empty database."""
        with tidelog.connect(spark=spark) as database:
            yield database

    @pytest.mark.smoke
    def test_frames_become_facts_and_views_become_frames(self, spark: SparkSession, db: SparkDatabase) -> None:
        db.load(FACTS)
        db.insert("item", spark.sql(f"select * from values {ITEMS}"))
        places = "(2L, named_struct('city', 'Ulm', 'floor', 7L)), (1L, null)"
        db.insert("at", spark.sql(f"select * from values {places} as t(id, place)"))
        change = db.commit()
        assert change.report.engine == "embedded"
        assert rows(db["item"]) == {(1, "tea", 0.5, 3), (2, "oil", 1.5, 4), (3, "jam", 2.5, 5)}
        assert rows(db["here"]) == {(("Ulm", 7),)}
        assert db["any_dear"].count() == 1
        assert dict(db["item"].dtypes)["pieces"] == "decimal(20,0)"
        assert (rows(change["dear"].inserted), rows(change["dear"].deleted)) == ({(2, "oil"), (3, "jam")}, set())
        assert rows(db.query("dear(3, name)")) == {(3, "jam")}

    def test_a_change_has_what_an_epoch_inserts_and_deletes(self, spark: SparkSession, db: SparkDatabase) -> None:
        db.load(FACTS)
        items = spark.sql(f"select * from values {ITEMS}")
        db.insert("item", items)
        db.commit()
        db.delete("item", items.where("id = 2"))
        db.insert("item", spark.sql("select 1L as id, 'tea' as name, 9.5D as price, 1 as pieces"), key=["id"])
        change = db.commit()
        assert (rows(change["dear"].inserted), rows(change["dear"].deleted)) == ({(1, "tea")}, {(2, "oil")})
        assert rows(db["dear"]) == {(1, "tea"), (3, "jam")}
        assert db["here"].count() == 0

    def test_many_rows_come_in_parts(self, db: SparkDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(translation, "MOST_IN_JAVA", 2)
        db.load(".decl number(x: number, name: symbol)")
        db.insert("number", [(x, f"n{x}") for x in range(5)])
        db.commit()
        assert rows(db["number"]) == {(x, f"n{x}") for x in range(5)}

    def test_relations_of_any_database_become_frames(self, spark: SparkSession) -> None:
        with tidelog.connect() as local:
            local.load('.decl e(x: number, u: unsigned, s: symbol)\n.decl none(x: number)\ne(1, 2, "a").')
            local.commit()
            assert rows(local["e"].to_spark(spark)) == {(1, 2, "a")}
            assert rows(local["none"].to_spark(spark)) == set()

    def test_a_pipeline_reads_files_into_tables(self, spark: SparkSession, tmp_path: Path) -> None:
        (tmp_path / "orders.csv").write_text('who,item,amount\nann,tea,2\nbob,"jam,\nred",3\nbob,oil,few\n')
        (tmp_path / "orders.json").write_text('{"who": "cid", "item": "tea", "amount": 5}\n{"who":\n')
        sources = [
            Source("ordered", tmp_path / "orders.csv", mode="append", options={"header": True}),
            Source("ordered", tmp_path / "orders.json", mode="append", format="json"),
        ]
        sinks = [Sink("total", tmp_path / "total"), Sink("total", tmp_path / "changes", what="changes")]
        pipeline = Pipeline(ORDERS, sources, sinks, state=tmp_path / "state", quarantine=tmp_path / "bad")
        with pipeline.run(spark) as result:
            counts = result.counts["ordered"]
            assert (counts.read, counts.accepted, counts.quarantined) == (5, 3, 2)
            assert {row.reason for row in result.quarantine.collect()} == {"amount: not a number", "not JSON"}
            assert rows(result["total"]) == {("tea", 7), ("jam,\nred", 3)}
        (tmp_path / "orders.csv").write_text("who,item,amount\nann,oil,1\n")
        with pipeline.run(spark) as result:
            assert result.counts["ordered"].read == 1
        assert rows(spark.read.parquet(str(tmp_path / "total"))) == {("tea", 7), ("jam,\nred", 3), ("oil", 1)}
        changes = spark.read.parquet(str(tmp_path / "changes")).select("op", "item", "epoch")
        assert rows(changes) == {("insert", "tea", 1), ("insert", "jam,\nred", 1), ("insert", "oil", 2)}

    def test_jobs_say_for_what_they_are(self, spark: SparkSession) -> None:
        def said() -> set[str | None]:
            if is_connect(spark):
                return set(spark.getTags())
            return {spark.sparkContext.getLocalProperty("spark.job.description")}

        before, during = said(), list[set[str | None]]()
        pipeline = Pipeline(ORDERS, [Source("ordered", frame=spark.sql("select 'ann' who, 'tea' item, 2 amount"))])
        with pipeline.run(spark, progress=lambda stage, seconds: during.append(said())):
            assert {"tidelog: pipeline"} in during
            assert said() == before

    def test_partitions_share_half_of_the_memory_of_their_machine(self, spark: SparkSession) -> None:
        there = installed_memory()
        assert there is not None
        assert [memory_of_partitions(spark, count) for count in (1, 2, 7)] == [there // 2 // n for n in (1, 2, 7)]

    def test_the_cluster_engine_checks_its_views_in_executors(self, spark: SparkSession, db: SparkDatabase) -> None:
        db.options(engine="cluster", embedded_limit=3)  # of 12 rows
        db.load(".decl edge(x: number, y: number)\n.decl path(x: number, y: number)\npath(x, y) :- edge(x, y).")
        db.load("path(x, z) :- path(x, y), edge(y, z).")
        db.insert("edge", [(1, 2), (2, 3), (3, 1)])
        db.commit()
        db.check()
        assert rows(db["path"]) == {(x, y) for x in (1, 2, 3) for y in (1, 2, 3)}

    def test_wrong_input_is_an_error_with_a_code(self, spark: SparkSession, db: SparkDatabase) -> None:
        db.load(FACTS)
        items = spark.sql(f"select * from values {ITEMS}")
        for data, code, text in (
            ("no_such_table", "E0482", "no_such_table"),
            (items.withColumnRenamed("price", "cost"), "E0406", "price"),
            (items.selectExpr("nullif(id, 2) as id", "name", "price", "pieces"), "E0403", "1 of 3 rows"),
            (
                items.selectExpr("id", "if(id = 1, cast(X'ff' as string), name) as name", "price", "pieces"),
                "E0408",
                "UTF-8",
            ),
            (items.selectExpr("id", "name", "price", "if(id = 3, raise_error('bad'), 1) as pieces"), "E0482", "bad"),
        ):
            with pytest.raises(TidelogError) as caught:
                db.insert("item", data)
            assert caught.value.code == code, str(caught.value)
            assert text in str(caught.value)
            assert "Exception" not in str(caught.value)
        with pytest.raises(TidelogError) as caught, Pipeline(FACTS, [Source("item", "no/such/file.csv")]).run(spark):
            pass
        assert caught.value.code == "E0482"
        db.commit()
        assert db["item"].count() == 0

    def test_micro_batches_become_epochs(self, spark: SparkSession, tmp_path: Path) -> None:
        def put(name: str, text: str) -> None:
            (tmp_path / name).write_text(text)
            (tmp_path / name).rename(tmp_path / "in" / name)

        (tmp_path / "in").mkdir()
        stream = spark.readStream.schema("who string, item string, amount string").csv(str(tmp_path / "in"))
        with tidelog.connect(spark=spark, state=tmp_path / "state") as db:
            db.load(ORDERS)
            heard: list[set[tuple[Any, ...]]] = []
            db.subscribe("total", lambda change: heard.append(rows(change.inserted)))
            put("1.csv", "ann,tea,2\nbob,tea,few\n")
            query = db.maintain(stream, into="ordered")
            query.processAllAvailable()
            put("2.csv", "bob,tea,5\n")
            query.processAllAvailable()
            assert heard == [{("tea", 2)}, {("tea", 7)}]
            assert [row.reason for row in db.quarantine().collect()] == ["amount: not a number"]
            about = db.stats()["streams"]["ordered"]
            assert (about["batches"], about["accepted"], about["quarantined"], about["last"]["rows"]) == (2, 2, 1, 1)
        put("3.csv", "ann,tea,1\n")
        with tidelog.connect(spark=spark, state=tmp_path / "state") as db:

            def fail(change: object) -> None:
                raise ValueError("no paper")

            query = db.maintain(stream, into="ordered")
            query.processAllAvailable()
            assert rows(db["total"]) == {("tea", 8)}
            db.subscribe("total", fail)
            put("4.csv", "ann,oil,1\n")
            with pytest.raises(PySparkException):
                query.processAllAvailable()
            about = db.stats()["streams"]["ordered"]
            assert (about["error"], about["running"], about["batches"]) == ("no paper", False, 2)

    def test_the_cluster_engine_evaluates_in_executors(self, spark: SparkSession, tmp_path: Path) -> None:
        module = tmp_path / "shipped_to_sessions.py"
        module.write_text(FUNCTION)
        with tidelog.connect(spark=spark, state=tmp_path / "state", functors=[str(module)]) as db:
            db.options(engine="cluster")
            db.load(EDGES)
            db.load(
                ".functor shipped_to_sessions(name: symbol): symbol\n.decl loud(name: symbol)\n"
                "loud(@shipped_to_sessions(n)) :- named(n, _)."
            )
            db.insert("edge", spark.range(1, 6).selectExpr("id as x", "id + 1 as y", "concat('n', id) as name"))
            assert db.commit().report.engine == "cluster"
            assert rows(db["path"]) == {(x, y) for x in range(1, 7) for y in range(x + 1, 7)}
            assert rows(db["named"]) == {(f"n{x}", 0.5) for x in range(1, 6)}
            db.delete("edge", [(3, 4, "n3")])
            change = db.commit()
            assert rows(change["path"].deleted) == {(x, y) for x in (1, 2, 3) for y in (4, 5, 6)}
            assert rows(db["loud"]) == {("N1",), ("N2",)}
        with tidelog.connect(spark=spark, state=tmp_path / "state", functors=[str(module)]) as db:
            assert db["path"].count() == 6
