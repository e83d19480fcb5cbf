"""The workspace of a database: its program, its dictionary, and the changes that wait for a commit.

A workspace evaluates nothing and has no locks: a database takes its turns (`turns`), gives an engine the draft and the
facts, and settles the draft when the engine has gone there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Generic, TypeVar

import numpy

from tidelog.arrays import Words
from tidelog.engine import Outcome
from tidelog.errors import Problem, UsageError, wrong_argument
from tidelog.io import encode
from tidelog.language import Checker
from tidelog.language.syntax import CheckedProgram, Program, RelationType, Value
from tidelog.looking import Look, unlimited
from tidelog.maintain.deltas import AnyRows
from tidelog.maintain.reclaim import Reclaimer
from tidelog.maintain.state import EngineState
from tidelog.relation import declared
from tidelog.rules import Compiler
from tidelog.rules.core import CoreProgram
from tidelog.storage.dictionary import Dictionary

Facts = TypeVar("Facts")


@dataclass(frozen=True)
class Draft:
    """A program to go to: the texts, what the checker made of them all, and the core program that engines run."""

    programs: tuple[Program, ...]
    checked: CheckedProgram
    core: CoreProgram


@dataclass
class Pending(Generic[Facts]):
    """The program that waits for a commit, and facts in the order of the calls.

    `core` is None where rules were only removed since it was compiled, which cannot fail.
    """

    programs: tuple[Program, ...]
    checked: CheckedProgram
    core: CoreProgram | None
    facts: list[Facts] = field(default_factory=list)


class Workspace(Generic[Facts]):
    """The program of a database as of the last epoch, and what waits for the next one. `entry` makes an entry of the
    pending facts of a relation, whether they are asserted, and their rows."""

    def __init__(self, entry: Callable[[str, bool, Words], Facts]) -> None:
        self.dictionary = Dictionary({})
        """The meaning of words. What modules of this package keep beyond a call they let it `hold`."""
        self._entry = entry
        self._checker = Checker()
        self._compiler = Compiler()
        self._reclaimer = Reclaimer()
        checked = self._checker.check()
        self.committed = Draft((), checked, self._compiler.compile(checked))
        """The program as of the last epoch."""
        self._pending = self._nothing()

    # --- what waits ----------------------------------------------------------------------------------------------

    @property
    def program(self) -> CheckedProgram:
        """Everything that was loaded, checked; pending texts included."""
        return self._pending.checked

    @property
    def programs(self) -> tuple[Program, ...]:
        """Return the texts of `program`."""
        return self._pending.programs

    @property
    def facts(self) -> list[Facts]:
        """Return the pending facts in the order of the calls."""
        return self._pending.facts

    @property
    def has_pending(self) -> bool:
        """Return True if changes of facts or rules wait."""
        return bool(self._pending.facts) or self._pending.checked is not self.committed.checked

    def relation(self, name: str) -> RelationType:
        """Return a declared relation. UsageError (E0601) for an unknown name."""
        return declared(self._pending.checked.relations, name)

    def draft(self, look: Look = unlimited) -> Draft:
        """Return the program that the pending changes lead to. Raises what `look` raises."""
        pending = self._pending
        if pending.core is None:
            pending.core = self._compiler.compile(pending.checked, look)
        return Draft(pending.programs, pending.checked, pending.core)

    # --- changes -------------------------------------------------------------------------------------------------

    def extend(self, program: Program) -> None:
        """Make the pending programs and `program` the program to go to; its facts wait as well. ProgramError where
        anything is wrong with them together, and then nothing has changed."""
        if not isinstance(program, Program):
            raise wrong_argument("a program that has been read", "a `Program`", program)
        pending = self._pending
        checked = self._checker.check(*pending.programs, program)
        core = self._compiler.compile(checked)
        self.dictionary.add_records(checked.records)
        by_relation: dict[str, list[tuple[Value, ...]]] = {}
        for fact in checked.facts[len(pending.checked.facts) :]:
            by_relation.setdefault(fact.relation, []).append(fact.values)
        encoded = [
            self._entry(name, True, encode(rows, checked.relations[name], self.dictionary))
            for name, rows in by_relation.items()
        ]
        self._pending = Pending(self._checker.programs, checked, core, [*pending.facts, *encoded])

    def replace(self, program: Program) -> Draft:
        """Make `program`, whose facts are kept elsewhere, the program to go to in place of the one that there is."""
        checked = self._checker.check(program)
        self.dictionary.add_records(checked.records)
        self._pending = Pending(self._checker.programs, checked, self._compiler.compile(checked), self._pending.facts)
        return self.draft()

    def remove_rule(self, name: str) -> None:
        """Take a rule out of the program to go to. UsageError (E0608) for an unknown name."""
        programs = without(self._pending.programs, name)
        rules = tuple(rule for rule in self._pending.checked.rules if rule.name != name)
        self._pending = Pending(programs, replace(self._pending.checked, rules=rules), None, self._pending.facts)

    def change(self, relation: str, data: Any, *, asserts: bool) -> None:
        """Assert or retract facts. Raises UsageError (no such relation) or DataError (does not fit)."""
        words = encode(data, self.relation(relation), self.dictionary)
        self._pending.facts.append(self._entry(relation, asserts, words))

    def change_words(self, relation: str, words: Words, *, asserts: bool) -> None:
        """Assert or retract encoded facts. UsageError (E0604) where they cannot be rows of the relation."""
        arity = len(self.relation(relation).columns)
        if not isinstance(words, numpy.ndarray):
            raise wrong_argument(f"encoded rows of {relation}", f"an int64 array of shape (n, {arity})", words)
        if words.dtype != numpy.int64 or words.ndim != 2 or words.shape[1] != arity:
            found = f"{words.dtype} of shape {words.shape}"
            message = f"expected encoded rows of {relation} as int64 of shape (n, {arity}), found {found}"
            raise UsageError(Problem("E0604", message, hint="use `insert` or `delete` for data that are not encoded"))
        self._pending.facts.append(self._entry(relation, asserts, words))

    # --- from epoch to epoch -------------------------------------------------------------------------------------

    def settle(self, draft: Draft) -> None:
        """Have the program be that of a draft, to which an engine has gone; nothing waits any more."""
        self.committed = draft
        self._pending = self._nothing()

    def rollback(self) -> None:
        """Drop all that waits."""
        self._pending = self._nothing()

    def waiting(self) -> Pending[Facts]:
        """Return what waits, to `wait_again` later."""
        return replace(self._pending, facts=list(self._pending.facts))

    def wait_again(self, pending: Pending[Facts]) -> None:
        """Have this wait, which waited before, and nothing else."""
        self._pending = pending

    def _nothing(self) -> Pending[Facts]:
        return Pending(self.committed.programs, self.committed.checked, self.committed.core)

    # --- words ---------------------------------------------------------------------------------------------------

    def sweep(self, engine: EngineState, waiting: Iterable[tuple[str, Words]]) -> None:
        """Give words back that nothing refers to any more, if it is time to. `waiting` are rows that the next epoch
        asserts or retracts, by relation."""
        self._reclaimer.sweep(engine, (self.committed.checked, self._pending.checked), waiting)

    def lose(self, outcome: Outcome[AnyRows]) -> None:
        """Note that rows have gone in an epoch, and with them perhaps words."""
        self._reclaimer.lose(sum(len(delta.deleted) for delta in outcome.deltas.values()))


def fact_call(relation: str, asserts: bool, words: Words) -> tuple[str, bool, Words]:
    """Return facts as an entry of a workspace whose facts are all encoded."""
    return relation, asserts, words


def unknown_rule(name: str, names: list[str]) -> UsageError:
    """Return the error for a rule that is not there (E0608)."""
    near = get_close_matches(str(name), names, 1)
    hint = f"did you mean {near[0]}?" if near else "list the names with `list(db.rules)`"
    return UsageError(Problem("E0608", f"there is no rule {name}", hint=hint))


def without(programs: tuple[Program, ...], name: str) -> tuple[Program, ...]:
    """Return the programs without the rule of this name."""
    names = [rule.name for program in programs for rule in program.rules if rule.name is not None]
    if not isinstance(name, str) or name not in names:
        raise unknown_rule(name, names)
    return tuple(
        replace(program, rules=tuple(rule for rule in program.rules if rule.name != name)) for program in programs
    )
