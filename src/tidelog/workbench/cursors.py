"""Long answers page by page, all of one epoch: a cursor keeps a snapshot until its answer ends or nobody asks."""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass

from tidelog.database.snapshots import Snapshot
from tidelog.errors import Problem
from tidelog.io.relation import Relation
from tidelog.serve.problems import RequestError

_SECONDS = 300.0
_MOST = 256


@dataclass
class PagedAnswer:
    """The rows of a relation from the row number `position` on, as of the epoch of a snapshot."""

    snapshot: Snapshot
    relation: Relation
    position: int = 0
    until: float = 0.0

    def page(self, rows: int | None) -> Relation:
        """Return the next rows, at most so many; the position is behind them then."""
        start, total = self.position, len(self.relation)
        self.position = total if rows is None else min(total, start + rows)
        return self.relation.arranged(lambda words: words[start:], self.position)

    @property
    def has_more(self) -> bool:
        """Return True if there are rows behind the position."""
        return self.position < len(self.relation)


class Cursors:
    """The answers that have more pages, by the names that clients know. The oldest goes where there are too many."""

    def __init__(self) -> None:
        self._answers: dict[str, PagedAnswer] = {}
        self._lock = threading.Lock()

    def keep(self, answer: PagedAnswer) -> str:
        """Return a name for an answer that has more pages."""
        now = time.monotonic()
        answer.until = now + _SECONDS
        name = secrets.token_urlsafe(12)
        with self._lock:
            lost = [key for key, each in self._answers.items() if each.until < now]
            lost += [key for key in self._answers if key not in lost][
                : max(0, len(self._answers) - len(lost) + 1 - _MOST)
            ]
            gone = [self._answers.pop(key) for key in lost]
            self._answers[name] = answer
        for each in gone:
            each.snapshot.close()
        return name

    def take(self, name: str) -> PagedAnswer:
        """Return the answer of a cursor, which is used up. Raise RequestError (E0697, 410) for one that is unknown or
        has expired."""
        with self._lock:
            answer = self._answers.pop(name, None)
        if answer is not None and answer.until >= time.monotonic():
            return answer
        if answer is not None:
            answer.snapshot.close()
        message = "the cursor is unknown, was used before, or has expired"
        hint = f"ask anew without `cursor`; a cursor stays for {_SECONDS:.0f} seconds"
        raise RequestError(410, Problem("E0697", message, hint=hint))

    def close(self) -> None:
        """Let all answers go."""
        with self._lock:
            gone, self._answers = list(self._answers.values()), {}
        for each in gone:
            each.snapshot.close()
