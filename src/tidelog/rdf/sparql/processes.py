"""Processes that evaluate queries over a mirror as it was when they were forked.

pyoxigraph cannot stop a query. A process can be killed: when time is over, when nobody wants the answer any more, or,
by the system, when it needs too much memory. It also takes the work off the process of the store, whose threads share
one lock of Python. A process answers one query after the other, as long as the mirror is the same.

Queries go through one pipe of `multiprocessing`, and the parts of their answers (`AnswerPart`) come back through
another one. A fork is made here and not by `multiprocessing`, whose processes cannot begin others if they are daemons.
"""

from __future__ import annotations

import io
import os
import pickle
import select
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from tidelog.errors import LimitError, Problem, TidelogError, UsageError
from tidelog.rdf.sparql.evaluation import AnswerFormats, FoundTerms, collect_terms, write
from tidelog.rdf.sparql.mirror import MirrorCopy

_PIECE = 1 << 16
"""Bytes of an answer that are sent at a time."""
_LONGEST = 1e9
"""Seconds that a system call may wait; a longer time is no limit."""
_ENDING: list[int] = []
_FIRST = 3
"""The first file that is not standard input, output or error."""

AnswerPart: TypeAlias = str | bytes | BaseException | None
"""The form of an answer, SELECT, ASK or CONSTRUCT; a piece of its bytes; the error that ends it, or None at its end."""


class Startable(Protocol):
    """A query, or a check, that can be pickled and begin over a mirror."""

    def start(self, mirror: Any, /) -> Any: ...


class QueryProcess:
    """A process with a copy of the mirror. Make it while nothing changes the copy."""

    def __init__(self, copy: MirrorCopy, memory: int | None = None) -> None:
        """`memory` is the number of bytes that queries may need. Raise UsageError (E0668) where there is no fork."""
        if not hasattr(os, "fork"):
            hint = "leave out `timeout`, or use Linux or macOS"
            raise UsageError(Problem("E0668", "this system cannot stop a query after a time", hint=hint))
        self._copy, self._changes = copy, copy.changes
        asked, self._asking = Pipe(duplex=False)
        self.pipe, answering = Pipe(duplex=False)
        """The end that answers come from."""
        with warnings.catch_warnings():
            # Python warns of threads, which may hold locks; the new process uses pyoxigraph and the pipes alone.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._id = os.fork()
        if not self._id:
            _serve(copy.store, asked, answering, memory)
        asked.close()
        answering.close()
        self._lock = threading.Lock()
        self._is_closed = False

    def has(self, copy: MirrorCopy) -> bool:
        """Return True if the process has a copy as it is now."""
        return self._copy is copy and self._changes == copy.changes

    def ask(self, plan: Startable, formats: AnswerFormats | None) -> None:
        """Send a query, whose answer comes as text in some formats, or else as pickled `FoundTerms`. Raise LimitError
        (E0503) if the process has ended."""
        try:
            self._asking.send((plan, formats))
        except BrokenPipeError:
            self.close()
            raise too_large() from None

    def parts(self, timeout: float | None) -> Iterator[AnswerPart]:
        """Yield the parts of an answer. Raise LimitError: E0501 when time is over, E0503 if the process has ended."""
        started = time.monotonic()
        timeout = None if timeout is None or timeout > _LONGEST else timeout
        while True:
            left = None if timeout is None else max(0.0, started + timeout - time.monotonic())
            if not self.pipe.poll(left) and timeout is not None:
                raise too_long(timeout)
            for part in self.receive_parts():
                yield part
                if part is None or isinstance(part, BaseException):
                    return

    def receive_parts(self) -> list[AnswerPart]:
        """Return the next parts of an answer. Raise LimitError (E0503) if the process has ended."""
        try:
            parts: list[AnswerPart] = self.pipe.recv()
        except (EOFError, OSError):
            raise too_large() from None
        return parts

    def close(self) -> None:
        """Kill the process, whatever it does."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        self._asking.close()
        self.pipe.close()
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
    the mirror; `answer` can wait elsewhere."""

    def __init__(self, copy: MirrorCopy, plan: Startable, timeout: float | None) -> None:
        self._timeout = timeout
        self._process = QueryProcess(copy)
        self._plan = plan

    def answer(self) -> FoundTerms:
        """Return the answer. Raise LimitError (E0501, E0503), and what pyoxigraph raised."""
        pieces: list[bytes] = []
        try:
            self._process.ask(self._plan, None)
            for part in self._process.parts(self._timeout):
                if isinstance(part, BaseException):
                    raise part
                if isinstance(part, bytes):
                    pieces.append(part)
        finally:
            self._process.close()
        answer = pickle.loads(b"".join(pieces))
        assert isinstance(answer, FoundTerms)
        return answer


# --- in the process --------------------------------------------------------------------------------------------------


def _serve(store: Any, asked: Connection, answering: Connection, memory: int | None) -> None:
    """Answer queries until nobody can send any, and end this process."""
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        _close_others(asked.fileno(), answering.fileno())
        import resource  # not everywhere

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory is not None and sys.platform == "linux":
            used = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
        while True:
            plan, formats = asked.recv()
            parts = _AnswerFile(answering)
            with _ending_with(asked.fileno()):
                failure = _answer(partial(plan.start, store), formats, parts)
            parts.end(failure)
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


def _answer(start: Callable[[], Any], formats: AnswerFormats | None, parts: _AnswerFile) -> Exception | None:
    """Write an answer but its end; return the error where it fails."""
    try:
        if formats is None:
            pickle.dump(collect_terms(start()), parts)
        else:
            write(start, formats, parts.begin, parts)
    except (TidelogError, SyntaxError, OSError, RuntimeError, ValueError, MemoryError) as error:
        return error
    return None


class _AnswerFile(io.RawIOBase):
    """A file that sends the parts of an answer, those of a short one together: each message wakes who reads them."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._begun: list[AnswerPart] = []
        self._waiting = bytearray()

    def writable(self) -> bool:
        return True

    def begin(self, form: str) -> None:
        self._begun.append(form)

    def write(self, data: Any, /) -> int:
        self._waiting += data
        while len(self._waiting) >= _PIECE:
            self._send(self._waiting[:_PIECE])
            del self._waiting[:_PIECE]
        return len(data)

    def end(self, failure: Exception | None) -> None:
        self._send(self._waiting, failure)

    def _send(self, piece: bytearray, *more: AnswerPart) -> None:
        self._pipe.send([*self._begun, bytes(piece), *more])
        self._begun.clear()
