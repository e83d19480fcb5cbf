"""The files that reading a program has consulted besides the text itself, so that a cache knows when they change."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Consulted:
    """The SHA-256 of each included file by its path, None where the search for one found no file. A `dated` program
    also has the time of the reading in it."""

    files: dict[str, str | None] = field(default_factory=dict)
    dated: bool = False

    def note(self, path: Path, data: bytes | None) -> None:
        """Note the first look at a file, or that there was none."""
        self.files.setdefault(str(path), None if data is None else digest(data))

    def is_current(self) -> bool:
        """Return True if reading the program again would consult the same files with the same contents."""
        return not self.dated and all(_digest_of(Path(path)) == known for path, known in self.files.items())


def digest(data: bytes | memoryview) -> str:
    """Return the SHA-256 of bytes."""
    return hashlib.sha256(data).hexdigest()


def _digest_of(path: Path) -> str | None:
    try:
        return digest(path.read_bytes()) if path.is_file() else None
    except OSError:
        return ""
