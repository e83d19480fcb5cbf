"""A database on the cluster engine whose partitions are in this process."""

from __future__ import annotations

import random
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
from tidelog.database.transaction import Earlier, RuleSet
from tidelog.explain.absence import Absence
from tidelog.explain.blame import Blame
from tidelog.explain.explainer import Explainer
from tidelog.explain.proof import Proof
from tidelog.explain.views import EngineViews
from tidelog.functions.callables import FunctorSource, collect_functions
from tidelog.io.relation import Relation, WordRows
from tidelog.language import read
from tidelog.language.syntax import CheckedProgram, Program
from tidelog.limits.watch import Watch
from tidelog.maintain.protocol import FactCall, Outcome, Seal, net_changes, sealed_at_once
from tidelog.spark.ad_hoc import AdHocEvaluator
from tidelog.spark.cluster.engine import PartitionedEngine
from tidelog.spark.cluster.exchange.folder import Folder
from tidelog.spark.cluster.exchange.texts import move_texts
from tidelog.spark.cluster.placement.place import PlacementLimits
from tidelog.spark.cluster.processes.executors import Executors, LocalExecutors
from tidelog.spark.keeping import resume_engine
from tidelog.spark.rows import Rows, driver_change
from tidelog.store.manifest import text_of
from tidelog.workspace.options import DatabaseOptions
from tidelog.workspace.turns import Turns
from tidelog.workspace.workspace import Workspace

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
        partitions: int | None = 3,
        limits: PlacementLimits = NOTHING_EVERYWHERE,
        folder: Path | str | None = None,
        executors: Executors | None = None,
        functors: FunctorSource = (),
        block: int = 0,
    ) -> None:
        self.block = block
        """After each epoch, symbols go to blocks of so many, if it is a number from 1 on."""
        self.turns = Turns()
        self.workspace: Workspace[FactCall] = Workspace(FactCall)
        for given in collect_functions(functors):
            self.workspace.give(given)

        def engine(at: Path | str | None, by: Executors, token: str | None = None) -> PartitionedEngine:
            place = Folder(str(at or tempfile.mkdtemp(prefix="tidelog-test-")))
            return PartitionedEngine(
                self.workspace.dictionary, by, place, partitions, limits, temporary=at is None, token=token
            )

        self.opened = engine
        self.engine = engine(folder, executors or LocalExecutors())
        self.ad_hoc = AdHocEvaluator(self.workspace, lambda: engine(None, LocalExecutors()))
        self.explainer = Explainer(self.workspace)
        self.epochs = 0
        self.most = 1_000_000
        self.options = DatabaseOptions()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.engine.close()

    def load(self, program: str | Program, *, replace: object = False) -> None:
        assert not replace
        self.workspace.extend(read(f"{program}\n", name="<text>") if isinstance(program, str) else program)

    def insert(self, name: str, rows: Iterable[Row]) -> None:
        self.workspace.change(name, list(rows), asserts=True)

    def delete(self, name: str, rows: Iterable[Row]) -> None:
        self.workspace.change(name, list(rows), asserts=False)

    @property
    def rules(self) -> RuleSet:
        return RuleSet(self)

    def _named_rules(self) -> Mapping[str, object]:
        return {str(rule.name): rule for rule in self.workspace.committed.checked.texts}

    def _add_rules(self, text: str, replace: Earlier) -> None:
        self.load(text, replace=replace)

    def _remove_rules(self, *names: str) -> None:
        self.workspace.remove_rules(*names)

    def _remove_instance(self, name: str) -> None:
        self.workspace.remove_instance(name)

    @property
    def hyper_nodes(self) -> tuple[tuple[str, ...], ...]:
        return self.engine.hyper_nodes

    def commit(self, seal: Seal[Rows] = sealed_at_once) -> Outcome[Rows]:
        self.workspace.epoch_number = self.engine.epoch_number = self.epochs + 1
        draft = self.workspace.draft()
        try:
            net = net_changes(self.workspace.facts)
            facts = {name: driver_change(change.inserted, change.deleted) for name, change in net.items()}
            watch = self.options.watch(draft.checked.size_limits)
            outcome = self.engine.epoch(draft.core, facts, watch, self.options, seal)
        except BaseException:
            self.workspace.rollback()
            raise
        self.workspace.settle(draft)
        self.epochs += 1
        self.ad_hoc.close()
        if self.block:
            move_texts(self.workspace.dictionary, self.engine, self.block)
        return outcome

    def check(self) -> None:
        """Check the views on the driver, and in the partitions."""
        self.ad_hoc.check(self.engine, self.most, Watch())
        self.ad_hoc.check(self.engine, -1, Watch())

    def restart(self, *, save: bool, folder: Path | None = None, token: str | None = None) -> None:
        """Go on as another process would, from the folder or a copy."""
        if save:
            self.engine.save()
        self.engine.close()
        self.ad_hoc.close()
        place, token = folder or self.engine.folder.address, token or self.engine.committed.token
        text, since = text_of(self.workspace.programs), self.workspace.committed.since
        self.workspace = Workspace(FactCall)
        self.workspace.known_since = lambda name: since.get(name, 0)
        self.load(text)
        self.engine = resume_engine(lambda: self.opened(place, LocalExecutors(), token), self.workspace)
        self.ad_hoc = AdHocEvaluator(self.workspace, lambda: self.opened(None, LocalExecutors()))
        self.explainer = Explainer(self.workspace)

    @property
    def explained(self) -> EngineViews:
        return self.ad_hoc.views_to_explain(self.engine, self.most)

    def explain(self, relation: str, values: object) -> Proof:
        return self.explainer.explain(relation, values, self.explained, self.options.watch())

    def why_not(self, relation: str, values: object) -> Absence:
        return self.explainer.absence(relation, values, 3, self.explained, self.options.watch())

    def blame(self, relation: str, values: object) -> Blame:
        since = self.workspace.committed.since
        return self.explainer.blame(relation, values, self.explained, self.options.watch(), since)

    @property
    def program(self) -> CheckedProgram:
        return self.workspace.program

    def __getitem__(self, name: str) -> set[Row]:
        return self.decoded(name, self.engine.relation(name))

    local = __getitem__

    def decoded(self, name: str, found: Rows) -> set[Row]:
        """Rows of words of a relation as values."""
        columns = self.workspace.program.relations[name].columns
        rows = list(Relation(name, WordRows(columns, self.workspace.dictionary, np.ascontiguousarray(found.local()))))
        assert len(set(rows)) == len(rows), f"{name} has rows twice"
        return set(rows)

    def views(self) -> dict[str, set[Row]]:
        return {name: self[name] for name in self.workspace.program.relations}

    def changes(self, epoch: Outcome[Rows]) -> dict[str, tuple[set[Row], set[Row]]]:
        return {
            name: (self.decoded(name, change.inserted), self.decoded(name, change.deleted))
            for name, change in epoch.deltas.items()
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


def followed(
    script: Script, partitions: int, limits: PlacementLimits, restarts: random.Random | None = None, **how: Any
) -> str:
    """Return the error of the cluster engine that follows a script beside the embedded engine, or "". It is opened
    anew now and then if there are `restarts`, which needs a folder."""
    place = "at the start"
    try:
        with Cluster(partitions, limits, **how) as there:
            here = tidelog.connect(functors=how.get("functors", ()))
            for db in (here, there):
                db.load(script.text())
                for name, rows in script.facts.items():
                    db.insert(name, sorted(rows, key=repr))
            here.commit()
            there.commit()
            for number, epoch in enumerate([None, *script.epochs]):
                place = f"in epoch {number}"
                if restarts is not None and restarts.random() < 0.5:
                    there.restart(save=restarts.random() < 0.5)
                    assert there.views() == {name: set(here[name]) for name in here.relations}, "another process"
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
                check_now_and_then(there, f"{place} {script.text()}")
    except Exception:
        return f"{place}: {traceback.format_exc()}"
    return ""
