"""The cluster engine in a Spark session: frames in and out, processes that are killed, nothing left behind."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import tidelog
from tests.spark.cluster.harness import NOTHING_EVERYWHERE, evaluated
from tests.suite import difference, golden_programs
from tidelog.language import read
from tidelog.limits.watch import Watch
from tidelog.maintain.protocol import EpochOptions, FactCall, Outcome, RowChange
from tidelog.spark.cluster.engine import ClusterEngine
from tidelog.spark.cluster.placement import place
from tidelog.spark.cluster.placement.place import PlacementLimits
from tidelog.spark.cluster.processes import host
from tidelog.spark.cluster.processes.executors import SparkExecutors
from tidelog.spark.rows import DriverRows, Rows, SparkRows
from tidelog.storage.room import installed_memory
from tidelog.workspace.workspace import Workspace

PROGRAM = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl start(x: number)
.decl far(x: number, n: number)
t1: t(x, y) :- e(x, y).
t2: t(x, z) :- t(x, y), e(y, z).
far(x, n) :- start(x), n = count : { t(x, _) }.
"""


class Session:
    """A program on the cluster engine of a session, facts in words."""

    def __init__(self, spark: SparkSession, text: str, limits: PlacementLimits, partitions: int = 2) -> None:
        self.spark = spark
        self.workspace: Workspace[FactCall] = Workspace(FactCall)
        self.workspace.extend(read(f"{text}\n", name="<text>"))
        self.engine = ClusterEngine(spark, self.workspace.dictionary, limits=limits, partitions=partitions)

    def commit(self, **facts: tuple[Any, Any]) -> Outcome[Rows]:
        """An epoch with facts that come and go, as lists of rows or frames."""
        draft = self.workspace.draft()
        change = {
            name: RowChange(self.words(name, came), self.words(name, went)) for name, (came, went) in facts.items()
        }
        outcome = self.engine.epoch(draft.core, change, Watch(), EpochOptions())
        self.workspace.settle(draft)
        return outcome

    def words(self, name: str, rows: Any) -> Rows:
        width = len(self.workspace.program.relations[name].columns)
        if isinstance(rows, DataFrame):
            return SparkRows(rows, width)
        return DriverRows(np.array(rows, np.int64).reshape(-1, width))

    def rows(self, name: str) -> set[Any]:
        return collected(self.engine.relation(name))


@pytest.fixture
def chain(spark: SparkSession) -> Iterator[Session]:
    """The closure of a chain, split over two partitions."""
    session = Session(spark, PROGRAM, PlacementLimits(closures=0))
    yield session
    session.engine.close()


def collected(rows: Rows) -> set[Any]:
    """Rows that Spark has, and the driver has not."""
    assert rows.driver_words is None
    return set(map(tuple, rows.local().tolist()))


def chained(last: int) -> set[tuple[int, int]]:
    return {(x, last + 1 - x) for x in range(1, last + 1)}


def processes(of: str) -> list[int]:
    """Processes whose command line contains a text, the oldest first: those that were forked come behind their parent,
    which their numbers need not do."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if of in (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"):
                    started = (entry / "stat").read_text().rsplit(")", 1)[1].split()[19]
                    found.append((int(started), int(entry.name)))
    return [number for _, number in sorted(found)]


def kill_host(chain: Session) -> None:
    executors = chain.engine.executors
    assert isinstance(executors, SparkExecutors)
    for process in processes(f"processes.host {executors.application}"):
        os.kill(process, signal.SIGKILL)


@pytest.mark.smoke
def test_frames_in_and_out(spark: SparkSession, chain: Session) -> None:
    edges = spark.createDataFrame([(i, i + 1) for i in range(1, 6)], "c0 long, c1 long").repartition(3)
    chain.commit(e=(edges, []), start=([(i,) for i in range(1, 6)], []))
    assert chain.rows("far") == chained(5)
    assert chain.engine.size("t") == 15
    change = chain.commit(e=([(6, 7)], edges.where("c0 = 2"))).deltas["far"]
    assert collected(change.inserted) == {(1, 1), (2, 0), (3, 4), (4, 3), (5, 2)}
    assert collected(change.deleted) == {(1, 5), (2, 4), (3, 3), (4, 2), (5, 1)}
    assert collected(chain.engine.facts("e")) == {(1, 2), (3, 4), (4, 5), (5, 6), (6, 7)}


def test_a_closure_is_everywhere_where_the_machine_has_the_memory(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "EVERYWHERE", 10)
    there = installed_memory()
    assert there is not None
    session = Session(spark, PROGRAM, PlacementLimits())
    try:
        session.commit(e=([(i, i + 1) for i in range(1, 31)], []), start=([(1,)], []))
        assert isinstance(session.engine.executors, SparkExecutors)
        assert session.engine.executors.asked == {(2, 2): there // 4}
        assert session.engine.plan is not None
        assert dict(session.engine.plan.nodes)[("t",)] == "everywhere"
        assert session.rows("far") == {(1, 30)}
    finally:
        session.engine.close()


def test_partitions_and_their_host_that_are_killed_between_epochs(chain: Session) -> None:
    """They come back from files. `test_faults` loses partitions between rounds, `test_lost_processes` in the middle."""
    chain.commit(e=([(i, i + 1) for i in range(1, 6)], []), start=([(i,) for i in range(1, 6)], []))
    kill_host(chain)
    assert chain.rows("far") == chained(5)
    kill_host(chain)
    chain.commit(e=([(6, 7)], []), start=([(6,)], []))
    assert chain.rows("far") == chained(6)
    assert chain.engine.size("t") == 21


def test_one_of_several_tasks_starts_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others would load tidelog in vain; they find the socket of the host, and wait."""
    monkeypatch.setattr(sys, "executable", "/no/python")
    application = secrets.token_hex(8)
    with socket.socket(socket.AF_UNIX) as first:
        first.bind(host._address(application))
        first.listen()
        host._start(application)
    with pytest.raises(FileNotFoundError):
        host._start(application)


def test_golden_programs_in_the_session(spark: SparkSession) -> None:
    """Those on which most depends: strings and records made by rules, negation, aggregates."""
    executors = SparkExecutors(spark)
    for golden in golden_programs():
        if golden.name in CHOSEN:
            found = evaluated(golden.text, {}, partitions=3, limits=NOTHING_EVERYWHERE, executors=executors)
            assert difference(found, golden.expected) == ""


CHOSEN = ("lists", "symbols", "nested_aggregates", "mutual_recursion", "negation_levels")


def test_the_verbs_of_a_database(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On both engines, with the switch between them."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    text = """
    .decl parent(child: symbol, parent: symbol)
    .decl ancestor(x: symbol, y: symbol)
    .decl story(s: symbol)
    ancestor(x, y) :- parent(x, y).
    ancestor(x, z) :- ancestor(x, y), ancestor(y, z).
    story(cat(cat(x, " of "), y)) :- ancestor(x, y), !parent(x, y).
    """
    before = spark.conf.getAll
    db = tidelog.connect(spark=spark)
    db.load(text)
    db.insert("parent", spark.createDataFrame([("cy", "bo"), ("bo", "al")], "child string, parent string"))
    db.commit()
    db.options(engine="cluster")
    db.insert("parent", [("di", "cy")])
    change = db.commit()
    assert {row[0] for row in db["story"].collect()} == {"cy of al", "di of bo", "di of al"}
    assert {tuple(row) for row in change["ancestor"].inserted.collect()} == {("di", "cy"), ("di", "bo"), ("di", "al")}
    assert list(tmp_path.glob("tidelog-cluster-*/manifest"))
    db.delete("parent", [("bo", "al")])
    db.commit()
    assert {tuple(row) for row in db["ancestor"].collect()} == {("cy", "bo"), ("di", "cy"), ("di", "bo")}
    with pytest.raises(PySparkException, match=r"^\[\w+\] error\[E0687\]: .*\n  hint: ask the database for it again"):
        change["ancestor"].inserted.collect()
    with pytest.raises(
        tidelog.DataError, match=r"E0482.*read the source: this frame belongs to an earlier epoch.*\n.*ask the"
    ):
        db.insert("parent", change["ancestor"].inserted.toDF("child", "parent"))
    db.close()
    assert spark.conf.getAll == before
    assert list(tmp_path.iterdir()) == []


def test_a_frame_with_a_hub(spark: SparkSession) -> None:
    """Its rows are spread when they come, without a look at them on the driver."""
    text = ".decl e(x: number, y: number)\n.decl p(y: number, x: number)\np(y, x) :- e(x, y), e(y, _)."
    session = Session(spark, text, PlacementLimits(replicate=0, closures=0, gather=0, skew=50), partitions=3)
    rows = [(7, i) for i in range(100)] + [(i, 7) for i in range(20, 60)]
    frame = spark.createDataFrame(rows, "c0 long, c1 long")
    session.commit(e=(frame, []))
    assert session.engine.plan is not None
    assert session.engine.plan.facts["e"] == "rows"
    assert session.rows("e") == set(rows)
    assert session.rows("p") == {(y, x) for x, y in rows if y == 7 or 20 <= y < 60}
    sizes = session.engine.committed.sizes.values()
    assert max(each["e"] for each in sizes) < 80
    session.engine.close()
