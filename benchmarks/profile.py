"""`python -m benchmarks.profile`: profiles of bootstraps of Doop, Galen and CRDT, against three targets.

- **Overhead**: recording adds at most 2 % to the CPU seconds of a commit. It is the median of the ratios of pairs of
  commits, one recorded and one not, in turns; its interval has a confidence of 95 % from six pairs on.
- **Sums**: the seconds of all rules and steps differ from the wall clock by at most 5 %.
- **Names**: the three slowest rules of a profile cost as much as the third most costly rule of those that were switched
  off, or at least nine tenths of it.

The cost of a rule is the CPU seconds that a commit saves when *copies* of the rule are switched off, divided by their
number. To switch off the rule itself would take tuples from the rules that read them, and these would be faster as
well. A copy reads what the rule reads, and derives the same tuples into a relation of its own, which nothing else
needs. A copy of a recursive rule takes part in the recursion, by a rule that reads its relation and never derives.
So a cost has what a profile counts for the rule: its joins in the same rounds, and its insertions. Seconds are the
least of several commits.

Costs are those of the rules that the profile calls slowest (`--rules`): a slow rule that it leaves out of these goes
unseen. Only bootstraps on one thread are measured, no updates.

On a busy machine the overhead says nothing, because CPU seconds of the same commit differ by more.
`benchmarks.instructions` shows it in instructions, which other work does not change. The exit code is 1 if any target
is missed: the last line of its program is "missed".
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import comb, inf
from pathlib import Path

import tidelog
from benchmarks import data, doop, galen
from benchmarks.evaluate import inserting, warm_up
from benchmarks.harness import Stopwatch
from tidelog.cli.run import read_inputs
from tidelog.database import Database
from tidelog.language.syntax import CheckedProgram
from tidelog.language.trees import atoms

OVERHEAD = 0.02
"""The most that recording may add to the CPU seconds."""
APART = 0.05
"""The most by which the parts of a profile, and the wall clock, may be apart."""
NAMED = 3
EQUAL = 0.9
"""Rules whose costs are at least in this ratio are as slow as each other."""
Nodes = Sequence[tuple[str, ...]]
"""The names of the rules of each hyper-node."""


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


def costs(filled: Callable[[], Database], rules: Iterable[str], copies: int, runs: int) -> dict[str, float]:
    """Return the CPU seconds of each of the rules: what a commit saves without copies of it, from the least of several
    runs."""
    with filled() as db:
        db.commit()
        nodes = list(db.hyper_nodes)
    return {rule: _saved(filled, rule, nodes, copies, runs) / copies for rule in rules}


def _saved(filled: Callable[[], Database], name: str, nodes: Nodes, copies: int, runs: int) -> float:
    least = {True: inf, False: inf}
    for run in range(2 * runs):
        on = run % 2 == 0
        with filled() as db:
            relations, rules = copied(db.program, name, nodes, copies)
            db.load(relations + rules if on else relations)
            least[on] = min(least[on], commit(db).cpu)
    return least[True] - least[False]


def copied(program: CheckedProgram, name: str, nodes: Nodes, copies: int) -> tuple[str, str]:
    """Return the text of the relations of copies of a rule, with the rules that make the copies recursive where the
    rule is, and the text of the copies."""
    named = {str(rule.name): rule for rule in program.texts}
    rule = named[name]
    derived = {head.relation for each in next(node for node in nodes if name in node) for head in named[each].heads}
    recursive = not derived.isdisjoint(atom.relation for atom in atoms(rule.body))
    relations, rules = [".decl never_(n: number)"], list[str]()
    for copy in range(copies):
        heads = [replace(head, relation=f"copy_{copy}_{place}") for place, head in enumerate(rule.heads)]
        for head, own in zip(rule.heads, heads, strict=True):
            columns = program.relations[head.relation].columns
            relations.append(f".decl {own.relation}({', '.join(f'{each.name}: {each.kind}' for each in columns)})")
            if recursive:
                names = ", ".join(each.name for each in columns)
                relations.append(f"{head.relation}({names}) :- {own.relation}({names}), never_(_).")
        rules.append(str(replace(rule, heads=tuple(heads), name=None)))
    return "\n".join([*relations, ""]), "\n".join(rules)


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
    names = list(found.rules)[: arguments.rules]
    cost = costs(filled, names, arguments.copies, arguments.runs)
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
