"""What stops a check from outside: its time limit and Ctrl-C, which both interrupt the statement under way.

While DuckDB waits for its threads, handlers of signals do not run. So a thread listens for Ctrl-C at the wake-up file
of signals and interrupts the statement; the handler of `guarded` runs after that. An interrupt between two statements
is lost: it is repeated until the check has ended.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
    with _signals() as (signals, wake):

        def interrupt() -> None:
            pressed = False
            while not ended.is_set():
                ready, _, _ = select.select([signals], [], [], _EVERY)
                pressed |= bool(ready) and signal.SIGINT in os.read(signals, 64)
                if pressed or watch.interrupts.pressed or _elapsed(watch) is not None:
                    connection.interrupt()
                    ended.wait(_EVERY)

        thread = threading.Thread(target=interrupt, name="tidelog check", daemon=True)
        thread.start()
        try:
            yield
        except duckdb.InterruptException:
            look(watch)
            raise
        finally:
            ended.set()
            with suppress(BlockingIOError):  # full of signals: they have woken the thread
                os.write(wake, b"\0")
            thread.join()


@contextmanager
def _signals() -> Iterator[tuple[int, int]]:
    """A pipe: the end to read the numbers of signals from as they come, and the end that they are written to. No signal
    comes outside of the main thread."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    main = threading.current_thread() is threading.main_thread()
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False) if main else -1
    try:
        yield reading, writing
    finally:
        if main:
            signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)


def look(watch: Watch) -> None:
    """Raise if the time of a check is over, or if Ctrl-C was pressed."""
    watch.interrupts.look()
    elapsed = _elapsed(watch)
    if elapsed is not None:
        message = f"the check was stopped after {elapsed:.1f} s, its limit is {watch.timeout:g} s"
        raise LimitError(Problem("E0501", message, hint="nothing is known about the views; raise `timeout`")) from None


def _elapsed(watch: Watch) -> float | None:
    """The seconds since the watch was started, if they are more than its limit."""
    elapsed = time.perf_counter() - watch.started
    return elapsed if watch.timeout is not None and elapsed > watch.timeout else None
