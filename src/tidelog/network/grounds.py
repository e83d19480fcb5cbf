"""What derivations rest on beside the tuples of their own component, so that all of them end at once when it is gone.

Tuples that rest on a link that was cut hold each other up for a while: each node that loses one way tries the next, and
the ways get longer until no set of tuples is free of the head. That ends, but after many messages. So the sets also
have members that say why they hold, and whoever hears that one of those is over ignores every offer that rests on it:

root    stands for an asserted fact, or for the presence or absence of a tuple of a component below, until that changes;
        the node where that is so gives it a number, and never gives the same number again
rule    stands for a rule, until the node itself hears that it is gone

A node must not end what rests on the roots of others. So a root carries the digest of a text that its node alone knows,
and whoever says that it is over has to show that text, which its node gives away when it is. Anybody may pass it on.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from tidelog.network.messages import Support
from tidelog.network.program import LocatedTuple

ROOT = "#root"
"""In place of a relation's name: the node and the number of a root follow, and a digest; in the proof that it is over,
the text of that digest."""

RULE = "#rule"
"""In place of a relation's name: the key of a rule follows."""


class Grounds:
    """The grounds that node `name` gives, and those that it knows to be over; none unless they are `kept`.

    `secret` is what the node proves with that its roots are over. `count` is the last number that was given, `standing`
    the root of each tuple that has one, `dead` are roots that are over, each with the proof, and `retired` such rules.
    What is over is forgotten after a while: that costs messages, and nothing else.
    """

    most_dead = 2**14
    """So many dead roots are remembered."""

    def __init__(self, name: str, *, kept: bool, secret: bytes, count: int = 0) -> None:
        self._name = name
        self._kept = kept
        self.secret = secret
        self.count = count
        self.standing: dict[LocatedTuple, LocatedTuple] = {}
        self.dead: dict[LocatedTuple, LocatedTuple] = {}
        self.retired: set[LocatedTuple] = set()
        self._news: set[LocatedTuple] = set()

    def root(self, number: int) -> LocatedTuple:
        """The root of this node with a number."""
        return root_of(self._proof(number))

    def asserted(self) -> Support:
        """What a fact rests on that is asserted now."""
        return frozenset([self._new()] if self._kept else ())

    def of(self, rule: str, below: list[LocatedTuple]) -> list[LocatedTuple]:
        """What a derivation rests on: its rule, and the tuples `below` being as they are."""
        return [(RULE, (rule,)), *map(self._root, below)] if self._kept else []

    def over(self, fact: LocatedTuple) -> None:
        """A tuple has come or gone."""
        root = self.standing.pop(fact, None)
        if root is not None:
            self.end([root])

    def end(self, support: Iterable[LocatedTuple]) -> None:
        """The roots among these are over; all are this node's own."""
        self.bury([self._proof(fact[1][1]) for fact in support if fact[0] == ROOT])

    def bury(self, proofs: Iterable[LocatedTuple]) -> None:
        """The roots that these prove to be over are."""
        new = {root_of(proof): proof for proof in proofs} if self._kept else {}
        new = {root: proof for root, proof in new.items() if root not in self.dead}
        if new:
            if len(self.dead) >= self.most_dead:
                self.dead.clear()
            self.dead.update(new)
            self._news |= new.keys()

    def switch(self, before: AbstractSet[str], after: AbstractSet[str]) -> None:
        """Rules with the keys `after` count from now on, instead of those with the keys `before`."""
        gone, come = ({(RULE, (key,)) for key in keys} for keys in (before - after, after - before))
        if self._kept:
            self.retired = (self.retired | gone) - come
            self._news |= gone | come

    def holds(self, support: Support) -> bool:
        """Whether a derivation rests on nothing that is known to be over."""
        return self.dead.keys().isdisjoint(support) and self.retired.isdisjoint(support)

    def dead_in(self, support: Support) -> Support:
        """The proofs for the dead roots among these, for others to know."""
        return frozenset(self.dead[root] for root in support & self.dead.keys())

    def news(self) -> set[LocatedTuple]:
        """The grounds that have ended, or count again, since this was last asked."""
        found, self._news = self._news, set()
        return found

    def _root(self, fact: LocatedTuple) -> LocatedTuple:
        if fact not in self.standing:
            self.standing[fact] = self._new()
        return self.standing[fact]

    def _new(self) -> LocatedTuple:
        self.count += 1
        return self.root(self.count)

    def _proof(self, number: int) -> LocatedTuple:
        """Return the proof that the root of this node with a number is over."""
        return ROOT, (self._name, number, _digest(str(number), self.secret))


def root_of(proof: LocatedTuple) -> LocatedTuple:
    """The root that this proves to be over."""
    node, number, text = proof[1]
    return ROOT, (node, number, _digest(f"{number} {text} {node}"))


def _digest(text: str, key: bytes = b"") -> str:
    """96 bits: enough that nobody finds another text with the same digest."""
    data = text.encode("utf-8", "surrogatepass")
    return b64encode(hashlib.blake2b(data, digest_size=12, key=key).digest()).decode()
