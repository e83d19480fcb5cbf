"""`python -m benchmarks.elastic`: the elastic paper's tables beside tidelog's, JSON, and a plot for each program.

Exit code 0 if all went well, 1 if a size is wrong or a part could not be run, 2 if the published data are missing. A
missed target shows in the output and is no failure: machines differ.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import data, findings
from benchmarks.elastic import derivations, epochs, plots, proportion, state, tables, targets, updates, workloads
from benchmarks.elastic.processes import apart
from benchmarks.findings import Judged
from benchmarks.harness import BenchmarkError

PARTS = ("derivations", "proportion", "updates", "state", "epochs")


class Run:
    """One run: its options, its figures, and its failures."""

    def __init__(self, asked: argparse.Namespace, made: Path) -> None:
        self.asked = asked
        self.published = data.folder()
        self.made = made
        self.found: dict[str, Any] = {}
        self.judged: list[Judged] = []
        self.failures: list[str] = []

    def go(self) -> None:
        """Measure part by part."""
        parts: dict[str, Callable[[], None]] = {"derivations": self.derivations, "proportion": self.proportion}
        for part in self.asked.only or PARTS:
            if part in parts:
                self.attempt(part, parts[part])
            else:
                for name in self.programs():
                    measure = {"updates": self.updates, "state": self.state, "epochs": self.epochs}[part]
                    self.attempt(f"{part} of {name}", partial(measure, name))

    def attempt(self, what: str, measure: Callable[[], None]) -> None:
        try:
            measure()
        except BenchmarkError as error:
            self.failures.append(f"{what}: {error}")
            print(f"\n{what} could not be run: {error}", flush=True)

    def programs(self) -> list[str]:
        names = self.asked.program or workloads.NAMES
        return [name for name in names if self.published is not None or name not in workloads.PUBLISHED]

    def folder(self, name: str) -> str:
        """Return the folder of a program's facts; make those of the points-to analysis on first use."""
        if name in workloads.PUBLISHED:
            return str(self.published)
        if not (self.made / "points_to.npz").exists():
            workloads.make_points_to(self.made, self.asked.modules)
        return str(self.made)

    def show(self, text: str, judged: Sequence[Judged] = ()) -> None:
        print(f"\n{text}", flush=True)
        self.judged += judged

    def derivations(self) -> None:
        self.found["derivations"] = derivations.experiment()
        self.show(tables.derivations(self.found["derivations"]))

    def proportion(self) -> None:
        nodes = proportion.FULL if self.asked.full else proportion.SIZES
        rows = [apart(proportion.experiment, shape, n) for shape in proportion.SHAPES for n in nodes]
        rows += [apart(proportion.group, op, n) for op in proportion.OPERATIONS for n in nodes]
        self.found["proportion"] = rows
        self.show(tables.proportion(rows), list(targets.of_proportion(rows)))

    def updates(self, name: str) -> None:
        sets = updates.QUICK if self.asked.quick else updates.SETS
        sets = {size: times for size, times in sets.items() if size <= self.asked.largest}
        found = apart(updates.experiment, name, self.folder(name), sets, self.asked.strategy, self.asked.seed)
        self.found.setdefault("updates", {})[name] = found
        plots.impact(found, self.asked.json.parent / f"elastic-{name}.svg")
        self.show(tables.updates(found), list(targets.of_updates(found)))

    def state(self, name: str) -> None:
        arguments = name, self.folder(name)
        without, kept = (apart(state.experiment, *arguments, maintain, self.asked.seed) for maintain in (False, True))
        self.found.setdefault("state", {})[name] = [without, kept]
        self.show(tables.state(name, [without, kept]), list(targets.of_state(name, without, kept)))

    def epochs(self, name: str) -> None:
        found: dict[str, Any] = {}
        self.found.setdefault("epochs", {})[name] = found
        small, large = epochs.SMALL[name], min(epochs.LARGE[name], self.asked.largest)
        strategies = epochs.STRATEGIES[:2] if self.asked.quick else epochs.STRATEGIES
        for strategy in strategies:
            arguments = name, self.folder(name), small, large, strategy, self.asked.seed
            found[strategy] = apart(epochs.experiment, *arguments)
        self.show(tables.epochs(name, found), list(targets.of_epochs(name, found)))

    def write(self) -> None:
        """Write everything as JSON."""
        judged = [one.as_json() for one in self.judged]
        found = {"seed": self.asked.seed, **self.found, "targets": judged, "failures": self.failures}
        findings.write(self.asked.json, found, {"targets": findings.targets(self.judged)})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested parts; see the exit codes above."""
    asked = _parser().parse_args(arguments)
    asked.json.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        run = Run(asked, Path(made))
        run.go()
    run.write()
    if run.judged:
        print(f"\n{findings.promises(run.judged)}")
    print(f"\nwritten to {asked.json}")
    heavy = {"updates", "state", "epochs"} & {*(asked.only or PARTS)}
    lacking = (
        run.published is None
        and bool(heavy)
        and any(name in workloads.PUBLISHED for name in asked.program or workloads.NAMES)
    )
    if lacking:
        print(data.missing(), file=sys.stderr)
    return 1 if run.failures else 2 if lacking else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.elastic", description=__doc__)
    parser.add_argument("--only", metavar="PART", action="append", choices=PARTS, help=f"one of {', '.join(PARTS)}")
    parser.add_argument(
        "--program", metavar="NAME", action="append", choices=workloads.NAMES, help=f"of {', '.join(workloads.NAMES)}"
    )
    parser.add_argument("--quick", action="store_true", help="fewer of the large updates, two of the four strategies")
    parser.add_argument("--full", action="store_true", help="graphs of a million nodes as well")
    parser.add_argument("--strategy", default="auto", choices=("auto", "update"), help="of the updates; %(default)s")
    parser.add_argument(
        "--largest", metavar="N", type=int, default=100_000, help="leave larger updates out; %(default)s"
    )
    parser.add_argument("--modules", metavar="N", type=int, help="analyse only so many modules of the standard library")
    parser.add_argument("--seed", metavar="N", type=int, default=7, help="of the random sets; %(default)s")
    parser.add_argument("--json", metavar="FILE", type=Path, default=Path("out/elastic.json"), help="%(default)s")
    return parser


if __name__ == "__main__":
    sys.exit(main())
