"""Views and changes as output: files of any format that the session writes, or Delta tables.

A folder `epoch=N` is written anew when the epoch comes again after a crash, so that it is there once.
`_manifest.json` names the epochs that count and is replaced in one step; readers that cannot wait look there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidelog.errors import DataError, Problem, SetupError
from tidelog.spark.change import SparkRelationChange
from tidelog.spark.failures import is_of_spark, said
from tidelog.spark.pipelines.description import Sink
from tidelog.spark.sources.readers import located

MANIFEST = "_manifest.json"
"""Spark takes files that begin otherwise for data."""
DELTA = "io.delta.sql.DeltaSparkSessionExtension"


def check_formats(session: SparkSession, formats: Sequence[str]) -> None:
    """Raise SetupError (E0707) if a format is Delta and the session has none."""
    if "delta" in formats and DELTA not in (session.conf.get("spark.sql.extensions", "") or ""):
        hint = f"start the session with the packages of delta-spark and spark.sql.extensions={DELTA}; or use parquet"
        raise SetupError(Problem("E0707", "the session has no Delta Lake", hint=hint))


def write_view(session: SparkSession, sink: Sink, view: DataFrame, epoch: int, database: str) -> str:
    """Write a view of an epoch of the database with this id; return the path. Raise DataError (E0483)."""
    path = located(session, sink.path).rstrip("/")
    if sink.format == "delta":
        _write(view, sink, path, "overwrite" if sink.mode != "error" else "error", _once(database, path, epoch))
    elif sink.mode == "epochs":
        _write(view, sink, f"{path}/epoch={epoch}", "overwrite", {})
        _note(path, epoch, only=True)
    else:
        _write(view, sink, path, "overwrite" if sink.mode == "overwrite" else "errorifexists", {})
    return path


def write_changes(session: SparkSession, sink: Sink, change: SparkRelationChange, epoch: int, database: str) -> str:
    """Write the changes of an epoch of the database with this id; return the path. Raise DataError (E0483)."""
    path = located(session, sink.path).rstrip("/")
    parts = [(change.inserted, "insert"), (change.deleted, "delete")]
    rows = reduce(DataFrame.unionAll, [frame.select(F.lit(op).alias("op"), "*") for frame, op in parts])
    if sink.format == "delta":
        _write(rows.withColumn("epoch", F.lit(epoch)), sink, path, "append", _once(database, path, epoch))
    else:
        _write(rows, sink, f"{path}/epoch={epoch}", "overwrite", {})
        _note(path, epoch, only=False)
    return path


def write_bad_rows(session: SparkSession, rows: DataFrame, folder: str | os.PathLike[str], epoch: int) -> str:
    """Write the rows of a run that do not fit, as Parquet; return the path. Raise DataError (E0483)."""
    path = located(session, folder).rstrip("/")
    _write(rows, Sink("the quarantine", path), f"{path}/epoch={epoch}", "overwrite", {})
    return path


def _once(database: str, path: str, epoch: int) -> dict[str, Any]:
    """Return the options by which a second write of the same epoch changes nothing in a Delta table. (Another database,
    or a run without a state folder, begins with the same numbers again.)"""
    return {"txnAppId": f"tidelog:{database}:{path}", "txnVersion": epoch}


def _write(frame: DataFrame, sink: Sink, path: str, mode: str, options: Mapping[str, Any]) -> None:
    try:
        frame.write.format(sink.format).options(**{**sink.options, **options}).mode(mode).save(path)
    except Exception as error:
        if not is_of_spark(error):
            raise
        exists = "PATH_ALREADY_EXISTS" in str(error)
        hint = 'write mode = "overwrite" to replace it' if exists else "check path and format; nothing has changed"
        problem = Problem("E0483", f"cannot write {sink.relation}: {said(error)}", place=path, hint=hint)
        raise DataError(problem) from error


def _note(path: str, epoch: int, *, only: bool) -> None:
    """Add the epoch to the manifest, alone or behind the others. On other file systems than that of the driver there
    are only the folders."""
    if not os.path.isdir(path):
        return
    manifest, new = Path(path) / MANIFEST, Path(path) / f"{MANIFEST}.new"
    known = [] if only or not manifest.exists() else json.loads(manifest.read_text(encoding="utf-8"))["epochs"]
    epochs = [*(number for number in known if number < epoch), epoch]
    try:
        new.write_text(json.dumps({"version": 1, "epochs": epochs}) + "\n", encoding="utf-8")
        new.replace(manifest)
    except OSError as error:
        problem = Problem("E0483", f"cannot write the manifest: {error.strerror}", place=path, hint="check the path")
        raise DataError(problem) from error
