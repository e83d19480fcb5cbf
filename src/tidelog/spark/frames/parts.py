"""Frames as Parquet files in a folder that driver and executors share, each of which the driver has seen.

The tasks that have the rows write a file each and say how many rows are in it and what its checksum is. Files of tasks
that ran twice are not among those and are removed. The driver reads what is said to be there: where executors have
another file system under the same path, their files are not, and nothing is committed (`write_parts`). `check_shared`
finds out before there is anything to lose.

The folder is a path, or an address that fsspec knows. From an address, tasks read the files again, after they have
compared them with their checksums (`parts_frame`); from a path, the driver does, and Spark reads.
"""

from __future__ import annotations

import errno
import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession

from tidelog.durable.files import Files, checksum, damage_error
from tidelog.durable.local import LocalFiles
from tidelog.durable.remote import RemoteFiles
from tidelog.errors import Problem, UsageError
from tidelog.spark.deferred import frame_of_tasks
from tidelog.spark.failures import report_job_errors
from tidelog.spark.jobs import step
from tidelog.spark.rows import larger_batches
from tidelog.spark.sessions import results_of, results_of_tasks, slots
from tidelog.store.manifest import NAME
from tidelog.store.segments import FilePart, PartFolder

_ROWS = 1 << 17
"""Rows that a task holds before it writes them."""


def files_at(place: str) -> Files:
    """Return the files of a folder at a path or an address."""
    return RemoteFiles(place, NAME) if "://" in place else LocalFiles(Path(place))


def write_parts(values: DataFrame, folder: str) -> list[FilePart]:
    """Write a frame to files of a folder, which is there; return these. UsageError (E0691) where the driver does not
    find in them what executors wrote, OSError where somebody cannot write."""
    with closing(files_at(folder)) as files:
        parts = _write_in_tasks(values, files, folder)
        there = files.entries()
        for name in there.keys() - {part.name for part in parts}:
            files.remove(name)
        for part in parts:
            found = _seen_by_driver(files, part) if part.name in there else None
            if found != part:
                what = "which is not there" if found is None else f"and finds {found.rows:,}, or others"
                message = f"an executor wrote {part.rows:,} rows to {part.name}; the driver looks for it, {what}"
                raise _not_shared(folder, message)
    return parts


def shared_folder(session: SparkSession, folder: str) -> str:
    """Make a folder for files of executors, if need be. Raise UsageError (E0691) unless they all see it."""
    if "://" in folder:
        files_at(folder).make("")
    else:
        os.makedirs(folder, exist_ok=True)
    with report_job_errors():
        check_shared(session, folder)
    return folder


def check_shared(session: SparkSession, folder: str) -> None:
    """Raise UsageError (E0691) unless tasks on the executors see what the driver writes to a folder, and the driver
    what they write. The folder is there."""
    token, tasks = secrets.token_hex(16), 4 * slots(session)
    asked = f"probe-{token}"

    def answer(number: int) -> tuple[str, str]:
        failed = ""
        try:
            with closing(files_at(folder)) as files:
                token = files.read_bytes(asked)
                failed = "" if asked == f"probe-{token.decode()}" else "there is another one"
                if not failed:
                    files.write_bytes(f"{asked}-{number}", token)
        except OSError as error:
            failed = error.strerror or str(error) or type(error).__name__
        return socket.gethostname(), failed

    with closing(files_at(folder)) as files:
        files.write_bytes(asked, token.encode())
        try:
            with step("check that executors share a folder"):
                answers = results_of_tasks(session, tasks, answer)
            for number, (host, failed) in enumerate(answers):
                if failed:
                    message = f"the driver wrote a file there that an executor on {host} cannot read: {failed}"
                    raise _not_shared(folder, message)
                written = f"{asked}-{number}"
                if files.kind(written) != "file" or files.read_bytes(written) != token.encode():
                    raise _not_shared(folder, f"an executor on {host} wrote a file there that the driver cannot read")
        finally:
            with suppress(OSError):
                for name in [name for name in files.entries() if name.startswith(asked)]:
                    files.remove(name)


@step("check the parts of facts")
def parts_frame(session: SparkSession, folder: PartFolder) -> DataFrame:
    """Return the rows of files at an address. Raise DataError (E0682) where a file is not what was written."""
    place, names = folder.place, [part.name for part in folder.parts]
    tasks = min(len(names), 4 * slots(session))

    def look(number: int) -> dict[str, FilePart | str]:
        return {name: look_at(place, name) for name in names[number::tasks]}

    for found in results_of_tasks(session, tasks, look):
        for part in folder.parts:
            there = found.get(part.name, part)
            if there != part:
                raise damage_error(f"{place}/{part.name}", there if isinstance(there, str) else "the checksum is wrong")
    with files_at(place).open(names[0]) as file:
        schema = parquet.read_schema(file)

    def read_files(number: int) -> Iterator[pa.RecordBatch]:
        for name in names[number::tasks]:
            with parquet.ParquetFile(pa.BufferReader(files_at(place).read_bytes(name))) as file:
                yield from file.iter_batches()

    return frame_of_tasks(session, tasks, schema, read_files)


def look_at(place: str, name: str) -> FilePart | str:
    """Return a file of a folder as it is there, or why it cannot be read."""
    try:
        data = files_at(place).read_bytes(name)
        return FilePart(name, parquet.read_metadata(pa.BufferReader(data)).num_rows, checksum(data))
    except MemoryError:
        raise
    except (OSError, pa.ArrowException) as error:
        return str(error) or type(error).__name__


@step("write facts")
def _write_in_tasks(values: DataFrame, files: Files, folder: str) -> list[FilePart]:
    """Return the parts that tasks report: the files that they have written."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[FilePart | tuple[int, str]]:
        try:
            yield from write_part(folder, batches)
        except OSError as error:
            yield error.errno or 0, error.strerror or str(error) or type(error).__name__

    parts = []
    for each in results_of(values, write):
        if isinstance(each, FilePart):
            parts.append(each)
        elif each[0] == errno.ENOENT and _is_there(files):
            raise _not_shared(folder, "the driver has made this folder, and an executor does not find it")
        else:
            raise OSError(*each)
    return parts


def _is_there(files: Files) -> bool:
    try:
        files.entries()
    except OSError:
        return False
    return True


def write_part(folder: str, batches: Iterator[pa.RecordBatch]) -> Iterator[FilePart]:
    """Write the rows of a task to a file of a folder, sync it, and yield it; nothing without rows. The folder is not
    made where it is not: then it is another one. Raise OSError."""
    filled = (batch for batch in batches if batch.num_rows)
    first = next(filled, None)
    if first is None:
        return
    name, rows = f"part-{secrets.token_hex(12)}.parquet", 0

    def write(output: Any) -> None:
        nonlocal rows
        with parquet.ParquetWriter(output, first.schema) as writer:
            for batch in larger_batches(chain([first], filled), _ROWS):
                writer.write_batch(batch)
                rows += batch.num_rows

    with closing(files_at(folder)) as files:
        found = files.write(name, write)
    yield FilePart(name, rows, found)


def _seen_by_driver(files: Files, part: FilePart) -> FilePart | None:
    """Return the file as the driver sees it: with its checksum if it is on this machine. Others are not transferred."""
    try:
        with files.open(part.name) as file:
            rows = parquet.read_metadata(file).num_rows
        return FilePart(part.name, rows, files.checksum(part.name) if isinstance(files, LocalFiles) else part.sum)
    except MemoryError:  # Arrow's is an ArrowException as well.
        raise
    except (OSError, pa.ArrowException):
        return None


def _not_shared(folder: str, what: str) -> UsageError:
    hint = "choose a folder on a file system that all machines share, or options(engine='embedded')"
    message = f"driver and executors do not share the folder: {what}"
    return UsageError(Problem("E0691", message, place=folder, hint=hint))
