"""Snapshots of an embedded database: reads that stay on one epoch, from any thread, and wait for no commit.

`EmbeddedReads` are the verbs that read an embedded engine, whichever epoch it shows. `Database` reads the last one by
them, a `Snapshot` its own. All snapshots of one epoch share a `FrozenEpoch`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NoReturn, Self

from tidelog.database.relation_reads import RelationReads
from tidelog.database.transaction import Earlier, RuleSet
from tidelog.errors import Problem, UsageError
from tidelog.io.relation import Relation
from tidelog.limits.watch import Watch, reading_within_memory
from tidelog.maintain.frozen import FrozenState
from tidelog.maintain.state import EngineState
from tidelog.queries.answers import Answers, QueryPlan
from tidelog.queries.meanings import Meanings
from tidelog.storage.dictionary import Dictionary, locks_of
from tidelog.storage.readers import Readers
from tidelog.workspace.options import DatabaseOptions
from tidelog.workspace.turns import CurrentRows, Turns, View, are_free
from tidelog.workspace.workspace import Workspace

if TYPE_CHECKING:
    from tidelog.certificate import Certificate
    from tidelog.explain.explainer import Explainer
    from tidelog.explain.views import EngineViews

_CLOSED = Problem("E0602", "the snapshot is closed", hint="make another one with `db.snapshot()`")
_CHANGING = frozenset({
    "aggregate", "clear", "commit", "declare", "delete", "delete_words", "follow", "functor", "functors",
    "import_functions", "insert", "insert_words", "load", "options", "profile", "read_inputs", "rollback", "subscribe",
    "transaction", "ways_to_derive", "ways_to_remove", "what_if",
})  # fmt: skip
"""The verbs of a database that change it, or try to."""


class EmbeddedReads(RelationReads):
    """The verbs that read the views of an embedded engine."""

    _answers: Answers

    @abstractmethod
    def _plans(self) -> EngineState:
        """Return the state of the engine, for a thread inside `_hold_turn`."""

    @abstractmethod
    def _rows(self, name: str) -> CurrentRows | None:
        """Return the rows of a relation, None if no epoch has seen it yet."""

    @abstractmethod
    def _facts(self, name: str) -> CurrentRows | None:
        """Return the asserted facts of a relation, None if no epoch has seen it yet."""

    def __getitem__(self, name: str) -> Relation:
        """Return a relation as of the last committed epoch. Raise UsageError (E0601) for an unknown name."""
        self._note_read()
        return self._relation(name, self._rows)

    def asserted(self, name: str) -> Relation:
        """Return the asserted facts of a relation as of the last committed epoch, whatever its rules derive. Raise
        UsageError (E0601) for an unknown name."""
        return self._relation(name, self._facts)

    def _relation(self, name: str, rows: Callable[[str], CurrentRows | None]) -> Relation:
        self._check_usable()
        columns = self.workspace.readable(name).columns
        view = View(columns, self.workspace.dictionary, self.turns, partial(rows, name), self._read_access)
        return Relation(name, view)

    def _read_access(self) -> AbstractContextManager[object]:
        """Return the block in which a thread reads the rows of a relation."""
        return self.turns.using

    def local(self, name: str) -> Relation:
        """Return the same as `db[name]`, for modules of this package that read databases over Spark as well."""
        return self[name]

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name != "local"]

    def query(self, text: str, /, **parameters: Any) -> Relation:
        """Return the answer to a query as of the last committed epoch.

        One atom answers with the tuples of a relation, or the pairs that a path connects, that match it: constants,
        `_`, and variables, equal where they are the same. Any other body of a rule answers with the values of its
        variables, in the order in which they first occur. `parameters` are values for some of the variables; they are
        not in the answer.

        Raise ProgramError for a wrong query, UsageError (E0612) for a parameter that is no variable, DataError for a
        value of the wrong type, LimitError (E0503 if memory does not suffice).
        """
        self._note_read()
        with self._hold_turn(), reading_within_memory:
            return self._answers.answer(text, parameters, self._plans(), self._options)

    def query_plan(self, text: str, /, **parameters: Any) -> QueryPlan:
        """Return how `query` would evaluate a query now: the order of its literals, with the bindings that the planner
        expects. Raise as `query`."""
        self._note_read()
        with self._hold_turn(), reading_within_memory:
            return self._answers.plan(text, parameters, self._plans())

    def _engine_views(self) -> EngineViews:
        from tidelog.explain.views import EngineViews

        return EngineViews(self._plans())

    def _certificate(self, watch: Watch) -> Certificate:
        from tidelog.certificate import certificate_of, look

        return certificate_of(self._plans(), self.workspace.committed.checked, partial(look, watch))


class FrozenEpoch:
    """An epoch that snapshots share: its views, its program, and what its readers have found out."""

    def __init__(self, engine: EngineState, workspace: Workspace[Any], number: int, meanings: Meanings) -> None:
        """Share the last epoch. The caller keeps the engine and the workspace from ending another one. `meanings` are
        those of texts of queries, as far as they are known."""
        self.state = FrozenState(engine)
        self.workspace = workspace.as_committed()
        self.number = number
        self.answers = Answers(self.workspace, meanings)

    @cached_property
    def explainer(self) -> Explainer:
        """Explains the tuples of the epoch to the readers."""
        from tidelog.explain.explainer import Explainer

        return Explainer(self.workspace)

    @cached_property
    def plans(self) -> EngineState:
        """The state for queries and explanations. The caller has the `turns` of the readers."""
        return self.state.readable_state()


class Snapshot(EmbeddedReads):
    """A database as of an epoch, for reading from any thread, however many commits follow. It is a context manager;
    `close` it, or let it go, because the database keeps what it needs until then.

    Rules that call functors or aggregates in Python let queries and explanations wait for a commit, because both call
    the same functions.
    """

    instead = "copy its relations, or make another one with `db.snapshot()`"

    def __init__(self, frozen: FrozenEpoch, database: Turns, options: DatabaseOptions) -> None:
        readers = frozen.state.readers
        room = frozen.state.room
        super().__init__(Turns(_CLOSED, partial(is_unused, readers, frozen.state.dictionary), lambda: room.is_apart))
        self.turns.using = readers.turns
        self._database = database
        self._frozen: FrozenEpoch | None = frozen
        self.workspace = frozen.workspace
        self._options = options
        self._epochs = frozen.number
        self._answers = frozen.answers

    # --- its end -------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Release what the database keeps for the snapshot. Calls of it and of its relations raise UsageError (E0602)
        from then on; answers to queries stay as they are."""
        self.turns.closed, self._frozen = True, None
        self._answers = Answers(self.workspace)  # The others know plans.

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _require_epoch(self) -> FrozenEpoch:
        frozen = self._frozen
        if frozen is None:
            raise UsageError(_CLOSED)
        return frozen

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        """Return what the verbs of a database that change it do here: raise UsageError (E0615)."""
        if name in _CHANGING:
            return partial(_refuse, f"call `{name}`")
        raise AttributeError(f"a Snapshot has no attribute {name!r}")

    # --- reading -------------------------------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        """The number of the epoch, as `db.stats()` and `db.blame` count epochs."""
        return self._epochs

    @property
    def rules(self) -> RuleSet:
        """Return the rules of the epoch by name."""
        return RuleSet(self)

    def _add_rules(self, text: str, replace: Earlier) -> None:
        _refuse("add rules")

    def _remove_rules(self, *names: str) -> None:
        _refuse("remove a rule")

    def _remove_instance(self, name: str) -> None:
        _refuse("remove an instance")

    @property
    def hyper_nodes(self) -> tuple[tuple[str, ...], ...]:
        """Return the names of the rules of each hyper-node of the program as written, in the order of evaluation."""
        with self._hold_turn():
            return self._plans().hyper_nodes

    @contextmanager
    def _hold_turn(self) -> Iterator[None]:
        calls = self.workspace.committed.checked.functors
        with self._read_access(), self._database.using if calls else nullcontext(), super()._hold_turn():
            yield

    @contextmanager
    def _hold_for_certificate(self) -> Iterator[None]:
        with self._hold_turn():
            plans = self._plans()
            for relations in (plans.views, plans.asserted):
                list(relations.values())  # All of them are shown now.
        yield  # Their rows and births need no turns.

    @contextmanager
    def _read_access(self) -> Iterator[None]:
        # It stays until the end of the block, also if another thread closes the snapshot.
        frozen = self._require_epoch()
        with frozen.state.readers.passing:
            yield

    @property
    def _explainer(self) -> Explainer:
        return self._require_epoch().explainer

    def _plans(self) -> EngineState:
        return self._require_epoch().plans

    def _rows(self, name: str) -> CurrentRows | None:
        return self._require_epoch().state.view(name)

    def _facts(self, name: str) -> CurrentRows | None:
        return self._require_epoch().state.facts(name)

    def __repr__(self) -> str:
        return f"<Snapshot: {len(self.relations)} relations, epoch {self.epoch}>"


def is_unused(readers: Readers, dictionary: Dictionary) -> bool:
    """Return True if no other thread reads snapshots, or looks words up."""
    return readers.passing.is_empty and are_free((readers.lock, readers.turns, *locks_of(dictionary)))


def _refuse(call: str, *_: object, **__: object) -> NoReturn:
    message = f"cannot {call}: a snapshot never changes"
    raise UsageError(Problem("E0615", message, hint="change the database, and make another snapshot after the commit"))
