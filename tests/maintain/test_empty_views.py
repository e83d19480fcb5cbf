"""A view without tuples follows changes like any other: the alert that never fires costs what the change is worth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tidelog
from tests.recount import asserted_in, mistakes, state_of
from tidelog.kernels import layout
from tidelog.maintain.machine import Interpreter

DECLARED = """
.decl e(x: number, y: number) .decl bad(x: number) .decl ok(x: number)
.decl alert(x: number, y: number) .decl b(x: number, y: number) .decl n(x: number, c: number)
"""
ALERTS = {
    "join": "alert(x, y) :- e(x, z), e(z, y), bad(x), bad(y).",
    "negation": "alert(x, y) :- e(x, y), !ok(x), bad(y).",
    "over an empty view": "b(x, y) :- e(x, y), bad(x). alert(x, y) :- b(x, z), e(z, y), bad(y).",
    "recursion": "b(x, y) :- e(x, y), bad(x). alert(x, y) :- b(x, y), bad(y). alert(x, z) :- alert(x, y), e(y, z).",
    "aggregate": "n(x, c) :- bad(x), c = count : { e(x, _) }. alert(x, c) :- n(x, c), c >= 1.",
    "closure": "b(x, y) :- e(x, y), bad(x), bad(y). alert(x, y) :- b(x, y). alert(x, z) :- alert(x, y), alert(y, z).",
}
EDGES = numpy.stack([numpy.arange(2_000), (7 * numpy.arange(2_000) + 1) % 2_000], axis=1)


@pytest.fixture
def bindings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bindings that each run of kernels over plans has made; none of them stops before its end here."""
    made: list[int] = []
    original: Callable[..., int] = Interpreter.converse

    def counted(self: Interpreter, *arguments: Any, **options: Any) -> int:
        status = original(self, *arguments, **options)
        made.append(int(self.levels[layout.S_WORK]))
        return status

    monkeypatch.setattr(Interpreter, "converse", counted)
    return made


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_that_does_not_fire_is_updated(name: str, bindings: list[int]) -> None:
    db = tidelog.connect()
    db.rules.add(DECLARED + ALERTS[name])
    db.insert("e", EDGES)
    db.insert("ok", [(i,) for i in range(2_000)])
    assert db.commit().report.bootstraps > 0
    for i in range(4):
        bindings.clear()
        db.insert("e", [(3_000 + i, 3_001 + i)])
        report = db.commit().report
        assert (report.bootstraps, report.impact) == (0, 0)
        assert report.updates > 0
        assert sum(bindings) < 200
    for _ in range(2):  # It fires, and is silent again.
        db.insert("bad", [(3_000,), (3_001,), (3_002,)])
        assert db.commit().report.bootstraps == 0
        fired = set(db["alert"])
        assert fired
        db.delete("bad", [(3_000,), (3_001,), (3_002,)])
        assert db.commit().report.bootstraps == 0
        assert not db["alert"]
    assert mistakes(db, state_of(db), asserted_in(db)) == ""


def test_a_view_that_was_empty_is_bootstrapped_for_a_large_change() -> None:
    db = tidelog.connect()
    db.rules.add(DECLARED + ALERTS["join"])
    db.commit()
    db.insert("e", EDGES)
    assert db.commit().report.bootstraps == 1
