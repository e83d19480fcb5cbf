"""Answers of a server as the objects that a database has: rows as of one epoch, changes, explanations; and subscribers,
each of which hears of every epoch once, in a thread that connects again where it has to."""

from __future__ import annotations

import io
import json
import logging
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, NoReturn, TypeVar

import httpx
from numpy.typing import NDArray

from tidelog.client.exchange import Exchange, events_of
from tidelog.errors import Problem, TidelogError, UsageError
from tidelog.explain.documents import ExplanationReader
from tidelog.io import encode
from tidelog.io.columns import encode_table
from tidelog.io.json_values import METADATA, ColumnTypes, value_of_json
from tidelog.io.relation import Relation, RowSource, WordRows
from tidelog.io.values import place_in
from tidelog.language import check, read
from tidelog.language.syntax import CheckedProgram, Column, Kind, RecordType, RelationType
from tidelog.maintain.protocol import NodeReport, Report
from tidelog.storage.dictionary import Dictionary
from tidelog.workspace.change import Change, RelationChange

ARROW = "application/vnd.apache.arrow.stream"


class RemoteRelation(Relation):
    """The tuples of a relation or of an answer as of an `epoch`, which stay as they are."""

    def __init__(self, name: str, source: RowSource, epoch: int) -> None:
        super().__init__(name, source)
        self.epoch = epoch
        """The number of the epoch that the rows are of."""

    @classmethod
    def of(cls, name: str, answer: httpx.Response) -> RemoteRelation:
        """Return the rows of an answer in Arrow."""
        import pyarrow as pa

        table = pa.ipc.open_stream(io.BytesIO(answer.content)).read_all()
        types = ColumnTypes.of(json.loads(table.schema.metadata[METADATA]))
        (columns,) = types.columns.values()
        dictionary = Dictionary(types.records)
        words = encode_table(table, RelationType(name, columns), dictionary, place_in(name), order=range(len(columns)))
        return cls(name, WordRows(columns, dictionary, words), int(answer.headers["tidelog-epoch"]))


class CountedRows:
    """Rows of which a server has sent only the number. What asks for the rows raises UsageError (E0688)."""

    def __init__(self, name: str, columns: tuple[Column, ...], dictionary: Dictionary, count: int) -> None:
        self.columns = columns
        self.dictionary = dictionary
        self._name = name
        self._count = count

    def __len__(self) -> int:
        return self._count

    def words(self, count: int | None = None) -> NDArray[Any]:
        self._refuse()

    def batches(self) -> Iterator[NDArray[Any]]:
        self._refuse()

    def has(self, words: tuple[int, ...]) -> bool:
        self._refuse()

    def _refuse(self) -> NoReturn:
        message = f"the server has sent only how many tuples of {self._name} have changed: {self._count:,}"
        raise UsageError(Problem("E0688", message, hint="look at their number, `len`, and read the relation again"))


@dataclass(frozen=True)
class RemoteRelationChange(RelationChange):
    """The exact net change of a relation in an epoch of a server, which may have sent only the numbers of tuples."""

    has_rows: bool = True
    """False if `inserted` and `deleted` have no more than a length."""


class RemoteChange(Change):
    """The change of an `epoch` of a server. `repeated` says that the epoch happened before, `rules` that it changed
    rules or declarations."""

    def __init__(self, document: Mapping[str, Any], types: ColumnTypes) -> None:
        self.epoch: int = document["epoch"]
        self.rules: bool = document.get("rules", False)
        self.repeated: bool = document.get("repeated", False)
        self.report = _report(document.get("report", {}))
        self.errors = ()
        changes: Mapping[str, Any] = document.get("changes", {})
        self._relations = {name: RelationType(name, columns) for name, columns in types.columns.items()}
        self._order = {name: number for number, name in enumerate(types.columns)}
        self._changed = changes.keys()
        self._part = cache(lambda name: _part(self._relations[name], changes.get(name, _NOTHING), types.records))


_NOTHING: Mapping[str, Any] = {"inserted": [], "deleted": []}


def _part(relation: RelationType, found: Mapping[str, Any], records: Mapping[Kind, RecordType]) -> RemoteRelationChange:
    """Return the change of a relation from a part of an answer in JSON."""
    dictionary, name, columns = Dictionary(records), relation.name, relation.columns
    both: list[RowSource] = []
    for rows in (found["inserted"], found["deleted"]):
        if isinstance(rows, int):
            both.append(CountedRows(name, columns, dictionary, rows))
            continue
        values = [
            [value_of_json(item, column.kind, records) for item, column in zip(row, columns, strict=True)]
            for row in rows
        ]
        both.append(WordRows(columns, dictionary, encode(values, relation, dictionary)))
    inserted, deleted = (Relation(name, source) for source in both)
    return RemoteRelationChange(inserted, deleted, not any(isinstance(each, CountedRows) for each in both))


def _report(found: Mapping[str, Any]) -> Report:
    """Return the report of an epoch from its form in JSON; an empty one of what only says that an epoch happened."""
    nodes = (
        NodeReport(tuple(each["relations"]), tuple(each["rules"]), *(each[key] for key in _OF_NODES))
        for each in found.get("nodes", ())
    )
    return Report(found.get("seconds", 0.0), tuple(nodes), duplicates=found.get("duplicates", {}))


_OF_NODES = ("strategy", "reason", "seconds", "impact")


Item = TypeVar("Item")

_MOST_TRIES = 5
_FIRST = 10
"""Explanations that an iterator asks for at first."""


class ServerExplanations:
    """Asks a server about tuples. The program that explanations are of comes once for all epochs that have it."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._known: tuple[str, ExplanationReader] | None = None
        """The checksum of the last program, and what reads explanations of it."""

    @property
    def program(self) -> CheckedProgram:
        """The program as of the last epoch."""
        return self._of_last_epoch()[1].program

    def _of_last_epoch(self) -> tuple[str, ExplanationReader]:
        found = self._exchange.send("GET", "/v1/program").json()
        if self._known is None or self._known[0] != found["sha256"]:
            program = check(read(f"{found['text']}\n", name="<server>"))
            self._known = found["sha256"], ExplanationReader(program)
        return self._known

    def ask(self, path: str, parameters: Mapping[str, str]) -> tuple[Mapping[str, Any], ExplanationReader]:
        """Return the document of an answer, and what reads it. Raise what the server raises."""
        for _ in range(_MOST_TRIES):
            document = self._exchange.send("GET", path, {**parameters, "instances": "true"}).json()
            known = self._known
            if known is None or known[0] != document["program"]:
                known = self._of_last_epoch()
            if known[0] == document["program"]:  # Otherwise the rules have changed between the two answers.
                return document, known[1]
        message = "the rules of the server change faster than it explains a tuple"
        raise UsageError(Problem("E0671", message, hint="ask again"))


class RemoteEnumeration(Iterator[Item], Generic[Item]):
    """An iterator of explanations of one epoch, the smallest first, which a server makes a number at a time.

    A limit of the server ends it: `is_partial` is True then, and there may be more."""

    def __init__(self, ask: Callable[[int], tuple[Mapping[str, Any], list[Item]]]) -> None:
        self._ask = ask
        self._most = _FIRST
        self._document, self._items = ask(_FIRST)
        self.count = 0
        """The number of items so far."""

    @property
    def is_partial(self) -> bool:
        """Return True if a limit has ended the iterator, so that there may be more than it has returned."""
        return self.count == len(self._items) and self._document["partial"]

    def __next__(self) -> Item:
        """Return the next item. Raise UsageError (E0671) after another epoch, and what the server raises."""
        if self.count == len(self._items) and self._document["more"] and not self._document["partial"]:
            self._most *= 4
            epoch = self._document["epoch"]
            document, items = self._ask(self._most)
            if document["epoch"] != epoch:
                message = "the database has changed since these explanations were asked for"
                raise UsageError(Problem("E0671", message, hint="ask again"))
            self._document = document
            if len(items) > len(self._items):  # A limit may have ended this answer sooner than the one before.
                self._items = items
        if self.count == len(self._items):
            raise StopIteration
        self.count += 1
        return self._items[self.count - 1]

    def __repr__(self) -> str:
        more = ", a limit has ended it" if self.is_partial else ""
        return f"<RemoteEnumeration: {self.count:,} so far{more}>"


_LOGGER = logging.getLogger("tidelog")
_SECONDS_BETWEEN = (0.1, 0.3, 1.0, 3.0)
"""Seconds until the client tries to connect again; the last ones over and over."""


class RemoteFollower:
    """Calls a function with the changes of a relation after the epoch `last`, until `end`.

    The function gets a `RemoteRelationChange`. Where the server does not keep what is missing, `missed` is called with
    the first and the last epoch, and the function then hears of the epochs behind these.
    """

    def __init__(
        self,
        exchange: Exchange,
        relation: str,
        last: int,
        callback: Callable[[RemoteRelationChange], object],
        missed: Callable[[int, int], object],
        change_of: Callable[..., RemoteChange],
    ) -> None:
        self._exchange = exchange
        self._relation = relation
        self.last = last
        """The last epoch that the function has heard of."""
        self._callback = callback
        self._missed = missed
        self._change_of = change_of
        self._ended = threading.Event()
        self._answer: httpx.Response | None = None
        self._thread = threading.Thread(target=self._run, name=f"changes of {relation}", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Hear of no more changes."""
        self._ended.set()
        answer = self._answer
        if answer is not None:
            # The thread waits for bytes. It would not notice that another one closes the socket.
            connection = answer.extensions["network_stream"].get_extra_info("socket")
            with suppress(OSError):  # It has ended by itself.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)

    def _run(self) -> None:
        tries = 0
        while not self._ended.is_set():
            try:
                for name, data in self._events():
                    if self._ended.is_set():
                        return
                    tries = 0
                    self._hear(name, data)
            except TidelogError as error:
                if error.code != "E0699":
                    if not self._ended.is_set():
                        _LOGGER.error("the changes of %s end: %s", self._relation, error)
                    return
            except (httpx.HTTPError, httpx.StreamError):
                _LOGGER.info("the connection for changes of %s has ended", self._relation)
            self._ended.wait(_SECONDS_BETWEEN[min(tries, len(_SECONDS_BETWEEN) - 1)])
            tries += 1

    def _events(self) -> Iterator[tuple[str, Any]]:
        parameters = {"since": str(self.last), "relation": self._relation}
        with self._exchange.stream("/v1/changes", parameters) as answer:
            self._answer = answer
            try:
                if not self._ended.is_set():
                    yield from events_of(answer.iter_lines())
            finally:
                self._answer = None

    def _hear(self, name: str, data: Any) -> None:
        if name == "missed":
            self._call(self._missed, data["from"], data["to"])
        elif name == "change":
            change = self._change_of(data, rules=data.get("rules", False))
            if self._relation in change:
                self._call(self._callback, change[self._relation])
        self.last = data["epoch"]

    def _call(self, function: Callable[..., object], *values: Any) -> None:
        try:
            function(*values)
        except Exception as error:
            _LOGGER.error("a subscriber of %s has failed", self._relation, exc_info=error)
