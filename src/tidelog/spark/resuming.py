"""Go on from the partitions of the last epoch in the state folder, where nothing has to be evaluated but by each
partition for itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tidelog.durable.damage import damaged
from tidelog.errors import DataError, Problem
from tidelog.spark.cluster.engine import PartitionedEngine
from tidelog.spark.failures import working
from tidelog.spark.jobs import step
from tidelog.version import MEANING
from tidelog.workspace.workspace import Facts, Workspace


def resumed(opened: Callable[[], PartitionedEngine], workspace: Workspace[Facts]) -> PartitionedEngine:
    """Return the engine of the partitions that are there, with the workspace at its program, which waits. Raise
    DataError (E0682) if files are damaged, or are of another program, and then change nothing."""
    engine = opened()
    try:
        draft = workspace.draft()
        made = engine.committed.core
        # Facts of the text are in the state folder, where it is without them.
        meaning = engine.committed.meaning
        if meaning != MEANING or made is None or replace(made, facts=()) != replace(draft.core, facts=()):
            message = "another version of tidelog has made the partitions"
            hint = "open it with that version, or begin with an empty folder"
            raise DataError(Problem("E0682", message, place=engine.folder.address, hint=hint))
        try:
            with working(), step("restore partitions"):
                engine.unsettled()  # All of them have to be restored for that.
        except FileNotFoundError as error:
            raise damaged(engine.folder.address, str(error)) from error
    except BaseException:
        engine.close()
        raise
    workspace.settle(draft)
    return engine
