"""Mistakes of a user: an error with code, place and hint, or a quarantined row, and nothing in between."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import lit, udf

import tidelog
from tidelog.errors import DataError, LimitError, Problem, SetupError, TidelogError
from tidelog.spark import Pipeline, Source, sessions
from tidelog.spark.failures import hint_for, ignore_stopped_session, report_job_errors, spark_message

PROGRAM = ".decl e(x: number, y: symbol)\n.decl n(k: number)\nc: n(k) :- k = count : { e(_, _) }."


def put(folder: Path, **files: str | bytes) -> Path:
    folder.mkdir()
    for name, content in files.items():
        (folder / f"{name}.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def parquet(spark: SparkSession, folder: Path, *selects: str) -> Path:
    for select in selects:
        spark.sql(select).coalesce(1).write.mode("append").parquet(str(folder))
    return folder


def damaged(spark: SparkSession, folder: Path) -> Path:
    """A Parquet file with flipped bits in the middle; its end, which says what is where, is as it was."""
    parquet(spark, folder, "select id x, concat('n', id * 7919) y from range(20000)")
    [file] = folder.glob("*.parquet")
    content = bytearray(file.read_bytes())
    for i in range(200, len(content) - 1000, 5):
        content[i] ^= 0xFF
    file.write_bytes(content)
    (folder / f".{file.name}.crc").unlink()
    return folder


def test_rows_of_mixed_encodings_and_operations_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    """Files of one folder in three encodings, with a mark of the byte order, lines too short, unknown operations."""
    folder = put(
        tmp_path / "in",
        latin="I,1,müll\n".encode("latin-1"),
        marked=b"\xef\xbb\xbfI,2,marked\n",
        plain="I,3,müll\nI,4\n?,5,e\n,6,f\nD,3,müll\nI,3,müll\n",
        wide="I,7,müll\n".encode("utf-16"),
    )
    keys: dict[str, Any] = {"mode": "cdc", "op": "op", "insert": ["I"], "delete": ["D"]}
    with Pipeline(PROGRAM, [Source("e", folder, **keys)]).run(spark) as result:
        assert set(result.database.local("e")) == {(2, "marked"), (3, "müll")}
        count = result.counts["e"]
        assert (count.read, count.accepted, count.quarantined) == (9, 4, 5)
        reasons = sorted(row.reason for row in result.quarantine.collect())
        assert reasons[:3] == ["not 3 columns", "not valid UTF-8", "not valid UTF-8"]
        assert reasons[3:] == ["op: unknown operation"] * 2


@pytest.mark.parametrize(
    ("make", "said_", "place", "hint"),
    [
        (
            lambda spark, at: Source("e", put(at, a="x,y\n1,a\n2,b\n3,c\n", b="y,x\nd,4\n"), options={"header": True}),
            "the header is y,x, where x,y is expected",
            "b.csv",
            "schema drift",
        ),
        (
            lambda spark, at: Source("e", put(at, a="x,y\n1,a\n2,b\n", b="x,y,z\n3,4,5\n"), options={"header": True}),
            "where",
            ".csv",
            "schema drift",
        ),
        (
            lambda spark, at: Source("e", parquet(spark, at, "select 1 x, 'a' y", "select '2' x, 'b' y"), "parquet"),
            "the column x has the type",
            ".parquet",
            "schema drift",
        ),
        (lambda spark, at: Source("e", damaged(spark, at), "parquet"), "", ".parquet", "restore the file"),
        (lambda spark, at: Source("e", put(at), "parquet"), "UNABLE_TO_INFER_SCHEMA", "in", "add a file with rows"),
        (
            lambda spark, at: Source("e", put(at, a="", b=""), options={"header": True}),
            "there is no header, because all files are empty",
            "in",
            "wait for a file with rows",
        ),
        (
            lambda spark, at: Source("e", put(at, a="", b="{}\nnothing\n"), "json"),
            "no line is a JSON object with fields",
            "in",
            "wait for a file with rows",
        ),
        (lambda spark, at: Source("e", at / "*.csv"), "PATH_NOT_FOUND", "*.csv", "check the path"),
        (
            lambda spark, at: Source("e", put(at), "nothing"),
            "Failed to find the data source: nothing",
            "in",
            "whose package the session has",
        ),
        (
            lambda spark, at: Source("e", format="jdbc", options={"url": "jdbc:no://x", "dbtable": "t"}),
            "No suitable driver",
            "jdbc",
            "spark.jars.packages",
        ),
        (lambda spark, at: Source("e", frame=spark.sql("select int('a') x, 'b' y")), "'a'", "a frame", "nothing has"),
        (
            lambda spark, at: Source("e", frame=spark.sql("select 1 x, 'b' y, 2 X")),
            "is ambiguous",
            "e",
            "rename a column",
        ),
    ],
)
def test_sources_that_cannot_be_read_say_where_and_what_to_do(
    spark: SparkSession,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    make: Callable[[SparkSession, Path], Source],
    said_: str,
    place: str,
    hint: str,
) -> None:
    """A good source beside the bad one is neither blamed nor kept, and nobody else talks of it."""
    good = Source("e", frame=spark.sql("select 1 x, 'a' y"))
    source = make(spark, tmp_path / "in")
    capfd.readouterr()
    kept = spark.sparkContext._jsc.getPersistentRDDs().size()
    with pytest.raises(DataError) as caught:
        Pipeline(PROGRAM, [good, source]).run(spark)
    [problem] = caught.value.problems
    assert problem.code == "E0482"
    assert said_ in problem.message
    assert place in str(problem.place)
    assert hint in str(problem.hint)
    assert "SQLSTATE" not in problem.message
    assert "Exception" not in problem.message
    others = capfd.readouterr().err  # Java may warn of a slow machine.
    assert not [each for each in ("ERROR", "Traceback", said_) if each and each in others]
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == kept


@pytest.mark.smoke
def test_options_that_lose_rows_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    sources = (
        Source("e", tmp_path, options={"mode": "DROPMALFORMED"}),
        Source("e", tmp_path, "json", options={"Mode": "dropMalformed"}),
        Source("e", tmp_path, "xml", options={"mode": "DROPMALFORMED", "rowTag": "e"}),
        Source("e", tmp_path, "parquet", options={"ignoreCorruptFiles": True}),
    )
    for source in sources:
        with pytest.raises(TidelogError, match="would drop rows without an error") as caught:
            Pipeline(PROGRAM, [source]).run(spark)
        assert caught.value.code == "E0686"


@pytest.mark.parametrize("option", ["header", "multiLine"])
def test_options_that_are_neither_true_nor_false_are_refused(spark: SparkSession, tmp_path: Path, option: str) -> None:
    source = Source("e", put(tmp_path / "in", a="1,a\n"), options={option: 1})
    with pytest.raises(TidelogError, match=f"the option {option.lower()} is neither true nor false: '1'") as caught:
        Pipeline(PROGRAM, [source]).run(spark)
    assert caught.value.code == "E0686"


@pytest.mark.parametrize("encoding", ["UTF-16", "UTF-32LE"])
def test_encodings_whose_lines_spark_cannot_split_are_refused(
    spark: SparkSession, tmp_path: Path, encoding: str
) -> None:
    (tmp_path / "e.csv").write_bytes("1,a\n2,b\n".encode(encoding))
    with pytest.raises(TidelogError, match=f"lines of a file in {encoding} apart") as caught:
        Pipeline(PROGRAM, [Source("e", tmp_path / "e.csv", options={"encoding": encoding})]).run(spark)
    assert (caught.value.code, caught.value.problems[0].place) == ("E0686", "options")


def test_an_encoding_of_two_bytes_is_read_where_its_line_breaks_are_given(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_bytes("1,a\n2,é\n".encode("UTF-16LE"))
    source = Source("e", tmp_path / "e.csv", options={"encoding": "UTF-16LE", "lineSep": "\n"})
    program = f"{PROGRAM} .decl t(x: number, y: symbol) t(x, y) :- e(x, y)."
    with Pipeline(program, [source]).run(spark) as result:
        assert {tuple(row) for row in result["t"].collect()} == {(1, "a"), (2, "é")}


def test_frames_with_drifted_columns_change_nothing(spark: SparkSession) -> None:
    """Batch after batch into one relation, some of them of another schema."""
    batches: list[tuple[str, str | None]] = [
        ("select 1 x, 'a' y", None),
        ("select 2L x, 'b' y", None),
        ("select 3 x", "E0406"),
        ("select 4 x, 'd' y, 5 z", "E0406"),
        ("select '5' x, 'e' y", "E0481"),
        ("select 6 x, cast(null as string) y", "E0403"),
        ("select 'g' y, 7 x", None),
        ("select 'h' Y, 8 X", None),
    ]
    with tidelog.connect(spark=spark) as db:
        db.load(PROGRAM)
        for sql, code in batches:
            if code is None:
                db.insert("e", spark.sql(sql))
            else:
                with pytest.raises(DataError, match="hint: ") as caught:
                    db.insert("e", spark.sql(sql))
                assert caught.value.code == code
            db.commit()
        assert set(db.local("e")) == {(1, "a"), (2, "b"), (7, "g"), (8, "h")}


def test_sentences_of_spark() -> None:
    """Those that are hard to come by: the last cause that says something, and tidelog's own of a worker."""
    crash = """Job aborted due to stage failure: Task 1 in stage 9.0 failed 1 times
Caused by: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed). SQLSTATE: 1234
\t... 1 more
Caused by: java.net.SocketException: Connection reset
"""
    own = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "executors.py", line 161, in read
tidelog.errors.UsageError: error[E0687]: this frame belongs to an earlier epoch
  hint: ask again"""
    lacking = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "worker.py", line 1920, in read_udfs
    import pyarrow as pa
ModuleNotFoundError: No module named 'pyarrow'
 SQLSTATE: 38000

JVM stacktrace:
org.apache.spark.api.python.PythonException: [PYTHON_EXCEPTION] An exception
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.read(PythonRunner.scala:1)"""
    short = "An exception was thrown from the Python worker\nx: y"
    found: list[Any] = [spark_message(Exception(text)) for text in (crash, own, "", short, lacking)]
    assert found == [
        "Python worker exited unexpectedly (crashed).",
        "this frame belongs to an earlier epoch",
        "Exception",
        "x: y",
        "ModuleNotFoundError: No module named 'pyarrow'",
    ]
    with pytest.raises(SetupError, match="hint: set PYSPARK_PYTHON to ") as caught, report_job_errors():
        raise PySparkException(lacking)
    assert caught.value.code == "E0708"
    assert hint_for(Exception("whatever")) == "correct the cause that Spark gives; nothing has changed"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 58 MiB", ": Unable to allocate 58 MiB"),
        ("pyarrow.lib.ArrowMemoryError: malloc of size 64 failed", ": malloc of size 64 failed"),
        ("MemoryError", ""),
    ],
)
def test_a_task_without_memory(line: str, message: str) -> None:
    text = (
        f"An exception was thrown from the Python worker:\nTraceback (most recent call last):\n{line}\n SQLSTATE: 38000"
    )
    with pytest.raises(LimitError) as caught, report_job_errors():
        raise PySparkException(text)
    [problem] = caught.value.problems
    assert (problem.code, problem.message) == ("E0503", f"out of memory in a task of Spark{message}")
    assert "spark.executor.pyspark.memory" in str(problem.hint)


def test_a_java_without_memory_is_a_failure_of_spark() -> None:
    with pytest.raises(SetupError, match="E0708"), report_job_errors():
        raise PySparkException("Job aborted.\nCaused by: java.lang.OutOfMemoryError: Java heap space")


def test_a_session_that_is_stopped_shows_in_many_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped:
        sparkContext = None

    monkeypatch.setattr(sessions, "_sessions", {Stopped()})
    with pytest.raises(SetupError, match="E0705"), report_job_errors():
        assert not sessions.all_stopped()  # as PySpark says it
    with ignore_stopped_session():
        assert not sessions.all_stopped()
    with pytest.raises(DataError, match="mine"), report_job_errors():
        raise DataError(Problem("E0401", "mine"))


def test_a_fault_that_is_over_when_it_is_looked_for(spark: SparkSession, tmp_path: Path) -> None:
    """No source is to blame that can be read by itself."""
    met = str(tmp_path / "met")

    def later(value):  # type: ignore[no-untyped-def]  # or Spark looks at its types
        from pathlib import Path

        attempts = Path(met).read_text() if Path(met).exists() else ""
        Path(met).write_text(f"{attempts}.")
        if len(attempts) < 2:  # as often as Spark tries a task
            raise OSError("gone for a moment")
        return value

    frame = spark.range(1).select(udf(later, "bigint")("id").alias("x"), lit("a").alias("y"))
    with pytest.raises(SetupError, match="gone for a moment") as caught:
        Pipeline(PROGRAM, [Source("e", frame=frame)]).run(spark)
    assert caught.value.code == "E0708"
    with Pipeline(PROGRAM, [Source("e", frame=frame)]).run(spark) as result:
        assert set(result.database.local("e")) == {(0, "a")}
