"""The transactions that had an idempotency key: a repeated request gets the answer of the first one.

A key is committed with its epoch, so that it is known exactly if the epoch has happened, also after a crash. The last
thousand keys are kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from tidelog.database.database import Database
from tidelog.errors import Problem
from tidelog.serve.problems import RequestError
from tidelog.store import StoredDatabase

MOST_KEYS = 1_000
_LONGEST = 200
_NOTE = "requests"


class KnownRequests:
    """The keys of a database, with the digests of their requests and the numbers of their epochs. The thread that asks
    has the turn to change the database."""

    def __init__(self, db: Database) -> None:
        self._keeper = db.keeper if isinstance(db, StoredDatabase) else None
        kept = {} if self._keeper is None else self._keeper.state.manifest.notes.get(_NOTE, {})
        self._known: dict[str, tuple[str, int]] = {key: (str(one), int(other)) for key, (one, other) in kept.items()}

    def epoch_of(self, key: str, body: bytes) -> int | None:
        """Return the epoch of a request that has happened, None for a new one. Raise RequestError for a key that cannot
        be (E0692), or that another request had (E0698, 422)."""
        if not key.isascii() or not key.isprintable() or not 0 < len(key) <= _LONGEST:
            hint = f"send at most {_LONGEST} characters of ASCII, such as a UUID"
            raise RequestError(400, Problem("E0692", "the Idempotency-Key cannot be used", hint=hint))
        known = self._known.get(key)
        if known is None:
            return None
        if known[0] != _digest(body):
            message = f"the Idempotency-Key {key} belongs to another request, of epoch {known[1]}"
            raise RequestError(422, Problem("E0698", message, hint="use a new key for each transaction"))
        return known[1]

    @contextmanager
    def noting(self, key: str | None, body: bytes, epoch: int) -> Iterator[None]:
        """Note a key with the epoch that is committed inside of the block, if it does not raise."""
        if key is None:
            yield
            return
        entry = _digest(body), epoch
        lost = list(self._known)[: max(0, len(self._known) + 1 - MOST_KEYS)]
        if self._keeper is not None:
            self._keeper.attached = {_NOTE: {**dict.fromkeys(lost), key: list(entry)}}
        try:
            yield
        finally:
            if self._keeper is not None:
                self._keeper.attached = {}
        for each in lost:
            del self._known[each]
        self._known[key] = entry


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:32]
