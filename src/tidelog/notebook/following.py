"""`follow`: a table of a relation in a notebook that changes with each epoch.

A cell replaces what it has shown, also in the saved notebook: an exported page has the last table.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from IPython.display import HTML, DisplayHandle, display

from tidelog.common.markup import change_table
from tidelog.database.relation_verbs import RelationVerbs
from tidelog.errors import wrong_argument

if TYPE_CHECKING:
    from tidelog.client.database import RemoteDatabase

_ROWS = 20


def follow(db: RelationVerbs[Any, Any, Any] | RemoteDatabase, relation: str, rows: int = _ROWS) -> FollowedTable:
    """Return a table of a relation of a database, or of one that a server has, for the last value of a cell: the first
    `rows` rows. After each epoch that changes the relation, inserted rows are green and deleted ones red. `close` ends
    this. Raise UsageError: E0601 for an unknown relation, E0635 for other arguments."""
    if not isinstance(db, RelationVerbs) and not hasattr(db, "subscribe"):
        raise wrong_argument("the first argument", "a database of `tidelog.connect()`", db)
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise wrong_argument("rows", "a number of rows from 1 on", rows)
    return FollowedTable(db, relation, rows)


class FollowedTable:
    """A table that follows a relation, in HTML."""

    def __init__(self, db: Any, relation: str, rows: int) -> None:
        self._db = db
        self._rows = rows
        self._shown: list[DisplayHandle] = []
        self.relation = relation
        """The name of the relation."""
        # Changes come in other threads, and one that comes first must not be followed by an older table.
        self._lock = threading.RLock()
        with self._lock:
            self._end: Callable[[], None] = db.subscribe(relation, self._hear)
            self.html = self._table(None)
            """The table as of the last epoch."""

    def close(self) -> None:
        """Follow no longer; the table stays as it is."""
        self._end()

    def _hear(self, change: Any) -> None:
        with self._lock:
            self.html = self._table(change)
            self._show()

    def _show(self) -> None:
        """Bring the new table to where it is shown."""
        for handle in self._shown:
            handle.update(HTML(self.html))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.relation}>"

    def _ipython_display_(self) -> None:
        self._shown.append(display(HTML(self.html), display_id=True))

    def _table(self, change: Any) -> str:
        """Return the table with the rows of a change marked."""
        heads, first, size = self._now()
        caption = f"{self.relation}: {size:,} tuple{'s' * (size != 1)}"
        inserted: list[list[str]] = []
        deleted: list[list[str]] = []
        if change is not None:
            caption += f", +{len(change.inserted):,} -{len(change.deleted):,}"
            if getattr(change, "has_rows", True):  # A server may have sent only their numbers.
                inserted, deleted = change.inserted.cells(self._rows), change.deleted.cells(self._rows)
        kept = [row for row in first if row not in inserted][: max(0, self._rows - len(inserted))]
        rows = [*(("-", row) for row in deleted), *(("+", row) for row in inserted), *(("", row) for row in kept)]
        return change_table(caption, heads, rows)

    def _now(self) -> tuple[list[str], list[list[str]], int]:
        """Return the names of the columns, the first rows as texts, and the number of rows."""
        if isinstance(self._db, RelationVerbs):
            relation = self._db.local(self.relation)
            return list(relation.schema), relation.cells(self._rows), len(relation)
        found = self._db.rows(self.relation, limit=self._rows)
        return list(found.schema), found.cells(self._rows), self._db.stats()["relations"][self.relation]
