"""Updates over long segments: thousands of rows share a key, many of them dead, and batches fill up in the middle."""

from __future__ import annotations

import pytest

import tidelog

JOIN = """
.decl a(x: number, y: number)
.decl b(x: number, y: number)
.decl c(x: number, y: number)
.decl j(x: number, z: number)
.decl k(x: number, z: number)
c(x, y) :- a(x, y).
more: c(x, y) :- b(x, y).
j(x, z) :- c(x, y), c(y, z).
k(x, z) :- j(x, z), !b(x, z).
"""


def database(facts: dict[str, list[tuple[int, int]]], text: str = JOIN) -> tidelog.Database:
    db = tidelog.connect()
    db.load(text)
    for name, rows in facts.items():
        db.insert(name, rows)
    db.commit()
    db.options(strategy="update")
    return db


@pytest.mark.parametrize("size", [120, 500])
def test_a_rule_with_many_derivations_goes_and_comes_back(size: int) -> None:
    chain = [(i, j) for i in range(size) for j in range(i + 1, min(size, i + 90))]
    facts = {"a": chain[::3], "b": [edge for i, edge in enumerate(chain) if i % 3]}
    db = database(facts)
    full = {name: db.births(name) for name in "cjk"}
    without = database(facts, JOIN.replace("more: c(x, y) :- b(x, y).\n", ""))
    with db.transaction() as tx:
        tx.rules.remove("more")
    assert tx.change is not None
    assert tx.change.report.bootstraps == 0
    assert {name: set(db[name]) for name in "cjk"} == {name: set(without[name]) for name in "cjk"}
    with db.transaction() as tx:
        tx.rules.add("more: c(x, y) :- b(x, y).")
    assert {name: {t: count for t, (_, count) in db.births(name).items()} for name in "cjk"} == {
        name: {t: count for t, (_, count) in born.items()} for name, born in full.items()
    }


def test_a_hub_loses_most_of_its_edges() -> None:
    hub = [(0, i) for i in range(1, 40_000)] + [(i, 0) for i in range(40_000, 40_020)]
    db = database({"a": hub})
    assert len(db["j"]) == 20 * 39_999
    change_in_hub = [(0, i) for i in range(1, 39_000)]
    db.delete("a", change_in_hub)
    assert db.commit().report.bootstraps == 0
    assert len(db["j"]) == 20 * 1_000
    db.insert("a", change_in_hub)
    db.commit()
    assert len(db["j"]) == 20 * 39_999
