"""Blocks of changes that are committed together, of any database; and `db.rules`, its rules by name."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

from tidelog.errors import Problem, UsageError, wrong_argument
from tidelog.limits.interrupts import Deferring
from tidelog.limits.watch import changing_within_memory
from tidelog.workspace.change import EqualRows
from tidelog.workspace.objects import Uncopied
from tidelog.workspace.turns import Turns
from tidelog.workspace.workspace import unknown_rule

Earlier = bool | str | os.PathLike[str]
"""Whether named rules take the places of those with these names, or an earlier text that goes as well."""


class Ruled(Protocol):
    """A database as `NamedRules` needs it."""

    def _named_rules(self) -> Mapping[str, object]:
        """Return the rules by name, in the order in which they were added; `str` gives their text."""

    def _add_rules(self, text: str, replace: Earlier) -> None:
        """Add the rules of a text."""

    def _remove_rules(self, *names: str) -> None:
        """Remove rules."""


class RuledHere(Ruled, Protocol):
    """A database of this process, as `RuleSet` needs it."""

    @property
    def hyper_nodes(self) -> tuple[tuple[str, ...], ...]: ...
    def _remove_instance(self, name: str) -> None: ...


class NamedRules(Uncopied, Mapping[str, str]):
    """The texts of the rules by name, as of the last committed epoch, in the order in which they were added. `add`,
    `replace` and `remove` wait for `commit` like changes of facts; nodes of a network, which do not commit, tell their
    peers at once."""

    def __init__(self, database: Ruled) -> None:
        self._ruled = database

    @property
    def _rules(self) -> Mapping[str, object]:
        return self._ruled._named_rules()

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._rules

    def __getitem__(self, name: str) -> str:
        """Return the text of a rule. Raise UsageError (E0608) for an unknown name."""
        if name not in self:
            raise unknown_rule(name, list(self))
        return str(self._rules[name])

    def get(self, name: str, default: Any = None) -> Any:
        """Return the text of a rule, or `default`."""
        return self[name] if name in self else default  # noqa: SIM401  # `self.get` is this one.

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names."""
        return tuple(self)

    def add(self, text: str) -> None:
        """Add the rules of `text`, which may bring declarations and, but in networks, facts.

        Raises ProgramError where any check of the whole program would fail, a server's at the `commit`, and then adds
        nothing.
        """
        with changing_within_memory:
            self._ruled._add_rules(_program_text(text), False)

    def replace(self, text: str, earlier: str | os.PathLike[str] | None = None) -> None:
        """Add a text whose named rules take the places of those with these names. An `earlier` text goes, see
        `Database.load`; stores of triples and networks know none. Raise as `add`."""
        with changing_within_memory:
            self._ruled._add_rules(_program_text(text), True if earlier is None else earlier)

    def remove(self, *names: str) -> None:
        """Remove rules; a relation keeps its asserted facts. Raise UsageError (E0608) for an unknown name, a server's
        at the `commit`, and then remove nothing."""
        with changing_within_memory:
            self._ruled._remove_rules(*names)

    def __repr__(self) -> str:
        return "\n".join(map(str, self._rules.values())) or "<no rules>"


class RuleSet(NamedRules):
    """The rules of a database of this process, with its hyper-nodes and the instances of components."""

    _ruled: RuledHere

    def __init__(self, database: RuledHere) -> None:
        super().__init__(database)

    @property
    def hyper_nodes(self) -> tuple[tuple[str, ...], ...]:
        """Return the rules' names hyper-node by hyper-node in the order of evaluation. A node that a removal has split
        stays whole until its next bootstrap."""
        return self._ruled.hyper_nodes

    def remove_instance(self, name: str) -> None:
        """Remove an instance of a component: its rules, and its relations with their facts and types.

        Raise UsageError (E0608) for an unknown name, ProgramError where other rules use its relations or types, and
        then remove nothing.
        """
        self._ruled._remove_instance(name)


def _program_text(text: str) -> str:
    """Return the text of a program that is no path."""
    given: object = text
    if not isinstance(given, str):
        raise wrong_argument("the text of a program", "a str", text)
    return f"{text}\n"


def no_earlier(earlier: Earlier) -> bool:
    """Return whether named rules take the places of others. Raise UsageError (E0635) for an earlier text."""
    if not isinstance(earlier, bool):
        raise wrong_argument("`earlier`", "None here", earlier)
    return earlier


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


def check_can_begin(database: Committing[Any], call: str = "transaction()") -> None:
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
                check_can_begin(self._committing)
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
