"""The changes of the last epochs on their way to subscribers, and in files, so that subscribers go on after a crash.

The thread that commits an epoch writes it down while it is sealed, before it has happened: as the text that subscribers
get. See `tidelog.serve.events` for how they get it. The files of a store are

    changes/N.log      a line for each epoch from N on: a checksum, and the changes as JSON, those of rules as a flag

A line is written before its epoch is committed, and is not synced: the lines of the last epochs can be lost with the
machine, not with the process. Then subscribers read their relations again. The lines of epochs that were not committed
in the end are left out at the next opening, and so is a line that was cut off. There are two files at most: the older
one goes when the newer one has its size.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from tidelog.errors import Problem, UsageError
from tidelog.io.json_values import rows_text
from tidelog.maintain.deltas import AnyRows, rows_of
from tidelog.maintain.protocol import Prospect
from tidelog.serve.events import Feed
from tidelog.storage.dictionary import Dictionary
from tidelog.workspace.workspace import Draft

FOLDER = "changes"
_LARGE = 64 * 1024 * 1024


@dataclass(frozen=True)
class EpochChanges:
    """The changes of the epoch `number` by relation, as JSON: `{"inserted": [...], "deleted": [...]}`, or with the
    numbers of rows in place of lists where these are too many. `rules` says that rules or declarations have changed."""

    number: int
    relations: Mapping[str, str]
    rules: bool = False

    def text(self, wanted: Collection[str] = ()) -> str:
        """Return the changes of the `wanted` relations, by default of all, as JSON."""
        found = (f'"{name}":{text}' for name, text in self.relations.items() if not wanted or name in wanted)
        rules = '"rules":true,' if self.rules else ""
        return f'{{"epoch":{self.number},{rules}"changes":{{{",".join(found)}}}}}'

    @property
    def size(self) -> int:
        """Return about how many bytes the changes take."""
        return 200 + sum(map(len, self.relations.values()))


class ChangeLog:
    """The log in the folder of a store, which this process has."""

    def __init__(self, store: Path) -> None:
        self._folder = store / FOLDER
        self._file: FileIO | None = None

    def read_epochs(self, last: int) -> Iterator[EpochChanges]:
        """Yield the epochs up to the `last` one: the end of the log in which no epoch is missing."""
        found: dict[int, EpochChanges] = {}
        for file in self._files():
            for line in file.read_bytes().splitlines():
                checksum, _, text = line.partition(b" ")
                if checksum == _checksum(text):
                    entry = json.loads(text)
                    number = entry["epoch"]
                    found[number] = EpochChanges(number, entry["changes"], entry.get("rules", False))
        first = last
        while first in found:
            first -= 1
        yield from (found[number] for number in range(first + 1, last + 1))

    def write(self, changes: EpochChanges) -> None:
        """Write the changes of an epoch. Raise UsageError (E0681)."""
        rules = {"rules": True} if changes.rules else {}
        entry = {"epoch": changes.number, "changes": dict(changes.relations), **rules}
        text = json.dumps(entry, ensure_ascii=False).encode()
        line = memoryview(b"%s %s\n" % (_checksum(text), text))
        start = 0
        try:
            if self._file is None or self._file.tell() > _LARGE:
                self._begin(changes.number)
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


MOST_ROWS = 200_000
"""Rows of a change that subscribers get; they have to read a relation again that has changed more."""
_MOST_EPOCHS = 10_000
_MOST_BYTES = 128 * 1024 * 1024


class EpochFeed(Feed[EpochChanges]):
    """The changes of the epochs after `last`; those in `log` came before."""

    def __init__(self, last: int, log: ChangeLog | None = None) -> None:
        super().__init__(last, _MOST_EPOCHS, _MOST_BYTES)
        self._log = log
        self._sealed: EpochChanges | None = None
        for changes in log.read_epochs(last) if log is not None else ():
            self._keep(changes)

    def seal(
        self, epoch: int, draft: Draft, prospect: Prospect[AnyRows], dictionary: Dictionary, *, rules: bool
    ) -> None:
        """Write the changes of an epoch down that is about to happen, and whether it changes `rules`. Raise UsageError
        (E0681) if the disk does not take them."""
        if self._sealed is not None and self._sealed.number < epoch:
            self.publish()  # It has happened, and the thread was stopped before it told.
        relations = {
            name: _text_of(draft, name, prospect, dictionary)
            for name in prospect.deltas
            if name in draft.checked.relations
        }
        self._sealed = EpochChanges(epoch, relations, rules)
        if self._log is not None:
            self._log.write(self._sealed)

    def publish(self) -> None:
        """Give subscribers the epoch that was sealed last: it has happened."""
        if self._sealed is not None:
            self.add(self._sealed)
            self._sealed = None

    @property
    def newest(self) -> int:
        """Return the number of the last epoch that clients may know: they read its rows before subscribers get it."""
        sealed = self._sealed
        return self.last if sealed is None else sealed.number


def _text_of(draft: Draft, name: str, prospect: Prospect[AnyRows], dictionary: Dictionary) -> str:
    """Return the change of a relation as JSON."""
    delta, columns = prospect.deltas[name], draft.checked.relations[name].columns
    both = {"inserted": delta.inserted, "deleted": delta.deleted}
    if sum(map(len, both.values())) > MOST_ROWS:
        return "{" + ",".join(f'"{key}":{len(rows)}' for key, rows in both.items()) + "}"
    return (
        "{" + ",".join(f'"{key}":{rows_text(rows_of(rows), columns, dictionary)}' for key, rows in both.items()) + "}"
    )
