"""`Simulation`: a whole network of nodes in one process, with every misfortune that a network can have.

It is for trying protocols out and for testing them. Everything depends on the seed alone, so a failed run repeats to
the byte. A node comes into being when a tuple names it.
"""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Callable, Iterable, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any

from tidelog.database.ruleset import Earlier, no_earlier
from tidelog.errors import Problem, TidelogError, UsageError, flag, quote, wrong_argument
from tidelog.functions.callables import FunctorSource, GivenFunctions
from tidelog.language.syntax import CheckedProgram
from tidelog.network.choices import Options
from tidelog.network.functors import NodeFunctors
from tidelog.network.gathering import NetworkVerbs
from tidelog.network.limits import checked_name
from tidelog.network.machine import NodeState
from tidelog.network.messages import Base, RuleChange
from tidelog.network.node import Node
from tidelog.network.program import NodeRow
from tidelog.network.rulebook import program_text
from tidelog.network.snapshot import dump, load
from tidelog.network.transport import SimulatedNetwork
from tidelog.network.values import declared, fact_of, facts_of, shown_rows

if TYPE_CHECKING:
    from tidelog.explain.proof import Proof

RETRIES = 0.01
"""How often, per packet, some node says again what is not acknowledged while others are still busy."""

BUSY = 500
"""Packets on their way above which nobody says anything again, or the repetitions breed faster than they arrive: a
real node is patient as long as it hears something."""

RESTARTS = 0.01
"""How often, per packet, some node stops and starts again from its store."""

TRIES, MOST_TRIES = 20, 1_000
"""How often a node asks another one for reasons that does not answer."""


class Simulation(NetworkVerbs):
    """A network of nodes that run `program` (text or a path). Raises ProgramError for a wrong program.

    `loss` and `duplicates` are the probabilities that a packet is lost or comes again. `schedule` gives the order of
    packets (see `SimulatedNetwork`). With `restarts`, nodes stop and start again from time to time. `functors` are
    the functions that rules may call at all nodes, or a function that gives those of a node by its name.
    """

    def __init__(
        self,
        program: str | os.PathLike[str],
        seed: int = 0,
        *,
        loss: float = 0.0,
        duplicates: float = 0.0,
        restarts: bool = False,
        schedule: str = "random",
        sticky: bool = False,
        roots: bool = True,
        machine: type[NodeState] = NodeState,
        functors: FunctorSource | Callable[[str], FunctorSource] = (),
    ) -> None:
        given: object = machine
        if not (isinstance(given, type) and issubclass(given, NodeState)):
            raise wrong_argument("`machine`", "a class of states of nodes", machine)
        super().__init__(program_text(program))
        self._functors = functors
        self.changes = 0
        """The number of changes of facts and rules so far."""
        self.network = SimulatedNetwork(seed, loss=loss, duplicates=duplicates, schedule=schedule)
        self.nodes: dict[str, Node] = {}
        self._seed = seed
        self._random = random.Random(f"simulation {seed}")
        self._restarts = flag("restarts", restarts)
        self._options = Options(flag("sticky", sticky), flag("roots", roots))
        self._machine = machine
        for owner in map(self.book.program.owner, self.book.program.facts):
            if owner is not None:
                self.node(owner)

    # --- changes -----------------------------------------------------------------------------------------------------

    def insert(self, relation: str, rows: Iterable[Any]) -> None:
        """Assert facts, each at its own node."""
        self._base(relation, rows, True)

    def delete(self, relation: str, rows: Iterable[Any]) -> None:
        """Retract facts."""
        self._base(relation, rows, False)

    def _add_rules(self, text: str, replace: Earlier) -> None:
        self._change(self.book.additions(text, "simulation", replaces=no_earlier(replace)))

    def _remove_rules(self, *names: str) -> None:
        self._change(self.book.removals(names, "simulation"))

    def cut(self, *parts: Iterable[str]) -> None:
        """Cut the network: no packet gets from one part to another, nor to nodes in no part, until `heal`."""
        self.network.cut(*parts)

    def heal(self) -> None:
        """End a cut."""
        self.network.heal()

    def restart(self, name: str) -> None:
        """Stop a node and start it again with its stored state; packets on their way to it may be lost."""
        node = self.node(name)
        node.machine = load(dump(node.machine), self._machine, self._given(name))

    def lose(self, name: str) -> None:
        """Stop a node whose store is lost, and start it again in its next incarnation: the facts that were asserted
        there are lost, and changes of rules that no other node has got. Those of the program come again, as a change of
        the network."""
        node = self.node(name)
        incarnation = node.machine.incarnation + 1
        node.machine = self._made(name, incarnation, self._next_change())
        for other in self.nodes:
            if other != name:
                node.machine.meet(other)

    # --- running -----------------------------------------------------------------------------------------------------

    def run(self, steps: int | None = None) -> None:
        """Let so many packets arrive or be lost; with None, all until nothing is left to do. While the network is cut,
        packets that cannot get through do not count."""
        if not isinstance(steps, (int, NoneType)):
            raise wrong_argument("`steps`", "a number of packets, or None", steps)
        left = steps
        while left is None or left > 0:
            if self.network.empty:
                for node in list(self.nodes.values()):
                    node.resend()
                if self.network.empty:
                    return
            self._deliver()
            left = None if left is None else left - 1

    @property
    def quiet(self) -> bool:
        """Return True if nothing is on its way and nothing left to do."""
        return self.network.empty and all(node.quiet for node in self.nodes.values())

    def _deliver(self) -> None:
        name = self.network.deliver()
        if name is not None:
            self.node(name).turn()
        if self.network.loss and self.network.on_the_way < BUSY and self._random.random() < RETRIES:
            self._some().resend()
        if self._restarts and self._random.random() < RESTARTS:
            self.restart(self._some().name)

    # --- reading -----------------------------------------------------------------------------------------------------

    def __getitem__(self, relation: str) -> set[tuple[Any, ...]]:
        """Return the tuples of a relation at all nodes together, as far as they know by now."""
        declared(relation, self.book.program)
        rows = (row for node in self.nodes.values() for row in node.machine.view(relation))
        return shown_rows(rows, relation, self.book.program)

    def local(self, name: str) -> set[tuple[Any, ...]]:
        """Return the same as `network[name]`, with which a proof is checked."""
        return self[name]

    def explain(self, relation: str, values: Iterable[Any], *, at: str | None = None, tries: int = TRIES) -> Proof:
        """Return a proof of a tuple, for which the node `at`, else that of the tuple, asks the others. Packets arrive
        meanwhile. The node repeats a question without an answer so many times whenever nothing is on its way; then the
        proof is open there, and names the node.

        Raise UsageError if the tuple does not hold at its node (E0670), if there is no such relation (E0601) or node
        (E0624), DataError if the values do not fit.
        """
        if type(tries) is not int or not 1 <= tries <= MOST_TRIES:
            raise wrong_argument("`tries`", f"a number from 1 to {MOST_TRIES:,}", tries)
        program = self.book.program
        owner = program.owner(fact_of(relation, values, program)) or next(iter(self.nodes), "")
        name = owner if at is None else at
        if not isinstance(name, str) or name not in self.nodes:
            hint = f"use one of {', '.join(self.nodes)}" if self.nodes else "insert a fact first"
            raise UsageError(Problem("E0624", f"{quote(name)} is not a node of this network", hint=hint))
        node, was_quiet = self.nodes[name], self.quiet
        inquiry = node.begin_inquiry(relation, values)
        left, known = tries, -1
        while not inquiry.complete and left:
            left, known = (tries if len(inquiry.reasons) > known else left - 1), len(inquiry.reasons)
            while not inquiry.complete and not self.network.empty:
                self._deliver()
            node.pursue(again=True)
        node.inquiry = None
        while was_quiet and not self.network.empty:
            self._deliver()
        return node.proof_of(inquiry)

    @property
    def program(self) -> CheckedProgram:
        """Return the program with all changes of rules."""
        return self.book.checked

    @property
    def messages(self) -> int:
        """Return the number of packets sent, one message in each; lost and repeated ones count."""
        return self.network.packets

    @property
    def bytes(self) -> int:
        """Return the total size of the packets in bytes."""
        return self.network.bytes

    @property
    def trace(self) -> str:
        """Return a digest of every packet that arrived, in order."""
        return self.network.trace.hexdigest()

    def node(self, name: str) -> Node:
        """Return the node of this name, a new one for a new name. Raise UsageError (E0624) for a wrong name."""
        if checked_name(name) not in self.nodes:
            machine = self._made(name)
            new = Node(name, machine, self.network.transport(name), batch=False)
            new.clock = self._next_change
            others = list(self.nodes.values())
            for node in others:
                node.machine.meet(name)
                new.machine.meet(node.name)
            self.nodes[name] = new
            if others and self.book.changes:
                self._random.choice(others).introduce(name)
            elif self.book.changes:
                new.tell(self.book.changes.values())
        return self.nodes[name]

    def _made(self, name: str, incarnation: int = 0, stamp: int = 0) -> NodeState:
        """Return a node at the beginning, with the facts of the program in a change with this stamp. Its secret depends
        on the seed, as everything does."""
        secret = hashlib.sha256(f"{self._seed} {incarnation} {name}".encode()).digest()
        functors = NodeFunctors(self._given(name))
        return self._machine(
            name,
            self.book.text,
            self._options,
            incarnation=incarnation,
            secret=secret,
            functors=functors,
            stamp=stamp,
        )

    def _given(self, name: str) -> GivenFunctions:
        source = self._functors
        return GivenFunctions.of(source(name) if callable(source) else source)

    def _functions(self) -> FunctorSource:
        source = self._functors
        return source(next(iter(self.nodes), "")) if callable(source) else source

    def _stamped(self, relation: str) -> dict[NodeRow, int]:
        machines = (node.machine for node in self.nodes.values())
        return {row: stamp for machine in machines for row, stamp in machine.asserted(relation).items()}

    def _moment(self, stamp: int) -> int:
        return stamp

    def _next_change(self) -> int:
        self.changes += 1
        return self.changes

    def _some(self) -> Node:
        return self._random.choice(list(self.nodes.values()))

    def _base(self, relation: str, rows: Iterable[Any], present: bool) -> None:
        program = self.book.program
        facts, stamp = facts_of(relation, rows, program), self._next_change()
        undoing: list[tuple[Node, list[Base]]] = []
        try:
            for fact in facts:
                node = self.node(str(program.owner(fact)))
                undoing.append((node, node.change([fact], present, stamp)))
        except TidelogError:
            for node, messages in reversed(undoing):
                node.tell(messages)
            raise

    def _change(self, changes: Sequence[RuleChange]) -> None:
        self._take(changes, self._next_change())
        if self.nodes:
            self._some().tell(changes)
