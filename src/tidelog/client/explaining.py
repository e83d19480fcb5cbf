"""Explanations that a server makes, as the objects that a database has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from tidelog.client.exchange import Exchange
from tidelog.errors import Problem, UsageError
from tidelog.explain.documents import ExplanationReader
from tidelog.language import check, read
from tidelog.language.syntax import CheckedProgram

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
