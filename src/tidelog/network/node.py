"""`Node`: one node of a located program, with its transport and optionally a store that survives a crash.

The node does nothing by itself: `turn` takes the messages that have come and sends those that follow, `run` repeats
that for a while.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import NoneType
from typing import TYPE_CHECKING, Any

from tidelog.database.transaction import Earlier, NamedRules, no_earlier
from tidelog.errors import LimitError, Problem, TidelogError, UsageError, flag, quote, whole, wrong_argument
from tidelog.functions.callables import FunctorSource, GivenFunctions
from tidelog.limits.watch import WithinMemory
from tidelog.network.choices import BASE, Options
from tidelog.network.functors import NodeFunctors
from tidelog.network.gathering import NodeVerbs
from tidelog.network.inquiry import Inquiry, reasons
from tidelog.network.journal import Journal
from tidelog.network.limits import (
    MOST_INCARNATIONS,
    MOST_QUESTIONS,
    Limits,
    Meter,
    checked_name,
    checked_names,
    checked_seconds,
)
from tidelog.network.messages import Base, Because, Clock, Message, Met, WallClock, Why
from tidelog.network.node_state import Letter, NodeState
from tidelog.network.peer import Peer
from tidelog.network.program import LocatedTuple
from tidelog.network.rulebook import program_text
from tidelog.network.values import fact_of, facts_of, require_relation, shown_rows
from tidelog.network.wire import Packet, RefusedError, Transport, decode, packets
from tidelog.workspace.objects import Uncopied

if TYPE_CHECKING:
    from tidelog.explain.proof import Proof

PATIENCE = 0.25
"""Seconds without an acknowledgement after which an offer is sent again; doubled while nothing is heard."""

LONGEST_PATIENCE = 5.0

MOST_MESSAGES = 1_000
"""Questions to other nodes for one proof."""

_WITHIN_MEMORY = WithinMemory("nothing has changed; take fewer rows at a time, or a machine with more memory")


class Node(NodeVerbs, Uncopied):
    """A node called `name` of the located `program` (text, or a path), or of a `NodeState` that the caller has made.

    `peers` are nodes known from the beginning. The node meets others by their messages, and when it has something to
    say to them. With `known_only`, it rejects packets of nodes that are not among `peers`. `store` is a folder that
    keeps the state; if it has one already, the node goes on from there. A node that comes back without its state has a
    greater `incarnation` than ever before, so that others forget its offers and repeat their own. Without `batch` every
    message is a packet of its own. `limits` bound what others make the node keep and do, and say who may change which
    rules; None keeps those of the store, or takes the default. `functors` are functions for the functors of rules, most
    often the names of modules; the node calls no others, whatever rules travel.

    Raises ProgramError for a wrong program, UsageError (E0624) for a wrong name or incarnation.
    """

    def __init__(
        self,
        name: str,
        program: str | os.PathLike[str] | NodeState,
        transport: Transport,
        *,
        peers: Iterable[str] = (),
        known_only: bool = False,
        store: str | os.PathLike[str] | None = None,
        sticky: bool = False,
        roots: bool = True,
        incarnation: int = 0,
        batch: bool = True,
        limits: Limits | None = None,
        functors: FunctorSource = (),
    ) -> None:
        if type(incarnation) is not int or not 0 <= incarnation <= MOST_INCARNATIONS:
            message = f"the incarnation must be a number from 0 to {MOST_INCARNATIONS}, found {quote(incarnation)}"
            raise UsageError(Problem("E0624", message, hint="add one when a node has lost its store"))
        self.name = checked_name(name)
        if not isinstance(transport, Transport):
            raise wrong_argument("a transport", "an object of a subclass of tidelog.network.Transport", transport)
        if not isinstance(limits, (Limits, NoneType)):
            raise wrong_argument("`limits`", "an object of tidelog.network.Limits", limits)
        if not isinstance(store, (str, os.PathLike, NoneType)) or store == "":
            raise wrong_argument("`store`", "the path of a folder", store)
        for option, value in {"known_only": known_only, "sticky": sticky, "roots": roots, "batch": batch}.items():
            flag(option, value)
        peers = checked_names(peers, "`peers`")
        self._journal = Journal(store) if store is not None else None
        made = program if isinstance(program, NodeState) else None
        text = program.book.text if isinstance(program, NodeState) else program_text(program)
        own = NodeFunctors(GivenFunctions.of(functors))
        try:
            stored = self._journal.open(name, text, own.given) if self._journal is not None else None
            options, stamp = Options(sticky, roots, limits or Limits()), WallClock()() if incarnation else 0
            self.state = (
                stored or made or NodeState(name, text, options, incarnation=incarnation, functors=own, stamp=stamp)
            )
        except TidelogError:
            if self._journal is not None:
                self._journal.close()
            raise
        self.clock: Clock = WallClock(self.state.last_stamp)
        """Of the changes that the node's own user makes."""
        self.transport = transport
        self.messages: Counter[str] = Counter()
        self.bytes = 0
        self.inquiry: Inquiry | None = None
        self._inquiries = 0
        self._batch = batch
        self._tries: Counter[str] = Counter()
        self._known = frozenset(peers) if known_only else None
        self._waited = 0.0
        self._patience = PATIENCE
        for peer in peers:
            if peer != name:
                self.state.meet(peer)
        changed = limits is not None and limits != self.state.options.limits
        if changed and limits is not None:
            self.state.limit(limits)
        if stored is not None and (own.known != stored.functors.known or stored.problems):
            stored.renew()
            changed = True
        if self._journal is not None and (stored is None or changed):
            self._journal.begin(self.state)  # an old journal replays under the old limits, with the old functions

    # --- changes -----------------------------------------------------------------------------------------------------

    @_WITHIN_MEMORY
    def insert(self, relation: str, rows: Iterable[Any], *, stamp: int | None = None) -> None:
        """Assert facts that live here. Raise UsageError or DataError, or LimitError (E0503) if memory runs out, and
        then change nothing. `stamp` is for networks, which give their own, see `tidelog.network.messages`."""
        self.change_rows(relation, rows, True, None if stamp is None else whole("stamp", stamp))

    @_WITHIN_MEMORY
    def delete(self, relation: str, rows: Iterable[Any]) -> None:
        """Retract facts that live here. Raise as `insert`."""
        self.change_rows(relation, rows, False, None)

    @property
    @_WITHIN_MEMORY
    def rules(self) -> NamedRules:
        """Return the rules in force by name, with `add`, `replace` and `remove`, which spread to all nodes.

        `add` and `replace` raise ProgramError and UsageError, LimitError (E0507) if a rule is too large, or takes more
        than the limits of this node allow, UsageError if a functor has no result; the node then takes them back."""
        return NamedRules(self)

    def _named_rules(self) -> Mapping[str, object]:
        return self.state.book.named_rules()

    @_WITHIN_MEMORY
    def _add_rules(self, text: str, replace: Earlier) -> None:
        changes = self.state.book.additions(text, self.name, replaces=no_earlier(replace))
        undoing = self.state.book.invert_changes(changes)
        self.tell(changes)
        held = [change.name for change in changes if self.state.book.held.get(change.name) is change]
        if held:
            reason = self.state.book.reasons.get(held[0])
            self.tell(undoing)
            if reason is not None:
                raise UsageError(reason)
            message = f"rule `{held[0]}` exceeds the limits of steps or rows at node {self.name}"
            raise LimitError(Problem("E0507", message, hint="ground more variables, or raise `limits` at all nodes"))

    @_WITHIN_MEMORY
    def _remove_rules(self, *names: str) -> None:
        self.tell(self.state.book.removals(names, self.name))

    def tell(self, messages: Iterable[Message]) -> None:
        """Give the node messages of its own user."""
        self._step([(self.name, message) for message in messages])

    @_WITHIN_MEMORY
    def change_rows(self, relation: str, rows: Iterable[Any], present: bool, stamp: int | None) -> list[Base]:
        """Assert or retract facts that live here, in a change with this stamp or one of the clock; return the messages
        that undo it. Raise as `insert`."""
        facts = facts_of(relation, rows, self.state.book.program)
        for fact in facts:
            owner = self.state.owner(fact)
            if owner != self.name:
                message = f"{relation}{fact[1]!r} lives at node {owner}, not at {self.name}"
                raise UsageError(Problem("E0622", message, hint="insert and delete a fact at the node where it lives"))
        return self.change(facts, present, self.clock() if stamp is None else stamp)

    def change(self, facts: Sequence[LocatedTuple], present: bool, stamp: int) -> list[Base]:
        """Assert or retract facts as they are stored, in a change with this stamp; return the messages that undo it.
        Raise as `insert`."""
        before = set(self.state.problems)
        stamps = {fact: given.seq for fact in facts if (given := self.state.offers.get(fact, {}).get(BASE))}
        new = [fact for fact in facts if (fact in stamps) != present]
        undoing = [Base(fact, not present, stamps.get(fact, 0)) for fact in new]
        self.tell(Base(fact, present, stamp if present else 0) for fact in facts)
        failed = [problem for key, problem in self.state.problems.items() if key not in before]
        if failed:  # at these facts or at what follows from them
            self.tell(undoing)
            raise UsageError(failed[0])
        excluded = [fact for fact in facts if fact in self.state.excluded] if present else []
        if excluded:
            self.tell(undoing)
            relation, row = excluded[0]
            message = f"a rule derives a tuple from {relation}{row!r:.60} that is too large to send to other nodes"
            raise LimitError(Problem("E0507", message, hint="bound the lengths of texts and lists in the rules"))
        return undoing

    # --- reading -----------------------------------------------------------------------------------------------------

    @_WITHIN_MEMORY
    def __getitem__(self, relation: str) -> set[tuple[Any, ...]]:
        """Return the tuples of a relation that live here, as far as this node knows by now. Raise LimitError (E0503) if
        memory does not suffice."""
        program = self.state.book.program
        return shown_rows(self.state.view(require_relation(relation, program)), relation, program)

    @_WITHIN_MEMORY
    def asserted(self, relation: str) -> set[tuple[Any, ...]]:
        """Return the asserted facts of a relation at this node. Raise UsageError (E0601) for an unknown name."""
        program = self.state.book.program
        return shown_rows(self.state.asserted_facts(require_relation(relation, program)), relation, program)

    @property
    def quiet(self) -> bool:
        """Return True if other nodes have heard everything that this node has to say."""
        return self.state.quiet

    @property
    def rejected(self) -> Counter[str]:
        """Return the numbers of rejected packets and messages, by reason."""
        return self.state.rejected

    @_WITHIN_MEMORY
    def explain(
        self, relation: str, values: Iterable[Any], *, seconds: float = 10.0, messages: int = MOST_MESSAGES
    ) -> Proof:
        """Return a proof of a tuple of any node, for which this node asks others for at most `seconds`, in at most so
        many `messages`. Where no answer comes, the proof is open, and names the node. Other nodes need not wait.

        Raise UsageError if the tuple does not hold at its node (E0670), or there is no such relation (E0601), DataError
        if the values do not fit.
        """
        return self.proof_of(self.inquire(relation, values, seconds, messages))

    def inquire(self, relation: str, values: Iterable[Any], seconds: float, messages: int = MOST_MESSAGES) -> Inquiry:
        """Ask why a tuple holds, for at most `seconds`, and return the inquiry with the answers. Raise as `explain`."""
        end = time.monotonic() + checked_seconds(seconds)
        patience = PATIENCE
        inquiry = self.begin_inquiry(relation, values, messages)
        try:
            while not inquiry.complete and (left := end - time.monotonic()) > 0:
                if not self.run(min(left, patience), lambda: inquiry.complete):
                    patience = min(LONGEST_PATIENCE, 2 * patience)
                    self.pursue(again=True)
        finally:
            self.inquiry = None
        return inquiry

    def begin_inquiry(self, relation: str, values: Iterable[Any], messages: int = MOST_MESSAGES) -> Inquiry:
        """Begin to ask why a tuple holds, and return the inquiry, which takes the answers that come from now on. Raise
        as `explain`."""
        if type(messages) is not int or messages < 1:
            raise wrong_argument("`messages`", "a number of questions, 1 or more", messages)
        program = self.state.book.program
        fact = fact_of(relation, values, program)
        owner, room = program.owner(fact) or self.name, self.state.options.limits.memory
        self._inquiries += 1
        self.inquiry = Inquiry(self._inquiries, self.state.book, owner, fact, messages=messages, room=room)
        self.pursue()
        return self.inquiry

    def pursue(self, *, again: bool = False) -> None:
        """Send the questions of the inquiry that come next, and answer those to this node; `again` repeats those that
        have no answer."""
        inquiry = self.inquiry
        while inquiry is not None and (questions := inquiry.questions(self.name, again=again)):
            self._send(each for each in questions if each[0] != self.name)
            for why in (why for name, why in questions if name == self.name):
                meter = Meter(self.state.options.limits.steps)
                inquiry.take(self.name, Because(why.number, reasons(self.state, why.facts, meter)))
            again = False

    def proof_of(self, inquiry: Inquiry) -> Proof:
        """Return the proof that the answers to an inquiry show. Raise UsageError (E0670)."""
        from tidelog.network.proofs import proof_of

        return proof_of(inquiry, self.state.functors.given)

    # --- work --------------------------------------------------------------------------------------------------------

    @_WITHIN_MEMORY
    def turn(self, timeout: float = 0.0) -> bool:
        """Take the packets that have come, and send those that follow; return True if any came.

        Wait at most `timeout` seconds for the first. Raise LimitError (E0503) if memory runs out; peers then repeat the
        lost packets.
        """
        received = self.transport.receive(checked_seconds(timeout))
        letters: list[Letter] = []
        about_reasons: list[tuple[str, Why | Because]] = []
        for proven, data in received:
            try:
                packet = self._admit(proven, data)
            except RefusedError as refused:
                self.state.rejected[refused.args[0]] += 1
                continue
            self._tries.pop(packet.sender, None)
            if self._is_first(packet):
                self._step([*letters, (packet.sender, Met(packet.incarnation, packet.known))])
                letters = []
            if packet.known == self.state.incarnation:
                for message in packet.messages:
                    if isinstance(message, (Why, Because)):
                        about_reasons.append((packet.sender, message))
                    else:
                        letters.append((packet.sender, message))
        if letters:
            self._step(letters)
        self._exchange_reasons(about_reasons)
        if received:
            self._patience = PATIENCE
        return bool(received)

    def _exchange_reasons(self, letters: Iterable[tuple[str, Why | Because]]) -> None:
        """Answer questions for reasons, and take answers. Neither is a step of the state machine."""
        asked: Counter[str] = Counter()
        meters: dict[str, Meter] = {}
        answers: list[Letter] = []
        for sender, message in letters:
            if isinstance(message, Because):
                if self.inquiry is not None:
                    self.inquiry.take(sender, message)
                continue
            asked[sender] += 1
            if asked[sender] > MOST_QUESTIONS:
                self.state.rejected["too many questions"] += 1
                continue
            meter = meters.setdefault(sender, Meter(self.state.options.limits.steps))
            answers.append((sender, Because(message.number, reasons(self.state, message.facts, meter))))
        self._send(answers)
        self.pursue()

    def _admit(self, proven: str | None, data: bytes) -> Packet:
        """Return a packet that may count. Raise RefusedError."""
        packet = decode(data, receiver=self.name, fingerprint=self.state.book.fingerprint)
        if proven is not None and proven != packet.sender:
            raise RefusedError("forged sender")
        if packet.sender == self.name or (self._known is not None and packet.sender not in self._known):
            raise RefusedError("unknown node")
        if not self.state.can_meet(packet.sender):
            raise RefusedError("too many nodes")
        if packet.incarnation < self._peer(packet.sender).incarnation:
            raise RefusedError("former incarnation")
        return packet

    def _is_first(self, packet: Packet) -> bool:
        """Return True if a packet says anything about incarnations, its sender's or this node's."""
        peer = self._peer(packet.sender)
        return peer.greeting or (packet.incarnation, packet.known) != (peer.incarnation, self.state.incarnation)

    def _peer(self, name: str) -> Peer:
        return self.state.peers.get(name) or Peer()

    def resend(self, *, everyone: bool = True) -> None:
        """Repeat everything that is not acknowledged; unless to `everyone`, less often to nodes that do not answer."""
        to_all = flag("everyone", everyone)
        letters = self._perform("resend", (), self.state.resend)
        if not letters:
            return
        self._tries.update({receiver for receiver, _ in letters})
        self._send(letter for letter in letters if to_all or _is_due(self._tries[letter[0]]))

    def introduce(self, name: str) -> None:
        """Send a new node the changes of rules."""
        self._send(self.state.brief(checked_name(name)))

    def ask(self) -> None:
        """Ask all nodes whether they are quiet."""
        self._send(self._perform("ask", (), self.state.ask))

    def run(self, seconds: float | None = None, until: Callable[[], bool] | None = None) -> bool:
        """Take turns for `seconds` (None: for ever), or until a condition holds; return True if it held."""
        if not (until is None or callable(until)):
            raise wrong_argument("`until`", "a function without arguments", until)
        end = None if seconds is None else time.monotonic() + checked_seconds(seconds)
        while until is None or not until():
            now = time.monotonic()
            if end is not None and now >= end:
                return False
            if not self.turn(min(0.05, self._patience)):
                self._waited += max(0.0, time.monotonic() - now)
            if self._waited >= self._patience:
                self._waited = 0.0
                self._patience = min(LONGEST_PATIENCE, 2 * self._patience)
                self.resend(everyone=False)
        return True

    def network_quiet(self, seconds: float = 10.0) -> bool:
        """Ask until the whole network is quiet, for at most `seconds`; return True if it was. Other nodes need
        not wait."""
        end = time.monotonic() + checked_seconds(seconds)
        while (left := end - time.monotonic()) > 0:
            self.ask()
            if not self.run(left, lambda: self.state.survey.complete):
                return False
            if self.state.network_quiet:
                return True
            self.run(min(left, 0.01))
        return False

    def close(self) -> None:
        """Close the transport and the store, which keeps the state."""
        self.transport.close()
        if self._journal is not None:
            self._journal.close()

    def __enter__(self) -> Node:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _step(self, letters: list[Letter]) -> None:
        """Take a step of the state machine, and store it before anything of it is sent. Messages that memory does not
        suffice to send count as lost, and are repeated."""
        replies = self._perform("step", letters, lambda: self.state.step(letters))
        with suppress(MemoryError):
            self._send(replies)

    def _perform(self, kind: str, letters: Sequence[Letter], do: Callable[[], list[Letter]]) -> list[Letter]:
        """Return the messages of a step, after the store has the step.

        Raise UsageError if the store belongs to another process (E0627, E0628); then nothing has happened. If memory
        runs out in the middle (LimitError, E0503), or the store cannot be written (UsageError, E0623), close the node;
        the step has not happened for the store.
        """
        if self._journal is not None:
            self._journal.check()
        try:
            replies = do()
            if self._journal is not None and (replies or kind != "resend"):
                self._keep(kind, letters)
        except MemoryError:
            self.close()
            message = f"node {self.name} ran out of memory in the middle of a step, and is closed"
            hint = "open it again from its store, on a machine with more memory"
            raise LimitError(Problem("E0503", message, hint=hint)) from None
        return replies

    def _keep(self, kind: str, letters: Sequence[Letter]) -> None:
        assert self._journal is not None
        try:
            self._journal.append(self.state, kind, letters)
        except UsageError:
            self.close()
            raise

    def _send(self, letters: Iterable[Letter]) -> None:
        parcels: dict[tuple[str, int], list[Message]] = {}
        for number, (receiver, message) in enumerate(letters):
            parcels.setdefault((receiver, 0 if self._batch else number), []).append(message)
            self.messages[type(message).__name__] += 1
        for (receiver, _), messages in parcels.items():
            incarnations = self.state.incarnation, self._peer(receiver).incarnation
            packet = Packet(self.name, receiver, self.state.book.fingerprint, tuple(messages), *incarnations)
            for data in packets(packet):
                self.bytes += len(data)
                self.transport.send(receiver, data)


def _is_due(tries: int) -> bool:
    """Return True if it is time to try again after so many attempts: at the first, second and fourth time, then at
    every eighth."""
    return tries in (1, 2, 4) or tries % 8 == 0
