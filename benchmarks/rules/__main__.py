"""`python -m benchmarks.rules`: rules and facts come and go, beside the figures of the ZodiacEdge paper.

Exit code 0 if every view agrees with an evaluation from scratch, 1 if one does not or something could not be run, 2 if
the published data are missing. A missed target shows in the output and is no failure.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks import data, findings
from benchmarks.harness import BenchmarkError
from benchmarks.rules import leaves, report, universities, wind_farm
from benchmarks.rules.updates import Pair, Timed, measured

_TRIPLES = 1_200_000
_RUNS = 3

Pairs = Callable[[], Iterator[Pair]]


def sections(folder: Path | None) -> dict[str, tuple[str, Pairs | None]]:
    """Return the experiments by name: a title, and their pairs, None if the published data are missing."""
    return {
        "rs1": ("Rule set 1: neighbours of n turbines", _rule_set_1),
        "rs2": ("Rule set 2: chains of w turbines", lambda: _rule_set("RS2")),
        "rs3": ("Rule set 3: negation of a derived relation", lambda: _rule_set("RS3")),
        "leaves": ("A leaf hyper-node", leaves.leaves),
        "lubm": ("LUBM, one university", (lambda: universities.published(folder)) if folder else None),
        "campus": (
            f"LUBM-like, {_TRIPLES:,} facts",
            (lambda: universities.generated(folder, _TRIPLES)) if folder else None,
        ),
    }


def _rule_set_1() -> Iterator[Pair]:
    for n in (50, 100, 200, 400):
        yield from wind_farm.neighbours(n)
        if n == 200:
            yield from wind_farm.wind_farm_grows(n)


def _rule_set(name: str) -> Iterator[Pair]:
    for w in (50, 100, 200):
        yield from wind_farm.rule_changes(name, w)
        yield from wind_farm.fact_changes(name, w)


def warm_up() -> None:
    """Compile the kernels for updates, or read them from the cache, for words of 32 and of 64 bits."""
    small = wind_farm.neighbours(4), wind_farm.rule_changes("RS3", 3), wind_farm.fact_changes("RS3", 3)
    for pair in itertools.chain(*small):
        for _ in measured(pair, 1):
            pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested parts; see the exit codes above."""
    asked = _parser().parse_args(arguments)
    known = sections(data.folder())
    lacking, failures = False, []
    updates: dict[str, list[Timed]] = {}
    warm_up()
    for name in asked.only or list(known):
        title, pairs = known[name]
        if pairs is None:
            lacking = True
            continue
        print(f"\n{title}")
        updates[name] = list(_shown(itertools.chain.from_iterable(measured(pair, asked.runs) for pair in pairs())))
        try:
            report.draw(title, updates[name], asked.out / f"rules-{name}.svg")
        except BenchmarkError as error:
            failures.append(str(error))
            print(error, file=sys.stderr)
    everything = [timed for some in updates.values() for timed in some]
    _write(asked.out / "rules.json", updates, failures)
    wrong, missed = sum(bool(timed.wrong) for timed in everything), sum(timed.met is False for timed in everything)
    print(f"\n{len(everything)} updates, {wrong} leave wrong views, {missed} miss their target")
    print(f"written to {asked.out}: rules.json, {', '.join(f'rules-{name}.svg' for name in updates)}")
    if lacking:
        print(data.missing(), file=sys.stderr)
    return 1 if failures or wrong else 2 if lacking else 0


def _shown(updates: Iterable[Timed]) -> Iterator[Timed]:
    group = None
    for timed in updates:
        if timed.group != group:
            group = timed.group
            print(report.head(group))
        print(report.row(timed), flush=True)
        yield timed


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rules", description=__doc__)
    names = list(sections(None))
    parser.add_argument("--only", metavar="NAME", action="append", choices=names, help=f"one of {', '.join(names)}")
    parser.add_argument("--out", metavar="FOLDER", type=Path, default=Path("out"), help="default: %(default)s")
    parser.add_argument(
        "--runs", metavar="N", type=int, default=_RUNS, help="runs of each update; default: %(default)s"
    )
    return parser


def _write(path: Path, updates: dict[str, list[Timed]], failures: list[str]) -> None:
    sections = {name: [timed.as_json() for timed in some] for name, some in updates.items()}
    findings.write(path, {"sections": sections, "failures": failures}, {"updates": report.published(updates)})


if __name__ == "__main__":
    sys.exit(main())
