"""The locks of a database: threads take turns.

    changing   held by the thread that changes something: for a call, or from the beginning of a transaction to its end
    using      held by every call while it reads or changes what calls share; whoever wants both takes `changing` first
    settling   held while an epoch that cannot fail any more becomes the last one, and while a snapshot of the last one
               is made; whoever wants all takes it last

So writers take turns, a transaction belongs to the thread that opened it, and readers wait for a commit under way, but
for no transaction. Snapshots wait for neither. Subscribers are called with `changing` alone, so that other threads can
read meanwhile.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from weakref import WeakSet

from tidelog.errors import Problem, UsageError

_ALL: WeakSet[Turns] = WeakSet()
_CLOSED = Problem("E0602", "the database is closed", hint="connect again")


class Turns:
    """The locks of a database, the transaction that is open, if one is, and whether the database is closed."""

    def __init__(
        self,
        closed: Problem = _CLOSED,
        is_unused: Callable[[], bool] = lambda: True,
        is_apart: Callable[[], bool] = lambda: False,
    ) -> None:
        """`closed` is the problem of calls once this is closed. `is_unused` returns False after a fork if another
        thread had something of the database without one of these locks; `is_apart` returns True in a process that
        would change files of another one."""
        self._closed = closed
        self.is_unused = is_unused
        self.is_apart = is_apart
        self.changing = threading.RLock()
        self.using = threading.RLock()
        self.settling = threading.RLock()
        self.transaction: object | None = None
        self.closed = False
        self.forked = False
        """True if this is a copy that a fork has made while another thread had the database."""
        _ALL.add(self)

    def check_open(self) -> None:
        """Raise UsageError if the database is closed (E0602), or if a fork has copied it in the middle of a change or
        shares its files (E0627)."""
        if self.closed:
            raise UsageError(self._closed)
        if self.forked:
            message = "this process was forked while another thread used the database"
            hint = "fork while no thread uses the database, or connect in the new process"
            raise UsageError(Problem("E0627", message, hint=hint))
        if self.is_apart():
            message = "this process was forked, and the database has arrays in files that belong to its parent"
            raise UsageError(Problem("E0627", message, hint="connect in the new process"))

    def check_outside(self, call: str) -> None:
        """Raise UsageError (E0625) if this thread is in a transaction; wait for those of others."""
        with self.changing:
            if self.transaction is not None:
                message = f"cannot call `{call}` inside a transaction"
                hint = "end the block to commit, or raise in it to drop its changes"
                raise UsageError(Problem("E0625", message, hint=hint))


def are_free(locks: Iterable[threading.RLock]) -> bool:
    """Return True if no other thread has one of these locks."""
    for lock in locks:
        if not lock.acquire(blocking=False):
            return False
        lock.release()
    return True


def _look_after_fork() -> None:
    """Let no call wait for a thread that this process does not have."""
    for turns in list(_ALL):
        if not (are_free((turns.changing, turns.using, turns.settling)) and turns.is_unused()):
            turns.changing, turns.using, turns.settling = threading.RLock(), threading.RLock(), threading.RLock()
            turns.transaction, turns.forked = None, True


os.register_at_fork(after_in_child=_look_after_fork)
