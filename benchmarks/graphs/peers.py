"""The same views by DuckDB's recursive queries and by Nemo, on one thread, as tidelog does; loading is included."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import csv

from benchmarks.graphs import measure, translation
from benchmarks.graphs.processes import MEMORY, TIME
from benchmarks.graphs.translation import ANSWER, NODE, Definition
from benchmarks.harness import Stopwatch, peak

_Body = Sequence[tuple[str, tuple[str, ...]]]


def duckdb_query(instance: Mapping[str, Any], number: int, limits: Mapping[str, Any], memory: int) -> dict[str, Any]:
    """Run a query by DuckDB, with a table for each relation of `translation.definitions`."""
    import duckdb

    one = measure.case(instance, number, limits)
    statements = [sql(each) for each in translation.definitions(one.query, one.graph)]
    tables = {name: _table(edges) for name, edges in measure.needed(one).items()}
    config: dict[str, Any] = {"threads": 1, "memory_limit": f"{memory // 1_000_000}MB", "max_temp_directory_size": "0B"}
    with duckdb.connect(config=config) as connection, Stopwatch() as watch:
        timer = threading.Timer(one.limits.timeout, connection.interrupt)
        timer.start()
        try:
            for name, table in tables.items():
                connection.register("given", table)
                connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM given')
            for statement in statements:
                connection.execute(statement)
            (size,) = connection.execute(f"SELECT count(*) FROM {ANSWER}").fetchall()[0]
        except duckdb.InterruptException:
            return {"stopped": TIME, "cpu": one.limits.timeout, "wall": one.limits.timeout}
        except duckdb.OutOfMemoryException:
            return {"stopped": MEMORY}
        finally:
            timer.cancel()
    return {"size": size, "wall": watch.wall, "cpu": watch.cpu, "peak": peak()}


def sql(definition: Definition) -> str:
    """Return a statement that makes the table of a relation; its columns are c0, c1 and so on."""
    if definition.closure:
        steps = f'"{definition.closure}"'
        query = (
            f"WITH RECURSIVE t(c0, c1) AS (SELECT c0, c1 FROM {steps} "
            f"UNION SELECT t.c0, s.c1 FROM t JOIN {steps} AS s ON t.c1 = s.c0) "
            f"SELECT c0, c1 FROM t UNION SELECT c0, c0 FROM {NODE}"
        )
    else:
        query = " UNION ".join(_select(definition.variables, body) for body in definition.bodies)
    return f'CREATE TABLE "{definition.name}" AS {query}'


def _select(variables: Sequence[str], body: _Body) -> str:
    places: dict[str, str] = {}
    conditions = []
    for i, (_, arguments) in enumerate(body):
        for j, variable in enumerate(arguments):
            place = f"t{i}.c{j}"
            if places.setdefault(variable, place) != place:
                conditions.append(f"{places[variable]} = {place}")
    columns = ", ".join(f"{places[v]} AS c{j}" for j, v in enumerate(variables)) or "1 AS c0"
    tables = ", ".join(f'"{name}" AS t{i}' for i, (name, _) in enumerate(body))
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT DISTINCT {columns} FROM {tables}{where}"


def nemo_query(instance: Mapping[str, Any], number: int, limits: Mapping[str, Any]) -> dict[str, Any]:
    """Run a query by Nemo, which reads its facts from files while it reasons."""
    import nmo_python

    one = measure.case(instance, number, limits)
    found = translation.definitions(one.query, one.graph)
    with tempfile.TemporaryDirectory() as folder:
        imports = ""
        for name, edges in measure.needed(one).items():
            path = Path(folder) / f"{name}.csv"
            csv.write_csv(_table(edges), path, csv.WriteOptions(include_header=False))
            # Nemo panics where two rules project the same import: they read a copy.
            imports += f'@import {name}_file :- csv{{resource="{path}"}} .\n{name}(?x, ?y) :- {name}_file(?x, ?y) .\n'
        rules = "".join(map(nemo_rules, found)) + _count(found[-1])
        with Stopwatch() as watch:
            engine = nmo_python.NemoEngine(nmo_python.load_string(imports + rules))
            engine.reason()
        sizes = [row[0] for row in engine.result("size")]
    return {"size": sum(sizes), "wall": watch.wall, "cpu": watch.cpu, "peak": peak()}


def nemo_rules(definition: Definition) -> str:
    """Return the rules of a relation; Nemo's always have arguments, so a rule without gets a 1."""
    if definition.closure:
        name, step = definition.name, definition.closure
        return (
            f"{name}(?x, ?y) :- {step}(?x, ?y) .\n{name}(?x, ?z) :- {name}(?x, ?y), {step}(?y, ?z) .\n"
            f"{name}(?x, ?x) :- {NODE}(?x) .\n"
        )
    head = _nemo_atom(definition.name, definition.variables)
    return "".join(
        f"{head} :- {', '.join(_nemo_atom(name, some) for name, some in body)} .\n" for body in definition.bodies
    )


def _nemo_atom(name: str, variables: Sequence[str]) -> str:
    return f"{name}({', '.join(f'?{v}' for v in variables) or '1'})"


def _count(answer: Definition) -> str:
    """Return a rule for the number of answers, so that they need not all come to Python."""
    atom = _nemo_atom(answer.name, answer.variables)
    counted = ", ".join(f"?{v}" for v in answer.variables)
    head = f"size(#count({counted}))" if counted else "size(1)"
    return f"{head} :- {atom} .\n@output size .\n"


def _table(edges: Any) -> pyarrow.Table:
    return pyarrow.table({f"c{j}": edges[:, j] for j in range(2)})
