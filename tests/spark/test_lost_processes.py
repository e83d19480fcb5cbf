"""Processes of the session that are killed in the middle of a round: it is right, or the epoch has not happened.

The partitions are stopped before a commit begins, so that it is surely in the middle of a round when others are killed.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import tidelog
from tests.spark.cluster.test_spark import processes
from tidelog.errors import SetupError
from tidelog.spark import SparkDatabase

PROGRAM = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl degree(x: number, n: number)
t1: t(x, y) :- e(x, y).
t2: t(x, z) :- t(x, y), e(y, z).
d: degree(x, n) :- e(x, _), n = count : { t(x, _) }.
"""


class Running:
    """A database on the cluster engine, and the processes that work for it."""

    def __init__(self, db: SparkDatabase) -> None:
        self.db = db
        self.last = 3
        self.committing = threading.Thread()

    @property
    def hosts(self) -> list[int]:
        """The host, and its partitions behind it."""
        return processes(f"processes.host {self.db.session.sparkContext.applicationId}")

    @property
    def workers(self) -> list[int]:
        """The Python workers of the session, children of its daemons."""
        gateway: Any = self.db.session.sparkContext._gateway
        found = processes("pyspark.worker")
        daemons = [process for process in found if parent(process) == gateway.proc.pid]
        return [process for process in found if parent(process) in daemons]

    def grow(self) -> None:
        """An epoch of one edge more."""
        self.last += 1
        self.db.insert("e", [(self.last - 1, self.last)])
        try:
            self.db.commit()
        except BaseException:
            self.last -= 1
            raise

    def meanwhile(self, do: Callable[[], None]) -> None:
        """`grow`, and `do` when its first round has begun and no partition has gone on."""
        stopped = self.hosts[1:]
        for process in stopped:
            os.kill(process, signal.SIGSTOP)
        tracker = self.db.session.sparkContext.statusTracker()
        errors: list[BaseException] = []

        def attempt() -> None:
            try:
                self.grow()
            except BaseException as error:
                errors.append(error)

        self.committing = committing = threading.Thread(target=attempt)
        committing.start()
        try:
            while not any(
                info.numActiveTasks for i in tracker.getActiveStageIds() if (info := tracker.getStageInfo(i))
            ):
                assert committing.is_alive()
                committing.join(0.02)
            do()
        finally:
            for process in stopped:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGCONT)
            committing.join()
        if errors:
            raise errors[0]

    def check(self) -> None:
        assert set(map(tuple, self.db["degree"].collect())) == {(x, self.last - x) for x in range(1, self.last)}
        assert self.db.size("t") == self.last * (self.last - 1) // 2


def parent(process: int) -> int:
    with suppress(OSError):
        return int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return 0


def kill(process_ids: list[int]) -> None:
    for process in process_ids:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


@pytest.fixture
def running(spark: SparkSession) -> Iterator[Running]:
    with tidelog.connect(spark=spark) as db:
        db.options(engine="cluster")
        db.load(PROGRAM)
        db.insert("e", [(1, 2), (2, 3)])
        db.commit()
        yield Running(db)


def test_partitions_and_their_host_come_back_within_the_commit(running: Running) -> None:
    running.meanwhile(lambda: kill(running.hosts[1:]))
    running.check()
    running.meanwhile(lambda: kill(running.hosts[:1]))
    running.check()


def test_a_python_worker_comes_back_within_the_commit(running: Running) -> None:
    """Its daemon lives: Spark itself does not get over the loss of that one, and this session is for other tests as
    well. Of several workers, the second and last try of a task may get one that is about to be killed."""
    running.meanwhile(lambda: kill(running.workers[:1]))
    running.check()


def test_python_workers_that_are_lost_again_fail_the_epoch_and_the_next_one_goes_on(running: Running) -> None:
    """Spark tries a task twice."""

    def kill_twice() -> None:
        killed: set[int] = set()
        for _ in range(2):
            # The second try, too, may have got one of those that were killed first: then there are no others.
            while not (found := set(running.workers) - killed) and running.committing.is_alive():
                running.committing.join(0.02)
            kill(sorted(found))
            killed |= found

    with pytest.raises(SetupError, match="commit again") as caught:
        running.meanwhile(kill_twice)
    assert caught.value.code == "E0708"
    running.check()
    running.grow()
    running.check()
