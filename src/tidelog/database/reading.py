"""The verbs by which databases of relations are read, which their snapshots share.

`Reads` takes turns with other threads. `RelationReads` has names, programs and certificates.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.errors import wrong_argument
from tidelog.io.relation import Relation
from tidelog.language.declarations import branch_named
from tidelog.language.readable import added, check_readable
from tidelog.language.syntax import CheckedProgram
from tidelog.limits.watch import Watch, guarded, reading_within_memory
from tidelog.rules import compile_program
from tidelog.rules.picture import RuleGraph
from tidelog.storage.dictionary import Dictionary
from tidelog.workspace.copies import Uncopied
from tidelog.workspace.options import DatabaseOptions
from tidelog.workspace.turns import Turns
from tidelog.workspace.workspace import Workspace

if TYPE_CHECKING:
    from tidelog.certificate import Certificate, PartedCertificate


class Reads(Uncopied):
    """An object that several threads use in turns."""

    def __init__(self, turns: Turns | None = None) -> None:
        self.turns = turns or Turns()
        """Which thread may do what now: for modules of this package."""

    def _check_usable(self) -> None:
        self.turns.check_open()

    def _note_read(self) -> None:
        """Note that a user reads views, whether changes wait or not."""

    def __dir__(self) -> list[str]:
        """Return the names that users call. The public attributes of the object are for modules of this package."""
        return [name for name in dir(type(self)) if name not in ("follow", "instead")]

    @contextmanager
    def _using(self) -> Iterator[None]:
        """Inside, have the open object for this thread."""
        with self.turns.using:
            self._check_usable()
            yield


class RelationReads(Reads, ABC):
    """The verbs by which relations are read."""

    workspace: Workspace[Any]
    _options: DatabaseOptions

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
        with self._certifying(), self._reading():
            watch = Watch(self._options.timeout)
            with guarded(watch):
                self._check(watch)

    def _check(self, watch: Watch) -> None:
        from tidelog.certificate import check

        check(self._certificate(watch), watch)

    def save_certificate(self, folder: str | os.PathLike[str]) -> None:
        """Write the last committed epoch with its facts, program and births to a new folder of this machine, as a
        certificate that `tidelog.check_certificate` accepts. Raises UsageError (E0816) where that cannot be written,
        LimitError (E0503) where memory does not suffice."""
        from tidelog.certificate import program_text, save

        with self._certifying(), self._reading():
            if not isinstance(folder, (str, os.PathLike)):
                raise wrong_argument("a certificate", "the path of a new folder", folder)
            with self._saved(Watch()) as certificate:
                programs = self.workspace.committed.programs
                text = program_text(programs)
                check_readable(replace(added(programs), directives=(), components=()), text)
                save(certificate, text, Path(folder))

    @contextmanager
    def _saved(self, watch: Watch) -> Iterator[Certificate | PartedCertificate]:
        """Give the certificate to be written, as long as the block lasts."""
        yield self._certificate(watch)

    def _certifying(self) -> AbstractContextManager[None]:
        """Inside, have what a certificate reads."""
        return self._using()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Raise errors of tidelog for whatever goes wrong inside, where many rows may be read."""
        with reading_within_memory:
            yield
