"""The work of an epoch is in proportion to the change, not to the number of rules: counted in bytecodes and calls."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import tidelog
from tidelog import Database
from tidelog.maintain.epoch import EpochState


def bytecodes(work: Callable[[], object]) -> int:
    """The number of bytecodes that `work` executes."""
    executed = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal executed
        frame.f_trace_opcodes = True
        executed += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return executed


def with_rules(number: int) -> Database:
    """A database in which one closure follows `e`, and so many views, aggregates and paths something else."""
    parts = [
        f".decl f{i}(x: number, y: number)  .decl v{i}(x: number, y: number)  .decl n{i}(n: number)\n"
        f"v{i}(x, y) :- f{i}(x, y), x < y.  n{i}(n) :- n = count : {{ f{i}(_, _) }}.\n.limitsize f{i}(n=1000)\n"
        for i in range(number)
    ]
    db = tidelog.connect()
    db.load(
        ".decl e(x: number, y: number)  .decl t(x: number, y: number)  .decl odd(x: number)\n"
        "t(x, y) :- e(x, y), x != y.  t(x, z) :- t(x, y), e(y, z), x != z.\n"
        "odd(x) :- e(x, _), x % 2 = 1.\n" + "".join(parts)
    )
    db.insert("e", [(1, 2)])
    db.commit()
    for x in range(2, 6):
        db.insert("e", [(x, x + 1)])
        list(db.commit())
    return db


def test_an_epoch_of_one_fact_does_not_see_the_rules_that_it_does_not_concern() -> None:
    counted = []
    for number in (5, 65):
        db = with_rules(number)
        seen: list[object] = []
        db.subscribe("odd", seen.append)

        def epoch(db: Database = db) -> None:
            db.insert("e", [(6, 7)])
            change = db.commit()
            assert (list(change), change.report.updates) == (["e", "t"], 1 + 1)

        counted.append(bytecodes(epoch))
        assert not seen
        db.insert("e", [(7, 8)])
        assert len(db.commit().report.nodes) == 2 + 5 * number
    assert counted[1] - counted[0] < 60, "less than a bytecode for each of 60 views more"


def test_rules_are_not_hashed_anew_for_each_rule() -> None:
    """Of one hyper-node with many rules, some of them new."""
    db = tidelog.connect()
    db.load(".decl e(x: number, y: number)  .decl r(x: number, y: number)  r(x, y) :- e(x, y).")
    db.load("".join(f"r(x, z) :- r(x, y), e(y, z), z != {i}.\n" for i in range(100)))
    db.insert("e", [(1, 2), (2, 3)])
    db.commit()
    db.load("".join(f"r(y, x) :- r(x, y), e(y, _), y != {i}.\n" for i in range(20)))
    hashed = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal hashed
        hashed += event == "call" and frame.f_code.co_name == "__hash__" and "body" in frame.f_code.co_names

    sys.setprofile(count)
    try:
        db.commit()
    finally:
        sys.setprofile(None)
    assert hashed <= 10 * 20


def test_a_rule_that_comes_or_goes_is_the_only_one_that_is_looked_at() -> None:
    work = {}
    for number in (5, 45):
        db = with_rules(number)
        load = bytecodes(lambda db=db: db.load("one: odd(x) :- e(_, x), x > 7."))  # type: ignore[misc]
        commit = bytecodes(db.commit)
        db.load("two: odd(x) :- e(_, x), x > 8.")
        change = db.commit()
        assert [(node.relations, node.reason) for node in change.report.visited] == [
            (("odd",), "its rules have changed")
        ]
        assert len(change.report.nodes) == 2 + 5 * number
        db.rules.remove("two")
        assert len(db.commit().report.visited) == 1
        work[number] = load, commit
    # of a view, an aggregate and their five hyper-nodes; before they were compared by identity, 7,500 and 11,500
    assert (work[45][0] - work[5][0]) / 40 < 5_500
    assert (work[45][1] - work[5][1]) / 40 < 2_500


def test_of_a_large_hyper_node_only_relations_whose_rules_read_a_change_are_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Twenty relations that depend on each other in a ring: a tuple enters four of them, then three more, and leaves
    them."""
    text = [
        f".decl e{i}(x: number)  .decl p{i}(x: number)  .decl c{i}(x: number)  p{i}(x) :- e{i}(x).\n"
        f"p{i}(x) :- p{(i - 1) % 20}(x), c{i}(x).\n"
        for i in range(20)
    ]
    db = tidelog.connect()
    db.options(strategy="update")
    db.load("".join(text))
    for i in (3, 4, 5, 7, 8):
        db.insert(f"c{i}", [(7,)])
    db.commit()
    opened: list[int] = []
    finish = EpochState.finish

    def counting(state: EpochState, *others: Any) -> Any:
        opened.append(len(state.opened))
        return finish(state, *others)

    monkeypatch.setattr(EpochState, "finish", counting)
    db.insert("e2", [(7,)])
    change = db.commit()
    assert sorted(change) == ["e2", "p2", "p3", "p4", "p5"]
    assert change.report.updates == 1
    db.insert("c6", [(7,)])
    assert sorted(db.commit()) == ["c6", "p6", "p7", "p8"]
    db.delete("e2", [(7,)])
    assert sorted(db.commit()) == ["e2", *(f"p{i}" for i in range(2, 9))]
    assert not any(len(db[f"p{i}"]) for i in range(20))
    assert opened == [5, 4, 8]  # those that change: no rule of the next one in the ring has rows to join
