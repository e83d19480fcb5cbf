"""The verbs of databases that explain their tuples, and try changes: what `Database` and `SparkDatabase` do in the same
way."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from tidelog.common.arrays import Words
from tidelog.database.reading import RelationReads
from tidelog.database.transaction import Transaction, checked
from tidelog.database.verbs import RelationVerbs
from tidelog.errors import flag
from tidelog.explain.enumeration import Enumeration, Turn
from tidelog.explain.questions import DEPTH, EXPLANATION, MOST_MEMBERS
from tidelog.language.syntax import CheckedProgram
from tidelog.limits.interrupts import Deferring, Interrupts
from tidelog.limits.watch import Watch, guarded
from tidelog.maintain.protocol import Outcome
from tidelog.workspace.earlier_names import EarlierNames
from tidelog.workspace.subscribers import SubscribedChange
from tidelog.workspace.workspace import FactEntry

if TYPE_CHECKING:
    from tidelog.explain.absence import Absence
    from tidelog.explain.blame import Blame
    from tidelog.explain.explainer import Explainer
    from tidelog.explain.proof import Proof
    from tidelog.explain.steps import Facts, Removal
    from tidelog.explain.views import EngineViews
    from tidelog.explain.walks import Key

Made = TypeVar("Made", bound=SubscribedChange)
Part = TypeVar("Part")
Item = TypeVar("Item")
Entry = TypeVar("Entry", bound=FactEntry)


class ExplainingReads(RelationReads):
    """The verbs that explain tuples as of the last committed epoch."""

    _epochs: int
    """Another one after each epoch."""

    @property
    @abstractmethod
    def _explainer(self) -> Explainer:
        """Return what explains the tuples of this epoch. It is loaded when first used."""

    @abstractmethod
    def _explained(self) -> EngineViews:
        """Return the views as of the last committed epoch."""

    @overload
    def explain(
        self, relation: str, values: Any, *, all: Literal[False] = False, members: int | None = MOST_MEMBERS
    ) -> Proof: ...
    @overload
    def explain(
        self, relation: str, values: Any, *, all: Literal[True], members: int | None = MOST_MEMBERS
    ) -> Enumeration[Proof]: ...

    def explain(
        self, relation: str, values: Any, *, all: bool = False, members: int | None = MOST_MEMBERS
    ) -> Proof | Enumeration[Proof]:
        """Return why a relation has a tuple, as of the last committed epoch: a proof of least height, or, where very
        many derivations would have to be compared, one that is found by births. It shows at most so many `members` of
        each aggregate, all with None. A limit makes the proof a partial one, see `Proof.is_partial`.

        With `all`, return an iterator of all proofs, those with the fewest tuples first, in which no tuple is used to
        derive itself. It ends with the next commit: raise UsageError (E0671) then. A `timeout` holds for each proof. A
        limit ends it, see `Enumeration.is_partial`.

        Raise UsageError (E0601, E0611, E0635, E0670: the tuple does not hold), DataError for values that do not fit,
        LimitError; over Spark UsageError (E0688) where more than `embedded_limit` rows would have to come to the
        driver.
        """
        with self._using(), self._reading():
            watch = self._options.watch(work=EXPLANATION)
            if flag("all", all):
                proofs = self._explainer.proofs(relation, values, self._explained(), watch, members)
                title = self._explainer.title("proofs", relation, values)
                turn = Turn(self._using, self._reading, lambda: None, lambda: self._epochs, watch)
                return Enumeration(proofs, title, turn)
            with guarded(watch):
                return self._explainer.explain(relation, values, self._explained(), watch, members)

    def why_not(self, relation: str, values: Any, *, depth: int = DEPTH) -> Absence:
        """Return why a relation does not have a tuple, as of the last committed epoch: how far the body of each of its
        rules gets, and the same for the tuples that these miss, to a `depth`. A limit leaves rules out, see
        `Absence.is_partial`.

        Raise UsageError (E0601, E0611, E0635, E0672: the tuple holds), DataError for values that do not fit,
        LimitError; over Spark UsageError (E0688), see `explain`.
        """
        with self._using(), self._reading():
            watch = self._options.watch(work=EXPLANATION)
            with guarded(watch):
                return self._explainer.absence(relation, values, depth, self._explained(), watch)

    def blame(self, relation: str, values: Any) -> Blame:
        """Return since which epoch a relation has a tuple, by the facts and rules that are there now, and which of them
        came in that epoch.

        Epochs are numbered as in `stats()`: by `epochs`, in a store by `epoch` of `store`. A fact is there since the
        epoch that last asserted it. The tuple may have held before, by facts that have gone since. Over Spark, facts of
        a state folder, or of the engine before, came in the last epoch of that or before. See
        docs/how-to/explanations.md. Raise as `explain`.
        """
        with self._using(), self._reading():
            watch = self._options.watch(work=EXPLANATION)
            with guarded(watch):
                since = self.workspace.committed.since
                return self._explainer.blame(relation, values, self._explained(), watch, since)


class ExplainingVerbs(EarlierNames, ExplainingReads, RelationVerbs[Made, Part, Entry]):
    """The verbs of databases of relations that explain their tuples."""

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
        with self._changing():
            checked(self)
            return Transaction(self, (lambda: self._to_change(*self._trial())) if flag("dry_run", dry_run) else None)

    def what_if(self) -> Transaction[Made]:
        """Return a block whose changes are tried: at its end they are evaluated like an epoch and undone, and its
        `change` is the change that they would have made. Subscribers do not hear of it, and nothing is written to a
        store or a state folder. It costs an update and a roll-back. Raises as `transaction`, and at the end of the
        block as `commit`; over Spark UsageError (E0688) if the change has more than `embedded_limit` rows."""
        return self.transaction(dry_run=True)

    def _trial(self) -> tuple[CheckedProgram, Outcome[Words]]:
        with Deferring() as interrupts, interrupts.holding(self.turns.changing), interrupts.holding(self.turns.using):
            self._check_usable()
            return self._dry_run(interrupts)

    # --- what would end or begin a tuple -----------------------------------------------------------------------------

    def _sets(self, found: Iterator[Item], verb: str, relation: str, values: object, watch: Watch) -> Enumeration[Item]:
        """Return an iterator of sets, each of which a transaction tries, which must be able to begin then."""
        turn = Turn(self._changing, self._reading, partial(checked, self, f"{verb}()"), lambda: self._epochs, watch)
        return Enumeration(found, self._explainer.title(verb, relation, values), turn)

    def ways_to_remove(self, relation: str, values: Any, *, rules: bool = False) -> Enumeration[Removal]:
        """Return the smallest sets of asserted facts, or with `rules` of rules, without which a relation would not have
        a tuple: an iterator, the smaller ones first. Each has been tried, see `what_if`. It ends with the next commit,
        and by a limit, see `Enumeration.is_partial`, also where the tuple has too many derivations to look for more
        (E0505). Raises as `explain`, and as `transaction`, also for each set: changes of other threads that are pending
        then do not end the iterator."""
        with self._changing(), self._reading():
            checked(self, "ways_to_remove()")
            watch = self._options.watch(work=EXPLANATION)
            found = self._explainer.ends(
                relation, values, self._explained(), watch, rules=flag("rules", rules), confirmed=self._ends
            )
            return self._sets(found, "ways_to_remove", relation, values, watch)

    def ways_to_derive(self, relation: str, values: Any) -> Enumeration[Facts]:
        """Return the smallest sets of facts, of relations without rules, that would make a relation have a tuple: an
        iterator, the smaller ones first. Each has been tried, see `what_if`. It ends as that of `ways_to_remove`.
        Raises as `why_not`, and as `transaction`."""
        with self._changing(), self._reading():
            checked(self, "ways_to_derive()")
            watch = self._options.watch(work=EXPLANATION)
            found = self._explainer.repairs(relation, values, self._explained(), watch, self._begins)
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

        def tried() -> Made:
            program, outcome = self._trial()
            outcomes.append(outcome)
            return self._to_change(program, outcome)

        with Transaction(self, tried) as trial:
            change(trial)
        return outcomes[0]


def _has(rows: Words, goal: Key) -> bool:
    """Return True if a tuple is among rows."""
    return bool((rows == goal.words).all(axis=1).any())
