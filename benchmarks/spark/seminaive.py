"""The baselines: recursion by Spark's own means.

`dataframes` is semi-naive evaluation of a program with joins and anti-joins, its lineage cut in every iteration.
`recursive_query` is `WITH RECURSIVE`, which has UNION ALL only and so lists the ways of a graph and not its pairs. It
has one recursive reference only, so it cannot express GALEN's program. Both stop after a number of seconds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, lit

from benchmarks.harness import BenchmarkError
from benchmarks.spark.programs import loaded
from tidelog.rules.core import AnyRule, CoreAtom, CoreConstant, CoreRule, CoreVariable, HyperNode

Tables = dict[str, DataFrame]
"""The rows of each relation so far, none twice; columns c0, c1 and so on."""


@dataclass(frozen=True)
class Baseline:
    """Tuples of the view if it `finished`, iterations and seconds; otherwise the time was up, or Spark stopped
    before."""

    tuples: int
    iterations: int
    seconds: float
    end: Literal["finished", "stopped", "failed"]

    def __str__(self) -> str:
        end = f"{self.tuples:,} tuples" if self.end == "finished" else self.end
        return f"{self.seconds:.1f} s, {self.iterations} iterations, {end}"


def dataframes(session: SparkSession, text: str, facts: Mapping[str, DataFrame], view: str, limit: float) -> Baseline:
    """Run semi-naive evaluation of a program over frames of numbers, for at most `limit` seconds. Raise BenchmarkError
    for rules that have anything but atoms without negation."""
    core = loaded(text).draft().core
    iterations = 0

    def evaluate() -> int:
        nonlocal iterations
        tables: Tables = {}
        for name, info in core.relations.items():
            columns = _columns(len(info.columns))
            given = facts.get(name, session.createDataFrame([], ", ".join(f"{column} long" for column in columns)))
            tables[name] = given.toDF(*columns).distinct().localCheckpoint()
        for node in core.nodes:
            for _ in _iterations(node, tables):
                iterations += 1
        return tables[view].count()

    with _letting_go(session):
        found = _within(session, limit, evaluate)
    return replace(found, iterations=iterations)


def recursive_query(session: SparkSession, edges: DataFrame, limit: float) -> Baseline:
    """Run Spark's recursive query for the closure of the frame `edges` (x, y), for at most `limit` seconds."""
    edges.toDF("x", "y").createOrReplaceTempView("edges")
    query = """
        WITH RECURSIVE t(x, y) AS (
            SELECT x, y FROM edges UNION ALL SELECT t.x, edges.y FROM t JOIN edges ON t.y = edges.x
        ) SELECT DISTINCT x, y FROM t
    """
    found = _within(session, limit, lambda: session.sql(query).count())
    session.catalog.dropTempView("edges")
    return found


@contextmanager
def _letting_go(session: SparkSession) -> Iterator[None]:
    """Release at the end everything that Spark keeps inside: checkpoints would stay until somebody collects garbage."""
    kept = session.sparkContext._jsc.getPersistentRDDs
    before = set(kept())
    try:
        yield
    finally:
        for number, frame in kept().items():
            if number not in before:
                frame.unpersist()


# --- semi-naive evaluation -----------------------------------------------------------------------------------------


def _iterations(node: HyperNode, tables: Tables) -> Iterator[None]:
    """Evaluate the relations of a hyper-node to the fix-point, and yield after each iteration, the last of which finds
    nothing. The first deltas are the facts, and the heads of rules that read nothing of the hyper-node."""
    rules = [_positive(rule) for rule in node.rules]
    places = [[at for at, atom in enumerate(body) if atom.relation in node.relations] for _, body in rules]
    exits = [(head, body, 0) for (head, body), found in zip(rules, places, strict=True) if not found]
    loops = [(head, body, at) for (head, body), found in zip(rules, places, strict=True) for at in found]
    for head, body, at in exits:
        tables[head.relation] = tables[head.relation].unionAll(_derived(head, body, at, tables, tables))
    for name in node.relations:
        tables[name] = tables[name].distinct().localCheckpoint()
    deltas = {name: tables[name] for name in node.relations}
    while loops and deltas:
        found: dict[str, list[DataFrame]] = {}
        for head, body, at in loops:
            if body[at].relation in deltas:
                found.setdefault(head.relation, []).append(_derived(head, body, at, deltas, tables))
        deltas = {}
        for name, frames in found.items():
            rows = reduce(DataFrame.unionAll, frames).distinct()
            new = rows.join(tables[name], rows.columns, "left_anti").localCheckpoint()
            if not new.isEmpty():
                deltas[name] = new
        tables |= {name: tables[name].unionAll(new).localCheckpoint() for name, new in deltas.items()}
        yield


def _positive(rule: AnyRule) -> tuple[CoreAtom, list[CoreAtom]]:
    """Return the head and the body of a rule."""
    if isinstance(rule, CoreRule):
        body = [literal for literal in rule.body if isinstance(literal, CoreAtom) and not literal.negated]
        if body and len(body) == len(rule.body):
            return rule.head, body
    raise BenchmarkError(f"the baseline knows rules over atoms only: {rule}")


def _derived(head: CoreAtom, body: list[CoreAtom], at: int, deltas: Tables, tables: Tables) -> DataFrame:
    """Return the tuples that a rule derives when atom `at` of its body reads a delta. Join the others from there in
    their order, those first that share a variable."""
    rows = _matching(body[at], deltas)
    others = [atom for number, atom in enumerate(body) if number != at]
    while others:
        atom = max(others, key=lambda each: not _variables(each).isdisjoint(rows.columns))
        others.remove(atom)
        shared = [name for name in rows.columns if name in _variables(atom)]
        more = _matching(atom, tables)
        rows = rows.join(more, shared) if shared else rows.crossJoin(more)
    values = [lit(arg.value) if isinstance(arg, CoreConstant) else col(arg.name) for arg in head.args]
    return rows.select(*(value.alias(name) for value, name in zip(values, _columns(len(values)), strict=True)))


def _matching(atom: CoreAtom, tables: Tables) -> DataFrame:
    """Return the rows of a table that match an atom, with a column for each of its variables."""
    table, columns = tables[atom.relation], dict[str, str]()
    for column, arg in zip(table.columns, atom.args, strict=True):
        if isinstance(arg, CoreConstant):
            table = table.where(col(column) == lit(arg.value))
        elif arg.name in columns:
            table = table.where(col(column) == col(columns[arg.name]))
        else:
            columns[arg.name] = column
    return table.select(*(col(column).alias(name) for name, column in columns.items()))


def _variables(atom: CoreAtom) -> set[str]:
    return {arg.name for arg in atom.args if isinstance(arg, CoreVariable)}


def _columns(arity: int) -> list[str]:
    return [f"c{number}" for number in range(arity)]


def _within(session: SparkSession, limit: float, evaluate: Callable[[], int]) -> Baseline:
    """Measure a function that counts tuples; cancel its jobs after `limit` seconds."""
    over, started = threading.Event(), time.perf_counter()

    def cancel() -> None:
        pause = limit
        while not over.wait(pause):
            session.sparkContext.cancelAllJobs()
            pause = 0.5  # Between two jobs there is nothing to cancel.

    canceller = threading.Thread(target=cancel)
    canceller.start()
    try:
        return Baseline(evaluate(), 1, time.perf_counter() - started, "finished")
    except (PySparkException, Py4JJavaError):
        seconds = time.perf_counter() - started
        return Baseline(0, 1, seconds, "failed" if seconds < limit else "stopped")
    finally:
        over.set()
        canceller.join()
