"""Sources of mode "append": a run reads what the runs before it have not read."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.test_pipeline import SMALL, rows
from tidelog.spark import Counts, Pipeline, Result, Source


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
