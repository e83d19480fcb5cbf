"""Streams that maintain views: each micro-batch of a query becomes one epoch, once.

A batch is known by the id of its query, which stays the same as long as the checkpoint lives, and by its number. The
last number that was committed is a note of the state folder, committed together with the facts of the batch; Spark
commits its offsets after that. So a batch that Spark delivers again, after a crash between the two, is skipped, and one
that was never committed comes again. Without a state folder the facts end with the process, and so must the stream: a
checkpoint that is ahead of the facts is refused (E0683).

Over Spark Connect, batches go from the server to this process, which has the facts (`Handover`). A function for
`foreachBatch` runs in a process of the server. So the function here shows each batch as a global temporary view, and
waits until a thread of this process has made an epoch of it. Only then does Spark note its offsets, as it does with a
classic session. So nothing has to be stored on the way, and a batch without an answer comes again. Each side looks for
the views of the other one; their names have a secret. The function needs no tidelog on the server. It ends the query if
this process has shown no sign of life for a minute.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial, reduce
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from tidelog.errors import DataError, Problem, SetupError, TidelogError, UsageError, quote
from tidelog.language.syntax import CheckedProgram
from tidelog.spark.failures import ignore_stopped_session, report_source_errors, spark_errors_as, spark_message
from tidelog.spark.jobs import Phases, job_description, step
from tidelog.spark.keeping import KeptDatabase
from tidelog.spark.rows import null_columns, to_spark
from tidelog.spark.sessions import is_alive, is_connect, is_on_one_machine, last_progress, to_arrow
from tidelog.spark.sources.changes import Target
from tidelog.spark.sources.facts import Counts, check_batch
from tidelog.spark.sources.mapping import QUARANTINE_COLUMNS, Mapped, map_frame
from tidelog.spark.sources.readers import empty_frame, literal_path

MOST_BAD_ROWS = 10_000
"""Bad rows of a stream that are kept in memory, where there is no folder for them; they are counted all the same."""


@dataclass
class Stream:
    """One stream and what has become of it, also before it was started again under its name."""

    name: str
    target: Target
    checkpoint: str | None
    quarantine: str | None
    query: StreamingQuery | None = None
    handover: Handover | None = None
    started: threading.Event = field(default_factory=threading.Event)
    mapped: tuple[CheckedProgram, Mapped] | None = None
    """The mapping of its batches, and the program that it is for."""
    rows: int | None = None
    """The number of rows of the last batch."""
    doubted: bool = False
    """True if some of these did not fit."""
    temporary: str | None = None
    batches: int = 0
    repeated: int = 0
    counts: Counts = field(default_factory=Counts)
    seconds: float = 0.0
    error: str | None = None
    bad: dict[tuple[str, int], pa.Table] = field(default_factory=dict)


class Streams:
    """The streams of a database."""

    def __init__(self, database: KeptDatabase) -> None:
        self._database = database
        self._streams: dict[str, Stream] = {}

    def check(self, frame: DataFrame, target: Target, name: str, checkpoint: str | None) -> Mapped:
        """Return an empty batch of a stream to be started, mapped: what is wrong with columns and types shows now, not
        in the first batch. Raise UsageError and DataError."""
        if not isinstance(frame, DataFrame) or not frame.isStreaming:
            hint = "read it with session.readStream, or insert() it"
            raise UsageError(Problem("E0684", "expected a streaming frame, found a batch", hint=hint))
        if "/" in name or name in (".", ".."):
            hint = "use a name without slashes, other than . and ..: it names the folder of the checkpoint"
            raise UsageError(Problem("E0685", f"{quote(name)} cannot name a stream", place="name", hint=hint))
        self._refuse_second(name, checkpoint)
        program, empty = self._database.program, empty_like(frame)
        return map_frame(program, target.relation, empty, target.columns, operation=target.operation)

    def start(
        self,
        frame: DataFrame,
        target: Target,
        name: str,
        checkpoint: str | None,
        trigger: Mapping[str, Any],
        quarantine: str | None,
    ) -> StreamingQuery:
        """Start a stream that `check` has found right, see `SparkDatabase.maintain`."""
        before = self._streams.get(name, Stream(name, target, None, None))
        stream = replace(before, target=target, quarantine=quarantine, query=None, error=None, mapped=None, rows=None)
        stream.started = threading.Event()
        take = partial(self._batch, stream)
        stream.handover = Handover(self._database.session, take) if is_connect(self._database.session) else None
        writer = frame.writeStream.foreachBatch(take if stream.handover is None else stream.handover.function())
        if trigger:
            writer = _with_trigger(writer, trigger)
        if checkpoint is None and is_on_one_machine(self._database.session):
            stream.temporary = stream.temporary or tempfile.mkdtemp(prefix="tidelog-stream-")
        stream.checkpoint = checkpoint or stream.temporary
        if stream.checkpoint is not None:
            writer = writer.option("checkpointLocation", stream.checkpoint)
        self._streams[name] = stream
        with report_source_errors(f"stream {name}"):
            if name not in {query.name for query in self._database.session.streams.active}:  # A second one is an error.
                writer = writer.queryName(name)
            stream.query = writer.start()
        stream.started.set()
        if stream.handover is not None:
            stream.handover.start(stream.query)
        return stream.query

    def _refuse_second(self, name: str, checkpoint: str | None) -> None:
        """UsageError (E0684) where a stream that runs has this name or this checkpoint."""
        for other in self._streams.values():
            if other.query is None or not other.query.isActive:
                continue
            if other.name == name:
                raise UsageError(Problem("E0684", f"a stream {name!r} is running already", hint="choose another name"))
            if checkpoint is not None and other.checkpoint == checkpoint:
                message = f"the running stream {other.name!r} uses this checkpoint"
                raise UsageError(
                    Problem("E0684", message, place=checkpoint, hint="give each stream a checkpoint of its own")
                )

    def _batch(self, stream: Stream, frame: DataFrame, number: int) -> None:
        """Commit a micro-batch as an epoch; Spark calls this in a thread of its own."""
        stream.started.wait()
        assert stream.query is not None
        began = time.perf_counter()
        try:
            with job_description(self._database.session, f"stream {stream.name}, batch {number}"):
                self._commit_batch(stream, frame, number, str(stream.query.id))
        except Exception as error:
            stream.error = str(error) if isinstance(error, TidelogError) else spark_message(error)
            raise
        finally:
            stream.seconds += time.perf_counter() - began

    def _commit_batch(self, stream: Stream, frame: DataFrame, number: int, query: str) -> None:
        database = self._database
        last = _last_batch(database, query)
        if number <= last:
            stream.repeated += 1
            return
        if number > last + 1:
            message = (
                f"the checkpoint of stream {stream.name!r} is at batch {number}, but the facts are at batch {last}"
            )
            hint = "connect with the state folder that goes with the checkpoint, or begin with a new checkpoint"
            raise UsageError(Problem("E0683", message, hint=hint))
        phases = Phases()
        with phases("read"):
            mapping, before = self._batch_mapping(stream, frame), stream.rows
            is_local = before is not None and database.is_embedded_with(before)
            place, expected = f"batch {number} of stream {stream.name}", before if is_local else None
            checked = check_batch(mapping, frame, place, expected, stream.doubted)
        stream.rows, stream.doubted = checked.read, checked.quarantined > 0
        late: list[int] = []
        try:
            if checked.quarantined:
                with phases("quarantine"):
                    self._quarantine_rows(stream, checked.bad, number)
            with phases("epoch"):
                database.apply(checked.pending_facts(lambda _, rows: late.append(rows)), {"streams": {query: number}})
        finally:
            checked.release()
            if _last_batch(database, query) == number:  # committed, though a subscriber may have failed
                stream.batches += 1
                good = checked.read - checked.quarantined
                counts = Counts(checked.read, good, checked.quarantined, late=sum(late))
                stream.counts += counts
                database.records.batch(stream.name, number, database.epoch, asdict(counts), phases.seconds)

    def _batch_mapping(self, stream: Stream, frame: DataFrame) -> Mapped:
        """Return the mapping of the batches of a stream, of which `frame` is one, for the present program."""
        program, target = self._database.program, stream.target
        if stream.mapped is None or stream.mapped[0] is not program:
            empty = empty_like(frame)  # The mapping keeps its frame, and a batch would keep the names of its files.
            made = map_frame(program, target.relation, empty, target.columns, operation=target.operation)
            stream.mapped = program, made
        return stream.mapped[1]

    @step("quarantine")
    def _quarantine_rows(self, stream: Stream, bad: DataFrame, number: int) -> None:
        """Keep the bad rows of a batch; a batch that comes again replaces its own."""
        assert stream.query is not None
        query = str(stream.query.id)
        if stream.quarantine is not None:
            place = f"{stream.quarantine}/stream={stream.name}/query={query}/batch={number}"
            hint = "check the path and start the stream again, which repeats the batch"

            def failure(error: BaseException) -> DataError:
                return DataError(
                    Problem("E0483", f"cannot write the quarantine: {spark_message(error)}", place=place, hint=hint)
                )

            with spark_errors_as(failure):
                bad.write.mode("overwrite").parquet(place)
            return
        stream.bad.pop((query, number), None)
        room = MOST_BAD_ROWS - sum(table.num_rows for table in stream.bad.values())
        if room > 0:
            stream.bad[query, number] = to_arrow(bad.limit(room))

    def bad_rows(self) -> DataFrame:
        """Return the bad rows of all streams, those in the state folder also of earlier processes."""
        session = self._database.session
        frames = [to_spark(session, table) for stream in self._streams.values() for table in stream.bad.values()]
        folders = {stream.quarantine for stream in self._streams.values()} | {self._database.keeper.quarantine}
        columns = [column.split(" ")[0] for column in QUARANTINE_COLUMNS]
        for folder in sorted(folder for folder in folders if folder is not None):
            with suppress(AnalysisException):  # nothing has been put there yet
                frames.append(session.read.parquet(literal_path(folder)).select(columns))
        return reduce(DataFrame.unionAll, frames, empty_frame(session, *QUARANTINE_COLUMNS))

    def progress(self) -> dict[str, dict[str, Any]]:
        """For each stream what has been read, and how far behind it is."""
        return {name: _progress(stream) for name, stream in self._streams.items()}

    def stop(self) -> None:
        """Stop all streams, and remove their temporary checkpoints."""
        for stream in self._streams.values():
            if stream.query is not None:
                with ignore_stopped_session():
                    stream.query.stop()
            if stream.handover is not None:
                stream.handover.stop()
            if stream.temporary is not None:
                shutil.rmtree(stream.temporary, ignore_errors=True)


def empty_like(frame: DataFrame) -> DataFrame:
    """Return a frame without rows and without a stream, of the same columns."""
    return empty_frame(frame.sparkSession).select(*null_columns(frame.schema))


def _with_trigger(writer: DataStreamWriter, trigger: Mapping[str, Any]) -> DataStreamWriter:
    """Return the writer with a trigger. UsageError (E0685) where Spark knows none such."""
    try:
        return writer.trigger(**trigger)
    except (TypeError, PySparkException) as error:
        hint = "pass for example {'processingTime': '10 seconds'}, or {'availableNow': True}"
        raise UsageError(
            Problem("E0685", f"unknown trigger: {spark_message(error)}", place="trigger", hint=hint)
        ) from None


def _last_batch(database: KeptDatabase, query: str) -> int:
    """Return the number of the last batch of a query that has been committed."""
    last: int = database.keeper.notes.get("streams", {}).get(query, -1)
    return last


def _error(stream: Stream) -> str | None:
    """Return the error that has ended the stream: in a batch, or outside of one, such as that its source cannot be
    read."""
    if stream.error is not None or stream.query is None:
        return stream.error
    error = stream.query.exception()
    return None if error is None else spark_message(error)


def _progress(stream: Stream) -> dict[str, Any]:
    """Return the progress of a stream. The counts are this process's; `last` is what Spark says about the last trigger,
    with the offsets that the sources have reached and, where they know, those of the latest data."""
    query = stream.query
    last = {} if query is None else last_progress(query)
    sources = last.get("sources", [])

    def total(name: str) -> float | None:
        """Return a number of the trigger: with Spark Connect only the sources have it."""
        numbers = [last.get(name)] if last.get(name) is not None else [source.get(name) for source in sources]
        return sum(number or 0 for number in numbers) if last else None

    return {
        "relation": stream.target.relation,
        "running": query is not None and query.isActive,
        "batches": stream.batches,
        "repeated": stream.repeated,
        "read": stream.counts.read,
        "accepted": stream.counts.accepted,
        "quarantined": stream.counts.quarantined,
        "late": stream.counts.late,
        "seconds": round(stream.seconds, 3),
        "error": _error(stream),
        "last": {
            "batch": last.get("batchId"),
            "at": last.get("timestamp"),
            "rows": total("numInputRows"),
            "rows_per_second_in": total("inputRowsPerSecond"),
            "rows_per_second_done": total("processedRowsPerSecond"),
            "sources": [
                {key: source.get(key) for key in ("description", "endOffset", "latestOffset", "metrics")}
                for source in sources
            ],
        },
    }


# --- Spark Connect ---------------------------------------------------------------------------------------------------


_LOOK = 0.05
"""Seconds between two looks for a view."""
_BEAT = 5.0
"""Seconds between two signs of life, and between two looks whether the query has ended."""
_SILENCE = 60.0
"""Seconds after which the function takes this process for dead."""


class Handover:
    """The batches of one query, each for a call of `take(frame, number)`. A batch for which that raises ends the
    query. Raise SetupError (E0706) if the server does not make the views."""

    def __init__(self, session: SparkSession, take: Callable[[DataFrame, int], None]) -> None:
        self._session = session
        self._take = take
        self._database = session.conf.get("spark.sql.globalTempDatabase") or "global_temp"
        self._prefix = f"tidelog_{secrets.token_hex(8)}"
        self._ended = threading.Event()
        self._server: threading.Thread | None = None
        try:
            self._show("beat", 0)
        except PySparkException as error:
            what = "this server makes no global temporary views, which streams over Spark Connect need"
            hint = 'start a classic session with .master(…), or run a pipeline with mode = "append" again and again'
            raise SetupError(Problem("E0706", f"{what}: {spark_message(error)}", hint=hint)) from error

    def function(self) -> Callable[[DataFrame, int], None]:
        """Return the function for `foreachBatch`."""
        prefix, views, look, silence = self._prefix, f"{self._database}.{self._prefix}", _LOOK, _SILENCE

        def show(frame: DataFrame, number: int) -> None:
            import time

            from pyspark.sql import functions

            session = frame.sparkSession
            frame.createOrReplaceGlobalTempView(f"{prefix}_batch")
            named = session.range(1).select(functions.lit(number).alias("value"))
            named.createOrReplaceGlobalTempView(f"{prefix}_number")
            beat, heard = None, time.monotonic()
            while not session.catalog.tableExists(f"{views}_answer"):
                time.sleep(look)
                if time.monotonic() > heard + silence:
                    found = session.table(f"{views}_beat").collect()[0][0]
                    if found == beat:
                        raise TimeoutError("the process that has the database does not answer any more")
                    beat, heard = found, time.monotonic()
            failed = session.table(f"{views}_answer").collect()[0][0]
            session.catalog.dropGlobalTempView(f"{prefix}_answer")
            if failed:
                raise RuntimeError(failed)

        return show

    def start(self, query: StreamingQuery) -> None:
        """Take the batches of a query, in threads that end with it."""
        threading.Thread(target=self._beat, name="tidelog-beat", daemon=True).start()
        self._server = threading.Thread(target=self._serve, args=(query,), name="tidelog-stream", daemon=True)
        self._server.start()

    def stop(self) -> None:
        """Take no further batch, now that the query has been stopped; wait for the one under way."""
        self._ended.set()
        if self._server is not None:
            self._server.join()

    def _beat(self) -> None:
        number = 0
        while not self._ended.wait(_BEAT):
            number += 1
            with suppress(Exception):  # The next one may get through, if the session has not ended.
                self._show("beat", number)

    def _serve(self, query: StreamingQuery) -> None:
        """Take batches until the query has ended, or the session."""
        try:
            while (number := self._next(query)) is not None:
                failed = self._failure(number)
                self._drop("number", "batch")
                self._show("answer", failed)
        except Exception:
            if is_alive(self._session):
                raise
        finally:
            self._ended.set()
            with suppress(Exception):  # A session that was stopped shows it in many ways.
                self._drop("number", "batch", "answer", "beat")

    def _next(self, query: StreamingQuery) -> int | None:
        """Return the number of the next batch, once it is there; None if the query has ended."""
        looked = time.monotonic()
        while not self._session.catalog.tableExists(self._name("number")):
            if self._ended.wait(_LOOK):
                return None
            if time.monotonic() > looked + _BEAT:
                if not query.isActive:
                    return None
                looked = time.monotonic()
        return int(self._session.table(self._name("number")).collect()[0][0])

    def _failure(self, number: int) -> str:
        """Return why a batch has failed, empty if it has become an epoch."""
        try:
            self._take(self._session.table(self._name("batch")), number)
        except Exception as error:
            return str(error) if isinstance(error, TidelogError) else spark_message(error)
        return ""

    def _name(self, view: str) -> str:
        return f"{self._database}.{self._prefix}_{view}"

    def _show(self, view: str, value: int | str) -> None:
        """Have a view of one value."""
        frame = self._session.range(1).select(F.lit(value).alias("value"))
        frame.createOrReplaceGlobalTempView(f"{self._prefix}_{view}")

    def _drop(self, *views: str) -> None:
        for view in views:
            self._session.catalog.dropGlobalTempView(f"{self._prefix}_{view}")
