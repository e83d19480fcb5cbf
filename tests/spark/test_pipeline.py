"""From sources to views, and what a pipeline leaves behind: nothing."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import tidelog
from tidelog.errors import DataError, ProgramError, TidelogError, UsageError
from tidelog.spark import Counts, Pipeline, Sink, Source

PROGRAM = """
.decl edge(x: symbol, y: symbol)
.decl weight(x: symbol, w: float)
.decl reach(x: symbol, y: symbol)
.decl lonely(x: symbol)
.decl total(x: symbol, n: number, w: float)
.output total
.output reach
edge("start", "a").
r1: reach(x, y) :- edge(x, y).
r2: reach(x, z) :- reach(x, y), edge(y, z).
r3: lonely(x) :- edge(x, _), !reach(x, x).
r4: total(x, n, w) :- edge(x, _), n = count : { reach(x, _) }, w = sum v : { reach(x, y), weight(y, v) }.
"""
EDGES = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "ü"), ("a", "b")]
WEIGHTS = [("a", 1.5), ("b", 2.0), ("ü", -4.0)]
SMALL = ".decl e(x: number, y: symbol)\n.decl n(k: number)\nc: n(k) :- k = count : { e(_, _) }."


def kept(spark: SparkSession) -> tuple[object, ...]:
    """Return everything that a pipeline must not change: configuration, cached data, temporary views, Spark's temporary
    files."""
    context = spark.sparkContext
    return (
        dict(spark.conf.getAll),
        context._jsc.getPersistentRDDs().size(),
        [table.name for table in spark.catalog.listTables()],
        sorted(os.listdir(context._temp_dir)),
    )


def rows(frame: DataFrame) -> set[tuple[object, ...]]:
    return {tuple(row) for row in frame.collect()}


def test_views_are_those_of_the_embedded_engine_and_nothing_is_left(spark: SparkSession) -> None:
    before = kept(spark)
    edges = spark.createDataFrame([*EDGES, ("d", None)], "x string, y string")
    weights = spark.createDataFrame(WEIGHTS, "x string, w double")
    stages = []
    sources = [Source("edge", frame=edges), Source("weight", frame=weights)]
    with Pipeline(PROGRAM, sources).run(spark, progress=lambda stage, seconds: stages.append(stage)) as result:
        assert rows(result.database.query('reach("a", Y)')) == {("a", y) for y in "abcü"}
        assert result.quarantine.count() == 1
        assert stages == list(result.seconds) == ["check", "facts", "engine", "sinks"]
        assert result.counts == {
            "edge": Counts(read=6, accepted=5, quarantined=1, duplicates=1),
            "weight": Counts(read=3, accepted=3),
        }
        assert list(result) == ["total", "reach"]
        assert result.change.report.engine == "embedded"
        assert rows(result["total"]) == {("start", 4, -0.5), ("a", 4, -0.5), ("b", 4, -0.5), ("c", 1, -4.0)}
        here = tidelog.connect()
        here.load(PROGRAM)
        here.insert("edge", EDGES)
        here.insert("weight", WEIGHTS)
        here.commit()
        for name in result:
            assert rows(result[name]) == set(here[name])
    assert kept(spark) == before


@pytest.mark.smoke
def test_further_runs_on_a_database_work_on_the_difference(spark: SparkSession) -> None:
    first = spark.createDataFrame([(1, "a"), (2, "b")], "x int, y string")
    second = spark.createDataFrame([(2, "b"), (3, "c"), (3, "c")], "x int, y string")
    with tidelog.connect(spark=spark) as db:
        db.options(engine="embedded", embedded_limit=1)
        Pipeline(SMALL + "n(10).", [Source("e", frame=first)]).run(spark, db)
        result = Pipeline(SMALL + "n(11).", [Source("e", frame=second)]).run(spark, db)
        assert result.change.report.engine == "embedded"
        assert rows(result.change["n"].inserted) == {(11,)}  # of the text
        assert rows(result.change["n"].deleted) == {(10,)}
        assert rows(result.change["e"].inserted) == {(3, "c")}
        assert rows(result.change["e"].deleted) == {(1, "a")}
        assert result.counts["e"] == Counts(read=3, accepted=3, duplicates=1)
        db.insert("e", [(4, "pending")])
        more = Pipeline(SMALL, [Source("e", frame=first, mode="append")]).run(spark, db)
        assert rows(db["e"]) == {(1, "a"), (2, "b"), (3, "c"), (4, "pending")}
        assert rows(more.change["n"].inserted) == {(4,)}
        assert db.stats()["epochs"] == 4


def test_a_feed_of_changes_is_followed(spark: SparkSession) -> None:
    feed = spark.createDataFrame(
        [
            (1, "a", "I", 1),
            (2, "b", "I", 2),
            (1, "a", "D", 3),
            (3, "c", "I", 4),
            (3, "c", "D", 5),
            (3, "c", "I", 6),
            (4, "d", "?", 7),
            (5, "e", None, 8),
            (6, None, "I", 9),
        ],
        "x int, y string, op string, at int",
    )
    keys: dict[str, Any] = {"mode": "cdc", "op": "op", "insert": ["I"], "delete": ["D"]}
    for order in (None, "at"):
        with Pipeline(SMALL, [Source("e", frame=feed, order=order, **keys)]).run(spark) as result:
            assert rows(result.database["e"]) == {(2, "b"), (3, "c")}
            assert result.counts["e"].read == 9
            assert result.counts["e"].quarantined == 3
            reasons = sorted(row.reason for row in result.quarantine.collect())
            assert reasons == ["op: null", "op: unknown operation", "y: null"]


def test_a_state_folder_keeps_facts_and_program_from_run_to_run(spark: SparkSession, tmp_path: Path) -> None:
    def run(program: str, frame: DataFrame) -> set[tuple[object, ...]]:
        sinks = [Sink("n", tmp_path / "n:", mode="append"), Sink("e", tmp_path / "e", "changes", "json")]
        with Pipeline(program, [Source("e", frame=frame)], sinks, state=tmp_path / "state").run(spark) as result:
            return rows(result.database["n"])

    frame = spark.createDataFrame([(1, "a"), (2, "b")], "x int, y string")
    assert run(SMALL + ' e(7, "text").', frame) == {(3,)}
    assert run(SMALL + ' e(7, "text").', frame.where("x = 1")) == {(2,)}
    # Another program: the fact of the old text goes, a rule is replaced, a relation is new.
    other = (
        SMALL.replace("count : { e(_, _) }", "sum x : { e(x, _) }")
        + ' e(40, "new").\n.decl m(x: number)\nm(x) :- e(x, _).'
    )
    assert run(other, frame) == {(43,)}
    assert rows(spark.read.parquet(str(tmp_path / "n:/epoch=3"))) == {(43,)}
    assert (tmp_path / "n:/_manifest.json").read_text() == '{"version": 1, "epochs": [3]}\n'
    changes = spark.read.json(str(tmp_path / "e")).select("epoch", "op", "x", "y")
    assert rows(changes) == {
        (1, "insert", 1, "a"),
        (1, "insert", 2, "b"),
        (1, "insert", 7, "text"),
        (2, "delete", 2, "b"),
        (3, "insert", 2, "b"),
        (3, "insert", 40, "new"),
        (3, "delete", 7, "text"),
    }
    with pytest.raises(UsageError) as caught:
        run(SMALL.replace("y: symbol", "y: number"), frame)
    assert caught.value.code == "E0486"


def test_rows_that_differ_each_time_are_counted_once(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(2000).select(F.when(F.rand() < 0.5, F.col("id")).alias("x"))
    pipeline = Pipeline(".decl n(x: number)", [Source("n", frame=frame)], quarantine=tmp_path / "bad")
    with pipeline.run(spark) as result:
        count = result.counts["n"]
        assert count.read == 2000 == count.accepted + count.quarantined
        assert result.database["n"].count() == count.accepted
        assert result.quarantine.count() == count.quarantined
        assert result.written == {str(tmp_path / "bad"): count.quarantined}
    # Without a state folder that was no run that counts: the next one is the first again.
    with replace(pipeline, sources=[Source("n", frame=spark.range(3).withColumnRenamed("id", "x"))]).run(
        spark
    ) as result:
        assert result.quarantine.count() == 0 == spark.read.parquet(str(tmp_path / "bad")).count()


def test_a_relation_without_columns_is_true_when_a_row_is_there(spark: SparkSession) -> None:
    program = ".decl go()\n.decl stop()\n.decl went()\nwent() :- go(), !stop().\n.output went"
    sources = [Source("go", frame=spark.range(3)), Source("stop", frame=spark.range(0))]
    with Pipeline(program, sources).run(spark) as result:
        assert result.counts == {"go": Counts(read=3, accepted=3, duplicates=2), "stop": Counts()}
        assert result["went"].count() == 1


def test_a_source_that_fails_changes_nothing_and_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    before = kept(spark)
    torn = F.raise_error(F.lit("the tape is torn")).cast("string")
    frame = spark.range(3).select(torn.alias("x"), F.lit("y").alias("y"))
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 and then nonsense PAR1")
    damaged = Source("edge", tmp_path / "damaged.parquet", format="parquet")
    with tidelog.connect(spark=spark) as db:
        db.load(PROGRAM)
        db.commit()
        for source, said in ((Source("edge", frame=frame), "the tape is torn"), (damaged, "damaged.parquet")):
            with pytest.raises(DataError) as caught:
                Pipeline(PROGRAM, [source]).run(spark, db)
            assert caught.value.code == "E0482"
            assert said in str(caught.value)
            assert len(str(caught.value).splitlines()) == 2
        assert rows(db["reach"]) == {("start", "a")}
    assert kept(spark) == before


def test_sinks_that_cannot_be_written_leave_the_state_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(1, "a")], "x int, y string")
    (tmp_path / "file").write_text("no folder")
    bad = Pipeline(SMALL, [Source("e", frame=frame)], [Sink("n", tmp_path / "file/n")], state=tmp_path / "state")
    with pytest.raises(DataError) as caught:
        bad.run(spark)
    assert caught.value.code == "E0483"
    with tidelog.connect(spark=spark, state=tmp_path / "state") as db:
        assert db.relations == ()
    good = Pipeline(SMALL, [Source("e", frame=frame)], [Sink("n", tmp_path / "n", mode="error")])
    good.run(spark).close()
    with pytest.raises(DataError, match="replace") as exists:
        good.run(spark)
    assert exists.value.code == "E0483"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda frame: Source("e"), "the source of e has nothing to read"),
        (lambda frame: Source("e", "a.csv", table="t"), "path and table exclude each other"),
        (lambda frame: Source("e", frame=frame, mode="all"), "unknown source mode 'all'"),
        (
            lambda frame: Source("e", frame=frame, mode="cdc"),
            "mode 'cdc' needs the key 'op' or 'feed', and these need mode 'cdc'",
        ),
        (lambda frame: Source("e", frame=frame, insert=["I"]), "'insert' without 'op'"),
        (
            lambda frame: Source("e", frame=frame, mode="cdc", op="op", insert=[]),
            "'insert' must be a text or a list of texts",
        ),
        (
            lambda frame: Source("e", frame=frame, mode="cdc", op="op", insert=["+", "-"]),
            "'-' both inserts and deletes",
        ),
        (lambda frame: Sink("e", "here", what="all"), "must be 'view' or 'changes'"),
        (lambda frame: Sink("e", "here", mode="overwrite"), "unknown sink mode 'overwrite'"),
        (lambda frame: Sink("e", ""), "the path is empty"),
        (lambda frame: Source("e", ""), "the path is empty"),
        (lambda frame: Sink("e", cast(Any, 3)), "path must be a path, found 3"),
        (lambda frame: Source("e", "a\0b"), "path has a NUL character"),
        (lambda frame: Sink(cast(Any, 3), "here"), "relation must be a text, found 3"),
        (lambda frame: Source("e", table=cast(Any, b"t")), "table must be a text, found b't'"),
        (lambda frame: Pipeline(SMALL, quarantine=cast(Any, 3)), "quarantine must be a path, found 3"),
        (lambda frame: Sink("e", "here", options=cast(Any, 3)), "options must be a mapping, found 3"),
        (lambda frame: Sink("e", "here", partition_by=cast(Any, 3)), "must be a list of columns, found 3"),
        (lambda frame: Pipeline(SMALL, state=""), "state is empty"),
        (
            lambda frame: Pipeline(SMALL, sinks=[Sink("e", "a"), Sink("n", "a/")]),
            "sink at a would replace the sink at a/",
        ),
        (lambda frame: Pipeline(SMALL, [Source("e", "in/*.csv")], [Sink("n", "in")]), "replace the source at in/"),
        (lambda frame: Pipeline(Path("p/p.dl"), sinks=[Sink("n", "p")]), "replace the program at p/p.dl"),
        (lambda frame: Pipeline(SMALL, state="s/s", quarantine="s"), "quarantine at s would replace the state at s/s"),
        (lambda frame: Pipeline(SMALL, sinks=[Sink("n", "..")]), "would replace the working directory"),
        (lambda frame: Pipeline(SMALL, sinks=[Sink("n", "/")]), "would replace the working directory"),
        (lambda frame: Pipeline(SMALL, quarantine="file:///"), "would replace the working directory"),
        (
            lambda frame: Pipeline(SMALL, sinks=[Sink("n", f"file:{os.getcwd()}")]),
            "would replace the working directory",
        ),
        (lambda frame: Pipeline(SMALL, sinks=[Sink("n", "/proc/self/cwd")]), "would replace the working directory"),
        (
            lambda frame: Pipeline(SMALL, sinks=[Sink("n", "s3://a/b"), Sink("n", "s3://a/b/c")]),
            "replace the sink at s3://a/b/c",
        ),
        (
            lambda frame: Pipeline(SMALL, sinks=[Sink("f", "here")]).run(frame.sparkSession),
            "the relation 'f' is not declared",
        ),
        (
            lambda frame: Pipeline(SMALL, sinks=[Sink("n", "here", format="delta")]).run(frame.sparkSession),
            "the session has no Delta Lake",
        ),
        (
            lambda frame: Pipeline(SMALL, [Source("e", frame=frame), Source("e", frame=frame, mode="append")]).run(
                frame.sparkSession
            ),
            "e has a snapshot source and another source",
        ),
    ],
)
def test_descriptions_that_make_no_sense_are_refused(spark: SparkSession, make: object, said: str) -> None:
    frame = spark.createDataFrame([(1, "a")], "x int, y string")
    with pytest.raises(TidelogError, match=said):
        make(frame)  # type: ignore[operator]


def test_a_sink_does_not_replace_the_state_of_the_database_that_runs_it(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline(SMALL, sinks=[Sink("n", tmp_path / "data")])
    with tidelog.connect(spark=spark, state=tmp_path / "data/state") as db:
        db.load(SMALL)
        db.commit()
        with pytest.raises(UsageError, match="would replace the state folder at ") as caught:
            pipeline.run(spark, db)
    assert caught.value.code == "E0686"
    assert (tmp_path / "data/state/manifest.json").exists()


def test_the_views_of_a_run_are_those_that_its_own_program_names(spark: SparkSession, tmp_path: Path) -> None:
    for named, views in ((".output n", ("n",)), (".output e", ("e",)), ("", ("n",)), (".output n", ("n",))):
        with Pipeline(f"{SMALL}\n{named}", state=tmp_path / "state").run(spark) as result:
            assert result.names == views


def test_wrong_programs_and_names_are_told(spark: SparkSession) -> None:
    with pytest.raises(ProgramError):
        Pipeline(".decl e(x: nothing)").run(spark)
    with Pipeline(PROGRAM).run(spark) as result, pytest.raises(UsageError) as unknown:
        result["edges"]
    assert unknown.value.code == "E0601"
    assert "use one of: total, reach" in str(unknown.value)
