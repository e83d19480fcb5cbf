"""Proofs of random states until the time is up: `python -m tests.fuzz.explain SECONDS [SEED]`.

States are those after each epoch of random scripts: over random rules and closures, over all constructs of the
language, over relations that select, over relations that choose, and of random programs with records, components and
functors. Proofs of some tuples of each state are checked step by step against the views, those by least height and
those by births; one alteration of each has to be rejected. The seed shown with a failure gives it again.
"""

from __future__ import annotations

import random
import sys
import time
import traceback
from collections.abc import Callable, Iterator

import tidelog
from tests import choosing, functions, mixtures, scripts, selecting
from tests.constructs import CONSTRUCTS
from tests.explain.forging import forgeries
from tests.explanations import wrong_proofs
from tests.fuzz.asked import asked, show
from tests.scripts import WrongError
from tests.suite import random_cases
from tidelog.explain.checking import ViewTables, check_steps

WAYS = ("update", "auto", "bootstrap")
States = Iterator[tuple[tidelog.Database, str]]


def followed(follower: scripts.Follower, script: scripts.Script) -> States:
    """Yield the states of a database that goes through a script."""
    for epoch in script.epochs:
        follower.follow(epoch)
        yield follower.db, str(script)


def of_scripts(seed: int) -> States:
    script = scripts.script_for(seed)
    return followed(scripts.Follower(script, WAYS[seed % 3]), script)


def of_mixtures(seed: int) -> States:
    script = mixtures.mixture_for(seed)
    follower = mixtures.MixtureFollower(script, WAYS[seed % 3])
    for number in range(len(script.epochs)):
        follower.step(number)
        yield follower.db, str(script)


def of_selections(seed: int) -> States:
    script = selecting.script_for(seed)
    return followed(selecting.Judged(script, WAYS[seed % 3]), script)


def of_choices(seed: int) -> States:
    script = choosing.script_for(seed)
    return followed(choosing.Judged(script, WAYS[seed % 3]), script)


def of_programs(seed: int) -> States:
    for case in random_cases(1, seed):
        db = tidelog.connect()
        db.load(case.text)
        for name, rows in case.facts.items():
            db.insert(name, rows)
        db.commit()
        yield db, str(case)


def of_constructs(seed: int) -> States:
    """A program of the reference's table over some of its facts, with its last rule or without."""
    rng, construct = random.Random(seed), CONSTRUCTS[seed % len(CONSTRUCTS)]
    text = construct.text + (f"\n{construct.rule}" if rng.random() < 0.5 else "")
    db = tidelog.connect(functors=functions)
    db.load(text)
    db.options(closures=rng.random() < 0.5)
    for name, rows in construct.facts.items():
        db.insert(name, [row for row in rows if rng.random() < 0.8])
    db.commit()
    yield db, text


SOURCES: tuple[Callable[[int], States], ...] = (
    of_scripts,
    of_mixtures,
    of_selections,
    of_choices,
    of_programs,
    of_constructs,
)


def accepted_forgery(db: tidelog.Database, rng: random.Random) -> str:
    """Return an altered proof of some tuple that is not rejected, "" if there is none."""
    goals = [(name, row) for name in db.relations for row in db[name]]
    if not goals:
        return ""
    proof = db.explain(*rng.choice(sorted(goals, key=repr)))
    forged = list(forgeries(proof))
    views = ViewTables(db)
    for name, each in rng.sample(forged, min(3, len(forged))):
        try:
            check_steps(each.steps, views)
        except tidelog.ProofRejected:
            continue
        return f"{name} is accepted:\n{each}\nfor\n{proof}"
    return ""


def problem_of(source: Callable[[int], States], seed: int) -> tuple[int, str]:
    """Return how many states a seed has given, and what is wrong with the proofs of one, or ""."""
    rng, number, text = random.Random(seed), 0, ""
    try:
        for db, text in source(seed):
            number += 1
            problem = wrong_proofs(db, rng, 6) or accepted_forgery(db, rng)
            if problem:
                return number, f"{problem}\n{text}"
    except WrongError:  # Of the script itself: that is for tests/fuzz/engine.py.
        return number, ""
    except Exception:
        return number, f"{traceback.format_exc()}\n{text}"
    return number, ""


def main() -> int:
    seconds, seed = asked()
    show(f"proofs of random states from seed {seed} for {seconds:g} s")
    started, states = time.monotonic(), dict.fromkeys(SOURCES, 0)
    number = 0
    while time.monotonic() - started < seconds:
        source = SOURCES[number % len(SOURCES)]
        done, problem = problem_of(source, seed + number)
        states[source] += done
        if problem:
            show(f"seed {seed + number}, {source.__name__}: {problem}")
            return 1
        number += 1
    shares = ", ".join(f"{count:,} {source.__name__.replace('_', ' ')}" for source, count in states.items())
    show(f"{sum(states.values()):,} states, no wrong proof: {shares}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
