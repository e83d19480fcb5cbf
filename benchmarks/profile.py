"""`python -m benchmarks.profile`: profiles of bootstraps of Doop, Galen and CRDT, against three targets.

- **Overhead**: recording adds at most 2 % to the CPU seconds of a commit. It is the median of the ratios of pairs of
  commits, one recorded and one not, in turns; its interval has a confidence of 95 % from six pairs on.
- **Sums**: the seconds of all rules and steps differ from the wall clock by at most 5 %.
- **Names**: the three slowest rules of a profile cost as much as the third most costly rule of those that were switched
  off, or at least nine tenths of it.

The cost of a rule is the CPU seconds that a commit saves when the rule is switched off, and nothing else changes. So
the commit has the rules of its hyper-node only, over views that are asserted as facts. A rule that is not recursive is
compared without the recursive ones. Where several rules recur, each feeds the others: there the views of the hyper-node
itself are facts as well, so that rules find the same derivations, but insert none. (With the results of one rule as
facts, the rounds would be fewer, and the other rules cheaper.) Seconds are the least of several commits.

This confirms the names only in part. A cost has the indexes that only this rule needs, which a profile has under their
own name, and for the rules of such a recursion it has no insertions, which the profile counts. So a program may miss
the third target although the profile is right. Costs are those of the rules that the profile calls slowest (`--rules`):
a slow rule that it leaves out of these goes unseen. Only bootstraps on one thread are measured, no updates.

Run it on an idle machine: beside other work, some costs come out below zero. No such run has confirmed the overhead and
the names yet (as of 2026-11-27); on a busy machine, programs miss both. `benchmarks.instructions` shows the overhead in
instructions, which other work does not change. The exit code is 1 if any target is missed: the
last line of its program is "missed".
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb, inf
from pathlib import Path
from typing import Any

import tidelog
from benchmarks import data, doop, galen
from benchmarks.evaluate import inserting, warm_up
from benchmarks.harness import Stopwatch
from tidelog.cli.run import read_inputs
from tidelog.database import Database
from tidelog.language.trees import atoms

OVERHEAD = 0.02
"""The most that recording may add to the CPU seconds."""
APART = 0.05
"""The most by which the parts of a profile, and the wall clock, may be apart."""
NAMED = 3
EQUAL = 0.9
"""Rules whose costs are at least in this ratio are as slow as each other."""


def _doop(folder: Path) -> Database:
    return doop.filled(folder / "doop")


def _galen(folder: Path) -> Database:
    db = tidelog.connect()
    db.load(galen.PROGRAM)
    inserting(galen.tables(folder))(db)
    return db


def _crdt(folder: Path) -> Database:
    db = tidelog.connect()
    db.load((folder / "crdt/crdt.dl").read_text())
    read_inputs(db, folder / "crdt")
    return db


PROGRAMS: dict[str, Callable[[Path], Database]] = {"doop": _doop, "galen": _galen, "crdt": _crdt}


def commit(db: Database) -> Stopwatch:
    """Return the time of a commit, without the garbage of earlier ones."""
    db.options(threads=1)
    gc.collect()
    with Stopwatch() as watch:
        db.commit()
    return watch


@dataclass(frozen=True)
class Recorded:
    """Recorded commits: the part by which they take `longer`, with its interval `between`, that by which their sums and
    the wall clock are `apart`, and the least seconds of each of the `rules`, the slowest first."""

    longer: float
    between: tuple[float, float]
    apart: float
    rules: dict[str, float]


def recorded(filled: Callable[[], Database], pairs: int) -> Recorded:
    """Measure commits in pairs, one recorded and one not."""
    ratios, apart, rules = [], [], dict[str, float]()
    for pair in range(pairs):
        seconds = {}
        for profile in (True, False) if pair % 2 else (False, True):
            with filled() as db:
                db.options(profile=profile)
                watch = commit(db)
                seconds[profile] = watch.cpu
                if profile:
                    found = db.profile()
                    parts = sum(rule.seconds for rule in found.rules) + sum(found.steps.values())
                    apart.append(abs(parts / watch.wall - 1))
                    rules |= {rule.name: min(rule.seconds, rules.get(rule.name, inf)) for rule in found.rules}
        ratios.append(seconds[True] / seconds[False] - 1)
    slowest = dict(sorted(rules.items(), key=lambda each: -each[1]))
    return Recorded(statistics.median(ratios), interval(ratios), statistics.median(apart), slowest)


def interval(figures: Sequence[float]) -> tuple[float, float]:
    """Return the figures between which the median lies with a confidence of 95 %, or all of them where they are few."""
    count = len(figures)
    outside = next(each for each in range(count + 1) if sum(comb(count, k) for k in range(each + 1)) > 0.025 * 2**count)
    least_first = sorted(figures)
    return least_first[max(0, outside - 1)], least_first[min(count - 1, count - outside)]


def costs(filled: Callable[[], Database], rules: Iterable[str], runs: int) -> dict[str, float]:
    """Return the CPU seconds that a commit saves without each of the rules, from the least of several runs."""
    with filled() as db:
        db.commit()
        cases = {rule: _case(db, rule) for rule in rules}
        views = {name: list(db[name]) for name in {each for case in cases.values() for each in case.given}}
    return {rule: _saved(filled, case, views, runs) for rule, case in cases.items()}


@dataclass(frozen=True)
class Case:
    """A rule to switch off among those `kept`, over views that are `given` as facts."""

    rule: str
    kept: tuple[str, ...]
    given: tuple[str, ...]


def _case(db: Database, name: str) -> Case:
    rules = {str(rule.name): rule for rule in db.program.texts}
    node = next(node for node in db.hyper_nodes if name in node)
    heads = {head.relation for each in node for head in rules[each].heads}
    reads = {each: {atom.relation for atom in atoms(rules[each].body)} for each in node}
    recursive = [each for each in node if reads[each] & heads]
    kept = tuple(node) if name in recursive else tuple(each for each in node if each not in recursive)
    given = {relation for each in kept for relation in reads[each]} - heads
    if name in recursive and len(recursive) > 1:
        given |= heads
    derived = {head.relation for rule in rules.values() for head in rule.heads}
    return Case(name, kept, tuple(sorted(given & derived)))


def _saved(filled: Callable[[], Database], case: Case, views: Mapping[str, list[Any]], runs: int) -> float:
    least = {True: inf, False: inf}
    for run in range(2 * runs):
        on = run % 2 == 0
        with filled() as db:
            names = {str(rule.name) for rule in db.program.texts}
            db.rules.remove(*names.difference(case.kept if on else {*case.kept} - {case.rule}))
            for name in case.given:
                db.insert(name, views[name])
            least[on] = min(least[on], commit(db).cpu)
    return least[True] - least[False]


def main() -> int:
    """Measure the programs that are named, and print a line for each figure; exit code 1 if one is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.profile", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="*", choices=[*PROGRAMS, []], metavar="PROGRAM", help=", ".join(PROGRAMS))
    parser.add_argument("--data", type=Path, help="folder of the published data (default: $TIDELOG_DATA)")
    parser.add_argument("--pairs", type=int, default=9, help="pairs of commits for the overhead (default: 9)")
    parser.add_argument("--runs", type=int, default=3, help="runs with each rule, and as many without it (default: 3)")
    parser.add_argument("--rules", type=int, default=8, help="rules to switch off, the slowest (default: 8)")
    arguments = parser.parse_args()
    folder = arguments.data or data.folder()
    if folder is None:
        print("benchmarks.profile: no data; name their folder with --data, or in TIDELOG_DATA", file=sys.stderr)
        return 2
    warm_up()
    met = True
    for program in arguments.programs or PROGRAMS:
        found = _measured(program, folder, arguments)
        print(f"{program}: {'met' if found else 'missed'}", flush=True)
        met &= found
    return 0 if met else 1


def _measured(program: str, folder: Path, arguments: argparse.Namespace) -> bool:
    def filled() -> Database:
        return PROGRAMS[program](folder)

    found = recorded(filled, arguments.pairs)
    least, most = found.between
    print(f"{program}: recording takes {found.longer:+.1%} of the CPU time, between {least:+.1%} and {most:+.1%}")
    print(f"{program}: sums are {found.apart:.2%} apart", flush=True)
    names = list(found.rules)[: arguments.rules]
    cost = costs(filled, names, arguments.runs)
    for name in names:
        print(
            f"{program}: {name} has {found.rules[name]:.3f} s in the profile, and costs {cost[name]:.3f} s", flush=True
        )
    slowest = sorted(cost.values(), reverse=True)[:NAMED]
    right = all(cost[name] >= EQUAL * slowest[-1] for name in names[:NAMED])
    print(f"{program}: the {NAMED} slowest rules are named {'rightly' if right else 'wrongly'}", flush=True)
    return found.longer <= OVERHEAD and found.apart <= APART and right


if __name__ == "__main__":
    sys.exit(main())
