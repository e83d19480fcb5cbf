"""A block of changes that are committed together, of any database."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

from tidelog.database.ruleset import RuleSet
from tidelog.errors import Problem, UsageError
from tidelog.limits.interrupts import Deferring
from tidelog.workspace.change import EqualRows
from tidelog.workspace.copies import Uncopied
from tidelog.workspace.turns import Turns

Made = TypeVar("Made")
Made_co = TypeVar("Made_co", covariant=True)


class Committing(Protocol[Made_co]):
    """A database as a block needs it."""

    @property
    def turns(self) -> Turns: ...
    @property
    def has_pending(self) -> bool: ...
    def commit(self) -> Made_co: ...
    def rollback(self) -> None: ...


class Changing(Committing[Made_co], Protocol[Made_co]):
    """A database as a transaction needs it."""

    @property
    def insert(self) -> Callable[..., EqualRows | None]: ...
    def delete(self, relation: str, data: Any = ..., **parameters: Any) -> None: ...
    def clear(self, relation: str) -> None: ...
    def read_inputs(self, folder: str | os.PathLike[str] = ...) -> None: ...
    @property
    def rules(self) -> RuleSet: ...


def checked(database: Committing[Any], call: str = "transaction()") -> None:
    """UsageError unless a transaction can begin, for this `call`: E0602, E0606 and E0625."""
    database.turns.check_open()
    database.turns.check_outside(call)
    if database.has_pending:
        message = f"cannot call `{call}` while other changes are pending"
        raise UsageError(Problem("E0606", message, hint="call `commit()` or `rollback()` before"))


class ChangeBlock(Uncopied, Generic[Made]):
    """A `with` block at whose end the changes of a database are committed. It belongs to the thread that begins it;
    `change` is there once it has ended. Changes of other threads wait for that end."""

    def __init__(self, database: Committing[Made], commit: Callable[[], Made] | None = None) -> None:
        """`commit` takes the place of that of the database, and what it has been given is dropped in the end."""
        self._committing = database
        self._commit = commit
        self._turns = database.turns
        self._deferring = Deferring()
        self._thread = 0
        self.change: Made | None = None

    def _check(self) -> None:
        mine = self._thread == threading.get_ident()
        if self._turns.transaction is self and mine:
            return
        message = "a transaction is used by another thread than its own" if self._thread and not mine else ""
        message = message or f"the transaction has {'ended' if self._thread else 'not begun'}"
        hint = "use it inside its `with` block, in the thread of the block"
        raise UsageError(Problem("E0626", message, hint=hint))

    def __enter__(self) -> Self:
        interrupts = self._deferring.__enter__()
        try:
            interrupts.take(self._turns.changing)
            try:
                if self._thread:
                    self._check()
                checked(self._committing)
                self._turns.transaction, self._thread = self, threading.get_ident()
            except BaseException:
                self._turns.changing.release()
                raise
        except BaseException as error:
            self._deferring.__exit__(type(error), error, error.__traceback__)
            raise
        self._deferring.open(ChangeBlock.__enter__.__code__, ChangeBlock.__exit__.__code__)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._deferring.close()
        try:
            self._check()
            self._turns.transaction = None
            try:
                if error is None:
                    self.change = (self._commit or self._committing.commit)()
            finally:
                if self.change is None or self._commit is not None:
                    self._committing.rollback()
                self._turns.changing.release()
        finally:
            self._deferring.__exit__(kind, error, trace)


class Transaction(ChangeBlock[Made]):
    """The changes of one `with` block."""

    def __init__(self, database: Changing[Made], commit: Callable[[], Made] | None = None) -> None:
        super().__init__(database, commit)
        self._database = database

    def insert(self, relation: str, data: Any, **options: Any) -> EqualRows | None:
        """Assert facts, see `insert` of the database and its options. UsageError (E0626) outside of the block or in
        another thread."""
        self._check()
        return self._database.insert(relation, data, **options)

    def delete(self, relation: str, *data: Any, **parameters: Any) -> None:
        """Retract facts, see `delete` of the database. UsageError (E0626) outside of the block or in another thread."""
        self._check()
        self._database.delete(relation, *data, **parameters)

    def clear(self, relation: str) -> None:
        """Retract all facts of a relation, see `clear` of the database. Raises as `delete`."""
        self._check()
        self._database.clear(relation)

    def read_inputs(self, folder: str | os.PathLike[str] = ".") -> None:
        """Assert the facts of the files of `.input`, see `read_inputs` of the database. Raises as `delete`."""
        self._check()
        self._database.read_inputs(folder)

    @property
    def rules(self) -> RuleSet:
        """`add` and `remove` rules, see `Database.rules`. UsageError (E0626) outside of the block or in another
        thread."""
        self._check()
        return self._database.rules
