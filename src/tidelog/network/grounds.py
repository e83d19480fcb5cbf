"""Grounds: what derivations rest on besides the tuples of their own component, so that all of them end together.

Tuples that rest on a cut link keep each other alive for a while: a node that loses one way tries the next, and the ways
get longer until no set is free of the head. That ends, but after many messages. So the sets also have members that name
their grounds. A node that hears of the end of a ground ignores every offer that rests on it:

root    stands for an asserted fact, or for the presence or absence of a tuple of a component below, until that changes;
        the node of that tuple numbers the root, and never uses a number twice
rule    stands for a rule, until the node itself hears of its removal

A node must not end the roots of others. So a root carries the digest of a text that its node alone knows. A message
that says that a root is over has to show that text; its node publishes it when the root ends. Any node may pass it on.
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
    """The grounds that the node `name` makes, and those that it knows to be over; none unless they are `kept`.

    `secret` is the source of the proofs that roots of this node are over. `count` is the last number used, `standing`
    has the root of each tuple that has one. `dead` are roots that are over, each with its proof, and `retired` such
    rules. A node forgets ended grounds after a while; that costs messages, and nothing else.
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
        """Return the root of this node with a number."""
        return root_of(self._proof(number))

    def asserted(self) -> Support:
        """Return the grounds of a fact that is asserted now."""
        return frozenset([self._new()] if self._kept else ())

    def of(self, rule: str, below: list[LocatedTuple]) -> list[LocatedTuple]:
        """Return the grounds of a derivation: its rule, and the tuples `below` as they are."""
        return [(RULE, (rule,)), *map(self._root, below)] if self._kept else []

    def over(self, fact: LocatedTuple) -> None:
        """End the root of a tuple that was inserted or deleted."""
        root = self.standing.pop(fact, None)
        if root is not None:
            self.end([root])

    def end(self, support: Iterable[LocatedTuple]) -> None:
        """End roots, all of them this node's own."""
        self.bury([self._proof(fact[1][1]) for fact in support if fact[0] == ROOT])

    def bury(self, proofs: Iterable[LocatedTuple]) -> None:
        """Note the roots whose end these texts prove."""
        new = {root_of(proof): proof for proof in proofs} if self._kept else {}
        new = {root: proof for root, proof in new.items() if root not in self.dead}
        if new:
            if len(self.dead) >= self.most_dead:
                self.dead.clear()
            self.dead.update(new)
            self._news |= new.keys()

    def switch(self, before: AbstractSet[str], after: AbstractSet[str]) -> None:
        """Let rules with the keys `after` count from now on, instead of those with the keys `before`."""
        gone, come = ({(RULE, (key,)) for key in keys} for keys in (before - after, after - before))
        if self._kept:
            self.retired = (self.retired | gone) - come
            self._news |= gone | come

    def holds(self, support: Support) -> bool:
        """Return True if a derivation rests on no ground that is known to be over."""
        return self.dead.keys().isdisjoint(support) and self.retired.isdisjoint(support)

    def dead_in(self, support: Support) -> Support:
        """Return the proofs for the dead roots among these, for other nodes."""
        return frozenset(self.dead[root] for root in support & self.dead.keys())

    def news(self) -> set[LocatedTuple]:
        """Return the grounds that have ended, or count again, since the last call."""
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
    """Return the root whose end this text proves."""
    node, number, text = proof[1]
    return ROOT, (node, number, _digest(f"{number} {text} {node}"))


def _digest(text: str, key: bytes = b"") -> str:
    """Return a digest of 96 bits, enough that nobody finds another text with the same digest."""
    data = text.encode("utf-8", "surrogatepass")
    return b64encode(hashlib.blake2b(data, digest_size=12, key=key).digest()).decode()
