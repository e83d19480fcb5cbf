"""Metrics of databases over Spark for Prometheus, by the package prometheus_client (the extra `metrics`).

`DatabaseMetrics` adds up the records of a database (`jobs.Records`). A scrape reads these sums: it waits for no commit,
and starts no Spark job.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

from tidelog.errors import Problem, SetupError, how_to_install
from tidelog.spark.database import SparkDatabase
from tidelog.spark.jobs import RecordFields

try:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
except ImportError:
    message = "tidelog.spark.metrics needs prometheus_client, which is not installed"
    raise SetupError(Problem("E0790", message, hint=how_to_install("metrics"))) from None

_COUNTERS = {
    "tidelog_epochs": ("Epochs of the database.", ("database",)),
    "tidelog_epoch_seconds": ("Seconds that epochs took, by phase.", ("database", "phase")),
    "tidelog_changed_tuples": ("Derived tuples that epochs inserted or deleted.", ("database",)),
    "tidelog_stream_batches": ("Micro-batches of streams.", ("database", "stream")),
    "tidelog_stream_rows": ("Rows of streams, by what became of them.", ("database", "stream", "outcome")),
    "tidelog_stream_seconds": ("Seconds that micro-batches took.", ("database", "stream")),
    "tidelog_pipeline_runs": ("Runs of pipelines.", ("database",)),
    "tidelog_pipeline_rows": ("Rows of pipelines, by what became of them.", ("database", "outcome")),
}
_GAUGES = {
    "tidelog_last_epoch": ("Number of the last epoch.", ("database",)),
    "tidelog_last_epoch_timestamp_seconds": ("When the last epoch was committed.", ("database",)),
    "tidelog_relation_rows": ("Rows of a relation after the last epoch.", ("database", "relation")),
}
_OUTCOMES = ("accepted", "quarantined", "late")
"""The outcomes of rows; late ones are accepted, too."""


class DatabaseMetrics:
    """A collector of the metrics of a database, from its next epoch on: `registry.register(DatabaseMetrics(db))`. The
    label `database` has the name."""

    def __init__(self, database: SparkDatabase, name: str = "tidelog") -> None:
        self._database = database
        self._name = name
        self._lock = threading.Lock()
        self._sums: dict[tuple[str, tuple[str, ...]], float] = {}
        database.records.watchers.append(self._note)

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics, for a registry of prometheus_client."""
        with self._lock:
            sums = dict(self._sums)
        families: tuple[tuple[Any, dict[str, tuple[str, tuple[str, ...]]]], ...]
        families = ((CounterMetricFamily, _COUNTERS), (GaugeMetricFamily, _GAUGES))
        for kind, known in families:
            for metric, (text, labels) in known.items():
                family = kind(metric, text, labels=labels)
                for (own, values), value in sums.items():
                    if own == metric:
                        family.add_metric([self._name, *values], value)
                yield family

    def _note(self, fields: RecordFields) -> None:
        """Add a record to the sums, by the thread that has made the epoch."""
        database, seconds = self._database, fields["seconds"]
        event, stream = fields["event"], fields.get("stream", "")
        relations = database.workspace.committed.checked.relations if event in ("epoch", "open") else ()
        sizes = {name: database.size(name) for name in relations}
        with self._lock:
            if event == "batch":
                self._add("tidelog_stream_batches", 1, stream)
                self._add("tidelog_stream_seconds", seconds["total"], stream)
                for outcome in _OUTCOMES:
                    self._add("tidelog_stream_rows", fields[outcome], stream, outcome)
            elif event == "run":
                self._add("tidelog_pipeline_runs", 1)
                for outcome in _OUTCOMES:
                    self._add("tidelog_pipeline_rows", fields[outcome], outcome)
            else:
                if event == "epoch":
                    self._add("tidelog_epochs", 1)
                    self._add("tidelog_changed_tuples", fields["changed"])
                    for phase in seconds.keys() - {"total"}:
                        self._add("tidelog_epoch_seconds", seconds[phase], phase)
                self._sums = {key: value for key, value in self._sums.items() if key[0] != "tidelog_relation_rows"}
                for name, rows in sizes.items():
                    self._sums["tidelog_relation_rows", (name,)] = rows
                self._sums["tidelog_last_epoch", ()] = fields["epoch"]
                self._sums["tidelog_last_epoch_timestamp_seconds", ()] = time.time()

    def _add(self, metric: str, value: float, *labels: str) -> None:
        self._sums[metric, labels] = self._sums.get((metric, labels), 0) + value
