"""Reports of a run: aligned tables for people, JSON for programs (see docs/reference/cli.md).

Progress of long work is a bar on a terminal, for those who have installed the package rich, and otherwise few lines,
the first after five seconds.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tidelog.errors import DataError, Problem, TidelogError, is_installed
from tidelog.limits.progress import LOGGER, Progress, progress

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from tidelog.maintain.protocol import Report
    from tidelog.workspace.change import Change


def print_json(document: Mapping[str, Any]) -> None:
    """Print `document` as JSON; numbers that JSON lacks (NaN, infinities) become strings. Raise DataError (E0106) for
    records that are nested too deeply."""
    from tidelog.io.json_values import plain

    try:
        print(json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False))
    except RecursionError:
        hint = "print CSV, or write a JSON file with .output"
        raise DataError(Problem("E0106", "a record is nested too deeply to be printed as JSON", hint=hint)) from None


def failure(error: TidelogError, status: int) -> dict[str, Any]:
    """Return the document that `--json` prints for `error`, with the exit code `status`."""
    return {"ok": False, "exit": status, "errors": [problem.to_dict() for problem in error.problems]}


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return `rows` under `header` as text with aligned columns: numbers to the right, everything else to the left."""
    if not rows:
        return "  ".join(header)
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(len(header[i]), *(len(row[i]) for row in cells)) for i in range(len(header))]
    right = [all(isinstance(row[i], int | float) for row in rows) for i in range(len(header))]

    def line(texts: Sequence[str]) -> str:
        aligned = (t.rjust(w) if r else t.ljust(w) for t, w, r in zip(texts, widths, right, strict=True))
        return "  ".join(aligned).rstrip()

    return "\n".join([line(header), line(["-" * width for width in widths]), *map(line, cells)])


def change_lines(change: Change) -> Iterator[str]:
    """Yield a line with - or + for each tuple that an epoch deleted or inserted, in the order of the values."""
    from tidelog.io.relation import sorted_rows
    from tidelog.storage.record_text import format_value

    for name in change:
        for sign, relation in (("-", change[name].deleted), ("+", change[name].inserted)):
            for row in sorted_rows(relation):
                yield f"{sign} {name}({', '.join(map(format_value, row))})"


def print_stats(report: Report, sizes: Mapping[str, Any]) -> None:
    """Print what `--stats` shows on the standard error, behind the output."""
    sys.stdout.flush()
    print(_stats(report, sizes), file=sys.stderr)


def _stats(report: Report, sizes: Mapping[str, Any]) -> str:
    """Return hyper-nodes in the order of evaluation, then `sizes` as `db.stats()` gives them, as text."""
    nodes = table(
        ("rules", "strategy", "reason", "seconds", "impact"),
        [(node.rules, node.strategy, node.reason, node.seconds, node.impact) for node in report.nodes],
    )
    total = (
        f"{report.seconds:.3f} s, {report.bootstraps} evaluated from scratch, {report.updates} updated, "
        f"{report.impact:,} tuples changed"
    )
    return "\n".join([nodes, "", total, "", table(("what", "value"), list(_flat(sizes)))])


def _flat(document: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield the entries of nested mappings, `a.b` for the entry b of a."""
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _cell(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, tuple | list):
        return " ".join(str(part) for part in value)
    return str(value)


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
