"""A database on the cluster engine whose partitions are in this process."""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

import tidelog
from tests.generate import Row
from tests.scripts import Script, change_in
from tests.suite import check_now_and_then, difference
from tidelog.certificate import check
from tidelog.limits.watch import Watch
from tidelog.pending import net_changes
from tidelog.relation import Relation, WordRows
from tidelog.spark.aside import Aside
from tidelog.spark.cluster.engine import PartitionedEngine
from tidelog.spark.cluster.folder import Folder
from tidelog.spark.cluster.placement.place import PlacementLimits
from tidelog.spark.cluster.processes.executors import Executors, LocalExecutors
from tidelog.spark.embedded import Front
from tidelog.spark.engines import Epoch, RowChange
from tidelog.spark.rows import Rows

NOTHING_EVERYWHERE = PlacementLimits(replicate=0, closures=0, gather=0)
"""All relations are split, and all recursions that no choice of columns makes local are exchanged."""
NOTHING_GATHERED = PlacementLimits(gather=0)
GATHERED = PlacementLimits(replicate=0, closures=0)
SKEWED = PlacementLimits(replicate=0, closures=0, gather=0, skew=2)
"""The same, and words that two rows have are skewed keys."""
LIMITS = (NOTHING_EVERYWHERE, NOTHING_GATHERED, GATHERED, PlacementLimits())


class Cluster:
    """The verbs of a database that tests use; `folder` and `executors` may be those of another one."""

    def __init__(
        self,
        partitions: int = 3,
        limits: PlacementLimits = NOTHING_EVERYWHERE,
        folder: Path | str | None = None,
        executors: Executors | None = None,
    ) -> None:
        self.front = Front()

        def engine(at: Path | str | None, by: Executors) -> PartitionedEngine:
            place = Folder(str(at or tempfile.mkdtemp(prefix="tidelog-test-")))
            return PartitionedEngine(self.front.dictionary, by, place, partitions, limits, temporary=at is None)

        self.engine = engine(folder, executors or LocalExecutors())
        self.aside = Aside(self.front, lambda: engine(None, LocalExecutors()))
        self.options: dict[str, Any] = {}

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.engine.close()

    def load(self, text: str) -> None:
        self.front.add_program(text)

    def insert(self, name: str, rows: Iterable[Row]) -> None:
        self.front.insert(name, list(rows))

    def delete(self, name: str, rows: Iterable[Row]) -> None:
        self.front.delete(name, list(rows))

    @property
    def rules(self) -> Any:
        return self.front.rules

    def commit(self) -> Epoch:
        draft = self.front.draft
        try:
            net = net_changes(self.front.take_facts())
            facts = {name: RowChange.of_words(came, went) for name, (came, went) in net.items()}
            epoch = self.engine.epoch(draft, facts, self.options)
        except BaseException:
            self.front.rollback()
            raise
        self.front.settle(draft)
        return epoch

    def check(self) -> None:
        check(self.aside.certificate(self.engine, 1_000_000, Watch()))

    def __getitem__(self, name: str) -> set[Row]:
        return self.decoded(name, self.engine.relation(name))

    def decoded(self, name: str, found: Rows) -> set[Row]:
        """Rows of words of a relation as values."""
        columns = self.front.program.relations[name].columns
        rows = list(Relation(name, WordRows(columns, self.front.dictionary, np.ascontiguousarray(found.local()))))
        assert len(set(rows)) == len(rows), f"{name} has rows twice"
        return set(rows)

    def views(self) -> dict[str, set[Row]]:
        return {name: self[name] for name in self.front.relations}

    def changes(self, epoch: Epoch) -> dict[str, tuple[set[Row], set[Row]]]:
        return {
            name: (self.decoded(name, change.inserted), self.decoded(name, change.deleted))
            for name, change in epoch.changes.items()
        }


def evaluated(text: str, facts: Mapping[str, Iterable[Row]], **how: Any) -> dict[str, set[Row]]:
    """The views of a program on the cluster engine."""
    with Cluster(**how) as db:
        db.load(text)
        for name, rows in facts.items():
            db.insert(name, rows)
        db.commit()
        check_now_and_then(db, text)
        return db.views()


def followed(script: Script, partitions: int, limits: PlacementLimits, **how: Any) -> str:
    """Return the error of the cluster engine that follows a script beside the embedded engine, or ""."""
    place = "at the start"
    try:
        with Cluster(partitions, limits, **how) as there:
            here = tidelog.connect()
            for db in (here, there):
                db.load(script.text())
                for name, rows in script.facts.items():
                    db.insert(name, sorted(rows, key=repr))
            here.commit()
            there.commit()
            for number, epoch in enumerate([None, *script.epochs]):
                place = f"in epoch {number}"
                if epoch is not None:
                    change_in(here, script, epoch)
                    change_in(there, script, epoch)
                    expected = here.commit()
                    change = there.changes(there.commit())
                    wanted = {name: (set(expected[name].inserted), set(expected[name].deleted)) for name in expected}
                    if {name: both for name, both in change.items() if any(both)} != wanted:
                        return f"{place}: the change is {change}, not {wanted}"
                problem = difference(there.views(), {name: set(here[name]) for name in here.relations})
                if problem:
                    return f"{place}: {problem}"
    except Exception:
        return f"{place}: {traceback.format_exc()}"
    return ""
