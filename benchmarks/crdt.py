"""A shared text from its edits: two recursions with thousands of rounds of some ten tuples each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.evaluate import counting, evaluate, warm_up
from benchmarks.harness import Line, Measured, Options, Target, in_child, measure
from tidelog.cli.facts import inputs_of, read_inputs

SIZES = {"next_above": 181_836, "next_elem": 182_315, "visible": 104_852, "result": 104_851}


def evaluation(folder: str, runs: int | None) -> Measured:
    """Measure the published program as it stands; read the files of its .input lines before the seconds count."""
    warm_up()
    program = (Path(folder) / "crdt/crdt.dl").read_text()
    return measure(
        lambda: evaluate(
            program,
            lambda db: read_inputs(db, Path(folder) / "crdt", inputs_of(db.program.directives)),
            counting([*SIZES]),
        ),
        runs,
    )


def lines(options: Options) -> Iterator[Line]:
    """Yield the text, without the load."""
    measured = in_child(evaluation, str(options.data), options.runs)
    yield Line("crdt", "the text, without the load", measured, SIZES, (Target("seconds", 0.8),))
