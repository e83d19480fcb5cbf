"""The conversation with one other node: it may lose, repeat and reorder packets, and still both sides end up agreed.

Each offer is the whole state of one tuple, so only the newest one counts. There is at most one unacknowledged offer per
tuple: a later state waits for the acknowledgement, and then only the newest is sent. The receiver remembers the number
of the last offer of each tuple, as a tombstone if that withdrew it. It forgets the number when the sender says that
everything below it is acknowledged and can never come again.

`Survey` asks whether the whole network is quiet. Any node can ask, all answer, and nobody is in charge. A node is quiet
when all its messages are acknowledged, and a node acknowledges only after it has applied the message. So if all nodes
are quiet at one moment, nothing will ever happen again. Nobody can ask all at one moment. But if two rounds of answers
both say quiet, and no node's count of activity has moved between them, then all were quiet at every moment between the
end of the first round and the beginning of the second.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

from tidelog.network.limits import weigh
from tidelog.network.messages import Ask, Noted, Offer, RuleChange, Support, Tell
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

    def acknowledge(self, seq: int) -> LocatedTuple | None:
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

    def waiting_offers(self) -> list[Offer]:
        return [Offer(o.seq, self.low, o.fact, o.height, o.support, o.dead) for o in self.out.values()]

    def note_change(self, message: Noted) -> None:
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

    def note_withdrawal(self, offer: Offer) -> None:
        self.graves[offer.fact] = offer.seq


Question = tuple[str, Ask]

# --- is the whole network quiet? -------------------------------------------------------------------------------------


class Survey:
    """The rounds of questions of one node. `number` must never go back, or old answers would count."""

    def __init__(self) -> None:
        self.number = 0
        self._answers: dict[str, Tell | None] = {}
        self._before: dict[str, Tell | None] = {}

    def begin(self, peers: Iterable[str], own: str, tell: Tell) -> list[Question]:
        """Begin a new round, to be compared with the last one; `tell` is the answer of the node itself."""
        self._before = self._answers if self.complete else {}
        self.number += 1
        self._answers = {**dict.fromkeys(peers), own: tell}
        return self.open_questions()

    def open_questions(self) -> list[Question]:
        """Return the questions without an answer."""
        return [(name, Ask(self.number)) for name, answer in self._answers.items() if answer is None]

    def answer(self, sender: str, tell: Tell, most: int) -> list[Question]:
        """Note an answer; also ask nodes that only the other one knows, while there are at most `most`."""
        if tell.number != self.number or sender not in self._answers:
            return []
        self._answers[sender] = tell
        room = max(0, most - len(self._answers))
        new = dict.fromkeys(islice((name for name in tell.peers if name not in self._answers), room))
        self._answers.update(new)
        return [(name, Ask(self.number)) for name in new]

    @property
    def complete(self) -> bool:
        """Return True if every node has answered."""
        return None not in self._answers.values()

    @property
    def quiet(self) -> bool:
        """Return True if the last two rounds show a quiet network."""
        if not self._answers or not self.complete or self._answers.keys() != self._before.keys():
            return False
        pairs = [(self._before[name], answer) for name, answer in self._answers.items()]
        return all(a and b and a.quiet and b.quiet and a.activity == b.activity for a, b in pairs)
