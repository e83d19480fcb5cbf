"""A run reads only those files of a snapshot that no run has read, and says the same as one that reads all of them."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from tests.depth import cases
from tests.spark.test_pipeline import SMALL, rows
from tidelog.errors import DataError, TidelogError
from tidelog.spark import Counts, FileCounts, Pipeline, Result, Sink, Source, SparkDatabase
from tidelog.spark.pipelines import file_rows, unread
from tidelog.spark.pipelines.unread import _note_of
from tidelog.spark.sources import facts
from tidelog.store.state import StateFolder

CSV = {"header": True}


class Folder:
    """Files of a source with `options` in the folder `place`, and the runs of its pipeline."""

    def __init__(self, spark: SparkSession, place: Path, **options: Any) -> None:
        self.spark = spark
        self.place = place
        self.options: dict[str, Any] = {"options": CSV, **options}
        (place / "in").mkdir()

    def put(self, name: str, *lines: str) -> None:
        (self.place / "in" / name).write_text("x,y\n" + "".join(f"{line}\n" for line in lines))

    def forge(self, name: str, text: str) -> None:
        """Replace a text of a file by another one so that nobody can see it without reading the file."""
        path = self.place / "in" / name
        times, content = path.stat(), path.read_text()
        path.write_text(content[: -len(text)] + text)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def source(self, **options: Any) -> Source:
        return Source("e", self.place / "in", **{**self.options, **options})

    def run(self, *others: Source, program: str = SMALL, **options: Any) -> Result:
        return Pipeline(program, [self.source(**options), *others], state=self.place / "state").run(self.spark)

    def read(self, *others: Source, **options: Any) -> tuple[FileCounts, set[tuple[object, ...]]]:
        """Run; return how many files were read, and the facts."""
        with self.run(*others, **options) as result:
            return result.files[f"e from {self.place}/in"], rows(result.database["e"])

    @property
    def tables(self) -> list[str]:
        """The epochs whose tables the state folder has."""
        folder = self.place / "state/files"
        return sorted(os.listdir(folder)) if folder.exists() else []


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path) -> Folder:
    """Three files; the last one has a bad row and a fact of the first one."""
    found = Folder(spark, tmp_path)
    found.put("1.csv", "1,a", "2,b", "2,b")
    found.put("2.csv", "3,c")
    found.put("3.csv", "1,a", "bad,d", "4,d")
    return found


ALL = {(1, "a"), (2, "b"), (3, "c"), (4, "d")}


@pytest.mark.smoke
def test_only_the_changed_file_is_read(folder: Folder) -> None:
    assert folder.read() == (FileCounts(read=3, unchanged=0), ALL)
    folder.forge("3.csv", "9,z\n")
    folder.put("2.csv", "5,e", "", "worse,e")
    with folder.run() as result:
        assert result.files == {f"e from {folder.place}/in": FileCounts(read=1, unchanged=2)}
        assert result.to_dict()["files"] == {f"e from {folder.place}/in": {"read": 1, "unchanged": 2}}
        assert result.counts["e"] == Counts(read=8, accepted=6, quarantined=2, duplicates=2)
        assert {(row.reason, row.row, Path(row.source).name) for row in result.quarantine.collect()} == {
            ("x: not a number", '{"x":"bad","y":"d"}', "3.csv"),
            ("x: not a number", '{"x":"worse","y":"e"}', "2.csv"),
        }
        assert rows(result.database["e"]) == {(1, "a"), (2, "b"), (4, "d"), (5, "e")}
        assert rows(result.change["e"].inserted) == {(5, "e")}
        assert rows(result.change["e"].deleted) == {(3, "c")}
    with folder.run() as result:
        assert result.files == {f"e from {folder.place}/in": FileCounts(read=0, unchanged=3)}
        assert (result.counts["e"], result.quarantine.count()) == (Counts(), 0)


def test_a_fact_stays_as_long_as_some_file_has_it(folder: Folder) -> None:
    folder.read()
    (folder.place / "in/1.csv").unlink()
    assert folder.read() == (FileCounts(read=0, unchanged=2), {(1, "a"), (3, "c"), (4, "d")})
    with_facts = SMALL + 'e(3, "c").'
    assert folder.read(program=with_facts) == (FileCounts(read=0, unchanged=2), {(1, "a"), (3, "c"), (4, "d")})
    folder.put("2.csv", "6,f")
    folder.put("3.csv", "7,g")
    assert folder.read(program=with_facts) == (FileCounts(read=2, unchanged=0), {(3, "c"), (6, "f"), (7, "g")})
    (folder.place / "in/2.csv").rename(folder.place / "in/4.csv")
    assert folder.read() == (FileCounts(read=1, unchanged=1), {(6, "f"), (7, "g")})


def test_facts_that_somebody_has_changed_come_back_without_reading(folder: Folder) -> None:
    folder.read()
    folder.forge("1.csv", "9,z\n")
    with SparkDatabase(folder.spark, folder.place / "state") as db:
        db.delete("e", [(1, "a")])
        db.insert("e", [(8, "h")])
        db.commit()
    assert folder.read() == (FileCounts(read=0, unchanged=3), ALL)


def test_two_snapshots_of_a_relation(folder: Folder) -> None:
    other = folder.place / "other.csv"
    other.write_text("x,y\n4,d\n5,e\n")
    beside = Source("e", other, options=CSV)
    assert folder.read(beside) == (FileCounts(read=3, unchanged=0), {*ALL, (5, "e")})
    folder.forge("3.csv", "9,z\n")
    other.write_text("x,y\n6,f\n")
    with folder.run(beside) as result:
        assert result.files == {
            f"e from {folder.place}/in": FileCounts(read=0, unchanged=3),
            f"e from {other}": FileCounts(read=1, unchanged=0),
        }
        assert rows(result.database["e"]) == {*ALL, (6, "f")}
    (folder.place / "in/3.csv").unlink()
    assert folder.read(beside) == (FileCounts(read=0, unchanged=2), {(1, "a"), (2, "b"), (3, "c"), (6, "f")})


# --- what reads all files --------------------------------------------------------------------------------------------


def test_another_description_of_the_source_reads_all_files(folder: Folder) -> None:
    folder.read()
    assert folder.read(options={**CSV, "nullValue": "c"})[0] == FileCounts(read=3, unchanged=0)
    assert folder.read(columns={"y": "y"})[0] == FileCounts(read=3, unchanged=0)
    assert folder.read(columns={"y": "x"}) == (
        FileCounts(read=3, unchanged=0),
        {(1, "1"), (2, "2"), (3, "3"), (4, "4")},
    )


def test_a_header_that_the_other_files_do_not_have(folder: Folder) -> None:
    folder.read()
    (folder.place / "in/2.csv").write_text("y,x\nc,3\n")
    with pytest.raises(DataError, match="E0482"):
        folder.run()
    (folder.place / "in/2.csv").write_text("")  # It has no header, and no rows.
    assert folder.read()[1] == {(1, "a"), (2, "b"), (4, "d")}
    for name in ("1.csv", "2.csv", "3.csv"):
        (folder.place / "in" / name).write_text("y,x,z\na,7,-\n")
    with folder.run() as result:
        assert result.notes == (f"e from {folder.place}/in has a new column z",)
        assert rows(result.database["e"]) == {(7, "a")}


def test_types_of_json_are_those_of_all_files(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, tmp_path, format="json", options={})
    (tmp_path / "in/1.json").write_text('{"x": 1, "y": "a"}\n')
    (tmp_path / "in/2.json").write_text('{"x": 2, "y": "b"}\n')
    assert folder.read() == (FileCounts(read=2, unchanged=0), {(1, "a"), (2, "b")})
    (tmp_path / "in/2.json").write_text('{"x": 2.5, "y": "b"}\n')
    assert folder.read() == (FileCounts(read=2, unchanged=0), {(1, "a")})


def test_types_of_the_folders_of_parquet_are_those_that_all_have_in_common(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, tmp_path, format="parquet", options={})

    def put(x: object, y: str) -> None:
        frame = spark.sql(f"select '{x}' x, '{y}' y").coalesce(1)
        frame.write.partitionBy("x").mode("append").parquet(str(tmp_path / "in"))

    put(1, "a")
    put(2, "b")
    assert folder.read() == (FileCounts(read=2, unchanged=0), {(1, "a"), (2, "b")})
    put(3, "c")
    assert folder.read() == (FileCounts(read=1, unchanged=2), {(1, "a"), (2, "b"), (3, "c")})
    put("four", "d")  # Now the folders are texts.
    assert folder.read() == (FileCounts(read=4, unchanged=0), {(1, "a"), (2, "b"), (3, "c")})
    put(5, "e")  # Alone, its folder would be a number.
    assert folder.read()[1] == {(1, "a"), (2, "b"), (3, "c"), (5, "e")}


def test_another_file_of_parquet_says_which_columns_there_are(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, tmp_path, format="parquet", options={})
    parquet.write_table(pa.table({"x": [1], "y": ["a"]}), tmp_path / "in/1.parquet")
    parquet.write_table(pa.table({"x": [2]}), tmp_path / "in/2.parquet")
    assert folder.read() == (FileCounts(read=2, unchanged=0), {(1, "a")})
    (tmp_path / "in/1.parquet").rename(tmp_path / "in/3.parquet")
    with pytest.raises(DataError, match="E0480"):
        folder.run()


def test_rows_of_a_damaged_table_are_read_again(folder: Folder) -> None:
    folder.read()
    [table] = (folder.place / "state/files").glob("*/*.parquet")
    content = bytearray(table.read_bytes())
    content[len(content) // 2] ^= 1
    table.write_bytes(content)
    folder.put("2.csv", "5,e")
    assert folder.read() == (FileCounts(read=3, unchanged=0), {(1, "a"), (2, "b"), (4, "d"), (5, "e")})
    table.unlink(missing_ok=True)
    folder.put("2.csv", "6,f")
    assert folder.read() == (FileCounts(read=1, unchanged=2), {(1, "a"), (2, "b"), (4, "d"), (6, "f")})


def test_a_state_of_an_earlier_version_has_no_rows(folder: Folder) -> None:
    folder.read()
    with SparkDatabase(folder.spark, folder.place / "state") as db:
        notes = db.keeper.notes["pipeline"]
        read = {key: {"of": note["of"], "part": note["part"]} for key, note in notes["read"].items()}
        db.keeper.write({"pipeline": {"read": read}})
    folder.put("2.csv", "5,e")
    assert folder.read()[0] == FileCounts(read=3, unchanged=0)
    folder.put("2.csv", "6,f")
    assert folder.read() == (FileCounts(read=1, unchanged=2), {(1, "a"), (2, "b"), (4, "d"), (6, "f")})


# --- tables ----------------------------------------------------------------------------------------------------------


def test_a_run_that_fails_before_its_commit(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.read()

    def fail(text: str, tables: int) -> None:
        """Run with a changed file, up to the commit."""

        def publish(*arguments: object) -> None:
            assert len(folder.tables) == tables, "The rows are there already."
            raise OSError(28, "No space left on device")

        folder.put("2.csv", text)
        with monkeypatch.context() as patch:
            patch.setattr(StateFolder, "publish", publish)
            with pytest.raises((TidelogError, OSError)):
                folder.run()

    fail("5,e", tables=2)
    folder.put("2.csv", "6,f")  # It was read, and its rows are in a table that no note names.
    assert folder.read() == (FileCounts(read=1, unchanged=2), {(1, "a"), (2, "b"), (4, "d"), (6, "f")})
    fail("7,g", tables=3)
    SparkDatabase(folder.spark, folder.place / "state").close()
    assert folder.tables == ["00000001", "00000002"]
    assert folder.read() == (FileCounts(read=1, unchanged=2), {(1, "a"), (2, "b"), (4, "d"), (7, "g")})


def test_tables_do_not_grow_with_the_runs(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_rows, "MOST_TABLES", 3)
    folder.put("4.csv", *(f"{x},n" for x in range(10, 30)))
    folder.read()
    folder.put("4.csv", "5,m")
    folder.read()
    assert folder.tables == ["00000002"], "Most rows were of files that are not there any more."
    most = 0
    for y in "efghi":
        folder.put(f"{y}.csv", f"6,{y}")
        files, found = folder.read()
        assert files.read == 1
        assert {*ALL, (5, "m"), (6, y)} <= found
        most = max(most, len(folder.tables))
    assert most == 3
    (folder.place / "in/2.csv").unlink()
    expected = {(1, "a"), (2, "b"), (4, "d"), (5, "m"), *((6, y) for y in "efghi")}
    assert folder.read() == (FileCounts(read=0, unchanged=8), expected)


def test_a_file_that_comes_while_others_are_read(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    def list_files(*arguments: Any) -> Any:
        found = _note_of(*arguments)
        folder.put("4.csv", "5,e")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(unread, "_note_of", list_files)
        assert folder.read() == (FileCounts(read=3, unchanged=0), {*ALL, (5, "e")})
    with folder.run() as result:
        assert result.files == {f"e from {folder.place}/in": FileCounts(read=1, unchanged=3)}
        assert result.counts["e"] == Counts(read=8, accepted=7, quarantined=1, duplicates=2)


def test_rows_of_a_source_that_is_left_out_go(folder: Folder) -> None:
    folder.read()
    other = folder.place / "other.csv"
    other.write_text("x,y\n7,g\n")
    with Pipeline(SMALL, [Source("e", other, options=CSV)], state=folder.place / "state").run(folder.spark) as result:
        assert rows(result.database["e"]) == {(7, "g")}
    assert folder.tables == ["00000002"]


def test_partitions_get_the_rows_of_all_files(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "FEW_ROWS", 0)
    program = ".decl e(x: number, y: symbol)\n.decl n(y: symbol)\nn(y) :- e(_, y)."
    pipeline = Pipeline(program, [folder.source()], state=folder.place / "state", engine="cluster")
    pipeline.run(folder.spark).close()
    folder.put("2.csv", "1,a", "5,e")
    with pipeline.run(folder.spark) as result:
        assert result.change.report.engine == "cluster"
        assert result.files == {f"e from {folder.place}/in": FileCounts(read=1, unchanged=2)}
        assert result.counts["e"] == Counts(read=8, accepted=7, quarantined=1, duplicates=3)
        assert rows(result.change["e"].inserted) == {(5, "e")}
        assert rows(result.change["e"].deleted) == {(3, "c")}
        assert rows(result["n"]) == {("a",), ("b",), ("d",), ("e",)}


# --- beside full runs ------------------------------------------------------------------------------------------------

PROGRAM = """
.decl e(x: number, y: symbol)
.decl f(x: number, w: float)
.decl both(x: number, y: symbol)
.decl n(y: symbol, k: number)
both(x, y) :- e(x, y), f(x, _).
n(y, k) :- e(_, y), k = count : { e(_, y) }.
f(0, 0.5).
"""
LINES = ("{x},{y}", '{x},"{y}"', "{x},", "bad,{y}", "{x}", '{x},"say ""{y}"""', '{x},"two\n{y}"', '{x},"open {y}')


@pytest.mark.parametrize("way", ["driver", "tasks", "address"])
def test_files_that_come_change_and_go(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(file_rows, "MOST_TABLES", 4)
    if way != "driver":
        monkeypatch.setattr(facts, "FEW_ROWS", 0)
        monkeypatch.setattr(facts, "MANY_BYTES", 0)
    chance = random.Random(f"files {way}")
    state = f"local://{tmp_path}/state" if way == "address" else str(tmp_path / "state")
    before: dict[str, set[tuple[object, ...]]] = {}

    def line() -> str:
        text = LINES[0] if chance.random() < 0.7 else chance.choice(LINES)
        return text.format(x=chance.randrange(6), y=chance.choice("ab"))

    def run(state: str) -> dict[str, Any]:
        sources = [Source("e", tmp_path / "e", options=CSV), Source("f", tmp_path / "f", options=CSV)]
        sinks = [Sink(name, str(tmp_path / f"{name} sink")) for name in ("both", "n")]
        bad = f"{state.removeprefix('local://')} bad"
        with Pipeline(PROGRAM, sources, sinks, bad, state).run(spark) as result:
            return {
                "read": result.files[f"e from {tmp_path}/e"].read,
                "counts": dict(result.counts),
                "bad": Counter(tuple(row) for row in result.quarantine.collect()),
                "facts": {name: rows(result.database[name]) for name in ("e", "f", "both", "n")},
                "written": {Path(path).name: count for path, count in result.written.items() if "sink" in path},
                "inserted": {name: rows(result.change[name].inserted) for name in ("e", "f", "both", "n")},
                "deleted": {name: rows(result.change[name].deleted) for name in ("e", "f", "both", "n")},
            }

    for relation in "ef":
        (tmp_path / relation).mkdir()
        for i in range(5):
            (tmp_path / relation / f"{i}.csv").write_text("x,y\n0,c\n" if relation == "e" else "x,w\n1,0.5\n")
    for number in range(max(4, cases(24)) if way == "driver" else 3):
        changed = {tmp_path / "e" / f"{chance.randrange(6)}.csv" for _ in range(chance.randrange(1, 3))}
        for path in changed:
            if path.exists() and chance.random() < 0.2:
                path.unlink()
            else:
                path.write_text("x,y\n" + "".join(f"{line()}\n" for _ in range(chance.randrange(6))) + f"{number},c\n")
        (tmp_path / "f/0.csv").write_text(f"x,w\n{number % 3},1.5\n{number},nan\n")
        found, full = run(state), run(f"{tmp_path}/full {number}")
        assert full.pop("read") == len(os.listdir(tmp_path / "e"))
        assert found.pop("read") <= len(changed) or number == 0
        after = full["facts"]
        assert found.pop("inserted") == {name: after[name] - before.get(name, set()) for name in after}
        assert found.pop("deleted") == {name: before.get(name, set()) - after[name] for name in after}
        assert found == {name: full[name] for name in found}, number
        before = after
