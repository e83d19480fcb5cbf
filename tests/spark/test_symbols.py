"""Symbols in files, as users see them: the same answers wherever the texts are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import tidelog
from tidelog.errors import DataError, LimitError
from tidelog.spark import SparkDatabase
from tidelog.spark.frames import symbols
from tidelog.storage.dictionary import at_hand, blocks_of

PROGRAM = """
.decl e(x: symbol, y: symbol)
.decl f(x: symbol, y: symbol)
.decl g(x: symbol)
f(x, z) :- e(x, y), e(y, z).
g(x) :- e(x, "s3").
"""
FACTS = {(f"s{i}", f"s{i + 1}") for i in range(12)}
VIEW = {(f"s{i}", f"s{i + 2}") for i in range(11)}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """From four symbols on they go to files, to blocks of about five, of which tasks read the few as well."""
    monkeypatch.setattr(symbols, "FEW_SYMBOLS", 3)
    monkeypatch.setattr(symbols, "BLOCK", 5)
    monkeypatch.setattr(symbols, "FEW_BLOCKS", -1)


def rows(frame: DataFrame) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in frame.collect()}


def pairs(spark: SparkSession, *facts: tuple[str, str]) -> DataFrame:
    return spark.createDataFrame(list(facts), "x string, y string")


def filled(db: SparkDatabase, spark: SparkSession) -> None:
    db.options(engine="cluster")
    db.load(PROGRAM)
    db.insert("e", pairs(spark, *FACTS))
    db.commit()
    assert len(blocks_of(db.workspace.dictionary)) > 1


@pytest.mark.parametrize("most", [-1, 1, 100])
def test_facts_come_and_go_and_views_are_shown(
    most: int, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Symbols in at `most` so many blocks are looked up by the driver, and those in more of them by tasks."""
    with tidelog.connect(spark=spark, state=tmp_path) as db:
        filled(db, spark)
        monkeypatch.setattr(symbols, "FEW_BLOCKS", most)
        assert rows(db["f"]) == VIEW
        assert rows(db["g"]) == {("s2",)}
        db.insert("e", pairs(spark, ("s12", "s0"), ("new", "s3"), ("ä", "")))
        db.insert("e", [("at the driver", "s1")])
        db.delete("e", pairs(spark, ("s0", "s1"), ("unknown", "s1")))
        change = db.commit()
        came = {("s11", "s0"), ("new", "s4"), ("at the driver", "s2")}
        assert rows(change["f"].inserted) == came
        assert rows(change["f"].deleted) == {("s0", "s2")}
        assert rows(db.query('f("s2", y)')) == {("s2", "s4")}
        kept = db.local("f")
    assert set(kept) == VIEW - {("s0", "s2")} | came, "the database is closed, and its files are gone"
    with tidelog.connect(spark=spark, state=tmp_path) as db:
        assert len(blocks_of(db.workspace.dictionary)) > 1
        assert rows(db["f"]) == set(kept)
        db.insert("e", pairs(spark, ("s1", "x")))
        assert rows(db.commit()["f"].inserted) == {("at the driver", "x")}


def test_symbols_of_small_commits_do_not_stay_with_the_driver(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(symbols, "FEW_BLOCKS", 1_000)
    with tidelog.connect(spark=spark) as db:
        db.options(engine="cluster")
        db.load(PROGRAM)
        known = db.workspace.dictionary
        for i in range(6):
            db.insert("e", pairs(spark, (f"a{i}", f"a{i + 1}")))
            db.insert("e", [(f"b{i}", f"b{i + 1}")])
            db.commit()
            assert len(at_hand(known, 0, len(known))) <= 3 + 4
        assert len(known) == 15
        assert blocks_of(known)
        assert rows(db["f"]) == {(f"{name}{i}", f"{name}{i + 2}") for name in "ab" for i in range(5)}


def test_partitions_are_derived_anew_without_the_texts(spark: SparkSession, tmp_path: Path) -> None:
    with tidelog.connect(spark=spark, state=tmp_path) as db:
        filled(db, spark)
        db.insert("e", [("s12", "s0")])
        db.commit()  # The files of symbols name the blocks.
    for file in tmp_path.glob("cluster/*/texts-*"):
        file.unlink()
    with tidelog.connect(spark=spark, state=tmp_path) as db:
        assert rows(db["f"]) == VIEW | {("s11", "s0"), ("s12", "s1")}


@pytest.mark.parametrize("harm", ["flip", "remove"])
def test_a_damaged_block_is_named_and_nothing_is_half_done(harm: str, spark: SparkSession, tmp_path: Path) -> None:
    """By tasks and by the driver. Without the file, the folder is opened with the facts of before."""
    with tidelog.connect(spark=spark, state=tmp_path) as db:
        filled(db, spark)
        db.insert("e", [("s12", "s0")])
        db.commit()  # The files of symbols name the blocks.
        files = {tmp_path / "cluster" / path for path in tmp_path.glob("cluster/*/texts-*")}
        for file in files:
            data = bytearray(file.read_bytes())
            data[40] ^= 1
            file.write_bytes(data) if harm == "flip" else file.unlink()
        for facts in (pairs(spark, ("s3", "s1"), ("s2", "s1")), [("s3", "s1")]):
            with pytest.raises(DataError, match="E0682") as raised:  # noqa: PT012  # facts of the driver are read at once
                db.insert("e", facts)
                db.commit()
            assert raised.value.problems[0].place in {str(file) for file in files}
            assert f"their file {'has another checksum' if harm == 'flip' else 'is missing'}" in str(raised.value)
            assert "remove the file and open the state folder again" in str(raised.value)
            db.rollback()
        assert db.epoch == 2
    for file in files:
        file.unlink(missing_ok=True)
    with tidelog.connect(spark=spark, state=tmp_path) as db:
        assert rows(db["f"]) == VIEW | {("s11", "s0"), ("s12", "s1")}


def test_another_engine_has_the_symbols(spark: SparkSession) -> None:
    with tidelog.connect(spark=spark) as db:
        filled(db, spark)
        db.options(engine="embedded")
        db.insert("e", [("s12", "s0")])
        db.commit()
        assert not len(blocks_of(db.workspace.dictionary))
        assert rows(db["f"]) == VIEW | {("s11", "s0"), ("s12", "s1")}
        db.options(engine="cluster")
        db.insert("e", pairs(spark, ("s3", "s5")))
        db.commit()
        assert len(blocks_of(db.workspace.dictionary)) > 1
        assert rows(db["f"]) == VIEW | {("s11", "s0"), ("s12", "s1"), ("s2", "s5"), ("s3", "s6")}


@pytest.mark.smoke
def test_an_engine_that_fails_leaves_no_symbol_behind(spark: SparkSession) -> None:
    """Its files are gone, and what it has numbered is at hand."""
    with tidelog.connect(spark=spark) as db:
        db.load(PROGRAM)
        db.insert("e", [("s0", "s1")])
        db.commit()
        db.options(engine="cluster", max_rows=1)
        db.insert("e", pairs(spark, *FACTS))
        with pytest.raises(LimitError, match="E0502"):
            db.commit()
        assert not len(blocks_of(db.workspace.dictionary))
        db.rollback()
        db.options(engine="embedded", max_rows=None)
        db.insert("e", pairs(spark, *FACTS))
        db.commit()
        assert rows(db["f"]) == VIEW


def test_rules_and_records_look_into_symbols_in_files(spark: SparkSession) -> None:
    with tidelog.connect(spark=spark) as db:
        filled(db, spark)
        db.load("""
            .type Pair = [a: symbol, b: symbol]
            .decl h(x: symbol)
            .decl r(p: Pair)
            h(cat(x, "!")) :- e(x, _).
            r([x, y]) :- e(x, y).
        """)
        db.commit()
        assert rows(db["h"]) == {(f"{x}!",) for x, _ in FACTS}
        assert {(row["p"]["a"], row["p"]["b"]) for row in db["r"].collect()} == FACTS
        db.check()
