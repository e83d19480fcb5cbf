"""The pipeline: CSV with bad lines through checks, quarantine and dictionary into the embedded engine."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.harness import BenchmarkError, peak
from tidelog.spark import Pipeline, Sink, Source

PROGRAM = """
.decl transfer(payer: symbol, payee: symbol, day: number, euros: float)
.decl known(payer: symbol)
.decl total(payer: symbol, n: number)
known(p) :- transfer(p, _, _, _).
total(p, n) :- known(p), n = count : { transfer(p, _, _, _) }.
"""
MOST_ROWS, MOST_SECONDS, MOST_GB = 10_000_000, 180.0, 4.0


@dataclass(frozen=True)
class Through:
    """A run: rows read and put into quarantine, seconds in all and by stage, CPU seconds of Python and Java, and the
    most memory of the driver's Python."""

    rows: int
    quarantined: int
    symbols: int
    views: int
    seconds: float
    cpu: float
    stages: Mapping[str, float]
    peak: int


def written(path: Path, rows: int) -> int:
    """Write a CSV file of `rows` lines, one in a hundred of them bad, and a tenth as many accounts; return the number
    of bad lines."""
    rng = random.Random(1)
    accounts = max(1, rows // 10)
    with path.open("w", encoding="utf-8") as file:
        file.write("payer,payee,day,euros\n")
        for i in range(rows):
            payer, payee = rng.randrange(accounts), rng.randrange(accounts)
            match i % 200:
                case 7:
                    file.write(f"acc{payer},acc{payee},never,1.5\n")
                case 107:
                    file.write(f"acc{payer},acc{payee}\n")
                case _:
                    file.write(f"acc{payer},acc{payee},{i % 365},{rng.randrange(100_000) / 100}\n")
    return sum(1 for i in range(rows) if i % 200 in (7, 107))


def through(spark: SparkSession, folder: Path, rows: int) -> Through:
    """Run once over `rows` lines. Raise BenchmarkError if the counts do not add up."""
    file = folder / f"transfers-{rows}.csv"
    bad = written(file, rows)
    pipeline = Pipeline(
        PROGRAM,
        [Source("transfer", file, options={"header": True})],
        [Sink("total", folder / "total")],
        quarantine=folder / "bad",
        engine="embedded",
    )
    started, cpu = time.perf_counter(), cpu_seconds(spark)
    with pipeline.run(spark) as result:
        seconds, cpu = time.perf_counter() - started, cpu_seconds(spark) - cpu
        count = result.counts["transfer"]
        if (count.read, count.accepted, count.quarantined) != (rows, rows - bad, bad):
            raise BenchmarkError(f"{rows} rows, {bad} of them bad, were counted as {count}")
        symbols, views = len(result.database.dictionary), result.database.size("total")
    file.unlink()
    return Through(rows, bad, symbols, views, seconds, cpu, result.seconds, peak())


def cpu_seconds(spark: SparkSession) -> float:
    """Return CPU seconds of the driver's Python and of its Java, which does the work of local executors too."""
    gateway: Any = spark.sparkContext._gateway
    times = Path(f"/proc/{gateway.proc.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return time.process_time() + sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


HEAD = f"{'rows':>12}{'bad':>10}{'symbols':>10}{'seconds':>9}{'CPU':>8}   stages, peak of the driver's Python"


def line(found: Through) -> str:
    """Return a line of the table."""
    stages = ", ".join(f"{name} {seconds:.1f}" for name, seconds in found.stages.items())
    return (
        f"{found.rows:>12,}{found.quarantined:>10,}{found.symbols:>10,}{found.seconds:>9.1f}{found.cpu:>8.1f}   "
        f"{stages}; "
        f"{found.peak / 1e9:.2f} GB"
    )
