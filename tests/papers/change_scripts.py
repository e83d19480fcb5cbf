"""Random change scripts over small programs: facts to begin with, then the insertions and deletions of each epoch."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tests.generate import Row
from tests.suite import FIRST_SEED, Facts, random_cases

Fact = tuple[str, Row]
Groups = dict[str, set[Row]]

EDGES = "\n".join(f".decl {name}(x: number, y: number)" for name in ("e", "f", "p", "q", "r"))

HAND_PROGRAMS = {
    "linear closure": "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z).",
    "non-linear closure": "p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z).",
    "mutual recursion": "p(x, y) :- e(x, y). p(x, z) :- q(x, y), e(y, z). q(x, y) :- p(y, x), x != y. "
    "q(x, x) :- f(x, _).",
    "negation of given facts": "p(x, y) :- e(x, y), !f(x, y). p(x, z) :- p(x, y), p(y, z), !f(_, z).",
    "negation on three levels": "p(x, y) :- e(x, y), !f(y, x). q(x, y) :- p(x, y), !p(y, x). "
    "q(x, z) :- q(x, y), q(y, z). r(x, y) :- e(x, _), e(_, y), !q(x, y), !f(x, _).",
    "one atom twice": "p(x, z) :- e(x, y), e(y, z), e(x, z). q(x, x) :- e(x, y), e(y, x), !p(x, y).",
    "no positive atom": "p(1, 2) :- !f(1, 2). p(x, y) :- x = 3, y = range(0, 3), !e(x, y). "
    "q(x, z) :- p(x, y), e(y, z).",
    "many derivations": "p(x, x) :- e(x, y), f(y, z). p(y, z) :- p(x, x), e(x, y), f(x, z). "
    "q(x, y) :- e(x, y), !p(y, _).",
    "aggregates": "p(x, n) :- e(x, _), n = count : { f(x, _) }. q(x, s) :- p(x, _), s = sum y : { e(x, y), !f(x, y) }.",
}


@dataclass
class Script:
    """A program and a sequence of epochs: `facts` at the start, `epochs` as what goes in and what goes out."""

    text: str
    facts: Groups
    epochs: list[tuple[Groups, Groups]] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.text}\n--- facts\n{self.facts}\n--- epochs\n" + "\n".join(map(str, self.epochs))


def random_script(text: str, pool: Iterable[Fact], rng: random.Random, epochs: int = 4) -> Script:
    """Some facts of `pool`, then changes of few of them and of many, some of which change nothing."""
    pool = list(pool)
    script = Script(text, groups(fact for fact in pool if rng.random() < 0.6))
    for _ in range(epochs):
        share = rng.choice((0.05, 0.2, 0.5))
        insert, delete = ([fact for fact in pool if rng.random() < share] for _ in range(2))
        script.epochs.append((groups(insert), groups(fact for fact in delete if fact not in insert)))
    return script


def hand_scripts(count: int) -> Iterator[Script]:
    for number in range(count):
        rng = random.Random(FIRST_SEED + number)
        names = rng.choices(("e", "f", "p"), (6, 3, 1), k=12)
        pool = dict.fromkeys((name, (rng.randint(0, 3), rng.randint(0, 3))) for name in names)
        rules = list(HAND_PROGRAMS.values())[number % len(HAND_PROGRAMS)]
        yield random_script(f"{EDGES}\n{rules}", pool, rng)


def generated_scripts(count: int) -> Iterator[Script]:
    """Scripts over the programs of tests/generate.py; facts in the text of the program stay."""
    for case in random_cases(count, FIRST_SEED + 7_000_000):
        pool = [(name, row) for name, rows in sorted(case.facts.items()) for row in sorted(rows, key=repr)]
        yield random_script(case.text, pool, random.Random(case.seed), epochs=2)


def groups(facts: Iterable[Fact]) -> Groups:
    found: Groups = {}
    for name, row in facts:
        found.setdefault(name, set()).add(row)
    return found


def after(facts: Facts, insert: Groups, delete: Groups) -> Groups:
    names = {*facts, *insert}
    return {name: set(facts.get(name, ())) - delete.get(name, set()) | insert.get(name, set()) for name in names}
