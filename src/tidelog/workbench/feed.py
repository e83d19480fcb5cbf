"""The changes of the last epochs on their way to subscribers.

An epoch is written down while it is sealed, before it has happened, by the thread that commits it: as the text that
subscribers get. See `tidelog.serve.events` for how they get it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tidelog.io.json_values import rows_text
from tidelog.maintain.deltas import AnyRows, rows_of
from tidelog.maintain.protocol import Prospect
from tidelog.serve.events import Feed
from tidelog.storage.dictionary import Dictionary
from tidelog.workbench.change_log import ChangeLog
from tidelog.workspace.workspace import Draft

MOST_ROWS = 200_000
"""Rows of a change that subscribers get; they have to read a relation again that has changed more."""
_MOST_EPOCHS = 10_000
_MOST_BYTES = 128 * 1024 * 1024


@dataclass(frozen=True)
class EpochChanges:
    """The changes of an epoch by relation, as JSON: `{"inserted": [...], "deleted": [...]}`, or with the numbers of
    rows in place of lists where these are too many. `rules` says that rules or declarations have changed."""

    epoch: int
    relations: Mapping[str, str]
    rules: bool = False

    def text(self, wanted: Collection[str] = ()) -> str:
        """Return the changes of the `wanted` relations, by default of all, as JSON."""
        found = (f'"{name}":{text}' for name, text in self.relations.items() if not wanted or name in wanted)
        rules = '"rules":true,' if self.rules else ""
        return f'{{"epoch":{self.epoch},{rules}"changes":{{{",".join(found)}}}}}'

    @property
    def number(self) -> int:
        """Return the number of the epoch."""
        return self.epoch

    @property
    def size(self) -> int:
        """Return about how many bytes the changes take."""
        return 200 + sum(map(len, self.relations.values()))


class EpochFeed(Feed[EpochChanges]):
    """The changes of the epochs after `last`; those in `log` came before."""

    def __init__(self, last: int, log: ChangeLog | None = None) -> None:
        super().__init__(last, _MOST_EPOCHS, _MOST_BYTES)
        self._log = log
        self._sealed: EpochChanges | None = None
        for entry in log.read(last) if log is not None else ():
            self._keep(EpochChanges(**entry))

    def seal(
        self, epoch: int, draft: Draft, prospect: Prospect[AnyRows], dictionary: Dictionary, *, rules: bool
    ) -> None:
        """Write the changes of an epoch down that is about to happen, and whether it changes `rules`. Raise UsageError
        (E0681) if the disk does not take them."""
        if self._sealed is not None and self._sealed.epoch < epoch:
            self.publish()  # It has happened, and the thread was stopped before it told.
        relations = {
            name: _text_of(draft, name, prospect, dictionary)
            for name in prospect.deltas
            if name in draft.checked.relations
        }
        self._sealed = EpochChanges(epoch, relations, rules)
        if self._log is not None:
            self._log.write(epoch, relations, rules=rules)

    def publish(self) -> None:
        """Give subscribers the epoch that was sealed last: it has happened."""
        if self._sealed is not None:
            self.add(self._sealed)
            self._sealed = None

    @property
    def newest(self) -> int:
        """Return the number of the last epoch that clients may know: they read its rows before subscribers get it."""
        sealed = self._sealed
        return self.last if sealed is None else sealed.epoch


def _text_of(draft: Draft, name: str, prospect: Prospect[AnyRows], dictionary: Dictionary) -> str:
    """Return the change of a relation as JSON."""
    delta, columns = prospect.deltas[name], draft.checked.relations[name].columns
    both = {"inserted": delta.inserted, "deleted": delta.deleted}
    if sum(map(len, both.values())) > MOST_ROWS:
        return "{" + ",".join(f'"{key}":{len(rows)}' for key, rows in both.items()) + "}"
    return (
        "{" + ",".join(f'"{key}":{rows_text(rows_of(rows), columns, dictionary)}' for key, rows in both.items()) + "}"
    )
