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
        """Raise UsageError where somebody else may have the folder: after a fork (E0627), or without the lock (E0628);
        OSError where the lock cannot be looked at."""
        if os.getpid() != self._process:
            hint = "only the process that has opened a store can change it; send it the changes"
            message = f"the store was opened by process {self._process}, this is process {os.getpid()}"
            raise UsageError(Problem("E0627", message, place=self._folder, hint=hint))
        if self._lock is not None and not self._lock.is_in_place():
            hint = "nothing has changed; close the database, and open it again when no other process has it"
            message = "the lock of the store has been removed or replaced, so that others may have opened it"
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
