"""The pipeline: sources -> facts that fit -> dictionary -> embedded engine on the driver -> views."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from types import TracebackType

import numpy as np
from pyspark.errors import PySparkException
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession

from tidelog.database import Database, connect
from tidelog.errors import DataError, LimitError, Problem, UsageError
from tidelog.relation import Relation, Rows
from tidelog.spark.driver import collect_facts, words_of
from tidelog.spark.encode import SymbolTable
from tidelog.spark.sources import (
    QUARANTINE_COLUMNS,
    CheckedSource,
    Counts,
    Source,
    check_sources,
    empty_frame,
    first_line,
    map_csv,
    map_frame,
)
from tidelog.spark.views import Result
from tidelog.storage.dictionary import Words

EMBEDDED_LIMIT = 50_000_000
FEW_FACTS = 1_000_000  # relations up to this size come to the driver together, in one Spark job


class Pipeline:
    """A program fed by Spark. The session is the caller's; its configuration, its temporary views and its cached
    frames stay as they are, and `close` (or the end of a `with` block) lets go of everything that the pipeline keeps.

    `program` is text or a path, as for `Database.load`. `embedded_limit` is the most facts that one run may bring to
    the driver. `progress` is called with the name of each stage and its seconds. `database` is the engine: queries,
    options and further transactions work on it as ever.
    """

    def __init__(
        self,
        session: SparkSession,
        program: str | os.PathLike[str],
        *,
        embedded_limit: int = EMBEDDED_LIMIT,
        progress: Callable[[str, float], None] | None = None,
    ) -> None:
        self.session = session
        self.embedded_limit = embedded_limit
        self.database: Database = connect()
        self.database.load(program)
        # An epoch of its own, so that a run that fails later does not take the program with it.
        self.database.commit()
        self._progress = progress
        self._pending: list[Source] = []
        self._kept: list[DataFrame] = []
        self._symbols = SymbolTable(session, self.database.dictionary)
        self._closed = False

    def read(
        self,
        relation: str,
        frame: DataFrame,
        *,
        columns: Mapping[str, str | Expression] | None = None,
        rejected: str | None = None,
    ) -> None:
        """Adds the rows of a DataFrame to what the next `run` reads; a relation may have many.

        Columns go by name; `columns` maps declared names to other names or to expressions, and further columns of the
        frame are ignored. `rejected` names a column that holds a reason in rows that the caller already knows to be
        bad and null in all others. Whether the columns fit is checked now, whether the rows do when `run` is called.
        """
        self._check_open()
        self._pending.append(map_frame(self.database.program, relation, frame, columns, rejected))

    def read_csv(
        self, relation: str, path: str | os.PathLike[str], *, delimiter: str = ",", header: bool = False
    ) -> None:
        """Adds CSV files (a path, folder or pattern that Spark can read) to what the next `run` reads: columns by
        position, or by name with a `header`. Lines with another number of columns go to the quarantine."""
        self._check_open()
        self._pending.append(map_csv(self.database.program, self.session, relation, path, delimiter, header))

    def run(self) -> Result:
        """Brings everything read since the last run into the engine, in one transaction, and returns the views.

        After an error nothing has changed, and what was read is still waiting. LimitError (E0502) when there are more
        facts than `embedded_limit`, DataError (E0482) when Spark cannot read a source.
        """
        self._check_open()
        seconds: dict[str, float] = {}
        checked: list[CheckedSource] = []
        try:
            with self._stage("check", seconds):
                checked = check_sources(self._pending) if self._pending else []
                self._check_size(checked)
            with self._stage("dictionary", seconds):
                self._symbols.grow(checked)
            with self._stage("facts", seconds):
                facts = self._facts(checked)
            with self._stage("engine", seconds):
                for relation, words in facts.items():
                    self.database.insert_words(relation, words)
                change = self.database.commit()
        except BaseException as error:
            for source in checked:
                source.frame.unpersist()
            if isinstance(error, PySparkException) or type(error).__module__.startswith("py4j"):
                problem = Problem("E0482", f"Spark cannot read the sources: {first_line(error)}")
                raise DataError(problem) from error
            raise
        self._pending.clear()
        return Result(
            self.session,
            {name: self._snapshot(name) for name in self._outputs()},
            _counts(checked, facts),
            self._quarantine(checked),
            change,
            seconds,
        )

    def close(self) -> None:
        """Lets go of everything kept in Spark and of the engine. Results stay usable, except that the quarantine is
        read from its sources again."""
        if not self._closed:
            self._closed = True
            self._pending.clear()
            self._symbols.close()
            for frame in self._kept:
                frame.unpersist()
            self._kept.clear()
            self.database.close()

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _stage(self, name: str, seconds: dict[str, float]) -> Iterator[None]:
        start = time.perf_counter()
        yield
        seconds[name] = time.perf_counter() - start
        if self._progress is not None:
            self._progress(name, seconds[name])

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError(Problem("E0602", "the pipeline is closed", hint="make a new Pipeline"))

    def _check_size(self, checked: Sequence[CheckedSource]) -> None:
        accepted = sum(source.read - source.quarantined for source in checked)
        if accepted > self.embedded_limit:
            raise LimitError(
                Problem(
                    "E0502",
                    f"{accepted} facts are more than the embedded limit of {self.embedded_limit}, and the cluster "
                    "engine is not part of this version",
                    hint="set embedded_limit higher if the driver has the memory (about 50 bytes per fact and index)",
                )
            )

    def _facts(self, checked: Sequence[CheckedSource]) -> dict[str, Words]:
        """The distinct facts of each relation that was read, as words of the engine's dictionary."""
        relations = self.database.program.relations
        names = list(dict.fromkeys(source.relation for source in checked))
        sizes = {name: sum(s.read - s.quarantined for s in checked if s.relation == name) for name in names}
        small = [name for name in names if sizes[name] <= FEW_FACTS]
        groups = [small] if small else []
        groups += [[name] for name in names if sizes[name] > FEW_FACTS]
        facts: dict[str, Words] = {}
        for group in groups:
            tables = collect_facts([source for source in checked if source.relation in group], self._symbols)
            for name, table in tables.items():
                facts[name] = words_of(table, relations[name].columns, self.database.dictionary)
        return {name: facts[name] for name in names}

    def _snapshot(self, name: str) -> Relation:
        """A relation as it is now; those of the database follow later epochs and end with it."""
        now = self.database[name]
        return Relation(name, Rows(now.columns, now.dictionary, np.array(now.words())))

    def _outputs(self) -> list[str]:
        """The relations that the program names with `.output`, or all derived ones."""
        program = self.database.program
        named = [directive.relation for directive in program.directives if directive.name == "output"]
        derived = {head.relation for rule in program.rules for head in rule.heads}
        return list(dict.fromkeys(named)) or [name for name in program.relations if name in derived]

    def _quarantine(self, checked: Sequence[CheckedSource]) -> DataFrame:
        """The bad rows of this run; frames without any are let go."""
        bad = []
        for source in checked:
            if source.quarantined:
                bad.append(source.bad)
                self._kept.append(source.frame)
            else:
                source.frame.unpersist()
        if not bad:
            return empty_frame(self.session, *QUARANTINE_COLUMNS)
        return reduce(DataFrame.unionAll, bad)


def _counts(checked: Sequence[CheckedSource], facts: Mapping[str, Words]) -> dict[str, Counts]:
    counts = {}
    for relation, words in facts.items():
        sources = [source for source in checked if source.relation == relation]
        read, bad = sum(source.read for source in sources), sum(source.quarantined for source in sources)
        counts[relation] = Counts(read=read, accepted=read - bad, quarantined=bad, duplicates=read - bad - len(words))
    return counts
