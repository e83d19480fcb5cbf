"""`python -m benchmarks.matrix.changes`: print what ten transactions of 1,000 insertions and 1,000 deletions take, in
graphs of a million edges: their CPU seconds, the peak memory of the process, and the seconds of FlowLog's incremental
mode as multiples of tidelog's, where TIDELOG_PEERS has it. FlowLog's are what they add to the process.

Exit code 0 if both find relations of the same sizes, 1 if they do not or one failed.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy

from benchmarks import findings
from benchmarks.harness import BenchmarkError
from benchmarks.matrix import engines, inputs, programs
from benchmarks.matrix.engines import Engine
from benchmarks.matrix.programs import WORKLOADS
from benchmarks.matrix.usage import Usage, agree, cell, median

TRANSACTIONS = 10
ROWS = 1_000
CHANGED = {"components": "Edge", "shortest paths": "Road"}
"""The relation of each workload that changes."""


def main(words: Sequence[str] | None = None) -> int:
    """Run the workloads; see the exit codes above."""
    options = _parser().parse_args(words)
    lines: dict[str, dict[str, Usage]] = {}
    for workload in CHANGED:
        folder = options.folder.absolute() / workload.replace(" ", "_")  # Peers are compiled inside of it.
        inputs.write(workload, folder / "facts")
        changes = folder / "changes"
        write(workload, folder / "facts", changes)
        first, both = (_engines(options.threads, changes, number) for number in (0, TRANSACTIONS))
        lines[workload] = {
            name: median([_measure(first[name], both[name], workload, folder) for _ in range(options.runs)])
            for name in first
        }
        print(f"{workload:18}" + "".join(f"{name:>12}: {cell(lines[workload], name)}" for name in lines[workload]))
    names = list(lines[next(iter(CHANGED))])
    rows = [[workload, *(cell(line, name) for name in names)] for workload, line in lines.items()]
    found = {workload: {name: vars(usage) for name, usage in line.items()} for workload, line in lines.items()}
    table = findings.table(("ten transactions (CPU s; peak MB)", *names), rows)
    findings.write(options.json, {"workloads": found}, {"lines": table})
    return int(not all(map(agree, lines.values())))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.matrix.changes", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="pairs of processes of each engine, of which medians count")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("out/matrix"), help="for facts and programs of peers")
    parser.add_argument("--json", type=Path, default=Path("out/changes.json"))
    return parser


def write(workload: str, facts: Path, folder: Path) -> None:
    """Write the rows that each transaction deletes and inserts, unless they are there: rows that are in the relation
    then, and others with ends of its rows."""
    if folder.exists():
        return
    folder.mkdir(parents=True)
    rng = numpy.random.default_rng(17)
    present = numpy.loadtxt(facts / f"{CHANGED[workload]}.csv", numpy.int64, delimiter=",")
    for number in range(TRANSACTIONS):
        places = rng.permutation(len(present))
        deleted, kept = present[places[:ROWS]], present[places[ROWS:]]
        mixed = numpy.column_stack([rng.choice(column, 2 * ROWS) for column in present.T])
        known = set(map(tuple, present[:, :2].tolist()))
        inserted = numpy.array([row for row in mixed.tolist() if tuple(row[:2]) not in known][:ROWS])
        numpy.savetxt(folder / f"{number}.deleted.csv", deleted, "%d", ",")
        numpy.savetxt(folder / f"{number}.inserted.csv", inserted, "%d", ",")
        present = numpy.concatenate([kept, inserted])


def _engines(threads: int, changes: Path, transactions: int) -> dict[str, Engine]:
    prepare = partial(_tidelog, threads, changes, transactions)
    found = {"tidelog": Engine(prepare, r'"NAME": (\d+)', seconds=r'"changes": ([\d.]+)')}
    compiler = engines.peers() / "flowlog/target/release/flowlog-compiler"
    if compiler.exists():
        line = r"\[size\]\[NAME\] (t=\d+ size=-?\d+)"
        found["FlowLog"] = Engine(partial(_flowlog, compiler, threads, changes, transactions), line, adds=True)
    return found


def _measure(first: Engine, both: Engine, workload: str, folder: Path) -> Usage:
    """Return what the transactions add to the process of the first commit, and the memory and sizes with them."""
    without, found = (engines.evaluate(engine, workload, folder / "facts", folder) for engine in (first, both))
    assert without is not None
    assert found is not None
    sizes = found.sizes if without.sizes else {}
    return Usage(found.cpu - without.cpu, found.wall - without.wall, found.peak, sizes)


def _tidelog(
    threads: int, changes: Path, transactions: int, workload: str, facts: Path, folder: Path
) -> Sequence[object]:
    files = [changes / f"{number}.{each}.csv" for number in range(transactions) for each in ("deleted", "inserted")]
    words = [workload, facts, "maintain", threads, CHANGED[workload], *files]
    return [sys.executable, "-m", "benchmarks.matrix.evaluation", *words]


def _flowlog(
    compiler: Path, threads: int, changes: Path, transactions: int, workload: str, facts: Path, folder: Path
) -> Sequence[object]:
    program, commands = folder / "flowlog.changing", folder / f"{transactions}.txt"
    if not program.exists():
        text = folder / "flowlog.changing.dl"
        text.write_text(programs.flowlog(WORKLOADS[workload], changing=True))
        command = [compiler, text, "-D", "-", "-o", program, "--mode", "datalog-inc"]
        engines.build([*command, "-B", folder.parent / "crate"], folder)
    first = [f"file {name} {facts.absolute() / name}.csv +1" for name in WORKLOADS[workload].inputs]
    name, where = CHANGED[workload], changes.absolute()
    later = [
        [f"file {name} {where}/{number}.deleted.csv -1", f"file {name} {where}/{number}.inserted.csv +1"]
        for number in range(transactions)
    ]
    lines = [line for files in (first, *later) for line in ("begin", *files, "commit")]
    commands.write_text("\n".join((*lines, "quit", "")))
    return ["sh", "-c", f"exec {shlex.quote(str(program))} -w {threads} < {shlex.quote(str(commands))}"]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchmarkError as error:
        sys.exit(f"benchmarks.matrix.changes: {error}")
