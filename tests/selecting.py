"""Random scripts over relations that select: minima, maxima, fronts and subsumption, in recursion and beside it.

    script = script_for(seed)      # the same seed gives the same script
    problem = run(script)          # "" or what is wrong

Weights are not negative and costs are bounded, so that the model of all tuples is finite and the reference can judge
each epoch. That of the families ENDLESS is not; there the reference drops dominated tuples as well.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import tidelog
from tests.generate import Row
from tests.scripts import Follower, Script, WrongError, error_of, families_of, scripted
from tests.suite import checked
from tidelog.reference import naive

Pool = Mapping[str, list[Row]]

FAMILIES = families_of(Path(__file__).with_suffix(".txt"))
ENDLESS = ("hops last", "endless")
GIVEN = (
    "e(x: number, y: number, w: number) | s(x: number)"
    " | g(x: number) | r(x: number, y: number) | n(x: number, c: number)"
)


def script_for(seed: int, families: tuple[str, ...] = tuple(FAMILIES)) -> Script:
    """Return the script of a number."""
    rng = random.Random(f"selecting {seed}")
    return scripted_family(rng, families[seed % len(families)], seed)


def scripted_family(rng: random.Random, family: str, seed: int) -> Script:
    """Return a script over the rules of a family: facts of all relations come and go, and so do rules."""
    selecting, rules = FAMILIES[family]
    declarations = "\n".join(f".decl {each}" for each in [*selecting, *GIVEN.split(" | ")])
    nodes = rng.randint(3, 5)
    weights = (0, 0, 1, 1, 2, 3)
    pool: dict[str, list[Row]] = {
        "e": [(rng.randrange(nodes), rng.randrange(nodes), rng.choice(weights)) for _ in range(rng.randint(5, 12))],
        "s": [(0,), (rng.randrange(nodes),)],
    }
    for text in selecting:
        name, arity = text[0], text.count(":")
        if rng.random() < 0.4:
            pool[name] = [tuple(rng.randrange(nodes) for _ in range(arity)) for _ in range(3)]
    script = scripted(rng, declarations, rules, pool)
    return Script(script.declarations, script.rules, script.active, script.facts, script.epochs, seed)


class Judged(Follower):
    """A database that goes through a script over relations that select, judged by the reference after every epoch."""

    def check(self, change: tidelog.Change) -> None:
        super().check(change)
        self.check_naive()

    def check_naive(self) -> None:
        program = checked(self.script.text(tuple(self.active)))
        family = list(FAMILIES)[(self.script.seed or 0) % len(FAMILIES)]
        dropping = self.db.engine.program.candidates if family in ENDLESS else ()
        for name, rows in naive.evaluate(program, self.facts, dropping).items():
            if rows != set(self.tables[name]):
                raise WrongError(f"{name}: differs from naive evaluation in {rows ^ set(self.tables[name])}")


def run(script: Script, strategy: str = "update") -> str:
    """Return the error of a script, or ""; an exception is an error, too."""
    return error_of(lambda: Judged(script, strategy), script, strategy)
