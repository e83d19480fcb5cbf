"""Frames as Parquet files in a folder that driver and executors share, each of which the driver has seen.

The tasks that have the rows write a file each and say how many rows are in it and what its checksum is. Files of tasks
that ran twice are not among those and are removed. The driver reads what is said to be there: where executors have
another file system under the same path, their files are not, and nothing is committed (`write_parts`). `check_shared`
finds out before there is anything to lose.

The folder is a path, or an address that fsspec knows. From an address, tasks read the files again, after they have
compared them with their checksums (`parts_frame`); from a path, the driver does, and Spark reads.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from tidelog.durable.damage import damaged
from tidelog.durable.files import Files
from tidelog.durable.local import LocalFiles
from tidelog.durable.remote import RemoteFiles
from tidelog.errors import Problem, UsageError
from tidelog.spark.deferred import frame_of_tasks
from tidelog.spark.failures import working
from tidelog.spark.jobs import step
from tidelog.spark.sessions import mapped, slots
from tidelog.store.manifest import NAME
from tidelog.store.tables import FilePart, PartFolder

if TYPE_CHECKING:
    import pyarrow as pa

_TOLD = "name string, rows long, sum string, code int, failed string"
_ROWS = 1 << 17
"""Rows that a task holds before it writes them."""


def files_at(place: str) -> Files:
    """Return the files of a folder at a path or an address."""
    return RemoteFiles(place, NAME) if "://" in place else LocalFiles(Path(place))


def write_parts(values: DataFrame, folder: str) -> list[FilePart]:
    """Write a frame to files of a folder, which is there; return these. UsageError (E0691) where the driver does not
    find in them what executors wrote, OSError where somebody cannot write."""
    with closing(files_at(folder)) as files:
        parts = _written(values, files, folder)
        there = files.entries()
        for name in there.keys() - {part.name for part in parts}:
            files.remove(name)
        for part in parts:
            found = _found(files, part) if part.name in there else None
            if found != part:
                what = "which is not there" if found is None else f"and finds {found.rows:,}, or others"
                message = f"an executor wrote {part.rows:,} rows to {part.name}; the driver looks for it, {what}"
                raise _apart(folder, message)
    return parts


def shared_folder(session: SparkSession, folder: str) -> str:
    """Make a folder for files of executors, if need be. Raise UsageError (E0691) unless they all see it."""
    if "://" in folder:
        files_at(folder).make("")
    else:
        os.makedirs(folder, exist_ok=True)
    with working():
        check_shared(session, folder)
    return folder


def check_shared(session: SparkSession, folder: str) -> None:
    """Raise UsageError (E0691) unless tasks on the executors see what the driver writes to a folder, and the driver
    what they write. The folder is there."""
    token, tasks = secrets.token_hex(16), 4 * slots(session)
    asked = f"probe-{token}"
    with closing(files_at(folder)) as files:
        files.put(asked, token.encode())
        try:
            for host, number, failed in _answers(session, folder, asked, tasks):
                if failed:
                    message = f"the driver wrote a file there that an executor on {host} cannot read: {failed}"
                    raise _apart(folder, message)
                answer = f"{asked}-{number}"
                if files.kind(answer) != "file" or files.read(answer) != token.encode():
                    raise _apart(folder, f"an executor on {host} wrote a file there that the driver cannot read")
        finally:
            with suppress(OSError):
                for name in [name for name in files.entries() if name.startswith(asked)]:
                    files.remove(name)


@step("check the parts of facts")
def parts_frame(session: SparkSession, folder: PartFolder) -> DataFrame:
    """Return the rows of files at an address. Raise DataError (E0682) where a file is not what was written."""
    from pyarrow import parquet

    place, names = folder.place, [part.name for part in folder.parts]
    tasks = min(len(names), 4 * slots(session))
    told = {
        row["name"]: row
        for row in mapped(session.range(0, tasks, 1, tasks), _summing(place, names, tasks), _TOLD).collect()
    }
    for part in folder.parts:
        row = told[part.name]
        if row["failed"] or row["sum"] != part.sum or row["rows"] != part.rows:
            raise damaged(f"{place}/{part.name}", row["failed"] or "the checksum is wrong")
    with files_at(place).open(names[0]) as file:
        schema = parquet.read_schema(file)

    def read(number: int) -> Iterator[pa.RecordBatch]:
        import pyarrow
        from pyarrow import parquet

        from tidelog.spark.frames.parts import files_at

        for name in names[number::tasks]:
            with parquet.ParquetFile(pyarrow.BufferReader(files_at(place).read(name))) as file:
                yield from file.iter_batches()

    return frame_of_tasks(session, tasks, schema, read)


def _summing(place: str, names: Sequence[str], tasks: int) -> Callable[[Any], Iterator[pa.RecordBatch]]:
    """Return the function by which tasks report the rows and checksums of files."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow
        from pyarrow import parquet

        from tidelog.durable.files import checksum
        from tidelog.spark.frames.parts import files_at, told_batch

        for batch in batches:
            for number in batch.column(0).to_pylist():
                for name in names[number::tasks]:
                    try:
                        data = files_at(place).read(name)
                        rows = parquet.read_metadata(pyarrow.BufferReader(data)).num_rows
                        yield told_batch(name, rows, checksum(data), 0, "")
                    except MemoryError:
                        raise
                    except (OSError, pyarrow.ArrowException) as error:
                        yield told_batch(name, 0, "", 0, str(error) or type(error).__name__)

    return run


@step("write facts")
def _written(values: DataFrame, files: Files, folder: str) -> list[FilePart]:
    """Return the parts that tasks report: the files that they have written."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from tidelog.spark.frames.parts import told_batch, write_part

        try:
            told = write_part(folder, batches)
        except OSError as error:
            told = ("", 0, "", error.errno or 0, error.strerror or str(error) or type(error).__name__)
        if told is not None:
            yield told_batch(*told)

    rows = mapped(values, write, _TOLD).collect()
    for row in rows:
        if row["failed"]:
            if row["code"] != 2 or not _is_there(files):
                raise OSError(row["code"], row["failed"])
            raise _apart(folder, "the driver has made this folder, and an executor does not find it")
    return [FilePart(row["name"], row["rows"], row["sum"]) for row in rows]


def _is_there(files: Files) -> bool:
    try:
        files.entries()
    except OSError:
        return False
    return True


def told_batch(name: str, rows: int, found: str, code: int, failed: str) -> pa.RecordBatch:
    """Return what a task says about a file."""
    import pyarrow

    columns = [pyarrow.array([value]) for value in (name, rows, found, code, failed)]
    columns[3] = columns[3].cast(pyarrow.int32())
    return pyarrow.RecordBatch.from_arrays(columns, names=["name", "rows", "sum", "code", "failed"])


def write_part(folder: str, batches: Iterator[pa.RecordBatch]) -> tuple[str, int, str, int, str] | None:
    """Write the rows of a task to a file of a folder, and sync it. Return its name, rows and checksum, and no failure;
    None without rows. The folder is not made where it is not: then it is another one. Raise OSError."""
    import pyarrow
    from pyarrow import parquet

    filled = (batch for batch in batches if batch.num_rows)
    first = next(filled, None)
    if first is None:
        return None
    name, rows = f"part-{secrets.token_hex(12)}.parquet", 0

    def write(output: Any) -> None:
        nonlocal rows
        waiting: list[pa.RecordBatch] = []
        held = 0
        with parquet.ParquetWriter(output, first.schema) as writer:
            for batch in chain([first], filled):
                waiting.append(batch)
                held += batch.num_rows
                if held >= _ROWS:
                    writer.write_table(pyarrow.Table.from_batches(waiting))
                    rows, waiting, held = rows + held, [], 0
            if held:
                writer.write_table(pyarrow.Table.from_batches(waiting))
                rows += held

    with closing(files_at(folder)) as files:
        found = files.write(name, write)
    return name, rows, found, 0, ""


def _found(files: Files, part: FilePart) -> FilePart | None:
    """Return the file as the driver sees it: with its checksum if it is on this machine. Others are not transferred."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with files.open(part.name) as file:
            rows = parquet.read_metadata(file).num_rows
        return FilePart(part.name, rows, files.checksum(part.name) if isinstance(files, LocalFiles) else part.sum)
    except MemoryError:  # Arrow's is an ArrowException as well.
        raise
    except (OSError, pa.ArrowException):
        return None


@step("check that executors share a folder")
def _answers(session: SparkSession, folder: str, asked: str, tasks: int) -> list[tuple[str, int, str]]:
    """Return for each task the machine, its number, and the reason if it could not read or write."""

    def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import socket
        from contextlib import closing

        import pyarrow

        from tidelog.spark.frames.parts import files_at

        for batch in batches:
            for number in batch.column(0).to_pylist():
                failed = ""
                try:
                    with closing(files_at(folder)) as files:
                        token = files.read(asked)
                        failed = "" if asked == f"probe-{token.decode()}" else "there is another one"
                        if not failed:
                            files.put(f"{asked}-{number}", token)
                except OSError as error:
                    failed = error.strerror or str(error) or type(error).__name__
                columns = [pyarrow.array([value]) for value in (socket.gethostname(), number, failed)]
                yield pyarrow.RecordBatch.from_arrays(columns, names=["host", "number", "failed"])

    rows = mapped(session.range(0, tasks, 1, tasks), answer, "host string, number long, failed string").collect()
    return [(row["host"], row["number"], row["failed"]) for row in rows]


def _apart(folder: str, what: str) -> UsageError:
    hint = "choose a folder on a file system that all machines share, or options(engine='embedded')"
    message = f"driver and executors do not share the folder: {what}"
    return UsageError(Problem("E0691", message, place=folder, hint=hint))
