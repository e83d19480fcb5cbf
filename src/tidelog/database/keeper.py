"""The hook by which a database lasts: a keeper has the last epoch, and each that follows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from tidelog.common.arrays import Words
from tidelog.maintain.deltas import AnyRows
from tidelog.maintain.engine import EmbeddedEngine
from tidelog.maintain.protocol import Prospect, RowChange
from tidelog.workspace.workspace import Draft, Workspace


class EpochKeeper(Protocol):
    """Lets the epochs of a `Database` last elsewhere, see `store.keeper.FolderKeeper`."""

    def recover(self, workspace: Workspace[Any]) -> EmbeddedEngine | None:
        """Return an engine in the state of an earlier epoch; the workspace has that program, and what was committed
        since waits there. The database makes that its first epoch, which need not be sealed. None where nothing is
        kept."""

    def seal(self, draft: Draft, facts: Mapping[str, RowChange[Words]], prospect: Prospect[AnyRows]) -> None:
        """Let the epoch that these changes of facts lead to last; `prospect` has the numbers that counters give. What
        this raises takes the epoch back."""

    @property
    def next_epoch(self) -> int:
        """Return the number of the epoch that is being made, which may be the one that comes back."""

    def settled(self, engine: EmbeddedEngine, seconds: float) -> None:
        """Note that an epoch is over, which has taken so long, and compact what is kept if it is time to."""

    def stats(self) -> Mapping[str, Any]:
        """Return the keeper's part of `db.stats()`."""

    def close(self) -> None:
        """Let others have what is kept."""
