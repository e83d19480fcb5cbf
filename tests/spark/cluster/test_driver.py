"""The driver gets numbers and places from a session, whatever the number of facts and of derived rows."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import tidelog
from tidelog.spark.cluster import manifest
from tidelog.spark.frames import symbols
from tidelog.storage.dictionary import at_hand

PROGRAM = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl n(x: number, n: number)
t(x, z) :- e(x, y), e(y, z).
n(x, n) :- t(x, _), n = count : { t(x, _) }.
"""


class Collected:
    """The results that Spark has brought to the driver, as their numbers of rows and bytes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, frames: type[DataFrame]) -> None:
        self.rows = self.bytes = 0
        for name, count in (("collect", len), ("toArrow", lambda table: table.num_rows)):
            monkeypatch.setattr(frames, name, self.counting(getattr(frames, name), count))

    def counting(self, method: Callable[[Any], Any], count: Callable[[Any], int]) -> Callable[[Any], Any]:
        def counted(frame: Any) -> Any:
            found = method(frame)
            self.rows += count(found)
            self.bytes += len(pickle.dumps(found))
            return found

        return counted


def collected(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, facts: int, kind: str) -> tuple[int, int]:
    """Return the rows and bytes collected while facts come, go and move, and views are counted."""
    with monkeypatch.context() as patches, tidelog.connect(spark=spark) as db:
        found = Collected(patches, type(spark.range(1)))
        patches.setattr(manifest, "_MANY_UNSAVED", 1)  # Partitions save themselves, however few rows there are.
        patches.setattr(symbols, "FEW_SYMBOLS", 100)
        db.options(engine="cluster")
        db.load(PROGRAM.replace("x: number", f"x: {kind}").replace("y: number", f"y: {kind}"))
        value = "{}" if kind == "number" else "concat('an instance of something: ', {})"
        pair = f"{value.format('id')} x", f"{value.format('id + 1')} y"
        db.insert("e", spark.range(facts).selectExpr(*pair))
        db.commit()
        db.delete("e", spark.range(facts // 2).selectExpr("2 * id id").selectExpr(*pair))
        db.options(partitions=3)
        change = db.commit()
        assert change.report.engine == "cluster"
        assert db["t"].count() == 0
        assert change["t"].deleted.count() == facts - 1
        known = db.workspace.dictionary
        assert len(known) == (facts + 1 if kind == "symbol" else 0)
        assert not len(at_hand(known, 0, len(known)))
        return found.rows, found.bytes


@pytest.mark.parametrize("kind", ["number", "symbol"])
def test_neither_facts_nor_views_come_to_the_driver(
    kind: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not the texts of symbols, if they are many."""
    few = collected(spark, monkeypatch, 20_000, kind)
    many = collected(spark, monkeypatch, 80_000, kind)
    assert few[0] == many[0]
    assert many[1] < 1.1 * few[1]
