"""Random scripts over relations that select: minima, maxima, fronts and subsumption, in recursion and beside it.

    script = script_for(seed)      # the same seed gives the same script
    problem = run(script)          # "" or what is wrong

Weights are not negative and costs are bounded, so that the model of all tuples is finite and the reference can judge
each epoch. That of the families ENDLESS is not; there the reference drops dominated tuples as well.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

import tidelog
from tests.generate import Row
from tests.scripts import Follower, Script, WrongError, error_of, scripted
from tests.suite import checked
from tidelog.reference import naive

Pool = Mapping[str, list[Row]]

FAMILIES: Mapping[str, tuple[str, str]] = {
    "one source": (
        "d(x: number, c: number) min(c)",
        "d(x, 0) :- s(x). | d(y, c + w) :- d(x, c), e(x, y, w), c < 9. | g(x) :- d(x, c), c > 3."
        " | g(x) :- s(x), !d(x, 1). | d(y, c) :- d(x, c), s(y), e(x, _, _).",
    ),
    "all pairs": (
        "p(x: number, y: number, c: number) min(c)",
        "p(x, y, w) :- e(x, y, w). | p(x, z, c + w) :- p(x, y, c), e(y, z, w), c < 7. | g(x) :- p(x, x, c), c < 4."
        " | n(x, k) :- s(x), k = count : { p(x, _, _) }.",
    ),
    "non-linear": (
        "p(x: number, y: number, c: number) min(c)",
        "p(x, y, w) :- e(x, y, w). | p(x, z, a + b) :- p(x, y, a), p(y, z, b), a + b < 9. | g(y) :- s(x), p(x, y, _).",
    ),
    "widest": (
        "d(x: number, c: number) max(c)",
        "d(x, 9) :- s(x). | d(y, min(c, w)) :- d(x, c), e(x, y, w). | g(x) :- d(x, c), c >= 2."
        " | d(x, 1) :- e(x, x, _).",
    ),
    "two merged": (
        "d(x: number, c: number) min(c) | m(x: number, c: number) max(c)",
        "d(x, 0) :- s(x). | m(x, 5) :- s(x). | d(y, c + w) :- d(x, c), e(x, y, w), g(x), c < 9."
        " | m(y, min(c, w + 2)) :- m(x, c), e(x, y, w). | g(x) :- d(x, c), m(x, k), c <= 7, k >= 1."
        " | m(x, 7) :- d(x, c), c < 2. | n(x, c) :- d(x, c), m(x, k), k > 3.",
    ),
    "with plain ones": (
        "d(x: number, c: number) min(c)",
        "d(x, 0) :- s(x). | r(x, y) :- e(x, y, _). | d(y, c + w) :- d(x, c), r(x, y), e(x, y, w), c < 9."
        " | r(x, z) :- r(x, y), d(y, c), c < 6, e(y, z, _). | g(x) :- r(x, x), d(x, _)."
        " | n(x, c) :- d(x, c), !r(x, 0).",
    ),
    "front": (
        "d(x: number, c: number, h: number)",
        "d(x, 0, 0) :- s(x). | d(y, c + w, h + 1) :- d(x, c, h), e(x, y, w), h < 4. | g(x) :- d(x, c, h), c > h."
        " | d(x, c, h) <= d(x, k, l) :- k <= c, l <= h.",
    ),
    "lexicographic": (
        "d(x: number, c: number, h: number) min(c), max(h)",
        "d(x, 0, 0) :- s(x). | d(y, c + w, h + 1) :- d(x, c, h), e(x, y, w), c < 6, h < 5. | n(x, h) :- d(x, _, h).",
    ),
    "values joined": (
        "d(x: number, c: number) min(c)",
        "d(x, 0) :- s(x). | d(y, c + w) :- d(x, c), e(x, y, w), c < 9. | d(y, c) :- d(x, c), s(y), e(x, _, c).",
    ),
    "hops last": (
        "d(x: number, c: number, h: number) min(c), min(h)",
        "d(x, 0, 0) :- s(x). | d(y, c + w, h + 1) :- d(x, c, h), e(x, y, w), c < 6. | n(x, h) :- d(x, _, h)."
        " | g(x) :- d(x, c, _), c < 3.",
    ),
    "endless": (
        "d(x: number, c: number) | p(x: number, y: number, c: number) min(c)",
        "d(x, min(0)) :- s(x). | d(y, min(c + w)) :- d(x, c), e(x, y, w). | p(x, y, w) :- e(x, y, w)."
        " | p(x, z, a + b) :- p(x, y, a), p(y, z, b)."
        " | g(x) :- d(x, c), p(x, x, k), c < k. | n(x, c) :- d(x, c), s(x).",
    ),
    "heads": (
        "d(x: number, c: number) | m(c: number, x: number)",
        "d(x, min(0)) :- s(x). | d(y, min(c + w)) :- d(x, c), e(x, y, w), c < 9. | m(max(w), x) :- e(x, _, w), d(x, _)."
        " | m(max(c), y) :- m(c, x), e(x, y, _), c < 3. | g(x) :- m(c, x), c > 1.",
    ),
    "conditions": (
        "d(x: number, c: number)",
        "d(x, w) :- e(x, _, w). | d(y, w) :- d(x, w), e(x, y, _). | d(x, c) <= d(x, k) :- e(c, k, _)."
        " | d(x, _) <= d(x, k) :- k = 3. | g(x) :- d(x, c), s(c).",
    ),
    "conditions on readers": (
        "d(x: number, c: number) | m(x: number, c: number) min(c)",
        "d(x, w) :- e(x, _, w). | d(y, w) :- d(x, w), e(x, y, _). | d(x, c) <= d(x, k) :- k < c, g(k)."
        " | d(x, c) <= d(x, k) :- c < k, m(c, k). | g(c) :- d(_, c), s(c). | g(c) :- r(c, _), !s(c)."
        " | r(x, c) :- d(x, c), d(c, _). | m(x, c + 1) :- d(x, c), g(x). | m(y, c + w) :- m(x, c), e(x, y, w), c < 5."
        " | n(x, c) :- d(x, c), m(c, _).",
    ),
    "paths": (
        "d(x: number, c: number) min(c) | m(x: number, c: number)",
        "d(x, y) :- e(x, y, _). | d(x, z) :- d+(x, z), s(z). | d(x, z) :- <d/d>(x, z). | r(x, z) :- d+(x, z)."
        " | n(x, z) :- <d+/^d>(x, z). | m(x, y) :- e(x, y, _). | m(x, y) <= m(x, z) :- z < y, g(z), m+(z, _)."
        " | g(x) :- <m+/d>(x, x). | g(x) :- d+(x, x).",
    ),
    "wildcards": (
        "d(x: number, c: number) min(c) | m(x: number, y: number, c: number) max(c)",
        "d(x, 0) :- s(x). | d(y, c + w) :- d(_, c), e(_, y, w), c < 5. | g(x) :- d(x, _), e(_, x, _)."
        " | d(y, c + k) :- g(x), d(_, c), e(x, y, w), e(w, _, k), c < 5. | m(x, y, w) :- e(x, y, w)."
        " | m(x, z, min(v, w)) :- m(x, _, c), v = c + 1, m(_, z, w), e(z, _, _). | n(x, c) :- d(x, c), d(_, c).",
    ),
    "not monotone": (
        "d(x: number, c: number) min(c)",
        "d(x, 4) :- s(x). | d(y, c - w) :- d(x, c), e(x, y, w), c > 1."
        " | d(y, c + 1) :- d(x, c), e(x, y, _), c > 2, c < 6. | n(x, c) :- d(x, c), s(x).",
    ),
}
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
    declarations = "\n".join(f".decl {each}" for each in [*selecting.split(" | "), *GIVEN.split(" | ")])
    nodes = rng.randint(3, 5)
    weights = (0, 0, 1, 1, 2, 3)
    pool: dict[str, list[Row]] = {
        "e": [(rng.randrange(nodes), rng.randrange(nodes), rng.choice(weights)) for _ in range(rng.randint(5, 12))],
        "s": [(0,), (rng.randrange(nodes),)],
    }
    for text in selecting.split(" | "):
        name, arity = text[0], text.count(":")
        if rng.random() < 0.4:
            pool[name] = [tuple(rng.randrange(nodes) for _ in range(arity)) for _ in range(3)]
    script = scripted(rng, declarations, rules.split(" | "), pool)
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
