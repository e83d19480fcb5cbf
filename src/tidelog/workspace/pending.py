"""The warning of a read that does not see changes which wait for `commit`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from threading import get_ident

from tidelog.errors import PendingWarning, Problem


class PendingReads:
    """Warns once that views are read by the thread whose changes wait. It `is_on` until then."""

    def __init__(self) -> None:
        self.is_on = True
        self._changer: int | None = None
        """The thread that has last changed something."""

    def note_change(self) -> None:
        """Note that this thread changes something."""
        self._changer = get_ident()

    def note_read(self, has_changes: Callable[[], bool], stacklevel: int) -> None:
        """Warn if this is the first read of a thread that `has_changes`."""
        if self.is_on and self._changer == get_ident() and has_changes():
            self.is_on = False
            warn_of_pending("views are read", "the views are those of the last commit", stacklevel + 1)


def warn_of_pending(when: str, effect: str, stacklevel: int) -> None:
    """Warn (E0617) that changes wait."""
    hint = "call `commit()`, or `rollback()` to drop them; a `transaction()` commits at its end"
    problem = Problem("E0617", f"{when} while changes wait for `commit`: {effect}", hint=hint, severity="warning")
    warnings.warn(str(problem), PendingWarning, stacklevel=stacklevel)
