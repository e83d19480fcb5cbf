"""Symbols and records that nothing refers to are given back, and no word that is in use changes its meaning."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy
import pytest

import tidelog
from tests.depth import cases, stride
from tests.interrupting import attempts
from tests.maintain.churn import FACTS, Twins, epochs, fact, reclaiming_always, reopened
from tidelog.maintain import reclaim
from tidelog.maintain.reclaim import Reclaimer
from tidelog.storage import dictionary
from tidelog.storage.usage import Usage

DECLARED = ".type P = [x: symbol, y: symbol] .decl e(x: symbol, y: symbol) .decl p(x: P)"


@pytest.fixture
def eager() -> Iterator[None]:
    """Words are looked through before every epoch."""
    with reclaiming_always() as patch:
        patch.setattr(dictionary, "_BULK", 0)  # Symbols are kept as if they were many.
        yield


@pytest.mark.parametrize("seed", range(cases(12)))
def test_churn_shows_what_a_database_shows_that_keeps_all_words(seed: int, eager: None) -> None:
    twins = Twins()
    for _ in epochs(random.Random(seed), twins, 25):
        pass
    assert twins.sparing.workspace.dictionary.size < twins.plain.workspace.dictionary.size
    twins.sparing.check()


def test_a_store_with_few_facts_is_opened_with_few_words(tmp_path: Path, eager: None) -> None:
    twins = reopened(random.Random(8), tmp_path / "views.tide", 12)
    twins.sparing.insert("e", [(f"one {i}", f"other {i}") for i in range(20)])
    twins.sparing.commit()
    before = twins.sparing.workspace.dictionary.size
    for name in FACTS:
        twins.sparing.delete(name, list(twins.sparing[name]))
    for name in list(twins.sparing.rules):
        if name in ("special", "fixed", "pairs"):
            twins.sparing.rules.remove(name)
    twins.sparing.commit()
    twins.sparing.keeper.write_checkpoint(twins.sparing.engine)  # type: ignore[attr-defined]
    twins.sparing.close()
    with tidelog.connect(tmp_path / "views.tide") as again:
        assert (before > 20, len(again.workspace.dictionary)) == (True, 0)
        assert list(map(again.workspace.dictionary.extent, again.workspace.dictionary.types)) == [1, 1]


def test_a_long_life_with_few_facts_has_few_words() -> None:
    db = tidelog.connect()
    db.rules.add(DECLARED)
    db.commit()
    sizes: list[int] = []
    last: list[Any] = []
    for i in range(60):
        rows = [(f"a {i} {j}", f"b {i} {j}") for j in range(500)]
        db.insert("e", rows)
        db.insert("p", [(row,) for row in rows])
        db.delete("e", last)
        db.delete("p", [(row,) for row in last])
        db.commit()
        sizes.append(db.workspace.dictionary.size)
        last = rows
    assert max(sizes) < 30_000
    assert max(len(db.workspace.dictionary), db.workspace.dictionary.extent("P")) < 20_000
    assert set(db["e"]) == set(last)
    db.check()


def test_work_waits_for_as_many_words_as_it_looks_at(monkeypatch: pytest.MonkeyPatch) -> None:
    swept: list[bool] = []
    original = Reclaimer.sweep

    def counted(self: Reclaimer, *arguments: object) -> bool:
        swept.append(original(self, *arguments))  # type: ignore[arg-type]
        return swept[-1]

    monkeypatch.setattr(Reclaimer, "sweep", counted)
    db = tidelog.connect()
    db.rules.add(DECLARED)
    db.insert("e", [(f"a {j}", f"b {j}") for j in range(40_000)])
    db.commit()
    for i in range(100):
        db.insert("e", [(f"new {i} {j}", "b 1") for j in range(40)])
        db.delete("e", [(f"new {i - 1} {j}", "b 1") for j in range(40)])
        db.commit()
    assert sum(swept[1:]) <= 1  # 80,000 words are not looked through for 8,000.


@pytest.mark.parametrize("holding", [False, True])
def test_the_words_looked_at_are_a_multiple_of_those_that_came_and_went(
    holding: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a long life with many rows over few words, in relations or in answers that a user holds."""
    monkeypatch.setattr(reclaim, "LEAST", 64)
    looked: list[int] = []
    add = Usage.add

    def counted(self: Usage, kinds: Sequence[str], rows: numpy.ndarray) -> None:
        looked.append(rows.size)
        add(self, kinds, rows)

    monkeypatch.setattr(Usage, "add", counted)
    db = tidelog.connect()
    db.rules.add(DECLARED)
    db.insert("e", [(f"a {i}", f"b {j}") for i in range(60) for j in range(60)])
    db.commit()
    answers = [db.query("e(X, Y)")] if holding else []
    if holding:
        db.delete("e", list(db["e"]))
        db.commit()
    looked.clear()
    start = db.workspace.dictionary.values_added
    for i in range(120):
        db.insert("e", [(f"new {i} {j}", "b 1") for j in range(10)])
        db.delete("e", [(f"new {i - 1} {j}", "b 1") for j in range(10)])
        db.commit()
    came = db.workspace.dictionary.values_added - start
    assert came >= 1_200
    own = 4 * 10 * len(looked)  # what waits for the commit, and the change before
    assert 0 < sum(looked) <= 8 * 2 * came + 7_200 + own
    assert db.workspace.dictionary.size < 2_000
    assert [len(each) for each in answers] == [3_600] * len(answers)


def test_what_is_held_keeps_its_words(eager: None) -> None:
    db = tidelog.connect()
    db.rules.add(DECLARED + ' .decl d(x: symbol) d(cat(x, "!")) :- e(x, _).')
    db.insert("e", [("alice", "bob"), ("carol", "dave")])
    db.insert("p", [(("eve", "mallory"),)])
    change = db.commit()
    answer, iterator = db.query("e(X, Y)"), iter(db["d"])
    first = next(iterator)
    db.delete("e", [("alice", "bob"), ("carol", "dave")])
    db.delete("p", [(("eve", "mallory"),)])
    db.commit()
    for i in range(5):
        db.insert("e", [(f"{i} {j}", f"{j} {i}") for j in range(9)])
        db.insert("p", [((f"p {i} {j}", "q"),) for j in range(9)])
        db.commit()
    assert set(change["e"].inserted) == set(answer) == {("alice", "bob"), ("carol", "dave")}
    assert set(change["p"].inserted) == {(("eve", "mallory"),)}
    assert {first, *iterator} == set(change["d"].inserted) == {("alice!",), ("carol!",)}
    del change, answer, iterator
    db.commit()
    assert db.workspace.dictionary.find("alice", "symbol") is None
    assert db.workspace.dictionary.find(("eve", "mallory"), "P") is None


def test_a_rule_that_comes_back_finds_its_constants(eager: None) -> None:
    """Plans are kept with the words of their constants, for as long as the rules are there."""
    db = tidelog.connect()
    db.options(strategy="update")
    db.rules.add(DECLARED + ".decl hit(x: symbol)")
    for i in range(4):
        db.rules.add('r: hit(x) :- e(x, "needle").')
        db.insert("e", [(f"x{i}", "needle"), (f"y{i}", "hay")])
        db.commit()
        db.insert("e", [(f"z{i}", "needle")])
        db.commit()
        assert set(db["hit"]) == {(f"x{i}",), (f"z{i}",)}
        db.rules.remove("r")
        db.delete("e", list(db["e"]))
        db.commit()
        db.insert("e", [(f"other {i} {j}", f"word {i} {j}") for j in range(9)])
        db.commit()
        db.delete("e", list(db["e"]))
        db.commit()


@pytest.mark.parametrize("share", [lambda db: db.dictionary, lambda db: db["e"].words(), lambda db: db["e"].dictionary])
def test_words_that_a_user_has_are_never_given_back(share: object, eager: None) -> None:
    db = tidelog.connect()
    db.rules.add(DECLARED)
    db.insert("e", [("alice", "bob")])
    db.commit()
    words = numpy.array([[db.workspace.dictionary.find(name, "symbol") for name in ("alice", "bob")]])
    share(db)  # type: ignore[operator]
    db.delete("e", [("alice", "bob")])
    db.commit()
    db.insert("e", [("eve", "mallory")])
    db.commit()
    db.insert_words("e", words)
    db.commit()
    assert set(db["e"]) == {("alice", "bob"), ("eve", "mallory")}


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_sweep_is_interrupted_anywhere(error: type[BaseException], eager: None) -> None:
    for attempt in attempts(
        error, "storage/symbols.py", "storage/records.py", "storage/dictionary.py", every=stride(19)
    ):
        db = tidelog.connect()
        db.rules.add(DECLARED)
        db.insert("e", [(f"a{i}", f"b{i}") for i in range(4)])
        db.insert("p", [((f"a{i}", f"c{i}"),) for i in range(4)])
        db.commit()
        db.delete("e", [(f"a{i}", f"b{i}") for i in range(1, 4)])
        db.delete("p", [((f"a{i}", f"c{i}"),) for i in range(3)])
        db.commit()
        with attempt, suppress(tidelog.LimitError):
            db.commit()
            db.insert("e", [("new", "newer")])
            db.insert("p", [(("newest", "new"),)])
        db.rollback()
        for i in range(3):
            db.insert("e", [(f"x{i}", f"y{i}"), ("a1", "b0")])
            db.insert("p", [((f"x{i}", "c3"),)])
            db.commit()
            assert set(db["e"]) == {("a0", "b0"), ("a1", "b0"), *((f"x{j}", f"y{j}") for j in range(i + 1))}
            assert set(db["p"]) == {(("a3", "c3"),), *(((f"x{j}", "c3"),) for j in range(i + 1))}
        db.close()


def test_facts_of_churn_are_of_all_kinds() -> None:
    rng = random.Random(1)
    assert {type(fact(rng, name)) for name in FACTS} == {tuple}


def test_collected_symbols_are_kept(eager: None) -> None:
    db = tidelog.connect()
    db.load(".decl e(g: number, y: symbol) .decl all(g: number, x: symbol)")
    db.load("all(g, x) :- e(g, _), x = collect y : { e(g, y) }.")
    db.insert("e", [(1, "a"), (1, "b"), (2, "c0")])
    db.commit()
    for number in range(1, 6):
        db.insert("e", [(2, f"c{number}")])
        db.delete("e", [(2, f"c{number - 1}")])
        db.commit()
        assert set(db["all"]) == {(1, "a,b"), (2, f"c{number}")}
