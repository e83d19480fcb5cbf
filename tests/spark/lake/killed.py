"""A driver that is killed (SIGKILL) while it writes: each table is the old one or the new one."""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.spark.lake.components import Postgres, lake_session
from tidelog.spark import Sink
from tidelog.spark.sinks.targets import EpochOutput, targets_of, write

ROWS = 2000
MOMENTS = 2


def sinks(folder: Path, options: dict[str, Any]) -> list[Sink]:
    return [
        Sink("v", folder / "delta", format="delta"),
        Sink("v", table="killed", format="delta", mode="merge"),
        Sink("v", table="ice.db.killed"),
        Sink("v", folder / "parquet"),
        Sink("v", table="killed", format="jdbc", options=options),
        Sink("v", table="merged", format="jdbc", options=options, mode="merge"),
    ]


def drive(folder: Path, port: int) -> None:
    """Write one version after the other, all rows of which have its number, until somebody ends it."""
    spark = lake_session(folder)
    spark.sql("create namespace if not exists ice.db")
    # The session's catalog is in memory: another session finds the table at its place.
    spark.sql(f"create table killed (x bigint, version bigint) using delta location '{folder}/merged'")
    schema = spark.range(0).withColumn("version", F.col("id")).toDF("x", "version").schema
    for version in range(1, 1000):
        rows = spark.range(ROWS).select(F.col("id").alias("x"), F.lit(version).cast("long").alias("version"))
        for target in targets_of(spark, sinks(folder, Postgres(Path(), port).options), lambda name: schema, []):
            write(target, EpochOutput(version, lambda: rows, lambda: rows, lambda: rows), whole=True)  # noqa: B023
        sys.stdout.write(f"written {version}\n")
        sys.stdout.flush()


def test_a_driver_is_killed_at_random_moments(spark: SparkSession, tmp_path: Path, postgres: Postgres) -> None:
    seed = random.randrange(1 << 32)
    moments = random.Random(seed)
    seen = set()
    for attempt in range(MOMENTS):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        code = f"from tests.spark.lake.killed import *; drive(Path({str(folder)!r}), {postgres.port})"
        with (folder / "errors").open("w") as errors:  # Java keeps it open until it notices, a minute later
            command = [sys.executable, "-c", code]
            driver = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, start_new_session=True)
            assert driver.stdout is not None
            for version in range(1, attempt + 2):  # The second driver is killed after its second version.
                line = driver.stdout.readline()
                assert line == f"written {version}\n".encode(), (folder / "errors").read_text()[-3000:]
            select.select([], [], [], moments.uniform(0, 6))
            os.killpg(driver.pid, signal.SIGKILL)  # Java with it
            driver.communicate()
            with suppress(ProcessLookupError):
                os.killpg(driver.pid, signal.SIGKILL)
        found = {
            "delta": spark.read.format("delta").load(str(folder / "delta")),
            "merged": spark.read.format("delta").load(str(folder / "merged")),
            "iceberg": spark.read.format("iceberg").load(str(folder / "ice/db/killed")),
            "parquet": spark.read.parquet(str(folder / "parquet")),
        }
        versions: dict[str, set[tuple[str, ...]]] = {
            name: {tuple(map(str, row)) for row in frame.groupBy("version").count().collect()}
            for name, frame in found.items()
        }
        for name in ("killed", "merged"):
            versions[f"postgres {name}"] = postgres.ask(f"select version, count(*) from {name} group by version")
            postgres.ask(f"drop table {name}")
        for name, rows in versions.items():
            assert [count for _, count in rows] == [str(ROWS)], (seed, attempt, name, rows)
        seen |= {version for rows in versions.values() for version, _ in rows}
    assert seen - {"1"}, f"seed {seed}: no second version was ever written"
