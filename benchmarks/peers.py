"""Other engines that install from PyPI, for the same answers in the same run: DuckDB's recursive queries, and Nemo.

Both run on one thread, as tidelog does here. Nemo reads its facts, from files, while it reasons, so that times include
loading: DuckDB's from an Arrow table.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyarrow import csv

from benchmarks import data
from benchmarks.harness import Measured, Run, Stopwatch, measure

_RECURSIVE = """
WITH RECURSIVE t(x, y) AS (SELECT x, y FROM e UNION SELECT t.x, e.y FROM t JOIN e ON t.y = e.x)
SELECT count(*) FROM t
"""
_CLOSURE = """
t(?x, ?y) :- e(?x, ?y).
t(?x, ?z) :- t(?x, ?y), e(?y, ?z).
"""
_GALEN = """
p(?x, ?z) :- p(?x, ?y), p(?y, ?z).
q(?x, ?r, ?z) :- p(?x, ?y), q(?y, ?r, ?z).
p(?x, ?z) :- p(?y, ?w), u(?w, ?r, ?z), q(?x, ?r, ?y).
p(?x, ?z) :- c(?y, ?w, ?z), p(?x, ?w), p(?x, ?y).
q(?x, ?q2, ?z) :- q(?x, ?r, ?z), s(?r, ?q2).
q(?x, ?e, ?o) :- q(?x, ?y, ?z), r(?y, ?u, ?e), q(?z, ?u, ?o).
"""


def duckdb_closure(path: str, runs: int | None) -> Measured:
    """Run the closure of a file of edges by a recursive query."""
    import duckdb

    edges = data.numbers(Path(path), "\t", "xy")

    def once() -> Run:
        with duckdb.connect(config={"threads": 1}) as connection, Stopwatch() as watch:
            connection.register("edges", edges)
            connection.execute("CREATE TABLE e AS SELECT * FROM edges")
            (size,) = connection.execute(_RECURSIVE).fetchall()[0]
        return Run({"t": size}, watch.wall, watch.cpu)

    return measure(once, runs)


def duckdb_query(query: str, tables: Mapping[str, Any], names: Sequence[str], runs: int | None) -> Measured:
    """Run a query over Arrow tables, whose only row has the sizes with these names."""
    import duckdb

    def once() -> Run:
        with duckdb.connect(config={"threads": 1}) as connection, Stopwatch() as watch:
            for name, table in tables.items():
                connection.register(f"given_{name}", table)
                connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given_{name}")
            (row,) = connection.execute(query).fetchall()
        return Run(dict(zip(names, map(int, row), strict=True)), watch.wall, watch.cpu)

    return measure(once, runs)


def nemo_closure(path: str, runs: int | None) -> Measured:
    """Run the closure of a file of edges by Nemo."""
    return _reason(_CLOSURE, {"e": data.numbers(Path(path), "\t", "xy")}, ["t"], runs)


def nemo_galen(folder: str) -> Measured:
    """Run GALEN by Nemo, once: it takes minutes."""
    from benchmarks.galen import tables

    return _reason(_GALEN, tables(Path(folder)), ["p", "q"], 1)


def _reason(rules: str, facts: Mapping[str, Any], wanted: list[str], runs: int | None) -> Measured:
    import nmo_python

    with tempfile.TemporaryDirectory() as folder:
        imports = ""
        for name, table in facts.items():
            path = Path(folder) / f"{name}.csv"
            csv.write_csv(table, path, csv.WriteOptions(include_header=False))
            imports += f'@import {name} :- csv{{resource="{path}"}} .\n'
        outputs = "".join(f"@output {name} .\n" for name in wanted)

        def once() -> Run:
            with Stopwatch() as watch:
                engine = nmo_python.NemoEngine(nmo_python.load_string(imports + rules + outputs))
                engine.reason()
            return Run({name: sum(1 for _ in engine.result(name)) for name in wanted}, watch.wall, watch.cpu)

        return measure(once, runs)
