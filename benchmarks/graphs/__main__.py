"""`python -m benchmarks.graphs`: regular paths over gMark's graphs, and closures; tables, and everything as JSON.

Exit code 0 if all went well, 1 if an answer is wrong or a part could not be run, 2 if the published data are missing. A
missed target and a query that hits a limit show in the output and are no failure.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import data, findings
from benchmarks.closure import PAIRS
from benchmarks.graphs import closures, measure, paper, peers, tables, targets
from benchmarks.graphs.measure import Instance, Limits
from benchmarks.graphs.processes import apart
from benchmarks.harness import BenchmarkError

PARTS = ("workload", "updates", "edges", "closures")
SIZES, QUICK_SIZES, FULL_SIZES, MANY = (1_000, 10_000), (1_000,), (1_000, 10_000, 100_000), 100_000
_EDGES, _QUICK_QUERIES = 10, 10
_PEERS_TIMES = 4
"""A process is given up after so many times the limit of an epoch, as it does more than one."""


class Run:
    """One run: its options, its figures, and its failures."""

    def __init__(self, asked: argparse.Namespace, folder: Path) -> None:
        self.asked = asked
        self.folder = folder
        self.limits = Limits(asked.timeout, asked.max_rows)
        self.found: dict[str, Any] = {}
        self.judged: list[findings.Judged] = []
        self.failures: list[str] = []

    def go(self) -> None:
        """Measure part by part."""
        for part in self.asked.only or PARTS:
            for what, step in self.steps(part):
                try:
                    step()
                except BenchmarkError as error:
                    self.failures.append(f"{what}: {error}")
                    print(f"\n{what} could not be run: {error}", flush=True)

    def steps(self, part: str) -> list[tuple[str, Callable[[], None]]]:
        """Return the steps of a part, each with its name."""
        asked = self.asked
        match part:
            case "workload":
                one = self.instance("test", None)
                return [(f"workload of {one}", partial(self.workload, one))]
            case "closures":
                return [("closures", self.closures)]
            case "updates":
                sizes = asked.nodes or (QUICK_SIZES if asked.quick else FULL_SIZES if asked.full else SIZES)
                shares = list(paper.SHARES)
            case _:
                sizes, shares = asked.nodes or (MANY,), []
        instances = [self.instance(name, nodes) for name in asked.schema or measure.SCHEMAS for nodes in sizes]
        return [(f"{part} of {one}", partial(self.maintenance, part, one, shares)) for one in instances]

    def instance(self, name: str, nodes: int | None) -> Instance:
        return Instance(str(self.folder / "gmark"), name, nodes, self.asked.seed)

    def numbers(self, one: Instance) -> list[int]:
        """Return the requested queries: with --quick, every so many so that there are ten."""
        numbers = [query.number for query in one.queries()]
        if self.asked.query:
            return [number for number in numbers if number in self.asked.query]
        return numbers[:: max(1, len(numbers) // _QUICK_QUERIES)] if self.asked.quick else numbers

    def apart(
        self, function: Callable[..., dict[str, Any]], *arguments: Any, times: int = _PEERS_TIMES
    ) -> dict[str, Any]:
        return apart(function, *arguments, seconds=times * self.asked.timeout + 60, memory=self.asked.memory)

    def workload(self, one: Instance) -> None:
        """Measure every query from scratch, beside the peers."""
        print(f"\n{one}: every query from scratch\n{tables.workload_head()}", flush=True)
        found: dict[int, dict[str, dict[str, Any]]] = {}
        for number in self.numbers(one):
            query = one.as_json(), number, asdict(self.limits)
            row = {"tidelog": self.apart(measure.evaluation, *query)}
            if not self.asked.alone:
                row["duckdb"] = self.apart(peers.duckdb_query, *query, self.asked.memory * 3 // 4)
                row["nemo"] = apart(peers.nemo_query, *query, seconds=self.asked.timeout, memory=self.asked.memory)
            found[number] = row
            print(tables.workload_row(number, row), flush=True)
            sizes = {engine: result["size"] for engine, result in row.items() if "size" in result}
            if len(set(sizes.values())) > 1:
                self.failures.append(f"query {number} of {one}: {sizes}")
                print(f"    WRONG: {sizes}", flush=True)
        self.found["workload"] = found
        self.judged += targets.of_workload(found)

    def maintenance(self, part: str, one: Instance, shares: Sequence[float]) -> None:
        """Measure queries that follow symbols and edges. Shares with the same number of symbols are measured once."""
        symbols = len(one.schema.symbols)
        shares = list({measure.sampled(share, symbols): share for share in reversed(shares)}.values())[::-1]
        found = {}
        print(f"\n{one}: queries kept up with changes", flush=True)
        for number in self.numbers(one):
            arguments = one.as_json(), number, asdict(self.limits), shares, _EDGES
            found[number] = self.apart(measure.updates, *arguments, times=20)
            print(tables.updates_row(number, found[number]), flush=True)
        self.found.setdefault(part, {})[str(one)] = found
        self.judged += targets.of_updates(str(one), one.nodes, found)
        print(tables.updates(str(one), found), flush=True)

    def closures(self) -> None:
        """Measure the closure of a large graph, and rule sets with and without recognition."""
        path = str(self.folder / "graphs/CA-HepTh.txt.gz")
        found = {
            "compressed": self.apart(closures.from_scratch, path, False),
            "read out": self.apart(closures.from_scratch, path, True),
            "edges": self.apart(closures.edges, path, 5 if self.asked.quick else 20),
            "joined by rules": self.apart(closures.from_scratch, path, False, True),
            "edges, joined by rules": self.apart(closures.edges, path, 5 if self.asked.quick else 20, True),
            "RS1, n = 400": self.apart(closures.rule_set, "RS1", 400, True),
        }
        for name in ("RS2", "RS3"):
            found[name] = self.apart(closures.rule_set, name, 200, True)
            found[f"{name} without recognition"] = self.apart(closures.rule_set, name, 200, False)
        self.found["closures"] = found
        self.judged += targets.of_closures(found)
        print(f"\n{tables.closures(found)}", flush=True)
        for case in ("compressed", "read out", "edges", "joined by rules", "edges, joined by rules"):
            if found[case]["pairs"] != PAIRS["CA-HepTh"]:
                self.failures.append(f"{case}: {found[case]['pairs']} pairs")

    def write(self) -> None:
        """Write everything as JSON."""
        judged = [one.as_json() for one in self.judged]
        found = {"seed": self.asked.seed, "limits": asdict(self.limits), **self.found, "failures": self.failures}
        tables = {"targets": findings.targets(self.judged)}
        findings.write(self.asked.json, {**found, "targets": judged}, tables)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested parts; see the exit codes above."""
    asked = _parser().parse_args(arguments)
    folder = data.folder()
    if folder is None:
        print(data.missing(), file=sys.stderr)
        return 2
    run = Run(asked, folder)
    run.go()
    run.write()
    if run.judged:
        print(f"\n{findings.promises(run.judged)}")
    for failure in run.failures:
        print(f"FAILED: {failure}")
    print(f"\nwritten to {asked.json}")
    return 1 if run.failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.graphs", description=__doc__)
    parser.add_argument("--only", metavar="PART", action="append", choices=PARTS, help=f"one of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="ten queries of the workload, updates of 1,000 nodes")
    parser.add_argument("--full", action="store_true", help="updates of 100,000 nodes as well")
    names = tuple(measure.SCHEMAS)
    parser.add_argument("--schema", action="append", choices=names, help=f"of updates and edges; {', '.join(names)}")
    parser.add_argument("--nodes", metavar="N", action="append", type=int, help="sizes of generated graphs")
    parser.add_argument("--query", metavar="N", action="append", type=int, help="only these queries of a workload")
    parser.add_argument("--alone", action="store_true", help="leave the peers out")
    parser.add_argument(
        "--timeout", metavar="S", type=float, default=60, help="stop an epoch or a peer after; %(default)s seconds"
    )
    parser.add_argument(
        "--max-rows", metavar="N", type=int, default=100_000_000, help="stop an epoch at so many tuples; %(default)s"
    )
    parser.add_argument("--memory", metavar="BYTES", type=int, default=12_000_000_000, help="of a process; %(default)s")
    parser.add_argument("--seed", metavar="N", type=int, default=7, help="of graphs, queries and samples; %(default)s")
    parser.add_argument("--json", metavar="FILE", type=Path, default=Path("out/graphs.json"), help="%(default)s")
    return parser


if __name__ == "__main__":
    sys.exit(main())
