"""Aggregates over closures fold components: no pair is written, and every way to group has the values of the pairs."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.depth import cases, stride
from tests.kernels_in_python import kernels_in_python
from tests.maintain.stopping import at_looks, fails_without_trace, limit
from tests.maintain.test_closures_at_random import ARITIES, CLOSURES, follow
from tests.scripts import Follower, Script, over_numbers
from tests.suite import FIRST_SEED, chunks
from tidelog.database.database import Database
from tidelog.storage.closed_relation import ClosedMembers, ClosedRelation

EDGES = [(1, 2), (2, 3), (3, 2), (3, 4), (5, 1), (6, 6)]
"""5 leads to 1, 1 into the circle of 2 and 3, that to 4; 6 has a loop."""
DECLARED = """
.decl e(x: {kind}, y: {kind})
.decl t(x: {kind}, y: {kind})
.decl n(x: {kind})
.decl w(x: {kind}, v: {value})
.decl all(v: number)
base: t(x, y) :- e(x, y).
"""
WAYS = {
    "directed": "step: t(x, z) :- t(x, y), t(y, z).",
    "irreflexive": "step: t(x, z) :- t(x, y), t(y, z), x != z.",
    "symmetric": "step: t(x, z) :- t(x, y), t(y, z). turn: t(x, y) :- t(y, x).",
}


def opened(rules: str, way: str = "directed", kind: str = "number", value: str = "number", **options: Any) -> Database:
    db = tidelog.connect()
    db.options(**options)
    db.load(DECLARED.format(kind=kind, value=value) + WAYS[way] + rules)
    named = str if kind == "symbol" else int
    db.insert("e", [(named(x), named(y)) for x, y in EDGES])
    db.insert("n", [(named(x),) for x in range(1, 8)])
    db.commit()
    return db


def members(db: Database) -> list[str]:
    """The forms of the members of groups."""
    views = db.engine.views
    return ["pairs" if isinstance(views[name], ClosedMembers) else "rows" for name in views if name[:7] == "#inner."]


@pytest.mark.parametrize(
    ("rule", "directed", "irreflexive", "symmetric"),
    [
        ("w(x, v) :- n(x), v = min y : { t(x, y) }.", "1:2 2:2 3:2 5:1 6:6", "1:2 2:3 3:2 5:1 6:6", "1-5:1 6:6"),
        ("w(x, v) :- n(x), v = max y : { t(x, y) }.", "1-3:4 5:4 6:6", "1-3:4 5:4 6:6", "1-5:5 6:6"),
        ("w(x, v) :- n(x), v = any y : { t(x, y) }.", "1:2 2:2 3:2 5:1 6:6", "1:2 2:3 3:2 5:1 6:6", "1-5:1 6:6"),
        (
            "w(x, v) :- n(x), v = count : { t(x, _) }.",
            "1-3:3 4:0 5:4 6:1 7:0",
            "1:3 2-3:2 4:0 5:4 6:1 7:0",
            "1-5:5 6:1 7:0",
        ),
        (
            "w(x, v) :- n(x), v = sum y : { t(x, y) }.",
            "1-3:9 4:0 5:10 6:6 7:0",
            "1:9 2:7 3:6 4:0 5:10 6:6 7:0",
            "1-5:15 6:6 7:0",
        ),
        ("w(x, v) :- t(x, _), v = min y : { t(x, y) }.", "1-3:2 5:1 6:6", "1:2 2:3 3:2 5:1 6:6", "1-5:1 6:6"),
        ("w(x, v) :- t(_, x), v = max y : { t(y, x) }.", "1-4:5 6:6", "1-4:5 6:6", "1-5:5 6:6"),
        ("w(x, v) :- n(x), v = min y : { t(y, x) }.", "1:5 2-4:1 6:6", "1:5 2-4:1 6:6", "1-5:1 6:6"),
        (
            "w(x, v) :- n(x), v = count : { t(_, x) }.",
            "1:1 2-4:4 5:0 6:1 7:0",
            "1:1 2-3:3 4:4 5:0 6:1 7:0",
            "1-5:5 6:1 7:0",
        ),
        ("w(x, v) :- n(x), v = sum y : { t(y, x) }.", "1:5 2-4:11 5:0 6:6 7:0", "", "1-5:15 6:6 7:0"),
    ],
)
def test_values_of_groups(rule: str, directed: str, irreflexive: str, symmetric: str) -> None:
    for way, text in (("directed", directed), ("irreflexive", irreflexive), ("symmetric", symmetric)):
        for closures in (True, False):
            db = opened(rule, way, closures=closures)
            if text:
                assert set(db["w"]) == listed(text)
            assert members(db) == ["pairs" if closures else "rows"]
            db.check()


def listed(text: str) -> set[tuple[int, int]]:
    """Nodes with their values: 1-3:9 are three of them."""
    found = set()
    for part in text.split():
        nodes, value = part.split(":")
        first, _, last = nodes.partition("-")
        found |= {(x, int(value)) for x in range(int(first), int(last or first) + 1)}
    return found


def test_all_pairs_are_counted_without_writing_them() -> None:
    db = opened("all(v) :- v = count : { t(_, _) }.")
    assert list(db["all"]) == [(14,)]
    assert members(db) == ["pairs"]
    db.delete("e", [(6, 6)])
    assert db.commit().report.bootstraps == 0
    assert list(db["all"]) == [(13,)]
    db.check()


@pytest.mark.parametrize(("kind", "op"), [("symbol", "any"), ("unsigned", "min"), ("unsigned", "max")])
def test_values_of_other_kinds(kind: str, op: str) -> None:
    rules = f"w(x, v) :- n(x), v = {op} y : {{ t(x, y) }}."
    folded, written = (opened(rules, "symmetric", kind, kind, closures=closures) for closures in (True, False))
    many = [("10", "2"), ("9", "10"), ("8", "9")] if kind == "symbol" else [(10, 2), (2**63, 10), (2**64 - 1, 9)]
    for verb in ("insert", "delete"):
        for edge in many:
            for db in (folded, written):
                getattr(db, verb)("e", [edge])
                getattr(db, verb)("n", [edge[:1]])
                db.commit()
            assert set(folded["w"]) == set(written["w"])
            assert len(folded["w"]) > 4
    assert members(folded) == ["pairs"]
    folded.check()


@pytest.mark.parametrize(
    "rule",
    [
        "w(x, v) :- n(x), v = min y : { t(x, y), y > 1 }.",
        "w(x, v) :- n(x), v = count : { t(x, y), !e(x, y) }.",
        "w(x, v) :- n(x), n(y), v = count : { t(x, y) }.",
        "w(x, v) :- n(x), v = count : { t(x, 4) }.",
        "w(x, v) :- n(x), v = sum x : { t(x, _) }.",
        "w(x, to_number(to_string(v))) :- n(x), v = mean y : { t(x, y) }, v = 4.",
    ],
)
def test_other_aggregates_read_pairs(rule: str) -> None:
    db, written = opened(rule), opened(rule, closures=False)
    assert set(members(db)) == {"rows"}
    assert set(db["w"]) == set(written["w"])


CHAIN = 2_000
"""Nodes whose closure has four million pairs, in which no relation has rows for more than a few of them."""


def test_memory_follows_nodes_and_not_pairs() -> None:
    db = tidelog.connect()
    rules = "w(x, v) :- t(x, _), v = min y : { t(x, y) }. all(v) :- v = count : { t(_, _) }."
    db.load(DECLARED.format(kind="number", value="number") + WAYS["symmetric"] + rules)
    db.insert("e", [(x, x + 1) for x in range(CHAIN - 1)])
    db.commit()
    assert set(db["w"]) == {(x, 0) for x in range(CHAIN)}
    assert list(db["all"]) == [(CHAIN * CHAIN,)]
    assert sum(stored.rows for stored in db.engine.views.values()) < 6 * CHAIN
    assert sum(db.stats()["memory"].values()) < 600 * CHAIN


def test_an_edge_changes_the_groups_of_its_components_only() -> None:
    """Four components of 50 nodes; an edge joins two of them, and goes."""
    db = tidelog.connect()
    rules = "w(x, v) :- t(x, _), v = min y : { t(x, y) }."
    db.load(DECLARED.format(kind="number", value="number") + WAYS["symmetric"] + rules)
    db.insert("e", [(x, x + 1) for x in range(200) if x % 50 != 49])
    db.commit()
    db.options(strategy="update")
    db.insert("e", [(120, 170)])
    change = db.commit()
    assert change.report.bootstraps == 0
    assert set(change["w"].inserted) == {(x, 100) for x in range(150, 200)}
    assert set(change["w"].deleted) == {(x, 150) for x in range(150, 200)}
    db.delete("e", [(120, 170)])
    change = db.commit()
    assert change.report.bootstraps == 0
    assert set(change["w"].inserted) == {(x, 150) for x in range(150, 200)}
    db.check()


def test_a_rule_of_the_same_name_folds_another_closure() -> None:
    db = opened(
        "r: w(x, v) :- n(x), v = count : { t(x, _) }. .decl u(x: number, y: number) u(x, y) :- <(e|^e)+>(x, y)."
    )
    for closure, v in (("u", 5), ("t", 3), ("u", 5)):
        with db.transaction() as transaction:
            transaction.rules.remove("r")
            transaction.rules.add(f"r: w(x, v) :- n(x), v = count : {{ {closure}(x, _) }}.")
        assert (1, v) in db["w"]
        assert members(db) == ["pairs"]
        db.check()


def test_a_closure_that_is_none_for_a_while() -> None:
    """Its members get rows when a rule breaks its shape, and lose them when the rule goes."""
    db = opened("w(x, v) :- n(x), v = count : { t(x, _) }.")
    before = set(db["w"])
    for _ in range(2):
        db.load("odd: t(x, 7) :- t(x, y), n(y), y > 3.")
        db.commit()
        assert members(db) == ["rows"]
        assert (1, 4) in db["w"]
        db.check()
        db.rules.remove("odd")
        db.commit()
        assert set(db["w"]) == before
        db.insert("e", [(4, 6)])
        db.commit()
        assert (1, 4) in db["w"]
        db.delete("e", [(4, 6)])
        db.commit()
        assert set(db["w"]) == before
        db.check()


@pytest.mark.parametrize(
    ("inner", "before", "now"),
    [
        ("t(x, _)", "1-3:3 4:0 5:4 6:1 7:0", "1-3:5 4:1 5:6 6:1 8:0"),
        ("t(_, x)", "1:1 2-4:4 5:0 6:1 7:0", "1:1 2-4:4 5:0 6:6 8:4"),
    ],
)
def test_members_are_written_once_their_closure_is_none(inner: str, before: str, now: str) -> None:
    """They are those that the epoch found, and follow it: nobody joins the groups with all pairs again."""
    db = opened(f"w(x, v) :- n(x), v = count : {{ {inner} }}. all(v) :- v = count : {{ t(_, _) }}.", strategy="update")
    assert set(db["w"]) == listed(before)
    with db.transaction() as transaction:
        transaction.insert("e", [(4, 6)])
        transaction.delete("n", [(7,)])
        transaction.insert("n", [(8,)])
        transaction.rules.add("odd: t(x, 8) :- t(x, y), n(y), y = 4.")
    assert transaction.change is not None
    assert {node.relations for node in transaction.change.report.nodes if node.strategy == "bootstrap"} == {("t",)}
    assert members(db) == ["rows", "rows"]
    assert set(db["w"]) == listed(now)
    assert list(db["all"]) == [(23,)]
    db.check()


@pytest.mark.parametrize("start", [True, False])
def test_closures_are_switched_off_and_on(start: bool) -> None:
    """A relation that has rows becomes a closure when it is bootstrapped."""
    db = opened("w(x, v) :- n(x), v = max y : { t(x, y) }.", closures=start)
    for x in range(10, 14):
        folded = (x % 2 == 1) is start
        db.options(closures=folded, strategy="bootstrap")
        db.insert("e", [(4, x)])
        db.commit()
        assert members(db) == ["pairs" if folded else "rows"]
        assert (1, x) in db["w"]
        db.options(strategy="update")
        db.insert("e", [(4, x - 5)])
        db.commit()
        db.check()


def test_a_store_is_reopened_with_members_of_groups(tmp_path: Path) -> None:
    with tidelog.connect(tmp_path / "db") as db:
        db.keeper.price = db.keeper.least = 0.0  # Each epoch ends with a checkpoint.
        db.load(DECLARED.format(kind="number", value="number") + WAYS["directed"])
        db.load("w(x, v) :- n(x), v = count : { t(_, x) }.")
        db.insert("e", EDGES)
        db.insert("n", [(x,) for x in range(1, 8)])
        db.commit()
        before = set(db["w"])
    with tidelog.connect(tmp_path / "db") as db:
        assert set(db["w"]) == before
        assert members(db) == ["pairs"]
        db.options(strategy="update")
        db.insert("e", [(4, 6)])
        assert db.commit().report.bootstraps == 0
        assert (6, 6) in db["w"]
        db.check()


def script_for(seed: int) -> Script:
    """Closures, and aggregates over them in all forms."""
    rng = random.Random(f"closures folded {seed}")
    rules = [rule for name in "tv" for rule in rng.choice(CLOSURES[name])]
    rules += [folding(rng) for _ in range(rng.randint(3, 6))]
    return over_numbers(rng, ARITIES, ["e", "f", "n", "s"], list(dict.fromkeys(rules)), rng.randint(4, 8))


def folding(rng: random.Random) -> str:
    name, pair = rng.choice("tv"), rng.choice(("x, y", "y, x"))
    op = rng.choice(("count : ", "sum y : ", "min y : ", "max y : ", "any y : "))
    if rng.random() < 0.15:
        return f"w(x, c) :- n(x), c = count : {{ {name}(_, _) }}."
    groups = rng.choice(("n(x)", "n(x), s(x)", f"{name}(x, _)", f"{name}(_, x)", "e(x, _)"))
    return f"{rng.choice('wh')}(x, c) :- {groups}, c = {op}{{ {name}({pair}) }}."


@pytest.mark.parametrize("strategy", ["update", "bootstrap", "auto"])
@pytest.mark.parametrize("seeds", chunks(FIRST_SEED, 40, 20))
def test_random_aggregates_over_closures(seeds: range, strategy: str) -> None:
    """In "update" a follower rejects bootstraps."""
    for seed in seeds if strategy == "update" else seeds[::4]:
        follow(replace(script_for(seed), seed=8 * seed), strategy)


def test_python_folds_closures() -> None:
    with kernels_in_python():
        for seed in range(FIRST_SEED, FIRST_SEED + cases(4)):
            follow(replace(script_for(seed), seed=8 * seed), "update")


def test_members_are_unwritten_wherever_a_closure_is_compressed() -> None:
    found = 0
    for seed in range(FIRST_SEED, FIRST_SEED + 5):
        follower = Follower(replace(script_for(seed), seed=0), "update")
        for epoch in follower.script.epochs:
            follower.follow(epoch)
            engine = follower.db.engine
            for node in engine.nodes:
                if node.members is not None:
                    compressed = isinstance(engine.views[node.members.closure], ClosedRelation)
                    assert isinstance(engine.views[node.relations[0]], ClosedMembers) is compressed
                    found += compressed
    assert found > 20


def test_an_epoch_stopped_anywhere_leaves_no_trace() -> None:
    stops = 0
    for seed in range(FIRST_SEED + 100, FIRST_SEED + 102):
        follower = Follower(replace(script_for(seed), seed=0), "update")
        for epoch in follower.script.epochs[:3]:
            commit = partial(follower.commit, epoch)
            change, failures = fails_without_trace(follower.db, commit, at_looks(limit), stride(1))
            stops += failures
            follower.note(epoch)
            follower.check(change)
    assert stops > cases(20)
