"""From a file to a relation: a million rows of CSV and of Parquet, numbers and symbols."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy
import pyarrow
from pyarrow import csv, parquet

from benchmarks.evaluate import warm_up
from benchmarks.harness import Line, Measured, Options, Run, Stopwatch, Target, in_child, measure
from tidelog.cli.facts import inputs_of, read_inputs

_INPUT = {"csv": 'filename="e.csv", delimiter=","', "parquet": 'IO=parquet, filename="e.parquet"'}
_SECONDS = 5
"""The meaning of "seconds, not minutes"."""


def evaluation(form: str, kind: str, rows: int, runs: int | None) -> Measured:
    """Read a file of `rows` rows, a number and a value of the kind "number" or "symbol", and commit."""
    warm_up()
    numbers = numpy.arange(rows)
    others = numbers * 7 % (rows + 1)
    second = pyarrow.array(others) if kind == "number" else pyarrow.array([f"name {n // 3}" for n in others.tolist()])
    table = pyarrow.table({"x": pyarrow.array(numbers), "y": second})
    text = f".decl e(x: number, y: {kind})\n.input e({_INPUT[form]})\n"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if form == "csv":
            options = csv.WriteOptions(include_header=False, quoting_style="none")
            csv.write_csv(table, folder / "e.csv", options)
        else:
            parquet.write_table(table, folder / "e.parquet")
        return measure(lambda: _once(text, folder), runs)


def _once(text: str, folder: Path) -> Run:
    import tidelog

    db = tidelog.connect()
    db.load(text)
    with Stopwatch() as reading:
        read_inputs(db, folder, inputs_of(db.program.directives))
    with Stopwatch() as commit:
        db.commit()
    details = {"read": reading.wall, "commit": commit.wall}
    return Run({"e": len(db["e"])}, reading.wall + commit.wall, reading.cpu + commit.cpu, details)


def lines(options: Options) -> Iterator[Line]:
    """Yield both formats, with a column of numbers and with one of symbols."""
    for form in _INPUT:
        for kind in ("number", "symbol"):
            measured = in_child(evaluation, form, kind, 1_000_000, options.runs)
            what = f"1 M rows of {form}, number and {kind}"
            yield Line("reading", what, measured, {"e": 1_000_000}, (Target("seconds", _SECONDS),))
