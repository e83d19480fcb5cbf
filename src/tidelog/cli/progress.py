"""Progress of long work of a command: a bar on a terminal, for those who have installed the package rich, and
otherwise few lines, the first after five seconds."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tidelog.errors import is_installed
from tidelog.limits.progress import LOGGER, Progress, progress

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

_PATIENCE = 0.5
"""Seconds of work before its bar shows."""
_LONGEST = 40


@contextmanager
def shown_on_terminal() -> Iterator[None]:
    """Show the progress of long work of this thread inside the block on the standard error."""
    if not (sys.stderr.isatty() and is_installed("rich")):
        with _lines():
            yield
        return
    bar = TerminalBar()
    try:
        with progress(bar.show):
            yield
    finally:
        bar.end()


@contextmanager
def _lines() -> Iterator[None]:
    """Print the records of progress on the standard error."""
    handler, level = logging.StreamHandler(), LOGGER.level
    handler.setFormatter(logging.Formatter("tidelog: %(message)s"))
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)


class TerminalBar:
    """A bar below the output, which shows after half a second of work and goes when the work ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._first: Progress | None = None
        """The first state of the present work, and the last one."""
        self._state: Progress | None = None
        self._bar: RichProgress | None = None

    def show(self, state: Progress) -> None:
        """Show how far the work has come."""
        if state.ended:
            self.end()
            return
        with self._lock:
            if is_new := self._first is None:
                self._first = state
            self._state = state
            if self._bar is not None:
                _fill(self._bar, state)
        if is_new:  # Work that reads one file calls only once.
            timer = threading.Timer(_PATIENCE, self._begin, (state,))
            timer.daemon = True
            timer.start()

    def _begin(self, first: Progress) -> None:
        """Show the bar, unless the work that began with a state has ended."""
        with self._lock:
            if self._state is not None and self._first is first:
                self._bar = _bar()
                self._bar.add_task("")
                _fill(self._bar, self._state)
                self._bar.start()

    def end(self) -> None:
        """Take the bar away."""
        with self._lock:
            bar, self._bar, self._first, self._state = self._bar, None, None, None
            if bar is not None:
                bar.stop()


def _fill(bar: RichProgress, state: Progress) -> None:
    (task,) = bar.task_ids
    step = state.step if len(state.step) <= _LONGEST else f"{state.step[: _LONGEST - 1]}…"
    rounds = f", {state.rounds:,} rounds" if state.rounds else ""
    rows = f"{state.rows:,} tuples{rounds}" if state.rows else ""
    bar.update(task, description=state.work, total=state.of, completed=state.done, step=step, rows=rows)


def _bar() -> RichProgress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    # Names of relations and files are no markup.
    texts = [TextColumn(f"{{task.{name}}}", markup=False) for name in ("description", "fields[step]", "fields[rows]")]
    work, step, rows = texts
    columns = (SpinnerColumn(), work, BarColumn(), MofNCompleteColumn(), rows, TimeElapsedColumn(), step)
    return RichProgress(*columns, console=Console(stderr=True), transient=True)
