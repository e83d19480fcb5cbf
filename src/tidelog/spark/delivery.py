"""Sinks of streams: every epoch reaches each of them once, after it has happened.

An epoch is committed together with a note of the relations that it changed, and with files of the changes that sinks
need (`store.outbox`). Then it is delivered, and the notes say up to which epoch each sink has everything. A sink that
misses an epoch, because it failed or the driver was killed, gets it with the next epoch, or before the stream starts
again. What it may have of that epoch is written again, and replaces itself: the same rows are merged, replaced, or
appended under the same number. (A topic of Kafka gets them twice.)

A sink takes part from its first start on: of a view, it gets all of it then. Epochs that other streams or `commit` make
are delivered as well, and kept for sinks while their stream is away.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import DataFrame

from tidelog.errors import TidelogError, quote
from tidelog.maintain.protocol import RowChange
from tidelog.spark.failures import report_job_errors
from tidelog.spark.frames.parts import parts_frame
from tidelog.spark.jobs import job_description
from tidelog.spark.keeping import KeptDatabase
from tidelog.spark.rows import Rows, schema_in_spark, spark_schema, to_spark
from tidelog.spark.sessions import is_on_one_machine
from tidelog.spark.sinks.sink import OP, Place, Sink, check_apart, invalid_key
from tidelog.spark.sinks.targets import EpochOutput, SinkTarget, check_epochs, schema_of, targets_of, write
from tidelog.spark.sources.readers import literal_path, named_column
from tidelog.store.segments import FactTables, PartFolder

SINKS, OUTBOX = "sinks", "outbox"
"""Notes: of each sink what it is and its last epoch; of each epoch that some lack, its relations and files."""
_HAPPENED = "the epoch has happened; the next start of the stream delivers it first"


class Deliveries:
    """The sinks of the streams of a database."""

    def __init__(self, database: KeptDatabase) -> None:
        self._database = database
        self._targets: dict[str, SinkTarget] = {}
        self._written: dict[tuple[int, str, bool], pa.Table] = {}
        """The tables of the epoch that is being committed, so that its delivery need not read them from the outbox."""

    def check_sinks(self, stream: str, sinks: Sequence[Sink], kept: Sequence[Place]) -> list[SinkTarget]:
        """Return the targets of the sinks of a stream; `kept` are places of the stream that none may replace.
        UsageError (E0601, E0686), DataError (E0483, E0488), SetupError (E0707)."""
        if isinstance(sinks, Sink) or not all(isinstance(sink, Sink) for sink in sinks):
            raise invalid_key(
                "sinks", f"sinks must be a list of Sink, found {quote(sinks)}", "pass for example [Sink(…)]"
            )
        for sink in sinks:
            if sink.mode == "error" or (sink.what == "view" and sink.mode == "append"):
                message = f"a stream cannot write a view in mode {sink.mode!r}"
                raise invalid_key("mode", message, 'write mode "replace" or "merge", or what="changes"')
        schema, own = partial(schema_of, self._database.workspace), self._database.keeper.places
        targets = targets_of(self._database.session, sinks, schema, [*own, *kept])
        places = {note["place"]: note["stream"] for note in self._sink_notes.values() if note["stream"] != stream}
        for number, target in enumerate(targets):
            if target.path in places:
                message = f"{target.path} is a sink of the stream {places[target.path]!r}"
                raise invalid_key("sinks", message, "give each sink a place of its own")
            if any(other.path == target.path for other in targets[:number]):  # topics, and tables of a database
                raise invalid_key(
                    "sinks", f"{target.path} is the place of two sinks", "give each sink a place of its own"
                )
        folders: list[Place] = [("sink", sink.path) for sink in sinks if sink.path is not None]
        check_apart([*folders, *((f"sink of the stream {name!r}", place) for place, name in places.items())], [])
        check_epochs(targets, self._database.epoch + 1)
        return targets

    def register(self, stream: str, targets: Sequence[SinkTarget]) -> None:
        """Have a stream deliver to these sinks, and to no others, from now on."""
        keys = {_key(stream, target): target for target in targets}
        ended = [key for key, note in self._sink_notes.items() if note["stream"] == stream and key not in keys]
        new: dict[str, Any] = {
            key: {
                "stream": stream,
                "relation": target.sink.relation,
                "place": target.path,
                "changes": target.sink.mode in ("merge", "append"),
                "epoch": None if target.sink.what == "view" else self._database.epoch,
            }
            for key, target in keys.items()
            if key not in self._sink_notes
        }
        if new or ended:
            self._database.keeper.write({SINKS: {**dict.fromkeys(ended), **new}})
        for key in ended:
            self._targets.pop(key, None)
        self._targets |= keys
        self._drop_unneeded()

    def keep(
        self,
        epoch: int,
        changes: Mapping[str, RowChange[Rows]],
        tables: Callable[[Mapping[str, RowChange[Rows]]], FactTables],
    ) -> Mapping[str, Mapping[str, Any]]:
        """Write the changes of an epoch that sinks will need; return the notes to commit with it. `tables` are changes
        as tables. Raise UsageError (E0681, E0691)."""
        sinks = [note for note in self._sink_notes.values() if note["relation"] in changes]
        if not sinks:
            return {}
        needed = {note["relation"] for note in sinks if note["changes"]}
        changed = tables({name: changes[name] for name in sorted(needed)})
        files = self._database.keeper.outbox.write_epoch(epoch, changed)
        self._written = {(epoch, *key): table for key, table in changed.items() if not callable(table)}
        return {OUTBOX: {str(epoch): {"relations": sorted({note["relation"] for note in sinks}), "files": files}}}

    def forget(self, epoch: int) -> None:
        """Remove what was kept of an epoch that has failed."""
        self._written = {}
        if (
            self._sink_notes and epoch not in self._epoch_notes
        ):  # Opening a state folder begins with its first epoch again.
            self._database.keeper.outbox.drop(epoch)

    def deliver(self) -> None:
        """Deliver to each sink the epochs that it lacks. Where some fail, raise the error of the first (E0483, E0708)
        when the others have theirs."""
        errors: list[TidelogError] = []
        session = self._database.session
        reached: dict[str, Any] = {}
        try:
            for key, target in self._targets.items():
                try:
                    with (
                        report_job_errors("deliver the epoch", "start the stream again"),
                        job_description(session, "delivery"),
                    ):
                        for epoch in self._deliver_epochs(target, self._sink_notes[key]["epoch"]):
                            reached[key] = {**self._sink_notes[key], "epoch": epoch}
                except TidelogError as error:
                    errors.append(error)
        finally:
            self._written = {}
            if reached:
                self._database.keeper.write({SINKS: reached})
                self._drop_unneeded()
        if errors:
            problems = [replace(problem, hint=f"{problem.hint}; {_HAPPENED}") for problem in errors[0].problems]
            raise type(errors[0])(*problems) from errors[0]

    def progress(self, stream: str) -> dict[str, Any]:
        """Return for each sink of a stream its last epoch, None before the first, and how many it lacks."""
        return {
            note["place"]: {
                "epoch": note["epoch"],
                "waiting": len(self._waiting_epochs(note["relation"], note["epoch"])),
            }
            for note in self._sink_notes.values()
            if note["stream"] == stream
        }

    @property
    def _sink_notes(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._database.keeper.notes.get(SINKS, {})
        return found

    @property
    def _epoch_notes(self) -> Mapping[int, Mapping[str, Any]]:
        return {int(epoch): note for epoch, note in self._database.keeper.notes.get(OUTBOX, {}).items()}

    def _waiting_epochs(self, relation: str, last: int | None) -> list[int]:
        """Return the epochs after the `last` one that changed a relation, in their order."""
        return sorted(e for e, note in self._epoch_notes.items() if relation in note["relations"] and e > (last or 0))

    def _deliver_epochs(self, target: SinkTarget, last: int | None) -> Iterator[int]:
        """Yield the numbers of epochs up to which a target has everything, as it gets them."""
        sink, now = target.sink, self._database.epoch
        waiting = self._waiting_epochs(sink.relation, last)
        if last is None or (waiting and sink.mode == "replace"):
            write(target, self._output(sink.relation, now), whole=True)
            yield now
            return
        for epoch in waiting:
            write(target, self._output(sink.relation, epoch), whole=False)
            yield epoch

    def _output(self, relation: str, epoch: int) -> EpochOutput:
        read, table = partial(self._read_delta, relation, epoch), partial(self._table, relation, epoch)
        return EpochOutput(epoch, lambda: self._database[relation], lambda: read(True), lambda: read(False), table)

    def _table(self, relation: str, epoch: int) -> pa.Table | None:
        """Return the changes of an epoch with their operations; None if executors have written them, and for columns
        that Spark does not write. Raise DataError (E0682)."""
        columns, sums = self._database.workspace.relation(relation).columns, self._epoch_notes[epoch]["files"]
        is_in_parts = any(name.startswith(f"{relation}.") and name.endswith("/") for name in sums)
        if is_in_parts or not columns or len({column.name.lower() for column in columns}) < len(columns):
            return None
        schema = spark_schema(self._database.workspace.dictionary.types.arrow_schema(columns))
        tables = [schema.empty_table().add_column(0, OP, pa.array([], pa.string()))]
        for inserts, operation in ((True, "insert"), (False, "delete")):
            found = self._written.get((epoch, relation, inserts))
            if found is None:
                found = self._database.keeper.outbox.get(epoch, relation, inserts, sums)
            assert not isinstance(found, PartFolder)
            if found is not None:
                rows = found.select(schema.names).cast(schema)
                tables.append(rows.add_column(0, OP, pa.repeat(pa.scalar(operation), rows.num_rows)))
        return pa.concat_tables(tables)

    def _read_delta(self, relation: str, epoch: int, inserts: bool) -> DataFrame | None:
        """Return the tuples that an epoch inserted into a relation, or deleted; None for no tuples. Raise DataError
        (E0682)."""
        session, schema = self._database.session, schema_of(self._database.workspace, relation)
        # Spark reads a file several times as fast as it takes the same rows from this process.
        outbox, in_place = self._database.keeper.outbox, is_on_one_machine(session)
        found = outbox.get(epoch, relation, inserts, self._epoch_notes[epoch]["files"], in_place)
        if found is None or (isinstance(found, PartFolder) and not found.parts):  # No task had a row.
            return None
        if not isinstance(found, PartFolder):
            frame = to_spark(session, found)
        elif "://" in found.place:
            frame = parts_frame(session, found)
        else:
            reader, path = session.read, f"file://{literal_path(found.place)}"
            if os.path.isfile(found.place):  # Its columns are known without a job that looks for them.
                own = schema_in_spark(parquet.read_schema(found.place))
                if own == schema:
                    return reader.schema(schema).parquet(path)
                reader = reader.schema(own)
            frame = reader.parquet(path)
        if not schema.fields:
            return session.range(frame.count()).select()
        return frame.select(
            *[named_column(field.name).cast(field.dataType).alias(field.name) for field in schema.fields]
        )

    def _drop_unneeded(self) -> None:
        """Remove the changes that no sink needs any more."""
        needed = {
            epoch
            for note in self._sink_notes.values()
            if note["epoch"] is not None
            for epoch in self._waiting_epochs(note["relation"], note["epoch"])
        }
        removed = [epoch for epoch in self._epoch_notes if epoch not in needed]
        if removed:
            self._database.keeper.write({OUTBOX: {str(epoch): None for epoch in removed}})
            for epoch in removed:
                self._database.keeper.outbox.drop(epoch)


def _key(stream: str, target: SinkTarget) -> str:
    sink = target.sink
    return f"{stream}: {sink.what} of {sink.relation} to {os.fspath(target.path)}, {sink.mode}"
