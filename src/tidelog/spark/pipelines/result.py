"""The result of a run of a pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import Any

from pyspark.sql import DataFrame

from tidelog.errors import Problem, UsageError, quote
from tidelog.spark.change import SparkChange
from tidelog.spark.database import SparkDatabase
from tidelog.spark.sources.facts import Counts


@dataclass(frozen=True)
class FileCounts:
    """The numbers of files of a snapshot that a run has `read`, and that it has not, because they are `unchanged`."""

    read: int
    unchanged: int


@dataclass(frozen=True)
class Result(Mapping[str, DataFrame]):
    """The result of a run: its views as DataFrames by name.

    `counts` says for each relation that was read what became of its rows, `quarantine` holds the bad ones (relation,
    reason, row as JSON, source file), `change` is what the run changed, `written` where sinks and quarantine are,
    `notes` are sentences about columns that nothing reads or fills, `seconds` the time of each stage. `files` says of
    snapshots with files how many of these were read. `database` is what the run has worked on, for queries; `close`, or
    the end of a `with` block, closes it if the run has opened it.
    """

    names: tuple[str, ...]
    counts: Mapping[str, Counts]
    quarantine: DataFrame = field(repr=False)
    change: SparkChange
    written: Mapping[str, int]
    seconds: Mapping[str, float]
    database: SparkDatabase = field(repr=False)
    opened: bool = field(repr=False)
    notes: tuple[str, ...] = ()
    files: Mapping[str, FileCounts] = field(default_factory=dict)

    def __getitem__(self, name: str) -> DataFrame:
        if name not in self.names:
            known = ", ".join(self.names) or "none"
            raise UsageError(Problem("E0601", f"unknown view {quote(name)}", hint=f"use one of: {known}"))
        return self.database[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def to_dict(self) -> dict[str, Any]:
        """Return counts, output, seconds, the report and the sizes of the database, as JSON has them."""
        report = self.change.report
        return {
            "epoch": self.change.epoch,
            "engine": report.engine,
            "switched": report.switched,
            "counts": {name: asdict(count) for name, count in self.counts.items()},
            "files": {name: asdict(count) for name, count in self.files.items()},
            "written": dict(self.written),
            "notes": list(self.notes),
            "seconds": dict(self.seconds),
            "report": report.to_dict(),
            "sizes": self.database.stats(),
        }

    def close(self) -> None:
        """Close the database, if the run has opened it."""
        if self.opened:
            self.database.close()

    def __enter__(self) -> Result:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
