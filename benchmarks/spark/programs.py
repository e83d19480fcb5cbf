"""Programs for a cluster engine without a database around it."""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.language import read
from tidelog.limits.watch import Watch
from tidelog.maintain.protocol import Engine, EpochOptions, FactCall, RowChange
from tidelog.spark.rows import Rows
from tidelog.workspace.workspace import Workspace


def loaded(text: str) -> Workspace[FactCall]:
    """Return a workspace whose program is a text."""
    workspace = Workspace(FactCall)
    workspace.extend(read(f"{text}\n", name="<text>"))
    return workspace


def evaluate(engine: Engine[Rows], workspace: Workspace[FactCall], changes: Mapping[str, RowChange[Rows]]) -> None:
    """Make one epoch of changes of facts, with the program of the workspace."""
    engine.epoch(workspace.draft().core, changes, Watch(), EpochOptions())
