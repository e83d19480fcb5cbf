"""Rows that an undone epoch has inserted are nowhere, whatever comes to stand in their place."""

from __future__ import annotations

import pytest

import tidelog
from tests.recount import asserted_in, mistakes, state_of
from tests.suite import loaded
from tidelog.errors import LimitError

PROGRAM = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(y, z), x < 1000, z != 1.
"""
FAILED = [(1_000_000 + number, number) for number in range(300)]
OTHERS = [(2_000_000 + number, number) for number in range(300)]


def refused(db: tidelog.Database, rows: list[tuple[int, int]]) -> None:
    """Let an epoch insert these rows and then fail."""
    db.options(max_rows=len(rows) // 2)
    db.insert("e", rows)
    with pytest.raises(LimitError):
        db.commit()
    db.rollback()
    db.options(max_rows=None)


def test_rows_that_were_taken_back_are_not_found_where_others_stand_now() -> None:
    """The next epoch inserts others in the same places, then these: a slot that still pointed there would find them."""
    db = loaded(PROGRAM, {"e": [(0, 1), (1, 2)]})
    db.options(strategy="update")
    refused(db, FAILED)
    assert not any(row in db["e"] or row in db["t"] for row in FAILED)
    db.insert("e", OTHERS)
    assert db.commit().report.bootstraps == 0
    assert not any(row in db["e"] or row in db["t"] for row in FAILED)
    db.insert("e", FAILED)
    change = db.commit()
    assert change.report.bootstraps == 0
    assert sorted(change["e"].inserted) == sorted(change["t"].inserted) == FAILED
    assert all(row in db["t"] for row in [*FAILED, *OTHERS, (0, 1), (1, 2), (0, 2)])
    assert len(db["t"]) == 603
    assert mistakes(db, state_of(db), asserted_in(db)) == ""
