"""`tidelog.connect(spark=session)`: the verbs of a Database over data frames."""

from __future__ import annotations

import datetime
import subprocess
import sys
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyarrow import parquet
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import tidelog
from tidelog.errors import DataError, SetupError, TidelogError, UsageError
from tidelog.spark.machine import check_session

PROGRAM = """
.type Place = [town: symbol, number: unsigned]
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl lonely(x: number)
.decl all(n: number, u: unsigned, f: float, s: symbol, p: Place)
.decl same(n: number, u: unsigned, f: float, s: symbol, p: Place)
.decl go()
t1: t(x, y) :- e(x, y).
t2: t(x, z) :- t(x, y), e(y, z).
l: lonely(x) :- e(x, _), !t(x, x).
s: same(n, u, f, s, p) :- all(n, u, f, s, p).
"""


@pytest.fixture
def db(spark: SparkSession) -> Any:
    with tidelog.connect(spark=spark) as database:
        database.load(PROGRAM)
        yield database


def rows(frame: DataFrame) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in frame.collect()}


def pairs(spark: SparkSession, *given: tuple[int, int]) -> DataFrame:
    return spark.createDataFrame(list(given), "x long, y long")


def test_frames_tuples_and_tables_are_facts(spark: SparkSession, db: Any) -> None:
    db.insert("e", pairs(spark, (1, 2)))
    db.insert("e", [(2, 3)])
    db.insert("e", pa.table({"x": [3], "y": [4]}))
    pairs(spark, (4, 5)).createOrReplaceTempView("more")
    try:
        db.insert("e", "more")
    finally:
        spark.catalog.dropTempView("more")
    change = db.commit()
    assert rows(db["t"]) == {(a, b) for a in range(1, 5) for b in range(a + 1, 6)}
    assert rows(change["lonely"].inserted) == {(1,), (2,), (3,), (4,)}
    assert rows(change["lonely"].deleted) == set()
    assert set(change) == {"e", "t", "lonely"}
    assert (change.epoch, change.report.engine, change.report.switched) == (1, "embedded", None)
    assert rows(db.query("t(3, X)")) == {(3, 4), (3, 5)}
    db.check()


def test_facts_and_rules_come_and_go_in_a_transaction(spark: SparkSession, db: Any) -> None:
    db.insert("e", pairs(spark, (1, 2), (2, 1)))
    db.commit()
    before = db["t"]
    with db.transaction() as tx:
        tx.delete("e", pairs(spark, (2, 1), (9, 9)))
        tx.rules.remove("l")
        tx.rules.add("l2: lonely(x) :- e(_, x), !e(x, _).")
    assert rows(tx.change["t"].deleted) == {(2, 1), (1, 1), (2, 2)}
    assert rows(tx.change["lonely"].inserted) == {(2,)}
    assert list(db.rules) == ["t1", "t2", "s", "l2"]
    with pytest.raises(PySparkException, match="E0687"):
        rows(before)
    with pytest.raises(UsageError), db.transaction() as tx:
        tx.insert("e", pairs(spark, (7, 7))) or tx.insert("nothing", [])
    db.commit()
    assert rows(db["e"]) == {(1, 2)}


def test_of_several_calls_about_a_fact_the_last_one_counts(spark: SparkSession, db: Any) -> None:
    db.insert("e", pairs(spark, (1, 1), (2, 2)))
    db.delete("e", [(1, 1)])
    db.delete("e", pairs(spark, (3, 3)))
    db.insert("e", pairs(spark, (3, 3)))
    db.commit()
    assert rows(db["e"]) == {(2, 2), (3, 3)}


def test_every_type_comes_back_as_it_went_in(spark: SparkSession, db: Any) -> None:
    schema = "n long, u decimal(20,0), f double, s string, p struct<town: string, number: decimal(20,0)>"
    given = [
        (-(2**63), Decimal(2**64 - 1), -0.5, "", ("Oslo", Decimal(2**63))),
        (2**63 - 1, Decimal(0), float("inf"), "ünï🌊", None),
    ]
    db.insert("all", spark.createDataFrame(given, schema))
    db.insert("go", spark.range(2).select())
    db.commit()
    assert rows(db["same"]) == set(given)
    assert db["same"].schema.simpleString() == (
        "struct<n:bigint,u:decimal(20,0),f:double,s:string,p:struct<town:string,number:decimal(20,0)>>"
    )
    assert db["go"].count() == 1
    db.delete("all", db["same"])
    assert rows(db.commit()["same"].deleted) == set(given)


@pytest.mark.parametrize(
    ("sql", "code", "said"),
    [
        ("select 1.5 x, 2 y", "E0481", "found the type decimal(2,1)"),
        ("select date'2020-01-01' x, 2 y", "E0481", "F.unix_date"),
        ("select timestamp'2020-01-01' x, 2 y", "E0481", "F.unix_micros"),
        ("select '1' x, 2 y", "E0481", 'column.cast("long")'),
        ("select 1.5D x, 2 y", "E0481", "found the type double"),
        ("select true x, 2 y", "E0481", 'column.cast("int")'),
        ("select array(1) x, 2 y", "E0481", "F.explode"),
        ("select struct(1 as a) x, 2 y", "E0481", "pick a field"),
        ("select 1 x, cast(null as int) y", "E0403", "1 of 1 rows do not fit: y: null"),
        ("select 1 x", "E0406", "missing: y"),
        ("select 1 x, 2 z, 3 y", "E0406", "not declared: z"),
        ("select 1 x, 2 x", "E0406", "expected the columns x, y"),
        ("select 1 a, 2 b", "E0406", "to go by position, pass frame.toDF('x', 'y')"),
    ],
)
def test_what_is_no_exact_fit_is_refused(spark: SparkSession, db: Any, sql: str, code: str, said: str) -> None:
    with pytest.raises(DataError) as caught:
        db.insert("e", spark.sql(sql))
    assert caught.value.code == code
    assert said in str(caught.value)
    db.commit()
    assert rows(db["e"]) == set()


def test_columns_go_by_name_as_everywhere(spark: SparkSession, db: Any) -> None:
    for sql in ("select 2 Y, 1 X", "select 2 ` y`, 1 `x `"):
        db.insert("e", spark.sql(sql))
        db.commit()
        assert rows(db["e"]) == {(1, 2)}
        db.delete("e", spark.sql(sql))
        assert rows(db.commit()["e"].deleted) == {(1, 2)}
    db.insert("e", [(1, 2)])
    db.insert("e", spark.sql("select 3 Y, 1 X"), key="x")
    db.insert("e", spark.createDataFrame([(7, 8)]))
    db.insert("e", spark.sql("select 4 a, 5 b").toDF("x", "y"))
    db.insert("all", spark.sql("select 1 n, 2 u, 3D f, 's' s, named_struct('Number', 4, ' town', 'Oslo') p"))
    db.commit()
    assert rows(db["e"]) == {(1, 3), (7, 8), (4, 5)}
    assert [tuple(row["p"]) for row in db["all"].collect()] == [("Oslo", 4)]


@pytest.mark.parametrize("few", [2_000, 0])
def test_duplicates_are_reported(spark: SparkSession, db: Any, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.spark.sources.facts.FEW_ROWS", few)
    frame = pairs(spark, (1, 2), (1, 2), (2, 3), (1, 2))
    found = db.insert("e", frame)
    assert (found.relation, found.rows, found.duplicates) == ("e", 4, 2)
    assert db.insert("e", pairs(spark, (1, 2), (3, 4))) is None
    assert db.insert("e", [(5, 6), (5, 6)]).duplicates == 1
    assert db.insert("e", pairs(spark, (7, 7), (7, 7)), key="x").duplicates == 1
    assert db.commit().report.duplicates == {"e": 4}
    assert db.commit().report.duplicates == {}


@pytest.mark.parametrize(
    ("declared", "value", "code", "expected"),
    [
        ("number", "cast(5 as decimal(20,0))", 'column.cast("long")', 5),
        ("unsigned", "cast(5 as decimal(38,0))", 'column.cast("decimal(20,0)")', Decimal(5)),
        ("number", "cast(5.25 as decimal(10,2))", '(column * 100).cast("long")', 525),
        ("unsigned", "cast(5.1 as decimal(10,1))", '(column * 10).cast("long")', Decimal(51)),
        ("float", "cast(5.25 as decimal(10,2))", 'column.cast("double")', 5.25),
        ("number", "date'1970-01-03'", "F.unix_date(column)", 2),
        ("symbol", "date'1970-01-03'", 'column.cast("string")', "1970-01-03"),
        ("number", "timestamp'1970-01-01 00:00:01Z'", 'F.unix_micros(column.cast("timestamp"))', 1_000_000),
        ("number", "true", 'column.cast("int")', 1),
        ("symbol", "x'6162'", "F.decode(column, 'UTF-8')", "ab"),
        ("number", "array(7)", "F.explode(column)", 7),
        ("number", "struct(3 name)", 'column["name"]', 3),
    ],
)
def test_a_hint_makes_a_column_fit(spark: SparkSession, declared: str, value: str, code: str, expected: Any) -> None:
    with tidelog.connect(spark=spark) as db:
        db.load(f".decl r(a: {declared})")
        frame = spark.sql(f"select {value} a")
        with pytest.raises(DataError, match="E0481") as caught:
            db.insert("r", frame)
        assert code in str(caught.value.problems[0].hint)
        db.insert("r", frame.select(eval(code, {"F": F, "column": F.col("a")}).alias("a")))
        db.commit()
        assert rows(db["r"]) == {(expected,)}


def test_hints_for_data_that_are_no_frames(spark: SparkSession, db: Any) -> None:
    data = spark.sparkContext.parallelize([(1, 2)])
    with pytest.raises(DataError, match=r"E0407(?s:.*)make a DataFrame of it, such as data\.toDF\(names\)"):
        db.insert("e", data)
    db.insert("e", data.toDF(["x", "y"]))
    db.insert("e", spark.sql("select 7 __index_level_0__, 4 y, 3 x"))
    db.commit()
    assert rows(db["e"]) == {(1, 2), (3, 4)}


def test_parquet_files_of_other_types(spark: SparkSession, db: Any, tmp_path: Path) -> None:
    parquet.write_table(pa.table({"x": [1], "y": [2]}), tmp_path / "a.parquet")
    parquet.write_table(pa.table({"x": ["3"], "y": [4]}), tmp_path / "b.parquet")
    said = r"E0482.*the column x has the type \w+ in this file, where \w+ is expected"
    with pytest.raises(DataError, match=said) as caught:
        db.insert("e", spark.read.schema("x long, y long").parquet(str(tmp_path)))
    assert "b.parquet" in str(caught.value)
    assert "read files of other types on their own, and cast the column" in str(caught.value)
    db.insert("e", spark.read.parquet(f"{tmp_path}/a.parquet"))
    other = spark.read.parquet(f"{tmp_path}/b.parquet")
    db.insert("e", other.withColumn("x", F.col("x").cast("long")))
    db.commit()
    assert rows(db["e"]) == {(1, 2), (3, 4)}


def test_values_out_of_range_are_told_by_their_kind(spark: SparkSession, db: Any) -> None:
    place = "named_struct('town', 'a', 'number', {})"
    sql = "select 1 n, {} u, {} f, {} s, " + place + " p"
    for values, code, said in (
        (("-1", "1D", "'a'", "1"), "E0402", "u: negative"),
        (("1", "double('nan')", "'a'", "1"), "E0404", "f: NaN"),
        (("1", "1D", "cast(x'ff' as string)", "1"), "E0408", "s: not valid UTF-8"),
        (("1", "1D", "'a'", "-5"), "E0402", "p.number: negative"),
    ):
        with pytest.raises(DataError) as caught:
            db.insert("all", spark.sql(sql.format(*values)))
        assert caught.value.code == code
        assert said in str(caught.value)


def test_wrong_calls_are_told(spark: SparkSession, db: Any) -> None:
    for call, code in (
        (lambda: db.insert("f", pairs(spark, (1, 1))), "E0601"),
        (lambda: db["f"], "E0601"),
        (lambda: db.insert("e", "no_such_table"), "E0482"),
        (lambda: db.insert("e", spark.readStream.format("rate").load()), "E0484"),
        (lambda: db.options(engine="other"), "E0603"),
        (lambda: db.options(embedded_limit=-1), "E0603"),
        (lambda: db.options(cluster_folder=""), "E0603"),
        (lambda: db.options(partitions=0), "E0603"),
        (lambda: db.options(speed=3), "E0603"),
        (lambda: db.options(profile=True), "E0603"),
        (lambda: db.rules.remove("r9"), "E0608"),
        (lambda: db.subscribe("e", None), "E0609"),
        (lambda: tidelog.connect(spark="session"), "E0689"),  # type: ignore[call-overload]  # no session
        (lambda: tidelog.connect(spark=spark, state="s3://bucket/state"), "E0790.*\n.*s3fs"),
        (lambda: db.insert("e", [(datetime.date(2020, 1, 1), 1)]), "E0401"),
        (lambda: db.load("t(x, y) :- no(x, y)."), "E0201"),
    ):
        with pytest.raises(TidelogError, match=code):
            call()
    db.insert("e", [(1, 1)])
    with pytest.raises(UsageError) as pending:
        db.transaction()
    assert pending.value.code == "E0606"
    db.close()
    db.close()
    with pytest.raises(UsageError) as closed:
        db.insert("e", [(1, 1)])
    assert closed.value.code == "E0602"


@pytest.mark.parametrize("engine", ["embedded", "cluster"])
def test_there_are_no_snapshots(db: Any, engine: str) -> None:
    db.options(engine=engine)
    with pytest.raises(UsageError) as caught:
        db.snapshot()
    assert caught.value.code == "E0614"
    assert "a SparkDatabase has no snapshots" in str(caught.value)


@pytest.mark.smoke
def test_a_limit_leaves_no_trace(spark: SparkSession, db: Any) -> None:
    db.insert("e", [(1, 2)])
    db.commit()
    db.options(max_rows=50)
    db.insert("e", spark.range(100).select(F.col("id").alias("x"), (F.col("id") + 1).alias("y")))
    with pytest.raises(tidelog.LimitError):
        db.commit()
    assert rows(db["t"]) == {(1, 2)}
    db.options(max_rows=None)
    db.rollback()
    db.insert("e", [(2, 3)])
    db.commit()
    assert rows(db["t"]) == {(1, 2), (2, 3), (1, 3)}


def test_subscribers_hear_of_changes_as_frames(spark: SparkSession, db: Any) -> None:
    heard: list[set[tuple[Any, ...]]] = []
    end = db.subscribe("t", lambda change: heard.append(rows(change.inserted)))
    db.insert("e", pairs(spark, (1, 2)))
    db.commit()
    end()
    db.insert("e", pairs(spark, (2, 3)))
    db.commit()
    assert heard == [{(1, 2)}]


def test_stats_name_the_engine_and_sizes(spark: SparkSession, db: Any) -> None:
    db.insert("e", pairs(spark, (1, 2), (2, 3)))
    db.commit()
    stats = db.stats()
    assert (stats["engine"], stats["epochs"], stats["streams"]) == ("embedded", 1, {})
    assert (stats["relations"]["e"], stats["relations"]["t"]) == (2, 3)
    assert repr(db) == "<SparkDatabase: 6 relations, 1 epochs, embedded engine>"


class _Stopped(SparkSession):
    """A session as it is after `stop()`, beside the one of the test run."""

    def __init__(self) -> None:
        pass

    @property
    def sparkContext(self) -> Any:
        return type("Context", (), {})


def test_a_session_that_has_been_stopped_is_told() -> None:
    with pytest.raises(SetupError) as stopped:
        check_session(_Stopped())
    assert stopped.value.code == "E0705"


@pytest.mark.parametrize(("failures", "is_told"), [(0, False), (1, False), (2, True)])
def test_a_connection_that_ctrl_c_has_broken_is_no_end(failures: int, is_told: bool) -> None:
    """A call that Ctrl-C ends may leave a connection of py4j on which one more call fails."""
    left = [Py4JError("broken")] * failures

    class Context:
        @property
        def defaultParallelism(self) -> int:
            if left:
                raise left.pop()
            return 2

    class Session(_Stopped):
        @property
        def sparkContext(self) -> Any:
            return Context()

    with pytest.raises(SetupError) if is_told else nullcontext():
        check_session(Session())


STOPPED = """
import sys, tidelog
from tidelog.spark import session
spark = session(1, brief=True)
db = tidelog.connect(spark=spark, state=sys.argv[1])
db.load(".decl e(x: number)")
db.insert("e", spark.range(3).toDF("x"))
db.commit()
frame = db["e"]

def stop(event, arguments):
    if event == "os.rename" and "/cluster/" in str(arguments[0]) and "/round-" in str(arguments[0]):
        spark.stop()

sys.addaudithook(stop)
db.options(engine="cluster")
db.insert("e", [(7,)])
insert, read, connect = lambda: db.insert("e", [(1,)]), lambda: db["e"], lambda: tidelog.connect(spark=spark)
for call in (db.commit, insert, read, db.commit, db.stats, connect):
    try:
        call()
    except tidelog.SetupError as error:
        print(error.code)
db.close()
with tidelog.connect(spark=session(1, brief=True), state=sys.argv[1]) as again:
    print(again["e"].count())
"""


def test_a_session_stopped_in_the_middle_of_a_commit_is_told_and_the_state_is_there(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", STOPPED, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["E0705"] * 6 + ["3"], done.stderr
    assert not (tmp_path / "cluster").exists()
