"""Prints the tables, and writes `out/bench/network.json`."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from benchmarks.findings import Judged, promises, targets, write
from benchmarks.network.measure import Cost, exhaustive_cost, node_cost
from benchmarks.network.processes import settling
from benchmarks.network.topology import LINEAR, NON_LINEAR

HEADER = (
    f"{'program':22}{'nodes':>6}{'degree':>8}{'tuples':>9}{'kept':>9}{'in sets':>10}"
    f"{'affected':>10}{'cut':>9}{'repair':>9}{'rebuild':>10}{'factor':>8}{'worst':>8}{'s':>8}"
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.network", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    parser.add_argument("--processes", type=int, default=100, help="node processes (0: none)")
    arguments = parser.parse_args()
    print("Offers when a link is cut and repaired, in the mean over links; what is kept at rest.")
    print(HEADER)
    costs = []
    for nodes in (10, 30) if arguments.quick else (10, 30, 100, 300):
        costs.append(_shown(node_cost("linear", LINEAR, nodes, 10 if nodes < 300 else 5)))
    for nodes in (10, 30) if arguments.quick else (10, 30, 100):
        costs.append(_shown(node_cost("linear, no roots", LINEAR, nodes, 10, roots=False)))
    for roots in (True, False):
        name = f"non-linear{'' if roots else ', no roots'}"
        costs.append(_shown(node_cost(name, NON_LINEAR, 10, 10, roots=roots)))
    print("\nThe paper's exhaustive derivation sets: updates between nodes, derivations kept, members of their sets.")
    exhaustive = [exhaustive_cost(LINEAR, nodes) for nodes in (3, 4, 5)]
    for each in exhaustive:
        same = node_cost("linear", LINEAR, each.nodes, 5)
        print(
            f"{each.nodes} nodes: start {each.start}, cut {each.cut}, kept {each.kept}, in sets {each.members};"
            f" tidelog: start {same.rebuild:.0f}, cut {same.cut:.0f}, kept {same.kept}, in sets {same.members}"
        )
    linear = [cost for cost in costs if cost.program == "linear"]
    largest = linear[-1]
    what = "offers per affected tuple and degree"
    judged = [
        Judged(f"{what}, median cut of each size", max(cost.factor for cost in linear), 2.0, "x"),
        Judged(f"{what}, worst cut", max(cost.worst for cost in linear), 2.0, "x"),
        Judged(f"offers of a cut against a rebuild, {largest.nodes} nodes", largest.cut / largest.rebuild, 1.0, "x"),
    ]
    processes = settling(12 if arguments.quick else arguments.processes) if arguments.processes else None
    if processes is not None:
        print(f"\n{processes.nodes} processes, path vector: at rest {processes.start:.1f} s after their start")
        assert processes.right, "the network is not what it was before the cuts"
        judged += [
            Judged(f"{processes.nodes} processes settle after a cut or repair, median", processes.median, 2.0, "s"),
            Judged(f"{processes.nodes} processes settle after a cut or repair, largest", processes.largest, 2.0, "s"),
        ]
    print(f"\n{promises(judged)}")
    write(
        Path("out/bench/network.json"),
        {
            "costs": [asdict(cost) for cost in costs],
            "exhaustive": [asdict(each) for each in exhaustive],
            "processes": asdict(processes) if processes else None,
            "targets": [one.as_json() for one in judged],
        },
        {"targets": targets(judged)},
    )


def _shown(cost: Cost) -> Cost:
    print(
        f"{cost.program:22}{cost.nodes:>6}{cost.degree:>8.2f}{cost.tuples:>9}{cost.kept:>9}{cost.members:>10}"
        f"{cost.affected:>10.0f}{cost.cut:>9.0f}{cost.repair:>9.0f}{cost.rebuild:>10.0f}{cost.factor:>8.2f}{cost.worst:>8.2f}"
        f"{cost.seconds:>8.2f}",
        flush=True,
    )
    return cost


if __name__ == "__main__":
    main()
