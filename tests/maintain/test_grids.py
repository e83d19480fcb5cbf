"""Grids of dense relations: bits drop derivations of pairs that are there, and the views stay the same."""

from __future__ import annotations

import itertools
import random

import pytest

import tidelog
from tests.depth import cases
from tests.scripts import change_in, script_for
from tests.suite import FIRST_SEED, loaded
from tidelog.kernels import layout
from tidelog.maintain import threads
from tidelog.storage import grids
from tidelog.storage.grids import make_grid
from tidelog.storage.memory import Block
from tidelog.storage.room import Room
from tidelog.storage.stored import StoredRelation

DENSE = """
.decl e(x: number, y: number)
.decl sg(x: number, y: number)
.decl far(x: number, y: number)
sg(x, y) :- e(a, x), e(a, y).
sg(x, y) :- e(a, x), sg(a, b), e(b, y).
far(x + 1, y) :- sg(x, y), x < LIMIT.
far(y + 1, x) :- far(x, y), y < LIMIT.
far(x, y) :- far(x, z), e(z, y).
"""


@pytest.fixture(autouse=True)
def early(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Kernels come back after few bindings, and relations of few rows get grids. Return the bits of each."""
    monkeypatch.setattr("tidelog.maintain.bootstrap._WORK_BEFORE_LOOK", 100)
    monkeypatch.setattr(grids, "_LEAST", 20)
    monkeypatch.setattr(grids, "_BITS", 100)
    made: list[int] = []

    def noted(stored: StoredRelation, height: int, breadth: int) -> Block:
        made.append(height * breadth)
        return make_grid(stored, height, breadth)

    monkeypatch.setattr(grids, "make_grid", noted)
    return made


def graph(n: int, seed: int, shift: int = 0) -> dict[str, list[tuple[int, int]]]:
    rng = random.Random(seed)
    return {"e": [(rng.randrange(n) + shift, rng.randrange(n) + shift) for _ in range(3 * n)]}


def views(facts: dict[str, list[tuple[int, int]]], limit: int, **options: object) -> dict[str, set[tuple[object, ...]]]:
    db = loaded(DENSE.replace("LIMIT", str(limit)), facts, closures=False, **options)
    assert all(stored.fields[layout.R_GRID] == 0 for stored in db.engine.views.values())
    found: dict[str, set[tuple[object, ...]]] = {name: set(db[name]) for name in ("sg", "far")}
    return found | {"derivations": {(db.stats()["derivations"],)}}


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("seed", range(cases(6)))
def test_views_and_derivations_are_the_same(
    seed: int, count: int, early: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pairs of `far` leave the rectangle of their grid while it is in use."""
    monkeypatch.setattr(threads, "SHARED_FROM", 16)
    facts, limit = graph(25, seed), 60
    found = views(facts, limit, maintain=False, threads=count)
    assert len(early) >= 2
    monkeypatch.setattr(grids, "_LEAST", 1 << 40)
    assert found == views(facts, limit, maintain=False, threads=1)


@pytest.mark.parametrize("shift", [1 << 33, -30])
def test_values_that_a_rectangle_cannot_have(shift: int, early: list[int]) -> None:
    facts = graph(25, 3, shift)
    found = views(facts, 0, maintain=False)
    assert not early
    assert found["sg"] == views(facts, 0)["sg"]


def test_words_of_64_bits(early: list[int]) -> None:
    facts = graph(25, 4)
    facts["e"].append((1 << 40, 1 << 40))
    found = views({"e": facts["e"][:-1]}, 60, maintain=False)
    made = len(early)
    assert made
    wide = views(facts, 60, maintain=False)
    assert {pair for pair in wide["sg"] if pair[0] != 1 << 40} == found["sg"]


def test_memory_that_is_short_is_left_to_relations(early: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    facts = graph(25, 8)
    found = views(facts, 60, maintain=False)
    assert early
    early.clear()
    monkeypatch.setattr(Room, "fits", lambda self, more: False)
    assert views(facts, 60, maintain=False) == found
    assert not early


def test_derivations_that_are_counted_need_their_rows(early: list[int]) -> None:
    db = loaded(DENSE.replace("LIMIT", "60"), graph(25, 5), closures=False)
    assert not early
    db.check()


def test_a_changed_program_begins_without_grids(early: list[int]) -> None:
    """A grid is over with its bootstrap: later ones insert rows that an earlier one had."""
    db = loaded(DENSE.replace("LIMIT", "60"), graph(25, 7), closures=False, maintain=False)
    assert early
    for n in range(3):
        db.delete("e", list(db["e"])[: 5 + n])
        db.commit()
        again = tidelog.connect()
        again.load(DENSE.replace("LIMIT", "60"))
        again.insert("e", list(db["e"]))
        again.commit()
        assert set(db["sg"]) == set(again["sg"])
        assert set(db["far"]) == set(again["far"])


def test_random_programs(early: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Relations get grids as soon as they have rows. Scripts follow until one of them has had one."""
    monkeypatch.setattr(grids, "_LEAST", 1)
    monkeypatch.setattr(grids, "_REPEATED", 0)
    monkeypatch.setattr("tidelog.maintain.bootstrap._WORK_BEFORE_LOOK", 1)
    for seed in itertools.count(FIRST_SEED):
        if seed >= FIRST_SEED + cases(24) and early:
            break
        script = script_for(seed)
        facts = {name: sorted(rows, key=repr) for name, rows in script.facts.items()}
        plain, quick = (loaded(script.text(), facts, maintain=maintain, closures=False) for maintain in (True, False))
        for epoch in (None, *script.epochs):
            if epoch is not None:
                for db in (plain, quick):
                    with db.transaction() as transaction:
                        change_in(transaction, script, epoch)
            for name in plain.relations:
                assert set(quick[name]) == set(plain[name]), f"{name}\n{script}"
