"""A thread that hears Ctrl-C, and sees the time pass, while the main thread can do neither.

Handlers of signals do not run while the main thread is in a kernel, or waits for the threads of others. So a thread
reads the wake-up file of signals, and passes on signals that others wait for there. All blocks of a process share one
thread: to start one for each epoch would cost more than a small epoch does. It ends after a while
without users, before a fork, and with the process.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_TURN = 50
"""Milliseconds between two turns."""
_IDLE = 20
"""Turns without a block after which the thread ends."""


class _Block:
    """A block that wants turns; `main` where it is one of the main thread, which is the one that Ctrl-C ends."""

    def __init__(self, turn: Callable[[bool], None]) -> None:
        self.turn = turn
        self.main = threading.current_thread() is threading.main_thread()
        self.pressed = False


class _Listener:
    """The thread, the files that it reads, and its users. Whoever has `lock` finds all of it in order."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # Handlers of signals run in between, and may commit.
        self.blocks: list[_Block] = []
        self.thread: threading.Thread | None = None
        self.ended = False
        """True while the thread shall end."""
        self.files: tuple[int, int] | None = None
        """Both ends of the wake-up file, which is made when it is first needed."""
        self.before = -1
        """The wake-up file outside of the blocks of the main thread."""

    def enter(self, block: _Block) -> None:
        """Give turns to a block from now on."""
        with self.lock:
            if self.files is None:
                self.files = os.pipe()
                for file in self.files:
                    os.set_blocking(file, False)
            if block.main and not any(each.main for each in self.blocks):
                self.hear()  # A signal of the last block may have come late.
                found = signal.set_wakeup_fd(self.files[1], warn_on_full_buffer=False)
                self.before = found if found != self.files[1] else self.before
            self.blocks.append(block)
            self.ended = False
            if self.thread is None:
                self.thread = threading.Thread(target=self.listen, name="tidelog signals", daemon=True)
                self.thread.start()

    def leave(self, block: _Block) -> None:
        """Give no more turns to a block: none is under way when this returns."""
        with self.lock:
            if self.files is None or block not in self.blocks:  # A fork has come between.
                return
            if block.main and sum(each.main for each in self.blocks) == 1:
                found = signal.set_wakeup_fd(self.before)
                if found != self.files[1]:
                    signal.set_wakeup_fd(found)  # Somebody has put another one there, and left it.
                self.hear()
            self.blocks.remove(block)

    def hear(self) -> None:
        """Read the signals, note Ctrl-C, and pass them on."""
        assert self.files is not None
        with suppress(BlockingIOError):
            signals = os.read(self.files[0], 4096).replace(b"\0", b"")
            mine = [block for block in self.blocks if block.main]
            for block in mine:
                block.pressed |= signal.SIGINT in signals
            if mine and signals and self.before != -1:
                with suppress(OSError):
                    os.write(self.before, signals)

    def listen(self) -> None:
        """Give all blocks their turns until the thread is to end."""
        assert self.files is not None
        poll, idle = select.poll(), 0
        poll.register(self.files[0], select.POLLIN)
        while True:
            poll.poll(_TURN)
            with self.lock:
                idle = 0 if self.blocks else idle + 1
                if self.ended or idle > _IDLE:
                    self.thread = None
                    return
                try:
                    self.hear()
                    self.give_turns()
                except BaseException:
                    self.thread = None  # The next block starts another.
                    raise

    def give_turns(self) -> None:
        """Give each block its turn. This is a method of its own because `listen` would keep the last block and its turn
        alive."""
        for block in self.blocks:
            block.turn(block.pressed)

    def end(self) -> None:
        """End the thread unless a block needs it, and wait until it has ended, with a time limit."""
        with self.lock:
            thread, self.ended = self.thread, not self.blocks
            if thread is None or not self.ended or self.files is None:
                return
            with suppress(BlockingIOError):  # full of signals: they wake the thread as well
                os.write(self.files[1], b"\0")
        thread.join(_IDLE * _TURN / 1000)

    def drop(self) -> None:
        """Forget all of it after a fork: the thread and the contents of the files are the parent's."""
        if self.files is not None:
            found = signal.set_wakeup_fd(-1)
            signal.set_wakeup_fd(self.before if found == self.files[1] else found)
            for file in self.files:
                os.close(file)
        self.__init__()  # type: ignore[misc]  # its lock may be held by a thread that is not here


_LISTENER = _Listener()
os.register_at_fork(before=_LISTENER.end, after_in_child=_LISTENER.drop)


@contextmanager
def run_listener(turn: Callable[[bool], None]) -> Iterator[None]:
    """Run a thread inside the block that calls `turn` again and again, with True if Ctrl-C was pressed."""
    block = _Block(turn)
    try:
        _LISTENER.enter(block)
        yield
    finally:
        _LISTENER.leave(block)
