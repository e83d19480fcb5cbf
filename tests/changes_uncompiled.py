"""Change scripts for kernels that are not compiled: what `make mutants` runs on mutants of them.

Data are few here, so batches, lists and hashes are made small as well: kernels have to stop and continue everywhere,
and to tell rows apart whose hashes are equal.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tests import choosing, selecting
from tests.generate import Row
from tests.maintain import test_cyclic
from tests.maintain.test_closures_at_random import follow
from tests.scripts import Script, run, script_for, scripted
from tests.suite import loaded
from tidelog.kernels import indexes, words
from tidelog.maintain import large_groups, machine, update
from tidelog.maintain.machine import Interpreter
from tidelog.maintain.strategies import situation
from tidelog.storage import journal

WAYS = ("update", "update", "auto", "update", "bootstrap")
"""The strategies, in turn; "auto" cuts every update off that it can."""


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every update is cut off, and every group is a large one."""
    monkeypatch.setattr(situation, "_ALWAYS_WORTH", 0.0)
    monkeypatch.setattr(large_groups, "LARGE", 1)
    monkeypatch.setattr(large_groups, "WIDTH", 2)


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two bindings fill a batch, and four rows a list."""
    monkeypatch.setattr(machine, "BATCH", 2)
    monkeypatch.setattr(indexes, "BATCH", 2)
    monkeypatch.setattr(machine, "FEW", 2)
    monkeypatch.setattr(journal, "_ROOM", 4)


@pytest.fixture
def few_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are four hashes, which stand for the last two places of a table and the first two."""
    real = words.mix

    def mix(h: int) -> int:
        return int(real(h) & 0x3FFFFFFFF) - (2 << 32)

    for name, module in list(sys.modules.items()):
        if name.startswith("tidelog.kernels.") and hasattr(module, "mix"):
            monkeypatch.setattr(module, "mix", mix)


def check_script(number: int) -> None:
    way = WAYS[number % len(WAYS)]
    assert not run(script_for(number), way, 1e-6 if way == "auto" else 0.2)


@pytest.mark.parametrize("number", range(150))
def test_script(number: int) -> None:
    check_script(number)


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("number", range(150, 300))
def test_script_in_small_batches(number: int) -> None:
    check_script(number)


@pytest.mark.usefixtures("few_hashes")
@pytest.mark.parametrize("number", range(300, 450))
def test_script_with_few_hashes(number: int) -> None:
    check_script(number)


@pytest.mark.usefixtures("small_batches", "few_hashes")
@pytest.mark.parametrize("strategy", ["update", "bootstrap"])
@pytest.mark.parametrize("number", range(3 * len(selecting.FAMILIES)))
def test_selections(number: int, strategy: str) -> None:
    assert not selecting.run(selecting.script_for(number), strategy)


@pytest.mark.usefixtures("small_batches", "few_hashes")
@pytest.mark.parametrize("strategy", ["update", "bootstrap"])
@pytest.mark.parametrize("number", range(3 * len(choosing.FAMILIES)))
def test_choices(number: int, strategy: str) -> None:
    assert not choosing.run(choosing.script_for(number), strategy)


@pytest.mark.usefixtures("small_batches", "few_hashes")
@pytest.mark.parametrize("number", range(40))
def test_cycles(number: int) -> None:
    assert not run(test_cyclic.script_for(number), WAYS[number % len(WAYS)])


CLOSURE = """
.decl e(x: number, y: number)
.decl s(x: number)
.decl t(x: number, y: number)
.decl p(x: number, y: number)
.decl w(x: number)
base: t(x, y) :- e(x, y).
step: t(x, z) :- t(x, y), t(y, z).
"""
READERS = (
    "w(y) :- s(x), t(x, y). | w(x) :- s(y), t(x, y). | w(x) :- s(x), t(x, x), !t(_, 5). | w(x) :- t(x, _), s(x)."
    " | p(x, y) :- t(x, y), s(y), !t(y, x). | p(x, y) :- e(x, y), t(y, x). | p(x, z) :- s(x), t(x, y), t(y, z)."
)
"""They look for the pairs of a node in both directions, for one pair, and at all pairs."""


def reading(number: int) -> Script:
    """Edges come and go, and so does what is read with the closure."""
    rng = random.Random(f"closures uncompiled {number}")
    pool: dict[str, list[Row]] = {"e": [(rng.randrange(6), rng.randrange(6)) for _ in range(9)]}
    pool["s"] = [(x,) for x in range(6)]
    return replace(scripted(rng, CLOSURE, READERS.split(" | "), pool), seed=0)


@pytest.mark.usefixtures("small_batches", "few_hashes")
@pytest.mark.parametrize("number", range(30))
def test_readers_of_a_closure(number: int) -> None:
    follow(reading(number), "update")


@pytest.mark.usefixtures("small_batches")
def test_kernels_look_at_the_clock_while_they_pass_dead_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten rows come that would join 100 others each, all of which go in the same epoch: a look per batch of two."""
    looks: Counter[str] = Counter()
    group = ""
    real_run, real_look = update.NodeUpdate.run, update.NodeUpdate.look

    def run(self: update.NodeUpdate, machine: Interpreter, name: str, *others: Any) -> int:
        nonlocal group
        group = name
        return real_run(self, machine, name, *others)

    def look(self: update.NodeUpdate) -> None:
        looks[group] += 1
        real_look(self)

    monkeypatch.setattr(update.NodeUpdate, "run", run)
    monkeypatch.setattr(update.NodeUpdate, "look", look)
    monkeypatch.setattr(update, "WORK_BEFORE_LOOK", 20)
    facts = [(x, x % 10) for x in range(1000)]
    text = ".decl a(x: number, y: number) .decl b(x: number) .decl j(x: number) j(x) :- a(x, y), b(y)."
    db = loaded(text, {"a": [*facts, (1, 11)], "b": [(10,)]})
    db.options(strategy="update")
    db.delete("a", facts)
    db.insert("b", [(y,) for y in range(10)])
    assert db.commit().report.bootstraps == 0
    assert not db["j"]
    assert looks["insert"] > 4
