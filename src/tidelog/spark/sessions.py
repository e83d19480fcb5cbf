"""Ask a session for what differs between the two kinds: classic ones, whose driver is this process, and those of Spark
Connect, which reach a server.

All by public means. With Spark Connect there is no `sparkContext`: no address at which tasks reach this process, no
broadcasts, and no common file system unless the server runs on this machine.
"""

from __future__ import annotations

import math
import re
import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakKeyDictionary, WeakSet

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidelog.errors import Problem, SetupError

_MORE_THAN_SLOTS = 1 << 20
_MANY_OBJECTS = 20_000
_UNITS = {"b": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}
"""The units of Spark's sizes, as powers of two."""
_sessions: WeakSet[SparkSession] = WeakSet()
"""The sessions of databases, as far as they still exist."""
_on_one_machine: WeakKeyDictionary[SparkSession, bool] = WeakKeyDictionary()


class Shared(Protocol):
    """An object that tasks have as `value`, until `destroy`."""

    @property
    def value(self) -> Any: ...

    def destroy(self) -> None: ...


class _Carried:
    """An object that goes with each function that uses it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def destroy(self) -> None:
        """Do nothing: nobody keeps the object."""


def is_connect(session: object) -> bool:
    """Return True if a session is one of Spark Connect."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def is_alive(session: SparkSession) -> bool:
    """Return True if a session was not stopped. A call that Ctrl-C has ended may leave a connection to Java on which
    one more call fails, so a failure counts when it comes twice."""
    _sessions.add(session)
    if is_connect(session):
        connected: Any = session
        return not connected.is_stopped
    for _ in range(2):
        with suppress(Exception):  # The process of Java has ended, which shows in many ways.
            return session.sparkContext.defaultParallelism > 0
    return False


def all_stopped() -> bool:
    """Return True if there were sessions of databases, and none is alive."""
    known = list(_sessions)
    return bool(known) and not any(map(is_alive, known))


def slots(session: SparkSession) -> int:
    """Return the number of tasks that the executors do at once. With Spark Connect this is a small job."""
    if not is_connect(session):
        return int(session.sparkContext.defaultParallelism)
    numbers = session.range(_MORE_THAN_SLOTS).select(F.spark_partition_id().alias("number"))
    return numbers.distinct().count()


def memory_of_partitions(session: SparkSession, partitions: int) -> int | None:
    """Return the bytes that each of so many partitions may have outside of Java, on the machine that has least for
    them; None where nobody says so. These are limits, and not what is free at the moment.

    `spark.executor.pyspark.memory` and the overhead count for the cores of an executor. YARN and Kubernetes keep to
    these. Elsewhere partitions share half of the machine, which a job asks for; the rest is for Java and files.
    """
    cores = int(_setting(session, "spark.executor.cores") or 1)
    python = _bytes(_setting(session, "spark.executor.pyspark.memory")) // cores
    if _setting(session, "spark.master").startswith(("yarn", "k8s")):
        overhead = _bytes(_setting(session, "spark.executor.memoryOverhead"))
        if not overhead:
            part = float(_setting(session, "spark.executor.memoryOverheadFactor") or 0.1)
            overhead = int(part * _bytes(_setting(session, "spark.executor.memory") or "1g"))
        return (python or overhead // cores) // math.ceil(partitions / max(slots(session), 1))
    found = _memory_of_machines(session)
    if not found:
        return python or None
    here = min(found.values()) // 2 // math.ceil(partitions / len(found))
    return min(python or here, here)


def _setting(session: SparkSession, name: str) -> str:
    """Return a setting of Spark, "" where nobody has set it or the server does not say it."""
    with suppress(PySparkException):
        return str(session.conf.get(name, "") or "")
    return ""


def _bytes(size: str) -> int:
    """Return the bytes of a size as Spark writes it, such as "2g", or "2048" for as many MiB."""
    found = re.fullmatch(r"(\d+)([bkmgtp]?)b?", size.strip().lower())
    return int(found[1]) << _UNITS[found[2] or "m"] if found else 0


def _memory_of_machines(session: SparkSession) -> dict[str, int]:
    """Return the bytes of memory of each machine, or each container, that a task for each slot finds itself on."""

    def ask(batches: Iterator[Any]) -> Iterator[Any]:
        import socket

        import pyarrow

        from tidelog.storage.room import installed

        for _ in batches:
            there = [pyarrow.array([socket.gethostname()]), pyarrow.array([installed()], pyarrow.int64())]
            yield pyarrow.RecordBatch.from_arrays(there, names=["machine", "bytes"])

    count = max(slots(session), 1)
    rows = mapped(session.range(0, count, 1, count), ask, "machine string, bytes long").collect()
    return {row["machine"]: row["bytes"] for row in rows if row["bytes"]}


def application(session: SparkSession) -> str:
    """Return the id of the application, which all sessions of a server share. SetupError (E0706) where the server does
    not say it."""
    try:
        return str(session.conf.get("spark.app.id"))
    except PySparkException as error:
        message = "the server does not say `spark.app.id`, by which the cluster engine finds its partitions"
        raise SetupError(Problem("E0706", message, hint="write options(engine='embedded')")) from error


def is_on_one_machine(session: SparkSession) -> bool:
    """Return True if executors and this process run on one machine, with the same files."""
    found = _on_one_machine.get(session)
    if found is None:
        found = (session.conf.get("spark.master", "") or "").startswith("local")
        found = found and (not is_connect(session) or _sees_files_of_this_process(session))
        _on_one_machine[session] = found
    return found


def _sees_files_of_this_process(session: SparkSession) -> bool:
    with tempfile.TemporaryDirectory(prefix="tidelog-") as folder:
        file, token = Path(folder) / "token", secrets.token_hex(16)
        file.write_text(token)
        try:
            rows = session.read.text(file.as_uri()).collect()
        except PySparkException:  # There is no such file, or another user must not read it.
            return False
    return [row[0] for row in rows] == [token]


def shared(session: SparkSession, value: object) -> Shared:
    """Return an object for tasks: a broadcast, or with Spark Connect one that each function carries along."""
    return _Carried(value) if is_connect(session) else session.sparkContext.broadcast(value)


def ship(session: SparkSession, path: str) -> None:
    """Give executors a file of Python, for their imports."""
    if is_connect(session):
        session.addArtifacts(path, pyfile=True)
    else:
        session.sparkContext.addPyFile(path)


def mapped(frame: DataFrame, function: Any, schema: Any) -> DataFrame:
    """`mapInArrow`, by workers that run this interpreter where they are on this machine: Spark takes the `python3` of
    the PATH unless somebody has said otherwise before the session started."""
    function = _freezing(function)
    if is_connect(frame.sparkSession) or not is_on_one_machine(frame.sparkSession):
        return frame.mapInArrow(function, schema)
    context: Any = frame.sparkSession.sparkContext
    before = context.pythonExec
    context.pythonExec = sys.executable  # No configuration of a running session says this.
    try:
        return frame.mapInArrow(function, schema)
    finally:
        context.pythonExec = before


def _freezing(function: Any) -> Any:
    """Return a function of batches after which the garbage collector of the worker passes over what exists. Spark's
    workers collect all garbage after each task, and a visit of all modules takes longer than most tasks."""
    many = _MANY_OBJECTS

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import gc

        yield from function(batches)
        if len(gc.get_objects(2)) > many:  # More modules than the last time, or the first time
            gc.collect()
            gc.freeze()

    return run
