"""Messages when the machine lacks something that Spark needs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tidelog.cli.spark import spark_session
from tidelog.errors import SetupError
from tidelog.spark import check_workers, session
from tidelog.spark.machine import check_session, java_home, java_lacks, workers_find_tidelog
from tidelog.spark.sessions import map_in_workers


def program(folder: Path, text: str) -> Path:
    """A home of Java whose `java` is this shell script."""
    file = folder / "bin" / "java"
    file.parent.mkdir(parents=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return folder


def test_without_pyspark_the_import_says_what_to_install() -> None:
    code = """
import sys
sys.modules["pyspark"] = None
from tidelog.errors import SetupError
try:
    import tidelog.spark
except SetupError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "error[E0701]: tidelog.spark needs PySpark, which is not installed\n"
        "  hint: run `pip install '.[spark]'` in your checkout of tidelog\n"
    )


def test_java_runtimes_that_spark_cannot_use_are_told_apart(tmp_path: Path) -> None:
    old = program(tmp_path / "old", "echo 'openjdk version \"11.0.2\" 2019' >&2")
    trimmed = program(tmp_path / "trimmed", "echo 'Module jdk.incubator.vector not found' >&2; exit 1")
    broken = program(tmp_path / "broken", "exit 3")
    good = program(tmp_path / "good", "echo 'openjdk version \"21.0.2\" 2024' >&2")
    assert java_lacks(old) == "is Java 11"
    assert java_lacks(trimmed) == "lacks the module jdk.incubator.vector"
    assert java_lacks(broken) == "does not run"
    assert java_lacks(tmp_path / "none") == "does not run"
    assert java_lacks(good) is None


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = program(tmp_path / "good", "echo 'openjdk version \"21.0.2\" 2024' >&2")
    monkeypatch.setenv("JAVA_HOME", str(good))
    assert java_home() == good


def test_a_missing_runtime_is_told_with_what_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = program(tmp_path / "old", "echo 'openjdk version \"11.0.2\" 2019' >&2")
    monkeypatch.setenv("JAVA_HOME", str(old))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("tidelog.spark.machine.SYSTEM_RUNTIMES", tmp_path / "none")
    with pytest.raises(SetupError) as caught:
        java_home()
    assert caught.value.code == "E0702"
    assert f"Spark needs Java 17 or newer, found {old} is Java 11" in str(caught.value)


@pytest.mark.smoke
def test_workers_with_another_python_are_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_workers(spark)
    other = program(tmp_path, "echo 3 9") / "bin" / "java"
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(other))
    with pytest.raises(SetupError) as caught:
        check_workers(spark)
    assert caught.value.code == "E0704"
    assert f"{other} is Python 3.9" in str(caught.value)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/no/python")
    with pytest.raises(SetupError, match="/no/python does not run"):
        check_workers(spark)


def test_an_active_session_is_taken_as_it_is(spark: SparkSession) -> None:
    before = dict(spark.conf.getAll)
    assert session(threads=1).sparkContext is spark.sparkContext
    assert dict(spark.conf.getAll) == before


def test_a_brief_session_has_room_for_compiled_code(spark: SparkSession) -> None:
    """Java has 48 MB for the code of its quick compiler, and removes and compiles it again once these are full."""
    java: Any = spark._jvm
    pools = java.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
    rooms = [pool.getUsage().getMax() for pool in pools if pool.getName().startswith("Code")]
    assert sum(rooms) >= 200 << 20


def test_a_session_is_there_although_none_is_active(spark: SparkSession) -> None:
    """Ctrl-C may cut a thread's connection to Java, which knows by it which session is active."""
    java: Any = spark._jvm
    active = java.SparkSession.getActiveSession().get()
    java.SparkSession.clearActiveSession()
    try:
        assert SparkSession.getActiveSession() is None
        assert session() is spark
        with spark_session() as found:
            assert found is spark
        assert spark.range(3).count() == 3
    finally:
        java.SparkSession.setActiveSession(active)


def test_a_task_that_fails_runs_once_more(spark: SparkSession, tmp_path: Path) -> None:
    def first_fails(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        marker = tmp_path / "tried"
        if not marker.exists():
            marker.touch()
            raise RuntimeError("the first attempt")
        yield from batches

    frame = spark.range(0, 10, 1, 1)
    assert map_in_workers(frame, first_fails, frame.schema).count() == 10
    assert (tmp_path / "tried").exists()


def test_spark_connect_needs_pyspark_4(monkeypatch: pytest.MonkeyPatch) -> None:
    class Remote:
        __module__ = "pyspark.sql.connect.session"

    monkeypatch.setattr("tidelog.spark.machine.IS_LATER", False)
    with pytest.raises(SetupError, match="E0706"):
        check_session(Remote())


def test_workers_do_not_visit_the_same_objects_after_each_task(spark: SparkSession) -> None:
    """Also with Spark's own daemon, which freezes nothing before it forks them."""

    def frozen(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import gc

        import pyarrow

        for batch in batches:
            counts = pyarrow.array([gc.get_freeze_count()] * batch.num_rows, pyarrow.int64())
            yield pyarrow.RecordBatch.from_arrays([counts], ["frozen"])
        gc.unfreeze()

    frame = map_in_workers(spark.range(0, 8, 1, 8), frozen, "frozen long")
    frame.collect()
    assert min(row["frozen"] for row in frame.collect()) > 20_000


def test_workers_of_a_local_session_are_forked_with_their_modules(spark: SparkSession) -> None:
    """By one daemon, for frames and for other tasks."""

    def seen(_: object = None) -> tuple[int, bool]:
        import os
        import sys

        return os.getppid(), {"pandas", "pyarrow", "tidelog.spark.cluster.processes.host"} <= sys.modules.keys()

    def asked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        parent, loaded = seen()
        for batch in batches:
            columns = [batch.column(0), pa.array([parent] * batch.num_rows), pa.array([loaded] * batch.num_rows)]
            yield pa.RecordBatch.from_arrays(columns, ["id", "parent", "loaded"])

    found = set(spark.sparkContext.parallelize(range(2), 2).map(seen).collect())
    rows = map_in_workers(spark.range(0, 2, 1, 2), asked, "id long, parent long, loaded boolean").collect()
    [(daemon, loaded)] = found | {(row["parent"], row["loaded"]) for row in rows}
    assert loaded
    command = Path(f"/proc/{daemon}/cmdline").read_bytes().split(b"\0")
    assert command[1:4] == [b"-m", b"tidelog.spark.workers", b"pyspark.worker"]


@pytest.mark.parametrize("status", [0, 1])
def test_workers_load_tidelog_where_a_new_process_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setattr(sys, "executable", str(program(tmp_path, f"exit {status}") / "bin" / "java"))
    assert workers_find_tidelog() == (status == 0)
