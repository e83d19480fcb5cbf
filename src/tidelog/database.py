"""The object that a user holds: an embedded database of facts, rules and the views that follow from them.

`Database` collects changes until `commit` makes them one epoch of `maintain.engine`; a `Change` says what the epoch
did. Reading never waits: relations show the last committed epoch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

import numpy
from numpy.typing import NDArray

from tidelog.errors import Problem, UsageError
from tidelog.io import encode
from tidelog.language import Checker, read
from tidelog.language.syntax import CheckedProgram, Column, Program, RelationType, Value
from tidelog.maintain.choice import Choice
from tidelog.maintain.deltas import Delta, Outcome, Whole, rows_of
from tidelog.maintain.engine import Engine, evaluated
from tidelog.maintain.limits import Watch, guarded
from tidelog.maintain.reclaim import Reclaimer
from tidelog.maintain.report import Report, names_of
from tidelog.pattern import QUERY, matching, remaining
from tidelog.relation import Relation, Rows
from tidelog.rules import Compiler
from tidelog.rules.core import CoreProgram
from tidelog.rules.projections import PROJECTION
from tidelog.ruleset import RuleSet, without
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.stored import StoredRelation
from tidelog.transaction import Transaction, tell

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidelog.spark.database import SparkDatabase
    from tidelog.store import StoredDatabase

Words = NDArray[numpy.int64]


@overload
def connect() -> Database: ...


@overload
def connect(folder: str | os.PathLike[str]) -> StoredDatabase: ...


@overload
def connect(*, spark: SparkSession, state: str | os.PathLike[str] | None = None) -> SparkDatabase: ...


def connect(
    folder: str | os.PathLike[str] | None = None,
    *,
    spark: SparkSession | None = None,
    state: str | os.PathLike[str] | None = None,
) -> Database | SparkDatabase:
    """A new, empty database in memory; with a `folder`, the one that is kept there, see docs/how-to/stores.md.

    With a `spark` session, one over its data frames, see docs/how-to/spark.md; its facts and program outlive the
    process in the folder `state`, if there is one. Raises UsageError (E0610) where arguments do not go together.
    """
    if (folder is not None and spark is not None) or (state is not None and spark is None):
        hint = "connect(folder) keeps an embedded database, connect(spark=session, state=folder) one over Spark"
        raise UsageError(Problem("E0610", "a folder is kept either with Spark or without", hint=hint))
    if spark is not None:
        from tidelog.spark.database import SparkDatabase

        return SparkDatabase(spark, state)
    if folder is not None:
        from tidelog.store import StoredDatabase

        return StoredDatabase(folder)
    return Database()


@dataclass(frozen=True)
class RelationChange:
    """The exact net change of one relation in one epoch."""

    inserted: Relation
    deleted: Relation


class Change:
    """What a committed epoch did: `change[name].inserted` and `.deleted` per relation, and `report`."""

    def __init__(self, program: CheckedProgram, dictionary: Dictionary, outcome: Outcome) -> None:
        self._program = program
        self._dictionary = dictionary
        self._deltas = outcome.deltas
        dictionary.holders.add(self)

        self.report: Report = outcome.report

    def held(self) -> Iterator[tuple[tuple[Column, ...], NDArray[Any]]]:
        """The words, which the dictionary keeps as long as this change is there."""
        for name in self:
            for part in (self._deltas[name].inserted, self._deltas[name].deleted):
                yield self._program.relations[name].columns, part.held() if isinstance(part, Whole) else part

    def __getitem__(self, name: str) -> RelationChange:
        """The change of a relation, empty where nothing changed. UsageError (E0601) if there is no such relation."""
        columns = _declared(self._program, name).columns
        none = numpy.empty((0, len(columns)), numpy.int64)
        delta = self._deltas.get(name, Delta(none, none))
        came, went = rows_of(delta.inserted), rows_of(delta.deleted)
        return RelationChange(
            Relation(name, Rows(columns, self._dictionary, came)), Relation(name, Rows(columns, self._dictionary, went))
        )

    def __iter__(self) -> Iterator[str]:
        """The names of the relations that changed, in the order of their declarations."""
        order = self._program.order
        return iter(sorted((name for name in self._deltas if name in order), key=order.__getitem__))

    def __contains__(self, name: object) -> bool:
        return name in self._deltas and name in self._program.relations

    def __repr__(self) -> str:
        parts = (f"{name} +{len(self[name].inserted)} -{len(self[name].deleted)}" for name in self)
        return f"<Change: {', '.join(parts) or 'nothing'}; {self.report.seconds:.3f} s>"


class _View:
    """The rows of a relation as of the last committed epoch, whichever that is when they are asked for."""

    def __init__(self, engine: Engine, relation: RelationType) -> None:
        self._engine = engine
        self._name = relation.name
        self.columns: tuple[Column, ...] = relation.columns
        self.dictionary = engine.dictionary

    def __len__(self) -> int:
        stored = self._engine.views.get(self._name)
        return len(stored) if stored is not None else 0

    def words(self, count: int | None = None) -> NDArray[Any]:
        stored = self._engine.views.get(self._name)
        return stored.words(count) if stored is not None else numpy.empty((0, len(self.columns)), numpy.int64)

    def batches(self) -> Iterator[NDArray[Any]]:
        stored = self._engine.views.get(self._name)
        return stored.batches() if stored is not None else iter(())

    def near(self, constants: Mapping[int, int]) -> NDArray[Any]:
        """Rows among which are all that have these words in these columns."""
        stored = self._engine.views.get(self._name)
        return stored.near(constants) if stored is not None else self.words()

    def has(self, words: tuple[int, ...]) -> bool:
        stored = self._engine.views.get(self._name)
        return stored is not None and stored.has(words)


@dataclass
class _Pending:
    """Changes that wait for `commit`: program texts, and facts to assert or retract in the order of the calls.

    `core` is None where rules were only removed since it was compiled, which cannot fail.
    """

    programs: tuple[Program, ...]
    checked: CheckedProgram
    core: CoreProgram | None
    facts: list[tuple[str, bool, Words]] = field(default_factory=list)


class Database:
    """Facts, rules and views. Not for use by several threads at once."""

    def __init__(self) -> None:
        self._dictionary = Dictionary({})
        self._programs: tuple[Program, ...] = ()
        self._checker = Checker()
        self._compiler = Compiler()
        self._checked = self._checker.check()
        self._engine = Engine(self._dictionary, self._compiler.compile(self._checked))
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
        self._subscribers: list[tuple[str, Callable[[RelationChange], object]]] = []
        self._epochs = 0
        self._closed = False

    # --- changes -------------------------------------------------------------------------------------------------

    def load(self, program: str | os.PathLike[str]) -> None:
        """Add a program: a path (anything path-like, or one line that ends in ".dl") or program text.

        The declarations count at once; rules and facts take effect with the next `commit`. Raises ProgramError, which
        lists everything that is wrong with the program together with those loaded before, and then changes nothing.
        """
        self._open()
        self._extend(read(program))

    def add_program(self, text: str) -> None:
        """`load` for text only, whatever it looks like."""
        self._open()
        self._extend(read(f"{text}\n", name="<text>"))  # with a line break it is no path

    def add_parsed(self, program: Program) -> None:
        """`load` for a program that has been read, or made, already."""
        self._open()
        self._extend(program)

    def remove_rule(self, name: str) -> None:
        """Remove a rule from the next `commit` on, see `RuleSet.remove`."""
        self._open()
        programs = without(self._pending.programs, name)
        rules = tuple(rule for rule in self._pending.checked.rules if rule.name != name)
        self._pending = _Pending(programs, replace(self._pending.checked, rules=rules), None, self._pending.facts)

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
        self._pending = _Pending(self._checker.programs, checked, core, [*self._pending.facts, *encoded])

    def insert(self, relation: str, data: Any) -> None:
        """Assert facts, to take effect with the next `commit`; asserting a present fact changes nothing.

        `data` is an iterable of tuples or dicts, a pandas, Polars or Arrow table, anything with `__arrow_c_stream__`,
        or a NumPy array. Raises UsageError (no such relation) or DataError (does not fit), and then changes nothing.
        """
        self.insert_words(relation, encode(data, self._relation(relation), self._dictionary))

    def delete(self, relation: str, data: Any) -> None:
        """Retract facts like `insert`, to take effect with the next `commit`; an absent fact changes nothing."""
        self.delete_words(relation, encode(data, self._relation(relation), self._dictionary))

    def insert_words(self, relation: str, words: Words) -> None:
        """Assert facts that are encoded already with `dictionary`: int64 words of shape (n, arity)."""
        self._pending.facts.append((relation, True, self._encoded(relation, words)))

    def delete_words(self, relation: str, words: Words) -> None:
        """Retract facts that are encoded already with `dictionary`: int64 words of shape (n, arity)."""
        self._pending.facts.append((relation, False, self._encoded(relation, words)))

    def _encoded(self, relation: str, words: Words) -> Words:
        """The words, if they can be rows of a relation; else UsageError (E0604)."""
        arity = len(self._relation(relation).columns)
        if words.dtype != numpy.int64 or words.ndim != 2 or words.shape[1] != arity:
            found = f"{words.dtype} of shape {words.shape}"
            message = f"encoded rows of {relation} are int64 of shape (n, {arity}), found {found}"
            raise UsageError(Problem("E0604", message, hint="use `insert` or `delete` for data that are not encoded"))
        return words

    def commit(self) -> Change:
        """Make all pending changes one epoch and return what it did.

        Raises LimitError or KeyboardInterrupt; the pending changes are then dropped and nothing else has changed.
        """
        self._open()
        pending, self._pending = self._pending, self._nothing()
        watch = Watch(self._options["timeout"], self._options["max_rows"], pending.checked.size_limits)
        with guarded(watch):
            waiting = ((name, words) for name, _, words in pending.facts)
            self._reclaimer.sweep(self._engine, (self._checked, pending.checked), waiting)
            choice = Choice(**{name: self._options[name] for name in ("strategy", "switch", "closures", "maintain")})
            core = pending.core or self._compiler.compile(pending.checked)
            net = net_changes(pending.facts)
            outcome = self._engine.epoch(core, net, watch, choice, lambda: self._seal(pending, net))
            self._programs, self._checked = pending.programs, pending.checked
            self._pending = self._nothing()
            self._epochs += 1
            self._reclaimer.lose(sum(len(delta.deleted) for delta in outcome.deltas.values()))
        change = Change(self._checked, self._dictionary, outcome)
        tell(self._subscribers, change)
        return change

    def _seal(self, pending: _Pending, net: Mapping[str, tuple[Words, Words]]) -> None:
        """Let the epoch that these changes lead to last, in a database that keeps it elsewhere as well; what this
        raises takes the epoch back."""

    def transaction(self) -> Transaction[Change]:
        """A block whose changes are committed together at its end, and dropped when it raises."""
        self._open()
        if self._pending.facts or self._pending.checked is not self._checked:
            message = "there are pending changes that belong to no transaction"
            raise UsageError(Problem("E0606", message, hint="call `commit()` before the transaction"))
        return Transaction(self)

    def rollback(self) -> None:
        """Drop all pending changes."""
        self._pending = self._nothing()

    def _nothing(self) -> _Pending:
        """No pending changes."""
        return _Pending(self._programs, self._checked, self._engine.program)

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
        self._options.update(options)

    def subscribe(self, relation: str, callback: Callable[[RelationChange], object]) -> Callable[[], None]:
        """Call `callback` with the change of a relation after each committed epoch that changes it; returns a function
        that ends this. What a callback raises reaches the caller of `commit`, after all callbacks and with the epoch
        committed. Raises UsageError: no such relation (E0601), or a callback that cannot be called (E0609).
        """
        name = self._relation(relation).name
        given: object = callback
        if not callable(given):
            message = f"a callback is a function of one change, found {callback!r}"
            raise UsageError(Problem("E0609", message, hint="pass for example `print`, or `changes.append`"))
        entry = (name, callback)
        self._subscribers.append(entry)

        def end() -> None:
            self._subscribers = [other for other in self._subscribers if other is not entry]

        return end

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the memory back. The database and its relations must not be used any more."""
        self._closed = True
        self._engine.views.clear()
        self._engine.asserted.clear()

    # --- reading -------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Relation:
        """A relation as of the last committed epoch. UsageError (E0601) if there is none of this name."""
        return Relation(name, _View(self._engine, self._relation(name)))

    def query(self, text: str) -> Relation:
        """The tuples of a relation, or the pairs that a path connects, that match an atom: constants, `_`, and
        variables, equal where they are the same.

        Raises ProgramError where the atom is wrong, UsageError where there is no such relation, LimitError.
        """
        return self.query_with(text, {}, ())

    def query_with(self, text: str, given: Mapping[str, Words], derived: Collection[str]) -> Relation:
        """`query`, for modules of this package: a path finds the rows `given` in these relations, and its nodes are not
        those of the relations called `derived`."""
        self._open()
        pattern = matching(text, self._pending.programs)
        if pattern.program is None:
            view = _View(self._engine, self._relation(pattern.relation))
            columns, words = view.columns, view.near(pattern.words(self._dictionary))
        else:
            columns = pattern.program.relations[QUERY].columns
            core, read = remaining(pattern.program, self._checked, {*self._engine.views, *given}, derived)
            watch = Watch(self._options["timeout"], self._options["max_rows"])
            with guarded(watch):
                facts = {name: given[name] if name in given else self._engine.views[name].words() for name in read}
                words = evaluated(self._dictionary, core, facts, watch).views[QUERY].words()
        return Relation(pattern.relation, Rows(columns, self._dictionary, pattern.select(words, self._dictionary)))

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
        written = [node for node in nodes if not all(name.startswith(PROJECTION) for name in node.relations)]
        return tuple(map(names_of, written))

    @property
    def relations(self) -> tuple[str, ...]:
        """The names of the declared relations, in the order of their declarations."""
        return tuple(self._pending.checked.relations)

    @property
    def dictionary(self) -> Dictionary:
        """What the words of symbols and records mean. The database gives none of its words back from now on."""
        self._dictionary.shared = True
        return self._dictionary

    def stats(self) -> dict[str, Any]:
        """Sizes and totals since the database was opened.

        `relations` maps names to rows; `forms` says which of them are "compressed", closures whose pairs are not
        written, and which "written"; `memory` is in bytes, for rows, indexes and dictionary; `word_bits` is 32 or 64;
        `derivations` counts the rows that were inserted or met again, in the relations as they are stored now.
        """
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
        relation = self[name]
        if name not in self._engine.views:
            return {}
        births, counts = self._engine.births(name).tolist(), self._engine.counts(name).tolist()
        return dict(zip(relation, zip(births, counts, strict=True), strict=True))

    def check(self) -> None:
        """Check the views as of the last committed epoch, independently of the engine: see docs/how-to/certificates.md.

        Raises CertificateRejected where they are not what follows from the facts and rules; LimitError where memory
        does not suffice (E0503) or after the seconds of the option `timeout` (E0501).
        """
        from tidelog.certificate import certificate_of, check

        self._open()
        watch = Watch(self._options["timeout"])
        with guarded(watch):
            check(certificate_of(self._engine, self._checked), watch)

    def save_certificate(self, folder: str | os.PathLike[str]) -> None:
        """Write the last committed epoch with its facts, program and births to a new folder, as a certificate that
        `tidelog.check_certificate` accepts. Raises UsageError (E0816) where that cannot be written."""
        from tidelog.certificate import certificate_of, program_text, save

        self._open()
        save(certificate_of(self._engine, self._checked), program_text(self._programs), Path(folder))

    def _open(self) -> None:
        if self._closed:
            raise UsageError(Problem("E0602", "the database is closed", hint="connect again"))

    def _relation(self, name: str) -> RelationType:
        self._open()
        return _declared(self._pending.checked, name)

    def __repr__(self) -> str:
        return f"<Database: {len(self.relations)} relations, {self._epochs} epochs>"


def _declared(program: CheckedProgram, name: str) -> RelationType:
    if name in program.relations:
        return program.relations[name]
    from difflib import get_close_matches

    near = get_close_matches(str(name), program.relations, 1)
    hint = f"did you mean {near[0]}?" if near else "declare it with .decl in a program that you load"
    raise UsageError(Problem("E0601", f"there is no relation {name}", hint=hint))


def _check_option(name: str, value: object, known: Mapping[str, object]) -> None:
    """UsageError (E0603) unless there is such an option that can have this value."""
    if name not in known:
        raise UsageError(
            Problem("E0603", f"there is no option {name}", hint=f"the options are {', '.join(sorted(known))}")
        )
    if name == "strategy":
        if value not in ("auto", "update", "bootstrap"):
            hint = 'it is "auto", "update" or "bootstrap"'
            raise UsageError(Problem("E0603", f"there is no strategy {value!r}", hint=hint))
    elif name == "closures":
        if not isinstance(value, bool):
            hint = "False evaluates closures like all other rules"
            raise UsageError(Problem("E0603", f"closures is True or False, found {value!r}", hint=hint))
    elif name == "maintain":
        if not isinstance(value, bool):
            hint = "True keeps what later changes need, False does not"
            raise UsageError(Problem("E0603", f"maintain is True or False, found {value!r}", hint=hint))
    elif not (isinstance(value, (int, float)) and value > 0) and (value is not None or name == "switch"):
        hint = "it is a part of a bootstrap's time, such as 0.2" if name == "switch" else "None means no limit"
        raise UsageError(Problem("E0603", f"{name} is a positive number, found {value!r}", hint=hint))


def net_changes(facts: list[tuple[str, bool, Words]]) -> dict[str, tuple[Words, Words]]:
    """Per relation the rows to assert and the rows to retract: of several calls about a row the last one counts."""
    net: dict[str, tuple[Words, Words]] = {}
    by_relation: dict[str, list[tuple[bool, Words]]] = {}
    for name, asserted, words in facts:
        by_relation.setdefault(name, []).append((asserted, words))
    for name, calls in by_relation.items():
        rows = numpy.concatenate([words for _, words in calls]) if len(calls) > 1 else calls[0][1]
        if len({asserts for asserts, _ in calls}) == 1:
            none = rows[:0]
            net[name] = (rows, none) if calls[0][0] else (none, rows)
            continue
        asserts = numpy.repeat([asserts for asserts, _ in calls], [len(words) for _, words in calls])
        if rows.shape[1]:  # numpy.unique of rows takes several times as long as this
            order = numpy.lexsort(rows.T[::-1])
            rows, asserts = rows[order], asserts[order]
        last = numpy.ones(len(rows), bool)
        last[:-1] = (rows[1:] != rows[:-1]).any(axis=1)
        net[name] = (rows[last & asserts], rows[last & ~asserts])
    return net
