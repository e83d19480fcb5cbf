"""Progress of long work: `progress` names the function to report it to, `Progress` is one report."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True)
class Progress:
    """How far some `work` has come, such as "the epoch": `done` steps, `of` so many, or None if nobody knows yet. An
    epoch has a step for each hyper-node that it may visit, and goes past those that nothing has changed. `step` names
    the relations of the present one, `rows` are derived so far. After the last call `ended` is True, also for work
    that fails."""

    work: str
    step: str
    done: int
    of: int | None
    rows: int
    seconds: float
    ended: bool = False


ProgressListener: TypeAlias = Callable[[Progress], object]

_SECONDS_BETWEEN = 0.1


class _Here(threading.local):
    """The state of a thread."""

    listener: ProgressListener | None = None


_here = _Here()


@contextmanager
def progress(function: ProgressListener) -> Iterator[None]:
    """Call `function` with the `Progress` of long work of this thread inside the block: commits, checks, opening a
    store, queries, explanations. It is called about ten times a second, first after a tenth. An exception that it
    raises ends the work, which then has changed nothing."""
    before, _here.listener = _here.listener, function
    try:
        yield
    finally:
        _here.listener = before


@dataclass
class ProgressSource:
    """Calls the function of `progress` of the thread that made it with how far some work has come."""

    listener: ProgressListener | None = field(default_factory=lambda: _here.listener)
    step: str = ""
    done: int = 0
    of: int | None = None
    reported: float | None = None
    """When the function was called last."""

    def at(self, step: str, done: int, of: int) -> None:
        """Note which step has begun, after `done` steps of so many."""
        self.step, self.done, self.of = step, done, of

    def note(self, work: str, rows: int, started: float) -> None:
        """Call the function, if it is time; `started` is a time of `perf_counter`."""
        now = time.perf_counter()
        before = started if self.reported is None else self.reported
        if self.listener is not None and now - before >= _SECONDS_BETWEEN:
            self.reported = now
            self.listener(Progress(work, self.step, self.done, self.of, rows, now - started))

    def end(self, work: str, rows: int, started: float) -> None:
        """Call the function for the last time, if it has been called."""
        if self.listener is not None and self.reported is not None:
            self.reported = None
            seconds = time.perf_counter() - started
            self.listener(Progress(work, self.step, self.done, self.of, rows, seconds, ended=True))


@contextmanager
def step_of(work: str, done: int, of: int) -> Iterator[None]:
    """Call the function of `progress` at once with a step of some work that cannot say how far it has come, and at its
    end."""
    listener, started = _here.listener, time.perf_counter()
    if listener is None:
        yield
        return
    listener(Progress(work, "", done, of, 0, 0.0))
    try:
        yield
    finally:
        listener(Progress(work, "", done, of, 0, time.perf_counter() - started, ended=True))
