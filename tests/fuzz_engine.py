"""Random programs against the reference until the time is up: `python tests/fuzz_engine.py SECONDS [SEED]`.

Each program goes through the semi-naive reference and the embedded engine, whose views are compared with the naive
evaluation and whose births and counts with the semi-naive one. A failing case is made smaller as long as it fails,
shown, and ends the run with exit code 1. Without a seed the clock gives one.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.generate import Case
from tests.suite import (
    births_in_embedded,
    births_in_reference,
    checked,
    difference,
    disagreement,
    evaluate_embedded,
    evaluate_seminaive,
    random_cases,
    shrunk,
)
from tidelog.errors import TidelogError


def problem_with(case: Case) -> str:
    """What is wrong with the engines on a case, or ""; the name of the engine comes first."""
    for name, evaluate in (("semi-naive", evaluate_seminaive), ("embedded", evaluate_embedded)):
        problem = disagreement(case, evaluate)
        if problem:
            return f"{name}: {problem}"
    expected = births_in_reference(case.text, case.facts)
    problem = difference(births_in_embedded(case.text, case.facts), expected)
    return f"births and counts: {problem}" if problem else ""


def same_problem(problem: str, case: Case) -> bool:
    """Whether a smaller case is still a program and fails in the same engine."""
    try:
        checked(case.text)
        return problem_with(case).partition(":")[0] == problem.partition(":")[0]
    except (TidelogError, KeyError):
        return False


def show(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time()) * 1000
    end, done = time.monotonic() + seconds, 0
    show(f"random programs from seed {seed} for {seconds:g} s")
    while time.monotonic() < end:
        for case in random_cases(1, seed + done):
            problem = problem_with(case)
            if problem:
                small = shrunk(case, partial(same_problem, problem))
                show(f"{problem}\n{case}\n=== smaller\n{problem_with(small)}\n{small}")
                return 1
        done += 1
    show(f"{done} programs, no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
