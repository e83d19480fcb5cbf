"""The interval of a median, by hand, and the copies of a rule."""

from __future__ import annotations

import tidelog
from benchmarks.profile import copied, interval

_PATHS = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
.decl end(y: number)
first: path(x, y) :- edge(x, y).
next: path(x, z), end(z) :- path(x, y), edge(y, z).
"""


def test_an_interval_leaves_out_as_many_figures_as_95_percent_allow() -> None:
    assert interval([*range(20, 0, -1)]) == (6, 15)
    assert interval([*range(1, 10)]) == (2, 8)
    assert interval([3, 1, 2]) == (1, 3)
    assert interval([7]) == (7, 7)


def test_copies_of_a_recursive_rule_take_part_in_its_recursion_and_change_no_view() -> None:
    with tidelog.connect() as db:
        db.options(closures=False)
        db.load(_PATHS)
        db.insert("edge", [(1, 2), (2, 3), (3, 4)])
        db.commit()
        relations, copies = copied(db.program, "next", list(db.hyper_nodes), 2)
        db.load(relations + copies)
        db.commit()
        assert sorted(db["path"]) == [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)]
        for copy in range(2):
            assert sorted(db[f"copy_{copy}_0"]) == [(1, 3), (1, 4), (2, 4)]
            assert sorted(db[f"copy_{copy}_1"]) == [(3,), (4,)]
        assert any({"next", "r3", "r6"} <= {*node} for node in db.hyper_nodes), db.hyper_nodes


def test_a_copy_of_a_rule_that_is_not_recursive_is_no_part_of_a_recursion() -> None:
    with tidelog.connect() as db:
        db.load(_PATHS)
        db.commit()
        relations, copies = copied(db.program, "first", list(db.hyper_nodes), 1)
        assert ":-" not in relations
        assert copies == "copy_0_0(x, y) :- edge(x, y)."
