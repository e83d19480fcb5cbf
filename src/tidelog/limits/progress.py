"""Progress of long work: `progress` names the function to report it to, `Progress` is one report.

The logger `tidelog.progress` gets few reports as records of level INFO: the first after five seconds. The command line
prints them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias


@dataclass(frozen=True)
class Progress:
    """How far some `work` has come, such as "the epoch": `done` steps, `of` so many, or None if nobody knows yet. An
    epoch has a step for each hyper-node that it may visit, and goes past those that nothing has changed. `step` names
    the relations of the present one, `rows` are derived so far. After the last call `ended` is True, also for work
    that fails. While a recursion runs, `rounds` counts its rounds, and `sizes` has the tuples of its relations."""

    work: str
    step: str
    done: int
    of: int | None
    rows: int
    seconds: float
    ended: bool = False
    rounds: int = 0
    sizes: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        largest = sorted(self.sizes.items(), key=lambda each: -each[1])[:_MOST_SHOWN]
        if largest:
            doing = (
                f": {', '.join(f'`{name}` has {rows:,} tuples' for name, rows in largest)} after {self.rounds:,} rounds"
            )
        else:
            doing = f" at `{self.step}`" if self.step else ""
        return f"{self.work} has run for {self.seconds:.0f} s{doing}"


ProgressListener: TypeAlias = Callable[[Progress], object]

Growth: TypeAlias = Callable[[], tuple[int, Mapping[str, int]]]
"""Returns the rounds of a recursion so far, and the tuples of its relations."""

LOGGER = logging.getLogger("tidelog.progress")
LOGGED_AFTER = 5.0
"""Seconds until the first record; each later one comes when the work has taken twice as long."""
_SECONDS_BETWEEN = 0.1
_MOST_SHOWN = 3


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


def _no_growth() -> tuple[int, Mapping[str, int]]:
    return 0, {}


@dataclass
class ProgressSource:
    """Calls the function of `progress` of the thread that made it with how far some work has come, and logs it."""

    listener: ProgressListener | None = field(default_factory=lambda: _here.listener)
    step: str = ""
    done: int = 0
    of: int | None = None
    growth: Growth = _no_growth
    reported: float | None = None
    """When the function was called last."""
    logged_after: float = field(default_factory=lambda: LOGGED_AFTER)

    def at(self, step: str, done: int, of: int) -> None:
        """Note which step has begun, after `done` steps of so many."""
        self.step, self.done, self.of = step, done, of

    @contextmanager
    def report_growth(self, growth: Growth) -> Iterator[None]:
        """Report what `growth` says of a recursion inside the block."""
        self.growth = growth
        try:
            yield
        finally:
            self.growth = _no_growth  # A cycle of objects would keep the memory of the recursion.

    def note(self, work: str, rows: int, started: float) -> None:
        """Call the function and log, if it is time; `started` is a time of `perf_counter`."""
        now = time.perf_counter()
        if now - started >= self.logged_after:
            self.logged_after = 2 * (now - started)
            LOGGER.info("%s", self._state(work, rows, now - started))
        before = started if self.reported is None else self.reported
        if self.listener is not None and now - before >= _SECONDS_BETWEEN:
            self.reported = now
            self.listener(self._state(work, rows, now - started))

    def end(self, work: str, rows: int, started: float) -> None:
        """Call the function for the last time, if it has been called."""
        if self.listener is not None and self.reported is not None:
            self.reported = None
            self.listener(replace(self._state(work, rows, time.perf_counter() - started), ended=True))

    def _state(self, work: str, rows: int, seconds: float) -> Progress:
        rounds, sizes = self.growth()
        return Progress(work, self.step, self.done, self.of, rows, seconds, rounds=rounds, sizes=sizes)


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
