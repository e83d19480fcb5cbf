"""Limits, interrupts and faults while closures are followed: nothing has changed then."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import tidelog
from tests.closure_stories import BASE, COMPOSED, EDGES, SHOWN, STRATEGIES, Story, differences
from tests.maintain.stopping import at_looks, fails_without_trace, fingerprint, limit, stopping
from tidelog.errors import LimitError
from tidelog.limits.interrupts import Deferring
from tidelog.limits.watch import Watch
from tidelog.maintain.epoch import EpochState
from tidelog.maintain.strategies import closures, rules
from tidelog.storage import closure as closure_module

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


def stop_everywhere(story: Story, patched: Callable[[pytest.MonkeyPatch, int], None]) -> int:
    """Let an epoch fail at one place after the other, with no trace, until it succeeds; how often it has failed."""

    def attempt() -> tidelog.Change:
        with story.db.transaction() as transaction:
            transaction.insert("e", [(4, 1), (7, 8)])
            transaction.delete("e", [(2, 3), (6, 6)])
        assert transaction.change is not None
        return transaction.change

    change, failures = fails_without_trace(story.db, attempt, patched)
    story.read()
    now = story.right()
    story.change, story.expected, story.before = change, differences(story.before, now), now
    story.step(delete={"e": [(4, 1)]})
    return failures


@STRATEGIES
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_stopped_at_every_look(strategy: str, error: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closure_module, "_AT_ONCE", 0)
    story = Story(RICH, strategy, e=EDGES, f=[(4, 6)])
    assert stop_everywhere(story, at_looks(error)) > 10


@pytest.mark.parametrize(
    ("owner", "name", "least"),
    [
        (rules, "show_changed_pairs", 1),
        (closures, "share_closure", 1),
        (closures, "follow", 3),
        (EpochState, "history", 4),
        (closures, "edges_along", 4),
        (EpochState, "note", 1),
        (closure_module, "compare_closures", 3),
        (closure_module.Closure, "_make_room", 3),
    ],
)
def test_a_fault_behind_any_step_leaves_no_trace(owner: object, name: str, least: int) -> None:
    original = getattr(owner, name)

    def patched(patch: pytest.MonkeyPatch, call: int) -> None:
        stop = stopping(call, lambda: RuntimeError("a fault of the test"))
        over: list[bool] = []

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

    assert stop_everywhere(Story(RICH, e=EDGES, f=[(4, 6)]), patched) >= least


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

    def pressed(self: Watch, rows: int = 0) -> None:
        signal.raise_signal(signal.SIGINT)
        look(self, rows)

    with monkeypatch.context() as patch:
        patch.setattr(Watch, "look", pressed)
        before = fingerprint(story.db)
        with pytest.raises(KeyboardInterrupt), story.db.transaction() as transaction:
            transaction.insert("e", [(i, i + 1) for i in range(10, 30)])
    assert fingerprint(story.db) == before
    story.step(insert={"e": [(i, i + 1) for i in range(10, 30)]})


def at_kernel_looks(patch: pytest.MonkeyPatch, call: int) -> None:
    """Let kernels stop at their `call`-th look, as a limit would make them."""

    @contextmanager
    def telling(self: Watch, size: int) -> Iterator[None]:
        self.stop.give(call)
        yield

    def look(self: Watch, rows: int = 0, doing: str = "") -> None:
        if self.stop.is_given:
            raise limit()

    patch.setattr(Watch, "stop_kernels", telling)
    patch.setattr(Watch, "look", look)


@STRATEGIES
def test_stopped_at_every_look_of_the_kernels(strategy: str) -> None:
    story = Story(RICH, strategy, e=EDGES, f=[(4, 6)])
    assert stop_everywhere(story, at_kernel_looks) > 10


def test_what_is_stopped_is_not_built_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Taking back is no evaluation, nor is it put off to whoever reads next."""
    story = Story(f"{BASE} {COMPOSED}", e=EDGES)
    with monkeypatch.context() as patch:
        at_kernel_looks(patch, 1)
        patch.setattr(closure_module.Closure, "build", None)
        story.db.insert("e", [(4, 1)])
        with pytest.raises(LimitError):
            story.db.commit()
        story.read()
    story.db.rollback()
    story.step(insert={"e": [(4, 1)]})


def test_kernels_are_told_that_the_time_is_over() -> None:
    watch = Watch(timeout=0.0)
    with watch.stop_kernels(1_000_000):
        while not watch.stop.is_given:
            pass
    with pytest.raises(LimitError, match="E0501"):
        watch.look()


def test_kernels_are_told_that_control_c_was_pressed() -> None:
    """Handlers do not run in a kernel; the one here would only note it."""
    watch = Watch()
    with Deferring() as watch.interrupts:
        with watch.stop_kernels(1_000_000):
            signal.raise_signal(signal.SIGINT)
            while not watch.stop.is_given:
                pass
        watch.interrupts.pressed = False
        with pytest.raises(KeyboardInterrupt):
            watch.look()
