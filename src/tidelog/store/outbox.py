"""The changes that sinks have yet to get, as files beside the segments of a state folder.

    outbox/N/          changes of epoch N: RELATION.insert.parquet and RELATION.delete.parquet, as in a segment

The files of an epoch are written before it is committed. The notes of the manifest that commits it have their
checksums, and name them until every sink has them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING

from tidelog.durable.files import Files
from tidelog.store.tables import FactTables, FilePart, PartFolder, check_parts, read_parts, read_table, write_table

if TYPE_CHECKING:
    import pyarrow as pa

_FOLDER = "outbox"


class Outbox:
    """The folder `outbox` among some files. Operations happen in the context `using`, which may turn OSError into
    another error."""

    def __init__(self, files: Files, using: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        self._files = files
        self._using = using

    def put(self, epoch: int, changes: FactTables) -> Mapping[str, str]:
        """Write the changes of an epoch; return the names of their files with checksums. Raise OSError."""
        folder, sums = _folder(epoch), dict[str, str]()
        if not changes:
            return sums
        with self._using():
            try:
                if self._files.kind(_FOLDER) is None:
                    self._files.make(_FOLDER)
                    self._files.sync_folder()
                self._files.remove_tree(folder)  # of an epoch that has failed
                self._files.make(folder)
                for (relation, inserts), table in changes.items():
                    name = f"{folder}/{relation}.{_operation(inserts)}.parquet"
                    sums |= write_table(self._files, name, table, "snappy")  # It soon goes: speed before size.
                self._files.sync_folder(folder)
                self._files.sync_folder(_FOLDER)
            except BaseException:
                self.drop(epoch)
                raise
        return sums

    def get(
        self, epoch: int, relation: str, inserts: bool, sums: Mapping[str, str], in_place: bool = False
    ) -> pa.Table | PartFolder | None:
        """Return the tuples that an epoch inserted or deleted: a table, the parts of one, or None for no tuples. With
        `in_place` a table in a file of this machine stays there, as the only part. Raise DataError (E0682) for a file
        that differs from the one of `sums`, OSError."""
        name = f"{relation}.{_operation(inserts)}.parquet"
        place = f"{_folder(epoch)}/{name}"
        with self._using():
            if name in sums and in_place and "://" not in (path := self._files.place(place)):
                file = PartFolder(path, (FilePart(name, None, sums[name]),))
                check_parts(self._files, _folder(epoch), file)
                return file
            if name in sums:
                return read_table(self._files, place, sums[name])
            if f"{name}/" not in sums:
                return None
            folder = read_parts(self._files, place, sums[f"{name}/"])
            check_parts(self._files, place, folder)
        return folder

    def drop(self, epoch: int) -> None:
        """Remove the changes of an epoch, if that is possible; otherwise `clean` does."""
        with suppress(OSError):
            self._files.remove_tree(_folder(epoch))

    def clean(self, kept: Collection[int]) -> None:
        """Remove the changes of all epochs but those that are `kept`."""
        names = {_folder(epoch).partition("/")[2] for epoch in kept}
        with suppress(OSError):
            for name in list(self._files.entries(_FOLDER)):
                if name not in names and name.isdigit():
                    self._files.remove_tree(f"{_FOLDER}/{name}")


def _folder(epoch: int) -> str:
    return f"{_FOLDER}/{epoch:08}"


def _operation(inserts: bool) -> str:
    return "insert" if inserts else "delete"
