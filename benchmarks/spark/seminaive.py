"""The yardsticks: transitive closure by what Spark itself offers.

`dataframes` is semi-naive evaluation with joins and anti-joins, its lineage cut in every iteration; `recursive_query`
is `WITH RECURSIVE`, which has UNION ALL only and so lists ways and not pairs. Both stop after a number of seconds.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Yardstick:
    """Pairs found, rounds and seconds; `finished` is False where the time was up before the end."""

    pairs: int
    rounds: int
    seconds: float
    finished: bool

    def __str__(self) -> str:
        end = f"{self.pairs:,} pairs" if self.finished else "not finished"
        return f"{self.seconds:.1f} s, {self.rounds} rounds, {end}"


def dataframes(edges: DataFrame, limit: float) -> Yardstick:
    """Semi-naive evaluation of the closure of the frame `edges` (x, y), for at most `limit` seconds."""
    started = time.perf_counter()
    edges = edges.toDF("x", "y").distinct().localCheckpoint()
    steps = edges.toDF("y", "z")
    total, delta = edges, edges
    rounds = 0
    while time.perf_counter() - started < limit:
        rounds += 1
        found = delta.join(steps, "y").select("x", "z").distinct().toDF("x", "y")
        delta = found.join(total, ["x", "y"], "left_anti").localCheckpoint()
        if delta.isEmpty():
            return Yardstick(total.count(), rounds, time.perf_counter() - started, True)
        total = total.unionAll(delta).localCheckpoint()
    return Yardstick(0, rounds, time.perf_counter() - started, False)


def recursive_query(session: SparkSession, edges: DataFrame, limit: float) -> Yardstick:
    """Spark's recursive query over the frame `edges` (x, y), cancelled after `limit` seconds."""
    edges.toDF("x", "y").createOrReplaceTempView("edges")
    query = """
        WITH RECURSIVE t(x, y) AS (
            SELECT x, y FROM edges UNION ALL SELECT t.x, edges.y FROM t JOIN edges ON t.y = edges.x
        ) SELECT count(*) FROM (SELECT DISTINCT x, y FROM t)
    """
    context = session.sparkContext
    started = time.perf_counter()
    timer = threading.Timer(limit, context.cancelAllJobs)
    timer.start()
    try:
        (row,) = session.sql(query).collect()
        return Yardstick(int(row[0]), 1, time.perf_counter() - started, True)
    except Exception:  # cancelled, or too many rows or levels for Spark's own limits
        return Yardstick(0, 1, time.perf_counter() - started, False)
    finally:
        timer.cancel()
        session.catalog.dropTempView("edges")
