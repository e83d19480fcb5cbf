"""Verbs that need the facts of all nodes at once: a network answers them with a database that has these facts.

A node sends what rules derive, never what nearly matches, and no node tries a change. So an embedded database answers
`why_not`, `ways_to_remove`, `ways_to_derive` and `what_if`. It has the program of the network, its changes of rules
included, and the facts that nodes assert at that moment: the network comes to rest with the same views if nothing else
changes. For `blame`, the facts have their stamps there in the place of epochs, and so have the rules.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn

from tidelog.database.transaction import Earlier, NamedRules
from tidelog.errors import Problem, UsageError, quote
from tidelog.functions.callables import FunctorSource
from tidelog.language.syntax import CheckedProgram, Program
from tidelog.network.messages import RuleChange
from tidelog.network.program import NodeRow
from tidelog.network.rulebook import Rulebook
from tidelog.network.values import require_relation, shown_rows
from tidelog.workspace.objects import OF_NETWORKS, EarlierNames

if TYPE_CHECKING:
    from tidelog.database.database import Database
    from tidelog.database.transaction import Transaction
    from tidelog.explain.absence import Absence
    from tidelog.explain.questions import Enumeration
    from tidelog.explain.steps import Facts, Removal
    from tidelog.network.proofs import NetworkBlame
    from tidelog.workspace.change import Change


class NetworkVerbs(EarlierNames, ABC):
    """The verbs of networks whose nodes can all be asked for their facts, and whose changes all go through them.

    `book` is the program `text` with the changes of rules. Raises ProgramError for a wrong program."""

    _earlier_names = OF_NETWORKS

    def __init__(self, text: str) -> None:
        self.book = Rulebook(text)
        self._since: dict[str, int] = {}
        """The stamps of the changes of rules, by their names."""

    @property
    def rules(self) -> NamedRules:
        """Return the rules by name, with `add`, `replace` and `remove` at one node, from which changes spread. Raise as
        those of `Node.rules`."""
        return NamedRules(self)

    def _named_rules(self) -> Mapping[str, object]:
        return self.book.named_rules()

    @property
    def program(self) -> CheckedProgram:
        """Return the program with all changes of rules."""
        return self.book.checked_program

    @abstractmethod
    def __getitem__(self, relation: str) -> set[tuple[Any, ...]]:
        """Return the tuples of a relation at all nodes together, as far as they know by now."""

    def local(self, name: str) -> set[tuple[Any, ...]]:
        """Return the same as `network[name]`, with which a proof is checked."""
        return self[name]

    def _known_node(self, name: str, nodes: Collection[str]) -> str:
        """Return the name of one of the `nodes`. Raise UsageError (E0624) for another one."""
        if not isinstance(name, str) or name not in nodes:
            hint = f"use one of {', '.join(nodes)}" if nodes else "insert a fact first"
            raise UsageError(Problem("E0624", f"{quote(name)} is not a node of this network", hint=hint))
        return name

    @abstractmethod
    def _add_rules(self, text: str, replace: Earlier) -> None: ...
    @abstractmethod
    def _remove_rules(self, *names: str) -> None: ...

    def _take(self, changes: Iterable[RuleChange], stamp: int) -> None:
        """Note a change of rules with its stamp."""
        for change in changes:
            self.book.take(change)
            self._since[change.name] = stamp

    @abstractmethod
    def _stamps_of(self, relation: str) -> Mapping[NodeRow, int]:
        """Return the asserted facts of a relation at all nodes together, as they are stored, each with its stamp."""

    @abstractmethod
    def _moment(self, stamp: int) -> int | datetime:
        """Return a stamp as the user sees it."""

    @abstractmethod
    def _functions(self) -> FunctorSource:
        """Return the functions that rules call."""

    def asserted(self, relation: str) -> set[tuple[Any, ...]]:
        """Return the asserted facts of a relation at all nodes together. Raise UsageError (E0601) for an unknown
        name."""
        program = self.book.program
        return shown_rows(self._stamps_of(require_relation(relation, program)), relation, program)

    def database(self) -> Database:
        """Return an embedded database with the program of the network and the facts that its nodes assert at the
        moment: a copy, which does not follow the network. It takes the memory and time of an evaluation from scratch;
        raise LimitError (E0503) if memory does not suffice."""
        return self._database_of(self._facts_at_nodes())

    def _facts_at_nodes(self) -> dict[str, Mapping[NodeRow, int]]:
        """Return the facts that live at nodes, by relation."""
        places = self.book.program.places
        names = [name for name, place in places.items() if not place.auxiliary and place.location is not None]
        return {name: rows for name in names if (rows := self._stamps_of(name))}

    def _database_of(self, facts: Mapping[str, Iterable[NodeRow]]) -> Database:
        """Return a database with the program and these facts."""
        from tidelog.database.database import Database

        db = Database(functors=self._functions())
        db.numbered = 0
        db.workspace.known_since = lambda name: self._since.get(name, 0)
        db.load(self._program())
        for name, rows in facts.items():
            db.insert(name, sorted(shown_rows(rows, name, self.book.program), key=repr))
        db.commit()
        return db

    def _program(self) -> Program:
        """Return the rules of the network, and the facts that every node has for itself. Rules that have travelled have
        no place in a text."""
        places, changed = self.book.program.places, self.book.changes
        program = self.book.parsed_program
        kept = (rule for rule in program.rules if rule.body or places[rule.heads[0].relation].location is None)
        return replace(
            program, rules=tuple(replace(each, span=None) if each.name in changed else each for each in kept)
        )

    def why_not(self, relation: str, values: Iterable[Any], *, depth: int = 3) -> Absence:
        """Return why a relation does not have a tuple, by the facts of all nodes: see `Database.why_not`, and
        `database`."""
        return self.database().why_not(relation, values, depth=depth)

    def ways_to_remove(self, relation: str, values: Iterable[Any], *, rules: bool = False) -> Enumeration[Removal]:
        """Return the smallest sets of facts, or of rules, without which the network would come to rest without a tuple:
        see `Database.ways_to_remove`, and `database`."""
        return self.database().ways_to_remove(relation, values, rules=rules)

    def ways_to_derive(self, relation: str, values: Iterable[Any]) -> Enumeration[Facts]:
        """Return the smallest sets of facts with which the network would come to rest with a tuple: see
        `Database.ways_to_derive`, and `database`."""
        return self.database().ways_to_derive(relation, values)

    def what_if(self) -> Transaction[Change]:
        """Return a block whose changes are tried on a copy of the network, see `database`: its `change` is what the
        views of all nodes would lose and get."""
        return self.database().what_if()

    def blame(self, relation: str, values: Iterable[Any]) -> NetworkBlame:
        """Return since which change a tuple holds, by the facts of all nodes and the rules that are there now, and
        which of them came in that change: see `Database.blame`, and `database`. The nodes show the tuple when they have
        come to rest after it.

        A call of `insert`, or of `add` or `remove` of `rules` is one change. A simulation counts them, see `changes`;
        processes note the time. Raise UsageError (E0670) if the network comes to rest without the tuple.
        """
        from tidelog.network.proofs import network_blame, with_stamps

        facts = self._facts_at_nodes()
        found = with_stamps(self._database_of(facts), facts, self.book.program).blame(relation, values)
        return network_blame(found, self.book, self._moment)


class NodeVerbs(EarlierNames):
    """The verbs of explanations that one node cannot answer: each raises UsageError (E0677) with the reason."""

    _earlier_names = OF_NETWORKS

    def why_not(self, relation: str, values: Iterable[Any], *, depth: int = 3) -> NoReturn:
        """Raise UsageError (E0677): the tuples that a rule misses may be those of other nodes."""
        raise _lonely("why_not")

    def ways_to_remove(self, relation: str, values: Iterable[Any], *, rules: bool = False) -> NoReturn:
        """Raise UsageError (E0677): other nodes may have other derivations."""
        raise _lonely("ways_to_remove")

    def ways_to_derive(self, relation: str, values: Iterable[Any]) -> NoReturn:
        """Raise UsageError (E0677): the tuples that a rule misses may be those of other nodes."""
        raise _lonely("ways_to_derive")

    def what_if(self) -> NoReturn:
        """Raise UsageError (E0677): other nodes would have to try the change as well."""
        raise _lonely("what_if")

    def blame(self, relation: str, values: Iterable[Any]) -> NoReturn:
        """Raise UsageError (E0677): the tuple may hold for longer by facts of other nodes."""
        raise _lonely("blame")


def _lonely(verb: str) -> UsageError:
    message = f"`{verb}` needs the facts of all nodes, and a node has only its own"
    hint = f"ask the `Simulation` or `LocalNetwork`, or `{verb}` of a database with the facts of all nodes"
    return UsageError(Problem("E0677", message, hint=hint))
