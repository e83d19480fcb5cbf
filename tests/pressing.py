"""Ctrl-C at one place of tidelog's code after the other, as the signal that it is.

    for attempt in presses("tidelog/"):
        db = fresh()
        with attempt:
            change = db.commit()
        assert consistent(db, attempt.stopped)

The n-th attempt sends SIGINT when its block comes to the n-th line that it runs in the named files; the last one is the
first that runs to its end without. With `opcodes`, places are those between bytecodes where CPython looks for signals:
behind a call of a C function, and where a function or the next turn of a loop begins. KeyboardInterrupt ends the block
and no more.
"""

from __future__ import annotations

import dis
import signal
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from types import CodeType, FrameType, TracebackType
from typing import Any

_BEGINS = {"RESUME", "JUMP_BACKWARD"}
_CALLS = {"CALL", "CALL_KW", "CALL_FUNCTION_EX"}


class Press:
    """A block in which SIGINT comes at the `number`-th place."""

    def __init__(self, number: int, files: tuple[str, ...], opcodes: bool) -> None:
        self._left = number
        self._files = files
        self._opcodes = opcodes
        self._called: FrameType | None = None
        """The frame whose last instruction was a call, if no Python function has begun since."""
        self.place = ""
        """Where the signal was sent."""
        self.stopped = False
        """Whether KeyboardInterrupt has left the block."""

    def __enter__(self) -> Press:
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        self._before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        sys.settrace(self._before)
        self.stopped = isinstance(error, KeyboardInterrupt)
        return self.stopped

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        self._called = None
        if self.place or not any(part in frame.f_code.co_filename for part in self._files):
            return None
        frame.f_trace_opcodes = self._opcodes
        frame.f_trace_lines = not self._opcodes
        return self._step

    def _step(self, frame: FrameType, event: str, argument: Any) -> Any:
        if self.place:
            return None
        if event == "line" or (event == "opcode" and self._is_looked_at(frame)):
            self._left -= 1
            if not self._left:
                self.place = f"{frame.f_code.co_filename}:{frame.f_lineno}, {frame.f_code.co_qualname}"
                signal.raise_signal(signal.SIGINT)
        return self._step

    def _is_looked_at(self, frame: FrameType) -> bool:
        name = _instructions(frame.f_code).get(frame.f_lasti, "")
        looked = name in _BEGINS or self._called is frame
        self._called = frame if name in _CALLS else None
        return looked


_KNOWN: dict[CodeType, dict[int, str]] = {}


def _instructions(code: CodeType) -> dict[int, str]:
    if code not in _KNOWN:
        _KNOWN[code] = {each.offset: each.opname for each in dis.get_instructions(code)}
    return _KNOWN[code]


def presses(*files: str, first: int = 1, every: int = 1, opcodes: bool = False) -> Iterator[Press]:
    """One attempt after the other, each pressed `every` places later, up to the first that is not."""
    for number in count(first, every):
        attempt = Press(number, files, opcodes)
        yield attempt
        if not attempt.place:
            return


def wait_for_ctrl_c(place: str, seconds: float = 60.0) -> None:
    """Wait until a Ctrl-C that was put off raises; where none does, fail."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(0.001)
    raise AssertionError(f"Ctrl-C was lost at {place}")


def pressed(attempt: Press, block: Callable[[], object]) -> bool:
    """Run a block in an attempt; whether it was stopped. An interrupt that was put off has come when this returns."""
    done = False
    try:
        with attempt:
            block()
            done = True
        if attempt.place and not attempt.stopped:
            wait_for_ctrl_c(attempt.place)
    except KeyboardInterrupt:
        pass
    return not done
