"""A node of a located program, as a state machine without I/O: `step` takes messages and returns messages.

`Choices` has the consequences of the offers heard. This module handles the messages: the effect of each incoming one,
and those to send. `docs/explanation/network.md` explains why such nodes come to rest, and with which views.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import TypeAlias

from tidelog.errors import LimitError, Problem, UsageError
from tidelog.functions.callables import GivenFunctions
from tidelog.network.choices import BASE, Choices, Given, Options
from tidelog.network.functors import FunctorCall, NodeFunctors, Results
from tidelog.network.limits import VERSION_STEP, checked_name, is_name, is_sendable, weigh
from tidelog.network.messages import Ack, Ask, Base, Floor, Heard, Hello, Message, Met, Noted, Offer, RuleChange, Tell
from tidelog.network.peer import Peer, Said, Survey
from tidelog.network.program import LocatedTuple
from tidelog.network.values import fits

Letter: TypeAlias = tuple[str, Message]
"""A message with the node that it comes from, or goes to."""

LIFETIME = 2**40
"""So many numbers are there for each incarnation, to count what must never be confused with what was before."""


class NodeState(Choices):
    """A node called `name` at the beginning, with the facts of the program that live there.

    A `blank` one has no facts and is to be restored. A node that begins again without its state has a greater
    `incarnation` than ever before, and a `stamp` with which the facts of the program come again. `secret` is for
    `Grounds`, at most 64 bytes that others cannot guess; None makes one. `functors` are the functions that rules may
    call. Raises ProgramError for a wrong program, LimitError (E0507) if one of its facts is too large, UsageError for a
    bad name (E0624), or a fact for which a functor has no result.
    """

    conversation = Peer

    def __init__(
        self,
        name: str,
        text: str,
        options: Options | None = None,
        *,
        blank: bool = False,
        incarnation: int = 0,
        secret: bytes | None = None,
        functors: NodeFunctors | None = None,
        stamp: int = 0,
    ) -> None:
        secret = os.urandom(16) if secret is None else secret
        functors = functors or NodeFunctors(GivenFunctions())
        super().__init__(checked_name(name), text, options or Options(), secret, incarnation * LIFETIME, functors)
        self.incarnation = incarnation
        self.peers: dict[str, Peer] = {}
        self.activity = incarnation * LIFETIME
        self.survey = Survey()
        for fact in self.book.program.facts if not blank else ():
            if self.owner(fact) == name:
                if not is_sendable(fact[1]):
                    message = f"a fact of {fact[0]} in the program is too large to send to other nodes"
                    raise LimitError(Problem("E0507", message, hint="nest records less deeply, or shorten the texts"))
                self._base(fact, True, stamp)
        self._choose_all()
        for problem in self.problems.values():
            raise UsageError(problem)

    # --- what a user sees --------------------------------------------------------------------------------------------

    @property
    def quiet(self) -> bool:
        """Return True if other nodes have heard everything that this node has to say. Its views may still change while
        others are not quiet."""
        return all(peer.quiet for peer in self.peers.values())

    def meet(self, name: str) -> None:
        """Add another node to those known."""
        self._peer(name)

    def weigh_peers(self) -> None:
        """Compute the memory that each peer's messages take, after offers and conversations were filled in."""
        for peer in self.peers.values():
            peer.weight = sum(map(peer.graves_weight, peer.graves))
        for fact, offers in self.offers.items():
            for sender, given in offers.items():
                if sender in self.peers:
                    self.peers[sender].weight += _weight(fact, given)

    def can_meet(self, name: str) -> bool:
        """Return True if another node of this name is known, or may become known."""
        return name in self.peers or (is_name(name) and len(self.peers) < self.options.limits.peers)

    # --- steps -------------------------------------------------------------------------------------------------------

    def step(self, letters: Iterable[Letter], results: Mapping[FunctorCall, Results] | None = None) -> list[Letter]:
        """Take messages, each with its sender, and return the messages that follow, each with its receiver. `results`
        are those of functors, for a step that is repeated.

        Store the state before you send these: an acknowledgement is a promise.
        """
        self._derivations.begin()
        self.functors.recall(results or {})
        replies: list[Letter] = []
        for sender, message in letters:
            replies += self._take(sender, message)
        self._choose_all()
        return replies + self._announce()

    def resend(self) -> list[Letter]:
        """Return the messages to send after a silence: everything that is not acknowledged."""
        letters: list[Letter] = [(name, question) for name, question in self.survey.open_questions()]
        self._foreign.update({fact: None for peer in self.peers.values() for fact in peer.held})
        letters += self._announce(impatient=True)
        for name, peer in self.peers.items():
            letters += [(name, offer) for offer in peer.waiting_offers()]
            letters += [(name, change) for change in peer.changes.values()]
            if peer.greeting:
                letters.append((name, Hello()))
            if peer.withdrawn and not peer.out:
                letters.append((name, Floor(peer.low)))
        return letters

    def ask(self) -> list[Letter]:
        """Ask all nodes whether they are quiet; `network_quiet` is then the result of two rounds of answers."""
        return [(name, question) for name, question in self.survey.begin(self.peers, self.name, self._tell(0))]

    def _tell(self, number: int) -> Tell:
        return Tell(number, self.quiet, self.activity, tuple(self.peers))

    @property
    def network_quiet(self) -> bool:
        """Return True if, at some moment between the last two rounds of `ask`, no message was on its way and nothing
        was left to do anywhere."""
        return self.survey.quiet

    def _take(self, sender: str, message: Message) -> list[Letter]:
        match message:
            case Offer():
                return self._offer(sender, message)
            case Ack(seq):
                fact = self._peer(sender).acknowledge(seq)
                if fact is not None:
                    self._foreign[fact] = None
            case Floor(low):
                self._peer(sender).raise_floor(low)
                return [(sender, Heard(low))]
            case Heard(low):
                peer = self._peer(sender)
                peer.withdrawn = peer.withdrawn and peer.count >= low
            case RuleChange():
                return self._change(sender, message)
            case Noted():
                self._peer(sender).note_change(message)
            case Hello():
                return [(sender, Heard(0))]
            case Met(incarnation, known):
                return self._greet_incarnation(sender, incarnation, known)
            case Ask(number):
                return [(sender, self._tell(number))]
            case Tell():
                return list(self.survey.answer(sender, message, self.options.limits.peers))
            case Base(fact, present, stamp):
                self._base(fact, present, stamp)
        return []

    def _peer(self, name: str) -> Peer:
        if name not in self.peers:
            self.peers[name] = self.conversation(greeting=self.incarnation > 0)
        return self.peers[name]

    # --- what comes in -----------------------------------------------------------------------------------------------

    def _offer(self, sender: str, offer: Offer) -> list[Letter]:
        """Keep the newest offer of a sender; acknowledge every offer that has arrived, news or not."""
        problem = self._problem(offer)
        if problem is not None:  # without acknowledgement: a rule on its way may make it right
            self.rejected[problem] += 1
            return [(sender, Ack(offer.seq))] if offer.height is None else []
        peer = self._peer(sender)
        self.grounds.mark_ended(offer.dead)
        peer.raise_floor(offer.low)
        known = self.offers.get(offer.fact, {}).get(sender)
        if peer.is_news(offer, known.seq if known else 0):
            given = None if offer.height is None else Given(offer.height, offer.support, offer.seq)
            more = _weight(offer.fact, given) - peer.graves_weight(offer.fact)
            more -= _weight(offer.fact, known) if known else 0
            if more > 0 and peer.weight + more > self.options.limits.memory:
                self.rejected["too many tuples"] += 1  # without acknowledgement: others may go, and make room
                return []
            peer.weight += more
            self.activity += 1
            if given is None:
                peer.note_withdrawal(offer)
            else:
                peer.graves.pop(offer.fact, None)
            self._give(offer.fact, sender, given)
        else:
            self.rejected["heard before"] += 1
        return [(sender, Ack(offer.seq))]

    def _problem(self, offer: Offer) -> str | None:
        """Return the reason why an offer cannot count, None if it can. A peer may withdraw a tuple of a removed
        relation."""
        program = self.book.program
        if offer.height is not None and offer.fact[0] not in program.offered_relations:
            return "nobody derives it elsewhere" if offer.fact[0] in program.places else "unknown relation"
        return fits(offer.fact, program) or (None if self.owner(offer.fact) == self.name else "not ours")

    def _base(self, fact: LocatedTuple, present: bool, stamp: int) -> None:
        """Assert or retract a fact here; asserting a present one changes nothing, its stamp included."""
        if (BASE in self.offers.get(fact, {})) == present:
            return
        self.activity += 1
        if present:
            self._give(fact, BASE, Given(0, self.grounds.of_fact(), stamp))
        else:
            self.grounds.end(self.offers[fact][BASE].support)
            self._give(fact, BASE, None)

    def _change(self, sender: str, change: RuleChange) -> list[Letter]:
        """Apply a newer rule and pass it on; nodes may switch at different times. The sender of a change knows it; if
        this node has sent the same one, the change serves as the answer."""
        replies: list[Letter] = []
        if sender != self.name:
            noted = Noted(change.name, change.version, change.author)
            if self._peer(sender).changes.get(change.name) != change:
                replies.append((sender, noted))
            self._peer(sender).note_change(noted)
        if not self.book.is_news(change):
            return replies
        problem = self._objection(sender, change) if sender != self.name else None
        if problem is not None:
            self.rejected[problem] += 1
            return replies
        self.activity += 1
        self._switch(change)
        for name, peer in self.peers.items():
            if name != sender:
                peer.changes[change.name] = change
                replies.append((name, change))
        return replies

    def _objection(self, sender: str, change: RuleChange) -> str | None:
        """Return the reason why this node rejects a change of a rule from this sender, None if it takes it."""
        limits = self.options.limits
        if (limits.senders is not None and sender not in limits.senders) or (
            limits.names is not None and change.name not in limits.names
        ):
            return "rule not allowed"
        if change.name not in self.book.changes and len(self.book.changes) >= limits.rules:
            return "too many rules"
        return "version too far" if change.version > self.book.version + VERSION_STEP else None

    def _greet_incarnation(self, sender: str, incarnation: int, known: int) -> list[Letter]:
        """Begin anew with a node that has begun anew: forget its offers, and send everything again. If it takes this
        node for an earlier incarnation, correct it."""
        peer, replies = self._peer(sender), list[Letter]()
        if incarnation > peer.incarnation:
            self.activity += 1
            for fact in [fact for fact, offers in self.offers.items() if sender in offers]:
                self._give(fact, sender, None)
            peer = self.peers[sender] = self.conversation(incarnation=incarnation, greeting=peer.greeting)
            replies += self.brief(sender)
            self._foreign.update({head: None for head in self._derivations.heads() if self.owner(head) == sender})
        if known == self.incarnation:
            peer.greeting = False
        else:
            replies.append((sender, Hello()))
        return replies

    def brief(self, name: str) -> list[Letter]:
        """Send a new node all changes of rules."""
        self._peer(name).changes.update(self.book.changes)
        return [(name, change) for change in self.book.changes.values()]

    # --- what goes out -----------------------------------------------------------------------------------------------

    def _announce(self, *, impatient: bool = False) -> list[Letter]:
        """Offer the tuples of other nodes whose height or support differs from the last offer. Offers wait for the
        acknowledgement of the last; an `impatient` node withdraws at once."""
        letters: list[Letter] = []
        foreign, self._foreign = self._foreign, {}
        for head in foreign:
            name = self.owner(head)
            if not self.can_meet(name):
                self.rejected["no such node"] += 1
                continue
            peer = self._peer(name)
            best, old = self._best(head), peer.said.get(head)
            if not self._differs(best, old):
                peer.held.pop(head, None)
            elif head in peer.out and not impatient:
                peer.held[head] = None
            else:
                peer.supersede(head)
                self.activity += 1
                letters.append((name, peer.say(head, best, self.grounds.dead_in(old.support) if old else frozenset())))
        return letters

    def _spoken_of(self) -> Iterable[LocatedTuple]:
        said = (chain(peer.said, peer.out, peer.held) for peer in self.peers.values())
        return chain(super()._spoken_of(), chain.from_iterable(said))

    def _differs(self, best: Said | None, old: Said | None) -> bool:
        """Return True if there is something new to say."""
        return best != old


def _weight(fact: LocatedTuple, given: Given | None) -> int:
    """Return an estimate of the memory for a peer's offer of a tuple, in bytes."""
    members = given.support if given is not None else ()
    return weigh(fact[1]) + sum(weigh(row) + 32 for _, row in members)
