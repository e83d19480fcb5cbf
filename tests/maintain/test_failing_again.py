"""Commits that fail one after the other leave nothing behind that grows: no rows, indexes, words or files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.depth import cases
from tidelog.database.database import Database
from tidelog.errors import LimitError
from tidelog.maintain import epoch, reclaim

PROGRAM = """
.type Pair = [x: symbol, y: symbol]
.decl e(x: symbol, y: symbol)
.decl t(x: symbol, y: symbol)
.decl n(x: symbol, k: number)
.decl m(x: symbol, p: Pair)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(y, z), x != z.
n(x, k) :- e(x, _), k = count : { t(x, _) }.
m(cat(x, "!"), [x, y]) :- t(x, y).
"""
TIMES = 40 + cases(160)
ROWS = 8  # that each commit asserts


class Failing(Database):
    """A database whose epochs come to their end and then raise `error`, if there is one."""

    error: type[BaseException] | None = None

    def _seal(self, *_: object) -> None:
        if self.error is not None:
            raise self.error


def left(db: Database) -> dict[str, int]:
    """Return the size of a database: rows, dead ones included, places for relations and indexes, and words."""
    engine = db.engine
    relations = {id(each): each for each in (*engine.views.values(), *engine.asserted.values())}.values()
    return {
        "rows": max(each.rows for each in relations),
        "bytes": sum(each.bytes() for each in relations),
        "places": engine.catalog._next,
        "plans": len(engine.maintained),
        "words": db.workspace.dictionary.size,
        "extent": max(db.workspace.dictionary.extent(kind) for kind in ("symbol", "Pair")),
    }


def fail(db: Database, number: int, error: type[BaseException], *, drop: bool) -> None:
    """Make a commit fail; what it would have done is dropped, or waits and goes with the next."""
    db.insert("e", [(f"new {number} {i}", f"new {number} {i + 1}") for i in range(ROWS)])
    db.delete("e", [("a0", "a1")])
    with pytest.raises(error):
        db.commit()
    if drop:
        db.rollback()


def limited(db: Database) -> None:
    db.options(max_rows=30)


def sealing(error: type[BaseException]) -> Callable[[Database], None]:
    def set_error(db: Database) -> None:
        db.error = error  # type: ignore[attr-defined]

    return set_error


@pytest.mark.parametrize(
    ("strategy", "closures", "make_fail", "error"),
    [
        ("update", False, limited, LimitError),
        ("update", True, sealing(MemoryError), LimitError),
        ("bootstrap", False, sealing(KeyboardInterrupt), KeyboardInterrupt),
    ],
)
def test_failing_commits_leave_nothing_that_grows(
    strategy: str,
    closures: bool,
    make_fail: Callable[[Database], None],
    error: type[BaseException],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(epoch, "_RECLAIM", 64)
    monkeypatch.setattr(reclaim, "LEAST", 64)
    db = Failing()
    db.options(closures=closures)
    db.rules.add(PROGRAM)
    db.insert("e", [(f"a{i}", f"a{i + 1}") for i in range(5)])
    db.commit()
    before = {name: set(db[name]) for name in db.relations}
    db.options(strategy=strategy)
    make_fail(db)
    most: dict[str, int] = {}
    for number in range(TIMES):
        fail(db, number, error, drop=True)
        if number < TIMES // 2:
            most = {name: max(count, most.get(name, 0)) for name, count in left(db).items()}
        else:
            grown = {name: count - most[name] for name, count in left(db).items() if count > most[name]}
            assert grown.pop("bytes", 0) < most["bytes"]  # Lists of a closure are moved together now and then.
            assert grown == {}
    assert most["rows"] < 64 + 15 + 50
    assert most["words"] < 1_000
    assert {name: set(db[name]) for name in db.relations} == before
    db.options(max_rows=None)
    db.error = None
    db.insert("e", [("x", "y")])
    db.commit()
    assert set(db["e"]) == before["e"] | {("x", "y")}
    db.check()


def test_what_waits_is_there_after_many_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its words and rows are kept, and no more of them than once."""
    monkeypatch.setattr(epoch, "_RECLAIM", 64)
    monkeypatch.setattr(reclaim, "LEAST", 64)
    db = Failing()
    db.rules.add(PROGRAM)
    db.commit()
    db.insert("e", [("waiting", "for you")])
    db.error = MemoryError
    for number in range(20):
        fail(db, number, LimitError, drop=False)
    rows = left(db)["rows"]
    db.error = None
    db.commit()
    new = {(f"new {number} {i}", f"new {number} {i + 1}") for number in range(20) for i in range(ROWS)}
    assert set(db["e"]) == new | {("waiting", "for you")}
    assert rows < 4 * len(db["t"])
    db.check()


def test_failing_commits_of_a_store_leave_no_files(tmp_path: Path) -> None:
    with tidelog.connect(tmp_path / "views.tide") as db:
        db.rules.add(PROGRAM)
        db.insert("e", [("a0", "a1")])
        db.commit()
        files: set[Any] = {path.relative_to(tmp_path) for path in tmp_path.rglob("*")}
        db.options(max_rows=1)
        for number in range(20):
            fail(db, number, LimitError, drop=True)
        assert {path.relative_to(tmp_path) for path in tmp_path.rglob("*")} == files
    with tidelog.connect(tmp_path / "views.tide") as again:
        assert set(again["e"]) == {("a0", "a1")}
