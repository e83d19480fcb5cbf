"""`StoredDatabase`: what `tidelog.connect("views.tide")` gives, a Database with the folder in which its epochs last."""

from __future__ import annotations

import os
from pathlib import Path

from tidelog.callables import FunctorSource
from tidelog.database import Database
from tidelog.durable.files import Files
from tidelog.limits.watch import WithinMemory
from tidelog.store.keeper import FolderKeeper

_OPENING = WithinMemory("the folder is as it was; open it on a machine with more memory")


class StoredDatabase(Database):
    """A database in a folder, which is made if need be. One process at a time can have it.

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
        self.keeper = FolderKeeper(folder, read_only=read_only, files=files)
        super().__init__(self.keeper, functors)

    @property
    def folder(self) -> Path:
        """Where the database is."""
        return self.keeper.state.folder
