"""A database on the cluster engine that is opened again goes on from its partitions, or says why it does not."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import tidelog
from tidelog.errors import UsageError
from tidelog.spark import SparkDatabase

PROGRAM = """
.decl e(x: symbol, y: symbol)
.decl t(x: symbol, y: symbol)
a: t(x, y) :- e(x, y).
b: t(x, z) :- t(x, y), e(y, z).
e("in", "text").
"""
EDGES = [("a", "b"), ("b", "c"), ("c", "d"), ("x", "y")]


def pairs(*edges: tuple[str, str]) -> set[tuple[str, str]]:
    with tidelog.connect() as db:
        db.load(PROGRAM)
        db.insert("e", list(edges))
        db.commit()
        return {(str(x), str(y)) for x, y in db["t"]}


def rows(db: SparkDatabase, name: str) -> set[tuple[str, ...]]:
    return {tuple(row) for row in db[name].collect()}


def own(caplog: pytest.LogCaptureFixture) -> list[Any]:
    """Return the records of tidelog; Spark and Py4J may have others."""
    return [record for record in caplog.records if record.name == "tidelog.spark"]


def test_another_process_goes_on(spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tidelog.spark")
    with tidelog.connect(spark=spark, state=tmp_path) as db:
        db.options(engine="cluster", partitions=2)
        db.load(PROGRAM)
        db.insert("e", EDGES)
        db.commit()
        db.delete("e", [("x", "y")])
        db.commit()
        blamed = str(db.blame("t", ("a", "d")))
    caplog.clear()
    with tidelog.connect(spark=spark, state=tmp_path) as db:
        [record] = own(caplog)
        assert (record.event, record.engine, record.epoch) == ("open", "cluster", 2)
        assert (db.stats()["rounds"], db.stats()["epochs"], db.has_pending) == (0, 2, False)
        assert rows(db, "t") == pairs(*EDGES[:3])
        assert str(db.blame("t", ("a", "d"))) == blamed
        db.delete("e", [("b", "c")])
        db.insert("e", [("d", "new")])
        change = db.commit()
        assert change.report.engine == "cluster"
        assert rows(db, "t") == pairs(("a", "b"), ("c", "d"), ("d", "new"))
        db.check()
    [folder] = (tmp_path / "cluster").iterdir()
    manifest = bytearray((folder / "manifest").read_bytes())
    manifest[100] ^= 1
    (folder / "manifest").write_bytes(manifest)
    caplog.clear()
    with tidelog.connect(spark=spark, state=tmp_path) as db:
        warning, record = own(caplog)
        assert warning.levelno == logging.WARNING
        assert "the state folder is damaged: its checksum is another" in warning.getMessage()
        assert (record.event, record.engine, record.epoch) == ("open", "embedded", 3)
        assert rows(db, "t") == pairs(("a", "b"), ("c", "d"), ("d", "new"))
    assert not (tmp_path / "cluster").exists()


@pytest.mark.smoke
def test_partitions_go_when_a_database_leaves_them(spark: SparkSession, tmp_path: Path) -> None:
    with tidelog.connect(spark=spark, state=tmp_path) as db:
        db.options(engine="cluster", partitions=2)
        db.load(PROGRAM)
        db.insert("e", EDGES)
        db.commit()
        assert len(list((tmp_path / "cluster").iterdir())) == 1
        db.options(engine="embedded")
        db.insert("e", [("y", "z")])
        db.commit()
        assert not list((tmp_path / "cluster").iterdir())
    with tidelog.connect(spark=spark, state=tmp_path) as db:
        assert (db.stats()["engine"], rows(db, "t")) == ("embedded", pairs(*EDGES, ("y", "z")))


def test_who_opened_a_folder_before_harms_no_partitions(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state = f"local://{tmp_path}/state"  # without locks
    first = tidelog.connect(spark=spark, state=state)
    first.options(engine="cluster", partitions=2)
    first.load(PROGRAM)
    first.insert("e", EDGES)
    first.commit()
    with tidelog.connect(spark=spark, state=state) as second:
        second.insert("e", [("y", "z")])
        second.commit()
        first.insert("e", [("d", "e")])
        with pytest.raises(UsageError, match="another process has opened it since"):
            first.commit()
        first.close()
        assert rows(second, "t") == pairs(*EDGES, ("y", "z"))
        second.delete("e", [("a", "b")])
        second.commit()
        assert rows(second, "t") == pairs(*EDGES[1:], ("y", "z"))
    with tidelog.connect(spark=spark, state=state) as third:
        assert third.stats()["engine"] == "cluster"
        assert rows(third, "t") == pairs(*EDGES[1:], ("y", "z"))
    assert not [record for record in own(caplog) if record.levelno >= logging.WARNING]
