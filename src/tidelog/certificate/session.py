"""A database of DuckDB for a check, with functions for what rules compute, its limits, and its errors as ours.

The time limit and Ctrl-C both interrupt the running statement. While DuckDB waits for its threads, handlers of signals
do not run. So a thread listens for Ctrl-C at the wake-up file of signals and interrupts the statement; the handler of
`defer_interrupts` runs after that. An interrupt between two statements is lost: it is repeated until the check ends.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from tidelog.certificate.functors import Functors, sql_values
from tidelog.certificate.tables import out_of_memory
from tidelog.common.arrays import AnyWords
from tidelog.errors import InternalError, LimitError, Problem, TidelogError
from tidelog.language.functors import NUMERIC
from tidelog.language.syntax import Kind
from tidelog.limits.listening import run_listener
from tidelog.limits.watch import Watch
from tidelog.storage.arrow_arrays import numbers_to_arrow
from tidelog.storage.dictionary import Dictionary

if TYPE_CHECKING:
    import duckdb


@contextmanager
def interrupted_statements(connection: duckdb.DuckDBPyConnection, watch: Watch) -> Iterator[None]:
    """Interrupt statements of the connection inside the block once the watch says so. Raise LimitError (E0501) or
    KeyboardInterrupt then."""
    import duckdb

    def interrupt(pressed: bool) -> None:
        if pressed or watch.interrupts.pressed or _find_exceeded_time(watch) is not None:
            connection.interrupt()

    with run_listener(interrupt):
        try:
            yield
        except duckdb.InterruptException:
            look(watch)
            raise


def look(watch: Watch) -> None:
    """Raise if the time of a check is over, or if Ctrl-C was pressed."""
    watch.interrupts.look()
    watch.progress.note("the check", 0, watch.started)
    elapsed = _find_exceeded_time(watch)
    if elapsed is not None:
        message = f"the check was stopped after {elapsed:.1f} s, its limit is {watch.timeout:g} s"
        raise LimitError(
            Problem("E0501", message, hint="raise `timeout`; the check has not reached a result")
        ) from None


def _find_exceeded_time(watch: Watch) -> float | None:
    """Return the seconds since the watch was started, if they are more than its limit."""
    elapsed = time.perf_counter() - watch.started
    return elapsed if watch.timeout is not None and elapsed > watch.timeout else None


@contextmanager
def check_session(
    dictionary: Dictionary, watch: Watch, config: Mapping[str, Any] | None = None
) -> Iterator[tuple[duckdb.DuckDBPyConnection, Functors]]:
    """Open a database in memory for the block, and the functions for its rules. Raise LimitError where memory does not
    suffice (E0503), nor the disk for temporary files (E0508), or the time of `watch` is over (E0501); KeyboardInterrupt
    where Ctrl-C was pressed."""
    import duckdb

    with session(config or {}) as connection, interrupted_statements(connection, watch):
        functors = Functors(connection, dictionary, partial(look, watch))
        try:
            yield connection, functors
        except duckdb.OutOfMemoryException as error:
            raise out_of_memory(error) from None
        except duckdb.InterruptException:
            raise
        except duckdb.IOException as error:  # The database is in memory, and only its temporary files are not.
            hint = "make room in the folder for temporary files, or name another one by TMPDIR; nothing has been found"
            message = f"the check has no room for temporary files: {str(error).splitlines()[0]:.200}"
            raise LimitError(Problem("E0508", message, hint=hint)) from None
        except duckdb.Error as error:
            raise _error_of(functors.failure or error) from error
        except MemoryError as error:
            raise out_of_memory(error) from None


@contextmanager
def session(config: Mapping[str, Any]) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database in memory for the block, with a temporary folder for data that do not fit."""
    import duckdb

    with (
        tempfile.TemporaryDirectory(prefix="tidelog-check-") as folder,
        duckdb.connect(config={"temp_directory": folder, **config}) as connection,
    ):
        yield connection


def _error_of(error: BaseException) -> BaseException:
    """Return the error for the reason that ended a statement, or a function that it called."""
    if isinstance(error, MemoryError):
        return out_of_memory(error)
    if isinstance(error, (TidelogError, KeyboardInterrupt)):
        return error
    return InternalError(Problem("E0901", f"DuckDB could not check the views: {error}"))


@contextmanager
def source_of(connection: duckdb.DuckDBPyConnection, columns: list[NDArray[Any]], names: list[str]) -> Iterator[str]:
    """Return the name in SQL of a table of columns."""
    import pyarrow as pa

    connection.register("given", pa.table(list(map(numbers_to_arrow, columns)), names))
    try:
        yield "given"
    finally:
        connection.unregister("given")


def has_values(rows: AnyWords, kinds: Sequence[Kind], extent: Callable[[Kind], int]) -> bool:
    """Return True if all rows are tuples of columns of these kinds: their words encode values. `extent` returns the
    number of words that a kind of symbols or records has."""
    if rows.shape[1] != len(kinds):
        return False
    for column, kind in zip(rows.T, kinds, strict=True):
        if kind == "float":
            floats = sql_values(column, kind)
            if numpy.isnan(floats).any() or ((floats == 0) & numpy.signbit(floats)).any():
                return False
        elif kind not in NUMERIC and not ((column >= 0) & (column < extent(kind))).all():
            return False
    return True
