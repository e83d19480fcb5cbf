"""Metrics of a database over Spark, as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from pyspark.sql import SparkSession

import tidelog
from tidelog.spark import Pipeline, Source
from tidelog.spark.metrics import DatabaseMetrics

PROGRAM = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(y, z).
"""


def scraped(registry: CollectorRegistry) -> dict[str, float]:
    """The samples in the text that Prometheus gets."""
    lines = generate_latest(registry).decode().splitlines()
    pairs = [line.rsplit(" ", 1) for line in lines if line and not line.startswith("#")]
    return {name: float(value) for name, value in pairs}


@pytest.mark.smoke
def test_epochs_streams_and_pipelines_are_counted(
    spark: SparkSession, tmp_path: Path, put: Callable[[str, str], Path]
) -> None:
    put("1.csv", "1,2\n2,3\n3,\n")
    put("2.csv", "5,6\n")
    stream = spark.readStream.schema("x long, y long").option("maxFilesPerTrigger", 1).csv(str(tmp_path / "in"))
    registry = CollectorRegistry()
    with tidelog.connect(spark=spark) as db:
        registry.register(DatabaseMetrics(db, "edges"))
        assert scraped(registry) == {}
        db.load(PROGRAM)
        db.maintain(stream, into="e", name="s", quarantine=tmp_path / "bad").processAllAvailable()
        rows = spark.createDataFrame([("7", "8"), ("8", "x")], "x string, y string")
        with Pipeline(PROGRAM, [Source("e", frame=rows, mode="append")]).run(spark, db):
            pass
        found = scraped(registry)
        assert found.pop('tidelog_stream_seconds_total{database="edges",stream="s"}') > 0
        assert found.pop('tidelog_last_epoch_timestamp_seconds{database="edges"}') > 0
        phases = ("facts", "store", "evaluate", "deliver")
        assert all(found.pop(f'tidelog_epoch_seconds_total{{database="edges",phase="{each}"}}') >= 0 for each in phases)
        assert found == {
            'tidelog_epochs_total{database="edges"}': 4,
            'tidelog_changed_tuples_total{database="edges"}': 5,
            'tidelog_stream_batches_total{database="edges",stream="s"}': 2,
            'tidelog_stream_rows_total{database="edges",outcome="accepted",stream="s"}': 3,
            'tidelog_stream_rows_total{database="edges",outcome="quarantined",stream="s"}': 1,
            'tidelog_stream_rows_total{database="edges",outcome="late",stream="s"}': 0,
            'tidelog_pipeline_runs_total{database="edges"}': 1,
            'tidelog_pipeline_rows_total{database="edges",outcome="accepted"}': 1,
            'tidelog_pipeline_rows_total{database="edges",outcome="quarantined"}': 1,
            'tidelog_pipeline_rows_total{database="edges",outcome="late"}': 0,
            'tidelog_last_epoch{database="edges"}': 4,
            'tidelog_relation_rows{database="edges",relation="e"}': 4,
            'tidelog_relation_rows{database="edges",relation="t"}': 5,
        }
