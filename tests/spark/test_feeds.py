"""Feeds in known formats: Debezium's envelopes, compacted topics of Kafka, and Delta's change data feed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import tidelog
from tidelog.errors import DataError, TidelogError, UsageError
from tidelog.spark import Pipeline, Result, Source, SparkDatabase

PROGRAM = """
.type Place = [city: symbol, zip: number]
.decl person(id: number, name: symbol, euros: float, place: Place)
"""
KAFKA = "key binary, value binary, topic string, partition int, offset long, timestamp timestamp"
PLACE = {"city": "Bonn", "zip": 53111}


def ran(spark: SparkSession, db: SparkDatabase, frame: DataFrame, feed: str, **more: Any) -> Result:
    source = Source("person", frame=frame, mode="cdc", feed=feed, key=["id"], **more)
    result = Pipeline(PROGRAM, [source]).run(spark, db)
    counts = result.counts["person"]
    assert counts.read == counts.accepted + counts.quarantined
    return result


def people(db: SparkDatabase) -> set[tuple[Any, ...]]:
    return {(row.id, row.name, row.euros, row.place and row.place.zip) for row in db["person"].collect()}


def reasons(result: Result) -> list[str]:
    return sorted(row.reason for row in result.quarantine.collect())


@pytest.fixture
def db(spark: SparkSession) -> Any:
    with tidelog.connect(spark=spark) as opened:
        opened.load(PROGRAM)
        yield opened


def row(id: int | None, name: str | None = None, euros: Any = None, place: Any = PLACE) -> dict[str, Any]:
    return {"id": id, "name": name, "euros": euros, "place": place}


def envelope(op: str, before: Any, after: Any, lsn: int | None, **source: Any) -> dict[str, Any]:
    return {"op": op, "before": before, "after": after, "ts_ms": 1, "source": {"lsn": lsn, "ts_ms": 2, **source}}


def texts(spark: SparkSession, values: Sequence[Any], column: str = "value string") -> DataFrame:
    return spark.createDataFrame([(v if v is None or isinstance(v, str) else json.dumps(v),) for v in values], column)


def test_envelopes_of_debezium_in_json(spark: SparkSession, db: SparkDatabase) -> None:
    first = [
        envelope("r", None, row(1, "ann", 0.5), 10),
        {"schema": {"type": "struct"}, "payload": envelope("c", None, row(2, "bob", 12, None), 11)},
        envelope("u", row(1), row(1, "anna", 1.25), 12),
        envelope("u", row(1), row(1, "old", 1), 9),
        None,  # a tombstone of Kafka behind a deletion
    ]
    result = ran(spark, db, texts(spark, first), "debezium")
    assert (result.counts["person"].read, reasons(result)) == (4, [])
    assert people(db) == {(1, "anna", 1.25, 53111), (2, "bob", 12.0, None)}
    second = [
        envelope("d", {"id": 2}, None, 13),
        envelope("u", row(1), row(1, "late", 1), 11),
        envelope("c", None, row(3, "cid", "many"), 14),
        envelope("t", None, None, 15),
        envelope("c", None, row(4, "dan", 1), None),
        envelope("c", None, row(None, "eve", 1), 16),
        envelope("d", None, None, 16),
        envelope("m", None, row(5, "message", 1), 16),
        "{broken",
        "[1]",
    ]
    result = ran(spark, db, texts(spark, second), "debezium")
    assert people(db) == {(1, "anna", 1.25, 53111)}
    assert (result.counts["person"].late, result.counts["person"].accepted) == (1, 2)
    assert reasons(result) == [
        "euros: not a number",
        "id: null",
        "id: null",
        "op: a truncation; clear the relation, which tidelog does not do by itself",
        "op: unknown operation",
        "source.pos: null",
        "value: not JSON that fits",
        "value: not JSON that fits",
    ]
    assert any('"{broken"' in each.row for each in result.quarantine.collect())


def test_envelopes_of_debezium_that_spark_has_taken_apart(spark: SparkSession, db: SparkDatabase) -> None:
    own = "struct<id: int, name: string, euros: double, place: struct<city: string, zip: int>>"
    place = "struct<file: string, pos: long, row: int>"
    flat = f"op string, before {own}, after {own}, source {place}, ts_ms long"
    bonn = ("Bonn", 53111)
    events: list[Any] = [
        ("c", None, (1, "ann", 0.5, bonn), ("binlog.000009", 900, 0), 1),
        ("u", (1, "ann", 0.5, bonn), (1, "anna", 0.5, bonn), ("binlog.000010", 4, 1), 1),
        ("u", (1, "ann", 0.5, bonn), (1, "between", 0.5, bonn), ("binlog.000010", 4, 0), 1),
    ]
    ran(spark, db, spark.createDataFrame(events, flat), "debezium")
    assert people(db) == {(1, "anna", 0.5, 53111)}
    nested = spark.createDataFrame([("d", (1, None, None, None), None, ("binlog.000011", 1, 0), 1)], flat)
    ran(spark, db, nested.select(F.struct("*").alias("payload")), "debezium")
    assert people(db) == set()


def test_an_update_of_the_key_deletes_the_row_before(spark: SparkSession, db: SparkDatabase) -> None:
    ran(spark, db, texts(spark, [envelope("c", None, row(n, "ann", n), 10) for n in (1, 2, 5)]), "debezium")
    moves = [
        envelope("u", row(1, "ann", 1), row(3, "ann", 7), 11),
        envelope("u", {"id": 2}, row(4, "bob", 8), 11),
        envelope("u", None, row(5, "cid", 9), 11),
        envelope("u", row(6, "never", 1), row(7, "late", 1), 5),
        envelope("c", None, row(7, "eve", 1), 6),
        envelope("u", row(8, "old", 1), row(1, "late", 1), 9),
    ]
    result = ran(spark, db, texts(spark, moves), "debezium")
    assert reasons(result) == []
    assert people(db) == {
        (3, "ann", 7.0, 53111),
        (4, "bob", 8.0, 53111),
        (5, "cid", 9.0, 53111),
        (7, "eve", 1.0, 53111),
    }
    back = [envelope("u", row(3, "ann", 7), row(1, "ann", 7), 12), envelope("u", row(1), row(3, "ann", 7), 13)]
    ran(spark, db, texts(spark, back), "debezium")
    assert {each[0] for each in people(db)} == {3, 4, 5, 7}


@pytest.mark.parametrize("more", [{}, {"order": ["source.file", "source.pos"]}])
def test_binary_logs_are_ordered_by_their_numbers(spark: SparkSession, db: SparkDatabase, more: dict[str, Any]) -> None:
    own = "struct<id: int, name: string, euros: double, place: struct<city: string, zip: int>>"
    events = [
        ("c", None, (1, "new", 1.0, None), ("mysql-bin.1000000", 4), 1),
        ("u", None, (1, "old", 1.0, None), ("mysql-bin.999999", 900), 1),
    ]
    columns = f"op string, before {own}, after {own}, source struct<file: string, pos: long>, ts_ms long"
    ran(spark, db, spark.createDataFrame(events, columns), "debezium", **more)
    assert {each[1] for each in people(db)} == {"new"}


@pytest.mark.smoke
def test_the_order_of_envelopes_may_be_named(spark: SparkSession, db: SparkDatabase) -> None:
    events = [
        envelope("c", None, row(1, "new", 1), 1, scn="12"),
        envelope("c", None, row(1, "old", 1), 2, scn="9"),
    ]
    ran(spark, db, texts(spark, events), "debezium", order="source.scn")
    assert people(db) == {(1, "new", 1.0, 53111)}
    schema = "op string, before struct<id: int>, after struct<id: int>, source struct<ts_ms: long>"
    frame = spark.createDataFrame([], schema)
    for order, message in ((None, "no source.lsn or source.pos"), ("source.scn", r"no source\.scn")):
        source = Source("person", frame=frame, mode="cdc", feed="debezium", key="id", order=order)
        with pytest.raises(DataError, match=f"E0480.*{message}"):
            Pipeline(".decl person(id: number)", [source]).run(spark)


def test_records_of_a_compacted_topic(spark: SparkSession, db: SparkDatabase) -> None:
    def record(key: Any, value: Any, offset: int, partition: int = 0) -> tuple[Any, ...]:
        raw = [
            None if v is None else bytearray(v if isinstance(v, bytes) else json.dumps(v).encode())
            for v in (key, value)
        ]
        return (*raw, "people", partition, offset, None)

    def take(*records: tuple[Any, ...]) -> Result:
        return ran(spark, db, spark.createDataFrame(list(records), KAFKA), "kafka-compacted")

    take(
        record({"id": 1}, row(1, "ann", 1), 5),
        record({"id": 1}, row(1, "anna", 2), 7),
        record(2, {"name": "bob", "euros": 3, "place": None}, 6),  # the key is not in the value
        record(b"3", row(3, "cid", 4), 8),
    )
    assert people(db) == {(1, "anna", 2.0, 53111), (2, "bob", 3.0, None), (3, "cid", 4.0, 53111)}
    result = take(
        record({"id": 1}, None, 9),
        record(2, None, 5),
        record(None, row(4, "dan", 1), 9),
        record(None, None, 9),
        record(b"x", None, 9),
        record(b'{"id":', row(5, "eve", 1), 9),
        record(6, b"plain", 9),
    )
    assert people(db) == {(2, "bob", 3.0, None), (3, "cid", 4.0, 53111), (4, "dan", 1.0, 53111)}
    assert result.counts["person"].late == 1
    assert reasons(result) == ["id: not a number", "id: null", "key: not JSON that fits", "value: not JSON that fits"]


def test_the_change_data_feed_of_delta_by_name(spark: SparkSession) -> None:
    schema = "id int, name string, _change_type string, _commit_version long"
    changes = [
        (1, "ann", "insert", 0),
        (2, "bob", "insert", 0),
        (1, "ann", "update_preimage", 1),
        (1, "anna", "update_postimage", 1),
        (2, "bob", "delete", 2),
    ]
    program = ".decl person(id: number, name: symbol)"
    for key in (None, "id"):
        with tidelog.connect(spark=spark) as db:
            for batch in (changes[3:], changes[:3]):  # The later ones come first.
                frame = spark.createDataFrame(batch, schema)
                source = Source("person", frame=frame, mode="cdc", feed="delta", key=key)
                Pipeline(program, [source]).run(spark, db)
            assert {tuple(row) for row in db["person"].collect()} == {(1, "anna")}


def test_a_stream_of_a_named_feed(spark: SparkSession, db: SparkDatabase, tmp_path: Path) -> None:
    events = [envelope("c", None, row(1, "ann", 1), 1), envelope("c", None, row(2, "bob", 1), 2)]
    texts(spark, events).write.text(str(tmp_path / "in"))
    stream = spark.readStream.text(str(tmp_path / "in"))
    query = db.maintain(stream, into={"relation": "person", "feed": "debezium", "key": ["id"]})
    query.processAllAvailable()
    texts(spark, [envelope("d", {"id": 1}, None, 3)]).write.mode("append").text(str(tmp_path / "in"))
    query.processAllAvailable()
    assert people(db) == {(2, "bob", 1.0, 53111)}
    about = db.stats()["streams"]["person"]
    assert (about["read"], about["accepted"], about["late"]) == (3, 3, 0)


def test_wrong_descriptions_of_feeds(spark: SparkSession, db: SparkDatabase, tmp_path: Path) -> None:
    frame = texts(spark, [])
    for keys, code, message in (
        ({"feed": "debezum", "key": "id"}, "E0685", "unknown format of a feed: 'debezum'"),
        ({"feed": "debezium"}, "E0685", "a feed of debezium without 'key'"),
        ({"feed": "debezium", "key": "id", "op": "op"}, "E0685", "'op' beside 'feed'"),
        ({"feed": "delta", "mode": "append"}, "E0686", "mode 'cdc' needs"),
    ):
        with pytest.raises(UsageError, match=f"{code}.*{message}"):
            Source("person", frame=frame, **{"mode": "cdc", **keys})  # type: ignore[arg-type]
    for other, feed, message in (
        (spark.range(1), "debezium", "no op, payload or value"),
        (spark.sql("select 'c' op"), "debezium", "no before or after"),
        (spark.range(1), "kafka-compacted", "has the column 'key'"),
        (spark.range(1), "delta", "no column '_commit_version'"),
    ):
        with pytest.raises(TidelogError, match=f"E0480.*{message}"):
            ran(spark, db, other, feed)
    with pytest.raises(UsageError, match=r"E0685.*takes names of fields, found an expression"):
        ran(spark, db, frame, "debezium", columns={"name": F.lit("x")})
    with pytest.raises(UsageError, match="E0485"):
        ran(spark, db, frame, "debezium", columns={"first": "x"})
    (tmp_path / "p.toml").write_text(
        'program = "p.dl"\n[[source]]\nrelation = "e"\npath = "in"\nmode = "cdc"\nkey = ["id"]\nfeed = "debezum"\n'
    )
    with pytest.raises(UsageError, match=r"p\.toml:7: error\[E0686\]: unknown format of a feed"):
        Pipeline.from_toml(tmp_path / "p.toml")
