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
from typing import TYPE_CHECKING, Any, Protocol

from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession

from tidelog.errors import TidelogError, quote
from tidelog.maintain.protocol import RowChange
from tidelog.spark.arrow import schema_in_spark, spark_schema, to_spark
from tidelog.spark.failures import working
from tidelog.spark.frames.parts import parts_frame
from tidelog.spark.jobs import described
from tidelog.spark.rows import Rows
from tidelog.spark.sessions import is_on_one_machine
from tidelog.spark.sinks.apart import Place, check_apart
from tidelog.spark.sinks.sink import OP, Sink, wrong
from tidelog.spark.sinks.targets import EpochOutput, SinkTarget, check_epochs, schema_of, targets_of, write
from tidelog.spark.sources.readers import literal, quoted
from tidelog.store.outbox import Outbox
from tidelog.store.tables import FactTables, PartFolder
from tidelog.workspace.workspace import Workspace

if TYPE_CHECKING:
    import pyarrow as pa

SINKS, OUTBOX = "sinks", "outbox"
"""Notes: of each sink what it is and its last epoch; of each epoch that some lack, its relations and files."""
_HAPPENED = "the epoch has happened; the next start of the stream delivers it first"


class KeptEpochs(Protocol):
    """The part of a state folder that deliveries need, see `keeping.StateKeeper`."""

    @property
    def notes(self) -> Mapping[str, Any]: ...

    @property
    def outbox(self) -> Outbox: ...

    @property
    def places(self) -> Sequence[Place]: ...

    def write(self, notes: Mapping[str, Mapping[str, Any]]) -> None: ...


class SinkDatabase(Protocol):
    """The database whose epochs are delivered, see `SparkDatabase`."""

    session: SparkSession

    workspace: Workspace[Any]

    @property
    def keeper(self) -> KeptEpochs: ...

    @property
    def epoch(self) -> int: ...

    def __getitem__(self, name: str) -> DataFrame: ...


class Deliveries:
    """The sinks of the streams of a database."""

    def __init__(self, database: SinkDatabase) -> None:
        self._database = database
        self._targets: dict[str, SinkTarget] = {}
        self._written: dict[tuple[int, str, bool], pa.Table] = {}
        """The tables of the epoch that is being committed, so that its delivery need not read them from the outbox."""

    def checked(self, stream: str, sinks: Sequence[Sink], kept: Sequence[Place]) -> list[SinkTarget]:
        """Return the targets of the sinks of a stream; `kept` are places of the stream that none may replace.
        UsageError (E0601, E0686), DataError (E0483, E0488), SetupError (E0707)."""
        if isinstance(sinks, Sink) or not all(isinstance(sink, Sink) for sink in sinks):
            raise wrong("sinks", f"sinks must be a list of Sink, found {quote(sinks)}", "pass for example [Sink(…)]")
        for sink in sinks:
            if sink.mode == "error" or (sink.what == "view" and sink.mode == "append"):
                message = f"a stream cannot write a view in mode {sink.mode!r}"
                raise wrong("mode", message, 'write mode "replace" or "merge", or what="changes"')
        schema, own = partial(schema_of, self._database.workspace), self._database.keeper.places
        targets = targets_of(self._database.session, sinks, schema, [*own, *kept])
        places = {note["place"]: note["stream"] for note in self._noted.values() if note["stream"] != stream}
        for number, target in enumerate(targets):
            if target.path in places:
                message = f"{target.path} is a sink of the stream {places[target.path]!r}"
                raise wrong("sinks", message, "give each sink a place of its own")
            if any(other.path == target.path for other in targets[:number]):  # topics, and tables of a database
                raise wrong("sinks", f"{target.path} is the place of two sinks", "give each sink a place of its own")
        folders: list[Place] = [("sink", sink.path) for sink in sinks if sink.path is not None]
        check_apart([*folders, *((f"sink of the stream {name!r}", place) for place, name in places.items())], [])
        check_epochs(targets, self._database.epoch + 1)
        return targets

    def register(self, stream: str, targets: Sequence[SinkTarget]) -> None:
        """Have a stream deliver to these sinks, and to no others, from now on."""
        keys = {_key(stream, target): target for target in targets}
        ended = [key for key, note in self._noted.items() if note["stream"] == stream and key not in keys]
        new: dict[str, Any] = {
            key: {
                "stream": stream,
                "relation": target.sink.relation,
                "place": target.path,
                "changes": target.sink.mode in ("merge", "append"),
                "epoch": None if target.sink.what == "view" else self._database.epoch,
            }
            for key, target in keys.items()
            if key not in self._noted
        }
        if new or ended:
            self._database.keeper.write({SINKS: {**dict.fromkeys(ended), **new}})
        for key in ended:
            self._targets.pop(key, None)
        self._targets |= keys
        self._tidy()

    def keep(
        self,
        epoch: int,
        changes: Mapping[str, RowChange[Rows]],
        tables: Callable[[Mapping[str, RowChange[Rows]]], FactTables],
    ) -> Mapping[str, Mapping[str, Any]]:
        """Write the changes of an epoch that sinks will need; return the notes to commit with it. `tables` are changes
        as tables. Raise UsageError (E0681, E0691)."""
        sinks = [note for note in self._noted.values() if note["relation"] in changes]
        if not sinks:
            return {}
        needed = {note["relation"] for note in sinks if note["changes"]}
        changed = tables({name: changes[name] for name in sorted(needed)})
        files = self._database.keeper.outbox.put(epoch, changed)
        self._written = {(epoch, *key): table for key, table in changed.items() if not callable(table)}
        return {OUTBOX: {str(epoch): {"relations": sorted({note["relation"] for note in sinks}), "files": files}}}

    def forget(self, epoch: int) -> None:
        """Remove what was kept of an epoch that has failed."""
        self._written = {}
        if self._noted and epoch not in self._kept:  # Opening a state folder begins with its first epoch again.
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
                    with working("deliver the epoch", "start the stream again"), described(session, "delivery"):
                        for epoch in self._delivered(target, self._noted[key]["epoch"]):
                            reached[key] = {**self._noted[key], "epoch": epoch}
                except TidelogError as error:
                    errors.append(error)
        finally:
            self._written = {}
            if reached:
                self._database.keeper.write({SINKS: reached})
                self._tidy()
        if errors:
            problems = [replace(problem, hint=f"{problem.hint}; {_HAPPENED}") for problem in errors[0].problems]
            raise type(errors[0])(*problems) from errors[0]

    def progress(self, stream: str) -> dict[str, Any]:
        """Return for each sink of a stream its last epoch, None before the first, and how many it lacks."""
        return {
            note["place"]: {"epoch": note["epoch"], "waiting": len(self._waiting(note["relation"], note["epoch"]))}
            for note in self._noted.values()
            if note["stream"] == stream
        }

    @property
    def _noted(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._database.keeper.notes.get(SINKS, {})
        return found

    @property
    def _kept(self) -> Mapping[int, Mapping[str, Any]]:
        return {int(epoch): note for epoch, note in self._database.keeper.notes.get(OUTBOX, {}).items()}

    def _waiting(self, relation: str, last: int | None) -> list[int]:
        """Return the epochs after the `last` one that changed a relation, in their order."""
        return sorted(e for e, note in self._kept.items() if relation in note["relations"] and e > (last or 0))

    def _delivered(self, target: SinkTarget, last: int | None) -> Iterator[int]:
        """Yield the numbers of epochs up to which a target has everything, as it gets them."""
        sink, now = target.sink, self._database.epoch
        waiting = self._waiting(sink.relation, last)
        if last is None or (waiting and sink.mode == "replace"):
            write(target, self._output(sink.relation, now), whole=True)
            yield now
            return
        for epoch in waiting:
            write(target, self._output(sink.relation, epoch), whole=False)
            yield epoch

    def _output(self, relation: str, epoch: int) -> EpochOutput:
        read, table = partial(self._read, relation, epoch), partial(self._table, relation, epoch)
        return EpochOutput(epoch, lambda: self._database[relation], lambda: read(True), lambda: read(False), table)

    def _table(self, relation: str, epoch: int) -> pa.Table | None:
        """Return the changes of an epoch with their operations; None if executors have written them, and for columns
        that Spark does not write. Raise DataError (E0682)."""
        import pyarrow as pa

        columns, sums = self._database.workspace.relation(relation).columns, self._kept[epoch]["files"]
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

    def _read(self, relation: str, epoch: int, inserts: bool) -> DataFrame | None:
        """Return the tuples that an epoch inserted into a relation, or deleted; None for no tuples. Raise DataError
        (E0682)."""
        session, schema = self._database.session, schema_of(self._database.workspace, relation)
        # Spark reads a file several times as fast as it takes the same rows from this process.
        outbox, in_place = self._database.keeper.outbox, is_on_one_machine(session)
        found = outbox.get(epoch, relation, inserts, self._kept[epoch]["files"], in_place)
        if found is None or (isinstance(found, PartFolder) and not found.parts):  # No task had a row.
            return None
        if not isinstance(found, PartFolder):
            frame = to_spark(session, found)
        elif "://" in found.place:
            frame = parts_frame(session, found)
        else:
            reader, path = session.read, f"file://{literal(found.place)}"
            if os.path.isfile(found.place):  # Its columns are known without a job that looks for them.
                own = schema_in_spark(parquet.read_schema(found.place))
                if own == schema:
                    return reader.schema(schema).parquet(path)
                reader = reader.schema(own)
            frame = reader.parquet(path)
        if not schema.fields:
            return session.range(frame.count()).select()
        return frame.select(*[quoted(field.name).cast(field.dataType).alias(field.name) for field in schema.fields])

    def _tidy(self) -> None:
        """Remove the changes that no sink needs any more."""
        needed = {
            epoch
            for note in self._noted.values()
            if note["epoch"] is not None
            for epoch in self._waiting(note["relation"], note["epoch"])
        }
        gone = [epoch for epoch in self._kept if epoch not in needed]
        if gone:
            self._database.keeper.write({OUTBOX: {str(epoch): None for epoch in gone}})
            for epoch in gone:
                self._database.keeper.outbox.drop(epoch)


def _key(stream: str, target: SinkTarget) -> str:
    sink = target.sink
    return f"{stream}: {sink.what} of {sink.relation} to {os.fspath(target.path)}, {sink.mode}"
