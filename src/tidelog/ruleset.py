"""`db.rules`: the rules of a database by name, and changes of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Protocol

from tidelog.copies import Uncopied
from tidelog.errors import wrong_argument
from tidelog.language import read
from tidelog.language.syntax import CheckedProgram, Program
from tidelog.limits.watch import changing_within_memory
from tidelog.turns import Turns
from tidelog.workspace import Workspace, unknown_rule


class Ruled(Protocol):
    """A database as `RuleSet` needs it."""

    turns: Turns
    workspace: Workspace[Any]

    @property
    def hyper_nodes(self) -> tuple[tuple[str, ...], ...]: ...
    def load(self, program: Program, *, replace: bool | str | os.PathLike[str] = False) -> None: ...


class RuleSet(Uncopied):
    """The rules as of the last committed epoch. `add` and `remove` wait for `commit`, like changes of facts."""

    def __init__(self, database: Ruled) -> None:
        self._database = database

    @property
    def _program(self) -> CheckedProgram:
        return self._database.workspace.committed.checked

    def __iter__(self) -> Iterator[str]:
        """Yield the names, in the order in which the rules were added."""
        return (rule.name for rule in self._program.texts if rule.name is not None)

    def __len__(self) -> int:
        return len(self._program.texts)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and any(rule.name == name for rule in self._program.texts)

    def __getitem__(self, name: str) -> str:
        """Return the source of a rule. Raise UsageError (E0608) for an unknown name."""
        for rule in self._program.texts:
            if isinstance(name, str) and rule.name == name:
                return str(rule)
        raise unknown_rule(name, list(self))

    @property
    def hyper_nodes(self) -> tuple[tuple[str, ...], ...]:
        """Return the rules' names hyper-node by hyper-node in the order of evaluation. A node that a removal has split
        stays whole until its next bootstrap."""
        return self._database.hyper_nodes

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names."""
        return tuple(self)

    def add(self, text: str) -> None:
        """Add the rules of `text`, which may bring declarations and facts.

        Raises ProgramError where any check of the whole program would fail, and then adds nothing.
        """
        self._database.load(self._read(text))

    def replace(self, text: str, earlier: str | os.PathLike[str] | None = None) -> None:
        """Add a text whose named rules take the places of those with these names; an `earlier` one goes, see
        `Database.load`. Raise as `add`."""
        self._database.load(self._read(text), replace=True if earlier is None else earlier)

    def _read(self, text: str) -> Program:
        self._database.turns.check_open()
        if not isinstance(text, str):
            raise wrong_argument("the text of a program", "a str", text)
        with changing_within_memory:
            return read(f"{text}\n", name="<text>")  # With a line break it is no path.

    def remove(self, *names: str) -> None:
        """Remove rules; a relation keeps its asserted facts. Raise UsageError (E0608) for an unknown name, and then
        remove nothing."""
        turns = self._database.turns
        with turns.changing, turns.using, changing_within_memory:
            turns.check_open()
            self._database.workspace.remove_rules(*names)

    def remove_instance(self, name: str) -> None:
        """Remove an instance of a component: its rules, and its relations with their facts and types.

        Raise UsageError (E0608) for an unknown name, ProgramError where other rules use its relations or types, and
        then remove nothing.
        """
        turns = self._database.turns
        with turns.changing, turns.using, changing_within_memory:
            turns.check_open()
            self._database.workspace.remove_instance(name)

    def __repr__(self) -> str:
        return "\n".join(self[name] for name in self) or "<no rules>"
