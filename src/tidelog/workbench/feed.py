"""The changes of the last epochs on their way to subscribers.

An epoch is written down while it is sealed, before it has happened, by the thread that commits it: as the text that
subscribers get. Subscribers take what they have not had yet, each at its own pace, so that none holds others up. Who is
too far behind hears which epochs it has missed.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from tidelog.engine import Prospect
from tidelog.io.json_values import rows_text
from tidelog.maintain.deltas import AnyRows, rows_of
from tidelog.storage.dictionary import Dictionary
from tidelog.workbench.change_log import ChangeLog
from tidelog.workspace import Draft

MOST_ROWS = 200_000
"""Rows of a change that subscribers get; they have to read a relation again that has changed more."""
_MOST_EPOCHS = 10_000
_MOST_BYTES = 128 * 1024 * 1024


@dataclass(frozen=True)
class EpochChanges:
    """The changes of an epoch by relation, as JSON: `{"inserted": [...], "deleted": [...]}`, or with the numbers of
    rows in place of lists where these are too many."""

    epoch: int
    relations: Mapping[str, str]

    def text(self, wanted: Collection[str] = ()) -> str:
        """Return the changes of the `wanted` relations, by default of all, as JSON."""
        found = (f'"{name}":{text}' for name, text in self.relations.items() if not wanted or name in wanted)
        return f'{{"epoch":{self.epoch},"changes":{{{",".join(found)}}}}}'

    @property
    def size(self) -> int:
        """Return about how many bytes the changes take."""
        return 200 + sum(map(len, self.relations.values()))


class EpochFeed:
    """The changes of the epochs after `last`; those in `log` came before."""

    def __init__(self, last: int, log: ChangeLog | None = None) -> None:
        self.last = last
        """The number of the last epoch."""
        self.followers = 0
        self._log = log
        self._kept: deque[EpochChanges] = deque()
        self._bytes = 0
        self._sealed: EpochChanges | None = None
        self._lock = threading.Lock()
        self._wake: set[Callable[[], None]] = set()
        for epoch, relations in log.read(last) if log is not None else ():
            self._keep(EpochChanges(epoch, relations))

    def seal(self, epoch: int, draft: Draft, prospect: Prospect[AnyRows], dictionary: Dictionary) -> None:
        """Write the changes of an epoch down that is about to happen. Raise UsageError (E0681) if the disk does not
        take them."""
        relations = {
            name: _text_of(draft, name, prospect, dictionary)
            for name in prospect.deltas
            if name in draft.checked.relations
        }
        self._sealed = EpochChanges(epoch, relations)
        if self._log is not None:
            self._log.write(epoch, relations)

    def publish(self) -> None:
        """Give subscribers the epoch that was sealed last: it has happened."""
        sealed, self._sealed = self._sealed, None
        if sealed is None:
            return
        with self._lock:
            self._keep(sealed)
            self.last = sealed.epoch
            wake = list(self._wake)
        for call in wake:
            call()

    def after(self, epoch: int, most: int) -> tuple[list[EpochChanges], int]:
        """Return the first changes after an epoch that are here, so many at `most`, and the number of the epoch from
        which on they follow each other without a gap."""
        with self._lock:
            first = self._kept[0].epoch if self._kept else self.last + 1
            start = max(0, epoch + 1 - first)
            return [self._kept[i] for i in range(start, min(start + most, len(self._kept)))], first - 1

    async def wait(self, epoch: int, seconds: float) -> bool:
        """Wait until there is an epoch after this one, for so many seconds at most; return True if there is one."""
        loop, arrived = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(arrived.set)

        with self._lock:
            if self.last > epoch:
                return True
            self._wake.add(wake)
        try:
            await asyncio.wait_for(arrived.wait(), seconds)
        except TimeoutError:
            return False
        finally:
            with self._lock:
                self._wake.discard(wake)
        return True

    def _keep(self, changes: EpochChanges) -> None:
        self._kept.append(changes)
        self._bytes += changes.size
        while len(self._kept) > _MOST_EPOCHS or (self._bytes > _MOST_BYTES and len(self._kept) > 1):
            self._bytes -= self._kept.popleft().size


def _text_of(draft: Draft, name: str, prospect: Prospect[AnyRows], dictionary: Dictionary) -> str:
    """Return the change of a relation as JSON."""
    delta, columns = prospect.deltas[name], draft.checked.relations[name].columns
    both = {"inserted": delta.inserted, "deleted": delta.deleted}
    if sum(map(len, both.values())) > MOST_ROWS:
        return "{" + ",".join(f'"{key}":{len(rows)}' for key, rows in both.items()) + "}"
    return (
        "{" + ",".join(f'"{key}":{rows_text(rows_of(rows), columns, dictionary)}' for key, rows in both.items()) + "}"
    )
