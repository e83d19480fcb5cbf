"""`Service`: a database, and what its server keeps beside it."""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.database.database import Database
from tidelog.database.snapshots import Snapshot
from tidelog.durable.files import checksum
from tidelog.language.placed import placed_text
from tidelog.language.syntax import Program
from tidelog.maintain.deltas import AnyRows
from tidelog.maintain.protocol import Prospect
from tidelog.semantics.user_functors import close_libraries
from tidelog.serve.bodies import ServerLimits
from tidelog.store import StoredDatabase
from tidelog.workbench.change_log import ChangeLog
from tidelog.workbench.cursors import Cursors
from tidelog.workbench.feed import EpochFeed
from tidelog.workbench.history import EpochHistory
from tidelog.workbench.requests import KnownRequests
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
            db.keeper.aside = True
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
