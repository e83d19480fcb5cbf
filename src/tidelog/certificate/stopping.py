"""Limits of a check: its time limit and Ctrl-C both interrupt the running statement.

While DuckDB waits for its threads, handlers of signals do not run. So a thread listens for Ctrl-C at the wake-up file
of signals and interrupts the statement; the handler of `guarded` runs after that. An interrupt between two statements
is lost: it is repeated until the check has ended.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tidelog.errors import LimitError, Problem
from tidelog.limits.listening import listening
from tidelog.limits.watch import Watch

if TYPE_CHECKING:
    import duckdb


@contextmanager
def stopping(connection: duckdb.DuckDBPyConnection, watch: Watch) -> Iterator[None]:
    """Interrupt statements of the connection inside the block once the watch says so. Raise LimitError (E0501) or
    KeyboardInterrupt then."""
    import duckdb

    def interrupt(pressed: bool) -> None:
        if pressed or watch.interrupts.pressed or _elapsed(watch) is not None:
            connection.interrupt()

    with listening(interrupt):
        try:
            yield
        except duckdb.InterruptException:
            look(watch)
            raise


def look(watch: Watch) -> None:
    """Raise if the time of a check is over, or if Ctrl-C was pressed."""
    watch.interrupts.look()
    watch.progress.note("the check", 0, watch.started)
    elapsed = _elapsed(watch)
    if elapsed is not None:
        message = f"the check was stopped after {elapsed:.1f} s, its limit is {watch.timeout:g} s"
        raise LimitError(
            Problem("E0501", message, hint="raise `timeout`; the check has not reached a result")
        ) from None


def _elapsed(watch: Watch) -> float | None:
    """Return the seconds since the watch was started, if they are more than its limit."""
    elapsed = time.perf_counter() - watch.started
    return elapsed if watch.timeout is not None and elapsed > watch.timeout else None
