"""A file operation fails: no room, no permission, an error of the device, Ctrl-C. Everything is then as before."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from functools import partial

import pytest

from tests.depth import cases, stride
from tests.store.disks import ERRORS, fail_once
from tests.suite import FIRST_SEED, views
from tidelog.durable.simulated import SimulatedDisk
from tidelog.errors import Problem, UsageError
from tidelog.store.database import StoredDatabase

INTERRUPT = KeyboardInterrupt()


def error(number: int) -> OSError:
    """One of several errors, which it is goes by the number."""
    kind = ERRORS[number % len(ERRORS)]
    return OSError(kind, os.strerror(kind))


def problem_of(do: Callable[[], object]) -> Problem | None:
    """Return the report of a call, if it fails."""
    try:
        do()
    except UsageError as caught:
        return caught.problems[0]
    return None


@pytest.mark.parametrize("for_good", [False, True], ids=["once", "until the end"])
def test_operations_of_a_script_fail(for_good: bool) -> None:
    number, outcome = 1 + for_good, ""
    while outcome == "":
        outcome = fail_once(FIRST_SEED + 830_000, 8, number, error(number), for_good=for_good)
        number += stride(4)
    assert (outcome, number > 50) == ("over", True)


def test_operations_of_a_script_are_interrupted() -> None:
    number, outcome = 3, ""
    while outcome == "":
        outcome = fail_once(FIRST_SEED + 830_000, 8, number, INTERRUPT, for_good=False)
        number += stride(4)
    assert (outcome, number > 50) == ("over", True)


def filled() -> SimulatedDisk:
    """A disk with a checkpoint and a segment after it."""
    disk = SimulatedDisk()
    with StoredDatabase("/store", files=disk.files()) as db:
        db.load('.decl e(x: symbol)  .decl t(x: symbol)  t(x) :- e(x), x != "b".')
        db.insert("e", [("a",), ("b",)])
        db.commit()
        db.keeper.price = 1e9
        db.insert("e", [("c",)])
        db.commit()
    return disk


@pytest.mark.parametrize("program", ["", ".decl more(x: symbol)"], ids=["logged", "with a new manifest"])
@pytest.mark.parametrize("for_good", [False, True], ids=["once", "until the end"])
def test_every_operation_of_a_commit_fails(program: str, for_good: bool) -> None:
    """A checkpoint that fails is no error: the epoch is safe without."""
    base, first, second = filled(), {("a",), ("c",)}, {("a",), ("c",), ("d",)}
    number, failed = 1, 0
    while True:
        disk, count = base.copy_after_kill(), 0

        def fail(operation: str, name: str, number: int = number) -> None:
            nonlocal count
            count += 1
            if count == number or (for_good and count > number):
                raise error(number)

        with StoredDatabase("/store", files=disk.files()) as db:
            kept = views(db)
            db.keeper.price = 0.0
            db.load(program)
            db.insert("e", [("d",)])
            disk.before = fail
            problem = problem_of(db.commit)
            disk.before = None
            if problem is None:
                assert set(db["t"]) == second
            else:
                failed += 1
                assert (problem.code, bool(problem.hint)) == ("E0681", True)
                assert {name: rows for name, rows in views(db).items() if name in kept} == kept
                assert db.stats()["store"]["epoch"] == 2
                db.rollback()
            with StoredDatabase("/store", files=disk.copy_after_kill().files()) as other:
                assert set(other["t"]) in ((set(db["t"]), second) if for_good else (set(db["t"]),))
            db.insert("e", [("d",), ("f",)])
            db.commit()
            assert set(db["t"]) == {*second, ("f",)}
        with StoredDatabase("/store", files=disk.files()) as db:
            assert set(db["t"]) == {*second, ("f",)}
        if count < number:
            break
        number += stride(2) if for_good else stride(0.5)
    assert first < second
    assert failed >= cases((4 if for_good else 16) if program else (2 if for_good else 6))


def open_and_close(disk: SimulatedDisk) -> None:
    StoredDatabase("/store", files=disk.files()).close()


def test_every_operation_of_opening_fails() -> None:
    base = filled()
    with StoredDatabase("/store", files=base.copy_after_kill().files()) as db:
        kept = views(db)
    number = 1
    while True:
        disk, count = base.copy_after_kill(), 0
        before = {name: data for name, data in disk.contents().items() if name != "lock"}

        def fail(operation: str, name: str, number: int = number) -> None:
            nonlocal count
            count += 1
            if count == number:
                raise error(number)

        disk.before = fail
        problem = problem_of(partial(open_and_close, disk))
        assert problem is None or problem.code == "E0681"
        disk.before = None
        assert {name: data for name, data in disk.contents().items() if name != "lock"} == before
        with StoredDatabase("/store", files=disk.files()) as db:
            assert views(db) == kept
        if count < number:
            break
        number += 1
    assert number > 10


def test_an_error_says_what_the_system_says() -> None:
    disk = filled()
    with StoredDatabase("/store", files=disk.files()) as db:
        db.insert("e", [("d",)])

        def full(operation: str, name: str) -> None:
            if operation == "write":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        disk.before = full
        with pytest.raises(UsageError, match="cannot use the state folder: No space left on device"):
            db.commit()
