"""Epochs that are stopped at one look at the limits after the other."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tidelog
from tests.recount import state_of
from tidelog.errors import LimitError, Problem
from tidelog.limits.watch import Watch

Error = Callable[[], BaseException]


def limit() -> BaseException:
    return LimitError(Problem("E0502", "a limit of the test"))


def fingerprint(db: tidelog.Database) -> object:
    """All that an epoch changes: tuples, births, counts, sizes, hyper-nodes, closures and large groups."""
    engine = db.engine
    groups = {
        (name, group): str(state) for name, large in engine.large.items() for group, state in large.states.items()
    }
    closures = sorted(engine.closures), dict(engine.mirrors)
    return state_of(db), db.stats()["relations"], db.hyper_nodes, closures, groups


def stopping(call: int, error: Error) -> Callable[..., None]:
    """A function that raises when it is called for the `call`-th time."""
    calls = 0

    def look(*_: object) -> None:
        nonlocal calls
        calls += 1
        if calls == call:
            raise error()

    return look


def fails_without_trace(
    db: tidelog.Database,
    attempt: Callable[[], tidelog.Change],
    patched: Callable[[pytest.MonkeyPatch, int], None],
    every: int = 1,
) -> tuple[tidelog.Change, int]:
    """The change of an epoch that fails as it is `patched` for its first attempt, and for one in `every` that follow,
    and leaves no trace, until it succeeds; and how often it has failed."""
    before = fingerprint(db)
    for failures in range(500):
        with pytest.MonkeyPatch.context() as patch:
            patched(patch, failures * every + 1)
            try:
                return attempt(), failures
            except (LimitError, KeyboardInterrupt, RuntimeError):
                db.rollback()
        assert fingerprint(db) == before, f"a trace of failure {failures + 1}"
    raise AssertionError("it never succeeds")


def at_looks(error: Error) -> Callable[[pytest.MonkeyPatch, int], None]:
    """Let the `call`-th look at limits raise."""
    return lambda patch, call: patch.setattr(Watch, "look", stopping(call, error))
