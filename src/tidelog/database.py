"""The object that a user holds: an embedded database of facts, rules and the views that follow from them.

`Database` collects changes until `commit` makes them one epoch of `maintain.engine`; a `Change` says what the epoch
did. Reading never waits: relations show the last committed epoch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy
from numpy.typing import NDArray

from tidelog.arrays import Words
from tidelog.change import Change, RelationChange, declared
from tidelog.copies import Uncopied
from tidelog.errors import Problem, UsageError, wrong_argument
from tidelog.io import at_hand, encode
from tidelog.language import Checker, read
from tidelog.language.syntax import CheckedProgram, Column, Program, RelationType, Value
from tidelog.limits.interrupts import Deferring, Interrupts
from tidelog.limits.watch import Watch, changing_within_memory, guarded, reading_within_memory
from tidelog.maintain.choice import EpochOptions
from tidelog.maintain.deltas import Delta
from tidelog.maintain.engine import EmbeddedEngine, evaluated
from tidelog.maintain.reclaim import Reclaimer
from tidelog.maintain.report import names_of, prepares
from tidelog.pattern import QUERY, matching, remaining
from tidelog.pending import Pending, net_changes
from tidelog.relation import Relation, WordRows
from tidelog.rules import Compiler
from tidelog.ruleset import RuleSet, without
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.stored import StoredRelation
from tidelog.subscribers import Subscribers
from tidelog.transaction import Transaction, checked
from tidelog.turns import Turns


class _View:
    """The rows of a relation as of the last committed epoch, whichever that is when they are asked for."""

    def __init__(self, database: Database, relation: RelationType) -> None:
        self._database = database
        self._name = relation.name
        self.columns: tuple[Column, ...] = relation.columns
        self.dictionary = database._dictionary

    def _stored(self) -> StoredRelation | None:
        self._database.turns.check_open()
        return self._database.stored(self._name)

    def __len__(self) -> int:
        with self._database.turns.using:
            stored = self._stored()
            return len(stored) if stored is not None else 0

    def words(self, count: int | None = None) -> NDArray[Any]:
        with self._database.turns.using:
            stored = self._stored()
            return stored.words(count) if stored is not None else numpy.empty((0, len(self.columns)), numpy.int64)

    def batches(self) -> Iterator[NDArray[Any]]:
        with self._database.turns.using:
            stored = self._stored()
            shown = None if stored is None else stored.snapshot()
            if shown is None:
                return _kept(WordRows(self.columns, self.dictionary, self.words()))
            return self._in_turn(_Shown(self.columns, self.dictionary, shown))

    def _in_turn(self, shown: _Shown) -> Iterator[NDArray[Any]]:
        """The rows of a snapshot, which shares some memory with what it shows."""
        batches = shown.rows.batches()
        while True:
            with self._database.turns.using:
                batch = next(batches, None)
            if batch is None:
                return
            yield batch

    def near(self, constants: Mapping[int, int]) -> NDArray[Any]:
        """Rows among which are all that have these words in these columns."""
        with self._database.turns.using:
            stored = self._stored()
            return stored.near(constants) if stored is not None else self.words()

    def has(self, words: tuple[int, ...]) -> bool:
        with self._database.turns.using:
            stored = self._stored()
            return stored is not None and stored.has(words)


class _Shown:
    """A snapshot that an iterator goes through: the dictionary keeps its words meanwhile."""

    def __init__(self, columns: tuple[Column, ...], dictionary: Dictionary, rows: StoredRelation) -> None:
        self.rows = rows
        self._columns = columns
        dictionary.hold(self)

    def held(self) -> Iterator[tuple[tuple[Column, ...], NDArray[Any]]]:
        """The words of all rows."""
        for batch in self.rows.batches():
            yield self._columns, batch


def _kept(rows: WordRows) -> Iterator[NDArray[Any]]:
    """All rows at once, kept until the last of them has been used."""
    yield rows.words()


class Database(Uncopied):
    """Facts, rules and views. Threads may share one: each call has the database for itself, and a transaction keeps
    changes of others waiting until it ends."""

    instead = "copy its relations, or open a store in the other process"

    def __init__(self) -> None:
        self.turns = Turns()
        """Which thread may do what now: for modules of this package."""
        self._dictionary = Dictionary({})
        self._programs: tuple[Program, ...] = ()
        self._checker = Checker()
        self._compiler = Compiler()
        self._checked = self._checker.check()
        self._engine = EmbeddedEngine(self._dictionary, self._compiler.compile(self._checked))
        self._pending = self._nothing()
        self._options: dict[str, Any] = {
            "timeout": None,
            "max_rows": None,
            "strategy": "auto",
            "switch": 0.2,
            "closures": True,
            "maintain": True,
        }
        self._reclaimer = Reclaimer()
        self._subscribers: Subscribers[RelationChange] = Subscribers()
        self._epochs = 0

    # --- changes -------------------------------------------------------------------------------------------------

    def load(self, program: str | os.PathLike[str] | Program) -> None:
        """Add a program: a path (anything path-like, or one line that ends in ".dl"), program text, or what
        `language.read` has made of one.

        The declarations count at once; rules and facts take effect with the next `commit`. Raises ProgramError, which
        lists everything that is wrong with the program together with those loaded before, or LimitError (E0503: out of
        memory), and then changes nothing.
        """
        self.turns.check_open()
        with changing_within_memory:
            parsed = program if isinstance(program, Program) else read(program)
        self.add_parsed(parsed)

    def add_program(self, text: str) -> None:
        """`load` for text only, whatever it looks like."""
        self.turns.check_open()
        if not isinstance(text, str):
            raise wrong_argument("the text of a program", "a str", text)
        with changing_within_memory:
            parsed = read(f"{text}\n", name="<text>")  # with a line break it is no path
        self.add_parsed(parsed)

    def add_parsed(self, program: Program) -> None:
        """`load` for a program that has been read, or made, already."""
        with self.turns.changing, self.turns.using, changing_within_memory:
            self.turns.check_open()
            if not isinstance(program, Program):
                raise wrong_argument("a program that has been read", "a `Program`", program)
            self._extend(program)

    def remove_rule(self, name: str) -> None:
        """Remove a rule from the next `commit` on, see `RuleSet.remove`."""
        with self.turns.changing, self.turns.using, changing_within_memory:
            self.turns.check_open()
            programs = without(self._pending.programs, name)
            rules = tuple(rule for rule in self._pending.checked.rules if rule.name != name)
            self._pending = Pending(programs, replace(self._pending.checked, rules=rules), None, self._pending.facts)

    def _extend(self, program: Program) -> None:
        """Make the pending programs and `program` the program from the next `commit` on."""
        programs = (*self._pending.programs, program)
        checked = self._checker.check(*programs)
        core = self._compiler.compile(checked)
        self._dictionary.add_records(checked.records)
        known = len(self._pending.checked.facts)
        by_relation: dict[str, list[tuple[Value, ...]]] = {}
        for fact in checked.facts[known:]:
            by_relation.setdefault(fact.relation, []).append(fact.values)
        encoded = [
            (name, True, encode(rows, checked.relations[name], self._dictionary)) for name, rows in by_relation.items()
        ]
        self._pending = Pending(self._checker.programs, checked, core, [*self._pending.facts, *encoded])

    def insert(self, relation: str, data: Any) -> None:
        """Assert facts, to take effect with the next `commit`; asserting a present fact changes nothing.

        `data` is an iterable of tuples or dicts, a pandas, Polars or Arrow table, anything with `__arrow_c_stream__`,
        or a NumPy array. Raises UsageError (no such relation), DataError (does not fit) or LimitError (E0503: out of
        memory), and then changes nothing.
        """
        self._change(relation, data, asserts=True)

    def delete(self, relation: str, data: Any) -> None:
        """Retract facts like `insert`, to take effect with the next `commit`; an absent fact changes nothing."""
        self._change(relation, data, asserts=False)

    def _change(self, relation: str, data: Any, asserts: bool) -> None:
        with changing_within_memory:
            data = at_hand(data, self._relation(relation).name)
        with self.turns.changing, self.turns.using, changing_within_memory:
            self._change_words(relation, encode(data, self._relation(relation), self._dictionary), asserts)

    def insert_words(self, relation: str, words: Words) -> None:
        """Assert facts that are encoded already with `dictionary`: int64 words of shape (n, arity)."""
        self._change_words(relation, words, asserts=True)

    def delete_words(self, relation: str, words: Words) -> None:
        """Retract facts that are encoded already with `dictionary`: int64 words of shape (n, arity)."""
        self._change_words(relation, words, asserts=False)

    def _change_words(self, relation: str, words: Words, asserts: bool) -> None:
        """Have encoded facts wait for `commit`. UsageError (E0604) where they cannot be rows of the relation."""
        with self.turns.changing, self.turns.using:
            arity = len(self._relation(relation).columns)
            if not isinstance(words, numpy.ndarray):
                raise wrong_argument(f"encoded rows of {relation}", f"an int64 array of shape (n, {arity})", words)
            if words.dtype != numpy.int64 or words.ndim != 2 or words.shape[1] != arity:
                found = f"{words.dtype} of shape {words.shape}"
                message = f"expected encoded rows of {relation} as int64 of shape (n, {arity}), found {found}"
                raise UsageError(
                    Problem("E0604", message, hint="use `insert` or `delete` for data that are not encoded")
                )
            self._pending.facts.append((relation, asserts, words))

    def commit(self) -> Change:
        """Make all pending changes one epoch, call the subscribers, and return what the epoch did.

        Raises LimitError, KeyboardInterrupt, or UsageError (E0625) inside of a transaction. Then no fact, rule or view
        has changed, and the pending changes still wait: commit them again, or drop them by `rollback`. When it returns,
        the epoch is committed. A Ctrl-C that comes too late is delivered afterwards, and what subscribers raise is in
        `Change.errors`.
        """
        with Deferring() as interrupts:
            return self._commit(interrupts)

    def _commit(self, interrupts: Interrupts) -> Change:
        with interrupts.holding(self.turns.changing):
            self.turns.check_outside("commit()")
            with interrupts.holding(self.turns.using):
                self.turns.check_open()
                change = self._epoch(interrupts)
            self._subscribers.tell(change, interrupts)
            return change

    def _epoch(self, interrupts: Interrupts) -> Change:
        """Make the pending changes one epoch, or change nothing and raise."""
        pending = self._pending
        sizes = pending.checked.size_limits
        watch = Watch(self._options["timeout"], self._options["max_rows"], sizes, interrupts=interrupts)
        choice = EpochOptions(**{name: self._options[name] for name in ("strategy", "switch", "closures", "maintain")})
        with changing_within_memory:
            waiting = ((name, words) for name, _, words in pending.facts)
            self._reclaimer.sweep(self._engine, (self._checked, pending.checked), waiting)
            core = pending.core or self._compiler.compile(pending.checked, watch.look)
            net = net_changes(pending.facts)
            outcome = self._engine.epoch(core, net, watch, choice, partial(self._seal, pending, net))
        self._programs, self._checked = pending.programs, pending.checked
        self._pending = self._nothing()
        self._epochs += 1
        self._reclaimer.lose(sum(len(delta.deleted) for delta in outcome.deltas.values()))
        return Change(self._checked, self._dictionary, outcome, self.turns)

    def _seal(
        self,
        pending: Pending,
        net: Mapping[str, tuple[Words, Words]],
        views: Mapping[str, StoredRelation],
        deltas: dict[str, Delta],
    ) -> None:
        """Let the epoch that these changes lead to last, in a database that keeps it elsewhere as well, see `Seal`;
        what this raises takes the epoch back."""

    def transaction(self) -> Transaction[Change]:
        """A block whose changes are committed together at its end, and dropped when it or the commit raises.

        It belongs to the thread that opens it; changes of other threads wait until it ends. Raises UsageError where
        changes are pending already (E0606) and inside of another transaction (E0625).
        """
        with self.turns.changing:
            checked(self)
            return Transaction(self)

    @property
    def has_pending(self) -> bool:
        """Whether changes of facts or rules wait for `commit`."""
        return bool(self._pending.facts) or self._pending.checked is not self._checked

    def rollback(self) -> None:
        """Drop all pending changes, loaded programs included. UsageError (E0625) inside of a transaction."""
        with self.turns.changing, self.turns.using:
            self.turns.check_outside("rollback()")
            self._pending = self._nothing()

    def waiting(self) -> Pending:
        """What waits for `commit`, to `wait_again` later: for modules of this package."""
        return replace(self._pending, facts=list(self._pending.facts))

    def wait_again(self, pending: Pending) -> None:
        """Have this wait, which waited before, and nothing else."""
        with self.turns.changing, self.turns.using:
            self._pending = pending

    def _nothing(self) -> Pending:
        """No pending changes."""
        return Pending(self._programs, self._checked, self._engine.program)

    def options(self, **options: Any) -> None:
        """Set limits of an epoch - `timeout` in seconds, `max_rows` derived in all; None for no limit - and how views
        follow: `strategy` is "auto", "update" or "bootstrap", and in auto an update of a hyper-node is given up for a
        bootstrap before it takes longer than the node's last one; all updates given up in an epoch together take at
        most `switch` (0.2) of a bootstrap of everything. With `maintain` False, what is evaluated from then on keeps
        nothing for later changes, and is evaluated from scratch when what it reads has changed: for results that are
        wanted once.

        With `closures` False, hyper-nodes that are transitive closures are evaluated like all others; the views are the
        same.

        Raises UsageError (E0603) for another name or value, and then sets nothing.
        """
        for name, value in options.items():
            _check_option(name, value, self._options)
        with self.turns.using:
            self._options.update(options)

    def subscribe(self, relation: str, callback: Callable[[RelationChange], object]) -> Callable[[], None]:
        """Call `callback` with the change of a relation after each committed epoch that changes it; returns a function
        that ends this.

        `commit` calls it in its own thread before it returns. It may change and commit: subscribers hear of that epoch
        once all have heard of this one. Changes of other threads wait, reading does not. What a callback raises goes to
        the logger "tidelog" and to `Change.errors`, and stops neither `commit` nor other callbacks. Raises UsageError:
        no such relation (E0601), or a callback that cannot be called (E0609).
        """
        name = self._relation(relation).name
        given: object = callback
        if not callable(given):
            message = f"expected a function of one change as callback, found {callback!r}"
            raise UsageError(Problem("E0609", message, hint="pass a function, for example `print` or `changes.append`"))
        return self._subscribers.add(name, callback)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the memory back. Calls of the database and of its relations raise UsageError (E0602) from then on; what
        queries and commits have returned stays as it is. UsageError (E0625) inside of a transaction."""
        with self.turns.changing, self.turns.using:
            self.turns.check_outside("close()")
            self.turns.closed = True
            self._engine.views.clear()
            self._engine.asserted.clear()

    # --- reading -------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[str]:
        """The names of the declared relations, in the order of their declarations."""
        return iter(self.relations)

    def __contains__(self, name: object) -> bool:
        """Whether a relation of this name is declared."""
        return isinstance(name, str) and name in self._pending.checked.relations

    def __getitem__(self, name: str) -> Relation:
        """A relation as of the last committed epoch. UsageError (E0601) if there is none of this name."""
        return Relation(name, _View(self, self._relation(name)))

    def query(self, text: str) -> Relation:
        """The tuples of a relation, or the pairs that a path connects, that match an atom: constants, `_`, and
        variables, equal where they are the same.

        Raises ProgramError where the atom is wrong, UsageError where there is no such relation, LimitError (where
        memory does not suffice, E0503).
        """
        return self.query_with(text, {}, ())

    def query_with(self, text: str, given: Mapping[str, Words], derived: Collection[str]) -> Relation:
        """`query`, for modules of this package: a path finds the rows `given` in these relations, and its nodes are not
        those of the relations called `derived`."""
        with self.turns.using, reading_within_memory:
            self.turns.check_open()
            if not isinstance(text, str):
                raise wrong_argument("a query", "the text of an atom, such as 'edge(1, X)'", text)
            pattern = matching(text, self._pending.programs)
            if pattern.program is None:
                view = _View(self, self._relation(pattern.relation))
                columns, words = view.columns, view.near(pattern.words(self._dictionary))
            else:
                columns = pattern.program.relations[QUERY].columns
                asked = remaining(pattern, self._dictionary, self._checked, {*self._engine.views, *given}, derived)
                watch = Watch(self._options["timeout"], self._options["max_rows"])
                with guarded(watch):
                    facts = {
                        name: given[name] if name in given else asked.needed(name, self._engine.views[name].near)
                        for name in asked.reads
                    }
                    found = evaluated(self._dictionary, asked.core, {**facts, **asked.facts}, watch)
                    words = found.views[QUERY].words()
            return Relation(
                pattern.relation, WordRows(columns, self._dictionary, pattern.select(words, self._dictionary))
            )

    def stored(self, name: str, *, asserted: bool = False) -> StoredRelation | None:
        """The rows of a relation as the engine keeps them, or of its asserted facts, to be read only; None for one that
        no epoch has seen yet."""
        return (self._engine.asserted if asserted else self._engine.views).get(name)

    @property
    def program(self) -> CheckedProgram:
        """Everything that was loaded, checked; pending texts included."""
        return self._pending.checked

    @property
    def committed(self) -> CheckedProgram:
        """The program as of the last committed epoch."""
        return self._checked

    @property
    def rules(self) -> RuleSet:
        """The rules by name, with `add` and `remove`."""
        return RuleSet(self)

    @property
    def hyper_nodes(self) -> tuple[tuple[str, ...], ...]:
        """The names of the rules of each hyper-node of the program as it is written, in the order of evaluation."""
        nodes = self._engine.nodes
        written = [node for node in nodes if not prepares(node.relations)]
        return tuple(map(names_of, written))

    @property
    def relations(self) -> tuple[str, ...]:
        """The names of the declared relations, in the order of their declarations."""
        return tuple(self._pending.checked.relations)

    @property
    def dictionary(self) -> Dictionary:
        """The meaning of the words of symbols and records. The database gives none of its words back from now on."""
        self._dictionary.shared = True
        return self._dictionary

    @property
    def interned(self) -> Dictionary:
        """`dictionary` for modules of this package, which does not end giving words back: what they keep beyond a call
        they let the dictionary `hold`."""
        return self._dictionary

    def stats(self) -> dict[str, Any]:
        """Sizes and totals since the database was opened.

        `relations` maps names to rows; `forms` says which of them are "compressed", closures whose pairs are not
        written, and which "written"; `memory` is in bytes, for rows, indexes and dictionary; `word_bits` is 32 or 64;
        `derivations` counts the rows that were inserted or met again, in the relations as they are stored now.
        """
        with self.turns.using, reading_within_memory:
            self.turns.check_open()
            views = self._engine.views
            stored = {s.identity: s for s in [*views.values(), *self._engine.asserted.values()]}
            return {
                "relations": {name: len(views[name]) if name in views else 0 for name in self.relations},
                "forms": {name: views[name].form if name in views else "written" for name in self.relations},
                "memory": {
                    "rows": sum(s.bytes() - sum(i.bytes() for i in s.indexes.values()) for s in stored.values()),
                    "indexes": sum(i.bytes() for s in stored.values() for i in s.indexes.values()),
                    "dictionary": self._dictionary.bytes(),
                },
                "word_bits": self._engine.catalog.bits,
                "epochs": self._epochs,
                "bootstraps": self._engine.bootstraps,
                "updates": self._engine.updates,
                "rounds": self._engine.round,
                "derivations": sum(relation.emitted for relation in stored.values()),
            }

    def births(self, name: str) -> Mapping[tuple[Value, ...], tuple[int, int]]:
        """The birth and the count of every tuple of a relation: see docs/theory.md. For tests and certificates."""
        with self.turns.using, reading_within_memory:
            relation = self[name]
            if name not in self._engine.views:
                return {}
            births, counts = self._engine.births(name).tolist(), self._engine.counts(name).tolist()
            return dict(zip(relation, zip(births, counts, strict=True), strict=True))

    def check(self) -> None:
        """Check the views as of the last committed epoch, independently of the engine: see docs/how-to/certificates.md.
        Other threads wait meanwhile.

        Raises CertificateRejected where they are not what follows from the facts and rules; LimitError where memory
        does not suffice (E0503) or after the seconds of the option `timeout` (E0501).
        """
        from tidelog.certificate import certificate_of, check, look

        with self.turns.using, reading_within_memory:
            self.turns.check_open()
            watch = Watch(self._options["timeout"])
            with guarded(watch):
                check(certificate_of(self._engine, self._checked, partial(look, watch)), watch)

    def save_certificate(self, folder: str | os.PathLike[str]) -> None:
        """Write the last committed epoch with its facts, program and births to a new folder, as a certificate that
        `tidelog.check_certificate` accepts. Raises UsageError (E0816) where that cannot be written, LimitError (E0503)
        where memory does not suffice."""
        from tidelog.certificate import certificate_of, program_text, save

        with self.turns.using, reading_within_memory:
            self.turns.check_open()
            if not isinstance(folder, (str, os.PathLike)):
                raise wrong_argument("a certificate", "the path of a new folder", folder)
            save(certificate_of(self._engine, self._checked), program_text(self._programs), Path(folder))

    def _relation(self, name: str) -> RelationType:
        self.turns.check_open()
        return declared(self._pending.checked.relations, name)

    def __repr__(self) -> str:
        return f"<Database: {len(self.relations)} relations, {self._epochs} epochs>"


def _check_option(name: str, value: object, known: Mapping[str, object]) -> None:
    """UsageError (E0603) unless there is such an option that can have this value."""
    if name not in known:
        raise UsageError(Problem("E0603", f"unknown option {name!r}", hint=f"use one of {', '.join(sorted(known))}"))
    if name == "strategy":
        if not isinstance(value, str) or value not in ("auto", "update", "bootstrap"):
            hint = 'use "auto", "update" or "bootstrap"'
            raise UsageError(Problem("E0603", f"unknown strategy {value!r}", hint=hint))
    elif name == "closures":
        if not isinstance(value, bool):
            hint = "pass False to evaluate closures like all other rules, or True"
            raise UsageError(Problem("E0603", f"closures must be True or False, found {value!r}", hint=hint))
    elif name == "maintain":
        if not isinstance(value, bool):
            hint = "pass True to keep the state for later updates, or False"
            raise UsageError(Problem("E0603", f"maintain must be True or False, found {value!r}", hint=hint))
    elif not (isinstance(value, (int, float)) and value > 0) and (value is not None or name == "switch"):
        hint = (
            "pass a fraction of a bootstrap's time, such as 0.2"
            if name == "switch"
            else "pass a number, or None for no limit"
        )
        raise UsageError(Problem("E0603", f"{name} must be a positive number, found {value!r}", hint=hint))
