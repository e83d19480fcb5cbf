"""The workspace of a database: its program, its dictionary, and the changes that wait for a commit.

A workspace evaluates nothing and has no locks: a database takes its turns (`turns`), gives an engine the draft and the
facts, and settles the draft when the engine has gone there.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Generic, Protocol, TypeVar

import numpy

from tidelog.common.arrays import Words
from tidelog.common.differing import difference
from tidelog.common.looking import Look, ignore_limits
from tidelog.errors import Problem, UsageError, quote_name, wrong_argument
from tidelog.functions.callables import FunctionOrLibrary, GivenFunctions, check_options
from tidelog.functions.importing import Library
from tidelog.io import encode
from tidelog.io.relation import find_relation_type, with_tuples
from tidelog.language import Checker
from tidelog.language.inlining import INLINE
from tidelog.language.plain_statements import fact
from tidelog.language.restating import replace_statements
from tidelog.language.syntax import CheckedProgram, Fact, Program, RelationType, Rule, Value
from tidelog.maintain.deltas import AnyRows
from tidelog.maintain.protocol import Outcome
from tidelog.maintain.reclaim import Reclaimer
from tidelog.maintain.state import EngineState
from tidelog.rules import Compiler
from tidelog.rules.core import CoreProgram
from tidelog.semantics.user_aggregates import given_of
from tidelog.semantics.user_functors import check_signature
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.rows import equal_rows
from tidelog.workspace.change import EqualRows
from tidelog.workspace.programs import Compiled, Reading, read_program

Facts = TypeVar("Facts", bound="FactEntry")


@dataclass(frozen=True)
class Draft:
    """A program to go to: the texts, what the checker made of them all, and the core program that engines run."""

    programs: tuple[Program, ...]
    checked: CheckedProgram
    core: CoreProgram
    since: Mapping[str, int] = field(default_factory=dict)
    """The epochs in which the rules came, by name; negative for one that came then or before."""

    def relations_lost_since(self, committed: Draft) -> frozenset[str]:
        """Return the relations of the committed program that this one does not declare."""
        return frozenset(committed.checked.relations.keys() - self.checked.relations.keys())


class FactEntry(Protocol):
    """Pending facts of a relation."""

    @property
    def relation(self) -> str: ...


@dataclass
class Pending(Generic[Facts]):
    """The program that waits for a commit, and facts in the order of the calls.

    `core` is None where rules were only removed since it was compiled, which cannot fail. Relations that are `removed`
    since the last epoch lose their facts, also where they have been declared again.
    """

    programs: tuple[Program, ...]
    checked: CheckedProgram
    core: CoreProgram | None
    facts: list[Facts] = field(default_factory=list)
    removed: frozenset[str] = frozenset()
    duplicates: Mapping[str, int] = field(default_factory=dict)
    """By relation, the number of rows of calls that were equal to others of the same call."""


class Workspace(Generic[Facts]):
    """The program of a database as of the last epoch, and what waits for the next one. `entry` makes an entry of the
    pending facts of a relation, whether they are asserted, and their rows."""

    def __init__(self, entry: Callable[[str, bool, Words], Facts]) -> None:
        self.dictionary = Dictionary({})
        """The meaning of words. What modules of this package keep beyond a call they let it `hold`."""
        self._entry = entry
        self.given = GivenFunctions()
        """The functions for functors."""
        self._checker = Checker(self.given)
        self._compiler = Compiler()
        self._reclaimer = Reclaimer()
        checked = self._checker.check()
        self.committed = Draft((), checked, self._compiler.compile(checked))
        """The program as of the last epoch."""
        self.epoch_number = 1
        """The number of the next epoch."""
        self.known_since: Callable[[str], int] | None = None
        """While a database comes back: the epochs in which its rules came."""
        self._pending = self._no_changes()

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
        return bool(self._pending.facts or self.given.waiting) or self._pending.checked is not self.committed.checked

    def relation(self, name: str) -> RelationType:
        """Return a declared relation. UsageError (E0601) for an unknown name."""
        return find_relation_type(self._pending.checked.relations, name)

    def readable(self, name: str) -> RelationType:
        """Return a relation of the last epoch, or one declared since. UsageError (E0601) for an unknown name."""
        committed = self.committed.checked.relations
        return committed[name] if isinstance(name, str) and name in committed else self.relation(name)

    @property
    def readable_programs(self) -> tuple[Program, ...]:
        """Return the texts that queries refer to: those of the last epoch while a removal of relations waits."""
        return self.committed.programs if self._pending.removed else self._pending.programs

    def due(self, retraction: Callable[[str], Facts]) -> list[Facts]:
        """Return the facts for the next epoch. `retraction` retracts all facts of a relation as of the last one."""
        relations = self._pending.checked.relations
        return [*(retraction(name) for name in self._pending.removed if name in relations), *self._pending.facts]

    def draft(self, look: Look = ignore_limits) -> Draft:
        """Return the program that the pending changes lead to. Raises what `look` raises."""
        pending = self._pending
        if pending.core is None:
            pending.core = self._compiler.compile(pending.checked, look)
        return Draft(pending.programs, pending.checked, pending.core, self._since(pending.checked))

    def _since(self, checked: CheckedProgram) -> Mapping[str, int]:
        """Return the epochs in which the rules of a program came."""
        committed = self.committed
        if checked is committed.checked:
            return committed.since
        found: dict[str, int] = {}
        changed = difference(committed.checked.texts, checked.texts)
        if changed is not None and len(committed.since) == len(committed.checked.texts):
            found |= committed.since
        else:
            changed = committed.checked.texts, checked.texts
        removed, inserted = changed
        before = {rule.name: rule for rule in removed}
        for rule in removed:
            found.pop(str(rule.name), None)
        for rule in inserted:
            if rule.name is not None:
                old = before.get(rule.name)
                if old is rule or (old is not None and old == rule):
                    found[rule.name] = committed.since.get(rule.name, 0)
                else:
                    found[rule.name] = self.known_since(rule.name) if self.known_since else self.epoch_number
        return found

    def give(self, given: FunctionOrLibrary) -> None:
        """Take a function for a functor, the functions of an aggregate, or a library. UsageError (E0646) if the program
        declares a function with other types, or if a functor has a function already."""
        if not isinstance(given, Library):
            check_options(given)
        declared = self._pending.checked.functors.get(given.name)
        if declared is not None and not isinstance(given, Library):
            check_signature(declared, given)
        self.given.give(given, used=given.name in self.committed.core.functors)

    # --- changes -------------------------------------------------------------------------------------------------

    @property
    def _is_empty(self) -> bool:
        """Return True if a program that is loaded now is the first one. Functions may be there before it: a program is
        compiled alike whatever they are."""
        return not (self._pending.programs or self.committed.programs)

    def read_program(self, text_or_path: str | os.PathLike[str], name: str | None = None) -> Reading:
        """Read a program for `extend` or `replace`, the first one from the cache if it is there; `name` is shown in
        messages instead of the path. Raise what `language.read` raises."""
        return read_program(text_or_path, self.given, name, first=self._is_empty)

    def extend(self, program: Program | Reading) -> None:
        """Make the pending programs and `program` the program to go to; its facts wait as well. ProgramError where
        anything is wrong with them together, and then nothing has changed."""
        if not isinstance(program, Program | Reading):
            raise wrong_argument("a program that has been read", "a `Program`", program)
        pending = self._pending
        checked, core = self._compile(program, pending.programs)
        facts = [*pending.facts, *self._entries_of(checked, checked.facts[len(pending.checked.facts) :], asserts=True)]
        self._go_to(checked, core, facts, pending.removed)

    def _entries_of(self, checked: CheckedProgram, facts: Iterable[Fact], *, asserts: bool) -> list[Facts]:
        """Return entries of facts that a program states."""
        self.dictionary.add_records(checked.records)
        by_relation: dict[str, list[tuple[Value, ...]]] = {}
        for each in facts:
            by_relation.setdefault(each.relation, []).append(each.values)
        return [
            self._entry(name, asserts, encode(rows, checked.relations[name], self.dictionary))
            for name, rows in by_relation.items()
        ]

    def restate(self, program: Program, earlier: Program | None = None) -> None:
        """Extend the pending programs by `program`, whose statements replace earlier ones, and those of an `earlier`
        text, see `language.restating`. Raise as `extend`, and UsageError (E0606), and then change nothing."""
        pending = self._pending
        rest, added = replace_statements(pending.programs, program, earlier)
        checked = self._checker.check(*rest, added)
        self._check_renewed(checked)
        for name, relation in checked.relations.items():
            if pending.checked.relations.get(name, relation) != relation:
                raise _two_forms_error(name)  # Its facts would go without a word.
        lost = pending.checked.relations.keys() - checked.relations.keys()
        removed = pending.removed | (lost & self.committed.checked.relations.keys())
        core = self._compiler.compile(checked)
        kept, stated = [each for each in pending.facts if each.relation not in lost], set(checked.facts)
        over = [each for each in pending.checked.facts if each not in stated and each.relation not in lost]
        facts = [*kept, *self._entries_of(checked, over, asserts=False)]
        facts += self._entries_of(checked, self._checker.facts_of(self._checker.programs[len(rest)]), asserts=True)
        self._go_to(checked, core, facts, removed)

    def _compile(self, program: Program | Reading, before: tuple[Program, ...]) -> tuple[CheckedProgram, CoreProgram]:
        """Return programs together, checked and compiled; the first one of a database from the cache, or for it."""
        reading = program if isinstance(program, Reading) else Reading(program)
        is_behind = bool(before) and reading.behind is before and not self._pending.removed
        may_keep = self._is_empty or is_behind
        if reading.compiled is not None and may_keep:
            return reading.compiled.resume(self._checker, self._compiler)
        checked = self._checker.check(*before, reading.program)
        self._check_renewed(checked)
        core = self._compiler.compile(checked)
        if may_keep:
            reading.keep(Compiled(reading.program, self._checker.state, self._compiler.state, checked, core))
        return checked, core

    def _check_renewed(self, checked: CheckedProgram) -> None:
        """Raise UsageError (E0606) where a relation that has gone since the last epoch comes back with other
        attributes, because an epoch has one form of a relation."""
        for name in self._pending.removed & checked.relations.keys():
            if checked.relations[name].columns != self.committed.checked.relations[name].columns:
                raise _two_forms_error(name)

    def replace(self, program: Program | Reading) -> Draft:
        """Make `program`, whose facts are kept elsewhere, the program to go to in place of the one that there is."""
        checked, core = self._compile(program, ())
        self.dictionary.add_records(checked.records)
        facts, removed = self._pending.facts, self._pending.removed
        self._go_to(checked, core, facts, removed)
        return self.draft()

    def remove_rules(self, *names: str) -> None:
        """Take rules out of the program to go to. UsageError (E0608) for an unknown name."""
        if not names:
            return
        programs = without(self._pending.programs, names)
        checked, removed = self._pending.checked, set(names)
        heads = (head for rule in checked.written if rule.name in removed for head in rule.heads)
        if any(INLINE in checked.relations[head.relation].qualifiers for head in heads):
            checked = self._checker.check(*programs)  # They go from the rules that they were inlined into.
        else:
            parts = (checked.rules, checked.written, checked.texts)
            rules, written, texts = (tuple([rule for rule in part if rule.name not in removed]) for part in parts)
            checked = dataclasses.replace(checked, rules=rules, written=written, texts=texts)
        self._pending = dataclasses.replace(self._pending, programs=programs, checked=checked, core=None)

    def remove_instance(self, name: str) -> None:
        """Take an instance of a component out of the program to go to, with its relations and their facts.

        UsageError (E0608) for an unknown name, ProgramError where rules outside of it need its relations or types.
        """
        self._lessen(without_instance(self._pending.programs, name))

    def remove_relations(self, names: Sequence[str], rules: Sequence[str] = ()) -> None:
        """Take relations out of the program to go to, with their rules and facts, and further rules by name.
        ProgramError where other rules need them."""
        self._lessen(without_relations(without(self._pending.programs, rules), names))

    def _lessen(self, programs: tuple[Program, ...]) -> None:
        """Make programs the ones to go to that lack some of the relations, whose facts go too."""
        checked = self._checker.check(*programs)
        core = self._compiler.compile(checked)
        lost = self._pending.checked.relations.keys() - checked.relations.keys()
        facts = [each for each in self._pending.facts if each.relation not in lost]
        removed = self._pending.removed | (lost & self.committed.checked.relations.keys())
        self._go_to(checked, core, facts, removed)

    def _go_to(self, checked: CheckedProgram, core: CoreProgram, facts: list[Facts], removed: frozenset[str]) -> None:
        """Make a program the one to go to, with facts."""
        self._pending = Pending(self._checker.programs, checked, core, facts, removed, self._pending.duplicates)

    def change(self, relation: str, data: Any, *, asserts: bool) -> EqualRows | None:
        """Assert or retract facts; return how many rows to assert are equal to others, None if none is. Raises
        UsageError (no such relation) or DataError (does not fit)."""
        words = encode(data, self.with_tuples(relation), self.dictionary)
        duplicates = equal_rows(words) if asserts else 0
        self._pending.facts.append(self._entry(relation, asserts, words))
        return self.note_equal(relation, len(words), duplicates)

    def note_equal(self, relation: str, rows: int, duplicates: int) -> EqualRows | None:
        """Note for the report how many of some rows are equal to others. Return None if all differ."""
        if not duplicates:
            return None
        noted = self._pending.duplicates
        self._pending.duplicates = {**noted, relation: noted.get(relation, 0) + duplicates}
        return EqualRows(relation, rows, duplicates)

    @property
    def duplicates(self) -> Mapping[str, int]:
        """Return by relation how many rows that wait are equal to others of the same call."""
        return self._pending.duplicates

    def change_words(self, relation: str, words: Words, *, asserts: bool) -> None:
        """Assert or retract encoded facts. UsageError (E0604) where they cannot be rows of the relation."""
        arity = len(self.with_tuples(relation).columns)
        if not isinstance(words, numpy.ndarray):
            raise wrong_argument(f"encoded rows of {relation}", f"an int64 array of shape (n, {arity})", words)
        if words.dtype != numpy.int64 or words.ndim != 2 or words.shape[1] != arity:
            found = f"{words.dtype} of shape {words.shape}"
            message = f"expected encoded rows of {relation} as int64 of shape (n, {arity}), found {found}"
            raise UsageError(Problem("E0604", message, hint="use `insert` or `delete` for data that are not encoded"))
        self._pending.facts.append(self._entry(relation, asserts, words))

    def with_tuples(self, name: str) -> RelationType:
        """Return a declared relation that may have facts. UsageError (E0601, E0611) where there is none."""
        return with_tuples(self._pending.checked.relations, name)

    def check_given(self, draft: Draft) -> None:
        """Raise UsageError (E0645) if a rule of a draft calls a functor that has no function, or an aggregate without
        functions."""
        for functor in draft.core.functors.values():
            given_of(functor)

    # --- from epoch to epoch -------------------------------------------------------------------------------------

    def settle(self, draft: Draft) -> None:
        """Have the program be that of a draft, to which an engine has gone; nothing waits any more."""
        self.committed = draft
        self._pending = self._no_changes()

    def rollback(self) -> None:
        """Drop all that waits."""
        self._pending = self._no_changes()
        self.given.waiting.clear()

    def as_committed(self) -> Workspace[Facts]:
        """Return the program as of the last epoch, for reading, independent of later changes."""
        found = copy(self)
        found._pending = found._no_changes()
        return found

    def copy_pending(self) -> Pending[Facts]:
        """Return what waits, to `wait_again` later."""
        return dataclasses.replace(self._pending, facts=list(self._pending.facts))

    def wait_again(self, pending: Pending[Facts]) -> None:
        """Have this wait, which waited before, and nothing else."""
        self._pending = pending

    def _no_changes(self) -> Pending[Facts]:
        return Pending(self.committed.programs, self.committed.checked, self.committed.core)

    # --- words ---------------------------------------------------------------------------------------------------

    def sweep(self, engine: EngineState, waiting: Iterable[tuple[str, Words]]) -> None:
        """Give words back that nothing refers to any more, if it is time to. `waiting` are rows that the next epoch
        asserts or retracts, by relation."""
        self._reclaimer.sweep(engine, (self.committed.checked, self._pending.checked), waiting)

    def note_deleted(self, outcome: Outcome[AnyRows]) -> None:
        """Count the rows that an epoch has deleted: their words may be unused, which the next sweep finds out."""
        self._reclaimer.note_deleted(sum(len(delta.deleted) for delta in outcome.deltas.values()))


def _two_forms_error(name: str) -> UsageError:
    """Return the error for a relation that one epoch would have in two forms (E0606)."""
    message = f"{name} is removed and declared in another way in one epoch"
    return UsageError(Problem("E0606", message, hint="commit the removal first"))


def unknown_rule(name: str, names: list[str]) -> UsageError:
    """Return the error for a rule that is not there (E0608)."""
    near = get_close_matches(quote_name(name), names, 1)
    hint = f"did you mean {near[0]}?" if near else "list the names with `list(db.rules)`"
    return UsageError(Problem("E0608", f"there is no rule {quote_name(name)}", hint=hint))


def without(programs: tuple[Program, ...], names: Sequence[str]) -> tuple[Program, ...]:
    """Return the programs without the rules of these names, and without programs of which nothing remains."""
    known = {rule.name for program in programs for rule in program.rules if rule.name is not None}
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise unknown_rule(name, sorted(known))
    removed, found = set(names), []
    for program in programs:
        rules = tuple([rule for rule in program.rules if rule.name not in removed])
        rest = program if len(rules) == len(program.rules) else dataclasses.replace(program, rules=rules)
        if rest is program or rest != Program():
            found.append(rest)
    return tuple(found)


def without_relations(programs: tuple[Program, ...], names: Sequence[str]) -> tuple[Program, ...]:
    """Return the programs without relations and the rules that derive them."""
    removed = set(names)
    return tuple(
        dataclasses.replace(
            program,
            declarations=tuple(each for each in program.declarations if each.name not in removed),
            directives=tuple(each for each in program.directives if each.relation not in removed),
            rules=tuple(each for each in program.rules if each.heads[0].relation not in removed),
        )
        for program in programs
    )


def without_instance(programs: tuple[Program, ...], name: str) -> tuple[Program, ...]:
    """Return the programs without the statements of the instance of this name, of which each has the instance's name
    in its own."""

    def stays(own: str | None) -> bool:
        return own is None or not own.startswith(f"{name}.")

    def states(rule: Rule) -> bool:
        return stays(rule.heads[0].relation)

    def rest(program: Program) -> Program:
        return dataclasses.replace(
            program,
            types=tuple(each for each in program.types if stays(each.name)),
            declarations=tuple(each for each in program.declarations if stays(each.name)),
            directives=tuple(each for each in program.directives if stays(each.relation)),
            rules=tuple(each for each in program.rules if stays(each.name) and (fact(each) is None or states(each))),
        )

    names = [each.name for program in programs for each in program.types]
    names += [each.name for program in programs for each in program.declarations]
    names += [each.name for program in programs for each in program.rules if each.name is not None]
    instances = sorted({each[:end] for each in names for end, letter in enumerate(each) if letter == "."})
    if not isinstance(name, str) or name not in instances:
        near = get_close_matches(quote_name(name), instances, 1)
        hint = f"did you mean {near[0]}?" if near else "an instance is what `.init` makes of a component"
        raise UsageError(Problem("E0608", f"there is no instance {quote_name(name)}", hint=hint))
    return tuple(map(rest, programs))
