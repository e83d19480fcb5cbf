"""The conversation with one other node: it may lose, repeat and reorder packets, and still both sides end up agreed.

Each offer is the whole state of one tuple, so only the newest one counts. There is at most one unacknowledged offer per
tuple: a later state waits for the acknowledgement, and then only the newest is sent. The receiver remembers the number
of the last offer of each tuple, as a tombstone if that withdrew it. It forgets the number when the sender says that
everything below it is acknowledged and can never come again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.network.limits import weigh
from tidelog.network.messages import Noted, Offer, RuleChange, Support
from tidelog.network.program import LocatedTuple


@dataclass(frozen=True)
class Said:
    """The last state sent of a tuple."""

    height: int
    support: Support


@dataclass
class Peer:
    """The state of a conversation: `incarnation` is that of the other node, and `greeting` says that it may not know
    ours.

    `said`, `out` and `held` are about messages to the other node: the state last sent of each tuple, the offers that
    wait for an acknowledgement, by number in `numbers`, and tuples with a newer state to send after that. `floor` and
    `graves` are about messages from it; `weight` estimates the bytes of these, graves included.
    """

    incarnation: int = 0
    greeting: bool = False
    count: int = 0
    said: dict[LocatedTuple, Said] = field(default_factory=dict)
    out: dict[LocatedTuple, Offer] = field(default_factory=dict)
    numbers: dict[int, LocatedTuple] = field(default_factory=dict)
    held: dict[LocatedTuple, None] = field(default_factory=dict)
    withdrawn: bool = False
    floor: int = 0
    graves: dict[LocatedTuple, int] = field(default_factory=dict)
    weight: int = 0
    changes: dict[str, RuleChange] = field(default_factory=dict)

    @property
    def quiet(self) -> bool:
        """Return True if the other node has acknowledged everything."""
        return not (self.out or self.held or self.changes or self.greeting)

    # --- what we say -------------------------------------------------------------------------------------------------

    @property
    def low(self) -> int:
        """Return the smallest number that is not acknowledged; the next one if there is none."""
        return next(iter(self.numbers), self.count + 1)

    def say(self, fact: LocatedTuple, said: Said | None, dead: Support = frozenset()) -> Offer:
        """Return the offer that gives the other node the state of a tuple."""
        self.count += 1
        self.numbers[self.count] = fact
        if said is None:
            del self.said[fact]
            self.withdrawn = True
            offer = Offer(self.count, self.low, fact, None, dead=dead)
        else:
            self.said[fact] = said
            offer = Offer(self.count, self.low, fact, said.height, said.support, dead)
        self.out[fact] = offer
        return offer

    def acknowledged(self, seq: int) -> LocatedTuple | None:
        """Note an acknowledgement; return the tuple of its offer if there is a newer state to send."""
        fact = self.numbers.pop(seq, None)
        if fact is None:
            return None
        del self.out[fact]
        return fact if self.held.pop(fact, 0) is None else None

    def supersede(self, fact: LocatedTuple) -> None:
        """Stop waiting for the acknowledgement of an offer, because a newer one follows."""
        offer = self.out.pop(fact, None)
        if offer is not None:
            del self.numbers[offer.seq]
        self.held.pop(fact, None)

    def again(self) -> list[Offer]:
        """Return the offers that wait for an acknowledgement."""
        return [Offer(o.seq, self.low, o.fact, o.height, o.support, o.dead) for o in self.out.values()]

    def noted(self, message: Noted) -> None:
        """Note that the other node knows a change of a rule."""
        change = self.changes.get(message.name)
        if change is not None and (change.version, change.author) <= (message.version, message.author):
            del self.changes[message.name]

    # --- what we hear ------------------------------------------------------------------------------------------------

    def raise_floor(self, low: int) -> None:
        """Forget tombstones below `low`: below it, only offers already seen can still come."""
        if low > self.floor:
            self.floor = low
            for fact in [fact for fact, seq in self.graves.items() if seq < low]:
                self.weight -= self.graves_weight(fact)
                del self.graves[fact]

    def is_news(self, offer: Offer, known: int) -> bool:
        """Return True if an offer is newer than the one numbered `known` (0: none) and than the tombstone."""
        return offer.seq >= self.floor and offer.seq > max(known, self.graves.get(offer.fact, 0))

    def graves_weight(self, fact: LocatedTuple) -> int:
        """Return an estimate of the bytes of a tuple's tombstone; 0 if there is none."""
        return weigh(fact[1]) if fact in self.graves else 0

    def bury(self, offer: Offer) -> None:
        """Remember that an offer withdrew its tuple."""
        self.graves[offer.fact] = offer.seq
