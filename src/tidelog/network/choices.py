"""Choices of a node: the newest offer of every sender for each tuple that it owns, the offer that it has chosen, and
the derivations that follow here.

A node never offers a derivation that rests on its own head. So no tuple ever keeps itself alive, in whatever order
messages come. `docs/explanation/network.md` explains why this ends, and with which views. `NodeState` adds the
conversations.

Tuples that rest on a cut link keep each other alive for a while: a node that loses one way tries the next, and the ways
get longer until no set is free of the head. That ends, but after many messages. So the sets also have members that name
`Grounds`: what derivations rest on besides the tuples of their own component. A node that hears of the end of a ground
ignores every offer that rests on it:

root    stands for an asserted fact, or for the presence or absence of a tuple of a component below, until that changes;
        the node of that tuple numbers the root, and never uses a number twice
rule    stands for a rule, until the node itself hears of its removal

A node must not end the roots of others. So a root carries the digest of a text that its node alone knows. A message
that says that a root is over has to show that text; its node publishes it when the root ends. Any node may pass it on.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from tidelog.errors import Problem
from tidelog.network.derivations import Derivation, Derivations
from tidelog.network.functors import FailedError, NodeFunctors
from tidelog.network.joins import Tuples
from tidelog.network.limits import LARGEST_COUNT, Limits, Meter, OverrunError
from tidelog.network.messages import ROOT, RULE, RuleChange, Support
from tidelog.network.peer import Said
from tidelog.network.program import LocatedTuple, NodeRow
from tidelog.network.rulebook import Rulebook

# --- grounds ---------------------------------------------------------------------------------------------------------


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

    def of_fact(self) -> Support:
        """Return the grounds of a fact that is asserted now."""
        return frozenset([self._new()] if self._kept else ())

    def of(self, rule: str, below: list[LocatedTuple]) -> list[LocatedTuple]:
        """Return the grounds of a derivation: its rule, and the tuples `below` as they are."""
        return [(RULE, (rule,)), *map(self._root, below)] if self._kept else []

    def end_root(self, fact: LocatedTuple) -> None:
        """End the root of a tuple that was inserted or deleted."""
        root = self.standing.pop(fact, None)
        if root is not None:
            self.end([root])

    def end(self, support: Iterable[LocatedTuple]) -> None:
        """End roots, all of them this node's own."""
        self.mark_ended([self._proof(fact[1][1]) for fact in support if fact[0] == ROOT])

    def mark_ended(self, proofs: Iterable[LocatedTuple]) -> None:
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
        removed, added = ({(RULE, (key,)) for key in keys} for keys in (before - after, after - before))
        if self._kept:
            self.retired = (self.retired | removed) - added
            self._news |= removed | added

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


# --- choices ---------------------------------------------------------------------------------------------------------

BASE = "\0"
"""The sender of a base fact; no node can have this name."""

FORMER_RELATIONS = 1000
"""So many relations of former rules are remembered, whether there are tuples of them or not."""


class Given(NamedTuple):
    """An offer as the node keeps it: `seq` is its number among those of a peer, for an asserted fact the stamp (see
    `messages`), and 0 for a derivation of the node's own."""

    height: int
    support: Support
    seq: int


class Chosen(NamedTuple):
    height: int
    support: Support
    source: str


@dataclass(frozen=True)
class Options:
    """Settings of a node.

    `sticky`: keep a derivation while it is valid, even when a shorter one appears; insertions then cost less. `roots`:
    name the other grounds of derivations in the sets (see `Grounds`). Without them sets are shorter, but a tuple that
    becomes underivable costs many times the messages. `limits` bound what others make the node keep and do.
    """

    sticky: bool = False
    roots: bool = True
    limits: Limits = field(default_factory=Limits)


class Choices:
    """The choices of the node `name` before any offer, for a program in which no rules have changed.

    `secret` and `count` are as for `Grounds`. `excluded` are tuples that the node does not use, because a rule takes
    too many steps at them (`limits`), or a functor has no result, with the error. `rejected` counts rejected messages
    by reason.
    """

    def __init__(
        self, name: str, text: str, options: Options, secret: bytes, count: int, functors: NodeFunctors
    ) -> None:
        self.name = name
        self.options = options
        self.functors = functors
        self.book = Rulebook(text, functors)
        self.tuples = Tuples()
        self.grounds = Grounds(name, kept=options.roots, secret=secret, count=count)
        self.rejected: Counter[str] = Counter()
        self.offers: dict[LocatedTuple, dict[str, Given]] = {}
        self.excluded: dict[LocatedTuple, Problem | None] = {}
        self.chosen: dict[LocatedTuple, Chosen] = {}
        self.last: dict[LocatedTuple, Derivation] = {}
        self.locations: dict[str, int | None] = {}
        self._learn_locations()
        self._dirty: dict[LocatedTuple, None] = {}
        self._foreign: dict[LocatedTuple, None] = {}
        self._derivations = self._new_derivations()

    def view(self, relation: str) -> list[tuple[Any, ...]]:
        """Return the tuples of a relation that live here."""
        return self.tuples.rows(relation)

    def asserted_facts(self, relation: str) -> dict[NodeRow, int]:
        """Return the facts of a relation that are asserted here, each with its stamp."""
        return {
            row: offers[BASE].seq for (name, row), offers in self.offers.items() if name == relation and BASE in offers
        }

    @property
    def last_stamp(self) -> int:
        """Return the greatest stamp of a fact that is asserted here."""
        return max((offers[BASE].seq for offers in self.offers.values() if BASE in offers), default=0)

    def owner(self, fact: LocatedTuple) -> str:
        """Return the node of a tuple: this one, if every node has the relation for itself. The node remembers the
        locations of relations of removed rules, because their offers must be withdrawn."""
        location = self.locations.get(fact[0])
        return self.name if location is None or location >= len(fact[1]) else str(fact[1][location])

    def restore(self, sources: Mapping[LocatedTuple, str], last: Mapping[LocatedTuple, tuple[Any, ...]]) -> None:
        """Rebuild all consequences after offers, rules, grounds and the like were filled in. `sources` says which offer
        of each tuple was chosen, `last` which derivation."""
        self._learn_locations()
        for fact, source in sources.items():
            given = self.offers[fact][source]
            self.chosen[fact] = Chosen(given.height, given.support, source)
            self.tuples.add(fact)
        self.last = {head: Derivation(*parts) for head, parts in last.items()}
        self._derivations = self._new_derivations()
        self._choose_all()

    @property
    def problems(self) -> dict[Any, Problem]:
        """The reasons why functors and aggregates in Python have no result, by the tuples that are not used, and the
        groups without a value."""
        failed = {fact: problem for fact, problem in self.excluded.items() if problem is not None}
        return failed | self._derivations.failed

    def limit(self, limits: Limits) -> None:
        self.options = replace(self.options, limits=limits)
        self._derivations.limits = limits

    def renew(self) -> None:
        """Use the functions that are given now, and try again where a functor had no result."""
        self.functors.renew()
        self._dirty.update({fact: None for fact, problem in self.excluded.items() if problem is not None})
        self.excluded = {fact: None for fact, problem in self.excluded.items() if problem is None}
        self._derivations = self._new_derivations()
        self._choose_all()

    def _new_derivations(self) -> Derivations:
        self.functors.restart()
        limits, own = self.options.limits, self.book.own_keys
        return Derivations(self.name, self.book.program, self.tuples, limits, own, self.functors)

    # --- changes -----------------------------------------------------------------------------------------------------

    def _give(self, fact: LocatedTuple, sender: str, given: Given | None) -> None:
        """Set the newest offer of a sender, None if that is withdrawn. `_choose_all` then derives the consequences."""
        offers = self.offers.setdefault(fact, {})
        if given is not None:
            offers[sender] = given
        else:
            offers.pop(sender, None)
        if not offers:
            del self.offers[fact]
            self.excluded.pop(fact, None)
        self._dirty[fact] = None

    def _switch(self, change: RuleChange) -> None:
        """Apply a change of a rule. `_choose_all` then derives the consequences."""
        before = self.book.program.keys
        self.book.take(change)
        self._follow(before)

    def _hold(self, keys: Mapping[str, Problem | None]) -> None:
        """Set travelled rules aside that take too much, or fail. `_choose_all` then derives the consequences."""
        before = self.book.program.keys
        failed = {key: problem for key, problem in keys.items() if problem is not None}
        self.rejected["functor failed"] += self.book.hold(failed)
        self.rejected["rule takes too much"] += self.book.hold({key: None for key in keys if key not in failed})
        self._follow(before)

    def _follow(self, before: frozenset[str]) -> None:
        """Go on with other rules than those with the keys `before`."""
        self.grounds.switch(before, self.book.program.keys)
        self._learn_locations()
        self._dirty.update(dict.fromkeys(self.excluded))
        self.excluded.clear()
        self._derivations.switch(self.book.program)

    def _learn_locations(self) -> None:
        """Remember the locations of relations. Forget those of former rules when they are many and have no tuple."""
        places = self.book.program.places
        if len(self.locations) > len(places) + FORMER_RELATIONS:
            used = {fact[0] for fact in self._spoken_of()}
            self.locations = {name: each for name, each in self.locations.items() if name in used}
        self.locations.update({name: place.location for name, place in places.items()})

    def _spoken_of(self) -> Iterable[LocatedTuple]:
        """Return the stored tuples, and those that another node may still have to hear of."""
        return chain(self.offers, self._derivations.heads(), self._foreign)

    # --- choosing ----------------------------------------------------------------------------------------------------

    def _choose_all(self) -> None:
        """Choose until nothing changes here any more; `_foreign` then has the tuples of other nodes whose derivations
        have changed."""
        derivations = self._derivations
        while True:
            while self._dirty:
                self._reconsider(next(iter(self._dirty)))
            if derivations.overrun:
                self._hold(dict(derivations.overrun))
                continue
            if derivations.settle_groups() or self._reconsider_ended():
                if derivations.failures:
                    self.rejected["functor failed"] += derivations.failures
                    derivations.failures = 0
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

    def _reconsider_ended(self) -> bool:
        """Choose again where an offer rests on an ended ground; return True if there was anything to do."""
        news = self.grounds.news()
        for fact, offers in self.offers.items() if news else ():
            if any(not news.isdisjoint(given.support) for given in offers.values()):
                self._dirty[fact] = None
        return bool(self._dirty)

    def _reconsider(self, fact: LocatedTuple) -> None:
        """Choose again among the offers of a tuple, and update its consequences."""
        del self._dirty[fact]
        best, old = self._choice(fact), self.chosen.get(fact)
        if best == old:
            return
        if best is None:
            del self.chosen[fact]
            self.tuples.remove(fact)
            self.grounds.end_root(fact)
            self._derivations.disappear(fact)
            return
        self.chosen[fact] = best
        if old is None:
            self.tuples.add(fact)
            self.grounds.end_root(fact)
            self._appear(fact)
        elif best[:2] != old[:2]:
            for head in self._derivations.users(fact):
                if self._may_depend(fact, head):
                    self._derivations.touched[head] = None

    def _appear(self, fact: LocatedTuple) -> None:
        """Derive the consequences of a tuple, or exclude it if that takes too much."""
        try:
            self._derivations.appear(fact, trusted=BASE in self.offers[fact])
        except OverrunError as error:
            problem = error.problem if isinstance(error, FailedError) else None
            self.rejected["takes too much" if problem is None else "functor failed"] += 1
            self.excluded[fact] = problem
            self._dirty[fact] = None

    def _choice(self, fact: LocatedTuple) -> Chosen | None:
        """Return the offer with the least height; the name of the sender breaks ties, never the order of arrival."""
        if fact in self.excluded:
            return None
        current = self.chosen.get(fact)
        best = None
        for sender, given in self.offers.get(fact, {}).items():
            if not self.grounds.holds(given.support):
                continue
            stays = self.options.sticky and current is not None and sender == current.source
            rank = (not stays, given.height, sender)
            if best is None or rank < best[0]:
                best = rank, Chosen(given.height, given.support, sender)
        return best[1] if best else None

    def _best(self, head: LocatedTuple) -> Said | None:
        """Return the best derivation of a tuple here: the least height; the rule and its body break ties. Derivations
        that rest on the tuple itself do not count."""
        best = self._least(head, partial(self._value, head))
        if best is None:
            self.last.pop(head, None)
            return None
        instance, said = best
        if self.options.sticky:
            self.last[head] = instance
        return said

    def _value(self, head: LocatedTuple, instance: Derivation) -> tuple[int, Support]:
        """Return the height of a derivation and its set: the tuples of the head's own component, and the grounds of
        those below. Tuples below settle by themselves and count as height 0; a head that does not depend on itself
        needs no set."""
        component = self.book.program.component
        own = component.get(head[0])
        if own is None:
            return 1, frozenset()
        height, support, below = self._within(own, instance)
        support.update(self.grounds.of(instance.rule, [*instance.absent, *below]))
        return height, frozenset(support)

    def _within(self, own: int, instance: Derivation) -> tuple[int, set[LocatedTuple], list[LocatedTuple]]:
        """Return the height of a derivation of a tuple of the component `own`, the set without the grounds of those
        below, and the tuples below that it needs."""
        component = self.book.program.component
        height, support, below = 0, set[LocatedTuple](), list[LocatedTuple]()
        for fact in instance.body:
            if component.get(fact[0]) == own:
                chosen = self.chosen[fact]
                height = max(height, chosen.height)
                support |= chosen.support
                support.add(fact)
            else:
                below.append(fact)
        return height + 1, support, below

    def derivation(self, head: LocatedTuple, meter: Meter) -> Derivation | None:
        """Return the best derivation of a tuple here, the one that the node offers, and change nothing. Each derivation
        is a step for the `meter`, which may raise OverrunError."""
        own = self.book.program.component.get(head[0])

        def value(instance: Derivation) -> tuple[int, Support]:
            height, support, _ = (1, set[LocatedTuple](), []) if own is None else self._within(own, instance)
            return height, frozenset(support)

        best = self._least(head, value, meter)
        return None if best is None else best[0]

    def _least(
        self, head: LocatedTuple, value: Callable[[Derivation], tuple[int, Support]], meter: Meter | None = None
    ) -> tuple[Derivation, Said] | None:
        """Return the best derivation of a tuple by the heights and sets that `value` gives: one that stays, then the
        least height; the rule and its body break ties. Return None without one that does not rest on the tuple."""
        ranked = []
        for instance in self._derivations.of(head):
            if meter is not None:
                meter.spend()
            if any(fact in self.chosen for fact in instance.absent):
                continue
            height, support = value(instance)
            if head not in support and height <= LARGEST_COUNT:
                stays = self.options.sticky and instance == self.last.get(head)
                ranked.append((not stays, height, instance, support))
        if not ranked:
            return None
        least = min(rank[:2] for rank in ranked)
        candidates = [rank for rank in ranked if rank[:2] == least]
        best = candidates[0] if len(candidates) == 1 else min(candidates, key=lambda rank: repr(rank[2]))
        return best[2], Said(best[1], best[3])

    def _may_depend(self, fact: LocatedTuple, head: LocatedTuple) -> bool:
        """Return True if two tuples may depend on each other."""
        component = self.book.program.component
        own = component.get(head[0])
        return own is not None and component.get(fact[0]) == own
