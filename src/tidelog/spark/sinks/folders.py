"""Sinks that are folders: files of any format that the session writes.

A folder `epoch=N` is written anew when the epoch comes again after a crash, so that its rows are there once.
`_manifest.json` names the epochs that count and is replaced in one step; readers that cannot wait look there. A view
that replaces another one is written beside it, and changes places with it in one step where the driver can do that:
on its own file system. Elsewhere Spark removes the old files first.

Spark writes the files, with one exception. Changes that this process has go to Parquet files of its own file system
without a Spark job, which would take longer than the rows.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField

from tidelog.errors import DataError, Problem
from tidelog.spark.failures import spark_errors_as, spark_message
from tidelog.spark.sessions import is_on_one_machine
from tidelog.spark.sinks.sink import EPOCH, Sink
from tidelog.spark.sources.readers import is_address, named_column, spark_path

MANIFEST = "_manifest.json"
"""Spark takes files that begin otherwise for data."""
_SUCCESS = "_SUCCESS"
"""The file by which readers know that Spark has written a folder to its end."""
_AT_FDCWD, _EXCHANGE = -100, 2  # of renameat2(2)
_CODECS = {"none": "none", "uncompressed": "none", "snappy": "snappy", "gzip": "gzip", "zstd": "zstd"}
"""Compressions of Parquet that Arrow has under the same name as Spark, or under another one."""
_EXACT = {"csv": {"escape": '"', "ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"}}
"""Options by format with which all texts read back as they are, by the rules of RFC 4180. Spark trims them."""
_ENCRYPTION = "parquet.crypto.factory.class"


@dataclass(frozen=True)
class FolderTarget:
    """A folder at `path`; `is_local` says that it is on the driver's file system for sure. `codec` is the compression
    of Parquet files that this process writes; None if Spark writes all files."""

    sink: Sink
    path: str
    is_local: bool
    codec: str | None = None
    notes: tuple[str, ...] = ()

    def replace(self, rows: DataFrame) -> None:
        """Replace the folder by one with these rows. Raise DataError (E0483)."""
        if self.sink.mode == "error":
            write_files(rows, self.sink, self.path, "errorifexists")
        elif not self.is_local:
            write_files(rows, self.sink, self.path, "overwrite")
        else:
            path = os.path.realpath(self.path)
            new = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.new")
            write_files(rows, self.sink, new, "overwrite")
            try:
                _put_in_place(new, path)
            except OSError as error:
                raise _write_error(f"cannot replace the folder: {error.strerror}", self.path) from error

    def append(self, rows: DataFrame, epoch: int) -> None:
        """Write the rows of an epoch, which have its number in the last column, in place of those of another try.
        Raise DataError (E0483)."""
        write_files(rows.drop(EPOCH), self.sink, f"{self.path}/{EPOCH}={epoch}", "overwrite")
        note_epoch(self.path, epoch, only=self.sink.what == "view")

    def append_table(self, rows: pa.Table, epoch: int) -> None:
        """Do as `append` with rows of this process, without their epoch. Raise DataError (E0483)."""
        path = Path(os.path.realpath(self.path))
        new, folder = path / f".{EPOCH}={epoch}.new", path / f"{EPOCH}={epoch}"
        try:
            shutil.rmtree(new, ignore_errors=True)  # of a process that was killed
            new.mkdir(parents=True)
            # Where Parquet's dictionaries have no memory, Arrow ends the process.
            options = {"use_dictionary": False, "compression": self.codec, "store_schema": False}
            parquet.write_table(rows, new / "part-00000.parquet", **options)
            (new / _SUCCESS).touch()
            _put_in_place(str(new), str(folder))
        except OSError as error:
            shutil.rmtree(new, ignore_errors=True)
            said = error.strerror or str(error)
            raise _write_error(f"cannot write {self.sink.relation}: {said}", str(folder)) from error
        note_epoch(self.path, epoch, only=False)

    def last_epoch(self) -> int | None:
        """Return the number of the last epoch that was appended; None without one, and where only Spark sees it."""
        if not self.is_local or not os.path.isdir(self.path):
            return None
        numbers = (re.fullmatch(rf"{EPOCH}=(\d+)", name) for name in os.listdir(self.path))
        return max((int(number[1]) for number in numbers if number), default=None)


def folder_of(session: SparkSession, sink: Sink) -> FolderTarget:
    """Return the folder of a sink with a path."""
    assert sink.path is not None
    path = spark_path(session, sink.path).rstrip("/")
    is_local = is_on_one_machine(session) and not is_address(path)
    return FolderTarget(sink, path, is_local, _codec(session, sink) if is_local else None)


def _codec(session: SparkSession, sink: Sink) -> str | None:
    """Return the compression of a sink of changes, if Arrow writes the same Parquet files as the session would."""
    if sink.what != "changes" or sink.format != "parquet" or sink.options or sink.partition_by:
        return None
    if any(session.conf.get(f"{prefix}{_ENCRYPTION}", "") for prefix in ("", "spark.hadoop.")):
        return None
    return _CODECS.get(str(session.conf.get("spark.sql.parquet.compression.codec")).lower())


def write_files(rows: DataFrame, sink: Sink, path: str, mode: str) -> None:
    """Write rows as files. Raise DataError (E0483)."""

    def failure(error: BaseException) -> DataError:
        exists = "PATH_ALREADY_EXISTS" in str(error)
        hint = 'write mode = "replace" to replace it' if exists else "check path and format"
        return DataError(
            Problem("E0483", f"cannot write {sink.relation}: {spark_message(error)}", place=sink.place, hint=hint)
        )

    with spark_errors_as(failure):
        given = {name.lower() for name in sink.options}
        if sink.format == "text" and "linesep" not in given:
            rows = rows.select(*(_in_a_line(field) for field in rows.schema.fields))
        own = {name: value for name, value in _EXACT.get(sink.format or "", {}).items() if name.lower() not in given}
        writer = rows.write.format(sink.format or "parquet").options(**own, **sink.options).mode(mode)
        writer = writer.option("partitionOverwriteMode", "static")
        (writer.partitionBy(*sink.partition_by) if sink.partition_by else writer).save(path)


def _in_a_line(field: StructField) -> Column:
    """Return a column that fails the job at a text with a line break, which would read back as two."""
    column = named_column(field.name)
    if not isinstance(field.dataType, StringType):
        return column
    complaint = f"a text in column {field.name} contains a line break; another format can have it"
    return F.when(column.rlike("[\\r\\n]"), F.raise_error(F.lit(complaint))).otherwise(column).alias(field.name)


def note_epoch(path: str, epoch: int, *, only: bool) -> None:
    """Add the epoch to the manifest, alone or behind the others. On other file systems than that of the driver there
    are only the folders. Raise DataError (E0483)."""
    if not os.path.isdir(path):
        return
    manifest, new = Path(path) / MANIFEST, Path(path) / f"{MANIFEST}.new"
    known = [] if only or not manifest.exists() else json.loads(manifest.read_text(encoding="utf-8"))["epochs"]
    epochs = [*(number for number in known if number < epoch), epoch]
    try:
        new.write_text(json.dumps({"version": 1, "epochs": epochs}) + "\n", encoding="utf-8")
        new.replace(manifest)
    except OSError as error:
        raise _write_error(f"cannot write the manifest: {error.strerror}", path) from error


def _put_in_place(new: str, path: str) -> None:
    """Have a folder at another path, and remove what was there. Raise OSError."""
    if not os.path.lexists(path):
        os.rename(new, path)
        return
    if not _exchange(new, path):
        old = f"{new}.old"  # A process that is killed between the two steps leaves the new folder, for the next run.
        shutil.rmtree(old, ignore_errors=True)
        os.rename(path, old)
        os.rename(new, path)
        new = old
    if os.path.isdir(new):
        shutil.rmtree(new, ignore_errors=True)
    else:
        os.unlink(new)


def _exchange(one: str, other: str) -> bool:
    """Let two paths change places in one step; return False where the system cannot do that."""
    with suppress(OSError, AttributeError):
        rename = ctypes.CDLL(None, use_errno=True).renameat2
        return bool(rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _EXCHANGE) == 0)
    return False


def _write_error(what: str, path: str) -> DataError:
    return DataError(Problem("E0483", what, place=path, hint="check the path"))
