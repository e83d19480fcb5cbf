"""The driver finds every part that executors have written into the state folder, or commits nothing; and commits leave
nothing in the session.

Two machines are two processes here: `/proc/self/cwd` is the working directory of whoever uses the path. Python workers
have that of Java, the driver another one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from pyspark.sql import SparkSession

import tidelog
from tidelog.errors import DataError, UsageError
from tidelog.spark.frames.parts import check_shared, write_parts
from tidelog.spark.frames.symbols import SymbolTable
from tidelog.storage.dictionary import Dictionary

pytestmark = pytest.mark.usefixtures("by_tasks")


@pytest.fixture
def theirs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working directory of executors, for names that nobody else uses; the driver has another one."""
    gateway: Any = spark.sparkContext._gateway
    before = os.readlink(f"/proc/{gateway.proc.pid}/cwd")
    monkeypatch.chdir(tmp_path)
    place = Path(before) / tmp_path.name
    yield place
    rmtree(place, ignore_errors=True)


def test_a_state_folder_that_executors_do_not_share_is_refused(
    spark: SparkSession, theirs: Path, tmp_path: Path
) -> None:
    state = Path("/proc/self/cwd") / theirs.name
    with tidelog.connect(spark=spark, state=state) as db:
        db.load(".decl e(x: number)")
        db.insert("e", [(1,)])
        db.commit()
        db.options(engine="cluster")
        db.insert("e", spark.range(5).selectExpr("cast(id as int) x"))
        with pytest.raises(UsageError, match=r"an executor on .* cannot read") as caught:
            db.commit()
        assert caught.value.code == "E0691"
        db.options(engine="embedded")
        db.insert("e", spark.range(5).selectExpr("cast(id as int) x"))
        db.commit()
    assert not theirs.exists()
    assert list((tmp_path / theirs.name / "segments").iterdir()) != []
    with tidelog.connect(spark=spark, state=state) as db:
        assert set(db.local("e")) == {(x,) for x in range(5)}


def test_the_driver_has_to_see_what_executors_write(spark: SparkSession, theirs: Path, tmp_path: Path) -> None:
    """Folders of the same name on both sides, and the token in both of them."""
    folder = Path("/proc/self/cwd") / theirs.name
    (tmp_path / theirs.name).mkdir()
    theirs.mkdir()
    with pytest.raises(UsageError, match=r"an executor on .* cannot read") as caught:
        check_shared(spark, str(folder))
    assert caught.value.code == "E0691"
    assert not list((tmp_path / theirs.name).iterdir())
    same = Path(f"/proc/{os.getpid()}/cwd") / theirs.name
    check_shared(spark, str(same))
    assert not list(same.iterdir())


def test_a_part_that_the_driver_does_not_find_refuses_the_commit(
    spark: SparkSession, theirs: Path, tmp_path: Path
) -> None:
    folder = Path("/proc/self/cwd") / theirs.name / "e.insert.parquet"
    (tmp_path / theirs.name).mkdir()
    folder.mkdir()
    with pytest.raises(UsageError, match="an executor does not find it"):
        write_parts(spark.range(1000), str(folder))
    (theirs / folder.name).mkdir(parents=True)
    with pytest.raises(UsageError, match=r"an executor wrote \d+ rows to part-.*which is not there") as caught:
        write_parts(spark.range(1000), str(folder))
    assert caught.value.code == "E0691"


def test_a_state_at_an_address_that_executors_do_not_share_is_refused(
    spark: SparkSession, theirs: Path, tmp_path: Path
) -> None:
    """The two machines have a file system of the same name, and neither sees the files of the other one."""
    state = f"local:///proc/self/cwd/{theirs.name}"
    with tidelog.connect(spark=spark, state=state) as db:
        db.options(engine="cluster")
        db.load(".decl e(x: number)")
        db.insert("e", spark.range(5).selectExpr("cast(id as int) x"))
        with pytest.raises(UsageError, match=r"an executor on .* cannot read") as caught:
            db.commit()
        assert (caught.value.code, state in str(caught.value)) == ("E0691", True)
        db.options(engine="embedded")
        db.commit()
    with tidelog.connect(spark=spark, state=state) as db:
        assert set(db.local("e")) == {(x,) for x in range(5)}
    assert not theirs.exists()


@pytest.mark.parametrize("engine", ["embedded", "cluster"])
def test_a_state_at_an_address_comes_back(spark: SparkSession, tmp_path: Path, engine: str) -> None:
    state = f"local://{tmp_path}/50% [state]"
    program = ".type R = [a: symbol, b: float]\n.decl e(x: number, y: symbol)\n.decl r(r: R)\n.decl go()"
    with tidelog.connect(spark=spark, state=state) as db:
        db.options(engine=engine)
        db.load(program)
        db.insert("e", spark.range(0, 100, 1, 3).selectExpr("cast(id as int) x", "concat('s', id % 7) y"))
        db.insert("r", [(("a", 0.5),)])
        db.insert("go", [()])
        db.commit()
        db.delete("e", spark.range(0, 100, 2).selectExpr("cast(id as int) x", "concat('s', id % 7) y"))
        db.commit()
    expected = {(x, f"s{x % 7}") for x in range(1, 100, 2)}
    for again in ("embedded", "cluster"):
        with tidelog.connect(spark=spark, state=state) as db:
            assert set(db.local("e")) == expected
            assert (set(db.local("r")), set(db.local("go"))) == ({(("a", 0.5),)}, {()})
            db.options(engine=again)
            db.insert("e", spark.createDataFrame([(1000 + len(expected), again)], "x int, y string"))
            assert db.commit().report.engine == again
            expected.add((1000 + len(expected), again))
    with tidelog.connect(spark=spark, state=state) as db:
        assert set(db.local("e")) == expected
        assert (db.stats()["epochs"], db.stats()["engine"]) == (4, "cluster")
    assert len(list(tmp_path.glob("50*/cluster/*"))) == 1


@pytest.mark.parametrize("kind", ["", "local://"])
def test_a_part_that_is_missing_cut_or_changed_is_damage(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "state"
    with tidelog.connect(spark=spark, state=f"{kind}{folder}") as db:
        db.options(engine="cluster")
        db.load(".decl e(x: number)")
        db.insert("e", spark.range(0, 100, 1, 2).selectExpr("cast(id as int) x"))
        db.commit()
    part = sorted(folder.glob("segments/*/e.insert.parquet/part-*"))[0]
    data = part.read_bytes()
    for damage in (None, data[:-1], data[:60] + b"x" + data[61:]):
        part.unlink()
        if damage is not None:
            part.write_bytes(damage)
        with pytest.raises(DataError) as caught:
            tidelog.connect(spark=spark, state=f"{kind}{folder}")
        assert (caught.value.code, f"{kind}{part}" in str(caught.value)) == ("E0682", True), str(caught.value)
        part.write_bytes(data)
    with tidelog.connect(spark=spark, state=f"{kind}{folder}") as db:
        assert db["e"].count() == 100


@pytest.mark.smoke
def test_parts_are_listed_with_rows_and_checksums(spark: SparkSession, tmp_path: Path) -> None:
    values = spark.range(0, 1000, 1, 3).selectExpr("id", "cast(id as string) name")
    for name in ("50% [e]", "none"):
        (tmp_path / name).mkdir()
    parts = write_parts(values, str(tmp_path / "50% [e]"))
    assert sum(part.rows or 0 for part in parts) == 1000
    assert sorted(part.name for part in parts) == sorted(os.listdir(tmp_path / "50% [e]"))
    assert len({part.sum for part in parts}) == len(parts) == 3
    assert write_parts(values.where("id < 0"), str(tmp_path / "none")) == []


def test_commits_with_symbols_and_records_leave_nothing_in_the_session(spark: SparkSession) -> None:
    context: Any = spark.sparkContext

    def left() -> tuple[int, int]:
        """Frames that are kept, and broadcasts."""
        return context._jsc.getPersistentRDDs().size(), len(os.listdir(context._temp_dir))

    before = left()
    with tidelog.connect(spark=spark) as db:
        db.options(engine="cluster")
        db.load(
            ".type R = [a: symbol, b: number]\n.decl e(y: symbol)\n.decl r(r: R)\n.decl f(y: symbol)\nf(y) :- e(y)."
        )
        seen = set()
        for i in range(3):
            db.insert("e", spark.createDataFrame([(f"s{i}",), ("always",)], "y string"))
            db.insert("r", [((f"r{i}", i),)])
            change = db.commit()
            assert (db["f"].count(), change["r"].inserted.count()) == (i + 2, 1)
            assert len(db["r"].collect()) == i + 1
            seen.add(left())
        assert seen <= {before, (before[0], before[1] + 1)}, "one broadcast, of the dictionary"
    assert left() == before


def test_symbols_are_in_few_frames_however_they_came(spark: SparkSession) -> None:
    dictionary = Dictionary()
    table = SymbolTable(spark, dictionary)
    sizes = []
    for i in range(40):
        dictionary.encode(f"s{i}", "symbol")
        table.follow()
        sizes.append(len(table._parts))
    assert len(table) == len(dictionary)
    assert max(sizes) <= 6
    assert {row["symbol"]: row["id"] for row in table.frame.collect()} == {
        str(dictionary.decode(i, "symbol")): i for i in range(len(dictionary))
    }
    table.close()
