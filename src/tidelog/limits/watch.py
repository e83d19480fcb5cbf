"""Limits, interrupts and exhausted memory: they stop an epoch from outside.

While an epoch runs, Ctrl-C only sets a flag (`interrupts`). It is looked at where stopping is safe and becomes a
KeyboardInterrupt there, so that no change is ever half made. That is between kernel calls, which come back every tenth
of a second or so; kernels that cannot promise it return on request (`Watch.stop_kernels`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias, TypeVar, cast

from tidelog.common.source import Span
from tidelog.errors import LimitError, Problem
from tidelog.limits.interrupts import Deferring, Interrupts
from tidelog.limits.listening import run_listener
from tidelog.limits.progress import ProgressSource
from tidelog.storage.memory import Stop
from tidelog.storage.room import SpillError, resident, size_text

_LONG = 4_096
"""A kernel that works on so many nodes of a closure may take long: the product of two sets of them."""

SizeLimits: TypeAlias = Mapping[str, tuple[int, Span | None]]


@dataclass
class Watch:
    """The limits of one epoch, or other `work`: `timeout` in seconds, `max_rows` derived in all, the `memory` of the
    process in bytes (None is no limit), and `sizes`, the `.limitsize` of relations with their places. Arrays that do
    not fit into memory go into files in the folder `spill`, unless that is None."""

    timeout: float | None = None
    max_rows: int | None = None
    sizes: SizeLimits = field(default_factory=dict)
    memory: int | None = None
    spill: Path | None = None
    started: float = field(default_factory=time.perf_counter)
    interrupts: Interrupts = field(default_factory=Interrupts)
    derived: int = 0
    stop: Stop = field(default_factory=Stop)
    """Where kernels look that may not come back in time."""
    told: bool = False
    """True if they stop because Ctrl-C was pressed."""
    work: str = "the epoch"
    """As messages name it."""
    remedy: str = "raise `memory`"
    """The way to get more memory, for hints."""
    progress: ProgressSource = field(default_factory=ProgressSource)
    present: dict[str, int] = field(default_factory=dict)
    """The rows that relations had before. No relation has to become smaller, so that what was committed stays."""

    def within_memory(self) -> WithinMemory:
        """Return a block that turns a MemoryError of the work into LimitError (E0503) with the `remedy`."""
        return WithinMemory(_CHANGING.format(self.remedy))

    @contextmanager
    def report_end(self) -> Iterator[None]:
        """Report the end of the work when the block ends, if its progress was reported."""
        try:
            yield
        finally:
            self.progress.end(self.work, self.derived, self.started)

    @contextmanager
    def stop_kernels(self, size: int) -> Iterator[None]:
        """Make kernels that look at `stop`, working on something of this size, return inside the block when `look`
        would raise."""
        if size < _LONG:
            yield
            return

        def turn(pressed: bool) -> None:
            self.told |= pressed
            is_late = self.timeout is not None and time.perf_counter() - self.started > self.timeout
            if pressed or is_late or self.interrupts.is_cancelled:
                self.stop.give()

        with run_listener(turn):
            yield

    def look(self, rows: int = 0) -> None:
        """Raise if a limit is reached with `rows` derived by the current work, or if Ctrl-C was pressed."""
        self.interrupts.look()
        if self.told and self.stop.is_given:
            self.interrupts.pressed = False
            raise KeyboardInterrupt
        elapsed = time.perf_counter() - self.started
        if self.timeout is not None and elapsed > self.timeout:
            message = f"{self.work} was stopped after {elapsed:.1f} s, its limit is {self.timeout:g} s"
            raise LimitError(Problem("E0501", message, hint="raise `timeout`, or look at `stats`; nothing has changed"))
        if self.max_rows is not None and self.derived + rows > self.max_rows:
            message = f"{self.work} was stopped at {self.derived + rows:,} derived rows, its limit is {self.max_rows:,}"
            raise LimitError(
                Problem("E0502", message, hint="raise `max_rows`, or bound the recursion; nothing has changed")
            )
        if self.memory is not None and resident() > self.memory:
            message = f"out of memory: the process has {size_text(resident())}, its limit is {size_text(self.memory)}"
            raise LimitError(Problem("E0503", message, hint=f"{self.remedy}; nothing has changed"))
        self.progress.note(self.work, self.derived + rows, self.started)

    def look_at(self, relation: str, rows: int) -> None:
        """Raise if a relation has more rows than its `.limitsize`, and more than before."""
        limit, span = self.sizes.get(relation, (None, None))
        if limit is not None and rows > max(limit, self.present.get(relation, 0)):
            message = f"{self.work} was stopped when {relation} had {rows:,} rows, its .limitsize is {limit:,}"
            hint = "raise n, or bound the recursion; nothing has changed"
            raise LimitError(Problem("E0504", message, span=span, hint=hint))


Function = TypeVar("Function", bound=Callable[..., Any])


class WithinMemory:
    """A block or a decorator that turns a MemoryError, also of NumPy or Arrow, into LimitError (E0503) with a hint. The
    new error keeps no data of the failed work alive."""

    def __init__(self, hint: str) -> None:
        self._hint = hint

    def __call__(self, function: Function) -> Function:
        """Return a function that does the same, inside of such a block."""

        @wraps(function)
        def run(*arguments: Any, **options: Any) -> Any:
            try:
                return function(*arguments, **options)
            except MemoryError as error:
                self.__exit__(type(error), error, None)
                raise

        return cast(Function, run)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, MemoryError):
            reason, folder = str(error), error.folder if isinstance(error, SpillError) else None
            error.with_traceback(None)
            del error, trace  # They hold the frames, and these what fills the memory.
            if folder is not None:
                hint = "nothing has changed; make room on the disk, or pass a folder of another one as `spill`"
                raise LimitError(Problem("E0508", reason, hint=hint, place=str(folder))) from None
            message = f"out of memory: {reason}" if reason else "out of memory"
            raise LimitError(Problem("E0503", message, hint=self._hint)) from None


_CHANGING = "nothing has changed; {}, or run on a machine with more memory"
changing_within_memory = WithinMemory(_CHANGING.format("raise `memory`"))
reading_within_memory = WithinMemory(
    "nothing has changed; ask for fewer rows at a time, or use a machine with more memory"
)


@contextmanager
def defer_interrupts(watch: Watch) -> Iterator[None]:
    """Let Ctrl-C raise only where `watch` looks inside the block; one that comes too late raises behind it."""
    with Deferring() as interrupts, watch.report_end():
        watch.interrupts = interrupts
        yield
