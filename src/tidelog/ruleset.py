"""`db.rules`: the rules of a database by name, and changes of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Protocol

from tidelog.copies import Uncopied
from tidelog.errors import Problem, UsageError

if TYPE_CHECKING:
    from tidelog.language.syntax import CheckedProgram, Program


class Ruled(Protocol):
    """A database as `RuleSet` needs it."""

    @property
    def committed(self) -> CheckedProgram: ...
    @property
    def hyper_nodes(self) -> tuple[tuple[str, ...], ...]: ...
    def add_program(self, text: str) -> None: ...
    def remove_rule(self, name: str) -> None: ...


class RuleSet(Uncopied):
    """The rules as of the last committed epoch. `add` and `remove` wait for `commit`, like changes of facts."""

    def __init__(self, database: Ruled) -> None:
        self._database = database

    def __iter__(self) -> Iterator[str]:
        """The names, in the order in which the rules were added."""
        return (rule.name for rule in self._database.committed.rules if rule.name is not None)

    def __len__(self) -> int:
        return len(self._database.committed.rules)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and any(rule.name == name for rule in self._database.committed.rules)

    def __getitem__(self, name: str) -> str:
        """The source of a rule. UsageError (E0608) if there is none of this name."""
        for rule in self._database.committed.rules:
            if isinstance(name, str) and rule.name == name:
                return str(rule)
        raise _unknown(name, list(self))

    @property
    def hyper_nodes(self) -> tuple[tuple[str, ...], ...]:
        """The rules' names hyper-node by hyper-node in the order of evaluation, as they are maintained: a node that a
        removal has split stays whole until it is next bootstrapped."""
        return self._database.hyper_nodes

    def add(self, text: str) -> None:
        """Add the rules of `text`, which may bring declarations and facts.

        Raises ProgramError where any check of the whole program would fail, and then adds nothing.
        """
        self._database.add_program(text)

    def remove(self, name: str) -> None:
        """Remove a rule; a relation keeps its asserted facts. UsageError (E0608) if there is none of this name."""
        self._database.remove_rule(name)

    def __repr__(self) -> str:
        return "\n".join(self[name] for name in self) or "<no rules>"


def without(programs: tuple[Program, ...], name: str) -> tuple[Program, ...]:
    """The programs without the rule of this name."""
    names = [rule.name for program in programs for rule in program.rules if rule.name is not None]
    if not isinstance(name, str) or name not in names:
        raise _unknown(name, names)
    return tuple(
        replace(program, rules=tuple(rule for rule in program.rules if rule.name != name)) for program in programs
    )


def _unknown(name: str, names: list[str]) -> UsageError:
    near = get_close_matches(str(name), names, 1)
    hint = f"did you mean {near[0]}?" if near else "list the names with `list(db.rules)`"
    return UsageError(Problem("E0608", f"there is no rule {name}", hint=hint))
