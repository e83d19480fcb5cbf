"""`Simulation`: a whole network of nodes in one process, with every misfortune that a network can have.

It is for trying protocols out and for testing them. Everything depends on the seed alone, so a failed run repeats to
the byte. A node comes into being when a tuple names it. `SimulatedTransport` carries packets within the process with
every kind of misfortune, in an order that a seed decides.
"""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Callable, Iterable, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any

from tidelog.database.transaction import Earlier, no_earlier
from tidelog.errors import TidelogError, flag, wrong_argument
from tidelog.functions.callables import FunctorSource, GivenFunctions
from tidelog.network.choices import Options
from tidelog.network.functors import NodeFunctors
from tidelog.network.gathering import NetworkVerbs
from tidelog.network.journal import dump, load
from tidelog.network.limits import checked_name, checked_names
from tidelog.network.messages import Base, RuleChange
from tidelog.network.node import Node
from tidelog.network.node_state import NodeState
from tidelog.network.program import NodeRow
from tidelog.network.rulebook import program_text
from tidelog.network.values import fact_of, facts_of, require_relation, shown_rows
from tidelog.network.wire import Transport

if TYPE_CHECKING:
    from tidelog.explain.proof import Proof

SCHEDULES = ("random", "lifo", "burst", "starve", "fifo")

_MOST_PASSES = 20
"""How often a packet of a slow node is passed over for another one."""


class SimulatedNetwork:
    """Packets on their way between the transports that `transport` hands out. Their fate depends on `seed` alone.

    `loss` and `duplicates` are probabilities. `schedule` says which packet comes next: any ("random"), mostly the
    newest ("lifo"), mostly one of the newest ("burst"), any but mostly not those of one slow node ("starve"), or the
    oldest ("fifo").
    """

    def __init__(self, seed: int, *, loss: float = 0.0, duplicates: float = 0.0, schedule: str = "random") -> None:
        """Raise UsageError (E0635) for a wrong argument."""
        given: object = schedule
        if not isinstance(given, str) or given not in SCHEDULES:
            raise wrong_argument("`schedule`", f"one of {', '.join(SCHEDULES)}", schedule)
        for name, value in {"loss": loss, "duplicates": duplicates}.items():
            if not isinstance(value, (int, float)) or not 0 <= value <= 1:
                raise wrong_argument(f"`{name}`", "a probability from 0 to 1", value)
        if not isinstance(seed, int) or seed.bit_length() > 64:
            raise wrong_argument("`seed`", "an integer of at most 64 bits", seed)
        self.random = random.Random(seed)
        self.loss, self.duplicates, self.schedule = loss, duplicates, schedule
        self.packets = 0
        self.bytes = 0
        self.trace = hashlib.sha256()
        """Of everything delivered, in order: two runs are the same run when these are the same."""
        self._flight: list[tuple[str, str, bytes]] = []
        self._inboxes: dict[str, list[tuple[str | None, bytes]]] = {}
        self._parts: tuple[frozenset[str], ...] = ()
        self._slow: str | None = None

    def transport(self, name: str) -> SimulatedTransport:
        """Return the end of a node. Raise UsageError (E0624) if it cannot have this name."""
        self._inboxes.setdefault(checked_name(name), [])
        return SimulatedTransport(self, name)

    @property
    def empty(self) -> bool:
        return not self._flight

    @property
    def on_the_way(self) -> int:
        """Return the number of packets on their way."""
        return len(self._flight)

    def cut(self, *parts: Iterable[str]) -> None:
        """Cut the network: no packet gets from one part to another, nor to nodes in no part, until `heal`. Raise
        UsageError (E0624, E0635) for parts that are no lists of names."""
        self._parts = tuple(frozenset(checked_names(part, "a part of the network")) for part in parts)

    def heal(self) -> None:
        """End a cut."""
        self._parts = ()

    def post(self, sender: str, receiver: str, data: bytes) -> None:
        """Put a packet on its way."""
        self.packets += 1
        self.bytes += len(data)
        if not self._is_cut(sender, receiver):
            self._flight.append((sender, receiver, data))

    def deliver(self) -> str | None:
        """Let one packet arrive, or be lost; return the node that gets it, if one does."""
        if not self._flight:
            return None
        index = self._next()
        sender, receiver, data = self._flight[index]
        if self.schedule == "fifo":
            del self._flight[index]
        else:
            self._flight[index] = self._flight[-1]
            self._flight.pop()
        if self.random.random() < self.loss or self._is_cut(sender, receiver):
            return None
        if self.random.random() < self.duplicates:
            self._flight.append((sender, receiver, data))
        self.trace.update(data)
        self._inboxes.setdefault(receiver, []).append((sender, data))
        return receiver

    def take(self, name: str) -> list[tuple[str | None, bytes]]:
        """Empty the inbox of a node."""
        found, self._inboxes[name] = self._inboxes[name], []
        return found

    def _is_cut(self, sender: str, receiver: str) -> bool:
        if not self._parts:
            return False
        return not any(sender in part and receiver in part for part in self._parts)

    def _next(self) -> int:
        last, chance = len(self._flight) - 1, self.random.random()
        match self.schedule:
            case "fifo":
                return 0
            case "lifo" if chance < 0.9:
                return last
            case "burst" if chance < 0.95:
                return max(0, last - int(self.random.expovariate(0.3)))
            case "starve":
                if self._slow is None:
                    self._slow = self.random.choice(sorted(self._inboxes))
                for _ in range(_MOST_PASSES):
                    index = self.random.randrange(last + 1)
                    if self._slow not in self._flight[index][:2]:
                        return index
        return self.random.randrange(last + 1)


class SimulatedTransport(Transport):
    """A node's end of a `SimulatedNetwork`."""

    def __init__(self, network: SimulatedNetwork, name: str) -> None:
        self._network = network
        self._name = name

    def send(self, receiver: str, data: bytes) -> None:
        self._network.post(self._name, receiver, data)

    def receive(self, timeout: float = 0.0) -> list[tuple[str | None, bytes]]:
        """Return the delivered packets; never wait."""
        return self._network.take(self._name)

    def close(self) -> None:
        self._network.take(self._name)


# --- the whole network -----------------------------------------------------------------------------------------------

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
        node.state = load(dump(node.state), self._machine, self._functions_of(name))

    def lose(self, name: str) -> None:
        """Stop a node whose store is lost, and start it again in its next incarnation: the facts that were asserted
        there are lost, and changes of rules that no other node has got. Those of the program come again, as a change of
        the network."""
        node = self.node(name)
        incarnation = node.state.incarnation + 1
        node.state = self._new_state(name, incarnation, self._next_change())
        for other in self.nodes:
            if other != name:
                node.state.meet(other)

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
            self._random_node().resend()
        if self._restarts and self._random.random() < RESTARTS:
            self.restart(self._random_node().name)

    # --- reading -----------------------------------------------------------------------------------------------------

    def __getitem__(self, relation: str) -> set[tuple[Any, ...]]:
        """Return the tuples of a relation at all nodes together, as far as they know by now."""
        require_relation(relation, self.book.program)
        rows = (row for node in self.nodes.values() for row in node.state.view(relation))
        return shown_rows(rows, relation, self.book.program)

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
        name = self._known_node(owner if at is None else at, self.nodes)
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
            state = self._new_state(name)
            new = Node(name, state, self.network.transport(name), batch=False)
            new.clock = self._next_change
            others = list(self.nodes.values())
            for node in others:
                node.state.meet(name)
                new.state.meet(node.name)
            self.nodes[name] = new
            if others and self.book.changes:
                self._random.choice(others).introduce(name)
            elif self.book.changes:
                new.tell(self.book.changes.values())
        return self.nodes[name]

    def _new_state(self, name: str, incarnation: int = 0, stamp: int = 0) -> NodeState:
        """Return a node at the beginning, with the facts of the program in a change with this stamp. Its secret depends
        on the seed, as everything does."""
        secret = hashlib.sha256(f"{self._seed} {incarnation} {name}".encode()).digest()
        functors = NodeFunctors(self._functions_of(name))
        return self._machine(
            name,
            self.book.text,
            self._options,
            incarnation=incarnation,
            secret=secret,
            functors=functors,
            stamp=stamp,
        )

    def _functions_of(self, name: str) -> GivenFunctions:
        source = self._functors
        return GivenFunctions.of(source(name) if callable(source) else source)

    def _functions(self) -> FunctorSource:
        source = self._functors
        return source(next(iter(self.nodes), "")) if callable(source) else source

    def _stamps_of(self, relation: str) -> dict[NodeRow, int]:
        states = (node.state for node in self.nodes.values())
        return {row: stamp for state in states for row, stamp in state.asserted_facts(relation).items()}

    def _moment(self, stamp: int) -> int:
        return stamp

    def _next_change(self) -> int:
        self.changes += 1
        return self.changes

    def _random_node(self) -> Node:
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
            self._random_node().tell(changes)
