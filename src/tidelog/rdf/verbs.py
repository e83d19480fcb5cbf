"""The verbs of a store that explain and try: `Store` has the rest."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from tidelog.database.transaction import checked
from tidelog.database.verbs import Verbs
from tidelog.errors import flag
from tidelog.explain.enumeration import Enumeration, Turn
from tidelog.io.relation import Relation
from tidelog.limits.watch import changing_within_memory, guarded, reading_within_memory
from tidelog.rdf.change import StoreChange
from tidelog.rdf.justifications import Justifications
from tidelog.rdf.transaction import StoreTransaction
from tidelog.workspace.earlier_names import OF_STORES, EarlierNames

if TYPE_CHECKING:
    from tidelog.explain.absence import Absence
    from tidelog.explain.blame import Blame
    from tidelog.rdf.explaining import Now, StoredTriple, TripleExplainer
    from tidelog.rdf.proofs import TripleProof, TripleViews

TripleSet: TypeAlias = "tuple[StoredTriple, ...]"


class TripleVerbs(EarlierNames, Verbs[StoreChange]):
    """Verbs over triples that change nothing in the end, and transactions."""

    _earlier_names = OF_STORES
    _justifications: Justifications

    @property
    @abstractmethod
    def _explainer(self) -> TripleExplainer:
        """Return what explains triples. It is loaded when first used."""

    @abstractmethod
    def inconsistencies(self) -> Relation:
        """Return the contradictions."""

    def justifications(self) -> Relation:
        """Return the asserted triples, axioms and data, from which each inconsistency follows: a row for each of them,
        behind the row of `inconsistencies()`. They are those of the proof that `explain` returns, and found again after
        each commit, when they are first asked for. `tidelog.rdf.justified` groups the rows.

        Raise LimitError beyond the time limit of `options`.
        """
        with self._using(), reading_within_memory:
            now = self._now()
            with guarded(now.watch):
                return self._justifications.of(
                    self._epoch_number(),
                    self.inconsistencies(),
                    lambda row: self._explainer.explain(row, now).triples,
                )

    @abstractmethod
    def _now(self) -> Now:
        """Return the limits, prefixes and schema of this moment."""

    @abstractmethod
    def _block(self, commit: Callable[[], StoreChange] | None) -> StoreTransaction:
        """Return a block of changes, which `commit` commits in the place of the store."""

    def checking(self) -> TripleViews:
        """Return all triples and facts, for the check of a proof."""
        with self._using(), reading_within_memory:
            return self._explainer.views(self._now())

    @abstractmethod
    def _epoch_number(self) -> int:
        """Return the number of commits."""

    @abstractmethod
    def _dry_run(self, look: Callable[[], object] = ...) -> StoreChange:
        """Return the change that the pending changes would make, and undo them once `look` has seen their effect."""

    def transaction(self, *, dry_run: bool = False) -> StoreTransaction:
        """Return a block whose changes are committed together at its end, and dropped when it or the commit raises.
        With `dry_run` they are dropped in any case, see `what_if`.

        It belongs to the thread that opens it; changes of other threads wait until it ends. Raises UsageError where
        changes are pending already (E0606) and inside of another transaction (E0625).
        """
        with self._changing():
            checked(self)
            return self._block(self._dry_run if flag("dry_run", dry_run) else None)

    def what_if(self) -> StoreTransaction:
        """Return a block whose changes of triples and rules are tried: at its end they are evaluated, and undone by
        another epoch; its `change` is the change that they would have made. Subscribers do not hear of it. Raises as
        `transaction`, and at the end of the block as `commit`."""
        return self.transaction(dry_run=True)

    @overload
    def explain(self, *goal: Any, all: Literal[False] = False) -> TripleProof: ...
    @overload
    def explain(self, *goal: Any, all: Literal[True]) -> Enumeration[TripleProof]: ...

    def explain(self, *goal: Any, all: bool = False) -> TripleProof | Enumeration[TripleProof]:
        """Return why a triple holds, as of the last commit: a proof over triples and axioms, as `Database.explain`.

        `goal` are the terms of a triple, the parts of a row of `inconsistencies()`, or a relation of a program and a
        tuple. With `all`, return an iterator of all proofs, the smallest first.

        Raise UsageError (E0670: it does not hold, E0671, E0673), DataError, LimitError.
        """
        with self._using(), reading_within_memory:
            now = self._now()
            if flag("all", all):
                turn = Turn(self._using, lambda: reading_within_memory, lambda: None, self._epoch_number, now.watch)
                return Enumeration(self._explainer.proofs(goal, now), self._explainer.title("proofs", goal, now), turn)
            with guarded(now.watch):
                return self._explainer.explain(goal, now)

    def why_not(self, *goal: Any, depth: int = 3) -> Absence:
        """Return why a triple does not hold: how far each rule gets that could derive it, see `Database.why_not`, with
        a `goal` as in `explain`. Raise UsageError (E0672: it holds, E0673), DataError, LimitError."""
        with self._changing(), changing_within_memory:
            now = self._now()
            with guarded(now.watch):
                return self._explainer.absence(goal, depth, now)

    def blame(self, *goal: Any) -> Blame:
        """Return since which commit a `goal` as in `explain` holds, by the triples and rules that are there now, and
        which of them came then, see `Database.blame`. Commits are numbered from 1 on; rules that were given to
        `connect` came in 0. Raise as `explain`."""
        with self._using(), reading_within_memory:
            now = self._now()
            with guarded(now.watch):
                return self._explainer.blame(goal, now)

    def ways_to_remove(self, *goal: Any) -> Enumeration[TripleSet]:
        """Return the smallest sets of asserted triples, axioms among them, without which a `goal` as in `explain` would
        not hold: an iterator, the smaller ones first. Each has been tried, see `what_if`. Raises as `explain`, and as
        `transaction`."""
        with self._changing(), changing_within_memory:
            checked(self, "ways_to_remove()")
            now = self._now()
            found = self._explainer.ends(goal, now, lambda triples: not self._would_hold(goal, [], triples))
            return self._sets(found, "ways_to_remove", goal, now)

    def ways_to_derive(self, *goal: Any) -> Enumeration[TripleSet]:
        """Return the smallest sets of other triples that would make a `goal` as in `explain` hold, with the ontology as
        it is: an iterator, the smaller ones first. Each has been tried, see `what_if`. Raises as `why_not`, and as
        `transaction`."""
        with self._changing(), changing_within_memory:
            checked(self, "ways_to_derive()")
            now = self._now()
            found = self._explainer.repairs(goal, now, lambda triples: self._would_hold(goal, triples, []))
            return self._sets(found, "ways_to_derive", goal, now)

    def _sets(self, found: Iterator[TripleSet], verb: str, goal: Sequence[Any], now: Now) -> Enumeration[TripleSet]:
        """Return an iterator of sets, each of which a transaction tries, which must be able to begin then."""
        ready = partial(checked, self, f"{verb}()")
        turn = Turn(self._changing, lambda: changing_within_memory, ready, self._epoch_number, now.watch)
        return Enumeration(found, self._explainer.title(verb, goal, now), turn)

    def _would_hold(self, goal: Sequence[Any], more: Iterable[StoredTriple], less: Iterable[StoredTriple]) -> bool:
        """Return True if something would hold with some more triples and without others."""
        found: list[bool] = []

        def look() -> None:
            found.append(self._explainer.holds(goal))

        with self._block(partial(self._dry_run, look)) as trial:
            trial.insert(more)
            trial.delete(less)
        return found == [True]
