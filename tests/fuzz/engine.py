"""Random programs and change scripts until the time is up: `python -m tests.fuzz.engine SECONDS [SEED]`.

A quarter of the time goes to programs, one to scripts, one to words that are given back, and one to scripts over all
constructs of the language, in turn.

Each program goes through the semi-naive reference and the embedded engine, whose views are compared with the naive
evaluation and whose births and counts with the semi-naive one. Each script runs with one of the strategies and is
checked after every epoch (tests/scripts.py), for every fifth seed by kernels in Python. Bootstraps share their work
among one to 16 threads. Where words are given back before every epoch, each second seed is such a script, and the
others make symbols and records come and go in a store that is closed and opened, beside a database that keeps all words
(tests/maintain/churn.py). What fails is made smaller as long as it fails, shown, and ends the run with exit code 1.
Without a seed the clock gives one; the seed shown with a failure gives it again.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import traceback
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from tests import mixtures, scripts
from tests.fuzz.asked import asked, show
from tests.generate import Case
from tests.kernels_in_python import kernels_in_python
from tests.maintain.churn import reclaiming_always, reopened
from tests.sharing import sharing
from tests.suite import (
    births_in_embedded,
    births_in_reference,
    checked,
    difference,
    disagreement,
    evaluate_embedded,
    evaluate_seminaive,
    random_cases,
    reductions,
    shrunk,
)
from tidelog.errors import TidelogError
from tidelog.maintain.strategies import situation


def problem_with(case: Case) -> str:
    """Return the error of the engines on a case, or ""; the name of the engine comes first."""
    for name, evaluate in (("semi-naive", evaluate_seminaive), ("embedded", evaluate_embedded)):
        problem = disagreement(case, evaluate)
        if problem:
            return f"{name}: {problem}"
    expected = births_in_reference(case.text, case.facts)
    problem = difference(births_in_embedded(case.text, case.facts), expected)
    return f"births and counts: {problem}" if problem else ""


def same_problem(problem: str, case: Case) -> bool:
    """Return True if a smaller case is still a program and fails in the same engine."""
    try:
        checked(case.text)
        return problem_with(case).partition(":")[0] == problem.partition(":")[0]
    except (TidelogError, KeyError):
        return False


THREADS = (1, 2, 3, 7, 16)
STRATEGIES = (("update", 0.2), ("auto", 0.2), ("auto", 1e-6), ("bootstrap", 0.2))


def problem_in(script: scripts.Script) -> str:
    """Return the error of a script, or ""; the strategy follows from its seed."""
    strategy, switch = STRATEGIES[(script.seed or 0) % 31 % len(STRATEGIES)]
    worth, situation._ALWAYS_WORTH = situation._ALWAYS_WORTH, situation._ALWAYS_WORTH if switch > 1e-3 else 0.0
    try:
        with kernels_in_python() if (script.seed or 0) % 5 == 0 else nullcontext():
            return scripts.run(script, strategy, switch)
    finally:
        situation._ALWAYS_WORTH = worth


def same_kind(problem: str, script: scripts.Script) -> bool:
    """Return True if a smaller script fails with the same kind of error."""
    return problem_in(script).split(": ")[1:2] == problem.split(": ")[1:2]


def try_program(seed: int) -> bool:
    """Return True if a random program is right; show its errors."""
    for case in random_cases(1, seed):
        problem = problem_with(case)
        if problem:
            small = shrunk(case, reductions, partial(same_problem, problem))
            show(f"{problem}\n{case}\n=== smaller\n{problem_with(small)}\n{small}")
            return False
    return True


def try_script(seed: int) -> bool:
    """Return True if a random script is right after every epoch; show its errors."""
    script = scripts.script_for(seed)
    problem = problem_in(script)
    if problem:
        small = shrunk(script, scripts.reductions, partial(same_kind, problem))
        show(f"{problem}\n{script}\n=== smaller\n{problem_in(small)}\n{small}")
    return not problem


def try_words(seed: int) -> bool:
    """Return True if a script, or a store that is closed and opened, is right if words are reclaimed before every
    epoch; show the errors."""
    with reclaiming_always():
        if seed % 2:
            return try_script(seed)
        try:
            with tempfile.TemporaryDirectory() as folder:
                twins = reopened(random.Random(seed), Path(folder) / "views.tide", 20)
                twins.sparing.check()
                twins.sparing.close()
        except Exception:
            show(f"seed {seed}, words that come and go:\n{traceback.format_exc()}")
            return False
    return True


def try_mixture(seed: int) -> bool:
    """Return True if a script over all constructs is right after every epoch; show its errors. One script in 20 is
    large, and has its certificate checked after each epoch."""
    large, strategy = seed % 20 == 0, STRATEGIES[seed % len(STRATEGIES)][0]
    script = mixtures.mixture_for(seed) if large else mixtures.small_mixture_for(seed)
    follow = partial(mixtures.run, strategy=strategy, sparing=not large)
    problem = follow(script)
    if problem:

        def fails(each: scripts.Script) -> bool:
            return follow(each).split(": ")[1:2] == problem.split(": ")[1:2]

        small = shrunk(script, scripts.reductions, fails)
        show(f"{problem}\n{script}\n=== smaller\n{follow(small)}\n{small}")
    return not problem


def main() -> int:
    seconds, seed = asked()
    show(f"random programs and scripts from seed {seed} for {seconds:g} s")
    tasks = (try_program, try_script, try_words, try_mixture)
    done, spent = dict.fromkeys(tasks, 0), dict.fromkeys(tasks, 0.0)
    while sum(spent.values()) < seconds:
        task = min(spent, key=lambda each: spent[each])
        started = time.monotonic()
        number = seed + done[task]
        with sharing(THREADS[number % len(THREADS)]):
            if not task(number):
                return 1
        done[task] += 1
        spent[task] += time.monotonic() - started
    programs, scripted, churned, mixed = done.values()
    counts = f"{programs} programs, {scripted} scripts, {churned} with words given back, {mixed} over all constructs"
    show(f"{counts}, no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
