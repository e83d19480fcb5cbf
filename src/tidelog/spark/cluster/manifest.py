"""The manifest of a state directory, which each commit replaces at once.

A partition is restored in two steps, so that also what the last epoch has changed is known again: the relations as they
were before it (`past`: a plan, and all that each partition has been sent), then the rounds of that epoch (`since`).

Partitions save what they have, derived rows included, when an engine is closed, and when much has changed since they
last did (`SavedPartitions`). They are restored from that, and from what they have been sent since then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from tidelog.rules.core import CoreProgram
from tidelog.spark.cluster.exchange import wire
from tidelog.spark.cluster.exchange.folder import Folder
from tidelog.spark.cluster.exchange.rounds import NOWHERE, Logged, Round, RoundState, Saved
from tidelog.spark.cluster.placement.buckets import Frequent
from tidelog.spark.cluster.placement.plan import Placement

MANIFEST = "manifest"
BEFORE = "manifest-before"
"""The manifest of the epoch before, as long as the last one may turn out not to have happened."""
_ENTRIES = 40
_PER_ENTRY = 1 << 19
_BYTES = 1 << 24
_MANY_UNSAVED = 100_000
"""Partitions derive fewer rows faster than a Spark job begins."""
Log: TypeAlias = tuple[Logged, ...]


@dataclass(frozen=True)
class SavedPartitions:
    """The files, with checksums, in which partitions have saved all that they had after the epoch `token`, by its
    `plan`. The first `entries` of the log had led there."""

    token: str
    plan: str
    files: Mapping[int, tuple[str, str]]
    entries: int = 0

    def of(self, partition: int, entries: int | None) -> Saved:
        """Return what a partition has saved, with so many entries of the log."""
        return Saved(self.plan, *self.files[partition], entries)


@dataclass(frozen=True)
class ClusterManifest:
    """One committed epoch, whose files have the `token` in their names. `plan` is the file of the plan, `facts` are the
    places of all facts, `sizes` the rows of relations in each partition, `kept` the bytes of the messages that it still
    holds."""

    partitions: int
    epoch: int = 0
    token: str = ""
    plan: str = ""
    core: CoreProgram | None = None
    past: str = ""
    since: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    states: Mapping[int, RoundState] = field(default_factory=dict)
    facts: Mapping[str, Placement] = field(default_factory=dict)
    sizes: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    kept: Mapping[int, int] = field(default_factory=dict)
    frequent: Mapping[int, Mapping[str, Frequent]] = field(default_factory=dict)
    """The frequent words of relations in each partition."""
    snapshot: SavedPartitions | None = None
    unsaved: int = 0
    """The number of rows that have changed since then, or that there are if there is no snapshot."""
    texts: tuple[str, ...] = ()
    """The files with blocks of symbols that the files of symbols name."""
    ordered: frozenset[int] = frozenset()
    """The cycles of the plan in which each copy of a row is younger than the row, see `exchange.births`."""
    meaning: int = 0
    """The `version.MEANING` of the tidelog that wrote the partitions."""

    @property
    def is_saved(self) -> bool:
        """Return True if the snapshot is that of this epoch."""
        return self.snapshot is not None and self.snapshot.token == self.token

    @property
    def is_far_ahead(self) -> bool:
        """Return True if partitions that were lost would derive so much anew that saving them is worth it. Over all
        epochs this writes two rows for each that has changed, at most."""
        rows = sum(sum(sizes.values()) for sizes in self.sizes.values())
        return self.unsaved >= max(_MANY_UNSAVED, rows // 2)

    def saved_state(self, partition: int) -> Saved | None:
        """Return what a partition has saved."""
        if self.snapshot is None:
            return None
        return self.snapshot.of(partition, None if self.is_saved else self.snapshot.entries)

    def state(self, partition: int) -> RoundState:
        """Return the last state of a partition."""
        return self.states.get(partition, NOWHERE)


def read_past(folder: Folder, name: str) -> tuple[str, Log]:
    """Return a plan's file and the log before the last epoch."""
    if not name:
        return "", ()
    plan, log = wire.loads(folder.read(name))
    return plan, log


def extended_log(log: Log, rounds: Iterable[Round]) -> Log:
    """Return the log with rounds behind it."""
    longer = list(log)
    for round in rounds:
        if round.shared or round.bundles or round.forget or round.narrow:
            pieces = tuple(round.shared), tuple(round.bundles)
            longer.append(Logged(round.forget, round.narrow, *pieces, round.epoch))
    return tuple(longer)


def files_of(log: Log) -> set[str]:
    """Return the files that a log reads."""
    pieces = {piece.file for entry in log for piece in entry.shared}
    return pieces | {bundle.file for entry in log for bundle in entry.bundles}


def is_long(log: Log, kept: Mapping[int, int]) -> bool:
    """Return True if a log is worth writing anew: it has many entries, more if there is much to write, or is mostly
    about rows that have gone."""
    sent = sum(bundle.length for entry in log for bundle in entry.bundles)
    shared = sum(piece.length for entry in log for piece in entry.shared)
    most, all_kept, count = max(kept.values(), default=0), sum(kept.values()), max(len(kept), 1)
    return len(log) > _ENTRIES + most // _PER_ENTRY or sent + count * shared > 2 * all_kept + count * _BYTES
