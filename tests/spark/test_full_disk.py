"""A disk that takes no more: files that must not grow (a limit of the processes that write) and a device without room.

The epoch has not happened, and works as soon as there is room again.
"""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import tidelog
from tests.spark.cluster.test_spark import processes
from tests.spark.test_lost_processes import parent
from tidelog.errors import UsageError
from tidelog.spark import SparkDatabase

PROGRAM = """
.decl e(x: number, y: symbol)
.decl n(k: number)
.decl t(x: number, y: number)
c: n(k) :- k = count : { e(_, _) }.
t: t(x, y) :- e(x, s), e(y, s).
"""


@contextmanager
def full(*ids: int) -> Iterator[None]:
    """While the disk is full for these processes."""
    before = [resource.prlimit(each, resource.RLIMIT_FSIZE, (64, resource.RLIM_INFINITY)) for each in ids]
    try:
        yield
    finally:
        for each, limits in zip(ids, before, strict=True):
            resource.prlimit(each, resource.RLIMIT_FSIZE, limits)


def refused(db: SparkDatabase) -> None:
    with pytest.raises(UsageError, match="free disk space") as caught:
        db.commit()
    assert caught.value.code == "E0681"
    assert "File too large" in str(caught.value)


@pytest.mark.smoke
def test_facts_that_the_disk_does_not_take(spark: SparkSession, tmp_path: Path) -> None:
    with tidelog.connect(spark=spark, state=tmp_path) as db:
        db.load(PROGRAM)
        db.commit()
        before = sorted(map(str, tmp_path.rglob("*")))
        for _ in range(2):
            db.insert("e", [(i, f"n{i}") for i in range(100)])
            with full(0):
                refused(db)
            assert sorted(map(str, tmp_path.rglob("*"))) == before
            assert set(db.local("n")) == {(0,)}
        db.rollback()
        db.insert("e", [(1, "a")])
        db.commit()
        assert set(db.local("n")) == {(1,)}
    assert json.loads((tmp_path / "manifest.json").read_text())["epoch"] == 2


@pytest.mark.parametrize("engine", ["embedded", "cluster"])
def test_a_commit_that_cannot_replace_the_manifest_changes_nothing(
    spark: SparkSession, tmp_path: Path, engine: str
) -> None:
    with tidelog.connect(spark=spark, state=tmp_path) as db:
        db.options(engine=engine)
        db.load(PROGRAM)
        db.commit()
        (tmp_path / "manifest.json.new/in the way").mkdir(parents=True)
        db.insert("e", [(1, "a")])
        with pytest.raises(UsageError, match="Is a directory") as caught:
            db.commit()
        assert caught.value.code == "E0681"
        assert set(map(tuple, db["n"].collect())) == {(0,)}
        (tmp_path / "manifest.json.new/in the way").rmdir()
        (tmp_path / "manifest.json.new").rmdir()
        db.commit()
        assert set(map(tuple, db["n"].collect())) == {(1,)}
    with tidelog.connect(spark=spark, state=tmp_path) as again:
        assert set(again.local("n")) == {(1,)}


@pytest.mark.usefixtures("by_tasks")
def test_partitions_and_executors_whose_disk_is_full(spark: SparkSession, tmp_path: Path) -> None:
    gateway: Any = spark.sparkContext._gateway
    with tidelog.connect(spark=spark, state=tmp_path) as db:
        db.options(engine="cluster")
        db.load(PROGRAM)
        db.insert("e", [(0, "n0")])
        db.commit()
        partitions = processes(f"processes.host {spark.sparkContext.applicationId}")[1:]
        daemons = [each for each in processes("pyspark.worker") if parent(each) == gateway.proc.pid]
        workers = [each for each in processes("pyspark.worker") if parent(each) in daemons]
        for ids in (partitions, [*daemons, *workers]):
            db.insert("e", spark.range(1, 400).selectExpr("id x", "concat('n', id % 7) y"))
            with full(*ids):
                refused(db)
            assert set(map(tuple, db["n"].collect())) == {(1,)}
            db.rollback()
        db.insert("e", spark.range(1, 4).selectExpr("id x", "concat('n', id % 7) y"))
        db.commit()
        assert set(map(tuple, db["n"].collect())) == {(4,)}
    with tidelog.connect(spark=spark, state=tmp_path) as again:
        assert set(again.local("t")) == {(i, i) for i in range(4)}


def test_a_check_that_the_disk_of_the_driver_does_not_take(spark: SparkSession, tmp_path: Path) -> None:
    with tidelog.connect(spark=spark, state=tmp_path) as db:
        db.options(engine="cluster", embedded_limit=0)
        db.load(PROGRAM)
        db.insert("e", [(0, "n0")])
        db.commit()
        with full(0), pytest.raises(UsageError, match="free disk space") as caught:
            db.check()
        assert caught.value.code == "E0681"
        assert not list(tmp_path.rglob("*.part"))
        db.check()
