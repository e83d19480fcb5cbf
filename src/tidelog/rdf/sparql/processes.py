"""Processes that evaluate queries over a mirror as it was when they were forked.

pyoxigraph cannot stop a query. A process can be killed: when time is over, when nobody wants the answer any more, or,
by the system, when it needs too much memory. It also takes the work off the process of the store, whose threads share
one lock of Python. A process answers one query after the other, as long as the mirror is the same.

Both ends speak in frames: four bytes with a length, and so many bytes. The length 0 ends an answer, `_FAILED` stands
before an error, and `_BEGUN` before the form of an answer.
"""

from __future__ import annotations

import io
import os
import pickle
import select
import signal
import struct
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from tidelog.errors import LimitError, Problem, TidelogError, UsageError
from tidelog.rdf.sparql.evaluation import AnswerFormats, FoundTerms, collected, write
from tidelog.rdf.sparql.mirror import MirrorCopy

_LENGTH = struct.Struct("<I")
_FAILED, _BEGUN, _MOST = 0xFFFF_FFFF, 0xFFFF_FFFE, 0x7FFF_FFFF
_PIECE = 1 << 16
_LONGEST = 1e9
"""Seconds that a system call may wait; a longer time is no limit."""
_PIPE = 1 << 20
_ENDING: list[int] = []
_FIRST = 3
"""The first file that is not standard input, output or error."""


@dataclass(frozen=True)
class AnswerForm:
    """The beginning of an answer: SELECT, ASK or CONSTRUCT."""

    name: str


@dataclass(frozen=True)
class AnswerFailure:
    """The error that ends an answer."""

    error: BaseException


@dataclass(frozen=True)
class AnswerEnd:
    """The end of an answer."""


AnswerPart = AnswerForm | bytes | AnswerFailure | AnswerEnd


class AnswerParts:
    """The parts of an answer in the bytes of a pipe."""

    def __init__(self) -> None:
        self._left = bytearray()

    def take(self, data: bytes) -> Iterator[AnswerPart]:
        """Yield the parts that are complete with more bytes."""
        self._left += data
        while len(self._left) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._left)
            kind, start = (length, 2 * _LENGTH.size) if length > _MOST else (0, _LENGTH.size)
            if kind and len(self._left) < start:
                return
            if kind:
                (length,) = _LENGTH.unpack_from(self._left, _LENGTH.size)
            if len(self._left) < start + length:
                return
            content = bytes(self._left[start : start + length])
            del self._left[: start + length]
            if kind == _FAILED:
                yield AnswerFailure(pickle.loads(content))
            elif kind == _BEGUN:
                yield AnswerForm(content.decode())
            else:
                yield content or AnswerEnd()


class Startable(Protocol):
    """A query, or a check, that can be pickled and begin over a mirror."""

    def started(self, mirror: Any, /) -> Any: ...


class QueryProcess:
    """A process with a copy of the mirror. Make it while nothing changes the copy."""

    def __init__(self, copy: MirrorCopy, memory: int | None = None) -> None:
        """`memory` is the number of bytes that queries may need. Raise UsageError (E0668) where there is no fork."""
        if not hasattr(os, "fork"):
            hint = "leave out `timeout`, or use Linux or macOS"
            raise UsageError(Problem("E0668", "this system cannot stop a query after a time", hint=hint))
        self._copy, self._changes = copy, copy.changes
        asked, self._asking = os.pipe()
        self.pipe, answering = os.pipe()
        """The end that answers come from."""
        with warnings.catch_warnings():
            # Python warns of threads, which may hold locks; the new process uses pyoxigraph and the pipes alone.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._id = os.fork()
        if not self._id:
            _serve(copy.store, asked, answering, memory)
        os.close(asked)
        os.close(answering)
        self._lock = threading.Lock()
        self._is_closed = False

    def has(self, copy: MirrorCopy) -> bool:
        """Return True if the process has a copy as it is now."""
        return self._copy is copy and self._changes == copy.changes

    def ask(self, plan: Startable, formats: AnswerFormats | None) -> None:
        """Send a query, whose answer comes as text in some formats, or else as pickled `FoundTerms`. Raise LimitError
        (E0503) if the process has ended."""
        data = pickle.dumps((plan, formats))
        try:
            _send(self._asking, _LENGTH.pack(len(data)) + data)
        except BrokenPipeError:
            self.close()
            raise too_large() from None

    def parts(self, timeout: float | None) -> Iterator[AnswerPart]:
        """Yield the parts of an answer. Raise LimitError: E0501 when time is over, E0503 if the process has ended."""
        started, found = time.monotonic(), AnswerParts()
        timeout = None if timeout is None or timeout > _LONGEST else timeout
        while True:
            left = None if timeout is None else max(0.0, started + timeout - time.monotonic())
            ready, _, _ = select.select([self.pipe], [], [], left)
            if not ready and timeout is not None:
                raise too_long(timeout)
            data = os.read(self.pipe, _PIPE)
            if not data:
                raise too_large()
            for part in found.take(data):
                yield part
                if isinstance(part, (AnswerFailure, AnswerEnd)):
                    return

    def close(self) -> None:
        """Kill the process, whatever it does."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        os.close(self._asking)
        os.close(self.pipe)
        os.kill(self._id, signal.SIGKILL)
        _ENDING.append(self._id)
        _forget_ended()


def _forget_ended() -> None:
    """Let the system forget processes that have ended. It takes a while to free their memory, so nobody waits."""
    for process in list(_ENDING):
        try:
            has_ended = os.waitpid(process, os.WNOHANG)[0] != 0
        except ChildProcessError:
            has_ended = True
        if has_ended:
            with suppress(ValueError):  # Another thread does the same.
                _ENDING.remove(process)


def too_long(timeout: float) -> LimitError:
    """Return the error (E0501) about a query that has been stopped."""
    hint = "raise `timeout`, or ask for less, for example with LIMIT; nothing has changed"
    return LimitError(Problem("E0501", f"the query was stopped after {timeout:g} s, its limit", hint=hint))


def too_large() -> LimitError:
    """Return the error (E0503) about a query whose process has ended."""
    hint = "ask for less, nest the text less deeply, or allow more memory; nothing has changed"
    return LimitError(Problem("E0503", "the process of the query has ended: it needs too much memory", hint=hint))


class TimedQuery:
    """A query that a process of its own evaluates, until a time limit if there is one. Make it while nothing changes
    the mirror; `found` can wait elsewhere."""

    def __init__(self, copy: MirrorCopy, plan: Startable, timeout: float | None) -> None:
        self._timeout = timeout
        self._process = QueryProcess(copy)
        self._plan = plan

    def found(self) -> FoundTerms:
        """Return the answer. Raise LimitError (E0501, E0503), and what pyoxigraph raised."""
        pieces: list[bytes] = []
        try:
            self._process.ask(self._plan, None)
            for part in self._process.parts(self._timeout):
                if isinstance(part, AnswerFailure):
                    raise part.error
                if isinstance(part, bytes):
                    pieces.append(part)
        finally:
            self._process.close()
        answer = pickle.loads(b"".join(pieces))
        assert isinstance(answer, FoundTerms)
        return answer


# --- in the process --------------------------------------------------------------------------------------------------


def _serve(store: Any, asked: int, answering: int, memory: int | None) -> None:
    """Answer queries until nobody can send any, and end this process."""
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        _close_others(asked, answering)
        import resource  # not everywhere

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory is not None and sys.platform == "linux":
            used = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
        with os.fdopen(asked, "rb") as questions:
            while head := questions.read(_LENGTH.size):
                plan, formats = pickle.loads(questions.read(*_LENGTH.unpack(head)))
                frames = _Frames(answering)
                with _ending_with(asked):
                    failure = _answer(partial(plan.started, store), formats, frames)
                frames.end() if failure is None else frames.fail(failure)
    finally:
        os._exit(0)


@contextmanager
def _ending_with(asked: int) -> Iterator[None]:
    """End this process inside the block when nobody can send queries any more: the process of the store may have been
    killed. A query would send the same signal, but none comes before the answer has ended."""
    import fcntl  # not everywhere

    flags = fcntl.fcntl(asked, fcntl.F_GETFL)
    fcntl.fcntl(asked, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(asked, fcntl.F_SETFL, flags | os.O_ASYNC)
    ends = select.poll()
    ends.register(asked, 0)
    if ends.poll(0):  # It was killed before.
        os._exit(0)
    yield
    fcntl.fcntl(asked, fcntl.F_SETFL, flags)


def _close_others(*used: int) -> None:
    """Close the files of the process of the store: connections of clients would stay open with this one."""
    start = _FIRST
    for each in sorted(used):
        os.closerange(start, each)
        start = each + 1
    os.closerange(start, max(os.sysconf("SC_OPEN_MAX"), start))


def _answer(start: Callable[[], Any], formats: AnswerFormats | None, frames: _Frames) -> Exception | None:
    """Send an answer but its end; return the error where it fails."""
    try:
        if formats is None:
            pickle.dump(collected(start()), frames)
        else:
            write(start, formats, frames.begin, frames)
        frames.flush()
    except (TidelogError, SyntaxError, OSError, RuntimeError, ValueError, MemoryError) as error:
        return error
    return None


class _Frames(io.RawIOBase):
    """A file that sends frames of an answer."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._waiting = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self._waiting += data
        if len(self._waiting) >= _PIECE:
            self.flush()
        return len(data)

    def flush(self) -> None:
        if self._waiting:
            _send(self._pipe, _LENGTH.pack(len(self._waiting)) + self._waiting)
            self._waiting.clear()

    def begin(self, form: str) -> None:
        self._waiting += b"".join((_LENGTH.pack(_BEGUN), _LENGTH.pack(len(form)), form.encode()))
        _send(self._pipe, bytes(self._waiting))
        self._waiting.clear()

    def end(self) -> None:
        self.flush()
        _send(self._pipe, _LENGTH.pack(0))

    def fail(self, error: BaseException) -> None:
        """Send an error in the place of the rest."""
        data = pickle.dumps(error)
        _send(self._pipe, _LENGTH.pack(_FAILED) + _LENGTH.pack(len(data)) + data)


def _send(pipe: int, data: bytes | bytearray) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(pipe, left[:_PIPE]) :]
