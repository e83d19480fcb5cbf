"""The numbers of tuples in a store, read without changing it."""

from __future__ import annotations

from pathlib import Path

from tidelog.errors import TidelogError


class StoreSizes:
    """The sizes of the relations of the store in a folder. It is read again after each of its changes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._changed: tuple[float, ...] | None = None
        self._sizes: dict[str, int] = {}

    def described(self, relation: str) -> list[str]:
        """Return the number of tuples of a relation in words, or why nobody knows it."""
        from tidelog.store import StoredDatabase, is_marked

        try:
            if not is_marked(self._folder):
                return [f"`{self._folder}` contains no store"]
            changed = tuple(sorted(each.stat().st_mtime for each in self._folder.iterdir()))
            if changed != self._changed:
                with StoredDatabase(self._folder, read_only=True) as db:
                    self._sizes = {name: len(db[name]) for name in db.relations}
                self._changed = changed
        except (TidelogError, OSError) as error:
            return [str(error).partition("\n")[0]]
        size = self._sizes.get(relation)
        if size is None:
            return [f"`{self._folder}` has no such relation"]
        return [f"{size:,} {'tuple' if size == 1 else 'tuples'} in `{self._folder}`"]
