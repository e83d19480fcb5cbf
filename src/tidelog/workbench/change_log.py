"""The changes of the last epochs in files of a store, so that subscribers go on after a crash of the server.

    changes/N.log      a line for each epoch from N on: a checksum, and the changes as JSON, those of rules as a flag

A line is written before its epoch is committed, and is not synced: the lines of the last epochs can be lost with the
machine, not with the process. Then subscribers read their relations again. The lines of epochs that were not committed
in the end are left out at the next opening, and so is a line that was cut off. There are two files at most: the older
one goes when the newer one has its size.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from io import FileIO
from pathlib import Path
from typing import TypedDict

from tidelog.errors import Problem, UsageError

FOLDER = "changes"
_LARGE = 64 * 1024 * 1024


class LoggedEpoch(TypedDict):
    """An epoch of the log, with the changes of its relations as JSON, and whether rules have changed."""

    epoch: int
    relations: Mapping[str, str]
    rules: bool


class ChangeLog:
    """The log in the folder of a store, which this process has."""

    def __init__(self, store: Path) -> None:
        self._folder = store / FOLDER
        self._file: FileIO | None = None

    def read(self, last: int) -> Iterator[LoggedEpoch]:
        """Yield the epochs up to the `last` one: the end of the log in which no epoch is missing."""
        found: dict[int, LoggedEpoch] = {}
        for file in self._files():
            for line in file.read_bytes().splitlines():
                checksum, _, text = line.partition(b" ")
                if checksum == _checksum(text):
                    entry = json.loads(text)
                    number, rules = entry["epoch"], entry.get("rules", False)
                    found[number] = {"epoch": number, "relations": entry["changes"], "rules": rules}
        first = last
        while first in found:
            first -= 1
        yield from (found[epoch] for epoch in range(first + 1, last + 1))

    def write(self, epoch: int, relations: Mapping[str, str], *, rules: bool = False) -> None:
        """Write the changes of an epoch. Raise UsageError (E0681)."""
        entry = {"epoch": epoch, "changes": dict(relations), **({"rules": True} if rules else {})}
        text = json.dumps(entry, ensure_ascii=False).encode()
        line = memoryview(b"%s %s\n" % (_checksum(text), text))
        start = 0
        try:
            if self._file is None or self._file.tell() > _LARGE:
                self._begin(epoch)
            assert self._file is not None
            start = self._file.tell()
            while line:
                line = line[self._file.write(line) :]
        except OSError as error:
            if self._file is not None:
                self._file.seek(start)  # The next line takes the place of what is written of this one.
            message = f"the changes of an epoch cannot be written: {error.strerror or error}"
            hint = "make room on the disk, or mend its permissions; nothing has changed"
            raise UsageError(Problem("E0681", message, place=str(self._folder), hint=hint)) from None

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _begin(self, epoch: int) -> None:
        """Begin a file, and keep only the one before it."""
        self.close()
        self._folder.mkdir(exist_ok=True)
        for old in self._files()[:-1]:
            old.unlink()
        self._file = (self._folder / f"{epoch:012}.log").open("wb", buffering=0)

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("*.log")) if self._folder.is_dir() else []


def _checksum(text: bytes) -> bytes:
    return b"%08x" % zlib.crc32(text)
