"""`StoredDatabase`: what `tidelog.connect("views.tide")` gives, a Database with the folder in which its epochs last."""

from __future__ import annotations

import os
from pathlib import Path

from tidelog.database.database import Database
from tidelog.durable.files import Files
from tidelog.errors import DataError, UsageError
from tidelog.functions.callables import FunctorSource
from tidelog.limits.watch import WithinMemory
from tidelog.store.keeper import FolderKeeper

_TRIES = 20
"""So often the manifest is read where files are missing to one who reads beside a process that writes."""
_OPENING = WithinMemory("the folder is as it was; open it on a machine with more memory")


class StoredDatabase(Database):
    """A database in a folder, which is made if need be. One process at a time can have it; others can read its last
    epoch with `read_only`, also while that process commits.

    Raises UsageError where another process has it (E0680) or it cannot be used (E0681), DataError where it is damaged
    (E0682), LimitError where memory does not suffice to open it (E0503).
    """

    @_OPENING
    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        read_only: bool = False,
        files: Files | None = None,
        functors: FunctorSource = (),
    ) -> None:
        for left in range(_TRIES if read_only else 1, 0, -1):
            try:
                self.keeper = FolderKeeper(folder, read_only=read_only, files=files)
                super().__init__(self.keeper, functors)
                break
            except (DataError, UsageError) as error:
                # A process that commits may have removed what the manifest named a moment ago.
                if left == 1 or error.code not in ("E0681", "E0682"):
                    raise

    @property
    def folder(self) -> Path:
        """Where the database is."""
        return self.keeper.state.folder
