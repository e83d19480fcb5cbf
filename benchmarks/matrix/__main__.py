"""`python -m benchmarks.matrix`: print what each engine takes for each workload, CPU seconds and memory of the whole
process, and the seconds of peers as multiples of tidelog's.

Exit code 0 if all engines find relations of the same sizes, 1 if they do not or one failed, 2 if published data are
missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks import data, findings
from benchmarks.harness import BenchmarkError
from benchmarks.matrix import engines, inputs
from benchmarks.matrix.programs import WORKLOADS
from benchmarks.matrix.usage import Usage, agree, cell, median


def main(words: Sequence[str] | None = None) -> int:
    """Run the workloads; see the exit codes above."""
    options = _parser().parse_args(words)
    known = engines.engines(options.threads)
    chosen = {name: engine for name, engine in known.items() if name in (options.engine or known)}
    lacking = False
    lines: dict[str, Mapping[str, Usage]] = {}
    print(f"{'CPU seconds; peak MB':18}" + "".join(f"{name:>26}" for name in chosen), flush=True)
    for workload in options.workload or WORKLOADS:
        folder = options.folder.absolute() / workload.replace(" ", "_")  # Peers are compiled inside of it.
        if not inputs.write(workload, folder / "facts"):
            lacking = True
            continue
        lines[workload] = {}
        for name, engine in chosen.items():
            runs = [engines.evaluate(engine, workload, folder / "facts", folder) for _ in range(options.runs)]
            if found := [run for run in runs if run is not None]:
                lines[workload] = {**lines[workload], name: median(found)}
        print(_row(workload, lines[workload], list(chosen)), flush=True)
    _write(options.json, lines, list(chosen))
    if lacking:
        print(data.missing(), file=sys.stderr)
    return 1 if not all(map(agree, lines.values())) else 2 if lacking else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.matrix", description=__doc__)
    parser.add_argument(
        "--workload", "-w", action="append", choices=WORKLOADS, metavar="NAME", help=", ".join(WORKLOADS)
    )
    parser.add_argument("--engine", "-e", action="append", metavar="NAME", help="an engine, as the table names it")
    parser.add_argument("--runs", type=int, default=1, help="processes of each engine, of which medians count")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("out/matrix"), help="for facts and programs of peers")
    parser.add_argument("--json", type=Path, default=Path("out/matrix.json"))
    return parser


def _row(workload: str, line: Mapping[str, Usage], names: Sequence[str]) -> str:
    return f"{workload:18}" + "".join(f"{cell(line, name):>26}" for name in names)


def _write(path: Path, lines: Mapping[str, Mapping[str, Usage]], names: Sequence[str]) -> None:
    """Write the figures of the run, and the table that it publishes."""
    rows = [[workload, *(cell(line, name) for name in names)] for workload, line in lines.items()]
    table = findings.table(("workload (CPU s; peak MB)", *names), rows)
    figures = {
        workload: {name: vars(usage) | {"sizes": dict(usage.sizes)} for name, usage in line.items()}
        for workload, line in lines.items()
    }
    findings.write(path, {"workloads": figures}, {"lines": table})
    print(f"written to {path}")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchmarkError as error:
        sys.exit(f"benchmarks.matrix: {error}")
