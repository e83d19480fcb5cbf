"""The verbs by which databases of relations are read, which their snapshots share: names, programs, certificates, and
explanations."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from tidelog.database.verbs import Reads
from tidelog.errors import flag, wrong_argument
from tidelog.explain.questions import DEPTH, EXPLANATION, MOST_MEMBERS, Enumeration, Turn
from tidelog.io.relation import Relation
from tidelog.language.declarations import branch_named
from tidelog.language.stored_text import added_statements, check_readable
from tidelog.language.syntax import CheckedProgram
from tidelog.limits.watch import Watch, defer_interrupts, reading_within_memory
from tidelog.rules import compile_program
from tidelog.rules.picture import RuleGraph
from tidelog.storage.dictionary import Dictionary
from tidelog.workspace.options import DatabaseOptions
from tidelog.workspace.workspace import Workspace

if TYPE_CHECKING:
    from tidelog.certificate import Certificate, PartedCertificate
    from tidelog.explain.absence import Absence
    from tidelog.explain.blame import Blame
    from tidelog.explain.explainer import Explainer
    from tidelog.explain.proof import Proof
    from tidelog.explain.views import EngineViews


class RelationReads(Reads, ABC):
    """The verbs that read relations, and explain their tuples, as of the last committed epoch."""

    workspace: Workspace[Any]
    _options: DatabaseOptions
    _epochs: int
    """Another one after each epoch."""

    @abstractmethod
    def local(self, name: str) -> Relation:
        """Return a relation as of the last committed epoch, with its tuples in this process. Raise UsageError (E0601)
        for an unknown name."""

    @abstractmethod
    def _certificate(self, watch: Watch) -> Certificate:
        """Return the certificate of the last committed epoch."""

    @property
    def relations(self) -> tuple[str, ...]:
        """Return the names of the declared relations, in the order of their declarations."""
        return tuple(self.workspace.program.relations)

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the declared relations, in the order of their declarations."""
        return iter(self.relations)

    def __contains__(self, name: object) -> bool:
        """Return True if a relation of this name is declared."""
        return isinstance(name, str) and name in self.workspace.program.relations

    @property
    def program(self) -> CheckedProgram:
        """Everything that was loaded, checked; pending texts included."""
        return self.workspace.program

    def _named_rules(self) -> Mapping[str, object]:
        return {str(rule.name): rule for rule in self.workspace.committed.checked.texts}

    def branch(self, name: str) -> type[Any]:
        """Return the class of the values of a branch of an algebraic data type: `Cons = db.branch("Cons")`, and then
        `Cons(1, Nil())` is a value of its type. Raise UsageError (E0616) if no type has such a branch."""
        return branch_named(name, self.workspace.program.records.values())

    def draw(self) -> RuleGraph:
        """Return the rule graph of the last epoch, with its hyper-nodes: a notebook shows it as a picture if pygraphviz
        is installed, else as text; `save(path)` writes a file."""
        self._check_usable()
        return RuleGraph(compile_program(self.workspace.committed.checked, as_written=True))

    @property
    def dictionary(self) -> Dictionary:
        """Return the meaning of the words of symbols and records. The database reclaims no words from now on."""
        self.workspace.dictionary.shared = True
        return self.workspace.dictionary

    def check(self) -> None:
        """Check the views as of the last committed epoch, independently of the engine: see docs/how-to/certificates.md.
        Other threads wait meanwhile.

        Raise CertificateRejected if they do not follow from the facts and rules; LimitError if memory does not suffice
        (E0503) or after the seconds of the option `timeout` (E0501). The executors of a cluster check views of more
        than `embedded_limit` rows.
        """
        with self._hold_for_certificate(), self._report_read_errors():
            watch = Watch(self._options.timeout)
            with defer_interrupts(watch):
                self._check(watch)

    def _check(self, watch: Watch) -> None:
        from tidelog.certificate import check

        check(self._certificate(watch), watch)

    def save_certificate(self, folder: str | os.PathLike[str]) -> None:
        """Write the last committed epoch with its facts, program and births to a new folder of this machine, as a
        certificate that `tidelog.check_certificate` accepts. Raises UsageError (E0816) where that cannot be written,
        LimitError (E0503) where memory does not suffice."""
        from tidelog.certificate import program_text, save

        with self._hold_for_certificate(), self._report_read_errors():
            if not isinstance(folder, (str, os.PathLike)):
                raise wrong_argument("a certificate", "the path of a new folder", folder)
            with self._certificate_to_save(Watch()) as certificate:
                programs = self.workspace.committed.programs
                text = program_text(programs)
                check_readable(replace(added_statements(programs), directives=(), components=()), text)
                save(certificate, text, Path(folder))

    @contextmanager
    def _certificate_to_save(self, watch: Watch) -> Iterator[Certificate | PartedCertificate]:
        """Give the certificate to be written, as long as the block lasts."""
        yield self._certificate(watch)

    def _hold_for_certificate(self) -> AbstractContextManager[None]:
        """Inside, have what a certificate reads."""
        return self._hold_turn()

    @contextmanager
    def _report_read_errors(self) -> Iterator[None]:
        """Raise errors of tidelog for whatever goes wrong inside, where many rows may be read."""
        with reading_within_memory:
            yield

    # --- explanations ------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def _explainer(self) -> Explainer:
        """Return what explains the tuples of this epoch. It is loaded when first used."""

    @abstractmethod
    def _engine_views(self) -> EngineViews:
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
        with self._hold_turn(), self._report_read_errors():
            watch = self._options.watch(work=EXPLANATION)
            if flag("all", all):
                proofs = self._explainer.proofs(relation, values, self._engine_views(), watch, members)
                title = self._explainer.title("proofs", relation, values)
                turn = Turn(self._hold_turn, self._report_read_errors, lambda: None, lambda: self._epochs, watch)
                return Enumeration(proofs, title, turn)
            with defer_interrupts(watch):
                return self._explainer.explain(relation, values, self._engine_views(), watch, members)

    def why_not(self, relation: str, values: Any, *, depth: int = DEPTH) -> Absence:
        """Return why a relation does not have a tuple, as of the last committed epoch: how far the body of each of its
        rules gets, and the same for the tuples that these miss, to a `depth`. A limit leaves rules out, see
        `Absence.is_partial`.

        Raise UsageError (E0601, E0611, E0635, E0672: the tuple holds), DataError for values that do not fit,
        LimitError; over Spark UsageError (E0688), see `explain`.
        """
        with self._hold_turn(), self._report_read_errors():
            watch = self._options.watch(work=EXPLANATION)
            with defer_interrupts(watch):
                return self._explainer.absence(relation, values, depth, self._engine_views(), watch)

    def blame(self, relation: str, values: Any) -> Blame:
        """Return since which epoch a relation has a tuple, by the facts and rules that are there now, and which of them
        came in that epoch.

        Epochs are numbered as in `stats()`: by `epochs`, in a store by `epoch` of `store`. A fact is there since the
        epoch that last asserted it. The tuple may have held before, by facts that have gone since. Over Spark, facts of
        a state folder, or of the engine before, came in the last epoch of that or before. See
        docs/how-to/explanations.md. Raise as `explain`.
        """
        with self._hold_turn(), self._report_read_errors():
            watch = self._options.watch(work=EXPLANATION)
            with defer_interrupts(watch):
                since = self.workspace.committed.since
                return self._explainer.blame(relation, values, self._engine_views(), watch, since)
