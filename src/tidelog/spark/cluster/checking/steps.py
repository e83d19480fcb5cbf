"""The part of a partition in a check: it sends rows to tables, evaluates steps, and compares views with heads.

Rows travel as in a round: each partition writes a file with a piece for each receiver. Behind the columns of a relation
they have a birth: that of a tuple, of the youngest tuple of a rule instance, or NO_BIRTH for facts. Heads of rules have
the number of their source besides. DuckDB evaluates steps by the statements of `tidelog.certificate.sql`, so that
nothing here shares code with the evaluation of rules.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy

from tidelog.certificate.check import SHOWN
from tidelog.certificate.functors import sql_type, sql_values
from tidelog.certificate.session import check_session, has_values, source_of
from tidelog.certificate.sql import NO_BIRTH, contradiction_conditions, exclusion_conditions, instances
from tidelog.common.arrays import Words
from tidelog.functions.callables import GivenFunctions
from tidelog.language.syntax import Kind, RecordType
from tidelog.limits.watch import Watch
from tidelog.rules.core import NodeSelection
from tidelog.spark.cluster.checking.joins import HEAD, RuleStep
from tidelog.spark.cluster.exchange import wire
from tidelog.spark.cluster.exchange.folder import Folder
from tidelog.spark.cluster.exchange.pieces import Bundle, Piece, PieceChange, PieceFile, read_pieces
from tidelog.spark.cluster.exchange.texts import learn_values
from tidelog.spark.cluster.placement.buckets import owners, row_owners
from tidelog.storage.dictionary import Dictionary

if TYPE_CHECKING:
    import duckdb

    from tidelog.certificate.functors import Functors
    from tidelog.maintain.state import EngineState
    from tidelog.spark.cluster.exchange.rounds import Task

FACT = -1
"""The source of facts among heads; that of a rule is its number."""
_AT_ONCE = 1 << 20
"""Rows of a relation that are sent at a time."""

Sent = tuple[int, Bundle | Piece]
"""The number of a table, and rows for it: a bundle, or a piece for all partitions."""


@dataclass(frozen=True)
class ShuffleRead:
    """Rows of a relation of the partitions' program for a table, in the partition that the words in the columns `key`
    say, everywhere for None. Those of a "view" have births, "facts" are heads, and "rows" have nothing besides. Of rows
    that all partitions have, `replicated`, the first one sends the view with its births. Facts and rows come from the
    partition in which they live, from which users read them."""

    copy: str
    replicated: bool
    what: Literal["view", "facts", "rows"]
    key: tuple[int, ...] | None


@dataclass(frozen=True)
class PlannedStep:
    """A step and where its results go: to the partition that the words in the columns `key` say. They have the number
    of their `source` if they are heads."""

    step: RuleStep
    key: tuple[int, ...] | None
    source: int | None


@dataclass(frozen=True)
class ViewComparison:
    """The comparison of a view with columns of these kinds with what rules and facts derive. `shown` says that users
    read its rows elsewhere, so that these have to be the same."""

    kinds: tuple[Kind, ...]
    selection: NodeSelection | None
    shown: bool


@dataclass(frozen=True)
class CheckPlan:
    """The evaluations and comparisons of a check, in a file. Rules that look into symbols and records find them in the
    file `symbols`, if it has a name."""

    evaluations: tuple[PlannedStep, ...]
    comparisons: tuple[ViewComparison, ...]
    records: Mapping[str, RecordType]
    symbols: str
    extents: Mapping[str, int]
    """The number of words of each kind of symbols and records."""


class Work(NamedTuple):
    """The evaluation or comparison with a number, and the rows for each of its tables."""

    number: int
    tables: tuple[tuple[Bundle | Piece, ...], ...]


class Difference(NamedTuple):
    """Some tuples of each kind in which a view is wrong; those that are `missing` with their source."""

    missing: list[tuple[Any, ...]]
    unsupported: list[tuple[Any, ...]]
    dominated: list[tuple[Any, ...]]
    unfit: bool


def send_rows(
    engine: EngineState, number: int, folder: str, name: str, partitions: int, reads: Sequence[ShuffleRead]
) -> list[Sent]:
    """Write the rows that the partition with a number sends to so many others into a file in a folder."""
    file = PieceFile(f"{name}-{number}-{secrets.token_hex(4)}")
    sent: list[Sent] = []
    for table, read in enumerate(reads):
        for rows in _rows(engine, number, partitions, read):
            sent += _send(file, table, rows, read.key, partitions)
    file.write(Folder(folder))
    return sent


def _send(file: PieceFile, table: int, rows: Words, key: tuple[int, ...] | None, partitions: int) -> Iterator[Sent]:
    """Add rows for a table to a file, for the partitions that the words in the columns `key` say."""
    if key is None:
        yield table, file.add([PieceChange("", True, rows)])
    elif bundle := file.bundle_by_home([PieceChange("", True, rows)], partial(_homes, key, partitions)):
        yield table, bundle


def _rows(engine: EngineState, number: int, partitions: int, read: ShuffleRead) -> Iterator[Words]:
    """Yield the rows of a read with their births, or as heads, some at a time."""
    stored = (engine.asserted if read.what == "facts" else engine.views).get(read.copy)
    if stored is None or (read.replicated and number and (read.what == "view" or not stored.arity)):
        return
    words = stored.words()
    if read.replicated and read.what != "view" and stored.arity:
        words = words[owners(words[:, 0], partitions) == number]
    births = engine.births(read.copy) if read.what == "view" else numpy.empty(0, numpy.int64)
    for start in range(0, len(words), _AT_ONCE):
        rows = words[start : start + _AT_ONCE].astype(numpy.int64)
        last = {
            "view": [births[start : start + _AT_ONCE]],
            "facts": [_column(rows, NO_BIRTH), _column(rows, FACT)],
            "rows": [],
        }
        yield numpy.column_stack([rows, *last[read.what]])


def _column(rows: Words, value: int) -> Words:
    return numpy.full(len(rows), value, numpy.int64)


def _homes(key: tuple[int, ...], partitions: int, rows: Words) -> Words:
    """Return the partition of each row."""
    return row_owners(rows[:, list(key)], partitions) if key else _column(rows, 0)


def perform(task: Task) -> Any:
    """Evaluate steps, and return what was sent; or compare views, and return the differences."""
    folder = Folder(task.folder)
    functions = GivenFunctions()
    for function in task.functions:
        functions.replace(function.resolve("an executor"))
    at, name, work, timeout = task.arguments
    plan: CheckPlan = wire.loads(folder.read(at), functions)
    dictionary = Dictionary(plan.records)
    if plan.symbols:
        learn_values(dictionary, folder.read(plan.symbols), folder)
    with check_session(dictionary, Watch(timeout), _config()) as (connection, functors):
        if task.what == "compare":
            return [_compare(plan, each.number, _tables(task, each), connection) for each in work]
        file = PieceFile(f"{name}-{task.partition}-{secrets.token_hex(4)}")
        sent: list[Sent] = []
        for each in work:
            evaluation = plan.evaluations[each.number]
            found = _evaluate(evaluation.step, _tables(task, each), connection, functors)
            if evaluation.source is not None:
                found = numpy.column_stack([found, _column(found, evaluation.source)])
            sent += _send(file, each.number, found, evaluation.key, task.partitions)
    file.write(folder)
    return sent


def _tables(task: Task, work: Work) -> list[list[Words]]:
    """Return the rows that a partition has of the tables of some work, in parts."""
    folder, tables = Folder(task.folder), []
    for sent in work.tables:
        shared = [each for each in sent if isinstance(each, Piece)]
        bundles = [each for each in sent if isinstance(each, Bundle)]
        tables.append([each.words for each in read_pieces(folder, task.partition, shared, bundles)])
    return tables


def _config() -> dict[str, Any]:
    """Return the settings of DuckDB for one of as many partitions as this machine has cores."""
    cores = os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (2 * cores)
    return {"threads": 1, "memory_limit": f"{memory}B"}


def _evaluate(
    step: RuleStep, tables: Sequence[list[Words]], connection: duckdb.DuckDBPyConnection, functors: Functors
) -> Words:
    """Return the heads of a step over tables, each once, with the least birth of the youngest."""
    rows = {each.table: sum(map(len, parts)) for each, parts in zip(step.inputs, tables, strict=True)}
    if not all(rows[table] for table in step.needed_tables):
        return numpy.empty((0, len(step.kinds) + 1), numpy.int64)
    for each, parts in zip(step.inputs, tables, strict=True):
        _load(connection, _sql_name(each.table), each.kinds, ["birth"], parts)
    strata = {HEAD: 1} | {each.table: int(each.table in step.older) for each in step.inputs}
    select = instances(step.rule, _sql_name, strata, functors)
    heads = ", ".join(f"h{i}::{sql_type(kind)} AS h{i}" for i, kind in enumerate(step.kinds))
    groups = f"GROUP BY {', '.join(f'h{i}' for i in range(len(step.kinds)))}" if step.kinds else ""
    least = f"{', ' if heads else ''}min(youngest)::BIGINT AS birth, count(*) AS n"
    query = f"SELECT * EXCLUDE n FROM (SELECT {heads}{least} FROM ({select}) {groups}) WHERE n > 0"
    found = connection.execute(query).fetchnumpy()
    columns = [numpy.ascontiguousarray(numpy.ma.getdata(column)).view(numpy.int64) for column in found.values()]
    return numpy.column_stack(columns)


def _sql_name(table: str) -> str:
    return f"t{table.removeprefix('#')}"


def _load(
    connection: duckdb.DuckDBPyConnection, table: str, kinds: Sequence[Kind], last: Sequence[str], parts: list[Words]
) -> None:
    """Make a table of rows with columns of these kinds and further numbers."""
    names = [*(f"c{i}" for i in range(len(kinds))), *last]
    rows = numpy.concatenate([numpy.empty((0, len(names)), numpy.int64), *parts])
    columns = [sql_values(column, kind) for column, kind in zip(rows.T, [*kinds, *["number"] * len(last)], strict=True)]
    if not names:  # DuckDB has no tables without columns.
        columns, names = [_column(rows, 0)], ["unit"]
    with source_of(connection, columns, names) as source:
        connection.execute(f"CREATE OR REPLACE TABLE {table} AS FROM {source}")


def _compare(
    plan: CheckPlan, number: int, tables: Sequence[list[Words]], connection: duckdb.DuckDBPyConnection
) -> Difference:
    """Return the differences between the view in the first table, and the heads in the second one."""
    comparison = plan.comparisons[number]
    kinds = comparison.kinds
    columns = [f"c{i}" for i in range(len(kinds))]
    listed = ", ".join(columns) or "1"
    unfit = not all(has_values(rows[:, : len(kinds)], kinds, plan.extents.__getitem__) for rows in tables[0])
    if not any(map(len, tables)):
        return Difference([], [], [], unfit)
    _load(connection, "view", kinds, ["birth"], tables[0])
    _load(connection, "heads", kinds, ["birth", "source"], tables[1])
    by = f" GROUP BY {', '.join(columns)}" if columns else " HAVING count(*) > 0"
    selected = ", ".join([*columns, "min(birth) AS birth", "min(source) AS source"])
    connection.execute(f"CREATE OR REPLACE TABLE best AS SELECT {selected} FROM heads{by}")

    def same(one: str, other: str) -> str:
        return " AND ".join(["TRUE", *(f"{one}.{column} = {other}.{column}" for column in columns)])

    def some(query: str) -> list[tuple[Any, ...]]:
        return connection.execute(f"{query} LIMIT {SHOWN + 1}").fetchall()

    ways = [] if comparison.selection is None else exclusion_conditions(comparison.selection, "u.c{}", "b.c{}")
    others = "".join(f" AND NOT EXISTS (SELECT 1 FROM view u WHERE {way})" for way in ways)
    missing = some(
        f"SELECT {listed}, source FROM best b WHERE NOT EXISTS (SELECT 1 FROM view v WHERE {same('v', 'b')}){others}"
    )
    unsupported = some(
        f"SELECT {listed} FROM view v"
        f" WHERE NOT EXISTS (SELECT 1 FROM best b WHERE {same('v', 'b')} AND b.birth < v.birth)"
    )
    dominated = []
    if comparison.selection is not None:
        worse = contradiction_conditions(comparison.selection, "u.c{}", "v.c{}")
        found = " OR ".join(f"EXISTS (SELECT 1 FROM view u WHERE {way})" for way in worse)
        dominated = some(f"SELECT {listed} FROM view v WHERE {found}")
    if comparison.shown:
        _load(connection, "shown", kinds, [], tables[2])
        missing += some(
            f"SELECT {listed}, source FROM best b WHERE NOT EXISTS (SELECT 1 FROM shown s WHERE {same('b', 's')})"
            f" AND EXISTS (SELECT 1 FROM view v WHERE {same('b', 'v')})"
        )
        unsupported += some(
            f"SELECT {listed} FROM shown s WHERE NOT EXISTS (SELECT 1 FROM view v WHERE {same('v', 's')})"
        )
    return Difference(missing, unsupported, dominated, unfit)
