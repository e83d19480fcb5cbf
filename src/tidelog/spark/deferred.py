"""Frames whose rows tasks read when they are used, and frames that end with their epoch.

`frame_of_tasks` is for both engines: the cluster's partitions have the rows (`processes.executors`), or the driver has
them (`RowServer`). A frame that Spark makes of local data goes through the memory of Java, all at once; so from a
million rows on they stay in this process, and tasks read them, some at a time. For that they connect to a thread here;
both sides prove to know a secret, which is in the plan of the frame.

Frames of fewer rows hold these, and end with their epoch all the same (`EndingFrames`). The plan of such a frame
compares a property of Java with the number of its epoch, for each execution. Spark evaluates that in the process that
has the property: in its tasks on one machine, and while it plans a query in a cluster. There, it does not plan a frame
again that has been executed before, which keeps its rows.
"""

from __future__ import annotations

import os
import secrets
import socketserver
import threading
from collections.abc import Callable, Iterator
from functools import cached_property
from multiprocessing.connection import Client, Connection, answer_challenge, deliver_challenge
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from tidelog.errors import Problem, UsageError
from tidelog.spark.failures import ignore_stopped_session
from tidelog.spark.machine import check_workers
from tidelog.spark.rows import null_columns
from tidelog.spark.sessions import is_on_one_machine, map_in_workers, slots

if TYPE_CHECKING:
    from tidelog.common.arrays import Words
    from tidelog.io.relation import WordRows

_ROWS = 1 << 17
"""Rows that are sent at a time."""


def ended_frame_error() -> UsageError:
    """Return the error (E0687) for a frame that is read after its epoch."""
    message = "this frame belongs to an earlier epoch: the database has committed since, or is closed"
    hint = "ask the database for it again, or persist and count() it before the commit"
    return UsageError(Problem("E0687", message, hint=hint))


def frame_of_tasks(
    session: SparkSession, tasks: int, schema: pa.Schema, read: Callable[[int], Iterator[pa.RecordBatch | str]]
) -> DataFrame:
    """Return a frame of the rows that `read` yields in each of so many tasks; a text instead of rows says what is
    wrong."""
    extended = schema.append(pa.field("failed", pa.string()))

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for found in read(number):
                    if isinstance(found, str):
                        columns = [*(pa.nulls(1, field.type) for field in schema), pa.array([found])]
                    else:
                        columns = [*found.columns, pa.nulls(found.num_rows, pa.string())]
                    yield pa.RecordBatch.from_arrays(columns, schema=extended)

    rows = map_in_workers(session.range(0, tasks, 1, tasks), run, from_arrow_schema(extended))
    # What Spark raises says just this, while what Python raises in a worker comes with both their traces.
    return rows.where(F.assert_true(F.isnull("failed"), F.col("failed")).isNull()).select(schema.names)


class RowServer:
    """A server from which tasks read rows of the driver. Its thread starts with the first frame."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._secret = secrets.token_bytes(32)
        self._served: dict[str, _ServedRows] = {}

    def frame(
        self, count: int, schema: pa.Schema, rows: Callable[[], WordRows], table: Callable[[Words], pa.Table]
    ) -> DataFrame:
        """Return a frame of `count` rows, until `end`. `rows` gives them when the first of them is read, in any thread,
        and may raise UsageError; `table` makes values of some of them, of this schema. SetupError (E0704) without
        workers for it."""
        key, secret, address = secrets.token_hex(8), self._secret, self._server.address
        tasks = slots(self._session)
        self._served[key] = _ServedRows(count, tasks, rows, lambda some: table(some).cast(schema))

        def receive_part(number: int) -> Iterator[pa.RecordBatch | str]:
            with Client(address, authkey=secret) as connection:
                connection.send((key, number))
                if failed := connection.recv():
                    yield failed
                while data := connection.recv_bytes():
                    yield from pa.ipc.open_stream(data)

        return frame_of_tasks(self._session, tasks, schema, receive_part)

    @cached_property
    def _server(self) -> _Server:
        if is_on_one_machine(self._session):
            return _Server("127.0.0.1", "127.0.0.1", self)
        check_workers(self._session)
        return _Server(str(self._session.conf.get("spark.driver.host")), "", self)

    def serve_connection(self, connection: Connection) -> None:
        """Send what is asked for."""
        deliver_challenge(connection, self._secret)
        answer_challenge(connection, self._secret)
        key, number = connection.recv()
        try:
            if key not in self._served:
                raise ended_frame_error()
            tables = self._served[key].part(number)
        except UsageError as error:
            connection.send(str(error))
            tables = iter(())
        else:
            connection.send("")
        for table in tables:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
            connection.send_bytes(sink.getvalue())
        connection.send_bytes(b"")

    def end(self) -> None:
        """End the frames: they raise from now on."""
        self._served.clear()

    def close(self) -> None:
        """End the thread as well."""
        self.end()
        if "_server" in vars(self):
            self._server.stop()


class _ServedRows:
    """The rows of a frame, which are in memory from when they are first asked for."""

    def __init__(
        self, count: int, tasks: int, rows: Callable[[], WordRows], table: Callable[[Words], pa.Table]
    ) -> None:
        self._bounds = [count * number // tasks for number in range(tasks + 1)]
        self._wanted = rows
        self._table = table
        self._lock = threading.Lock()
        self._rows: WordRows | None = None

    def part(self, number: int) -> Iterator[pa.Table]:
        """Return the rows for a task."""
        with self._lock:
            if self._rows is None:
                self._rows = self._wanted()
            rows = self._rows
        start, stop = self._bounds[number : number + 2]
        return self._tables(rows, start, stop)

    def _tables(self, rows: WordRows, start: int, stop: int) -> Iterator[pa.Table]:
        """Yield the rows from `start` to `stop`, which keep their words until the last of them has been sent."""
        for i in range(start, stop, _ROWS):
            yield self._table(rows.words()[i : min(i + _ROWS, stop)])


class _Server(socketserver.ThreadingTCPServer):
    """A TCP server with one thread per connection."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, host: str, bind: str, row_server: RowServer) -> None:
        super().__init__((bind, 0), _Handler)
        self.address = host, int(self.server_address[1])
        self.row_server = row_server
        threading.Thread(target=self.serve_forever, args=(0.05,), name="tidelog-rows", daemon=True).start()

    def stop(self) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Do nothing: the other end is gone, or not to be trusted."""


class _Handler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, _Server)
        with Connection(os.dup(self.request.fileno())) as connection:
            self.server.row_server.serve_connection(connection)


# --- frames that end with their epoch --------------------------------------------------------------------------------


_NEVER = "never"


class EndingFrames:
    """The frames of the present epoch of a database. Sessions of Spark Connect have none."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._name = f"tidelog.epoch.{secrets.token_hex(8)}"
        self._epoch = 0
        self._is_set = False

    def frame(self, rows: DataFrame, count: int) -> DataFrame:
        """Return a frame of local rows, so many, that raises E0687 when the epoch is over."""
        if not self._is_set:
            self._set()
        now = F.expr(f"reflect('java.lang.System', 'getProperty', '{self._name}', '')")
        # The processes of executors on other machines do not have the property.
        is_valid = F.assert_true(now.isin("", str(self._epoch)), F.lit(str(ended_frame_error()))).isNull()
        if not count:  # Without a row there would be nothing to look at.
            one = self._session.range(1).where(is_valid).where(now == _NEVER)
            return one.select(*null_columns(rows.schema))
        if is_on_one_machine(self._session):  # Spark evaluates conditions right above local rows once, in its plan.
            rows = rows.coalesce(count)
        return rows.where(is_valid)

    def end(self) -> None:
        """End the epoch and its frames."""
        self._epoch += 1
        if self._is_set:
            with ignore_stopped_session():
                self._set()

    def _set(self) -> None:
        java: Any = self._session.sparkContext._jvm
        java.java.lang.System.setProperty(self._name, str(self._epoch))
        self._is_set = True
