"""Messages between nodes, and to a node from its user.

Offer    the whole current state of one tuple, as far as the sender derives it: never a mere insertion or deletion Ack
an offer was received and stored Floor    all offers below a number are acknowledged, so the receiver may forget them;
answered by Heard Change   a rule was added or removed; answered by Noted Ask      is the network quiet? answered by
Tell Hello    I know nothing of what was before; answered by Heard Met      from the node's driver: a packet was the
first one of an incarnation, or for another one than this Base     from the node's own user: a fact is asserted or
retracted
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tidelog.network.program import LocatedTuple

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
    fact: LocatedTuple
    present: bool


Message: TypeAlias = Offer | Ack | Floor | Heard | RuleChange | Noted | Hello | Met | Ask | Tell | Base
