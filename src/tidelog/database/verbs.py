"""The verbs of all databases: `Reads` takes turns with other threads, `Verbs` is from commit to close."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from tidelog.errors import Problem, UsageError, quote
from tidelog.limits.interrupts import Deferring, Interrupts
from tidelog.workspace.change import SubscribedChange, Subscribers
from tidelog.workspace.objects import PendingReads, Uncopied, warn_of_pending
from tidelog.workspace.turns import Turns

Made = TypeVar("Made", bound=SubscribedChange)
Part = TypeVar("Part")


class Reads(Uncopied):
    """An object that several threads use in turns."""

    def __init__(self, turns: Turns | None = None) -> None:
        self.turns = turns or Turns()
        """Which thread may do what now: for modules of this package."""

    def _check_usable(self) -> None:
        self.turns.check_open()

    def _note_read(self) -> None:
        """Note that a user reads views, whether changes wait or not."""

    def __dir__(self) -> list[str]:
        """Return the names that users call. The public attributes of the object are for modules of this package."""
        return [name for name in dir(type(self)) if name not in ("follow", "instead")]

    def _hold_turn(self) -> AbstractContextManager[None]:
        """Let only this thread use the object inside the block. Raise UsageError if it is closed."""
        return _Turn(self)


class Verbs(Reads, ABC, Generic[Made]):
    """The verbs of all databases. Threads may share one: each call has the database for itself, and a transaction keeps
    changes of others waiting until it ends."""

    def __init__(self, turns: Turns | None = None) -> None:
        super().__init__(turns)
        self._subscribers: Subscribers[Made] = Subscribers()
        self._pending_reads = PendingReads()

    @property
    @abstractmethod
    def has_pending(self) -> bool:
        """Return True if changes of facts or rules wait for `commit`."""

    @abstractmethod
    def _epoch(self, interrupts: Interrupts) -> Made:
        """Make the pending changes one epoch, or change nothing and raise."""

    @abstractmethod
    def _drop(self) -> None:
        """Drop all pending changes."""

    @abstractmethod
    def _end(self) -> None:
        """Give everything back."""

    def follow(self, name: str, callback: Callable[[Made], object]) -> Callable[[], None]:
        """Call a function with the change of each epoch from now on; returns a function that ends this. `name` is for
        the log. For modules of this package."""
        return self._subscribers.add(name, lambda change: change, callback)

    def commit(self) -> Made:
        """Make all pending changes one epoch, call the subscribers, and return the change.

        Raise LimitError, KeyboardInterrupt, or UsageError (E0625) inside of a transaction. Then no fact, rule or view
        has changed, and the changes are still pending: commit them again, or drop them by `rollback`. When it returns,
        the epoch is committed. A Ctrl-C that comes too late is delivered afterwards, and exceptions of subscribers are
        in `errors` of the change. In a store the epoch is then on the disk; raise UsageError (E0681) if the disk does
        not take it. Over Spark also raise DataError and SetupError.
        """
        with Deferring() as interrupts:
            return self._commit(interrupts, self._epoch)

    def _commit(self, interrupts: Interrupts, epoch: Callable[[Interrupts], Made]) -> Made:
        with interrupts.hold(self.turns.changing):
            self.turns.check_outside("commit()")
            with interrupts.hold(self.turns.using):
                self._check_usable()
                change = epoch(interrupts)
            self._subscribers.publish(change, interrupts)
            return change

    def rollback(self) -> None:
        """Drop all pending changes, loaded programs included. UsageError (E0625) inside of a transaction."""
        with Deferring() as ctrl_c, ctrl_c.hold(self.turns.changing), ctrl_c.hold(self.turns.using):
            self.turns.check_outside("rollback()")
            self._drop()

    def snapshot(self) -> object:
        """Raise UsageError (E0614) for this kind of database, see `Database.snapshot`."""
        message = f"a {type(self).__name__} has no snapshots: reads of it wait for a commit under way"
        hint = "copy its relations between two commits, or use a database in memory or in a folder"
        raise UsageError(Problem("E0614", message, hint=hint))

    def close(self) -> None:
        """Release the memory, and the folder of a store. Calls of the database and of its relations raise UsageError
        (E0602) from then on.

        Results of queries and commits stay as they are, unless Spark has them. Raise UsageError (E0625) inside of a
        transaction.
        """
        with Deferring() as ctrl_c, ctrl_c.hold(self.turns.changing), ctrl_c.hold(self.turns.using):
            self.turns.check_outside("close()")
            if not self.turns.closed:
                self.turns.closed = True
                self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and not self.turns.closed and self._has_changes():
            warn_of_pending("the block ends", "they are dropped", stacklevel=3)
        self.close()

    def _has_changes(self) -> bool:
        """Return True if facts or rules wait, and not only declarations."""
        return self.has_pending

    def _note_read(self) -> None:
        if self.turns.transaction is None:
            self._pending_reads.note_read(self._has_changes, stacklevel=4)

    def _hold_change_turn(self) -> AbstractContextManager[None]:
        """`_hold_turn` for what changes something, which waits for other threads' transactions."""
        return _ChangeTurn(self)


class _Turn:  # A generator takes four times as long, and this is in every call.
    """The block of `Reads._hold_turn`."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads

    def __enter__(self) -> None:
        self._using = self._reads.turns.using
        self._using.acquire()
        try:
            self._reads._check_usable()
        except BaseException:
            self._using.release()
            raise

    def __exit__(self, *_: object) -> None:
        self._using.release()


class _ChangeTurn:
    """The block of `Verbs._hold_change_turn`."""

    def __init__(self, verbs: Verbs[Any]) -> None:
        self._verbs = verbs

    def __enter__(self) -> None:
        self._changing = self._verbs.turns.changing
        if not self._changing.acquire(blocking=False):
            Interrupts().take(self._changing)
        try:
            self._turn = self._verbs._hold_turn()
            self._turn.__enter__()
        except BaseException:
            self._changing.release()
            raise
        self._verbs._pending_reads.note_change()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        try:
            return self._turn.__exit__(kind, error, trace)
        finally:
            self._changing.release()


def callable_one(callback: Callable[[Part], object]) -> Callable[[Part], object]:
    """Return a callback of subscribers. UsageError (E0609) where it cannot be called."""
    given: object = callback
    if not callable(given):
        message = f"expected a function of one change as callback, found {quote(callback)}"
        raise UsageError(Problem("E0609", message, hint="pass a function, for example `print` or `changes.append`"))
    return callback
