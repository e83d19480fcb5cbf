"""Ask a session for what differs between the two kinds, and do with PySpark 3.5 what later versions have methods for.

Classic sessions have their driver in this process; those of Spark Connect reach a server. All is asked by public means.
With Spark Connect there is no `sparkContext`: no address at which tasks reach this process, no broadcasts, and no
common file system unless the server runs on this machine.

Rows cross between Python and Spark as Arrow in both directions. With PySpark 3.5 they do so in a column of bytes, which
workers make or take apart. So that needs workers with the Python of this process.
"""

from __future__ import annotations

import json
import logging
import math
import pickle
import re
import secrets
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary, WeakSet

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from tidelog.errors import Problem, SetupError

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

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
    cores = int(_read_setting(session, "spark.executor.cores") or 1)
    python = _bytes(_read_setting(session, "spark.executor.pyspark.memory")) // cores
    if _read_setting(session, "spark.master").startswith(("yarn", "k8s")):
        overhead = _bytes(_read_setting(session, "spark.executor.memoryOverhead"))
        if not overhead:
            part = float(_read_setting(session, "spark.executor.memoryOverheadFactor") or 0.1)
            overhead = int(part * _bytes(_read_setting(session, "spark.executor.memory") or "1g"))
        return (python or overhead // cores) // math.ceil(partitions / max(slots(session), 1))
    found = _memory_of_machines(session)
    if not found:
        return python or None
    here = min(found.values()) // 2 // math.ceil(partitions / len(found))
    return min(python or here, here)


def _read_setting(session: SparkSession, name: str) -> str:
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

    def memory_here(_: int) -> tuple[str, int | None]:
        import socket

        from tidelog.storage.room import installed_memory

        return socket.gethostname(), installed_memory()

    found = results_of_tasks(session, max(slots(session), 1), memory_here)
    return {machine: memory for machine, memory in found if memory}


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


def share_with_tasks(session: SparkSession, value: object) -> Shared:
    """Return an object for tasks: a broadcast, or with Spark Connect one that each function carries along."""
    return _Carried(value) if is_connect(session) else session.sparkContext.broadcast(value)


def ship(session: SparkSession, path: str) -> None:
    """Give executors a file of Python, for their imports."""
    if is_connect(session):
        session.addArtifacts(path, pyfile=True)
    else:
        session.sparkContext.addPyFile(path)


def map_in_workers(frame: DataFrame, function: Any, schema: Any) -> DataFrame:
    """`mapInArrow`, by workers that run this interpreter where they are on this machine: Spark takes the `python3` of
    the PATH unless somebody has said otherwise before the session started."""
    function = _freeze_objects_after(function)
    if is_connect(frame.sparkSession) or not is_on_one_machine(frame.sparkSession):
        return frame.mapInArrow(function, schema)
    context: Any = frame.sparkSession.sparkContext
    before = context.pythonExec
    context.pythonExec = sys.executable  # No configuration of a running session says this.
    try:
        return frame.mapInArrow(function, schema)
    finally:
        context.pythonExec = before


def results_of(frame: DataFrame, function: Callable[[Iterator[pa.RecordBatch]], Iterable[Any]]) -> list[Any]:
    """Return all values that a function yields for the batches of each partition of a frame. They are pickled on their
    way from the workers."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for value in function(batches):
            data = pa.array([pickle.dumps(value)], pa.binary())
            yield pa.RecordBatch.from_arrays([data], names=["value"])

    return [pickle.loads(row[0]) for row in map_in_workers(frame, run, "value binary").collect()]


def results_of_tasks(session: SparkSession, tasks: int, function: Callable[[int], Any]) -> list[Any]:
    """Return the results of a function for so many numbers from 0 on, each in a task of its own."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, Any]]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield number, function(number)

    found = dict(results_of(session.range(0, tasks, 1, tasks), run))
    return [found[number] for number in range(tasks)]


def _freeze_objects_after(function: Any) -> Any:
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


# --- versions of PySpark ---------------------------------------------------------------------------------------------


IS_LATER = hasattr(DataFrame, "toArrow")
"""True with PySpark 4.0 and newer."""
_BYTES = 1 << 24
"""Bytes of a row that brings rows to Spark."""


def to_arrow(frame: DataFrame) -> pa.Table:
    """Return the rows of a frame."""
    if IS_LATER:
        return frame.toArrow()

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            data = pa.array([sink.getvalue().to_pybytes()], pa.binary())
            yield pa.RecordBatch.from_arrays([data], names=["data"])

    schema = to_arrow_schema(frame.schema)
    found = [pa.ipc.open_stream(row[0]).read_all() for row in map_in_workers(frame, pack, "data binary").collect()]
    return pa.concat_tables([schema.empty_table(), *(table.cast(schema) for table in found)])


def from_arrow(session: SparkSession, table: pa.Table) -> DataFrame:
    """Return a frame of the rows of a table, which has some."""
    if IS_LATER:
        return session.createDataFrame(table)

    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for data in batch.column(0):
                yield from pa.ipc.open_stream(data.as_py())

    rows = []
    for part in table.to_batches(max(1, table.num_rows * _BYTES // max(table.nbytes, _BYTES))):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_batch(part)
        rows.append((sink.getvalue().to_pybytes(),))
    return map_in_workers(session.createDataFrame(rows, "data binary"), unpack, from_arrow_schema(table.schema))


def try_cast(column: Expression, to: T.DataType | str) -> Expression:
    """Return a column as another type, null where it does not convert."""
    if IS_LATER:
        return column.try_cast(to)
    kind = to if isinstance(to, str) else to.simpleString()
    return sql_over(f"try_cast(v as {kind})", column)


def is_valid_utf8(text: Expression) -> Expression:
    """Return True for a text whose bytes are UTF-8."""
    if IS_LATER:
        return F.is_valid_utf8(text)
    data = text.cast("binary")
    return F.decode(data, "UTF-8").cast("binary") == data


def sql_over(expression: str, column: Expression) -> Expression:
    """Return an expression in SQL over a column, which is `v` in it: for what SQL has and functions do not."""
    return F.call_function("transform", F.array(column), F.expr(f"v -> {expression}"))[0]


def loggers(*names: str) -> list[logging.Logger]:
    """Return the loggers of PySpark with these names, none with a version that has no loggers."""
    if not IS_LATER:
        return []
    from pyspark.logger import PySparkLogger

    return [PySparkLogger.getLogger(name) for name in names]


def last_progress(query: StreamingQuery) -> dict[str, Any]:
    """Return what Spark says about the last trigger of a query, empty before the first one."""
    found: Any = query.lastProgress
    if found is None:
        return {}
    said: dict[str, Any] = json.loads(found.json) if IS_LATER else found
    return said
