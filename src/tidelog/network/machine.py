"""A node of a located program, as a state machine without I/O: `step` takes messages and returns messages.

For each tuple that it owns, a node keeps the newest offer of every sender and chooses one: a height and the set of
tuples that the derivation rests on. A derivation that rests on its own head is never offered, so that no tuple ever
holds itself up, in whatever order messages come. See `docs/explanation/network.md` for why this ends, and in what.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from tidelog.network.derivations import Derivations, Instance
from tidelog.network.joins import Tuples
from tidelog.network.messages import (
    Ack,
    Ask,
    Base,
    Change,
    Floor,
    Heard,
    Message,
    Noted,
    Offer,
    Support,
    Tell,
)
from tidelog.network.peer import Peer, Said
from tidelog.network.program import Fact
from tidelog.network.rulebook import Rulebook
from tidelog.network.survey import Survey
from tidelog.network.values import fits

Letter: TypeAlias = tuple[str, Message]
"""A message with the node that it comes from, or goes to."""

BASE = "\0"
"""The sender of a base fact; a node of this name is refused."""

ROOT = "#root"
"""Stands for the relation in the members of a support that are base facts, each with the number of its assertion."""


class Given(NamedTuple):
    """An offer as it is kept: `seq` is 0 for what the node says to itself."""

    height: int
    support: Support
    seq: int


class Chosen(NamedTuple):
    height: int
    support: Support
    source: str


@dataclass(frozen=True)
class Options:
    """`sticky`: keep a derivation while it is valid, even when a shorter one appears; insertions then cost less.
    `roots`: name the base facts in the sets, and the dead ones in withdrawals; deletions then cost less where rules
    are not linear, at the price of longer sets."""

    sticky: bool = False
    roots: bool = False


class Machine:
    """A node called `name`, at the beginning: with the facts of the program that live there. A `blank` one has none
    and is to be restored. Raises ProgramError where the program is wrong."""

    conversation = Peer

    def __init__(self, name: str, text: str, options: Options | None = None, *, blank: bool = False) -> None:
        self.name = name
        self.options = options or Options()
        self.book = Rulebook(text)
        self.tuples = Tuples()
        self.peers: dict[str, Peer] = {}
        self.offers: dict[Fact, dict[str, Given]] = {}
        self.chosen: dict[Fact, Chosen] = {}
        self.last: dict[Fact, Instance] = {}
        self.births: dict[Fact, int] = {}
        self.dead: set[Fact] = set()
        self.rejected: Counter[str] = Counter()
        self.activity = 0
        self.survey = Survey()
        self.locations: dict[str, int | None] = {}
        self._learn_locations()
        self._dirty: dict[Fact, None] = {}
        self._foreign: dict[Fact, None] = {}
        self._derivations = Derivations(name, self.book.program, self.tuples)
        for fact in self.book.program.facts if not blank else ():
            if self.owner(fact) == name:
                self._base(fact, True)
        self._settle()

    # --- what a user sees --------------------------------------------------------------------------------------------

    @property
    def quiet(self) -> bool:
        """Whether everything that this node has to say was heard. Its answers may still change while others are not."""
        return all(peer.quiet for peer in self.peers.values())

    def view(self, relation: str) -> list[tuple[Any, ...]]:
        """The tuples of a relation that live here."""
        return self.tuples.rows(relation)

    def owner(self, fact: Fact) -> str:
        """Where a tuple lives; here, if every node has the relation for itself. What is said about relations of rules
        that are gone has to be taken back, so that their locations are remembered."""
        location = self.locations.get(fact[0])
        return self.name if location is None or location >= len(fact[1]) else str(fact[1][location])

    def meet(self, name: str) -> None:
        """Know of another node from now on."""
        self._peer(name)

    # --- steps -------------------------------------------------------------------------------------------------------

    def step(self, letters: Iterable[Letter]) -> list[Letter]:
        """Take messages, each with its sender, and return the messages that this makes necessary, each with its
        receiver. The state has to be kept safe before these are sent: an acknowledgement is a promise."""
        replies: list[Letter] = []
        for sender, message in letters:
            replies += self._take(sender, message)
        self._settle()
        return replies + self._announce()

    def resend(self) -> list[Letter]:
        """What to say when nothing was heard for a while: everything that is not acknowledged."""
        letters: list[Letter] = [(name, question) for name, question in self.survey.unanswered()]
        self._foreign.update({fact: None for peer in self.peers.values() for fact in peer.held})
        letters += self._announce(impatient=True)
        for name, peer in self.peers.items():
            letters += [(name, offer) for offer in peer.again()]
            letters += [(name, change) for change in peer.changes.values()]
            if peer.withdrawn and not peer.out:
                letters.append((name, Floor(peer.low)))
        return letters

    def ask(self) -> list[Letter]:
        """Ask all nodes whether they are quiet; `network_quiet` is then what two rounds of answers say."""
        return [(name, question) for name, question in self.survey.begin(self.peers, self.name, self._tell(0))]

    def _tell(self, number: int) -> Tell:
        return Tell(number, self.quiet, self.activity, tuple(self.peers))

    @property
    def network_quiet(self) -> bool:
        """Whether no message was on its way and nothing left to do anywhere, at some moment between the last two
        rounds of `ask`."""
        return self.survey.quiet

    def _take(self, sender: str, message: Message) -> list[Letter]:
        match message:
            case Offer():
                return self._offer(sender, message)
            case Ack(seq):
                fact = self._peer(sender).acknowledged(seq)
                if fact is not None:
                    self._foreign[fact] = None
            case Floor(low):
                self._peer(sender).raise_floor(low)
                return [(sender, Heard(low))]
            case Heard(low):
                peer = self._peer(sender)
                peer.withdrawn = peer.withdrawn and peer.count >= low
            case Change():
                return self._change(sender, message)
            case Noted():
                known = self._peer(sender).changes.get(message.name)
                if known is not None and (known.version, known.author) <= (message.version, message.author):
                    del self._peer(sender).changes[message.name]
            case Ask(number):
                return [(sender, self._tell(number))]
            case Tell():
                return list(self.survey.answer(sender, message))
            case Base(fact, present):
                self._base(fact, present)
        return []

    def _peer(self, name: str) -> Peer:
        return self.peers.setdefault(name, self.conversation())

    # --- what comes in -----------------------------------------------------------------------------------------------

    def _offer(self, sender: str, offer: Offer) -> list[Letter]:
        """Keep the newest offer of a sender; acknowledge whatever has arrived, news or not."""
        problem = fits(offer.fact, self.book.program)
        if problem is None and self.owner(offer.fact) != self.name:
            problem = "not ours"
        if problem is not None:  # without acknowledgement: a rule on its way may make it right
            self.rejected[problem] += 1
            return [(sender, Ack(offer.seq))] if offer.height is None else []
        peer = self._peer(sender)
        self._bury(offer.dead)
        peer.raise_floor(offer.low)
        known = self.offers.get(offer.fact, {}).get(sender)
        if peer.is_news(offer, known.seq if known else 0):
            self.activity += 1
            if offer.height is None:
                peer.bury(offer)
                self._give(offer.fact, sender, None)
            else:
                peer.graves.pop(offer.fact, None)
                self._give(offer.fact, sender, Given(offer.height, offer.support, offer.seq))
        else:
            self.rejected["heard before"] += 1
        return [(sender, Ack(offer.seq))]

    def _give(self, fact: Fact, sender: str, given: Given | None) -> None:
        offers = self.offers.setdefault(fact, {})
        if given is not None:
            offers[sender] = given
        else:
            offers.pop(sender, None)
        if not offers:
            del self.offers[fact]
        self._dirty[fact] = None

    def _base(self, fact: Fact, present: bool) -> None:
        """A fact is asserted or retracted here; asserting a present one changes nothing."""
        if (BASE in self.offers.get(fact, {})) == present:
            return
        self.activity += 1
        if not present:
            self._bury(frozenset([self._root(fact)]))
            self._give(fact, BASE, None)
            return
        if self.options.roots:
            self.births[fact] = self.births.get(fact, 0) + 1
        self._give(fact, BASE, Given(0, frozenset([self._root(fact)]) if self.options.roots else frozenset(), 0))

    def _root(self, fact: Fact) -> Fact:
        return (ROOT, (*fact, self.births.get(fact, 0)))

    def _bury(self, roots: Support) -> None:
        """These assertions are over: every offer that rests on one of them is ignored from now on."""
        new = roots - self.dead if self.options.roots else frozenset()
        if new:
            self.dead |= new
            for fact, offers in self.offers.items():
                if any(not new.isdisjoint(given.support) for given in offers.values()):
                    self._dirty[fact] = None

    def _change(self, sender: str, change: Change) -> list[Letter]:
        """Take over a newer rule and pass it on; nodes may switch at different times."""
        replies: list[Letter] = (
            [] if sender == self.name else [(sender, Noted(change.name, change.version, change.author))]
        )
        if not self.book.is_news(change):
            return replies
        self.activity += 1
        self.book.take(change)
        self._learn_locations()
        self._derivations.switch(self.book.program)
        for name, peer in self.peers.items():
            if name != sender:
                peer.changes[change.name] = change
                replies.append((name, change))
        return replies

    def _learn_locations(self) -> None:
        self.locations.update({name: place.location for name, place in self.book.program.places.items()})

    def brief(self, name: str) -> list[Letter]:
        """Tell a node that has just come all changes of rules."""
        self._peer(name).changes.update(self.book.changes)
        return [(name, change) for change in self.book.changes.values()]

    # --- choosing ----------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Choose until nothing changes here any more."""
        derivations = self._derivations
        while True:
            while self._dirty:
                self._reconsider(next(iter(self._dirty)))
            if derivations.settle_groups():
                continue
            touched, derivations.touched = derivations.touched, {}
            if not touched:
                return
            for head in touched:
                if self.owner(head) != self.name:
                    self._foreign[head] = None
                    continue
                best = self._best(head)
                own = Given(best.height, best.support, 0) if best else None
                if own != self.offers.get(head, {}).get(self.name):
                    self._give(head, self.name, own)

    def _reconsider(self, fact: Fact) -> None:
        """Choose again among the offers of a tuple, and let what follows from it know."""
        del self._dirty[fact]
        best, old = self._choice(fact), self.chosen.get(fact)
        if best == old:
            return
        if best is None:
            del self.chosen[fact]
            self.tuples.remove(fact)
            self._derivations.disappear(fact)
            return
        self.chosen[fact] = best
        if old is None:
            self.tuples.add(fact)
            self._derivations.appear(fact)
        elif best[:2] != old[:2]:
            for head in self._derivations.users(fact):
                if self.options.roots or self._together(fact, head):
                    self._derivations.touched[head] = None

    def _choice(self, fact: Fact) -> Chosen | None:
        """The least height, ties by the name of the sender and never by what came first."""
        current = self.chosen.get(fact)
        best = None
        for sender, given in self.offers.get(fact, {}).items():
            if self.dead and not self.dead.isdisjoint(given.support):
                continue
            stays = self.options.sticky and current is not None and sender == current.source
            rank = (not stays, given.height, sender)
            if best is None or rank < best[0]:
                best = rank, Chosen(given.height, given.support, sender)
        return best[1] if best else None

    def _best(self, head: Fact) -> Said | None:
        """The best derivation of a tuple here: the least height, ties by the rule and its body. Those that rest on the
        tuple itself do not take part."""
        ranked = []
        for instance in self._derivations.of(head):
            if any(fact in self.chosen for fact in instance.absent):
                continue
            height, support = self._value(head, instance)
            if head not in support:
                stays = self.options.sticky and instance == self.last.get(head)
                ranked.append((not stays, height, instance, support))
        if not ranked:
            self.last.pop(head, None)
            return None
        least = min(rank[:2] for rank in ranked)
        candidates = [rank for rank in ranked if rank[:2] == least]
        best = candidates[0] if len(candidates) == 1 else min(candidates, key=lambda rank: repr(rank[2]))
        if self.options.sticky:
            self.last[head] = best[2]
        return Said(best[1], best[3])

    def _value(self, head: Fact, instance: Instance) -> tuple[int, Support]:
        """The height of a derivation, and the tuples of the head's own component that it rests on. What lies below
        settles by itself, and counts as if it were a base fact."""
        height, support = 0, set[Fact]()
        for fact in instance.body:
            chosen = self.chosen[fact]
            if self.options.roots:
                support.update([member for member in chosen.support if member[0] == ROOT])
            if self._together(fact, head):
                height = max(height, chosen.height)
                support |= chosen.support
                support.add(fact)
        return height + 1, frozenset(support)

    def _together(self, fact: Fact, head: Fact) -> bool:
        """Whether two tuples may depend on each other."""
        component = self.book.program.component
        own = component.get(head[0])
        return own is not None and component.get(fact[0]) == own

    # --- what goes out -----------------------------------------------------------------------------------------------

    def _announce(self, *, impatient: bool = False) -> list[Letter]:
        """Offers for the tuples of other nodes whose height or support is not what was last said. They wait for the
        acknowledgement of what was; an `impatient` node says at once that it is no longer so."""
        letters: list[Letter] = []
        foreign, self._foreign = self._foreign, {}
        for head in foreign:
            name = self.owner(head)
            peer = self._peer(name)
            best, old = self._best(head), peer.said.get(head)
            if not self._differs(best, old):
                peer.held.pop(head, None)
            elif head in peer.out and not impatient:
                peer.held[head] = None
            else:
                peer.supersede(head)
                self.activity += 1
                dead = frozenset(self.dead & old.support) if old and self.options.roots else frozenset[Fact]()
                letters.append((name, peer.say(head, best, dead)))
        return letters

    def _differs(self, best: Said | None, old: Said | None) -> bool:
        """Whether there is something new to say."""
        return best != old

    # --- state -------------------------------------------------------------------------------------------------------

    def restore(self, sources: Mapping[Fact, str], last: Mapping[Fact, tuple[Any, ...]]) -> None:
        """After offers, rules, peers and the like were filled in: build what follows from them again. `sources` says
        which offer of each tuple was chosen, `last` which derivation was."""
        self._learn_locations()
        for fact, source in sources.items():
            given = self.offers[fact][source]
            self.chosen[fact] = Chosen(given.height, given.support, source)
            self.tuples.add(fact)
        self.last = {head: Instance(*parts) for head, parts in last.items()}
        self._derivations = Derivations(self.name, self.book.program, self.tuples)
        self._settle()
