"""How many partitions there are: as many as somebody has said, or as many as the executors do tasks at once.

Executors come and go, and another number of partitions costs an evaluation in each partition (`processes.moving`). So
the number follows them with hysteresis: it grows when there are half as many slots again, and shrinks when half of the
partitions would do, and both only if the epoch before has found the same.
"""

from __future__ import annotations

_GROWS = 1.5
_SHRINKS = 2.0


class PartitionCount:
    """The number of partitions of an engine: `fixed`, or as the slots for tasks say if that is None."""

    def __init__(self, fixed: int | None) -> None:
        self.fixed = fixed
        self._differs = False
        """True if the slots of the last epoch asked for another number."""

    def next(self, present: int, slots: int) -> int:
        """Return the number of partitions of the next epoch. `present` is that of the last one, 0 before the first."""
        if self.fixed is not None:
            return self.fixed
        slots = max(slots, 1)
        if not present:
            return slots
        before, self._differs = self._differs, slots >= _GROWS * present or _SHRINKS * slots <= present
        return slots if before and self._differs else present

    def reason(self, before: int, now: int) -> str:
        """Return the reason for another number of partitions."""
        cause = "options(partitions=…)" if self.fixed is not None else f"executors have slots for {now} tasks"
        return f"{before} partitions became {now}: {cause}"
