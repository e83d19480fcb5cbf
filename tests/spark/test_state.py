"""The state folder: what it keeps, whom it lets in, and what it makes of damage."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import tidelog
from tidelog.errors import DataError, UsageError
from tidelog.store import state as module
from tidelog.store.state import StateFolder

PROGRAM = """
.type Place = [town: symbol, number: unsigned]
.type List = [head: float, tail: List]
.decl e(x: number, y: symbol)
.decl at(p: Place, l: List)
.decl go()
.decl n(k: number)
.decl reach(x: number, y: number)
e(0, "said").
c: n(k) :- k = count : { e(_, _) }.
"""


def rows(frame: DataFrame) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in frame.collect()}


def test_facts_rules_and_epochs_come_back(spark: SparkSession, tmp_path: Path) -> None:
    place, chain = ("Oslo", 2**63), (1.5, (float("-inf"), None))
    with tidelog.connect(spark=spark, state=tmp_path / "s") as db:
        db.load(PROGRAM)
        db.insert("e", spark.createDataFrame([(1, "ä"), (2, "b")], "x int, y string"))
        db.insert("at", [(place, chain), (None, None)])
        db.insert("go", [()])
        db.commit()
        db.delete("e", [(2, "b"), (0, "said")])
        db.rules.add("d: reach(x, x) :- e(x, _).")
        db.commit()
        db.rules.add(".decl late(x: number)  late(5).")
        db.rules.remove("d")
        db.insert("reach", [(7, 8)])
        db.commit()
        kept = {name: rows(db[name]) for name in db.relations}
    with tidelog.connect(spark=spark, state=tmp_path / "s") as db:
        assert {name: rows(db[name]) for name in db.relations} == kept
        assert kept["e"] == {(1, "ä")}
        assert kept["at"] == {(("Oslo", Decimal(2**63)), "[1.5, [-inf, nil]]"), (None, "nil")}
        assert (kept["n"], kept["reach"], kept["late"], kept["go"]) == ({(1,)}, {(7, 8)}, {(5,)}, {()})
        assert list(db.rules) == ["c"]
        db.insert("e", [(3, "c")])
        assert db.commit().epoch == 4
        assert set(db.local("at")) == {(place, chain), (None, None)}


def test_an_epoch_that_fails_leaves_no_trace(spark: SparkSession, tmp_path: Path) -> None:
    with tidelog.connect(spark=spark, state=tmp_path) as db:
        db.load(PROGRAM)
        db.commit()
        before = (tmp_path / "manifest.json").read_text(), sorted(os.listdir(tmp_path / "segments"))
        db.rules.add("big: reach(x, y) :- x = range(0, 1000), y = range(0, 1000).")
        db.insert("e", [(4, "d")])
        db.options(max_rows=1000)
        with pytest.raises(tidelog.LimitError):
            db.commit()
        assert before == ((tmp_path / "manifest.json").read_text(), sorted(os.listdir(tmp_path / "segments")))
        assert rows(db["e"]) == {(0, "said")}


def test_what_a_killed_process_leaves_is_removed(tmp_path: Path) -> None:
    first = StateFolder(tmp_path, "spark")
    first.publish(first.prepare({("e", True): pa.table({"x": [1]})}), ".decl e(x: number)\n", {"streams": {"q": 1}})
    first.prepare({("e", True): pa.table({"x": [2]})})  # and here it is killed
    (tmp_path / "manifest.json.new").write_text('{"version"')
    first.close()
    second = StateFolder(tmp_path, "spark")
    assert sorted(os.listdir(tmp_path / "segments")) == ["00000001"]
    assert (second.manifest.epoch, second.manifest.notes) == (1, {"streams": {"q": 1}})
    second.publish(second.prepare({}), ".decl e(x: number)\n", {"streams": {"r": 5}})
    assert list(second.manifest.segments) == ["00000001"]
    assert second.manifest.notes == {"streams": {"q": 1, "r": 5}}
    second.close()


@pytest.mark.smoke
def test_many_segments_become_one(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SEGMENTS", 3)
    with tidelog.connect(spark=spark, state=tmp_path) as db:
        db.load(".decl e(x: number)  .decl none(x: number)")
        for i in range(6):
            db.insert("e", [(i,), (i + 1,)])
            db.delete("e", [(0,)])
            db.commit()
        assert len(os.listdir(tmp_path / "segments")) <= 3
    with tidelog.connect(spark=spark, state=tmp_path) as db:
        assert rows(db["e"]) == {(i,) for i in range(1, 7)}
        assert db.stats()["epochs"] == 6


def test_two_databases_cannot_share_a_folder(spark: SparkSession, tmp_path: Path) -> None:
    with tidelog.connect(spark=spark, state=tmp_path):
        with pytest.raises(UsageError) as caught:
            tidelog.connect(spark=spark, state=tmp_path)
        assert caught.value.code == "E0680"
        assert f"in use by process {os.getpid()}" in str(caught.value)
    tidelog.connect(spark=spark, state=tmp_path).close()


def test_a_folder_is_free_when_its_process_is_gone(tmp_path: Path) -> None:
    code = f"import os; from tidelog.store.state import StateFolder; s = StateFolder({str(tmp_path)!r}); os._exit(9)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    StateFolder(tmp_path).close()


def test_a_file_where_the_folder_should_be_is_told(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file/below"):
        with pytest.raises(UsageError) as caught:
            tidelog.connect(spark=spark, state=place)
        assert caught.value.code == "E0681"
        assert str(place) in str(caught.value)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda folder: (folder / "manifest.json").write_text("{"), "manifest.json"),
        (lambda folder: (folder / "manifest.json").write_text('{"version": 9}'), "another version"),
        (lambda folder: (folder / "manifest.json").write_text('{"more": 2}'), "does not say that this is a store"),
        (lambda folder: shutil.rmtree(folder / "segments/00000001"), "segments/00000001/e.insert.parquet"),
        (lambda folder: (folder / "segments/00000001/e.insert.parquet").write_bytes(b"PAR1"), "e.insert.parquet"),
    ],
)
def test_damage_is_told(spark: SparkSession, tmp_path: Path, damage: Any, said: str) -> None:
    with tidelog.connect(spark=spark, state=tmp_path) as db:
        db.load(PROGRAM)
        db.commit()
    damage(tmp_path)
    for _ in range(2):  # the folder is free again after the error
        with pytest.raises(DataError, match=said) as caught:
            tidelog.connect(spark=spark, state=tmp_path)
        assert caught.value.code == "E0682"


@pytest.mark.parametrize("engine", ["embedded", "cluster"])
def test_a_removed_instance_does_not_come_back(spark: SparkSession, tmp_path: Path, engine: str) -> None:
    component = ".comp Closed { .decl e(x: number, y: number) .decl t(x: number, y: number)\n t(x, y) :- e+(x, y). }\n"
    with tidelog.connect(spark=spark, state=tmp_path / "s") as db:
        db.options(engine=engine)
        db.load(f"{component}.init one = Closed\n.init two = Closed")
        for name in ("one", "two"):
            db.insert(f"{name}.e", [(1, 2), (2, 3)])
        db.commit()
        with db.transaction():
            db.rules.remove_instance("one")
            db.rules.add(".init one = Closed")
            db.insert("one.e", [(7, 8)])
        assert rows(db["one.t"]) == {(7, 8)}
        db.rules.remove_instance("two")
        db.commit()
    with tidelog.connect(spark=spark, state=tmp_path / "s") as db:
        assert db.relations == ("one.e", "one.t")
        assert rows(db["one.t"]) == {(7, 8)}
        db.rules.add(".comp Other { .decl e(x: symbol) }\n.init two = Other")
        db.commit()
    with tidelog.connect(spark=spark, state=tmp_path / "s") as db:
        assert rows(db["two.e"]) == set()
