"""Messages between nodes, and to a node from its user.

Offer       the whole current state of one tuple, as far as the sender derives it: never a mere insertion or deletion
Ack         an offer was received and stored
Floor       all offers below a number are acknowledged, so the receiver may forget them; answered by Heard
RuleChange  a rule was added or removed; answered by Noted
Ask         is the network quiet? answered by Tell
Hello       I know nothing of what was before; answered by Heard
Met         from the node's driver: a packet was the first one of an incarnation, or for another one than this
Base        from the node's own user: a fact is asserted or retracted
Why         why do you have these tuples? answered by Because

A node answers Why from what it has chosen anyway. Neither question nor answer is a step of it, or in its store.

Stamps say when asserted facts have come, as numbers that order the changes of a network. A `Simulation` counts its
changes. A `LocalNetwork` stamps them with the time of its machine. Facts of one change have one stamp, at whichever
nodes they live. The node of a fact keeps its stamp, also across a restart. Stamp 0 is the beginning: that of the
program's own facts, and of facts in the store of a tidelog that kept no stamps.

No message to another node has a stamp. With a hybrid logical clock (Kulkarni et al. 2014) each packet would have one,
so that causes stand before their effects although clocks differ. But a network that can be asked has one clock: all
changes go through it, and it stamps them in their order. Nodes on separate machines have clocks of their own, and
nothing asks all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tidelog.network.program import LocatedTuple

ROOT = "#root"
"""In place of a relation's name: the node and the number of a root follow, and a digest; in the proof that it is over,
the text of that digest."""

RULE = "#rule"
"""In place of a relation's name: the key of a rule follows."""
Support: TypeAlias = frozenset[LocatedTuple]
"""The tuples and grounds (`Grounds`) on which a derivation rests."""


@dataclass(frozen=True)
class Offer:
    """An offer: `fact` has a derivation of this `height` that rests on `support`; with height None it has none any
    more.

    `seq` numbers the offers of a sender to a receiver, `low` is the smallest one that is not acknowledged yet. `dead`
    are the dead roots among those of the last offer.
    """

    seq: int
    low: int
    fact: LocatedTuple
    height: int | None
    support: Support = frozenset()
    dead: Support = frozenset()


@dataclass(frozen=True)
class Ack:
    seq: int


@dataclass(frozen=True)
class Floor:
    low: int


@dataclass(frozen=True)
class Heard:
    low: int


@dataclass(frozen=True)
class RuleChange:
    """A change of the rule `name`, which reads `text` from now on, or is removed (None). The greatest (version, author)
    counts."""

    name: str
    version: int
    author: str
    text: str | None


@dataclass(frozen=True)
class Noted:
    name: str
    version: int
    author: str


@dataclass(frozen=True)
class Hello:
    pass


@dataclass(frozen=True)
class Met:
    """The news that the sender is in this `incarnation`, and takes this node to be in the one `known`."""

    incarnation: int
    known: int


@dataclass(frozen=True)
class Ask:
    number: int


@dataclass(frozen=True)
class Tell:
    """An answer to `Ask`: `activity` counts all changes at the sender; `peers` are the nodes that it knows."""

    number: int
    quiet: bool
    activity: int
    peers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Base:
    """A change of a fact. `stamp` says when a fact has come, see above; 0 for one that is retracted."""

    fact: LocatedTuple
    present: bool
    stamp: int = 0


@dataclass(frozen=True)
class Why:
    """A question of the inquiry `number`."""

    number: int
    facts: tuple[LocatedTuple, ...]


ReasonSort: TypeAlias = Literal["asserted", "heard", "derived", "aggregated", "missing", "withheld"]


@dataclass(frozen=True)
class NodeReason:
    """Why the sender has a tuple.

    asserted    it is a fact there
    heard       the first of `sources` derives it
    derived     by the local rule with the key `rule`, in its `version` (0: of the program that all began with), from
                `body`, while `absent` are not there
    aggregated  by the local aggregate with the key `rule`, over `members` tuples; `body` has the first of these, and
                `sources` for each of those the node that derives it
    missing     the sender does not have it
    withheld    the reason is too large
    """

    fact: LocatedTuple
    sort: ReasonSort
    sources: tuple[str, ...] = ()
    rule: str = ""
    version: int = 0
    body: tuple[LocatedTuple, ...] = ()
    absent: tuple[LocatedTuple, ...] = ()
    members: int = 0


@dataclass(frozen=True)
class Because:
    """An answer to `Why`: reasons for the tuples asked for, and for others at the sender that these need."""

    number: int
    reasons: tuple[NodeReason, ...]


Message: TypeAlias = Offer | Ack | Floor | Heard | RuleChange | Noted | Hello | Met | Ask | Tell | Base | Why | Because


Clock: TypeAlias = Callable[[], int]
"""Returns the stamp of a change that is made now, greater than all before."""


class WallClock:
    """A clock of microseconds since 1970 in UTC, after the stamp `last`. It goes on when the machine's time is set
    back."""

    def __init__(self, last: int = 0) -> None:
        self._last = last

    def __call__(self) -> int:
        self._last = max(time.time_ns() // 1_000, self._last + 1)
        return self._last
