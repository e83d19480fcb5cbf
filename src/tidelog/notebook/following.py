"""`follow`: a table of a relation in a notebook that changes with each epoch.

With the package anywidget it is a widget, which any number of cells can show. Without it, or in a page without widgets,
it is HTML: a cell of a running notebook replaces what it has shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidelog.errors import is_installed, wrong_argument
from tidelog.notebook.table import FollowedTable
from tidelog.verbs import RelationVerbs

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
    if not is_installed("anywidget"):
        return FollowedTable(db, relation, rows)
    from tidelog.notebook.widget import WidgetTable

    return WidgetTable(db, relation, rows)
