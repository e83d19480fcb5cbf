"""Ctrl-C at any place of a commit: when it raises, nothing has changed and everything still waits; when it returns,
everything is there, and the interrupt follows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.depth import stride
from tests.pressing import pressed, presses

PROGRAM = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl n(x: number)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(y, z), x < 9.
"""
MORE = ".decl d(x: number)\nd(x) :- e(x, _), !n(x).\nn(1)."
CORE = (
    "database/database.py",
    "verbs.py",
    "workspace/workspace.py",
    "database/transaction.py",
    "change.py",
    "limits/interrupts.py",
    "limits/watch.py",
    "turns.py",
)
"""Where commits begin and end."""

BEFORE = {"e": {(1, 2), (2, 3)}, "t": {(1, 2), (2, 3), (1, 3)}, "n": set()}
AFTER = {"e": {(1, 2), (3, 4)}, "t": {(1, 2), (3, 4)}, "n": {(1,)}, "d": {(3,)}}


def begun(db: tidelog.Database) -> tidelog.Database:
    db.load(PROGRAM)
    db.insert("e", [(1, 2), (2, 3)])
    db.commit()
    return db


def change(db: tidelog.Database) -> None:
    db.load(MORE)
    db.delete("e", [(2, 3)])
    db.insert("e", [(3, 4)])


def views(db: tidelog.Database) -> dict[str, set[tuple[object, ...]]]:
    return {name: set(db[name]) for name in db.relations}


@pytest.fixture
def makes(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], tidelog.Database]:
    """A new database in memory or in a folder."""
    folders = (tmp_path / str(number) for number in range(1_000_000))
    return tidelog.connect if request.param == "memory" else lambda: tidelog.connect(next(folders))


PLACES = pytest.mark.parametrize(
    ("makes", "files", "first", "every", "opcodes"),
    [
        ("memory", CORE, 1, stride(1), False),
        ("memory", CORE, 1, stride(2), True),
        ("memory", ("tidelog/",), 3, stride(105), False),
        ("store", CORE, 2, stride(3), False),
        ("store", ("tidelog/",), 5, stride(200), False),
    ],
    indirect=["makes"],
    ids=["memory", "bytecodes", "deep", "store", "store-deep"],
)


@PLACES
def test_a_commit_is_all_there_or_all_waiting(
    makes: Callable[[], tidelog.Database], files: tuple[str, ...], first: int, every: int, opcodes: bool
) -> None:
    seen = {True: 0, False: 0}
    for attempt in presses(*files, first=first, every=every, opcodes=opcodes):
        db = begun(makes())
        told: list[set[tuple[object, ...]]] = []
        ended: list[bool] = []

        def hear(change: Any, told: list[set[tuple[object, ...]]] = told, ended: list[bool] = ended) -> None:
            try:
                told.append(set(change.deleted))
            except KeyboardInterrupt:  # Ctrl-C has ended the subscriber itself.
                ended.append(True)
                raise

        db.subscribe("t", hear)
        change(db)
        made: list[tidelog.Change] = []

        def commit(db: tidelog.Database = db, made: list[tidelog.Change] = made) -> None:
            made.append(db.commit())

        stopped = pressed(attempt, commit)
        seen[stopped] += 1
        if stopped:
            assert views(db) == BEFORE | {"d": set()}, attempt.place
            assert told == [], attempt.place
            assert db.has_pending
            made.append(db.commit())
        assert views(db) == AFTER, attempt.place
        assert [set(each["t"].inserted) for each in made] == [{(3, 4)}], attempt.place
        assert ended or told == [{(2, 3), (1, 3)}], attempt.place
        assert not db.has_pending
        db.close()
    assert min(seen.values()) >= 1


@PLACES
def test_a_transaction_is_all_there_or_dropped(
    makes: Callable[[], tidelog.Database], files: tuple[str, ...], first: int, every: int, opcodes: bool
) -> None:
    seen = {True: 0, False: 0}
    for attempt in presses(*files, first=first, every=every, opcodes=opcodes):
        db = begun(makes())
        transaction = db.transaction()

        def block(db: tidelog.Database = db, transaction: tidelog.Transaction[tidelog.Change] = transaction) -> None:
            with transaction:
                change(db)

        stopped = pressed(attempt, block)
        seen[stopped] += 1
        if stopped:
            assert views(db) == BEFORE, attempt.place
        else:
            assert views(db) == AFTER, attempt.place
            assert transaction.change is not None, attempt.place
        assert not db.has_pending, attempt.place
        with db.transaction():
            pass
        db.close()
    assert min(seen.values()) >= 1
