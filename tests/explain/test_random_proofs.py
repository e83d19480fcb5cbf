"""Proofs of random states over all constructs, after random scripts of facts and rules; least heights and all proofs
against brute force."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import product

import pytest

import tidelog
from tests.depth import cases
from tests.explanations import wrong_proofs
from tests.generate import Row
from tests.mixtures import MixtureFollower, mixture_for
from tests.scripts import Follower, script_for
from tests.suite import FIRST_SEED
from tidelog.explain.proof import Proof

SEEDS = range(FIRST_SEED, FIRST_SEED + cases(20))


@pytest.mark.parametrize("seed", SEEDS)
def test_proofs_over_all_constructs(seed: int) -> None:
    rng, script = random.Random(seed), mixture_for(seed)
    follower = MixtureFollower(script, ("update", "auto", "bootstrap")[seed % 3])
    for number in range(len(script.epochs)):
        follower.step(number)
        assert not (problem := wrong_proofs(follower.db, rng)), f"{problem}\n{script}"


@pytest.mark.parametrize("seed", SEEDS)
def test_proofs_over_random_rules(seed: int) -> None:
    rng, script = random.Random(seed), script_for(seed)
    follower = Follower(script, ("update", "auto", "bootstrap")[seed % 3])
    for epoch in script.epochs:
        follower.follow(epoch)
        assert not (problem := wrong_proofs(follower.db, rng)), f"{problem}\n{script}"


# --- brute force over positive programs without closures -------------------------------------------------------------

RULES = """
.decl e(x: number, y: number) .decl f(x: number) .decl t(x: number, y: number) .decl s(x: number)
a: t(x, y) :- e(x, y).
b: t(x, z) :- t(x, y), t(y, z).
c: s(x) :- f(x).
d: s(y) :- s(x), t(x, y).
g: t(y, x) :- s(x), e(x, y).
"""
ATOMS = {
    "a": (("t", "xy"), [("e", "xy")]),
    "b": (("t", "xz"), [("t", "xy"), ("t", "yz")]),
    "c": (("s", "x"), [("f", "x")]),
    "d": (("s", "y"), [("s", "x"), ("t", "xy")]),
    "g": (("t", "yx"), [("s", "x"), ("e", "xy")]),
}
Goal = tuple[str, Row]
Way = tuple[Goal, ...] | None
Ways = Mapping[Goal, list[tuple[Goal, ...]]]


def ways_of(facts: Mapping[str, set[Row]], nodes: range) -> Ways:
    """All instances of the rules over some nodes, by the tuple that they derive."""
    found: dict[Goal, list[tuple[Goal, ...]]] = {}
    for head, body in ATOMS.values():
        names = sorted({letter for _, letters in [head, *body] for letter in letters})
        for values in product(nodes, repeat=len(names)):
            bound = dict(zip(names, values, strict=True))
            row = [(name, tuple(bound[letter] for letter in letters)) for name, letters in (head, *body)]
            if all(name in ("t", "s") or values in facts[name] for name, values in row[1:]):
                found.setdefault(row[0], []).append(tuple(row[1:]))
    return found


def heights_of(facts: Mapping[str, set[Row]], ways: Ways) -> dict[Goal, int]:
    """The least heights, by rounds."""
    done: dict[Goal, int] = {(name, row): 0 for name, rows in facts.items() for row in rows}
    for height in range(1, 100):
        new = {goal for goal, each in ways.items() if goal not in done and any(all(p in done for p in w) for w in each)}
        if not new:
            break
        done.update(dict.fromkeys(new, height))
    return done


def all_of(goal: Goal, facts: Mapping[str, set[Row]], ways: Ways) -> Iterator[frozenset[tuple[Goal, Way]]]:
    """All choices of a way for each tuple that is needed, in which no tuple needs itself."""

    def choices(chosen: dict[Goal, Way], waiting: list[Goal]) -> Iterator[dict[Goal, Way]]:
        if not waiting:
            yield chosen
            return
        first, rest = waiting[0], waiting[1:]
        options: list[Way] = [None] if first[1] in facts.get(first[0], ()) else []
        for way in [*options, *ways.get(first, [])]:
            if not needs(first, chosen, way or ()):
                more = [p for p in dict.fromkeys(way or ()) if p not in chosen and p not in waiting]
                yield from choices({**chosen, first: way}, [*rest, *more])

    def needs(wanted: Goal, chosen: Mapping[Goal, Way], goals: tuple[Goal, ...]) -> bool:
        return any(goal == wanted or needs(wanted, chosen, chosen.get(goal) or ()) for goal in goals)

    for chosen in choices({}, [goal]):
        yield frozenset(chosen.items())


def chosen_in(proof: Proof) -> frozenset[tuple[Goal, Way]]:
    steps = proof.steps
    found: dict[Goal, Way] = {}
    for step in steps:
        premises = tuple((steps[i].relation, steps[i].values) for i in step.premises)
        found[step.relation, step.values] = premises if step.sort == "rule" else None
    return frozenset(found.items())


def small(seed: int, size: int) -> tuple[tidelog.Database, dict[str, set[Row]], random.Random]:
    rng = random.Random(seed)
    facts: dict[str, set[Row]] = {
        "e": {(rng.randrange(size), rng.randrange(size)) for _ in range(size + 1)},
        "f": {(rng.randrange(size),)},
        "t": {(rng.randrange(size), rng.randrange(size)) for _ in range(rng.randrange(2))},
    }
    db = tidelog.connect()
    db.load(RULES)
    for name, rows in facts.items():
        db.insert(name, rows)
        db.commit()
    return db, facts, rng


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(5)))
def test_heights_are_the_least(seed: int) -> None:
    db, facts, _ = small(seed, 5)
    expected = heights_of(facts, ways_of(facts, range(5)))
    for goal, height in expected.items():
        proof = db.explain(*goal)
        proof.check(db)
        assert proof.height == height, f"{proof}"


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(20)))
def test_all_proofs_are_those_of_brute_force(seed: int) -> None:
    db, facts, rng = small(seed, 3)
    ways = ways_of(facts, range(3))
    goals = [("t", row) for row in db["t"]] + [("s", row) for row in db["s"]]
    for goal in rng.sample(goals, min(2, len(goals))):
        expected = set(all_of(goal, facts, ways))
        proofs = list(db.explain(*goal, all=True))
        assert [len(proof.steps) for proof in proofs] == sorted(len(proof.steps) for proof in proofs)
        assert len(proofs) == len(expected)
        assert set(map(chosen_in, proofs)) == expected
