"""What derivations rest on beside the tuples of their own component, so that all of them end at once when it is gone.

Tuples that rest on a link that was cut hold each other up for a while: each node that loses one way tries the next, and
the ways get longer until no set of tuples is free of the head. That ends, but after many messages. So the sets also
have members that say why they hold, and whoever hears that one of those is over ignores every offer that rests on it:

root    stands for an asserted fact, or for the presence or absence of a tuple of a component below, until that changes;
        the node where that is so gives it a number, and never gives the same number again
rule    stands for a rule, until the node itself hears that it is gone
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from tidelog.network.messages import Support
from tidelog.network.program import Fact

ROOT = "#root"
"""In place of a relation's name: the node and the number of a root follow."""

RULE = "#rule"
"""In place of a relation's name: the key of a rule follows."""


class Grounds:
    """The grounds that node `name` gives, and those that it knows to be over; none unless they are `kept`.

    `count` is the last number that was given, `standing` the root of each tuple that has one, `dead` are roots and
    `retired` rules that are over. What is over is forgotten after a while: that costs messages, and nothing else.
    """

    most_dead = 2**14
    """So many dead roots are remembered."""

    def __init__(self, name: str, *, kept: bool, count: int = 0) -> None:
        self._name = name
        self._kept = kept
        self.count = count
        self.standing: dict[Fact, Fact] = {}
        self.dead: set[Fact] = set()
        self.retired: set[Fact] = set()
        self._news: set[Fact] = set()

    def root(self, number: int) -> Fact:
        """The root of this node with a number."""
        return (ROOT, (self._name, number))

    def asserted(self) -> Support:
        """What a fact rests on that is asserted now."""
        return frozenset([self._new()] if self._kept else ())

    def of(self, rule: str, below: list[Fact]) -> list[Fact]:
        """What a derivation rests on: its rule, and the tuples `below` being as they are."""
        return [(RULE, (rule,)), *map(self._root, below)] if self._kept else []

    def over(self, fact: Fact) -> None:
        """A tuple has come or gone."""
        root = self.standing.pop(fact, None)
        if root is not None:
            self.bury([root])

    def bury(self, roots: Iterable[Fact]) -> None:
        """These roots are over."""
        new = {root for root in roots if root[0] == ROOT and root not in self.dead} if self._kept else ()
        if new:
            if len(self.dead) >= self.most_dead:
                self.dead.clear()
            self.dead |= new
            self._news |= new

    def switch(self, before: AbstractSet[str], after: AbstractSet[str]) -> None:
        """Rules with the keys `after` count from now on, instead of those with the keys `before`."""
        gone, come = ({(RULE, (key,)) for key in keys} for keys in (before - after, after - before))
        if self._kept:
            self.retired = (self.retired | gone) - come
            self._news |= gone | come

    def holds(self, support: Support) -> bool:
        """Whether a derivation rests on nothing that is known to be over."""
        return self.dead.isdisjoint(support) and self.retired.isdisjoint(support)

    def dead_in(self, support: Support) -> Support:
        """The dead roots among these, for others to know."""
        return support & self.dead

    def news(self) -> set[Fact]:
        """The grounds that have ended, or count again, since this was last asked."""
        found, self._news = self._news, set()
        return found

    def _root(self, fact: Fact) -> Fact:
        if fact not in self.standing:
            self.standing[fact] = self._new()
        return self.standing[fact]

    def _new(self) -> Fact:
        self.count += 1
        return self.root(self.count)
