"""`db.rules` of a database behind a server."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Protocol

from tidelog.errors import wrong_argument
from tidelog.workspace import unknown_rule


class Changed(Protocol):
    """A database as `RemoteRules` needs it."""

    def load(self, program: str, *, replace: bool | str | os.PathLike[str] = False) -> None: ...
    def _rule_texts(self) -> dict[str, str]: ...
    def _forget(self, names: tuple[str, ...]) -> None: ...


class RemoteRules(Mapping[str, str]):
    """The texts of the rules by name, as of the epoch in which they are first read, in the order in which they were
    added. `add`, `replace` and `remove` wait for `commit`."""

    def __init__(self, database: Changed) -> None:
        self._database = database

    @cached_property
    def _texts(self) -> dict[str, str]:
        return self._database._rule_texts()

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._texts

    def __getitem__(self, name: str) -> str:
        """Return the source of a rule. Raise UsageError (E0608) for an unknown name."""
        if name not in self:
            raise unknown_rule(name, list(self))
        return self._texts[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return the source of a rule, or `default`."""
        return self._texts.get(name, default)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names."""
        return tuple(self)

    def add(self, text: str) -> None:
        """Add the rules of a text, which may bring declarations and facts."""
        self._database.load(_program(text))

    def replace(self, text: str, earlier: str | os.PathLike[str] | None = None) -> None:
        """Add a text whose named rules take the places of those with these names; an `earlier` one goes, see
        `Database.load`."""
        self._database.load(_program(text), replace=True if earlier is None else earlier)

    def remove(self, *names: str) -> None:
        """Remove rules; a relation keeps its asserted facts. The `commit` raises UsageError (E0608) for an unknown
        name."""
        self._database._forget(names)

    def __repr__(self) -> str:
        return "\n".join(self.values()) or "<no rules>"


def _program(text: str) -> str:
    """Return the text of a program that is no path."""
    given: object = text
    if not isinstance(given, str):
        raise wrong_argument("the text of a program", "a str", text)
    return f"{text}\n"
