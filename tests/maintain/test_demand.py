"""Relations with the qualifier `magic`: derived as far as somebody asks for them, and kept so through changes."""

from __future__ import annotations

import random

import pytest

import tidelog
from tests.recount import mistakes, state_of
from tests.suite import evaluate_naive, loaded
from tidelog.errors import ProgramError

TREE = """
.decl parent(x: number, y: number)
.decl sg(x: number, y: number){}
.decl q(y: number)
base: sg(x, x) :- parent(x, _).
leaf: sg(x, x) :- parent(_, x).
step: sg(x, y) :- parent(a, x), sg(a, b), parent(b, y).
ask:  q(y) :- sg({}, y).
"""
BINARY = [(x // 2, x) for x in range(2, 2_048)]


def test_the_same_generation_of_one_node_costs_its_generation() -> None:
    db = loaded(TREE.format(" magic", 5), {"parent": BINARY})
    assert set(db["q"]) == {(4,), (5,), (6,), (7,)}
    # all would be 1.4 million pairs; one node has a chain of ancestors, each with its own generation
    assert set(db["sg"]) == {(1, 1)} | {(2, y) for y in (2, 3)} | {(5, y) for y in (4, 5, 6, 7)}
    assert db.stats()["derivations"] < len(BINARY) + 100


def test_a_pragma_names_the_relations() -> None:
    text = TREE.format("", 5)
    for pragma in ('.pragma "magic-transform" "sg"', '.pragma "magic-transform" "*"'):
        assert len(loaded(pragma + text, {"parent": BINARY})["sg"]) == 7
    excluded = '.pragma "magic-transform" "*"\n.pragma "magic-transform-exclude" "sg, q"'
    small = BINARY[:14]
    assert len(loaded(excluded + text, {"parent": small})["sg"]) == 1 + 4 + 16 + 64
    assert len(loaded('.pragma "magic-transform" "*"' + TREE.format(" no_magic", 5), {"parent": small})["sg"]) == 85


@pytest.mark.parametrize("strategy", ["update", "bootstrap"])
def test_demand_follows_changes_of_facts_and_rules(strategy: str) -> None:
    rng = random.Random(7)
    db = tidelog.connect()
    db.options(strategy=strategy)
    db.rules.add(TREE.format(" magic", 5))
    db.commit()
    facts: set[tuple[int, int]] = set()
    for number in range(12):
        with db.transaction() as tx:
            for _ in range(6):
                x = rng.randrange(1, 12)
                row = (x, rng.randrange(x + 1, 14))
                (tx.delete if row in facts else tx.insert)("parent", [row])
                facts ^= {row}
            if number == 5:
                tx.rules.add("more: q(y) :- sg(9, y).")
            if number == 9:
                tx.rules.remove("ask")
        wanted = {5: number < 9, 9: number >= 5}
        whole = evaluate_naive(TREE.format("", 5), {"parent": frozenset(facts)})["sg"]
        assert set(db["q"]) == {(y,) for x, y in whole if wanted.get(x)}
        assert set(db["sg"]) <= set(whole)
        assert mistakes(db, state_of(db), {"parent": facts}) == ""
        db.check()


def test_facts_asserted_for_a_relation_on_demand_are_shown() -> None:
    db = loaded(TREE.format(" magic", 5), {"parent": BINARY[:14], "sg": [(100, 200)]})
    assert (100, 200) in db["sg"]
    assert len(db["sg"]) == 8


def test_hyper_nodes_are_those_of_the_program_as_it_is_written() -> None:
    db = loaded(TREE.format(" magic", 5), {"parent": BINARY[:14]})
    assert db.hyper_nodes == (("base", "leaf", "step"), ("ask",))


def test_demand_that_would_go_through_its_own_negation_is_not_made() -> None:
    text = """
    .decl e(x: number, y: number)
    .decl r(x: number, y: number) magic
    .decl n(x: number)
    .decl q(y: number)
    r(x, y) :- e(x, y).
    s: q(y) :- n(x), r(x, y).
    m: n(x) :- e(x, _), !h(x).
    .decl h(x: number)
    h(y) :- r(1, y).
    """
    db = loaded(text, {"e": [(1, 2), (2, 3), (3, 4)]})
    assert set(db["q"]) == {(2,), (4,)}
    assert set(db["r"]) == {(1, 2), (2, 3), (3, 4)}
    with pytest.raises(ProgramError, match="depends on its own negation"):
        loaded(text + "h(x) :- q(x).", {})
