"""The objects of users: they cannot be copied, warn of changes that wait, and know their earlier names."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from operator import attrgetter
from threading import get_ident
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, SupportsIndex

from tidelog.errors import PendingWarning, Problem, UsageError


class Uncopied:
    """An object that is bound to its process, or whose state others share: `copy` and `pickle` raise UsageError
    (E0629)."""

    instead: ClassVar[str] = "connect again in the other place, or copy the relations"
    """The hint of that error: an alternative to a copy."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        message = f"a {type(self).__name__} cannot be copied or pickled"
        raise UsageError(Problem("E0629", message, hint=self.instead))


_OF_ALL: Mapping[str, str] = {"undo": "ways_to_remove", "repair": "ways_to_derive"}
OF_DATABASES: Mapping[str, str] = {**_OF_ALL, "functors": "import_functions"}
OF_CLIENTS: Mapping[str, str] = {**_OF_ALL, "remove_rules": "rules.remove"}
OF_BLOCKS: Mapping[str, str] = {"remove_rule": "rules.remove"}
OF_STORES: Mapping[str, str] = {**_OF_ALL, **OF_BLOCKS}
OF_NETWORKS: Mapping[str, str] = {**OF_STORES, "add_rules": "rules.add"}


class EarlierNames:
    """A database whose verbs answer to their names of 0.2 as well, with a DeprecationWarning. These names go with the
    next version."""

    _earlier_names: ClassVar[Mapping[str, str]] = OF_DATABASES

    if not TYPE_CHECKING:  # A checker of types refuses the earlier names, and any other.

        def __getattr__(self, name: str) -> Any:
            if name not in self._earlier_names:
                raise AttributeError(f"a {type(self).__name__} has no attribute {name!r}")
            later = self._earlier_names[name]
            warnings.warn(f"`{name}` is `{later}` now", DeprecationWarning, stacklevel=2)
            return attrgetter(later)(self)


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
