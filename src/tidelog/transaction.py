"""A block of changes that are committed together, of any database."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

from tidelog.ruleset import RuleSet

Made = TypeVar("Made")
Made_co = TypeVar("Made_co", covariant=True)
Part = TypeVar("Part")
Part_co = TypeVar("Part_co", covariant=True)


class Verbs(Protocol[Made_co]):
    """What a transaction asks of its database."""

    def insert(self, relation: str, data: Any) -> None: ...
    def delete(self, relation: str, data: Any) -> None: ...
    @property
    def rules(self) -> RuleSet: ...
    def commit(self) -> Made_co: ...
    def rollback(self) -> None: ...


class Parts(Protocol[Part_co]):
    """A change, by relation."""

    def __contains__(self, relation: object, /) -> bool: ...
    def __getitem__(self, relation: str, /) -> Part_co: ...


class Transaction(Generic[Made]):
    """The changes of one `with` block; `change` is there once the block has ended."""

    def __init__(self, database: Verbs[Made]) -> None:
        self._database = database
        self.change: Made | None = None

    def insert(self, relation: str, data: Any) -> None:
        """Assert facts, see `insert` of the database."""
        self._database.insert(relation, data)

    def delete(self, relation: str, data: Any) -> None:
        """Retract facts, see `delete` of the database."""
        self._database.delete(relation, data)

    @property
    def rules(self) -> RuleSet:
        """`add` and `remove` rules, see `Database.rules`."""
        return self._database.rules

    def __enter__(self) -> Transaction[Made]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.change = self._database.commit()
        else:
            self._database.rollback()


def tell(subscribers: Iterable[tuple[str, Callable[[Part], object]]], change: Parts[Part]) -> None:
    """Call each subscriber whose relation has changed; the first of their errors is raised when all were called."""
    errors: list[Exception] = []
    for name, callback in list(subscribers):
        if name in change:
            try:
                callback(change[name])
            except Exception as error:
                errors.append(error)
    if errors:
        raise errors[0]
