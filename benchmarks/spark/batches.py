"""The cost of micro-batches: small ones beside a `foreachBatch` that does nothing, large ones beside a join of
DataFrames, written by hand, that writes the same rows.

Both queries get the same files, one after the other, so that other work on the machine slows them alike. The seconds of
a batch are those of Spark's progress (`addBatch`), which end when its rows are written. CPU seconds are those of the
whole trigger, in Python and in Java.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import tidelog
from benchmarks.harness import BenchmarkError
from benchmarks.spark.pipeline import cpu_seconds
from tidelog.spark import Sink

PROGRAM = """
.decl ordered(order: number, customer: number, euros: number)
.decl customer(customer: number, region: symbol)
.decl placed(order: number, region: symbol)
placed(o, r) :- ordered(o, c, _), customer(c, r).
"""
SCHEMA = "order long, customer long, euros long"
CUSTOMERS = 10_000
FIRST = 5
"""Batches at the beginning that do not count, because Java compiles meanwhile."""


@dataclass(frozen=True)
class Batches:
    """Batches of so many `rows`: median seconds of tidelog and of the `baseline`, which does less or the same, and
    median CPU seconds of both."""

    rows: int
    tidelog: float
    baseline: float
    cpu: float
    baseline_cpu: float

    @property
    def more(self) -> float:
        """Return the seconds that a batch takes more."""
        return self.tidelog - self.baseline

    @property
    def ratio(self) -> float:
        """Return the seconds by those of the baseline."""
        return self.tidelog / self.baseline


def small(spark: SparkSession, folder: Path, batches: int) -> Batches:
    """Measure batches of ten rows beside those of a function that does nothing. Raise BenchmarkError."""
    return _measured(spark, folder, 10, batches, lambda batch, number: None, [])


def large(spark: SparkSession, folder: Path, rows: int, batches: int) -> Batches:
    """Measure batches of so many rows, whose changes are written as Parquet, beside a join. Raise BenchmarkError."""
    customers = _customers(spark).persist()

    def joined(batch: DataFrame, number: int) -> None:
        found = batch.join(customers, "customer").select("order", "region")
        found.write.mode("overwrite").parquet(f"{folder}/joined/epoch={number}")

    found = _measured(spark, folder, rows, batches, joined, [Sink("placed", folder / "placed", what="changes")])
    written = [spark.read.parquet(f"{folder}/{name}").count() for name in ("joined", "placed")]
    customers.unpersist()
    if written != [rows * (FIRST + batches)] * 2:
        raise BenchmarkError(f"the join and tidelog wrote {written} rows")
    return found


def _customers(spark: SparkSession) -> DataFrame:
    return spark.range(CUSTOMERS).select(
        F.col("id").alias("customer"), F.concat(F.lit("region "), F.col("id") % 50).alias("region")
    )


def _measured(
    spark: SparkSession,
    folder: Path,
    rows: int,
    batches: int,
    baseline: Callable[[DataFrame, int], None],
    sinks: Sequence[Sink],
) -> Batches:
    for name in ("ours", "theirs"):
        (folder / "in" / name).mkdir(parents=True)

    def stream(name: str) -> DataFrame:
        return spark.readStream.schema(SCHEMA).parquet(str(folder / "in" / name))

    with tidelog.connect(spark=spark) as db:
        db.load(PROGRAM)
        db.insert("customer", _customers(spark))
        ours = db.maintain(stream("ours"), "ordered", checkpoint=folder / "ours", sinks=sinks)
        writer = stream("theirs").writeStream.foreachBatch(baseline)
        theirs = writer.option("checkpointLocation", f"{folder}/theirs").start()
        seconds: dict[str, list[float]] = {"ours": [], "theirs": []}
        cpu: dict[str, list[float]] = {"ours": [], "theirs": []}
        for number in range(FIRST + batches):
            file = _written(spark, folder / f"new-{number}", number * rows, rows)
            for name, query in (("ours", ours), ("theirs", theirs)):
                before = cpu_seconds(spark)
                os.link(file, folder / "in" / name / f"{number}.parquet")
                query.processAllAvailable()
                cpu[name].append(cpu_seconds(spark) - before)
                seconds[name].append(_seconds(query, number))
        theirs.stop()
        if db.size("placed") != rows * (FIRST + batches):
            raise BenchmarkError(f"{db.size('placed')} rows were derived of {batches + FIRST} batches of {rows}")
    medians = [statistics.median(found[name][FIRST:]) for found in (seconds, cpu) for name in ("ours", "theirs")]
    return Batches(rows, *medians)


def _written(spark: SparkSession, folder: Path, first: int, rows: int) -> Path:
    """Write a file of orders to a new folder; return its path."""
    orders = spark.range(first, first + rows, 1, 1).select(
        F.col("id").alias("order"), (F.col("id") * 7 % CUSTOMERS).alias("customer"), (F.col("id") % 1000).alias("euros")
    )
    orders.write.parquet(str(folder))
    [file] = folder.glob("*.parquet")
    return file


def _seconds(query: StreamingQuery, number: int) -> float:
    progress = [json.loads(each.json) for each in query.recentProgress]
    return float(max(each["durationMs"].get("addBatch", 0) for each in progress if each["batchId"] == number)) / 1000


HEAD = f"{'rows':>10}{'tidelog':>10}{'baseline':>10}{'more':>10}{'ratio':>8}{'CPU':>10}{'baseline':>10}"


def line(found: Batches) -> str:
    """Return a line of the table; seconds of a batch."""
    times = f"{found.tidelog:>10.3f}{found.baseline:>10.3f}{found.more:>10.3f}{found.ratio:>8.2f}"
    return f"{found.rows:>10,}{times}{found.cpu:>10.3f}{found.baseline_cpu:>10.3f}"
