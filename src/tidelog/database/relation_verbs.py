"""The verbs of databases of relations: what `Database` and `SparkDatabase` do in the same way.

Changes of programs, facts and rules wait in a `Workspace` until an `Engine` takes them. Trials undo them again, and so
say what would end or begin a tuple.
"""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace as with_values
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tidelog.common.arrays import Words
from tidelog.database.relation_reads import RelationReads
from tidelog.database.transaction import Earlier, RuleSet, Transaction, check_can_begin
from tidelog.database.verbs import Made, Part, Verbs, callable_one
from tidelog.errors import InputWarning, Problem, UsageError, flag, wrong_argument
from tidelog.explain.questions import EXPLANATION, Enumeration, Turn
from tidelog.functions.callables import FunctorSource, GivenAggregate, GivenFunction, Vectorized, collect_functions
from tidelog.io import at_hand, declaration, encode, read_facts, with_declaration
from tidelog.io.encode import key_positions, names_of, refuse_undecided, with_columns
from tidelog.language import read
from tidelog.language.syntax import CheckedProgram, Directive, Program, RelationType
from tidelog.limits.interrupts import Deferring, Interrupts
from tidelog.limits.watch import Watch, changing_within_memory
from tidelog.maintain.protocol import Engine, Outcome
from tidelog.queries.meanings import deletion
from tidelog.queries.pattern import Pattern
from tidelog.storage.rows import equal_rows
from tidelog.workspace.change import EqualRows
from tidelog.workspace.objects import EarlierNames
from tidelog.workspace.programs import Reading
from tidelog.workspace.workspace import FactEntry, Workspace

if TYPE_CHECKING:
    from tidelog.explain.explainer import Explainer
    from tidelog.explain.steps import Facts, Removal
    from tidelog.explain.walks import Key

FactsT = TypeVar("FactsT", bound=FactEntry)
Item = TypeVar("Item")

MATCHING: Any = object()
"""In the place of data: the facts that match an atom."""


class RelationVerbs(EarlierNames, RelationReads, Verbs[Made], Generic[Made, Part, FactsT]):
    """The verbs of databases of relations."""

    engine: Engine[Any]

    def __init__(self, workspace: Workspace[FactsT]) -> None:
        super().__init__()
        self.workspace = workspace
        """The program, the dictionary and the pending changes: for modules of this package."""

    # --- changes -------------------------------------------------------------------------------------------------

    def load(
        self,
        program: str | os.PathLike[str] | Program | Reading,
        *,
        replace: bool | str | os.PathLike[str] | Program = False,
    ) -> None:
        """Add a program: a path (anything path-like, or one line that ends in ".dl"), program text, or what
        `language.read` has made of one.

        With `replace`, the same program can be loaded again. Statements that are there already stay, facts are asserted
        again, and a named rule or a component replaces the one of its name. An earlier program as `replace` goes as
        well: its rules, declarations, and facts, unless `program` states them, see docs/how-to/notebooks.md.

        The declarations count at once; rules and facts take effect with the next `commit`. Raises ProgramError, which
        lists everything that is wrong with the program together with those loaded before, or LimitError (E0503: out of
        memory), and then changes nothing.
        """
        self._check_usable()
        with changing_within_memory:
            found = self._read_program(program)
            earlier = None if isinstance(replace, bool) else _text_of(self._read_program(replace))
        with self._hold_change_turn(), changing_within_memory:
            if replace is False:
                self.workspace.extend(found)
            else:
                self.workspace.restate(_text_of(found), earlier)

    def _commit(self, interrupts: Interrupts, epoch: Callable[[Interrupts], Made]) -> Made:
        if (problem := _unread_inputs(self.workspace)) is not None:
            warnings.warn(str(problem), InputWarning, stacklevel=3)
        return super()._commit(interrupts, epoch)

    def _read_program(self, program: str | os.PathLike[str] | Program | Reading) -> Program | Reading:
        return program if isinstance(program, Program | Reading) else self.workspace.read_program(program)

    def read_inputs(self, folder: str | os.PathLike[str] = ".") -> None:
        """Insert the facts of the files that the `.input` directives of the program name, from a folder, as `tidelog
        run` does. They take effect with the next `commit`.

        Raise DataError for a file that is missing (E0410) or wrong, or LimitError (E0503: out of memory), and then
        change nothing.
        """
        given: object = folder
        if not isinstance(given, (str, os.PathLike)):
            raise wrong_argument("the inputs", "the path of a folder", folder)
        with self._hold_change_turn(), changing_within_memory:
            found: list[tuple[str, Words]] = []
            for each in _inputs(self.workspace):
                relation = self.workspace.with_tuples(each.relation)
                words = read_facts(each.options, os.fspath(folder), relation, self.workspace.dictionary, each.span)
                found.append((relation.name, words))
            for name, words in found:
                self.workspace.change_words(name, words, asserts=True)

    def functor(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        vectorized: Vectorized = False,
        compiled: bool = True,
        remember: bool = True,
    ) -> None:
        """Give the function for the functor that a program declares with `.functor name(…): …`, see
        docs/how-to/functors.md.

        It gets values as in `db[name]` and returns one, or None for no value; a generator function gives several. With
        `vectorized` it gets NumPy arrays and returns one, with "arrow" Arrow arrays. A function of numbers is compiled
        where that is possible, unless `compiled` is False. With `remember=False` rules call it again for the same
        arguments; it has to be pure then. Raise UsageError: not a function (E0609), a function for the functor is there
        already, or it states other types than the program (E0646), options with a wrong value (E0603).
        """
        given = getattr(function, "__tidelog_functor__", None)
        if not isinstance(given, GivenFunction):
            given = GivenFunction(name, function, vectorized, None, compiled, remember)
        with self._hold_change_turn():
            self.workspace.give(with_values(given, name=name))

    def aggregate(
        self,
        name: str,
        init: Any,
        step: Callable[..., Any],
        *,
        merge: Callable[[Any, Any], Any] | None = None,
        inverse: Callable[..., Any] | None = None,
        finish: Callable[[Any], Any] | None = None,
        compiled: bool = True,
    ) -> None:
        """Give the functions of the aggregate that a program declares with `.aggregate name(…): …`, see
        docs/how-to/functors.md.

        `init` is the state of a group without members, or a function that makes it. `step(state, *operands)` returns
        the state with one more member, `inverse` that with one less, and `merge` that of two groups together, for large
        groups without an inverse. `finish` makes the value of a state; None is no value. Functions given again take
        effect with the next `commit`, which computes all groups anew. Raise UsageError: not a function (E0609), stated
        for other types (E0646).
        """
        given = GivenAggregate(name, init, step, merge, inverse, finish, None, compiled)
        with self._hold_change_turn():
            self.workspace.give(given)

    def import_functions(self, source: FunctorSource) -> None:
        """Give the functions of a module, or among some objects, that `tidelog.functor` and `tidelog.aggregate` have
        marked, those of a mapping by their names, or those of a `tidelog.Library`: all at once what `functor` and
        `aggregate` give one by one. Raise UsageError as these, and for a module that cannot be imported (E0649) or a
        file that cannot be run (E0650)."""
        with self._hold_change_turn():
            for given in collect_functions(source):
                self.workspace.give(given)

    def declare(self, relation: str, data: Any) -> str:
        """Declare a relation with the columns of a table: pandas, Polars, Arrow, DuckDB, or a `Relation`. Return the
        declaration, which counts at once. The rows are for `insert`.

        Raise DataError for data without named columns (E0407), or a column whose name (E0406) or type (E0401) no
        attribute can have, and ProgramError, such as for a relation that is declared already (E0202).
        """
        text = declaration(relation, data)
        self.load(f"{text}\n")
        return text

    def insert(self, relation: str, data: Any, *, key: str | Sequence[str] | None = None) -> EqualRows | None:
        """Assert facts, to take effect with the next `commit`; asserting a present fact changes nothing. Return how
        many rows are equal to others, and so add no fact, or None if all are different.

        `data` is an iterable of tuples or dicts, a pandas, Polars or Arrow table, anything with `__arrow_c_stream__`,
        or a NumPy array. With a `key` of some columns, each row replaces the facts of its key: those of the last epoch,
        and those that wait. Raises UsageError (no such relation, E0485 and E0685: a wrong key), DataError (does not
        fit, E0487: different rows have one key) or LimitError (E0503: out of memory), and then changes nothing.
        """
        if key is None:
            return self._change(relation, data, asserts=True)
        return self._change_by_key(relation, data, key, asserts=True)

    def delete(self, relation: str, data: Any = MATCHING, **parameters: Any) -> None:
        """Retract facts like `insert`, to take effect with the next `commit`; an absent fact changes nothing.

        Without `data`, `relation` is an atom, such as `edge(1, _)`, with values of `parameters` for some of its
        variables: retract the asserted facts that match it, as of the last epoch and among those that wait. With data
        and `key=[…]`, the rows have the columns of the key only: all facts of their keys go. Raises also ProgramError
        for a wrong atom, and UsageError (E0612, E0613).
        """
        if data is not MATCHING:
            key = parameters.pop("key", None)
            if parameters:
                message = f"a call with data takes no parameters, found {', '.join(parameters)}"
                raise UsageError(
                    Problem("E0612", message, hint="pass either data or values for the variables of an atom")
                )
            if key is None:
                self._change(relation, data, asserts=False)
            else:
                self._change_by_key(relation, data, key, asserts=False)
            return
        self._check_usable()
        with self._hold_change_turn(), changing_within_memory:
            if isinstance(relation, str) and relation in self.workspace.program.relations:
                message = f"nothing says which facts of {relation} to delete"
                hint = f'pass them, or write an atom; db.clear("{relation}") deletes all'
                raise UsageError(Problem("E0613", message, hint=hint))
            self._retract(deletion(relation, parameters, self.workspace))

    def clear(self, relation: str) -> None:
        """Retract all asserted facts of a relation, those that wait included, to take effect with the next `commit`.
        Tuples that rules derive stay. Raises UsageError (E0601, E0611)."""
        self._check_usable()
        with self._hold_change_turn(), changing_within_memory:
            found = self.workspace.with_tuples(relation)
            self._retract(Pattern(found.name, tuple(column.kind for column in found.columns), (), ()))

    @abstractmethod
    def _retract(self, pattern: Pattern) -> None:
        """Retract the asserted facts that match a pattern, as of the last epoch and among those that wait."""

    def _at_hand(self, relation: str, data: Any, *, asserts: bool) -> Any:
        """Return what `at_hand` makes of data. Raise UsageError (E0601), with a hint that declares the relation of a
        table that is to be asserted."""
        self._check_usable()
        with changing_within_memory:
            try:
                name = self.workspace.relation(relation).name
            except UsageError as error:
                raise (with_declaration(error, relation, data) if asserts else error) from None
            return at_hand(data, name)

    def _change(self, relation: str, data: Any, *, asserts: bool) -> EqualRows | None:
        data = self._at_hand(relation, data, asserts=asserts)
        with self._hold_change_turn(), changing_within_memory:
            return self.workspace.change(relation, data, asserts=asserts)

    def _change_by_key(self, relation: str, data: Any, key: str | Sequence[str], *, asserts: bool) -> EqualRows | None:
        """Replace, or retract, the facts of keys."""
        data = self._at_hand(relation, data, asserts=asserts)
        with self._hold_change_turn(), changing_within_memory:
            own = self.workspace.with_tuples(relation)
            columns = key_positions(own, names_of("key", key))
            words = encode(data, own if asserts else with_columns(own, columns), self.workspace.dictionary)
            if asserts:
                refuse_undecided(own, words, columns)
            duplicates = equal_rows(words) if asserts else 0
            self._change_keys(own, columns, words, asserts=asserts)
            return self.workspace.note_equal(relation, len(words), duplicates)

    @abstractmethod
    def _change_keys(self, relation: RelationType, columns: tuple[int, ...], words: Words, *, asserts: bool) -> None:
        """Replace the facts of the keys of rows, or retract those of keys; `columns` are those of the key."""

    def insert_words(self, relation: str, words: Words) -> None:
        """Assert facts that are encoded already with `dictionary`: int64 words of shape (n, arity)."""
        with self._hold_change_turn():
            self.workspace.change_words(relation, words, asserts=True)

    def delete_words(self, relation: str, words: Words) -> None:
        """Retract facts that are encoded already with `dictionary`: int64 words of shape (n, arity)."""
        with self._hold_change_turn():
            self.workspace.change_words(relation, words, asserts=False)

    @property
    def has_pending(self) -> bool:
        """Return True if changes of facts or rules wait for `commit`."""
        return self.workspace.has_pending

    def _has_changes(self) -> bool:
        rules, before = self.workspace.program.rules, self.workspace.committed.checked.rules
        return bool(self.workspace.facts) or (rules is not before and rules != before)

    @property
    def rules(self) -> RuleSet:
        """Return the rules by name, with `add`, `replace` and `remove`."""
        return RuleSet(self)

    def _add_rules(self, text: str, replace: Earlier) -> None:
        self._check_usable()
        self.load(read(text, name="<text>"), replace=replace)

    def _remove_rules(self, *names: str) -> None:
        with self._hold_change_turn():
            self.workspace.remove_rules(*names)

    def _remove_instance(self, name: str) -> None:
        with self._hold_change_turn(), changing_within_memory:
            self.workspace.remove_instance(name)

    def subscribe(self, relation: str, callback: Callable[[Part], object]) -> Callable[[], None]:
        """Call `callback` with the change of a relation after each committed epoch that changes it; returns a function
        that ends this.

        `commit` calls it in its own thread before it returns, an epoch of a stream in the stream's thread. It may
        change and commit: subscribers hear of that epoch once all have heard of this one. Changes of other threads
        wait, reading does not. What a callback raises goes to the logger "tidelog" and to `errors` of the change, and
        stops neither `commit` nor other callbacks. Raises UsageError: no such relation (E0601), or a callback that
        cannot be called (E0609).
        """
        self._check_usable()
        name = self.workspace.relation(relation).name

        def part(change: Any) -> Part | None:
            if name not in change:
                return None
            found: Part = change[name]
            return found

        return self._subscribers.add(name, part, callable_one(callback))

    def _drop(self) -> None:
        self.workspace.rollback()

    @property
    def hyper_nodes(self) -> tuple[tuple[str, ...], ...]:
        """Return the names of the rules of each hyper-node of the program as written, in the order of evaluation."""
        return self.engine.hyper_nodes

    @cached_property
    def _explainer(self) -> Explainer:
        from tidelog.explain.explainer import Explainer

        return Explainer(self.workspace)

    @abstractmethod
    def _dry_run(self, interrupts: Interrupts) -> tuple[CheckedProgram, Outcome[Words]]:
        """Evaluate the pending changes like an epoch and undo it; they are still pending, and nothing has changed.
        Return the program that they lead to, and the result."""

    @abstractmethod
    def _to_change(self, program: CheckedProgram, outcome: Outcome[Words]) -> Made:
        """Return the change that a trial would have made."""

    # --- trials --------------------------------------------------------------------------------------------------

    def transaction(self, *, dry_run: bool = False) -> Transaction[Made]:
        """Return a block whose changes are committed together at its end, and dropped when it or the commit raises.
        With `dry_run` they are dropped in any case, see `what_if`.

        It belongs to the thread that opens it; changes of other threads wait until it ends. Raise UsageError if changes
        are pending already (E0606) and inside of another transaction (E0625).
        """
        with self._hold_change_turn():
            check_can_begin(self)
            return Transaction(self, (lambda: self._to_change(*self._trial())) if flag("dry_run", dry_run) else None)

    def what_if(self) -> Transaction[Made]:
        """Return a block whose changes are tried: at its end they are evaluated like an epoch and undone, and its
        `change` is the change that they would have made. Subscribers do not hear of it, and nothing is written to a
        store or a state folder. It costs an update and a roll-back. Raises as `transaction`, and at the end of the
        block as `commit`; over Spark UsageError (E0688) if the change has more than `embedded_limit` rows."""
        return self.transaction(dry_run=True)

    def _trial(self) -> tuple[CheckedProgram, Outcome[Words]]:
        with Deferring() as interrupts, interrupts.hold(self.turns.changing), interrupts.hold(self.turns.using):
            self._check_usable()
            return self._dry_run(interrupts)

    # --- what would end or begin a tuple -----------------------------------------------------------------------------

    def _sets(self, found: Iterator[Item], verb: str, relation: str, values: object, watch: Watch) -> Enumeration[Item]:
        """Return an iterator of sets, each of which a transaction tries, which must be able to begin then."""
        turn = Turn(
            self._hold_change_turn,
            self._report_read_errors,
            partial(check_can_begin, self, f"{verb}()"),
            lambda: self._epochs,
            watch,
        )
        return Enumeration(found, self._explainer.title(verb, relation, values), turn)

    def ways_to_remove(self, relation: str, values: Any, *, rules: bool = False) -> Enumeration[Removal]:
        """Return the smallest sets of asserted facts, or with `rules` of rules, without which a relation would not have
        a tuple: an iterator, the smaller ones first. Each has been tried, see `what_if`. It ends with the next commit,
        and by a limit, see `Enumeration.is_partial`, also where the tuple has too many derivations to look for more
        (E0505). Raises as `explain`, and as `transaction`, also for each set: changes of other threads that are pending
        then do not end the iterator."""
        with self._hold_change_turn(), self._report_read_errors():
            check_can_begin(self, "ways_to_remove()")
            watch = self._options.watch(work=EXPLANATION)
            found = self._explainer.ends(
                relation, values, self._engine_views(), watch, rules=flag("rules", rules), confirmed=self._ends
            )
            return self._sets(found, "ways_to_remove", relation, values, watch)

    def ways_to_derive(self, relation: str, values: Any) -> Enumeration[Facts]:
        """Return the smallest sets of facts, of relations without rules, that would make a relation have a tuple: an
        iterator, the smaller ones first. Each has been tried, see `what_if`. It ends as that of `ways_to_remove`.
        Raises as `why_not`, and as `transaction`."""
        with self._hold_change_turn(), self._report_read_errors():
            check_can_begin(self, "ways_to_derive()")
            watch = self._options.watch(work=EXPLANATION)
            found = self._explainer.repairs(relation, values, self._engine_views(), watch, self._begins)
            return self._sets(found, "ways_to_derive", relation, values, watch)

    def _begins(self, goal: Key, facts: Facts) -> bool:
        """Return True if a tuple would hold with some more facts."""

        def change(trial: Transaction[Made]) -> None:
            for name, row in facts:
                trial.insert(name, [row])

        outcome = self._outcome_of(change)
        return goal.relation in outcome.deltas and _has(outcome.deltas[goal.relation].inserted, goal)

    def _ends(self, goal: Key, removal: Removal) -> bool:
        """Return True if a tuple would not hold without some facts and rules."""

        def change(trial: Transaction[Made]) -> None:
            for name, row in removal.facts:
                trial.delete(name, [row])
            for rule in removal.rules:
                trial.rules.remove(rule)

        outcome = self._outcome_of(change)
        return goal.relation in outcome.deltas and _has(outcome.deltas[goal.relation].deleted, goal)

    def _outcome_of(self, change: Callable[[Transaction[Made]], None]) -> Outcome[Words]:
        """Return what a change would do."""
        outcomes: list[Outcome[Words]] = []

        def commit() -> Made:
            program, outcome = self._trial()
            outcomes.append(outcome)
            return self._to_change(program, outcome)

        with Transaction(self, commit) as trial:
            change(trial)
        return outcomes[0]


def _text_of(program: Program | Reading) -> Program:
    return program.program if isinstance(program, Reading) else program


def _inputs(workspace: Workspace[Any]) -> list[Directive]:
    return [each for each in workspace.program.directives if each.name == "input"]


def _unread_inputs(workspace: Workspace[Any]) -> Problem | None:
    """Return a warning (E0418) if a relation comes without facts and rules, while a file that its `.input` names is in
    the working directory or beside the program."""
    before = workspace.committed.checked
    inputs = [] if workspace.program is before else _inputs(workspace)
    if not inputs:
        return None
    known = {*before.relations, *(each.relation for each in workspace.facts)}
    known |= {head.relation for rule in workspace.program.texts for head in rule.heads}
    for each in inputs:
        file = str(each.options.get("filename", f"{each.relation}.facts"))
        folders = (Path(), Path(each.span.source.name).parent) if each.span is not None else (Path(),)
        if each.relation not in known and any((folder / file).is_file() for folder in folders):
            message = f"`{each.relation}` has no facts: `load` does not read {file}"
            hint = "call `read_inputs(folder)`, or `insert` its facts"
            return Problem("E0418", message, each.span, hint=hint, severity="warning")
    return None


def _has(rows: Words, goal: Key) -> bool:
    """Return True if a tuple is among rows."""
    return bool((rows == goal.words).all(axis=1).any())
