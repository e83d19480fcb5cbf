"""A run reads what the runs before it have not read: new rows of sources of mode "append", snapshots that changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.spark.test_pipeline import SMALL, rows
from tidelog.spark import Counts, Pipeline, Result, Source, SparkDatabase


def run(spark: SparkSession, folder: Path, source: Source) -> Result:
    return Pipeline(SMALL, [source], state=folder / "state", quarantine=folder / "bad").run(spark)


def test_new_files_are_read_once_and_their_bad_rows_quarantined_once(spark: SparkSession, tmp_path: Path) -> None:
    source = Source("e", tmp_path / "in", options={"header": True, "pathGlobFilter": "*.csv"}, mode="append")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/1 [a].csv").write_text("x,y\n1,a\nbad,b\n")
    (tmp_path / "in/none.txt").write_text("x,y\n9,z\n")
    with run(spark, tmp_path, source) as result:
        assert result.counts["e"] == Counts(read=2, accepted=1, quarantined=1)
    (tmp_path / "in/2 [b].csv").write_text("y,x\nc,3\n,bad\n")
    with run(spark, tmp_path, source) as result:
        assert result.counts["e"] == Counts(read=2, accepted=1, quarantined=1)
        assert rows(result.database["e"]) == {(1, "a"), (3, "c")}
        assert result.quarantine.count() == 1
    with run(spark, tmp_path, source) as result:
        assert (result.counts["e"], result.notes) == (Counts(), ())
        assert rows(result.database["e"]) == {(1, "a"), (3, "c")}
    assert spark.read.parquet(str(tmp_path / "bad")).count() == 2
    (tmp_path / "in/1 [a].csv").write_text("x,y,z\n1,a,-\n4,d,-\n")  # A file that has changed is another one.
    with run(spark, tmp_path, source) as result:
        assert result.notes == (f"e from {tmp_path}/in has a new column z",)
        assert result.counts["e"].read == 2
        assert rows(result.database["e"]) == {(1, "a"), (3, "c"), (4, "d")}


def test_new_files_of_a_folder_with_partitions(spark: SparkSession, tmp_path: Path) -> None:
    source = Source("e", tmp_path / "in", format="parquet", mode="append")
    for x in (1, 2):
        spark.sql(f"select {x} x, 'a' y").write.partitionBy("x").mode("append").parquet(str(tmp_path / "in"))
        with run(spark, tmp_path, source) as result:
            assert result.counts["e"] == Counts(read=1, accepted=1)
            assert rows(result.change["e"].inserted) == {(x, "a")}


@pytest.mark.smoke
def test_a_source_that_cannot_tell_what_is_new_says_so(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql(f"create table grown (x int, y string) using parquet location '{tmp_path}/grown'")
    try:
        for x in (1, 2):
            spark.sql(f"insert into grown values ({x}, 'a')")
            with run(spark, tmp_path, Source("e", table="grown", mode="append")) as result:
                assert result.counts["e"].read == x
                said = "e from grown does not say which rows are new, so that all of its rows were read"
                assert result.notes == (() if x == 1 else (said,))
    finally:
        spark.sql("drop table grown")


# --- snapshots -------------------------------------------------------------------------------------------------------


def once(
    spark: SparkSession, folder: Path, *sources: Source, program: str = SMALL
) -> tuple[int, set[tuple[object, ...]]]:
    """Run; return how many rows were read, and the facts."""
    with Pipeline(program, sources, state=folder / "state", quarantine=folder / "bad").run(spark) as result:
        return result.counts["e"].read, rows(result.database["e"])


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with two files."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "1.csv").write_text("x,y\n1,a\nbad,b\n")
    (folder / "2.csv").write_text("x,y\n2,b\n")
    return folder


@pytest.mark.smoke
def test_a_snapshot_is_read_again_once_a_file_has_changed(spark: SparkSession, tmp_path: Path, files: Path) -> None:
    source = Source("e", files, options={"header": True})
    both = {(1, "a"), (2, "b")}
    assert once(spark, tmp_path, source) == (3, both)
    assert once(spark, tmp_path, source) == (0, both)
    assert once(spark, tmp_path, source) == (0, both)
    assert spark.read.parquet(str(tmp_path / "bad")).count() == 1
    (files / "2.csv").write_text("x,y\n22,b\n")
    assert once(spark, tmp_path, source) == (3, {(1, "a"), (22, "b")})
    (files / "1.csv").unlink()
    assert once(spark, tmp_path, source) == (1, {(22, "b")})
    assert once(spark, tmp_path, source) == (0, {(22, "b")})


def test_a_snapshot_is_read_again_if_anything_else_decides_about_its_facts(
    spark: SparkSession, tmp_path: Path, files: Path
) -> None:
    source = Source("e", files, options={"header": True})
    both = {(1, "a"), (2, "b")}

    def settle(*sources: Source) -> None:
        once(spark, tmp_path, *sources)
        assert once(spark, tmp_path, *sources) == (0, both)

    settle(source)
    with SparkDatabase(spark, tmp_path / "state") as db:  # somebody else's commit
        db.delete("e", [(1, "a")])
        db.commit()
    assert once(spark, tmp_path, source) == (3, both)
    settle(source)
    more = f'{SMALL} e(3, "c").'
    assert once(spark, tmp_path, source, program=more) == (3, {*both, (3, "c")})
    assert once(spark, tmp_path, source, program=more) == (0, {*both, (3, "c")})
    settle(source)
    assert once(spark, tmp_path, replace(source, rejected="y"))[0] == 3
    settle(source)
    other = tmp_path / "other.csv"
    other.write_text("x,y\n4,d\n")
    beside = Source("e", other, options={"header": True})
    assert once(spark, tmp_path, source, beside) == (4, {*both, (4, "d")})
    assert once(spark, tmp_path, source, beside) == (0, {*both, (4, "d")})
    other.write_text("x,y\n5,e\n6,f\n")  # The other one says what it said before, and is needed all the same.
    assert once(spark, tmp_path, source, beside) == (5, {*both, (5, "e"), (6, "f")})
    assert once(spark, tmp_path, source) == (3, both)


def test_what_an_expression_says_may_change_without_the_files(spark: SparkSession, tmp_path: Path, files: Path) -> None:
    for source in (
        Source("e", files, options={"header": True}, expressions={"y": "cast(current_date() as string)"}),
        Source("e", files, options={"header": True}, columns={"y": F.current_user()}),
    ):
        assert [once(spark, tmp_path, source)[0] for _ in range(2)] == [3, 3]
    shared = Source("e", files, options={"header": True})
    for twice in range(2):
        assert once(spark, tmp_path, shared, replace(shared, options={"header": True, "quote": "'"}))[0] == 6, twice
