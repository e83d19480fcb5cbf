"""Objects that cannot be copied, and the error that says so."""

from __future__ import annotations

from typing import ClassVar, NoReturn, SupportsIndex

from tidelog.errors import Problem, UsageError


class Uncopied:
    """An object that is bound to its process, or whose state others share: `copy` and `pickle` raise UsageError
    (E0629)."""

    instead: ClassVar[str] = "connect again in the other place, or copy the relations"
    """The hint of that error: an alternative to a copy."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        message = f"a {type(self).__name__} cannot be copied or pickled"
        raise UsageError(Problem("E0629", message, hint=self.instead))
