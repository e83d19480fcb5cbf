"""The change of a committed epoch of a SparkDatabase: a `SparkChange` of data frames, and a report that names the
engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from tidelog.common.arrays import Words
from tidelog.limits.interrupts import foreign_code
from tidelog.maintain.protocol import Prospect, Report, RowChange
from tidelog.spark.cluster.engine import ClusterChanges
from tidelog.spark.rows import Rows
from tidelog.workspace.objects import Uncopied


@dataclass(frozen=True)
class SparkReport(Report):
    """A Report, the `engine` that did the work ("embedded" or "cluster"), and why it is another one than before, or has
    another number of partitions, None where it is not so; `seconds` are those of the whole commit."""

    engine: str = "embedded"
    switched: str | None = None


@dataclass(frozen=True)
class SparkRelationChange:
    """The exact net change of one relation in one epoch, as data frames."""

    inserted: DataFrame
    deleted: DataFrame


class _Frames(Uncopied):
    """The changes of an epoch as data frames; `epoch` is its number."""

    instead = "copy the rows of its frames, for example by toPandas()"

    def __init__(
        self, epoch: int, changes: Mapping[str, RowChange[Rows]], frame: Callable[[str, Rows | None], DataFrame]
    ) -> None:
        self.epoch = epoch
        self._changes = changes
        self._frame = frame
        self._frames: dict[str, SparkRelationChange] = {}

    def __getitem__(self, name: str) -> SparkRelationChange:
        """Return the change of a relation, empty if nothing changed. Raise UsageError (E0601) if there is no such
        relation."""
        if not isinstance(name, str) or name not in self._frames:
            change = self._changes.get(name) if name in self else None
            with foreign_code():
                inserted = self._frame(name, None if change is None else change.inserted)
                deleted = self._frame(name, None if change is None else change.deleted)
                self._frames[name] = SparkRelationChange(inserted, deleted)
        return self._frames[name]

    def count(self, name: str) -> int:
        """Return the number of inserted and deleted tuples of a relation; the cluster counts its own."""
        change = self._changes.get(name) if name in self else None
        both = () if change is None else (change.inserted, change.deleted)
        return sum(rows.count() for rows in both)

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the relations that changed."""
        return iter(self._changes)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._changes


class UnsealedEpoch(_Frames):
    """An epoch before it lasts: its changes and its views, to be written elsewhere first. Its frames hold until the
    epoch has happened or failed."""

    def __init__(self, epoch: int, prospect: Prospect[Rows], frame: Callable[[str, Rows | None], DataFrame]) -> None:
        super().__init__(epoch, prospect.deltas, frame)
        self._prospect = prospect

    def view(self, name: str) -> DataFrame:
        """Return the rows of a relation of the program."""
        return self._frame(name, self._prospect.relation(name))

    def size(self, name: str) -> int:
        """Return the number of rows of a relation."""
        return self._prospect.size(name)


class SparkChange(_Frames):
    """The change of a committed epoch: its number `epoch`, `change[name].inserted` and `.deleted` per relation,
    `report`."""

    def __init__(
        self,
        epoch: int,
        changes: Mapping[str, RowChange[Rows]],
        report: SparkReport,
        frame: Callable[[str, Rows | None], DataFrame],
    ) -> None:
        super().__init__(epoch, changes, frame)
        self.report = report
        self.errors: tuple[BaseException, ...] = ()
        """The errors that subscribers raised when they were called with this change."""

    def __repr__(self) -> str:
        names = ", ".join(self._changes) or "nothing"
        return f"<SparkChange of {names}; {self.report.engine}, {self.report.seconds:.3f} s>"


def deliver_nothing(delivery: UnsealedEpoch) -> None:
    """Deliver an epoch to nobody."""


def local_changes(changes: Mapping[str, RowChange[Rows]], most: int) -> dict[str, RowChange[Words]]:
    """Return the changes of an epoch on the driver. Raise UsageError (E0688) where the cluster has more than `most`."""
    if isinstance(changes, ClusterChanges):
        return changes.local(most)
    return {name: RowChange(each.inserted.local(), each.deleted.local()) for name, each in changes.items()}
