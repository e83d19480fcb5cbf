"""`python -m benchmarks`: measure, print one table, write JSON.

Exit code 0 when all sizes are right, 1 when one is wrong or a part could not be run, 2 when the published data are
missing. A missed target shows in the table and is no failure: machines differ.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks import (
    chains,
    closure,
    components,
    crdt,
    cycles,
    data,
    distances,
    doop,
    equivalence,
    explanations,
    findings,
    first_contact,
    galen,
    galen_changes,
    keystrokes,
    labels,
    lubm,
    many_rules,
    memory,
    points_to,
    policies,
    queries,
    readers,
    reading,
    spilling,
    table,
    updates,
    zodiac,
)
from benchmarks.harness import BenchmarkError, Line, Options

Lines = Callable[[Options], Iterator[Line]]

GENERATED: dict[str, Lines] = {
    "zodiac": zodiac.lines,
    "updates": updates.lines,
    "memory": memory.lines,
    "spilling": spilling.lines,
    "equivalence": equivalence.lines,
    "labels": labels.lines,
    "components": components.lines,
    "chains": chains.lines,
    "cycles": cycles.lines,
    "distances": distances.lines,
    "points_to": points_to.lines,
    "reading": reading.lines,
    "queries": queries.lines,
    "many_rules": many_rules.lines,
    "keystrokes": keystrokes.lines,
    "policies": policies.lines,
}
PUBLISHED: dict[str, Lines] = {
    "closure": closure.lines,
    "crdt": crdt.lines,
    "lubm": lubm.lines,
    "galen": galen.lines,
    "galen_changes": galen_changes.lines,
    "doop": doop.lines,
    "readers": readers.lines,
    "explanations": explanations.lines,
}
ON_REQUEST: dict[str, Lines] = {"first_contact": first_contact.lines}
"""What needs more than a checkout."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested parts; see the exit codes above."""
    asked = _parser().parse_args(arguments)
    options = Options(data.folder(), asked.full, asked.runs)
    names = asked.only or [*GENERATED, *PUBLISHED]
    lacking = options.data is None and any(name in PUBLISHED for name in names)
    lines: list[Line] = []
    failures: list[str] = []
    print(table.head())
    for name in names:
        if name in PUBLISHED and options.data is None:
            continue
        try:
            for line in (GENERATED | PUBLISHED | ON_REQUEST)[name](options):
                lines.append(line)
                print(table.row(line), flush=True)
        except BenchmarkError as error:
            failures.append(f"{name}: {error}")
            print(f"{name}  could not be run: {error}", flush=True)
    _write(asked.json, options, lines, failures, whole=not asked.only)
    missed = sum(line.met is False for line in lines)
    print(f"\n{len(lines)} lines, {sum(not line.exact for line in lines)} with wrong sizes, {missed} miss their target")
    print(f"written to {asked.json}")
    if lacking:
        print(data.missing(), file=sys.stderr)
    return 1 if failures or not all(line.exact for line in lines) else 2 if lacking else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = sorted(GENERATED | PUBLISHED | ON_REQUEST)
    parser.add_argument("--only", metavar="NAME", action="append", choices=names, help=f"one of {', '.join(names)}")
    parser.add_argument("--full", action="store_true", help="also let the peers do what takes them minutes")
    parser.add_argument(
        "--json", metavar="FILE", type=Path, default=Path("out/bench.json"), help="default: %(default)s"
    )
    parser.add_argument("--runs", metavar="N", type=int, help="a fixed number of runs; default: more the quicker")
    return parser


def _write(path: Path, options: Options, lines: list[Line], failures: list[str], *, whole: bool) -> None:
    """Write the figures; only a whole run publishes its table of lines, which takes the place of the earlier one."""
    found = [line.as_json() for line in lines]
    document = {"full": options.full, "lines": found, "failures": failures}
    tables = {"lines": table.published(lines)} if whole else {}
    findings.write(path, document, tables | galen_changes.tables(lines))


if __name__ == "__main__":
    sys.exit(main())
