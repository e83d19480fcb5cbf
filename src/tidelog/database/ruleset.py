"""`db.rules`: the rules of a database by name, and changes of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from tidelog.errors import wrong_argument
from tidelog.limits.watch import changing_within_memory
from tidelog.workspace.copies import Uncopied
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
            self._ruled._add_rules(_checked(text), False)

    def replace(self, text: str, earlier: str | os.PathLike[str] | None = None) -> None:
        """Add a text whose named rules take the places of those with these names. An `earlier` text goes, see
        `Database.load`; stores of triples and networks know none. Raise as `add`."""
        with changing_within_memory:
            self._ruled._add_rules(_checked(text), True if earlier is None else earlier)

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


def _checked(text: str) -> str:
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
