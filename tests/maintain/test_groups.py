"""Aggregates whose groups come through the recursion that reads their value."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidelog
from tests.scripts import without_need
from tidelog.language import check, read
from tidelog.rules import compile_program
from tidelog.rules.outline import describe, outline

STRATEGIES = ("auto", "update", "bootstrap")
DECLARATIONS = """
.decl talk(start: number, end: number)
.decl heard(start: number, end: number)
.decl tired(n: number)
"""
NEXT = "next: heard(s, e) :- heard(_, now), s = min z : { talk(z, _), z >= now }, talk(s, e)."
ALL = "all: heard(s, e) :- heard(_, s), talk(s, e)."
TIRED = "tired: tired(n) :- n = count : { heard(_, _) }."


def with_talks(strategy: str, *rules: str, folder: Path | None = None) -> tidelog.Database:
    db = tidelog.connect() if folder is None else tidelog.connect(folder)
    db.options(strategy=strategy)
    db.load(DECLARATIONS + "\n".join(rules))
    db.insert("talk", [(9, 11), (10, 12), (12, 13), (13, 14)])
    db.insert("heard", [(0, 9)])
    db.commit()
    return db


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_views_follow_facts_of_members_and_of_the_recursion(strategy: str) -> None:
    db = with_talks(strategy, NEXT, TIRED)
    assert set(db["heard"]) == {(0, 9), (9, 11), (12, 13), (13, 14)}
    db.insert("talk", [(11, 12)])
    change = db.commit()
    assert set(change["heard"].inserted) == {(11, 12)}
    assert strategy != "update" or (change.report.updates and not any(map(without_need, change.report.nodes)))
    db.check()
    db.delete("talk", [(12, 13)])
    change = db.commit()
    assert set(db["heard"]) == {(0, 9), (9, 11), (11, 12), (13, 14)}
    assert set(change["heard"].deleted) == {(12, 13)}
    db.delete("heard", [(0, 9)])
    db.insert("heard", [(5, 10)])
    assert set(db.commit()["tired"].inserted) == {(3,)}
    assert set(db["heard"]) == {(5, 10), (10, 12), (13, 14)}
    db.check()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_facts_follow_the_rule_that_takes_groups_from_them(strategy: str) -> None:
    db = with_talks(strategy, ALL)
    assert set(db["heard"]) == {(0, 9), (9, 11)}
    db.rules.add(NEXT)
    db.rollback()
    db.rules.add(NEXT)
    db.insert("heard", [(20, 21)])
    change = db.commit()
    assert set(change["heard"].inserted) == {(12, 13), (13, 14), (20, 21)}
    db.check()
    db.rules.remove("all")
    db.delete("heard", [(20, 21)])
    db.commit()
    assert set(db["heard"]) == {(0, 9), (9, 11), (12, 13), (13, 14)}
    db.check()
    db.rules.remove("next")
    db.commit()
    assert set(db["heard"]) == {(0, 9)}
    db.delete("heard(0, _)")
    db.commit()
    assert set(db["heard"]) == set()


def test_a_store_keeps_the_facts(tmp_path: Path) -> None:
    db = with_talks("auto", NEXT, folder=tmp_path / "store")
    db.close()
    db = tidelog.connect(tmp_path / "store")
    assert set(db["heard"]) == {(0, 9), (9, 11), (12, 13), (13, 14)}
    db.clear("heard")
    db.insert("heard", [(0, 13)])
    db.commit()
    assert set(db["heard"]) == {(0, 13), (13, 14)}
    db.check()


def test_relations_that_select_give_groups_too() -> None:
    db = tidelog.connect()
    db.load("""
        .decl edge(x: number, y: number)  .decl wall(x: number)
        .decl far(x: number, c: number) min(c)
        far(y, c + 1) :- far(x, c), edge(x, y), c < 9, 2 > count : { wall(z), z < x }.
    """)
    db.insert("edge", [(1, 2), (2, 3), (3, 4), (1, 3), (4, 5)])
    db.insert("wall", [(0,), (3,)])
    db.insert("far", [(1, 0)])
    db.commit()
    assert set(db["far"]) == {(1, 0), (2, 1), (3, 1), (4, 2)}
    db.delete("wall", [(0,)])
    db.insert("far", [(3, 0)])
    db.commit()
    assert set(db["far"]) == {(1, 0), (2, 1), (3, 0), (4, 1), (5, 2)}
    db.check()


def test_pictures_show_the_rules_as_they_are_written() -> None:
    core = compile_program(check(read(DECLARATIONS + NEXT + TIRED)), as_written=True)
    boxes = outline(core).boxes
    assert [box.titles for box in boxes if box.sort != "auxiliary"] == [("talk",), ("heard",), ("tired",)]
    assert [box.parts for box in boxes if box.sort == "node"] == [(("next",),), (("tired",),)]
    assert "#" not in "".join(title for box in boxes for title in box.titles)
    assert "1  heard  (recursive)" in describe(core)


def test_nodes_say_that_they_cannot() -> None:
    text = """
        .decl talk(@p: symbol, start: number)
        .decl heard(@p: symbol, start: number)
        next: heard(@p, s) :- heard(@p, now), s = min z : { talk(@p, z), z > now }.
    """
    with pytest.raises(tidelog.ProgramError) as caught:
        tidelog.network.Simulation(text)
    assert caught.value.code == "E0316"
    assert "come through the recursion, in rule next" in str(caught.value)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_record_of_wildcards_gives_no_group_a_value(strategy: str) -> None:
    db = tidelog.connect()
    db.options(strategy=strategy)
    db.load("""
        .type List = [head: number, tail: List]
        .decl given(list: List)
        .decl e(x: number)
        .decl suffix(list: List)
        suffix(list) :- given(list).
        rest: suffix(list) :- list = [_, _], 1 <= count : { list = list, e(head) }, suffix([head, list]).
    """)
    db.insert("given", [((1, (2, (3, (4, None)))),)])
    db.insert("e", [(1,), (3,)])
    db.commit()
    assert set(db["suffix"]) == {((1, (2, (3, (4, None)))),), ((2, (3, (4, None))),)}
    db.insert("e", [(2,)])
    change = db.commit()
    assert set(change["suffix"].inserted) == {((3, (4, None)),), ((4, None),)}
    assert strategy != "update" or change.report.updates
    db.check()
