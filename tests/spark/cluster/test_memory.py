"""Partitions and a driver that run out of memory: E0503, the epoch has not happened, and the next one is right."""

from __future__ import annotations

from collections.abc import Iterator
from multiprocessing.connection import Connection

import pytest

import tidelog
from tests.allocations import Budget, small_blocks
from tests.spark.cluster.harness import NOTHING_EVERYWHERE, Cluster
from tidelog.errors import LimitError
from tidelog.limits.watch import changing_within_memory
from tidelog.maintain import engine as maintain_engine
from tidelog.spark.cluster.exchange.rounds import NOWHERE, Task
from tidelog.spark.cluster.processes import host

PROGRAM = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl degree(x: number, n: number)
.decl named(s: symbol)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(y, z).
degree(x, n) :- e(x, _), n = count : { t(x, _) }.
named(cat("n", to_string(x))) :- degree(x, 3).
"""
EDGES = [(1, 2), (2, 3), (3, 1), (4, 5), (5, 6)]
CAME, WENT = [(3, 4), (6, 7), (2**33, 1)], [(2, 3)]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks(monkeypatch)


def filled(db: Cluster | tidelog.Database) -> None:
    db.load(PROGRAM)
    db.insert("e", EDGES)
    db.commit()


def pending(db: Cluster | tidelog.Database) -> Cluster | tidelog.Database:
    db.insert("e", CAME)
    db.delete("e", WENT)
    return db


def expected() -> tuple[dict[str, set[object]], dict[str, set[object]]]:
    db = tidelog.connect()
    filled(db)
    before = {name: set(db[name]) for name in db.relations}
    pending(db).commit()
    return before, {name: set(db[name]) for name in db.relations}  # type: ignore[return-value]


@pytest.mark.smoke
def test_a_partition_takes_the_memory_that_spark_gives_a_python_process(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = expected()
    with Cluster(2, NOTHING_EVERYWHERE) as db:
        filled(db)
        monkeypatch.setenv("PYSPARK_EXECUTOR_MEMORY_MB", "8")
        pending(db)
        with pytest.raises(LimitError, match=r"E0503.*its limit is 8(.|\n)*spark\.executor\.pyspark\.memory"):
            db.commit()
        monkeypatch.setenv("PYSPARK_EXECUTOR_MEMORY_MB", "100000")
        assert db.views() == before
        pending(db)
        db.commit()
        assert db.views() == after


def test_a_partition_that_gets_no_memory_names_the_setting_of_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*args: object) -> None:
        raise MemoryError("Unable to allocate 60 MiB")

    with Cluster(2, NOTHING_EVERYWHERE) as db:
        db.load(PROGRAM)
        db.insert("e", EDGES)
        with monkeypatch.context() as patched:
            patched.setattr(maintain_engine, "run", no_memory)
            with pytest.raises(LimitError, match=r"60 MiB(.|\n)*nothing has changed; raise `spark\.executor\.pyspark"):
                db.commit()


def test_a_partition_that_always_ends_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def reset(application: str, task: Task) -> Connection:
        raise ConnectionResetError

    monkeypatch.setattr(host, "_connect", reset)
    task = Task("folder", 7, 8, NOWHERE, "", (), (), "round")
    with pytest.raises(ConnectionError, match="the process of partition 7 ended 3 times; lack of memory is the usual"):
        host.ask("application", task)


def fails(budgets: Iterator[Budget]) -> int:
    """How many of these budgets an epoch fails with, each time with E0503 and without a trace."""
    before, after = expected()
    failures = 0
    db = Cluster(2, NOTHING_EVERYWHERE)
    filled(db)
    for budget in budgets:
        pending(db)
        try:
            with changing_within_memory, budget:  # as in SparkDatabase
                db.commit()
        except LimitError as error:
            if error.code != "E0503":
                raise
            failures += 1
            assert db.views() == before, f"a trace of a failure at request {budget.last}"
        else:
            assert db.views() == after
            db.engine.close()
            db = Cluster(2, NOTHING_EVERYWHERE)
            filled(db)
    pending(db).commit()
    assert db.views() == after
    db.check()
    db.engine.close()
    return failures


def test_each_line_of_partitions_and_driver_gets_no_memory() -> None:
    census = Budget(0, blocks=False)
    with Cluster(2, NOTHING_EVERYWHERE) as db:
        filled(db)
        pending(db)
        with census:
            db.commit()
    lines = [line for line in census.lines if line.startswith(("spark/", "pending", "io/"))]
    assert len(lines) > 15
    assert fails(Budget(1, blocks=False, line=line) for line in lines) > 15


@pytest.mark.parametrize("for_good", [False, True])
def test_some_requests_of_an_epoch_get_no_memory(for_good: bool) -> None:
    assert fails(Budget(last, for_good=for_good) for last in range(1, 2_000, 181)) > 8
