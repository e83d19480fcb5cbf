"""Ctrl-C inside of PySpark and Py4J, which do not always pass it on: each call ends with KeyboardInterrupt, and the
database goes on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pyspark.util
import pytest
from py4j import java_gateway
from py4j.clientserver import ClientServerConnection
from pyspark.sql import SparkSession
from pyspark.sql.pandas.serializers import ArrowCollectSerializer

import tidelog
from tests.pressing import LIBRARIES, pressed_inside, wait_for_ctrl_c

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

PROGRAM = """
.decl e(x: number, y: symbol)
.decl t(x: number, y: symbol)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(x + 1, z), y != z.
"""
SCHEMA = "x int, y string"
BEFORE = {(1, "a"), (2, "b")}
VIEW = {(1, "a"), (2, "b"), (1, "b")}

Call = Callable[[Any], object]

PLACES: dict[str, tuple[Any, str, str]] = {
    # The clean-up of PySpark fails when this raises: UnboundLocalError.
    "socket": (pyspark.util, "local_connect_and_auth", "passes-on"),
    # PySpark then asks Java why it cannot go on writing.
    "stream": (ArrowCollectSerializer, "load_stream", "passes-on"),
    # A weak reference calls this, so that Python ignores what it raises.
    "collector": (java_gateway, "_garbage_collect_object", "passes-on"),
    **{f"call-{library}": (ClientServerConnection, "send_command", library) for library in LIBRARIES},
}


def interrupted(call: Callable[[], object], place: str) -> bool:
    """Press Ctrl-C inside of a call, and return True if the call has raised; otherwise KeyboardInterrupt follows."""
    returned = False
    with suppress(KeyboardInterrupt):
        with pressed_inside(*PLACES[place]):
            call()
            returned = True
        wait_for_ctrl_c(place)
    return not returned


def begun(spark: SparkSession, engine: str) -> Any:
    db: Any = tidelog.connect(spark=spark)
    db.options(engine=engine)
    db.load(PROGRAM)
    db.insert("e", list(BEFORE))
    db.commit()
    return db


def commit_into(changes: list[Any], db: Any) -> None:
    changes.append(db.commit())


def rows(frame: Any) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in frame.collect()}


def check_partitions(db: Any) -> None:
    db.options(embedded_limit=1)
    db.check()


IN_CALLS = ("call-passes-on", "call-weak-reference", "call-own-error")
READS: dict[str, tuple[Call, tuple[str, ...]]] = {
    "frame": (lambda db: db["t"], ()),
    "local": (lambda db: db.local("t"), ("stream",)),
    "query": (lambda db: db.query("t(1, y)"), ()),
    "check": (lambda db: db.check(), ("stream",)),
    "check-partitions": (check_partitions, ("socket",)),
}
"""Calls, and the further places at which they come on the cluster."""


@pytest.mark.parametrize("engine", ["embedded", "cluster"])
def test_ctrl_c_ends_reading(engine: str, spark: SparkSession) -> None:
    for name, (read, places) in READS.items():
        db = begun(spark, engine)
        for place in (*IN_CALLS, *(places if engine == "cluster" else ())):
            assert interrupted(partial(read, db), place), (name, place)
        assert rows(db["t"]) == set(db.local("t")) == VIEW, name
        assert rows(db.query("t(1, y)")) == {(1, "a"), (1, "b")}, name
        db.check()
        db.close()


@pytest.mark.parametrize(
    "place",
    [
        pytest.param("call-passes-on", marks=pytest.mark.smoke),
        *(place for place in PLACES if place not in ("call-passes-on", "stream")),
    ],
)
def test_ctrl_c_ends_changes_by_frames(place: str, spark: SparkSession) -> None:
    db = begun(spark, "embedded")
    gone, came = (spark.createDataFrame([row], SCHEMA) for row in [(2, "b"), (2, "c")])
    assert interrupted(lambda: db.delete("e", gone), place)
    assert interrupted(lambda: db.insert("e", came), place)
    db.delete("e", gone)
    db.insert("e", came)
    db.commit()
    assert rows(db["t"]) == {(1, "a"), (2, "c"), (1, "c")}
    db.check()
    db.close()


@pytest.mark.parametrize("engine", ["embedded", "cluster"])
def test_ctrl_c_ends_a_commit_or_follows(engine: str, spark: SparkSession) -> None:
    db = begun(spark, engine)
    last = (2, "b")
    for number, place in enumerate((*IN_CALLS, *(("socket", "collector") if engine == "cluster" else ()))):
        row = (2, f"row {number}")
        db.delete("e", spark.createDataFrame([last], SCHEMA))
        db.insert("e", spark.createDataFrame([row], SCHEMA))
        changes: list[Any] = []
        stopped = interrupted(partial(commit_into, changes, db), place)
        assert db.has_pending == stopped == (not changes), place
        change = db.commit() if stopped else changes[0]
        assert rows(change["e"].inserted) == {row}, place
        assert rows(db["t"]) == {(1, "a"), (1, row[1]), row}, place
        last = row
    db.check()
    db.close()
