"""Questions to explanations: the defaults of what they ask, and answers one after the other.

The verbs that ask need no other module of this room until then. All proofs of a tuple, or sets of facts, come from an
`Enumeration`, as long as no limit ends the search.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from tidelog.errors import LimitError, Problem, UsageError
from tidelog.limits.watch import Watch

EXPLANATION = "the explanation"
"""How errors of limits name the work."""
MOST_MEMBERS = 3
"""Members of a group that are shown."""
DEPTH = 3
"""How many missing tuples below one another `why_not` explains."""


Item = TypeVar("Item")


@dataclass(frozen=True)
class Turn:
    """The access of an iterator to a database, for each item: `taking` takes it, `reading` is the block for errors of
    memory, `ready` raises while it cannot be asked, `epoch` returns another number after each epoch, and `watch` has
    the limits."""

    taking: Callable[[], AbstractContextManager[None]]
    reading: Callable[[], AbstractContextManager[object]]
    ready: Callable[[], object]
    epoch: Callable[[], int]
    watch: Watch


class Enumeration(Iterator[Item], Generic[Item]):
    """An iterator of explanations of one epoch, the smallest first.

    A limit ends it: `is_partial` is True then, and `limit` says which one; there may be more. A limit before the first
    item is an error, as for one explanation."""

    def __init__(self, found: Iterator[Item], question: str, turn: Turn) -> None:
        self._found = found
        self._question = question
        self._turn = turn
        self._asked = turn.epoch()
        self._has_failed = False
        self.count = 0
        """The number of items so far."""
        self.limit: LimitError | None = None
        """The limit that has ended the iterator, with the number of items before it."""

    @property
    def is_partial(self) -> bool:
        """Return True if a limit has ended the iterator, so that there may be more than it has returned."""
        return self.limit is not None

    def __next__(self) -> Item:
        """Return the next item. The database is taken for each, which has the whole time of its limit. Raise UsageError
        (E0671) after another epoch or an error, LimitError if a limit is reached before the first item, and what
        `ready` raises: that does not end the iterator."""
        turn = self._turn
        with turn.taking(), turn.reading():
            if turn.epoch() != self._asked:
                message = "the database has changed since these explanations were asked for"
                raise UsageError(Problem("E0671", message, hint="ask again"))
            if self._has_failed:
                raise UsageError(Problem("E0671", "an error has ended these explanations", hint="ask again"))
            turn.ready()
            turn.watch.started = time.perf_counter()
            try:
                item = next(self._found, None)
            except LimitError as error:
                item, problem = None, error.problems[0]
                message = f"{problem.message}; found before: {self.count:,}"
                self.limit = LimitError(replace(problem, message=message, place=self._question))
            except BaseException:
                self._has_failed = True  # The search cannot go on, and has not come to its end.
                raise
        if item is not None:
            self.count += 1
            return item
        if self.limit is not None and not self.count:
            raise self.limit
        raise StopIteration

    def __repr__(self) -> str:
        more = ", a limit has ended it" if self.is_partial else ""
        return f"<Enumeration of {self._question}: {self.count:,} so far{more}>"
