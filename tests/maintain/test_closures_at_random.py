"""Random rules that join closures, under random changes of facts and rules.

Whatever way the closures are probed: the views are those of the reference, births and counts are right, `db.check()`
accepts them, and no closure has been written down. Every other script runs without recognition.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.depth import cases
from tests.scripts import Follower, Script, over_numbers
from tests.suite import FIRST_SEED, chunks
from tidelog.storage.closed_relation import ClosedRelation

ARITIES = {"e": 2, "f": 2, "n": 1, "s": 1, "t": 2, "u": 2, "v": 2, "w": 2, "g": 1, "h": 2}
CLOSURES = {
    "t": (
        ["t(x, y) :- e(x, y).", "t(x, z) :- t(x, y), t(y, z)."],
        ["t(x, y) :- e(x, y).", "t(x, z) :- t(x, y), e(y, z)."],
        ["t(x, y) :- e(x, y).", "t(x, z) :- t(x, y), t(y, z).", "t(x, y) :- t(y, x)."],
        ["t(x, y) :- e(x, y).", "t(x, z) :- t(x, y), t(y, z), x != z."],
        ["t(x, y) :- e(x, y).", "t(x, x) :- n(x).", "t(x, y) :- f(x, y), x < y.", "t(x, z) :- t(x, y), t(y, z)."],
    ),
    "u": (
        ["u(x, y) :- f(x, y), !t(y, x).", "u(x, z) :- u(x, y), u(y, z)."],
        ["u(x, y) :- t(x, y), n(x).", "u(x, y) :- f(x, y).", "u(x, z) :- u(x, y), u(y, z)."],
        ["u(x, y) :- t(y, x).", "u(x, z) :- t(y, x), u(y, z)."],
    ),
    "v": (["v(x, y) :- e+(x, y)."], ["v(x, y) :- <(e|^f)*>(x, y)."]),
}
"""Each closure in several ways; those of `u` are over what is derived from `t`."""


def script_for(seed: int) -> Script:
    rng = random.Random(f"closures read {seed}")
    rules = [rule for ways in CLOSURES.values() if rng.random() < 0.8 for rule in rng.choice(ways)]
    rules += CLOSURES["t"][0] if not any(rule.startswith("t") for rule in rules) else []
    rules += [reader(rng, rng.choice("wgh")) for _ in range(rng.randint(2, 6))]
    script = over_numbers(rng, ARITIES, ["e", "f", "n", "s"], list(dict.fromkeys(rules)), rng.randint(4, 8))
    return replace(script, seed=8 * seed)


def reader(rng: random.Random, head: str) -> str:
    """A rule that joins closures with each other and with other relations; `h` reads what `w` and `g` are."""
    readable = ["t", "t", "t", "u", "v", "v", "e", "f", "n", "s"] + (["w", "g"] if head == "h" else [])
    variables = "xyz"[: rng.choice((2, 2, 3))]
    if head == "w" and rng.random() < 0.2:
        op = rng.choice(("c = count : ", "c = sum y : ", "c = max y : "))
        pair = rng.choice(("x, y", "x, y", "y, x"))
        return f"w(x, c) :- n(x), {op}{{ {rng.choice('tuv')}({pair}){rng.choice(('', ', s(y)', ', !t(y, x)'))} }}."
    body = [atom(rng, rng.choice("tuv"), variables)]
    body += [atom(rng, rng.choice(readable), variables) for _ in range(rng.choice((0, 1, 1, 2)))]
    bound = sorted({name for name in variables if any(name in each[2:] for each in body)}) or ["1"]
    if rng.random() < 0.4:
        name = rng.choice("tuvtuvef")
        args = [rng.choice(bound) if rng.random() < 0.8 else rng.choice("_12") for _ in "xy"]
        body.insert(rng.randint(0, len(body)), f"!{name}({', '.join(args)})")
    rng.shuffle(body)
    return f"{head}({', '.join(rng.choice(bound) for _ in range(ARITIES[head]))}) :- {', '.join(body)}."


def atom(rng: random.Random, name: str, variables: str) -> str:
    args = [rng.choice(variables) if rng.random() < 0.9 else rng.choice("_123") for _ in range(ARITIES[name])]
    return f"{name}({', '.join(args)})"


def follow(script: Script, strategy: str) -> None:
    follower = Follower(script, strategy)
    for epoch in script.epochs:
        follower.follow(epoch)
        engine = follower.db.engine
        assert all(isinstance(engine.views[name], ClosedRelation) for name in (*engine.closures, *engine.mirrors))
        assert not any(stored.rows for stored in engine.views.values() if isinstance(stored, ClosedRelation))
    follower.check_naive()
    follower.db.check()


@pytest.mark.parametrize("strategy", ["update", "bootstrap", "auto"])
@pytest.mark.parametrize("seeds", chunks(FIRST_SEED, 40, 20))
def test_joins_of_closures(seeds: range, strategy: str) -> None:
    for seed in seeds if strategy == "update" else seeds[::4]:
        follow(script_for(seed), strategy)


def test_joins_of_closures_without_compilation() -> None:
    """Every access to memory is checked."""
    program = f"""
import sys
from dataclasses import replace
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.maintain.test_closures_at_random import follow, script_for
for seed in range({FIRST_SEED}, {FIRST_SEED} + {cases(12)}, 2):
    script = script_for(seed)
    follow(replace(script, epochs=script.epochs[:3]), "update")
"""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-W", "error", "-c", program], env=environment, check=True)
