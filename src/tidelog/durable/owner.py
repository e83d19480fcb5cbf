"""The owner of a folder: the process that has taken its lock, as long as others find that lock."""

from __future__ import annotations

import os

from tidelog.durable.files import Lock
from tidelog.errors import Problem, UsageError


class Owner:
    """The right of this process to change a folder: a store of facts, of a node, or of the cluster engine. `lock` is
    None where the file system has no locks."""

    def __init__(self, lock: Lock | None, folder: str) -> None:
        self._lock = lock
        self._folder = folder
        self._process = os.getpid()

    def check(self) -> None:
        """Raise UsageError if another process may have the folder: after a fork (E0627), or without the lock (E0628);
        OSError where the lock cannot be looked at."""
        if os.getpid() != self._process:
            hint = "send the changes to the process that opened the store; only that one can write"
            message = f"process {os.getpid()} cannot change this store, which process {self._process} opened"
            raise UsageError(Problem("E0627", message, place=self._folder, hint=hint))
        if self._lock is not None and not self._lock.is_in_place():
            hint = "close the database, and open it again when no other process uses it; nothing has changed"
            message = "the lock file of the store was removed or replaced; another process may have opened the store"
            raise UsageError(Problem("E0628", message, place=self._folder, hint=hint))

    @property
    def stands(self) -> bool:
        """Return True if `check` raises nothing."""
        try:
            self.check()
        except (UsageError, OSError):
            return False
        return True

    def release(self) -> None:
        """Let others have the folder."""
        if self._lock is not None:
            self._lock.release()
