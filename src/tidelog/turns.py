"""The locks of a database: threads take turns.

    changing   held by the thread that changes something: for a call, or from the beginning of a transaction to its end
    using      held by every call while it reads or changes what calls share; whoever wants both takes `changing` first

So writers take turns, a transaction belongs to the thread that opened it, and readers wait for a commit under way, but
for no transaction. Subscribers are called with `changing` alone, so that other threads can read meanwhile.
"""

from __future__ import annotations

import os
import threading
from weakref import WeakSet

from tidelog.errors import Problem, UsageError

_ALL: WeakSet[Turns] = WeakSet()


class Turns:
    """The two locks of a database, the transaction that is open, if one is, and whether the database is closed."""

    def __init__(self) -> None:
        self.changing = threading.RLock()
        self.using = threading.RLock()
        self.transaction: object | None = None
        self.closed = False
        self.forked = False
        """Whether this is a copy that a fork has made while another thread had the database."""
        _ALL.add(self)

    def check_open(self) -> None:
        """Raise UsageError if the database is closed (E0602), or if a fork has copied it in the middle of a change
        (E0627)."""
        if self.closed:
            raise UsageError(Problem("E0602", "the database is closed", hint="connect again"))
        if self.forked:
            message = "this process was forked while another thread used the database"
            hint = "fork while no thread uses the database, or connect in the new process"
            raise UsageError(Problem("E0627", message, hint=hint))

    def check_outside(self, call: str) -> None:
        """Raise UsageError (E0625) if this thread is in a transaction; wait for those of others."""
        with self.changing:
            if self.transaction is not None:
                message = f"cannot call `{call}` inside a transaction"
                hint = "end the block to commit, or raise in it to drop its changes"
                raise UsageError(Problem("E0625", message, hint=hint))


def _look_after_fork() -> None:
    """Let no call wait for a thread that this process does not have."""
    for turns in list(_ALL):
        mine = [lock.acquire(blocking=False) for lock in (turns.changing, turns.using)]
        if all(mine):
            turns.using.release()
            turns.changing.release()
        else:
            turns.changing, turns.using = threading.RLock(), threading.RLock()
            turns.transaction, turns.forked = None, True


os.register_at_fork(after_in_child=_look_after_fork)
