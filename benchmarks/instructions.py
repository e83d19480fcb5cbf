"""By how much recording a profile adds to the instructions of a commit, counted by valgrind.

CPU seconds of the same commit differ by more than recording adds, so `benchmarks.profile` cannot show its target on
most machines. Instructions hardly differ, whatever else the machine does. They say less about time, and to count them
takes fifty times as long as the commit. Kernels are compiled for a processor that valgrind knows.

    python -m benchmarks.instructions crdt doop
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks import data
from benchmarks.harness import BenchmarkError
from benchmarks.profile import OVERHEAD, PROGRAMS

_PROCESSOR = {
    "NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+sse4.2,+avx,+avx2,+fma,+bmi,+bmi2,+popcnt",
    "PYTHONHASHSEED": "0",
}  # fmt: skip
_VALGRIND = (
    "valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", "--smc-check=all-non-file",
)  # fmt: skip
_COUNT = re.compile(r"I +refs: +([\d,]+)")


def counted(program: str, work: str, folder: Path) -> int:
    """Return the instructions of a process that loads a program and its facts, with the `work` "load", and then commits
    with the `work` "commit" or "record". Raise BenchmarkError if the process fails."""
    command = [sys.executable, "-m", "benchmarks.instructions", program, "--data", str(folder), "--work", work]
    environment = os.environ | _PROCESSOR
    for _ in range(2):  # The first run may compile kernels, the second one has them.
        subprocess.run(command, env=environment, check=True)
    found = subprocess.run([*_VALGRIND, *command], env=environment, check=False, capture_output=True, text=True)
    count = _COUNT.search(found.stderr)
    if found.returncode or count is None:
        raise BenchmarkError(f"{program} fails under valgrind: {found.stderr[-500:]}")
    return int(count[1].replace(",", ""))


def main() -> int:
    """Count the instructions of the programs that are named, and print a line for each; exit code 1 if recording adds
    more than its target."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.instructions", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("programs", nargs="+", choices=PROGRAMS, metavar="PROGRAM", help=", ".join(PROGRAMS))
    parser.add_argument("--data", type=Path, help="folder of the published data (default: $TIDELOG_DATA)")
    parser.add_argument("--work", choices=("load", "commit", "record"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    folder = arguments.data or data.folder()
    if folder is None or shutil.which("valgrind") is None:
        lacking = "no valgrind; install it" if folder else "no data; name their folder with --data, or in TIDELOG_DATA"
        print(f"benchmarks.instructions: {lacking}", file=sys.stderr)
        return 2
    if arguments.work is not None:
        _run(arguments.programs[0], folder, arguments.work)
        return 0
    met = True
    for program in arguments.programs:
        load, commit, record = (counted(program, work, folder) for work in ("load", "commit", "record"))
        longer = (record - commit) / (commit - load)
        print(f"{program}: recording adds {longer:+.1%} to {commit - load:,} instructions", flush=True)
        met &= longer <= OVERHEAD
    return 0 if met else 1


def _run(program: str, folder: Path, work: str) -> None:
    with PROGRAMS[program](folder) as db:
        db.options(threads=1, profile=work == "record")
        if work != "load":
            db.commit()


if __name__ == "__main__":
    sys.exit(main())
