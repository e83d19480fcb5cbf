"""The interval of a median, copies of rules, and which of them are the slowest: by hand."""

from __future__ import annotations

import tidelog
from benchmarks.profile import Cost, copied, interval, named_rightly

_PATHS = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
first: path(x, y) :- edge(x, y).
next: path(x, z) :- path(x, y), edge(y, z).
"""


def test_an_interval_leaves_out_as_many_figures_as_95_percent_allow() -> None:
    assert interval([*range(20, 0, -1)]) == (6, 15)
    assert interval([*range(1, 10)]) == (2, 8)
    assert interval([3, 1, 2]) == (1, 3)
    assert interval([7]) == (7, 7)


def test_copies_of_a_rule_run_as_often_as_the_rule_and_change_no_view() -> None:
    with tidelog.connect() as db:
        db.options(closures=False, profile=True)
        db.load(_PATHS)
        db.load(copied(db.program, "next", 2))
        db.insert("edge", [(1, 2), (2, 3), (3, 4)])
        db.commit()
        assert sorted(db["path"]) == [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)]
        rules = {rule.name: rule for rule in db.profile().rules}
        assert {(rule.tried, rule.found) for name, rule in rules.items() if name != "first"} == {(12, 3)}


def test_a_rule_that_costs_more_than_one_of_the_three_named_is_missed() -> None:
    named = [Cost(4, 4), Cost(3, 3), Cost(2, 1.9)]
    assert named_rightly([*named, Cost(1, 2.1)])
    assert not named_rightly([*named, Cost(1, 2.2)])
