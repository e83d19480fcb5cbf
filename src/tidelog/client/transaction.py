"""A block of changes of a server's database, which are committed together or only tried."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, Self

from tidelog.client.relations import RemoteChange
from tidelog.database.ruleset import NamedRules
from tidelog.errors import Problem, UsageError
from tidelog.workspace.change import EqualRows
from tidelog.workspace.copies import Uncopied


class ServerChanges(Protocol):
    """A database behind a server as a block needs it."""

    @property
    def insert(self) -> Callable[..., EqualRows | None]: ...
    @property
    def delete(self) -> Callable[..., None]: ...
    @property
    def rules(self) -> NamedRules: ...
    @property
    def has_pending(self) -> bool: ...

    block: object

    def rollback(self) -> None: ...


def check_outside(database: ServerChanges, call: str) -> None:
    """Raise UsageError (E0625) inside of a block of the database."""
    if database.block is not None:
        message = f"cannot call `{call}` inside a transaction"
        hint = "end the block to commit, or raise in it to drop its changes"
        raise UsageError(Problem("E0625", message, hint=hint))


class RemoteTransaction(Uncopied):
    """The changes of one `with` block, whether they are made here or by the database itself. `change` is there once the
    block has ended. `send` commits them, or says what they would change; they are dropped in any case."""

    def __init__(self, database: ServerChanges, send: Callable[[], RemoteChange]) -> None:
        self._database = database
        self._send = send
        self.change: RemoteChange | None = None

    def _check(self) -> None:
        if self._database.block is not self:
            hint = "use it inside its `with` block"
            raise UsageError(Problem("E0626", "the transaction has ended, or not begun", hint=hint))

    def __enter__(self) -> Self:
        """Begin. Raise UsageError: E0606 while other changes are pending, E0625 inside of another block."""
        check_outside(self._database, "transaction()")
        if self._database.has_pending:
            message = "other changes are pending"
            raise UsageError(Problem("E0606", message, hint="call `commit()` or `rollback()` before"))
        self._database.block = self
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        try:
            if kind is None:
                self.change = self._send()
        finally:
            self._database.block = None
            self._database.rollback()

    def insert(self, relation: str, data: Any, **options: Any) -> EqualRows | None:
        """Assert facts, see `RemoteDatabase.insert`. Raise UsageError (E0626) outside of the block."""
        self._check()
        return self._database.insert(relation, data, **options)

    def delete(self, relation: str, data: Any, **options: Any) -> None:
        """Retract facts, see `RemoteDatabase.delete`. Raise UsageError (E0626) outside of the block."""
        self._check()
        self._database.delete(relation, data, **options)

    @property
    def rules(self) -> NamedRules:
        """`add`, `replace` and `remove` rules. Raise UsageError (E0626) outside of the block."""
        self._check()
        return self._database.rules
