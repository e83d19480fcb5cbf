"""Rules whose atoms form a cycle: a variable that several atoms bind takes the shortest of their segments."""

from __future__ import annotations

import random
from itertools import product

import numpy
import pytest

from tests.depth import cases
from tests.generate import Row
from tests.scripts import Script, run, scripted
from tests.suite import FIRST_SEED, loaded
from tidelog.common.arrays import Words

DECLARATIONS = """
.decl e(x: number, y: number)
.decl f(x: number, y: number, w: number)
.decl s(x: number)
.decl t(x: number, y: number, z: number)
.decl p(x: number, y: number)
"""
RULES = (
    "t(x, y, z) :- e(x, y), e(y, z), e(x, z).",
    "t(x, y, z) :- e(x, y), e(y, z), e(z, x), !e(y, x).",
    "t(x, y, 0) :- f(x, y, w), f(y, x, w), f(x, x, w).",
    "t(x, y, z) :- s(x), f(x, y, z), f(y, x, z), f(z, y, x).",
    "p(x, w) :- e(x, y), e(y, z), e(z, w), e(w, x).",
    "p(x, w) :- e(x, y), e(y, w), e(x, w), e(w, 3), s(y).",
    "p(x, d) :- e(x, b), e(x, c), e(x, d), e(b, c), e(b, d), e(c, d).",
    "p(x, y) :- p(x, z), p(z, y), e(x, y).",
    "p(x, z) :- p(x, y), e(y, z), e(z, x).",
    "t(x, y, z) :- p(x, y), p(y, z), p(x, z), x != z.",
)
SEEDS = range(FIRST_SEED, FIRST_SEED + cases(12))


def script_for(seed: int) -> Script:
    """Return a script of facts and rules that come and go."""
    rng = random.Random(f"cycles {seed}")
    nodes = rng.choice((4, 6))
    pool: dict[str, list[Row]] = {"e": list(product(range(nodes), repeat=2)), "s": [(x,) for x in range(nodes)]}
    pool["f"] = [(rng.randrange(nodes), rng.randrange(nodes), rng.randrange(3)) for _ in range(20)]
    return scripted(rng, DECLARATIONS, rng.sample(RULES, 4), pool)


@pytest.mark.parametrize("strategy", ["update", "auto", "bootstrap"])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_scripts(seed: int, strategy: str) -> None:
    assert not run(script_for(seed), strategy)


HUB = 50_000


def hub() -> Words:
    """Edges from node 0 to all others and back, and from each to the next."""
    spokes = numpy.arange(1, HUB + 1)
    zeros = numpy.zeros_like(spokes)
    pairs = (zeros, spokes), (spokes, zeros), (spokes, spokes + 1)
    return numpy.concatenate([numpy.column_stack(pair) for pair in pairs])


@pytest.mark.parametrize("strategy", ["update", "bootstrap"])
def test_triangles_around_a_hub(strategy: str) -> None:
    """Two of the three ways from an edge to a third node go by way of all nodes: 2,500 million candidates."""
    db = loaded(".decl e(x: number, y: number) .decl t(x: number, y: number, z: number)", strategy=strategy, timeout=60)
    db.insert("e", hub())
    db.commit()
    db.load("t(x, y, z) :- e(x, y), e(y, z), e(x, z).")
    report = db.commit().report
    assert report.bootstraps == (1 if strategy == "bootstrap" else 0)
    assert len(db["t"]) == 3 * HUB - 3
    db.delete("e", [(0, 7)])
    assert len(db.commit()["t"].deleted) == 3
    db.insert("e", [(0, 7)])
    assert len(db.commit()["t"].inserted) == 3
    db.delete("e", [(0, HUB), (HUB, HUB + 1)])
    db.commit()
    assert len(db["t"]) == 3 * HUB - 5


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + 4))
def test_each_binding_takes_the_shorter_of_two_ways(seed: int) -> None:
    """A chain is met in its middle: one of the two indexes has far fewer keys, and its segments differ in length."""
    rng = random.Random(f"ways {seed}")
    few, many = (6, 60) if seed % 2 else (60, 6)
    a = {(rng.randrange(40), y) for y in range(few) for _ in range(rng.choice((0, 1, 3, 30)))}
    b = {(z, rng.randrange(40)) for z in range(many) for _ in range(rng.choice((0, 1, 3, 30)))}
    declarations = "".join(f".decl {name}(x: number, y: number)\n" for name in "ambp")
    db = loaded(f"{declarations}p(x, w) :- a(x, y), m(y, z), b(z, w).", strategy="update")
    db.options(profile=True)
    db.insert("a", a)
    db.insert("b", b)
    db.commit()
    middle: set[tuple[int, int]] = set()
    for _ in range(4):
        new = {(rng.randrange(few), rng.randrange(many)) for _ in range(30)}
        gone = set(rng.sample(sorted(middle), len(middle) // 3)) - new
        db.insert("m", new)
        db.delete("m", gone)
        middle = middle - gone | new
        db.commit()
        assert db["p"] == {(x, w) for x, y in a for first, z in middle if y == first for last, w in b if z == last}
    assert "take the shorter way" in str(db.profile().to_dict())
