"""`Service`: a database, and what its server keeps beside it.

`Cursors` have long answers page by page, all of one epoch: a cursor keeps a snapshot until its answer ends or nobody
asks. `KnownRequests` has the transactions that had an idempotency key: a repeated request gets the answer of the first
one. A key is committed with its epoch, so that it is known exactly if the epoch has happened, also after a crash. The
last thousand keys are kept.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tidelog.database.database import Database
from tidelog.database.snapshots import Snapshot
from tidelog.durable.files import checksum
from tidelog.errors import Problem
from tidelog.io.relation import Relation
from tidelog.language.stored_text import placed_text
from tidelog.language.syntax import Program
from tidelog.maintain.deltas import AnyRows
from tidelog.maintain.protocol import Prospect
from tidelog.semantics.user_functors import close_libraries
from tidelog.serve.problems import RequestError
from tidelog.serve.requests import ServerLimits
from tidelog.store import StoredDatabase
from tidelog.workbench.describing import EpochHistory
from tidelog.workbench.feed import ChangeLog, EpochFeed
from tidelog.workspace.change import Change
from tidelog.workspace.workspace import Draft


@dataclass(frozen=True)
class PrintedProgram:
    """The text of programs, with the places of their statements, and its SHA-256."""

    programs: tuple[Program, ...]
    text: str
    sha256: str


class Service:
    """A database for many clients. `close` leaves the database open."""

    def __init__(self, db: Database, limits: ServerLimits | None = None, *, read_only: bool = False) -> None:
        self.db = db
        self.limits = limits or ServerLimits()
        self.read_only = read_only
        close_libraries(db.workspace.given, db.workspace.committed.core.functors.values())
        self.requests = KnownRequests(db)
        self.cursors = Cursors()
        self._log: ChangeLog | None = None
        if isinstance(db, StoredDatabase) and not read_only:
            self._log = ChangeLog(db.folder)
            db.keeper.in_background = True
        with db.turns.changing:
            self.feed = EpochFeed(self.epoch, self._log)
            db.sealing = self._seal
            self._end = db.follow("the server", self._publish)
        self.history = EpochHistory()
        self.checked: dict[str, object] | None = None
        """The result of the last check, None without one."""
        self._text: PrintedProgram | None = None

    @property
    def epoch(self) -> int:
        """Return the number of the last epoch."""
        with self.db.snapshot() as snapshot:
            return snapshot.epoch

    def program_of(self, snapshot: Snapshot) -> PrintedProgram:
        """Return the program of an epoch as a text, which is made once for epochs without changes of rules."""
        programs, found = snapshot.workspace.committed.programs, self._text
        if found is None or found.programs is not programs:
            text = placed_text(programs)
            found = self._text = PrintedProgram(programs, text, checksum(text.encode("utf-8", "surrogatepass")))
        return found

    def _seal(self, draft: Draft, prospect: Prospect[AnyRows]) -> None:
        workspace = self.db.workspace
        rules = draft.programs is not workspace.committed.programs
        self.feed.seal(workspace.epoch_number, draft, prospect, workspace.dictionary, rules=rules)

    def _publish(self, change: Change) -> None:
        self.feed.publish()
        self.history.note(self.db.workspace.epoch_number, change)

    def close(self) -> None:
        """Let readers and subscribers go."""
        self._end()
        self.db.sealing = None
        self.cursors.close()
        if self._log is not None:
            self._log.close()


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
        return self.relation.map_words(lambda words: words[start:], self.position)

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
            removed = [self._answers.pop(key) for key in lost]
            self._answers[name] = answer
        for each in removed:
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
            removed, self._answers = list(self._answers.values()), {}
        for each in removed:
            each.snapshot.close()


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
    def note_request(self, key: str | None, body: bytes, epoch: int) -> Iterator[None]:
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
