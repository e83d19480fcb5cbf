"""Limits, interrupts and faults while closures are followed: nothing has changed then."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import pytest

import tidelog
from tests.closure_stories import BASE, COMPOSED, EDGES, SHOWN, STRATEGIES, Story, differences
from tests.recount import state_of
from tidelog.errors import LimitError
from tidelog.maintain import closures as closures_module
from tidelog.maintain.closures import Closures
from tidelog.maintain.epoch import Epoch
from tidelog.maintain.limits import Watch
from tidelog.storage import closure as closure_module


def fingerprint(db: tidelog.Database) -> object:
    return state_of(db), db.hyper_nodes, sorted(db._engine.closures), db._engine.mirrors


RICH = (
    f"{BASE} {COMPOSED} {SHOWN} u(x, y) :- t(y, x). u(x, z) :- u(x, y), u(y, z), x != z. w(x, z) :- u(x, y), f(y, z)."
)


def refuse(story: Story, **change: Any) -> None:
    """A limit stops the epoch, and nothing has changed."""
    before = fingerprint(story.db)
    with pytest.raises(LimitError):
        story.step(**change)
    assert fingerprint(story.db) == before
    story.right()


def stopping(call: int, error: Callable[[], BaseException]) -> Callable[..., None]:
    """A function that raises when it is called for the `call`-th time."""
    calls = 0

    def look(*_: object) -> None:
        nonlocal calls
        calls += 1
        if calls == call:
            raise error()

    return look


def stop_everywhere(
    story: Story, patched: Callable[[pytest.MonkeyPatch, int], None], monkeypatch: pytest.MonkeyPatch
) -> int:
    """Let an epoch fail at one place after the other, with no trace, until it succeeds; how often it has failed."""
    before = fingerprint(story.db)
    for call in range(1, 500):
        with monkeypatch.context() as patch:
            patched(patch, call)
            try:
                with story.db.transaction() as transaction:
                    transaction.insert("e", [(4, 1), (7, 8)])
                    transaction.delete("e", [(2, 3), (6, 6)])
                break
            except (KeyboardInterrupt, LimitError, RuntimeError):
                pass
        assert fingerprint(story.db) == before
    assert transaction.change is not None
    story.read()
    now = story.right()
    story.change, story.expected, story.before = transaction.change, differences(story.before, now), now
    story.step(delete={"e": [(4, 1)]})
    return call - 1


@STRATEGIES
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_stopped_at_every_look(strategy: str, error: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closure_module, "_AT_ONCE", 0)
    story = Story(RICH, strategy, e=EDGES, f=[(4, 6)])
    stops = stop_everywhere(story, lambda patch, call: patch.setattr(Watch, "look", stopping(call, error)), monkeypatch)
    assert stops > 10


@pytest.mark.parametrize(
    ("owner", "name", "least"),
    [
        (Closures, "show", 1),
        (Closures, "mirror", 1),
        (Closures, "follow", 3),
        (Closures, "history", 4),
        (closures_module, "_edges", 4),
        (Epoch, "note", 2),
        (closure_module.Closure, "_balance", 3),
        (closure_module.Closure, "_make_room", 3),
    ],
)
def test_a_fault_behind_any_step_leaves_no_trace(
    owner: object, name: str, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = getattr(owner, name)

    def patched(patch: pytest.MonkeyPatch, call: int) -> None:
        stop, over = stopping(call, lambda: RuntimeError("a fault of the test")), []

        def faulty(*args: Any, **options: Any) -> Any:
            found = original(*args, **options)
            if not over:
                try:
                    stop()
                except RuntimeError:
                    over.append(True)  # taking back may use the same function
                    raise
            return found

        patch.setattr(owner, name, faulty)

    assert stop_everywhere(Story(RICH, e=EDGES, f=[(4, 6)]), patched, monkeypatch) >= least


def test_the_time_limit() -> None:
    story = Story(RICH, e=EDGES, f=[(4, 6)])
    story.db.options(timeout=1e-9)
    refuse(story, insert={"e": [(4, 1)]})
    story.db.options(timeout=None)
    story.step(insert={"e": [(7, 8)]})


def test_the_row_limit_is_on_what_the_epoch_derives() -> None:
    story = Story(f"{BASE} {COMPOSED}", e=EDGES)
    story.db.options(max_rows=4)
    story.step(insert={"e": [(4, 5)]})
    refuse(story, insert={"e": [(5, 7)]})
    story.step(delete={"e": [(6, 6)]})


@pytest.mark.parametrize("name", ["t", "v"])
def test_the_size_limit_of_a_closure(name: str) -> None:
    story = Story(f"{BASE} {COMPOSED} {SHOWN} .limitsize {name}(n=8)", e=EDGES)
    refuse(story, insert={"e": [(4, 1)]})
    story.step(insert={"e": [(7, 8)]})


def test_control_c_while_a_closure_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closure_module, "_AT_ONCE", 10)
    story = Story(f"{BASE} {COMPOSED}", e=EDGES)
    look = Watch.look

    def pressed(self: Watch, rows: int = 0, doing: str = "") -> None:
        signal.raise_signal(signal.SIGINT)
        look(self, rows, doing)

    with monkeypatch.context() as patch:
        patch.setattr(Watch, "look", pressed)
        before = fingerprint(story.db)
        with pytest.raises(KeyboardInterrupt), story.db.transaction() as transaction:
            transaction.insert("e", [(i, i + 1) for i in range(10, 30)])
    assert fingerprint(story.db) == before
    story.step(insert={"e": [(i, i + 1) for i in range(10, 30)]})
