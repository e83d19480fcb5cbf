"""Frames as Parquet files in a folder that driver and executors share, each of which the driver has seen.

The tasks that have the rows write a file each and say how many rows are in it and what its checksum is. Files of tasks
that ran twice are not among those and are removed. The driver reads what is said to be there: where executors have
another file system under the same path, their files are not, and nothing is committed (`write_parts`). `check_shared`
finds out before there is anything to lose.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from tidelog.errors import Problem, UsageError
from tidelog.spark.failures import working
from tidelog.spark.frames.deferred import mapped

if TYPE_CHECKING:
    import pyarrow as pa

_TOLD = "name string, rows long, sum string, code int, failed string"
_ROWS = 1 << 17
"""Rows that a task holds before it writes them."""


@dataclass(frozen=True)
class FilePart:
    """A file, the number of its rows, and its checksum."""

    name: str
    rows: int
    sum: str


def write_parts(values: DataFrame, folder: Path) -> list[FilePart]:
    """Write a frame to files of a new folder; return these. UsageError (E0691) where the driver does not find in them
    what executors wrote, OSError where somebody cannot write."""
    folder.mkdir()
    parts = _written(values, folder)
    for name in set(os.listdir(folder)) - {part.name for part in parts}:
        (folder / name).unlink()
    for part in parts:
        found = _found(folder / part.name)
        if found != part:
            what = "which is not there" if found is None else f"and finds {found.rows:,}, or others"
            raise _apart(
                folder, f"an executor wrote {part.rows:,} rows to {part.name}; the driver looks for it, {what}"
            )
    return parts


def shared_folder(session: SparkSession, folder: Path) -> Path:
    """Make a folder for files of executors, if need be. Raise UsageError (E0691) unless they all see it."""
    folder.mkdir(exist_ok=True)
    with working():
        check_shared(session, folder)
    return folder


def check_shared(session: SparkSession, folder: Path) -> None:
    """Raise UsageError (E0691) unless tasks on the executors see what the driver writes to a folder, and the driver
    what they write. The folder is there."""
    token, tasks = secrets.token_hex(16), 4 * session.sparkContext.defaultParallelism
    asked = folder / f"probe-{token}"
    asked.write_text(token, encoding="utf-8")
    try:
        for host, number, failed in _answers(session, str(asked), token, tasks):
            if failed:
                raise _apart(folder, f"the driver wrote a file there that an executor on {host} cannot read: {failed}")
            answer = Path(f"{asked}-{number}")
            if not answer.is_file() or answer.read_text(encoding="utf-8") != token:
                raise _apart(folder, f"an executor on {host} wrote a file there that the driver cannot read")
    finally:
        for file in folder.glob(f"{asked.name}*"):
            with suppress(OSError):
                file.unlink()


def _written(values: DataFrame, folder: Path) -> list[FilePart]:
    """Return the parts that tasks report: the files that they have written."""
    place, most = str(folder), _ROWS

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow

        from tidelog.spark.frames.parts import TaskFile

        file = TaskFile(place, most)
        try:
            for batch in batches:
                file.add(batch)
            told = file.close()
        except OSError as error:
            told = ("", 0, "", error.errno or 0, error.strerror or str(error))
        if told is not None:
            columns = [pyarrow.array([value]) for value in told]
            columns[3] = columns[3].cast(pyarrow.int32())
            yield pyarrow.RecordBatch.from_arrays(columns, names=["name", "rows", "sum", "code", "failed"])

    rows = mapped(values, write, _TOLD).collect()
    for row in rows:
        if row["failed"]:
            if not folder.is_dir() or row["code"] != 2:
                raise OSError(row["code"], row["failed"])
            raise _apart(folder, "the driver has made this folder, and an executor does not find it")
    return [FilePart(row["name"], row["rows"], row["sum"]) for row in rows]


class TaskFile:
    """The file of one task. The folder is not made where it is not: then it is another one."""

    def __init__(self, folder: str, most: int) -> None:
        self._name = f"part-{secrets.token_hex(12)}.parquet"
        self._path = os.path.join(folder, self._name)
        self._most = most
        self._waiting: list[pa.RecordBatch] = []
        self._writer: Any = None
        self._rows = self._held = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Write rows, now or with the next ones."""
        if batch.num_rows:
            self._waiting.append(batch)
            self._held += batch.num_rows
        if self._held >= self._most:
            self._flush()

    def close(self) -> tuple[str, int, str, int, str] | None:
        """Sync the file to the disk. Return its name, rows and checksum, and no failure; None without rows."""
        if self._held:
            self._flush()
        if self._writer is None:
            return None
        self._writer.close()
        with open(self._path, "rb+") as file:
            os.fsync(file.fileno())
            found = hashlib.file_digest(file, "sha256").hexdigest()
        return self._name, self._rows, found, 0, ""

    def _flush(self) -> None:
        import pyarrow
        from pyarrow import parquet

        table = pyarrow.Table.from_batches(self._waiting)
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table)
        self._rows += self._held
        self._waiting, self._held = [], 0


def _found(path: Path) -> FilePart | None:
    """Return the file as the driver sees it."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        return FilePart(path.name, parquet.read_metadata(path).num_rows, found)
    except MemoryError:  # Arrow's is an ArrowException as well.
        raise
    except (OSError, pa.ArrowException):
        return None


def _answers(session: SparkSession, asked: str, token: str, tasks: int) -> list[tuple[str, int, str]]:
    """Return for each task the machine, its number, and the reason if it could not read or write."""

    def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import socket

        import pyarrow

        for batch in batches:
            for number in batch.column(0).to_pylist():
                failed = ""
                try:
                    with open(asked, encoding="utf-8") as file:
                        failed = "" if file.read() == token else "there is another one"
                    if not failed:
                        with open(f"{asked}-{number}", "w", encoding="utf-8") as file:
                            file.write(token)
                except OSError as error:
                    failed = error.strerror or str(error)
                columns = [pyarrow.array([value]) for value in (socket.gethostname(), number, failed)]
                yield pyarrow.RecordBatch.from_arrays(columns, names=["host", "number", "failed"])

    rows = mapped(session.range(0, tasks, 1, tasks), answer, "host string, number long, failed string").collect()
    return [(row["host"], row["number"], row["failed"]) for row in rows]


def _apart(folder: Path, what: str) -> UsageError:
    hint = "choose a folder on a file system that all machines share, or options(engine='embedded')"
    message = f"driver and executors do not share the folder: {what}"
    return UsageError(Problem("E0691", message, place=str(folder), hint=hint))
