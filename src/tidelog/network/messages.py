"""What nodes say to each other, and what is said to a node by whoever runs it.

Offer    the whole current state of one tuple, as far as the sender derives it: never a mere insertion or deletion
Ack      an offer was received and stored
Floor    all offers below a number are acknowledged, so that what was kept to recognise them can go; answered by Heard
Change   a rule has come or gone; answered by Noted
Ask      is the network quiet? answered by Tell
Hello    I know nothing of what was before; answered by Heard
Met      from whoever runs a node: a packet was the first one of an incarnation, or for another one than this
Base     from the node's own user: a fact is asserted or retracted
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tidelog.network.program import LocatedTuple

Support: TypeAlias = frozenset[LocatedTuple]
"""The tuples and grounds (`Grounds`) on which a derivation rests."""


@dataclass(frozen=True)
class Offer:
    """`fact` has a derivation of this `height` that rests on `support`; with height None it has none any more.

    `seq` numbers the offers of a sender to a receiver, `low` is the smallest one that is not acknowledged yet. `dead`
    are roots that are over, of those on which the last offer rested.
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
    """The rule `name` reads `text` from now on, or is gone (None). The greatest (version, author) counts."""

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
    """The sender is in this `incarnation`, and takes us to be in the one `known`."""

    incarnation: int
    known: int


@dataclass(frozen=True)
class Ask:
    number: int


@dataclass(frozen=True)
class Tell:
    """`activity` counts whatever has ever changed at the sender; `peers` are the nodes that it knows."""

    number: int
    quiet: bool
    activity: int
    peers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Base:
    fact: LocatedTuple
    present: bool


Message: TypeAlias = Offer | Ack | Floor | Heard | RuleChange | Noted | Hello | Met | Ask | Tell | Base
