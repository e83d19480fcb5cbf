"""`python -m benchmarks.profile`: profiles of bootstraps of Doop, Galen and CRDT, against three targets.

- **Overhead**: recording adds at most 2 % to the CPU seconds of a commit. It is the median of the ratios of pairs of
  commits, one recorded and one not, in turns; its interval has a confidence of 95 % from six pairs on.
- **Sums**: the seconds of all rules and steps differ from the wall clock by at most 5 %.
- **Names**: the three slowest rules of a profile cost as much as the third most costly rule of those that were switched
  off, or at least nine tenths of it.

The cost of a rule is the CPU seconds that a commit saves when the rule is switched off, and nothing else changes. To
switch off a rule of the program takes tuples from the rules that read them, and these become faster as well. So the
rules that are compared are *copies*: a rule with the same head and body finds the same tuples in the same rounds, and
no view changes when it goes. Each of the slowest rules (`--rules`) gets some copies; their seconds in the profile of
that commit are compared with what is saved without them, both divided by the number of copies. Seconds are the least of
several commits.

A copy inserts nothing that is new, so that insertions are not compared. A profile counts them, by the same clock, for
the rule that derives a tuple first. A slow rule that the profile leaves out of the slowest goes unseen. Only bootstraps
on one thread are measured, no updates.

Use an idle machine: otherwise CPU seconds of the same commit differ by more than recording adds, and a profile, which
has those of the clock, says nothing. `benchmarks.instructions` counts the overhead in instructions, which other work
does not change. The exit code is 1 if any target is missed: the last line of its program is "missed".
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import comb, inf
from pathlib import Path

import tidelog
from benchmarks import data, doop, galen
from benchmarks.evaluate import inserting, warm_up
from benchmarks.harness import Stopwatch
from tidelog.cli.facts import inputs_of, read_inputs
from tidelog.database.database import Database
from tidelog.language.syntax import CheckedProgram

OVERHEAD = 0.02
"""The most that recording may add to the CPU seconds."""
APART = 0.05
"""The most by which the parts of a profile, and the wall clock, may be apart."""
NAMED = 3
EQUAL = 0.9
"""Rules whose costs are at least in this ratio are as slow as each other."""
_COPY = "copy_"
"""How the names of copies begin."""


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
    read_inputs(db, folder / "crdt", inputs_of(db.program.directives))
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


@dataclass(frozen=True)
class Cost:
    """The seconds of a copy of a rule in a `profile`, and those of the CPU that are `saved` without it."""

    profile: float
    saved: float


def cost(filled: Callable[[], Database], name: str, copies: int, runs: int) -> Cost:
    """Return the cost of a rule, from the least of several commits without copies, with them, and recorded."""
    without, extended, profile = inf, inf, inf
    for _ in range(runs):
        with filled() as db:
            without = min(without, commit(db).cpu)
        for recording in (False, True):
            with filled() as db:
                db.load(copied(db.program, name, copies))
                db.options(profile=recording)
                seconds = commit(db).cpu
                if not recording:
                    extended = min(extended, seconds)
                    continue
                found = (rule.seconds for rule in db.profile().rules if rule.name.startswith(_COPY))
                profile = min(profile, sum(found))
    return Cost(profile / copies, (extended - without) / copies)


def copied(program: CheckedProgram, name: str, copies: int) -> str:
    """Return the text of copies of a rule."""
    rule = next(rule for rule in program.texts if rule.name == name)
    return "\n".join(str(replace(rule, name=f"{_COPY}{number}")) for number in range(copies))


def named_rightly(costs: Sequence[Cost]) -> bool:
    """Return True if the slowest rules by the profile are as costly as the most costly ones."""
    slowest = sorted(costs, key=lambda cost: -cost.profile)[:NAMED]
    least = sorted((cost.saved for cost in costs), reverse=True)[:NAMED][-1]
    return all(cost.saved >= EQUAL * least for cost in slowest)


def main() -> int:
    """Measure the programs that are named, and print a line for each figure; exit code 1 if one is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.profile", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="*", choices=[*PROGRAMS, []], metavar="PROGRAM", help=", ".join(PROGRAMS))
    parser.add_argument("--data", type=Path, help="folder of the published data (default: $TIDELOG_DATA)")
    parser.add_argument("--pairs", type=int, default=9, help="pairs of commits for the overhead (default: 9)")
    parser.add_argument("--rules", type=int, default=8, help="the most rules that get copies, the slowest (default: 8)")
    parser.add_argument("--copies", type=int, default=4, help="copies of each of these (default: 4)")
    parser.add_argument("--runs", type=int, default=3, help="commits with copies, and as many without (default: 3)")
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
    costs = []
    for name in list(found.rules)[: arguments.rules]:
        costs.append(cost(filled, name, arguments.copies, arguments.runs))
        print(
            f"{program}: {name} has {found.rules[name]:.3f} s in the profile, "
            f"a copy of it {costs[-1].profile:.3f} s, and costs {costs[-1].saved:.3f} s",
            flush=True,
        )
    right = named_rightly(costs)
    print(f"{program}: the {NAMED} slowest rules are named {'rightly' if right else 'wrongly'}", flush=True)
    return found.longer <= OVERHEAD and found.apart <= APART and right


if __name__ == "__main__":
    sys.exit(main())
