"""What stops a check from outside: its time limit and Ctrl-C, which both interrupt the statement under way.

DuckDB lets Python look at signals while it works, so that the handler of `guarded` notes Ctrl-C at once. An interrupt
between two statements is lost: it is repeated until the check has ended.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tidelog.errors import LimitError, Problem
from tidelog.maintain.limits import Watch

if TYPE_CHECKING:
    import duckdb

_EVERY = 0.05


@contextmanager
def stopping(connection: duckdb.DuckDBPyConnection, watch: Watch) -> Iterator[None]:
    """Inside, statements of the connection are interrupted once the watch says so. Raises LimitError (E0501) or
    KeyboardInterrupt for it."""
    import duckdb

    ended = threading.Event()

    def interrupt() -> None:
        while not ended.wait(_EVERY):
            if watch.interrupted or _elapsed(watch) is not None:
                connection.interrupt()

    thread = threading.Thread(target=interrupt, name="tidelog check", daemon=True)
    thread.start()
    try:
        yield
    except duckdb.InterruptException:
        look(watch)
        raise
    finally:
        ended.set()
        thread.join()


def look(watch: Watch) -> None:
    """Raise if the time of a check is over, or if Ctrl-C was pressed."""
    if watch.interrupted:
        raise KeyboardInterrupt
    elapsed = _elapsed(watch)
    if elapsed is not None:
        message = f"the check was stopped after {elapsed:.1f} s, its limit is {watch.timeout:g} s"
        raise LimitError(Problem("E0501", message, hint="nothing is known about the views; raise `timeout`")) from None


def _elapsed(watch: Watch) -> float | None:
    """The seconds since the watch was started, if they are more than its limit."""
    elapsed = time.perf_counter() - watch.started
    return elapsed if watch.timeout is not None and elapsed > watch.timeout else None
