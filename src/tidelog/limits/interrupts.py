"""Ctrl-C during work that must not stop halfway, and work that ends because nobody waits for it any more.

Inside of `Deferring`, Ctrl-C only sets a flag. What is inside looks at the flag where stopping is safe, and raises
KeyboardInterrupt there. A Ctrl-C that comes too late for that is delivered once the function with the block has
returned, so that its result is not lost: a thread waits for this and sends the signal again. If the block raises
anyway, there is no result, and KeyboardInterrupt takes the place of the error.

Libraries may wait long, so Ctrl-C raises inside of them (`ForeignCode`). Not all of them pass it on: Python ignores
exceptions of callbacks and finalizers, and handlers of errors may fail. It leaves the block nevertheless, and comes
again if the library goes on for seconds.

Python runs handlers of signals in the main thread only. In other threads, only a cancellation of their work raises: a
server gives each request a `Cancellation`. The thread that does the work is `cancelled_by` it, so that all looks of the
thread see it: between calls of kernels, and while it waits for a lock.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import CodeType, FrameType, TracebackType
from typing import Any, ClassVar, Protocol

from tidelog.errors import LimitError, Problem
from tidelog.storage.room import resident, size_text

_EVERY = 0.001
"""Seconds between two looks whether a function has returned."""
_TURN = 0.05
"""Seconds that one wait for a lock lasts before Ctrl-C is looked at."""
_AGAIN = 3.0
"""Seconds after which Ctrl-C comes again in a library that has not ended: it may have kept the first to itself."""

# Python's functions around these look handlers up in an enumeration, which takes ten times as long as the rest.
_handler_of = getattr(signal.getsignal, "__wrapped__", signal.getsignal)
_set_handler = getattr(signal.signal, "__wrapped__", signal.signal)


class Waitable(Protocol):
    """An object that `Interrupts.take` can wait for."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...
    def release(self) -> None: ...


class Interrupts:
    """The Ctrl-C of a block: `pressed` if a Ctrl-C is not handled yet."""

    def __init__(self, before: Callable[[int, FrameType | None], Any] | None = None) -> None:
        self.pressed = False
        self.before = before
        """The handler of the signal before the block; None where no signal comes."""
        self.through = False
        """True if Ctrl-C raises at once, outside of the functions with the code `shielded`."""
        self.shielded: tuple[CodeType, ...] = ()
        self.raised: list[BaseException] | None = None
        """The exceptions that Ctrl-C has raised inside of a library, unless it is the user's code that runs."""
        self.put_off = False
        self._cancellation = cancellation_here()
        self.pressing = threading.Lock()
        """Held while a thread presses Ctrl-C again."""

    def note(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal: note it, or let it through where that is allowed."""
        shielded = _outermost(frame, self.shielded)
        if not self.through or self.before is None:
            self.pressed = True
        elif shielded is not None:
            _deliver(shielded)
        else:
            try:
                self.before(number, frame)
            except BaseException as error:
                if self.raised is not None:
                    self.raised.append(error)
                    if len(self.raised) == 1:
                        self._press_again(self.raised)
                raise

    def _press_again(self, raised: list[BaseException]) -> None:
        """Press Ctrl-C every few seconds while the library runs in which it has raised these exceptions."""

        def press() -> None:
            is_in_library = True
            while is_in_library:
                time.sleep(_AGAIN)
                with self.pressing:
                    # Ctrl-C may have cut the end of the library's block off, but not that of the outermost one.
                    is_in_library = self.raised is raised and signal.getsignal(signal.SIGINT) == self.note
                    if is_in_library:
                        signal.pthread_kill(main, signal.SIGINT)

        main = threading.main_thread().ident or 0
        with suppress(RuntimeError, MemoryError):  # There may be no room for a thread.
            threading.Thread(target=press, name="tidelog Ctrl-C again", daemon=True).start()

    def look(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was pressed, and LimitError if the work of the thread was cancelled (E0509)
        or takes too much memory (E0503)."""
        if self.put_off:
            return
        if self.pressed:
            self.pressed = False
            raise KeyboardInterrupt
        if self._cancellation is not None:
            self._cancellation.look()

    @property
    def is_cancelled(self) -> bool:
        """Return True if nobody waits for the work of the thread any more."""
        return self._cancellation is not None and self._cancellation.is_cancelled

    @contextmanager
    def let_through(self) -> Iterator[None]:
        """Let Ctrl-C raise at once, anywhere inside the block, which runs the user's code."""
        before = self.through, self.raised
        self.through, self.raised = True, None
        try:
            yield
        finally:
            self.through, self.raised = before

    @contextmanager
    def putting_off(self) -> Iterator[None]:
        """Keep `look` from raising inside the block, which takes back changes."""
        before, self.put_off = self.put_off, True
        try:
            yield
        finally:
            self.put_off = before

    def take(self, lock: Waitable) -> None:
        """Wait for a lock and have it; KeyboardInterrupt ends the waiting."""
        while not lock.acquire(timeout=_TURN):
            self.look()

    @contextmanager
    def hold(self, lock: Waitable) -> Iterator[None]:
        """Hold a lock inside the block. KeyboardInterrupt ends the wait for it."""
        self.take(lock)
        try:
            yield
        finally:
            lock.release()


class ForeignCode:
    """A block that runs a library: Ctrl-C raises at once. If the library keeps the exception to itself, or raises
    another one in its place, it leaves the block all the same."""

    def __init__(self, interrupts: Interrupts, through: bool = True) -> None:
        """Without `through`, Ctrl-C waits as it does outside."""
        self._interrupts = interrupts
        self._through = through

    def __enter__(self) -> None:
        interrupts = self._interrupts
        self._before = interrupts.through, interrupts.raised
        self._raised: list[BaseException] = []
        # No call comes between here and the block, so that no handler runs and `__exit__` follows.
        interrupts.raised, interrupts.through = self._raised, self._through
        if self._through and interrupts.pressed and not interrupts.put_off:
            interrupts.through, interrupts.raised = self._before
            interrupts.pressed = False
            raise KeyboardInterrupt

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._interrupts.through, self._interrupts.raised = self._before
        raised, self._raised = self._raised, []
        if raised:
            with self._interrupts.pressing:
                pass  # From here on no thread presses Ctrl-C again.
        if raised and error not in raised and kind is not GeneratorExit:  # as which Python closes generators
            raise raised[-1] from None


class Deferring:
    """Inside, Ctrl-C waits; blocks within share the outermost one's `Interrupts`. An unhandled one is delivered when
    the function with the outermost block has returned; in the place of an error, it is raised at once."""

    _running: ClassVar[Interrupts | None] = None
    """Those of the outermost block that the main thread is in."""
    _interrupts: Interrupts | None = None
    was_through = False
    """Whether Ctrl-C raised at once before the block."""

    def __enter__(self) -> Interrupts:
        handler = _handler_of(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or not callable(handler):
            return Interrupts()
        self._outer = running = Deferring._running
        if running is not None and handler == running.note:
            interrupts, self._outermost = running, False
            self.was_through, interrupts.through = interrupts.through, False
        else:
            interrupts, self._outermost = Interrupts(handler), True
            self.was_through = True
            _set_handler(signal.SIGINT, interrupts.note)
        self._interrupts = Deferring._running = interrupts
        return interrupts

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        interrupts = self._interrupts
        if interrupts is None:
            return
        # CPython looks for signals behind calls of C functions, and where Python functions and loops begin. None of
        # these comes between the end of `try` and the instruction that the caller of our caller goes on with.
        try:
            Deferring._running = self._outer
            if not self._outermost:
                interrupts.through = self.was_through
            elif _handler_of(signal.SIGINT) == interrupts.note:
                _set_handler(signal.SIGINT, interrupts.before)
            if error is not None:
                interrupts.look()
            elif interrupts.pressed and (self._outermost or interrupts.through):
                interrupts.pressed = False
                _deliver(sys._getframe(1))
        except BaseException:
            if error is not None:
                raise
            with suppress(RuntimeError, MemoryError):  # There may be no room for a thread.
                _deliver(sys._getframe(1))

    def open(self, *shielded: CodeType) -> None:
        """Let Ctrl-C raise at once from now on, if that is how it was before the block, but not in functions with these
        codes. `close` ends this."""
        if (interrupts := self._interrupts) is not None:
            self._closed = interrupts.through, interrupts.shielded
            interrupts.shielded = shielded
            interrupts.through = self.was_through
            if interrupts.through and interrupts.pressed:
                interrupts.pressed = False
                _deliver(sys._getframe(1))

    def close(self) -> None:
        """Let Ctrl-C wait again."""
        if (interrupts := self._interrupts) is not None:
            interrupts.through, interrupts.shielded = self._closed


@contextmanager
def foreign_code() -> Iterator[None]:
    """Run a verb that may end anywhere, and libraries with it, see `ForeignCode`. Ctrl-C waits if it does outside."""
    block = Deferring()
    with block as interrupts, ForeignCode(interrupts, block.was_through):
        yield


def _deliver(frame: FrameType) -> None:
    """Press Ctrl-C again once a function of the main thread has returned."""
    waiting, main = [frame], threading.main_thread().ident
    assert main is not None

    def wait() -> None:
        while _is_running(waiting[0], main):
            time.sleep(_EVERY)
        waiting.clear()
        signal.pthread_kill(main, signal.SIGINT)

    threading.Thread(target=wait, name="tidelog Ctrl-C", daemon=True).start()


def _is_running(frame: FrameType, thread: int) -> bool:
    each = sys._current_frames().get(thread)
    while each is not None and each is not frame:
        each = each.f_back
    return each is not None


def _outermost(frame: FrameType | None, codes: tuple[CodeType, ...]) -> FrameType | None:
    """Return the frame of the outermost function that runs one of these codes, if there is one."""
    found = None
    while codes and frame is not None:
        found = frame if frame.f_code in codes else found
        frame = frame.f_back
    return found


class Cancellation:
    """The way to end the work of a thread from another one. While it lasts, the process may grow by `room` bytes, None
    for no limit."""

    def __init__(self, room: int | None = None) -> None:
        self.is_cancelled = False
        self._most = None if room is None else resident() + room
        self._room = room

    def cancel(self) -> None:
        """End the work at its next look."""
        self.is_cancelled = True

    def look(self) -> None:
        """Raise LimitError if the work was cancelled (E0509), or if the process has grown too much (E0503)."""
        if self.is_cancelled:
            message = "the work was cancelled: nobody waits for it any more"
            raise LimitError(Problem("E0509", message, hint="nothing has changed; ask again"))
        if self._most is not None and self._room is not None and resident() > self._most:
            message = (
                f"out of memory: the process has {size_text(resident())}, {size_text(self._room)} more than before"
            )
            hint = "nothing has changed; ask for less at a time, or raise the memory of a request"
            raise LimitError(Problem("E0503", message, hint=hint))


class _Here(threading.local):
    """The state of a thread."""

    cancellation: Cancellation | None = None


_here = _Here()


def cancellation_here() -> Cancellation | None:
    """Return that of the work of this thread, None without one."""
    return _here.cancellation


@contextmanager
def cancelled_by(cancellation: Cancellation) -> Iterator[None]:
    """Let a cancellation end the work of this thread inside the block."""
    before, _here.cancellation = _here.cancellation, cancellation
    try:
        yield
    finally:
        _here.cancellation = before
