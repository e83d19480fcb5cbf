"""Feeds of events: late ones change nothing, whichever batch, stream or process brings them; keys replace facts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

import tidelog
from tests.depth import stride
from tidelog.errors import DataError, TidelogError, UsageError
from tidelog.spark import Counts, Pipeline, Source, SparkDatabase, pending
from tidelog.spark.pending import is_later
from tidelog.spark.sources.orders import form_of, order_leaves
from tidelog.store import state as state_folders

ENGINES = ("embedded", "cluster")
PROGRAM = """
.decl e(x: number, y: symbol)
.decl of(x: number, n: number)
o: of(x, n) :- e(x, _), n = count : { e(x, _) }.
"""
SCHEMA = "op string, x long, y string, at long"
Event = tuple[str, int, str, int]
"""The operation (I or D), the columns of `e`, and the order."""


def rows(frame: DataFrame) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in frame.collect()}


def opened(spark: SparkSession, engine: str, program: str = PROGRAM, **more: Any) -> SparkDatabase:
    db = tidelog.connect(spark=spark, **more)
    db.options(engine=engine)
    if not db.relations:
        db.load(program)
    return db


def feed(
    spark: SparkSession, db: SparkDatabase, events: Sequence[tuple[Any, ...]], schema: str = SCHEMA, **more: Any
) -> tuple[Counts, list[str]]:
    """Run a pipeline over a batch of events; return the counts and the reasons of bad rows."""
    keys: dict[str, Any] = {"mode": "cdc", "op": "op", "insert": ["I"], "delete": ["D"], "order": "at", **more}
    source = Source("e", frame=spark.createDataFrame(list(events), schema), **keys)
    result = Pipeline(PROGRAM, [source]).run(spark, db)
    counts = result.counts["e"]
    assert counts.read == counts.accepted + counts.quarantined
    return counts, sorted(row.reason for row in result.quarantine.collect())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_late_event_changes_nothing(spark: SparkSession, engine: str) -> None:
    with opened(spark, engine) as db:
        counts, _ = feed(spark, db, [("I", 1, "a", 10), ("D", 2, "b", 10), ("I", 3, "c", 10), ("I", 3, "c", 9)])
        assert counts == Counts(4, 4, 0, 1, 0)
        assert rows(db["e"]) == {(1, "a"), (3, "c")}
        late = [("D", 1, "a", 9), ("I", 2, "b", 9), ("D", 3, "c", 11), ("D", 3, "c", 2), ("I", 1, "a", 8)]
        counts, _ = feed(spark, db, late)
        assert counts == Counts(5, 5, 0, 2, 3)
        assert rows(db["e"]) == {(1, "a")}
        assert rows(db["of"]) == {(1, 1)}
        assert rows(db["e.latest"]) == {(1, "a", 10, 1), (2, "b", 10, 0), (3, "c", 11, 0)}
        # At one time an insertion counts, in one batch as in two. A redelivered event changes nothing.
        counts, _ = feed(spark, db, [("I", 2, "b", 10), ("D", 1, "a", 10), ("D", 3, "c", 11)])
        assert counts == Counts(3, 3, 0, 0, 2)
        assert rows(db["e"]) == {(1, "a"), (2, "b")}


@pytest.mark.parametrize("engine", [*ENGINES, "cluster, by joins"])
def test_an_update_replaces_the_row_of_its_key(
    spark: SparkSession, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, _, way = engine.partition(", ")
    if way:
        monkeypatch.setattr(pending, "FEW_KEYS", 1)
    key: dict[str, Any] = {"key": ["x"]}
    with opened(spark, engine) as db:
        db.insert("e", [(1, "old"), (1, "older"), (9, "other")])
        counts, _ = feed(spark, db, [("I", 1, "a", 1), ("I", 1, "b", 3), ("I", 2, "c", 3), ("I", 1, "z", 2)], **key)
        assert counts == Counts(4, 4, 0, 2, 0)
        assert rows(db["e"]) == {(1, "b"), (2, "c"), (9, "other")}
        counts, _ = feed(spark, db, [("I", 1, "late", 2), ("D", 2, None, 4), ("D", 9, None, 1)], **key)
        assert (counts, rows(db["e"])) == (Counts(3, 3, 0, 0, 1), {(1, "b")})
        counts, _ = feed(spark, db, [("I", 2, "late", 3), ("I", 9, "again", 2)], **key)
        assert (counts, rows(db["e"])) == (Counts(2, 2, 0, 0, 1), {(1, "b"), (9, "again")})
        assert rows(db["of"]) == {(1, 1), (9, 1)}
        assert rows(db["e.latest"].drop("?tie1")) == {(1, 3, 1), (2, 4, 0), (9, 2, 1)}


def test_few_keys_with_many_facts_are_joined(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "_MOST", 1)
    with opened(spark, "cluster") as db:
        db.insert("e", [(1, "old"), (1, "older"), (9, "other")])
        db.commit()
        counts, _ = feed(spark, db, [("I", 1, "a", 1), ("I", 1, "b", 3), ("I", 2, "c", 3)], key=["x"])
        assert (counts, rows(db["e"])) == (Counts(3, 3, 0, 1, 0), {(1, "b"), (2, "c"), (9, "other")})


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_between_which_nothing_decides_go_to_the_quarantine(spark: SparkSession, engine: str) -> None:
    with opened(spark, engine) as db:
        batch = [("I", 1, "a", 1), ("I", 1, "b", 1), ("I", 2, "c", 1), ("I", 2, "c", 1), ("D", 2, None, 1)]
        bad = [("I", None, "d", 1), ("D", None, None, 1), ("I", 4, None, 1), ("I", 5, "e", None), ("?", 6, "f", 1)]
        counts, reasons = feed(spark, db, [*batch, *bad], key="x")
        another = "x: another row has this key and order"
        assert reasons == sorted([another, "x: null", "x: null", "y: null", "at: null", "op: unknown operation"])
        assert (counts.accepted, counts.duplicates) == (4, 2)
        assert {x for x, _ in rows(db["e"])} == {1, 2}
        reasons = feed(spark, db, [("I", 1, "a", 1), ("I", 1, "b", 2), ("D", 2, None, 0)], key="x", order=None)[1]
        assert reasons == ["x: another row has this key"] * 2
        assert {x for x, _ in rows(db["e"])} == {1}  # without an order no event is late


@pytest.mark.parametrize("engine", [*ENGINES, "cluster, by joins"])
def test_batches_do_not_decide_between_insertions_of_one_place(
    spark: SparkSession, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, _, way = engine.partition(", ")
    if way:
        monkeypatch.setattr(pending, "FEW_KEYS", 1)
    one: list[tuple[Any, ...]] = [("I", x, "one", 1) for x in range(6)]
    other: list[tuple[Any, ...]] = [("I", x, f"other {x}", 1) for x in range(6)]
    gone: list[tuple[Any, ...]] = [("D", x, None, 1) for x in range(6)]
    found = []
    runs: list[list[list[tuple[Any, ...]]]] = [
        [[*one, *other, *gone]],
        [one, gone, other],
        [other, one],
        [gone, other, one, other],
    ]
    for batches in runs:
        with opened(spark, engine) as db:
            for batch in batches:
                reasons = feed(spark, db, batch, key="x")[1]
                assert reasons == (["x: another row has this key and order"] * 6 if len(batches) == 1 else [])
            found.append(rows(db["e"]))
    assert found == [found[0]] * 4
    assert {y.partition(" ")[0] for _, y in found[0]} == {"one", "other"}


class History:
    """A slow reference: the latest event of each key."""

    def __init__(self, key: int) -> None:
        self.key = key
        self.latest: dict[tuple[Any, ...], tuple[int, bool, tuple[Any, ...]]] = {}

    def take(self, events: Sequence[Event]) -> int:
        """Take a batch; return how many rows are about keys of which it has no newer event."""
        newest: dict[tuple[Any, ...], tuple[int, bool, tuple[Any, ...]]] = {}
        sizes: dict[tuple[Any, ...], int] = {}
        for op, x, y, at in events:
            row = (x, y)
            key = row[: self.key]
            sizes[key] = sizes.get(key, 0) + 1
            if key not in newest or newest[key][:2] < (at, op == "I"):
                newest[key] = at, op == "I", row
        late = 0
        for key, event in newest.items():
            if key in self.latest and self.latest[key][:2] >= event[:2]:
                late += sizes[key]
            else:
                self.latest[key] = event
        return late

    @property
    def facts(self) -> set[tuple[Any, ...]]:
        return {row for _, asserts, row in self.latest.values() if asserts}


@pytest.mark.parametrize("key", [None, ["x"]])
@pytest.mark.parametrize("seed", range(0, 4, stride(4)))
def test_random_histories_in_any_order_twice_and_with_restarts(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: list[str] | None, seed: int
) -> None:
    """The reference takes the same batches, and at the end the state is that of all events in their order."""
    monkeypatch.setattr(pending, "FEW_KEYS", 2_000 if key else 5)  # by the driver, and by joins
    monkeypatch.setattr(state_folders, "MOST_SEGMENTS", 2)  # Facts and latest events are gathered meanwhile.
    rng = random.Random(f"{key} {seed}")
    engines = rng.sample([*ENGINES, "embedded"], 3)
    history: list[Event] = [
        (rng.choice("IID"), rng.randrange(6), rng.choice("ab"), at) for at in rng.sample(range(-50, 150), 60)
    ]
    deliveries = [*history, *rng.sample(history, 20)]
    rng.shuffle(deliveries)
    batches = [deliveries[i : i + 20] for i in range(0, len(deliveries), 20)]
    reference, late = History(1 if key else 2), 0
    db = opened(spark, engines[0], state=tmp_path / "state")
    try:
        for number, batch in enumerate(batches):
            expected = reference.take(batch)
            kinds = (SCHEMA, "op string, x long, y string, at string", "op string, x int, y string, at decimal(9,2)")
            if number % 3 == 2:
                batch = [(op, x, y, Decimal(at)) for op, x, y, at in batch]  # type: ignore[misc]
            elif number % 3 == 1:
                batch = [(op, x, y, str(at)) for op, x, y, at in batch]  # type: ignore[misc]
            counts, _ = feed(spark, db, batch, kinds[number % 3], key=key)
            assert (counts.late, counts.quarantined) == (expected, 0)
            late += counts.late
            assert rows(db["e"]) == reference.facts
            if number < 2:
                db.close()
                db = opened(spark, engines[number + 1], state=tmp_path / "state")
        whole = History(1 if key else 2)
        whole.take(history)
        assert rows(db["e"]) == whole.facts
        assert late > 0
        assert db.stats()["relations"]["e.latest"] == len(whole.latest)
    finally:
        db.close()


def test_an_epoch_that_fails_leaves_no_order_behind(spark: SparkSession, tmp_path: Path) -> None:
    with opened(spark, "embedded", state=tmp_path / "state") as db:
        feed(spark, db, [("I", 1, "a", 1)])
        db.options(max_rows=1)
        with pytest.raises(TidelogError, match="E0502"):
            feed(spark, db, [("I", number, "b", 5) for number in range(9)])
        db.options(max_rows=None)
        feed(spark, db, [("I", 2, "b", 2)])
        assert rows(db["e"]) == {(1, "a"), (2, "b")}
        with db.transaction(dry_run=True) as trial:
            db.insert("e", [(1, "z")], key="x")
        assert trial.change is not None
        assert rows(trial.change["e"].deleted) == {(1, "a")}
    with opened(spark, "embedded", state=tmp_path / "state") as db:
        assert rows(db["e.latest"]) == {(1, "a", 1, 1), (2, "b", 2, 1)}


@pytest.mark.smoke
def test_without_an_order_nothing_is_kept(spark: SparkSession) -> None:
    with opened(spark, "embedded") as db:
        feed(spark, db, [("I", 1, "a", 1), ("D", 1, "a", 2)], order=None)
        feed(spark, db, [("I", 1, "a", 1)], order=None, key="x")
        assert db.relations == ("e", "of")


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_are_inserted_and_deleted_by_key(spark: SparkSession, engine: str) -> None:
    with opened(spark, engine) as db:
        db.insert("e", spark.createDataFrame([(1, "a"), (2, "b"), (2, "c"), (3, "d")], "x long, y string"))
        db.commit()
        db.insert("e", spark.createDataFrame([(2, "new"), (2, "new"), (4, "e")], "x long, y string"), key=["x"])
        db.delete("e", [(3,)], key="x")
        assert rows(db["e"]) == {(1, "a"), (2, "b"), (2, "c"), (3, "d")}
        db.commit()
        assert rows(db["e"]) == {(1, "a"), (2, "new"), (4, "e")}
        # Changes of one epoch follow each other.
        db.insert("e", [(1, "b"), (5, "f")], key="x")
        db.insert("e", [{"x": 1, "y": "c"}], key=("x",))
        db.delete("e", spark.createDataFrame([(5,), (5,)], "x long"), key="x")
        db.insert("e", [(6, "g")])
        db.insert("e", [(6, "h")], key="x")
        db.commit()
        assert rows(db["e"]) == {(1, "c"), (2, "new"), (4, "e"), (6, "h")}
        db.insert("e", [(9, "h")], key="y")
        db.delete("e", [("e",), ("nothing",)], key="y")
        db.commit()
        assert rows(db["e"]) == {(1, "c"), (2, "new"), (9, "h")}
        assert rows(db["of"]) == {(1, 1), (2, 1), (9, 1)}


def test_wrong_keys_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    pair = spark.createDataFrame([(1, "a"), (1, "b")], "x long, y string")
    with opened(spark, "embedded") as db:
        for data in (pair, [(1, "a"), (1, "b")]):
            with pytest.raises(DataError, match=r"E0487.*x: "):
                db.insert("e", data, key="x")
        for key, code in ((["z"], "E0485"), (["x", "x"], "E0685"), ([], "E0685"), (7, "E0685"), ([7], "E0685")):
            for data in (pair, [(1, "a")]):
                with pytest.raises(UsageError, match=code):
                    db.insert("e", data, key=key)  # type: ignore[arg-type]
                with pytest.raises(UsageError, match=code):
                    db.delete("e", data, key=key)
        with pytest.raises(DataError, match="E0406"):
            db.delete("e", pair, key="x")
        with pytest.raises(DataError, match="E0403"):
            db.delete("e", spark.createDataFrame([(None,)], "x long"), key="x")
        with pytest.raises(UsageError, match="E0612"):
            db.delete("e", [(1,)], key="x", z=1)
        assert not db.workspace.facts
        with pytest.raises(UsageError, match=r"E0686.*a snapshot replaces all facts"):
            Source("e", frame=pair, key="x")
        with pytest.raises(UsageError, match=r"E0685.*'order' without 'op' or 'key'"):
            Source("e", frame=pair, mode="append", order="x")
        feed(spark, db, [("I", 1, "a", 1)], key="x")
        for wrong, message in (
            ({"key": "y"}, r"are kept by the key \(x\), found the key \(y\)"),
            ({"key": None}, r"found the key \(x, y\)"),
            ({"key": "x", "order": ["at", "x"]}, "an order of 1 columns, found one of 2"),
            ({"key": "z"}, "e has no column 'z' for a key"),
            ({"key": "x", "order": "when"}, "no column 'when'"),
        ):
            with pytest.raises(TidelogError, match=message):
                feed(spark, db, [("I", 1, "b", 2)], **wrong)
        assert rows(db["e"]) == {(1, "a")}
    other = opened(spark, "embedded", PROGRAM + ".decl e.latest(x: number)")
    with other as db, pytest.raises(UsageError, match=r"E0685.*e\.latest is declared, but not as"):
        feed(spark, db, [("I", 1, "a", 1)])


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_of_a_source_replace_those_of_their_keys(spark: SparkSession, engine: str) -> None:
    """Without operations: every row asserts, and with an order the latest one counts."""
    with opened(spark, engine) as db:

        def run(events: Sequence[tuple[int, str, int]], **more: Any) -> Counts:
            frame = spark.createDataFrame(list(events), "x long, y string, at long")
            result = Pipeline(PROGRAM, [Source("e", frame=frame, mode="append", key="x", **more)]).run(spark, db)
            return result.counts["e"]

        run([(1, "a", 0), (2, "b", 0)])
        assert run([(1, "c", 5), (1, "d", 4)], order="at") == Counts(2, 2, 0, 1, 0)
        assert run([(1, "e", 3), (3, "f", 3)], order=["at"]) == Counts(2, 2, 0, 0, 1)
        assert rows(db["e"]) == {(1, "c"), (2, "b"), (3, "f")}


def test_sources_of_one_run_know_each_other(spark: SparkSession) -> None:
    keys: dict[str, Any] = {"mode": "cdc", "op": "op", "insert": ["I"], "delete": ["D"], "order": "at", "key": ["x"]}
    one = spark.createDataFrame([("I", 1, "a", 5), ("I", 2, "b", 5), ("D", 3, None, 5)], SCHEMA)
    other = spark.createDataFrame([("I", 1, "c", 4), ("I", 2, "d", 6), ("I", 3, "e", 4)], SCHEMA)
    for engine, frames in (("embedded", (one, other)), ("cluster", (other, one))):
        with opened(spark, engine) as db:
            db.insert("e", [(3, "before")])
            Pipeline(PROGRAM, [Source("e", frame=frame, **keys) for frame in frames]).run(spark, db)
            assert rows(db["e"]) == {(1, "a"), (2, "d")}
            assert rows(db["e.latest"].drop("?tie1")) == {(1, 5, 1), (2, 6, 1), (3, 5, 0)}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_kind_of_value_is_a_key(spark: SparkSession, engine: str) -> None:
    program = """
    .type P = [a: number, b: symbol]
    .decl f(n: number, p: P, u: unsigned, r: float, s: symbol, v: P)
    """
    pair = "struct<a: long, b: string>"
    schema = f"op string, n long, p {pair}, u decimal(20,0), r double, s string, v {pair}, at timestamp"
    key = ["p", "u", "r", "s"]
    source: dict[str, Any] = {"mode": "cdc", "op": "op", "insert": ["I"], "delete": ["D"], "order": "at", "key": key}

    def at(second: float) -> datetime:
        return datetime.fromtimestamp(second, UTC)

    def event(op: str, n: int | None, second: float, p: Any = (1, "x"), s: str = "s") -> tuple[Any, ...]:
        return op, n, p, Decimal(2**64 - 1), -0.5, s, None if n is None else (n, "v"), at(second)

    with opened(spark, engine, program) as db:

        def run(*events: tuple[Any, ...]) -> set[tuple[Any, ...]]:
            frame = spark.createDataFrame(list(events), schema)
            Pipeline(program, [Source("f", frame=frame, **source)]).run(spark, db)
            return {(row.n, row.p and row.p.b, row.s, row.v.a) for row in db["f"].collect()}

        first = run(event("I", 1, 10.5), event("I", 2, 10, None), event("I", 3, -5.25, s="t"), event("I", 4, 10.499999))
        assert first == {(1, "x", "s", 1), (2, None, "s", 2), (3, "x", "t", 3)}
        second = run(event("D", None, 10.5), event("D", None, 10.000001, None), event("I", 5, -5.250001, s="t"))
        assert second == {(1, "x", "s", 1), (3, "x", "t", 3)}


def test_orders_of_all_types(spark: SparkSession) -> None:
    """The words of values that go from small to large do so, too."""
    cases: list[tuple[str, list[Any]]] = [
        ("byte", [-1, 0, 7]),
        ("long", [-(2**63), -1, 0, 2**63 - 1]),
        ("boolean", [False, True]),
        ("decimal(20,0)", [Decimal(-5), Decimal(2**62)]),
        ("decimal(12,3)", [Decimal("-1.250"), Decimal("-1.249"), Decimal("0.001")]),
        ("double", [-1.5, -1.25, 0.0, 1e-9, 1e15]),
        ("date", [date(1969, 12, 31), date(1970, 1, 1), date(2026, 1, 1)]),
        ("timestamp", [datetime(1969, 1, 1, 0, 0, 0, 1, UTC), datetime(1969, 1, 1, 0, 0, 0, 2, UTC)]),
        ("timestamp_ntz", [datetime(1969, 1, 1, 0, 0, 0, 1), datetime(2026, 1, 1)]),
        ("string", ["-1.5", "9", "10", "1e3", "2026-01-31", "2026-02-01"]),
        (
            "string",
            [
                "1969-12-31T23:59:59.999999999Z",
                "2024-01-01T10:00:00+02:00",
                "2024-01-01 08:00:00.000000001Z",
                "2024-01-01T04:00:00,5-0400",
                "2024-01-01T09:00",
                "2024-01-01T09:00:00.250z",
                "2024-01-01 10:00:01+01",
                "2024-01-02",
                " 2024-01-02T00:00:01 UTC ",
            ],
        ),
    ]
    for kind, values in cases:
        frame = spark.createDataFrame([(value,) for value in values], f"at {kind}")
        given = frame.schema["at"].dataType
        leaves = order_leaves("w", "at", F.col("at"), given, form_of("at", given))
        found = frame.select(*[leaf.value.alias(leaf.name) for leaf in leaves], *[leaf.reason for leaf in leaves])
        words = [tuple(row)[: len(leaves)] for row in found.collect() if not any(tuple(row)[len(leaves) :])]
        assert len(set(words)) == len(values), kind
        assert words == sorted(words), kind


def test_what_has_no_place_in_an_order(spark: SparkSession) -> None:
    with opened(spark, "embedded") as db:
        doubles = [1.0, float("nan"), float("inf"), 1e300, None]
        _, reasons = feed(spark, db, [("I", 1, "a", at) for at in doubles], "op string, x long, y string, at double")
        assert reasons == ["at: NaN", "at: null", "at: out of range", "at: out of range"]
        # Further feeds have the order of the first one.
        texts = [("I", 1, "a", at) for at in ("soon", "9" * 30, "")]
        _, reasons = feed(spark, db, texts, "op string, x long, y string, at string")
        assert reasons == ["at: neither a number nor an ISO time; order by a column of numbers or timestamps"] * 2 + [
            "at: out of range"
        ]
        assert rows(db["e"]) == {(1, "a")}
    with opened(spark, "embedded") as db:
        feed(spark, db, [("I", 1, "a", 1)])
        _, reasons = feed(spark, db, [("D", 1, "a", 1.5)], "op string, x long, y string, at double")
        assert reasons == ["at: not a whole number"]
    for kind in (T.ArrayType(T.LongType()), T.BinaryType(), T.StructType([T.StructField("a", T.LongType())])):
        schema = f"op string, x long, y string, at {kind.simpleString()}"
        with (
            opened(spark, "embedded") as db,
            pytest.raises(DataError, match=r"E0481.*expected numbers or times"),
        ):
            feed(spark, db, [], schema)


def test_a_relation_without_columns_has_events_too(spark: SparkSession) -> None:
    for engine in ENGINES:
        with opened(spark, engine, ".decl alarm()") as db:
            for op, at, there in (("I", 5, 1), ("D", 4, 1), ("D", 6, 0)):
                frame = spark.createDataFrame([(op, at)], "op string, at long")
                source = Source("alarm", frame=frame, mode="cdc", op="op", insert="I", delete="D", order="at")
                Pipeline(".decl alarm()", [source]).run(spark, db)
                assert db["alarm"].count() == there


def test_later_compares_from_left_to_right() -> None:
    rng = random.Random(5)
    pool = [(rng.randrange(2), rng.randrange(-3, 3), rng.randrange(-1, 2)) for _ in range(40)]
    ones, others = pool[:20], pool[20:]
    expected = [one > other for one, other in zip(ones, others, strict=True)]
    assert is_later(np.array(ones, np.int64), np.array(others, np.int64)).tolist() == expected
    assert set(expected) == {True, False}
