"""The `Pipeline` of a user: a description that can be read from TOML, and run: sources -> rows that fit -> one epoch ->
views, changes and bad rows as tables.

The sinks are written before a state folder has the epoch, under names made of its number: a run that is killed in
between leaves nothing but folders that the next run writes anew.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidelog.errors import Problem, TidelogError, UsageError
from tidelog.io import encode
from tidelog.language import check, read
from tidelog.language.check import name_rules
from tidelog.language.components import expand
from tidelog.language.syntax import Fact, Program
from tidelog.spark.change import SparkChange, UnsealedEpoch
from tidelog.spark.database import SparkDatabase
from tidelog.spark.failures import report_job_errors, report_source_errors
from tidelog.spark.frames.translation import collect_words
from tidelog.spark.jobs import job_description, step
from tidelog.spark.pipelines.description import PipelineDescription, Source
from tidelog.spark.pipelines.file_rows import FileRows, can_keep_rows, digest_of_columns, files_of, with_file_numbers
from tidelog.spark.pipelines.result import FileCounts, Result
from tidelog.spark.pipelines.toml_file import read_toml
from tidelog.spark.pipelines.unread import ListedFile, Unread, key_of, unread_part
from tidelog.spark.rows import DriverRows, to_spark
from tidelog.spark.sessions import to_arrow
from tidelog.spark.sinks.folders import write_files
from tidelog.spark.sinks.sink import Sink
from tidelog.spark.sinks.targets import EpochOutput, SinkTarget, check_delta, check_epochs, schema_of, targets_of, write
from tidelog.spark.sources.changes import operation_of
from tidelog.spark.sources.facts import CheckedSource, Counts, FactFrame, PendingFacts, check_sources
from tidelog.spark.sources.mapping import QUARANTINE_COLUMNS, Mapped, map_frame, relation_type
from tidelog.spark.sources.readers import (
    TORN,
    FileFrame,
    analyzed_frame,
    base_path,
    csv_frame,
    empty_frame,
    json_frame,
    literal_path,
    read_paths,
    reader_options,
    spark_path,
    text_size,
)
from tidelog.storage.rows import distinct
from tidelog.store.manifest import text_of
from tidelog.version import __version__


@dataclass(frozen=True)
class Pipeline(PipelineDescription):
    """Sources, a `program` (text or path, as for `Database.load`) and sinks.

    `quarantine` is a folder for the rows that do not fit. `state` is a folder that keeps the facts from run to run.
    `engine`, `embedded_limit` and `cluster_folder` are the options of the database, where they are given. `functors`
    are functions for functors, see `Database.functors`; in TOML a list of modules, or of paths that end in ".py", for a
    database that the run opens. `session` is configuration for the session that `tidelog pipeline run` starts, `remote`
    the address of the server of Spark Connect where it does so.
    """

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Pipeline:
        """Return the pipeline that a TOML file describes; its relative paths start at the file. UsageError (E0650,
        E0686) with everything that is wrong with it."""
        return read_toml(path, cls)

    def run(
        self,
        session: SparkSession,
        database: SparkDatabase | None = None,
        progress: Callable[[str, float], None] | None = None,
    ) -> Result:
        """Read the sources, commit what they say as one epoch, and write the sinks.

        Without a `database` one is opened, with `state` if there is one, until the result is closed; a database that
        is given gets the program if it has none yet, and stays open for further runs. `progress` is called with the
        name of each stage and its seconds. When anything fails, no epoch has happened: DataError, LimitError,
        ProgramError, UsageError, SetupError.
        """
        opened = database is None
        db = SparkDatabase(session, self.state, self.functors) if database is None else database
        try:
            with report_job_errors(), job_description(session, "pipeline"):
                return _Run(self, db, progress or (lambda stage, seconds: None)).run(opened)
        except BaseException:
            db.rollback()
            if opened:
                db.close()
            raise


LOGGER = logging.getLogger("tidelog")
IN_THE_WAY = "remove these before another run: {}"
ANEW = "another run writes these anew: {}"
MOST_BAD_ROWS = 100_000
"""Bad rows that a result holds where no folder does; they are counted all the same."""


class _Run:
    def __init__(
        self, pipeline: PipelineDescription, database: SparkDatabase, progress: Callable[[str, float], None]
    ) -> None:
        self.pipeline = pipeline
        self.db = database
        self.session = database.session
        self.progress = progress
        self.seconds: dict[str, float] = {}
        self.counts: dict[str, Counts] = {}
        self.written: dict[str, int] = {}
        self.epoch = 0
        self.reached: dict[str, list[str]] = {}
        """Where the sinks go that have been begun, by what another run does there."""
        self.said: tuple[Fact, ...] = ()
        self.named: tuple[str, ...] = ()
        """The relations that the program of this run names with `.output`."""
        self.read: dict[str, Mapping[str, Any]] = {}
        """The files or the version up to which a source has been read, by its name in the notes."""
        state = database.keeper.state
        self.file_rows = None if state is None else FileRows(database.session, state)
        """The rows of files that earlier runs have read."""
        self.files: dict[str, FileCounts] = {}
        self.snapshots: dict[str, tuple[Mapping[str, ListedFile], int | None]] = {}
        """Sources whose rows are kept: their files, and which of the mapped sources has the rows of files that are
        read."""
        self.kept: Mapping[str, Any] = database.keeper.notes.get("pipeline", {})
        """The notes of the last run."""
        self.continues = self.kept.get("epoch") == database.epoch and not database.has_pending
        """True if nothing was committed since the last run."""
        self.is_last = False
        """True if no other run can follow, because nothing is kept."""
        self.columns: dict[str, list[str]] = dict(self.kept.get("columns", {}))
        """The columns of sources, by the same names."""
        self.notes: list[str] = []

    def run(self, opened: bool) -> Result:
        pipeline, db = self.pipeline, self.db
        options = {name: getattr(pipeline, name) for name in ("engine", "embedded_limit", "cluster_folder")}
        db.options(**{name: value for name, value in options.items() if value is not None})
        check_delta(self.session, [source.format for source in pipeline.sources])
        self.is_last = opened and pipeline.state is None
        facts = self.load()
        self.continues &= facts == self.kept.get("facts")
        tables = [source.table for source in pipeline.sources if source.table is not None]
        pipeline.check_relations()
        targets = targets_of(self.session, pipeline.sinks, partial(schema_of, db.workspace), db.keeper.places, tables)
        with self.stage("check"):
            check_epochs(targets, db.epoch + 1)
            sources = self.sources()
            checked = check_sources(sources, for_driver=self.db.is_embedded_with(sum(map(_expected_rows, sources))))
        try:
            with self.stage("facts"), report_job_errors(), db.workspace.dictionary.hold_words():
                checked += self.keep_rows(checked)
                db.add_pending(self.changes(checked))
            start = time.perf_counter()

            def deliver(delivery: UnsealedEpoch) -> None:
                self.finish("engine", start)
                with self.stage("sinks"):
                    self.deliver(targets, delivery, checked)

            kept = {"facts": facts, "read": self.read, "columns": self.columns, "epoch": db.epoch + 1}
            with self.naming_reached_sinks():
                change = db.commit_delivering({"pipeline": kept}, deliver)
            quarantine = self.quarantine(checked, change)
            if self.snapshots:
                db.keeper.drop_unused_rows()
        finally:
            for source in checked:
                source.release()
        notes = (*self.notes, *(note for target in targets for note in target.notes))
        for note in notes:
            LOGGER.warning(note)
        db.records.run(change.epoch, asdict(sum(self.counts.values(), Counts())), self.seconds)
        results = self.counts, quarantine, change, self.written, self.seconds, db, opened, notes, self.files
        return Result(self.views(), *results)

    @contextmanager
    def naming_reached_sinks(self) -> Iterator[None]:
        """Inside, errors say which sinks an epoch has reached that did not happen."""
        try:
            yield
        except TidelogError as error:
            raise type(error)(
                *(replace(each, hint=self.hint_with_sinks(each.hint)) for each in error.problems)
            ) from error
        except BaseException as error:
            if said := self.hint_with_sinks(None):
                error.add_note(said)
            raise

    def hint_with_sinks(self, hint: str | None) -> str | None:
        """Return the hint of an error, and what another run does with the sinks that have been written already."""
        if not self.reached:
            return hint
        parts = [f"the database is as before, but sinks have been written for its epoch {self.epoch}"]
        for what, paths in self.reached.items():
            parts.append(what.format(", ".join(paths)))
        return "; ".join(parts if hint is None else [hint, *parts])

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.finish(name, start)

    def finish(self, name: str, start: float) -> None:
        self.seconds[name] = time.perf_counter() - start
        self.progress(name, self.seconds[name])

    # --- program -------------------------------------------------------------------------------------------------

    def load(self) -> str:
        """Have the database go to the program; its facts as text, to be told apart in a later run."""
        db, (given,) = self.db, expand([read(self.pipeline.program)])
        checked = check(given)
        self.said = checked.facts
        self.named = tuple(each.relation for each in checked.directives if each.name == "output")
        facts = "".join(f"{rule}\n" for rule in given.rules if not rule.body)
        if not db.relations:
            db.load(self.pipeline.program)
            return facts
        if db.has_pending:
            db.commit()
        before = self.kept.get("facts", "")
        if text_of(name_rules((given,))) != text_of(db.workspace.committed.programs):
            self.change_program(given)
        self.change_facts(before, facts)
        return facts

    def change_program(self, given: Program) -> None:
        """Replace the rules by those of another program; what it declares differently is refused."""
        db = self.db
        wanted, present = check(given), db.program
        for name, relation in wanted.relations.items():
            if name in present.relations and present.relations[name].columns != relation.columns:
                hint = "rename the relation, or begin with an empty state folder"
                message = f"the declaration of {name} does not match its facts in the state folder"
                raise UsageError(Problem("E0486", message, place=name, hint=hint))
        known_types = {each.name for program in db.workspace.committed.programs for each in program.types}
        rules = {rule.name: rule for rule in name_rules((given,))[0].rules if rule.body}
        for name in list(db.rules):
            if name not in rules or db.rules[name] != str(rules[name]):
                db.rules.remove(name)
            else:
                del rules[name]
        parts = [
            *(each for each in given.types if each.name not in known_types),
            *(each for each in given.declarations if each.name not in present.relations),
            *rules.values(),
        ]
        if parts:  # The relations of latest events are declared beside the given program.
            db.rules.add("".join(f"{part}\n" for part in parts))

    def change_facts(self, before: str, after: str) -> None:
        """Bring the facts of the program text from those of the last run to those of this one."""
        db = self.db
        for text, change in ((before, db.delete), (after, db.insert)):
            if before != after and text:
                known = [Program(types=p.types, declarations=p.declarations) for p in db.workspace.committed.programs]
                for fact in check(*known, read(text + "\n", name="<facts>")).facts:
                    change(fact.relation, [fact.values])

    # --- sources -------------------------------------------------------------------------------------------------

    def sources(self) -> list[Mapped]:
        """Return all sources mapped, or everything that is wrong with them."""
        found, problems = list[Mapped](), list[TidelogError]()
        parts: dict[int, Unread] = {}
        for i, source in enumerate(self.pipeline.sources):
            try:
                with step(f"source of {source.relation}"):
                    parts[i] = self.unread(source)
            except TidelogError as error:
                problems.append(error)
        read = {self.pipeline.sources[i].relation for i, part in parts.items() if not part.is_empty}
        for i, part in parts.items():
            source = self.pipeline.sources[i]
            try:
                with step(f"source of {source.relation}"):
                    if part.is_empty and source.mode == "snapshot" and source.relation in read:
                        part = self.unread(source, again=True)  # All snapshots of a relation replace it together.
                    if part.is_empty:
                        self.counts[source.relation] = Counts()
                        self.files |= {key_of(source): FileCounts(0, len(part.listed))} if part.listed else {}
                        continue
                    mapped = self.map_source(source, part)
                if self.keeps_rows(source, part):
                    self.snapshots[key_of(source)] = part.listed, None if mapped is None else len(found)
                if mapped is not None:
                    self.db.keep_latest(mapped.latest)
                    found.append(mapped)
            except TidelogError as error:
                problems.append(error)
        if problems:
            raise type(problems[0])(*[problem for error in problems for problem in error.problems])
        modes: dict[str, set[str]] = {}
        for source in self.pipeline.sources:
            modes.setdefault(source.relation, set()).add("snapshot" if source.mode == "snapshot" else "changes")
        for relation, mixed in modes.items():
            if len(mixed) > 1:
                message = (
                    f"{relation} has a snapshot source and another source, but a snapshot replaces all of its facts"
                )
                raise UsageError(Problem("E0686", message, hint='write mode = "append" to add without deleting'))
        return found

    def unread(self, source: Source, *, again: bool = False) -> Unread:
        """Return the part of a source that this run reads, and note it. A snapshot that the last run has read, of which
        nothing has changed, is empty, unless its facts are wanted `again`."""
        key = key_of(source)
        before = self.kept.get("read", {}).get(key, {})
        if source.mode == "snapshot":
            of = self.digest_of_snapshot(source)
            if of is None:
                return Unread()
            before = before if before.get("of") == of else {}
            last = before.get("part", {}) if self.continues and not again else {}
            part = unread_part(self.session, source, last, files_of(before.get("rows", {})))
            if part.read:
                self.read[key] = {**before, "of": of, "part": part.read}
            return part
        part = unread_part(self.session, source, before)
        if part.read:
            self.read[key] = part.read
        if part.remark is not None:
            self.notes.append(part.remark)
        return part

    def digest_of_snapshot(self, source: Source) -> str | None:
        """Return a digest of what decides, beside the files, which facts the snapshots of a relation have. Return None
        if that is not known, because expressions may depend on more, or if no later run asks."""
        own = [each for each in self.pipeline.sources if each.relation == source.relation]
        keys = {key_of(each) for each in own}
        plain = all(isinstance(column, str) for each in own for column in each.columns.values())
        if self.is_last or not plain or len(keys) < len(own) or any(each.expressions for each in own):
            return None
        zone = self.session.conf.get("spark.sql.session.timeZone")
        said = [(key_of(each), each.format, each.columns, each.rejected, each.options) for each in own]
        program = self.db.program
        declared = program.relations[source.relation].columns, program.records
        return hashlib.blake2b(repr((__version__, zone, said, declared)).encode(), digest_size=8).hexdigest()

    def map_source(self, source: Source, part: Unread) -> Mapped | None:
        """Return the rows of a source that this run reads; None if it reads none."""
        program, key = self.db.program, key_of(source)
        declared = relation_type(program, source.relation)
        columns: dict[str, str | Expression] = dict(source.columns)
        columns |= {name: F.expr(str(text)) for name, text in source.expressions.items()}
        operation = operation_of(source.changes)
        place = f"{source.relation} from {source.path or source.table or 'a frame'}"
        is_csv = source.path is not None and source.format == "csv"

        def mapped(rows: FileFrame) -> Mapped:
            with report_source_errors(place):
                found = map_frame(
                    program, source.relation, rows.frame, columns, source.rejected, operation, rows.torn, is_csv
                )
            found = replace(found, place=place)
            return with_file_numbers(found) if self.keeps_rows(source, part) else found

        def with_line_breaks() -> Mapped | None:
            with step(f"source of {source.relation}"):
                again = rows.with_line_breaks()
                return None if again is None else mapped(again)

        new = self.rows_to_read(source, part, [column.name for column in declared.columns])
        if new is None:
            return None
        rows = new
        with report_source_errors(place):  # Over Spark Connect, this is where a file turns out to be missing.
            given = [name for name in rows.frame.columns if name != TORN]
            size = None if rows.torn is None else text_size(self.session, rows.frame)
        known = self.columns.get(key, given)
        self.notes += [f"{key} has a new column {name}" for name in given if name not in known]
        self.columns[key] = given
        return replace(mapped(rows), size=size, with_line_breaks=with_line_breaks)

    def keeps_rows(self, source: Source, part: Unread) -> bool:
        """Return True if the state folder keeps the rows of the files of a source."""
        return self.file_rows is not None and bool(part.listed) and can_keep_rows(source, part.listed)

    def keep_rows(self, checked: Sequence[CheckedSource]) -> list[CheckedSource]:
        """Write the rows of files that this run reads for later ones. Return those that earlier runs have read."""
        if self.file_rows is None:
            return []
        sources = {key: (listed, None if at is None else checked[at]) for key, (listed, at) in self.snapshots.items()}
        notes = self.file_rows.write(self.db.epoch + 1, sources)
        for key in sources:
            self.read[key] = {**self.read[key], "rows": notes.get(key, {})}
        return self.file_rows.restored

    def rows_to_read(self, source: Source, part: Unread, names: Sequence[str]) -> FileFrame | None:
        """Return the rows of the files that this run has to read, None if it has the rows of all. It reads all files if
        the rows of others are damaged, or have other columns than all files have now."""
        key, place = key_of(source), str(source.path)
        before = self.read.get(key, {})
        if self.file_rows is not None and part.listed and part.files is not None:
            # What is wrong shows when all files are read.
            with suppress(TidelogError, OSError), report_source_errors(place):
                rows = self.frame(source, part, names) if part.files else None
                # All files of CSV have the same header. Parquet's columns are those of one of the files.
                whole = None if rows is not None and source.format == "csv" else self.frame(source, Unread(), names)
                columns = {digest_of_columns(each.frame) for each in (rows, whole) if each is not None}
                if columns == {before["columns"]}:
                    self.file_rows.restore(key, source.relation, before["rows"], part.listed)
                    self.files[key] = FileCounts(len(part.files), len(part.listed) - len(part.files))
                    return rows
            part = replace(part, files=None)
        rows = self.frame(source, part, names)
        if part.listed:
            with report_source_errors(place):
                self.read[key] = {**before, "columns": digest_of_columns(rows.frame), "rows": {}}
            self.files[key] = FileCounts(len(part.listed), 0)
        return rows

    def frame(self, source: Source, part: Unread, names: Sequence[str]) -> FileFrame:
        """Return the rows of a part of a source. Columns of CSV without a header are those of the changes, then
        `names`."""
        own = part.frame if part.frame is not None else source.frame
        if own is not None:
            return FileFrame(own)
        if source.path is not None and source.format == "csv":
            operation = operation_of(source.changes)
            further = [] if operation is None else [*operation.columns]
            further += [] if source.rejected is None else [source.rejected]
            return csv_frame(
                self.session, source.path, [*dict.fromkeys([*further, *names])], source.options, part.files
            )
        if source.path is not None and source.format == "json":
            return json_frame(self.session, source.path, source.options, part.files)
        database = re.match(r"jdbc:\w+", str(source.options.get("url", "")))
        place = source.table or source.path or (database[0] if database else source.format)
        with report_source_errors(str(place)):
            if source.table is not None:
                return FileFrame(analyzed_frame(self.session.table(source.table)))
            reader = self.session.read.format(source.format).options(**reader_options(source.options))
            if source.path is None:
                return FileFrame(analyzed_frame(reader.load()))
            reader = reader.options(**base_path(self.session, source.path, part.files))
            return FileFrame(analyzed_frame(reader.load(read_paths(self.session, source.path, part.files))))

    # --- facts ---------------------------------------------------------------------------------------------------

    def changes(self, checked: Sequence[CheckedSource]) -> list[PendingFacts]:
        """Return the changes of all sources together, and count their rows."""
        embedded = self.db.is_embedded_with(sum(_accepted_rows(source) for source in checked))
        found: list[PendingFacts] = []
        for name in dict.fromkeys(source.relation for source in checked):
            own = [source for source in checked if source.relation == name]
            plain = [source for source in own if source.source.key is None]
            keyed = [source for source in own if source.source.key is not None]
            given, bad = sum(map(_accepted_rows, own)), sum(source.quarantined for source in own)
            # Of changes by key, the epoch finds out how many are about different keys.
            self.counts[name] = Counts(given + bad, given, bad, sum(map(_accepted_rows, keyed)))
            found += [change for source in keyed for change in source.pending_facts(partial(self.count_events, name))]
            if plain:
                found += self.plain_changes(name, plain, embedded)
        return found

    def count_events(self, name: str, events: int, late: int) -> None:
        """Count events about different keys of a relation, and rows that are late."""
        before = self.counts[name]
        self.counts[name] = replace(before, duplicates=before.duplicates - events, late=before.late + late)

    def plain_changes(self, name: str, checked: Sequence[CheckedSource], embedded: bool) -> list[PendingFacts]:
        """Return the changes of sources of one relation that have no key, and count their duplicates."""
        pending = [change for source in checked for change in source.pending_facts()]
        given = sum(map(_accepted_rows, checked))
        if embedded:
            pending, duplicates = self.collect(pending, given)
        else:
            with step(f"duplicates of {name}"):
                duplicates = given - _count_distinct(pending)
        self.counts[name] = replace(self.counts[name], duplicates=self.counts[name].duplicates + duplicates)
        mode = next(source.mode for source in self.pipeline.sources if source.relation == name)
        return self.difference(name, pending) if mode == "snapshot" else pending

    def collect(self, pending: Sequence[PendingFacts], given: int) -> tuple[list[PendingFacts], int]:
        """Return the same with words on the driver, and how many of the `given` rows say what another row says as
        well."""
        dictionary, relations = self.db.workspace.dictionary, self.db.program.relations
        found = []
        for asserts in dict.fromkeys(change.asserts for change in pending):
            own = [change for change in pending if change.asserts == asserts]
            columns = relations[own[0].relation].columns
            words = [collect_words(each.facts, columns, dictionary) for each in own]  # type: ignore[arg-type]
            rows = distinct(np.concatenate(words))
            found.append(PendingFacts(own[0].relation, asserts, DriverRows(rows), len(rows)))
        return found, max(0, given - sum(change.count for change in found))

    def difference(self, name: str, pending: list[PendingFacts]) -> list[PendingFacts]:
        """Return a snapshot as the difference to what is asserted now."""
        facts = [fact.values for fact in self.said if fact.relation == name]
        declared = self.db.program.relations[name]
        said = DriverRows(encode(facts, declared, self.db.workspace.dictionary))
        return self.db.difference(name, [*pending, PendingFacts(name, True, said, said.count())] if facts else pending)

    # --- sinks ---------------------------------------------------------------------------------------------------

    def views(self) -> tuple[str, ...]:
        """Return the relations that the program names with `.output`, or all derived ones."""
        program = self.db.program
        derived = {head.relation for rule in program.rules for head in rule.heads}
        return tuple(dict.fromkeys(self.named)) or tuple(name for name in program.relations if name in derived)

    def deliver(self, targets: Sequence[SinkTarget], delivery: UnsealedEpoch, checked: Sequence[CheckedSource]) -> None:
        """Write the sinks."""
        self.epoch = delivery.epoch
        for target in targets:
            sink, again = target.sink, _effect_of_another_run(target)
            if again != IN_THE_WAY:  # Any other may be there in part when it fails.
                self.reached.setdefault(again, []).append(sink.place)
            with report_source_errors(sink.relation):
                write(target, _output(delivery, sink.relation), whole=True)
            count = delivery.size if sink.what == "view" else delivery.count
            self.written[target.path] = count(sink.relation)
            if again == IN_THE_WAY:
                self.reached.setdefault(again, []).append(sink.place)
        if self.pipeline.quarantine is not None:  # also where none are bad: those of an epoch that comes again go
            rows = self.bad_rows(checked)
            self.reached.setdefault(ANEW, []).append(str(self.pipeline.quarantine))
            path = spark_path(self.session, self.pipeline.quarantine).rstrip("/")
            with step("quarantine"):
                write_files(rows, Sink("the quarantine", path), f"{path}/epoch={delivery.epoch}", "overwrite")
            self.written[path] = sum(source.quarantined for source in checked)

    @step("quarantine")
    def quarantine(self, checked: Sequence[CheckedSource], change: SparkChange) -> DataFrame:
        """Return the bad rows of this run, from where they were written or in memory."""
        if self.pipeline.quarantine is not None:
            folder = literal_path(spark_path(self.session, self.pipeline.quarantine).rstrip("/"))
            return self.session.read.parquet(f"{folder}/epoch={change.epoch}")
        rows = self.bad_rows(checked)
        if not any(source.quarantined for source in checked):
            return rows
        return to_spark(self.session, to_arrow(rows.limit(MOST_BAD_ROWS)))

    def bad_rows(self, checked: Sequence[CheckedSource]) -> DataFrame:
        """Return the rows that do not fit, of the sources that have any."""
        bad = [source.bad for source in checked if source.quarantined]
        return reduce(DataFrame.unionAll, bad, empty_frame(self.session, *QUARANTINE_COLUMNS))


def _expected_rows(source: Mapped) -> int:
    """Return how many rows a source of texts has if a line takes ten bytes, which is little; 0 if its size is not
    known."""
    return (source.size or 0) // 10


def _accepted_rows(source: CheckedSource) -> int:
    return source.read - source.quarantined


def _count_distinct(pending: Sequence[PendingFacts]) -> int:
    """Return the number of different facts among changes of one relation."""
    frames = [change.facts.frame for change in pending if isinstance(change.facts, FactFrame)]
    # Leaves may differ where a record type contains itself.
    together = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
    return together.distinct().count()


def _output(delivery: UnsealedEpoch, relation: str) -> EpochOutput:
    """Return the view and the changes of a relation for its sinks."""
    return EpochOutput(
        delivery.epoch,
        lambda: delivery.view(relation),
        lambda: delivery[relation].inserted,
        lambda: delivery[relation].deleted,
    )


def _effect_of_another_run(target: SinkTarget) -> str:
    """Return what another run does with a sink that has an epoch which did not happen."""
    return IN_THE_WAY if target.sink.mode == "error" else ANEW
