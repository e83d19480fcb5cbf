"""Frames whose rows tasks read when they are used, wherever the rows are.

`frame_of_tasks` is for both engines: the cluster's partitions have the rows (`processes.executors`), or the driver has
them (`Lender`). A frame that Spark makes of local data goes through the memory of Java, all at once; so from a million
rows on they stay in this process, and tasks read them, some at a time. For that they connect to a thread here; both
sides prove to know a secret, which is in the plan of the frame.
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
from tidelog.spark.machine import check_workers
from tidelog.spark.sessions import is_on_one_machine, mapped, slots

if TYPE_CHECKING:
    from tidelog.common.arrays import Words
    from tidelog.io.relation import WordRows

_ROWS = 1 << 17
"""Rows that are sent at a time."""


def is_over() -> UsageError:
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
        import pyarrow

        for batch in batches:
            for number in batch.column(0).to_pylist():
                for found in read(number):
                    if isinstance(found, str):
                        columns = [*(pyarrow.nulls(1, field.type) for field in schema), pyarrow.array([found])]
                    else:
                        columns = [*found.columns, pyarrow.nulls(found.num_rows, pyarrow.string())]
                    yield pyarrow.RecordBatch.from_arrays(columns, schema=extended)

    rows = mapped(session.range(0, tasks, 1, tasks), run, from_arrow_schema(extended))
    # What Spark raises says just this, while what Python raises in a worker comes with both their traces.
    return rows.where(F.assert_true(F.isnull("failed"), F.col("failed")).isNull()).select(schema.names)


class Lender:
    """A server from which tasks read rows of the driver. Its thread starts with the first frame."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._secret = secrets.token_bytes(32)
        self._loans: dict[str, _Loan] = {}

    def frame(
        self, count: int, schema: pa.Schema, rows: Callable[[], WordRows], table: Callable[[Words], pa.Table]
    ) -> DataFrame:
        """Return a frame of `count` rows, until `end`. `rows` gives them when the first of them is read, in any thread,
        and may raise UsageError; `table` makes values of some of them, of this schema. SetupError (E0704) without
        workers for it."""
        key, secret, address = secrets.token_hex(8), self._secret, self._server.address
        tasks = slots(self._session)
        self._loans[key] = _Loan(count, tasks, rows, lambda some: table(some).cast(schema))

        def read(number: int) -> Iterator[pa.RecordBatch | str]:
            import pyarrow.ipc

            with Client(address, authkey=secret) as connection:
                connection.send((key, number))
                if failed := connection.recv():
                    yield failed
                while data := connection.recv_bytes():
                    yield from pyarrow.ipc.open_stream(data)

        return frame_of_tasks(self._session, tasks, schema, read)

    @cached_property
    def _server(self) -> _Server:
        if is_on_one_machine(self._session):
            return _Server("127.0.0.1", "127.0.0.1", self)
        check_workers(self._session)
        return _Server(str(self._session.conf.get("spark.driver.host")), "", self)

    def attend_to(self, connection: Connection) -> None:
        """Send what is asked for."""
        deliver_challenge(connection, self._secret)
        answer_challenge(connection, self._secret)
        key, number = connection.recv()
        try:
            if key not in self._loans:
                raise is_over()
            tables = self._loans[key].part(number)
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
        self._loans.clear()

    def close(self) -> None:
        """End the thread as well."""
        self.end()
        if "_server" in vars(self):
            self._server.stop()


class _Loan:
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

    def __init__(self, host: str, bind: str, lender: Lender) -> None:
        super().__init__((bind, 0), _Handler)
        self.address = host, int(self.server_address[1])
        self.lender = lender
        threading.Thread(target=self.serve_forever, args=(0.05,), name="tidelog-lender", daemon=True).start()

    def stop(self) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: whoever asked is gone, or was not to be trusted."""


class _Handler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, _Server)
        with Connection(os.dup(self.request.fileno())) as connection:
            self.server.lender.attend_to(connection)
