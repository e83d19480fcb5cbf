"""`python -m benchmarks.rdf`: OWL 2 RL on data like LUBM's, beside `reasonable` and `owlrl`; tables, and JSON.

Every engine runs in a process of its own, on the same file. Exit code 0 if all went well, 1 if the reasoners differ
without a reason or a part could not be run. A missed target shows in the output and is no failure.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.findings import Judged, promises, targets, write
from benchmarks.graphs.processes import apart
from benchmarks.harness import BenchmarkError
from benchmarks.rdf import measure
from benchmarks.rdf.graphs import written

LARGE, SMALL, SAME = 1_000_000, 10_000, 2_000
QUICK_LARGE, QUICK_SMALL = 100_000, 5_000
_SECONDS, _MEMORY = 1_200, 32_000_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything; see the exit codes above."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rdf", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_LARGE:,} triples in place of {LARGE:,}")
    parser.add_argument("--json", metavar="FILE", type=Path, default=Path("out/rdf.json"), help="%(default)s")
    asked = parser.parse_args(arguments)
    large, small = (QUICK_LARGE, QUICK_SMALL) if asked.quick else (LARGE, SMALL)
    with tempfile.TemporaryDirectory() as folder:
        files = {size: str(written(Path(folder), size)) for size in (large, small, SAME)}
        try:
            found, judged, unexplained = _run(files, large, small)
        except BenchmarkError as error:
            print(f"could not be run: {error}", file=sys.stderr)
            return 1
    write(asked.json, {**found, "targets": [one.as_json() for one in judged]}, {"targets": targets(judged)})
    print(f"\n{promises(judged)}\n\nwritten to {asked.json}")
    if unexplained:
        print(f"FAILED: {unexplained} triples differ without a reason")
    return 1 if unexplained else 0


def _run(files: dict[int, str], large: int, small: int) -> tuple[dict[str, Any], list[Judged], int]:
    """Return all figures, the targets, and the number of triples that differ without a reason."""
    limits: dict[str, Any] = {"seconds": _SECONDS, "memory": _MEMORY}
    print(f"{'':34}{'load':>12}{'reason':>12}{'processor':>12}{'triples':>14}")
    found: dict[str, Any] = {}
    for size, peer in ((large, measure.reasonable), (small, measure.owlrl)):
        for function, more in ((measure.ours, [files[small]]), (peer, [])):
            name = "tidelog" if function is measure.ours else function.__name__
            result = found[f"{name}, {size:,} triples"] = apart(function, files[size], *more, **limits)
            print(_row(f"{name}, {size:,} triples", result), flush=True)
    what = f"one relation, {large:,} triples"
    result = found[what] = apart(measure.as_one_relation, files[large], files[small], **limits)
    print(_row(what, result), flush=True)
    loads = found["loading"] = apart(measure.loading, files[large], files[small], **limits)
    print(f"\n{f'reading {large:,} triples of N-Triples':44}{'seconds':>12}{'processor':>12}")
    for name, each in loads.items():
        print(f"{name:44}{each['wall']:>10.2f} s{each['cpu']:>10.2f} s", flush=True)
    changes = found["updates"] = apart(measure.updates, files[large], **limits)
    print(f"\n{'1,000 triples':44}" + "  ".join(f"{verb} {1e3 * s:.1f} ms" for verb, s in changes["changes"].items()))
    print(f"\n{'an axiom that comes and goes':44}{'insert':>12}{'delete':>12}{'triples':>12}{'rules':>8}")
    for name, axiom in changes["axioms"].items():
        times = "".join(f"{1e3 * axiom[verb]:>9.1f} ms" for verb in ("insert", "delete"))
        print(f"{name:44}{times}{axiom['inserted']:>12,}{axiom['rules']:>8}")
    same = found["differences"] = apart(measure.differences, files[SAME], **limits)
    print(f"\nthe same triples? of {same['triples']:,} that follow from {same['asserted']:,}")
    for peer_name in ("owlrl", "reasonable"):
        for what, count in same[peer_name].items():
            print(f"  {peer_name}, {what}: {_reasons(count)}")
    return found, _judged(found, large, small), _unexplained(same)


def _row(name: str, result: dict[str, Any]) -> str:
    if "stopped" in result:
        return f"{name:34}{'stopped: ' + result['stopped']:>12}"
    cpu = result["load"]["cpu"] + result["reason"]["cpu"]
    seconds = "".join(f"{result[part]['wall']:>10.2f} s" for part in ("load", "reason"))
    return f"{name:34}{seconds}{cpu:>10.2f} s{result['triples']:>14,}"


def _reasons(count: int | dict[str, int]) -> str:
    if isinstance(count, int):
        return f"{count:,}"
    return "; ".join(f"{number:,} {reason}" for reason, number in sorted(count.items())) or "none"


def _unexplained(same: dict[str, Any]) -> int:
    sides = [side for name in ("owlrl", "reasonable") for side in same[name].values() if isinstance(side, dict)]
    return sum(side.get("unexplained", 0) for side in sides)


def _judged(found: dict[str, Any], large: int, small: int) -> list[Judged]:
    """Return the targets of the project with their figures, in wall time."""

    def seconds(name: str, size: int, parts: Sequence[str]) -> float:
        result = found[f"{name}, {size:,} triples"]
        return float(result["wall"] if "stopped" in result else sum(result[part]["wall"] for part in parts))

    ratios = [
        Judged(
            f"{what}, tidelog to {peer}, {size:,} triples",
            seconds("tidelog", size, parts) / seconds(peer, size, parts),
            bound,
            "x",
        )
        for peer, size, bound in (("reasonable", large, 1 / 3), ("owlrl", small, 1 / 50))
        for what, parts in (("load and reason", ("load", "reason")), ("reason", ("reason",)))
    ]
    ratios += [
        Judged(
            f"load{where}, tidelog to pyoxigraph's bulk_load, processor time",
            found["loading"][f"tidelog{where}"]["cpu"] / found["loading"][f"pyoxigraph{where}"]["cpu"],
            1,
            "x",
        )
        for where in ("", ", in a folder")
    ]
    changes = found["updates"]
    edits = [Judged(f"{verb} 1,000 triples of {large:,}", each, 0.1, "s") for verb, each in changes["changes"].items()]
    name, slowest = max(changes["axioms"].items(), key=lambda item: float(item[1]["insert"]))
    axiom = f"add {name}, the slowest of {len(changes['axioms'])} axioms, to recomputation"
    again = changes["bootstraps"] + sum(each["bootstraps"] for each in changes["axioms"].values())
    return [
        *ratios,
        *edits,
        Judged(axiom, slowest["insert"] / changes["reason"]["wall"], 0.3, "x"),
        Judged("evaluations from scratch of what is not new, in all changes", again, 0, "x"),
    ]


if __name__ == "__main__":
    sys.exit(main())
