"""A block of changes of a SparkDatabase that are committed together."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

from tidelog.ruleset import RuleSet
from tidelog.spark.change import SparkChange

if TYPE_CHECKING:
    from tidelog.spark.database import SparkDatabase


class SparkTransaction:
    """The changes of one `with` block; `change` is there once the block has ended."""

    def __init__(self, database: SparkDatabase) -> None:
        self._database = database
        self.change: SparkChange | None = None

    def insert(self, relation: str, data: Any) -> None:
        """Assert facts, see `SparkDatabase.insert`."""
        self._database.insert(relation, data)

    def delete(self, relation: str, data: Any) -> None:
        """Retract facts, see `SparkDatabase.delete`."""
        self._database.delete(relation, data)

    @property
    def rules(self) -> RuleSet:
        """`add` and `remove` rules, see `Database.rules`."""
        return self._database.rules

    def __enter__(self) -> SparkTransaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.change = self._database.commit()
        else:
            self._database.rollback()
