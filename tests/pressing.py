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

`pressed_inside` presses Ctrl-C in a function of a library, which makes of it what `LIBRARIES` do.
"""

from __future__ import annotations

import dis
import signal
import socket
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


def _passes_it_on() -> None:
    signal.raise_signal(signal.SIGINT)


def _ignores_it() -> None:
    """Python ignores what callbacks of weak references raise."""
    thing: set[int] = set()
    reference = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
    del thing
    assert reference() is None


class _Finalized:
    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def _ignores_it_at_an_end() -> None:
    _Finalized()


def _fails_to_clean_up() -> None:
    try:
        signal.raise_signal(signal.SIGINT)
        connection = socket.socket()
    finally:
        connection.close()


def _raises_its_own() -> None:
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise RuntimeError("Query interrupted") from None


LIBRARIES: dict[str, Callable[[], None]] = {
    "passes-on": _passes_it_on,
    "weak-reference": _ignores_it,
    "finalizer": _ignores_it_at_an_end,
    "clean-up": _fails_to_clean_up,
    "own-error": _raises_its_own,
}
"""Libraries in which Ctrl-C comes, by what they make of KeyboardInterrupt."""


@contextmanager
def pressed_inside(owner: Any, name: str, library: str = "passes-on") -> Iterator[None]:
    """Press Ctrl-C when a function of a library is called for the first time inside the block. Fail where it is not."""
    function, calls = getattr(owner, name), 0

    def press(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            LIBRARIES[library]()
        return function(*arguments, **options)

    setattr(owner, name, press)
    try:
        yield
    finally:
        setattr(owner, name, function)
        assert calls, f"{name} was not called"


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
