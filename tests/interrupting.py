"""Interrupt a piece of code between any two bytecodes of it, the way Ctrl-C or a lack of memory does.

    for attempt in attempts(KeyboardInterrupt, "tidelog/storage/"):
        table = fresh()
        with attempt:
            table.add("a")
        assert consistent(table)

The n-th attempt raises the error before the n-th bytecode that its block runs in the named files; the last one is the
first that runs to its end. `attempt.stopped` says whether the error was raised, `attempt.error` what came out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import count
from types import FrameType, TracebackType
from typing import Any


class Attempt:
    """A block in which the `number`-th bytecode in `files`, parts of paths, raises `error`."""

    def __init__(self, number: int, error: type[BaseException], files: tuple[str, ...]) -> None:
        self.number = number
        self._left = number
        self._error = error
        self._files = files
        self.stopped = False
        """Whether the error was raised; what the block made of it is up to the block."""
        self.place = ""
        """The function in which it was raised."""
        self.error: BaseException | None = None
        """What left the block, if that was an instance of the error."""

    def __enter__(self) -> Attempt:
        self._before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        sys.settrace(self._before)
        self.error = error if isinstance(error, self._error) else None
        return self.stopped and self.error is not None

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        if self.stopped or not any(part in frame.f_code.co_filename for part in self._files):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self._step

    def _step(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode" and not self.stopped:
            self._left -= 1
            if self._left == 0:
                self.stopped, self.place = True, frame.f_code.co_qualname
                raise self._error(f"at {frame.f_code.co_qualname}, line {frame.f_lineno}")
        return self._step


def attempts(error: type[BaseException], *files: str, every: int = 1) -> Iterator[Attempt]:
    """One attempt after the other, each interrupted `every` bytecodes later, up to the first that is not."""
    for number in count(1):
        attempt = Attempt(1 + (number - 1) * every, error, files)
        yield attempt
        if not attempt.stopped:
            return
