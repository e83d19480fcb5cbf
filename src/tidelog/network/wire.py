"""Messages as bytes: a packet is one JSON text with sender, receiver, the fingerprint of the program, and messages.

The format is JSON, because nothing in it can run, and because every edge device and every person can read it. A node
rejects a packet as a whole, with the reason, before it uses any of it: if it is too large, cut off, of another shape or
of another program, or has a field beyond its bound (`limits`). Members of a support are listed in order, so that equal
packets are equal bytes.

`Transport` is the base class of what carries packets from node to node. Those with sockets or a broker have modules of
their own, because they need packages.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from tidelog.network.limits import (
    DEEPEST,
    LARGEST_COUNT,
    LONGEST_NAME,
    LONGEST_RULE,
    LONGEST_TEXT,
    MOST_ASKED,
    MOST_INCARNATIONS,
    MOST_MEMBERS,
    MOST_NEEDED,
    MOST_REASONS,
    is_name,
)
from tidelog.network.messages import (
    ROOT,
    Ack,
    Ask,
    Base,
    Because,
    Floor,
    Heard,
    Hello,
    Message,
    Met,
    NodeReason,
    Noted,
    Offer,
    RuleChange,
    Tell,
    Why,
)
from tidelog.network.program import LocatedTuple
from tidelog.semantics.values import LARGEST_UNSIGNED, SMALLEST

_JSON = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)

FORMAT = 3
LARGEST_PACKET = 16 * 2**20
LONGEST_MARK = 32
"""Characters of what marks a root as ended, and of the digest of that."""


class Transport(ABC):
    """One node's end of a network. It promises nothing: packets may be lost, repeated, reordered and late."""

    @abstractmethod
    def send(self, receiver: str, data: bytes) -> None:
        """Send a packet on its way; never wait, and never fail because of the other side."""

    @abstractmethod
    def receive(self, timeout: float = 0.0) -> list[tuple[str | None, bytes]]:
        """Return the packets that have come, after waiting at most `timeout` seconds for the first; each with the name
        of the sender if the transport can prove it, else None."""

    @abstractmethod
    def close(self) -> None:
        """Release everything. Nothing can be sent or received any more."""


class RefusedError(Exception):
    """An invalid packet; the first argument is the reason under which it is counted."""


@dataclass(frozen=True)
class Packet:
    """A packet: `incarnation` is that of the sender, `known` that of the receiver as far as the sender knows."""

    sender: str
    receiver: str
    fingerprint: str
    messages: tuple[Message, ...]
    incarnation: int = 0
    known: int = 0


def encode(packet: Packet) -> bytes:
    body = [
        FORMAT,
        packet.fingerprint,
        packet.sender,
        packet.incarnation,
        packet.receiver,
        packet.known,
        [message_to_json(each) for each in packet.messages],
    ]
    return _JSON.encode(body).encode("utf-8", "surrogatepass")


def packets(packet: Packet) -> list[bytes]:
    """Return the bytes of a packet, or of several that hold its messages if it is larger than allowed; never split a
    message, whatever its size."""
    data, messages = encode(packet), packet.messages
    if len(data) <= LARGEST_PACKET or len(messages) == 1:
        return [data]
    middle = len(messages) // 2
    parts = messages[:middle], messages[middle:]
    return [data for part in parts for data in packets(replace(packet, messages=part))]


def decode(data: bytes, *, receiver: str, fingerprint: str) -> Packet:
    """Return the packet for `receiver`. Raise RefusedError."""
    if len(data) > LARGEST_PACKET:
        raise RefusedError("too large")
    try:
        body = json.loads(data.decode("utf-8", "surrogatepass"))
        version, theirs, sender, incarnation, to, known, messages = body
        if version != FORMAT or type(theirs) is not str or not is_name(to):
            raise RefusedError("no packet")
        if to != receiver:
            raise RefusedError("for another node")
        if theirs != fingerprint:
            raise RefusedError("another program")
        found = tuple([_from_others(each) for each in messages])
        incarnations = _count(incarnation, MOST_INCARNATIONS), _count(known, MOST_INCARNATIONS)
        return Packet(_name(sender), to, theirs, found, *incarnations)
    except (ValueError, TypeError, LookupError, RecursionError):
        raise RefusedError("no packet") from None


# --- messages --------------------------------------------------------------------------------------------------------


def message_to_json(message: Message) -> list[Any]:
    match message:
        case Offer(seq, low, fact, height, support, dead):
            rest = [height, support_to_json(support)] if height is not None else []
            state = [seq, low, *fact, *rest]
            return ["dead", support_to_json(dead), *state] if dead else ["offer", *state]
        case Met(incarnation, known):
            return ["met", incarnation, known]
        case Base(fact, present, stamp):
            return ["base", *fact, present, *([stamp] if stamp else [])]
        case Because(number, reasons):
            return ["because", number, list(map(reason_to_json, reasons))]
        case _:
            return [_WORDS[type(message)], *vars(message).values()]


def message_from_json(parts: Any) -> Message:
    """Return the message that `message_to_json` has written. Raise TypeError, ValueError, KeyError or IndexError for
    anything else."""
    if parts[0] == "base":
        _, relation, row, present, *stamp = parts
        return Base((_text(relation), _row(row)), _flag(present), *map(_count, stamp))
    if parts[0] == "met":
        _, incarnation, known = parts
        return Met(_count(incarnation, MOST_INCARNATIONS), _count(known, MOST_INCARNATIONS))
    return _from_others(parts)


def _from_others(parts: Any) -> Message:
    """Return a message of another node. Facts and rules of the node's own user do not come this way."""
    if type(parts) is not list:
        raise TypeError
    word, *rest = parts
    if word in _READERS:
        return _READERS[word](*rest)
    kind, readers = _PLAIN[word]
    message: Message = kind(*[read(part) for read, part in zip(readers, rest, strict=True)])
    return message


def _offer(seq: Any, low: Any, relation: Any, row: Any, *rest: Any) -> Offer:
    height, support = rest if rest else (None, ())
    known = None if height is None else _count(height)
    return Offer(_count(seq), _count(low), (_text(relation), _row(row)), known, frozenset(map(_member, support)))


def _with_dead(dead: Any, *rest: Any) -> Offer:
    offer = _offer(*rest)
    roots = frozenset(map(_member, dead))
    if any(relation != ROOT for relation, _ in roots):
        raise TypeError
    return Offer(offer.seq, offer.low, offer.fact, offer.height, offer.support, roots)


def _because(number: Any, reasons: Any) -> Because:
    return Because(_count(number), tuple(map(reason_from_json, _list(reasons, MOST_REASONS))))


_READERS: dict[str, Callable[..., Message]] = {"offer": _offer, "dead": _with_dead, "because": _because}


def _rule_name(value: Any) -> str:
    return _text(value, LONGEST_NAME)


def _rule_text(value: Any) -> str | None:
    return None if value is None else _text(value, LONGEST_RULE)


def _names(value: Any) -> tuple[str, ...]:
    return tuple(map(_name, value))


def _asked_facts(value: Any) -> tuple[LocatedTuple, ...]:
    return _facts(value, MOST_ASKED)


# --- reasons ---------------------------------------------------------------------------------------------------------


def reason_to_json(reason: NodeReason) -> list[Any]:
    start = [reason.sort, *reason.fact]
    match reason.sort:
        case "heard":
            return [*start, reason.sources[0]]
        case "derived":
            return [*start, reason.rule, reason.version, list(reason.body), list(reason.absent)]
        case "aggregated":
            return [*start, reason.rule, reason.version, list(reason.body), list(reason.sources), reason.members]
    return start


def reason_from_json(parts: Any) -> NodeReason:
    """Return the reason that `reason_to_json` has written. Raise TypeError, ValueError or LookupError for anything
    else."""
    sort, relation, row, *rest = parts
    fact = _text(relation), _row(row)
    match sort:
        case "asserted" | "missing" | "withheld":
            () = rest
            return NodeReason(fact, sort)
        case "heard":
            (source,) = rest
            return NodeReason(fact, "heard", (_name(source),))
        case "derived":
            rule, version, body, absent = rest
            return NodeReason(fact, "derived", (), _text(rule), _count(version), _facts(body), _facts(absent))
        case "aggregated":
            rule, version, body, sources, members = rest
            first, names = _facts(body, MOST_MEMBERS), tuple(map(_name, _list(sources, MOST_MEMBERS)))
            if len(names) != len(first) or _count(members) < len(first):
                raise TypeError
            return NodeReason(fact, "aggregated", names, _text(rule), _count(version), first, (), members)
    raise TypeError


def _facts(parts: Any, most: int = MOST_NEEDED) -> tuple[LocatedTuple, ...]:
    return tuple(map(fact_from_json, _list(parts, most)))


# --- parts -----------------------------------------------------------------------------------------------------------


def support_to_json(support: Iterable[LocatedTuple]) -> list[Any]:
    """Return facts in an order that depends on nothing but themselves."""
    return sorted(([relation, row] for relation, row in support), key=repr)


def fact_from_json(parts: Any) -> LocatedTuple:
    """Return the fact. Raise TypeError or ValueError for anything else."""
    relation, row = parts
    return _text(relation), _row(row)


def _member(parts: Any) -> LocatedTuple:
    """Return a member of a set: a tuple, or a ground."""
    fact = fact_from_json(parts)
    if fact[0] == ROOT:
        node, number, mark = fact[1]
        return ROOT, (_name(node), _count(number), _text(mark, LONGEST_MARK))
    return fact


def _row(parts: Any, depth: int = 1) -> tuple[Any, ...]:
    if type(parts) is not list or depth > DEEPEST:
        raise TypeError
    return tuple([_row(part, depth + 1) if type(part) is list else _scalar(part) for part in parts])


def _scalar(value: Any) -> Any:
    kind = type(value)
    if kind is int:
        if not SMALLEST <= value <= LARGEST_UNSIGNED:
            raise TypeError
    elif kind is str:
        return _text(value)
    elif kind is float:
        if math.isnan(value):  # not equal to itself, so that a set with it would be news for ever
            raise TypeError
    elif value is not None:
        raise TypeError
    return value


def _text(value: Any, longest: int = LONGEST_TEXT) -> str:
    if type(value) is not str or len(value) > longest:
        raise TypeError
    return value


def _name(value: Any) -> str:
    if not is_name(value):
        raise TypeError
    return str(value)


def _count(value: Any, largest: int = LARGEST_COUNT) -> int:
    if type(value) is not int or not 0 <= value <= largest:
        raise TypeError
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise TypeError
    return value


def _list(value: Any, most: int) -> list[Any]:
    if type(value) is not list or len(value) > most:
        raise TypeError
    return value


_PLAIN: dict[str, tuple[type[Any], tuple[Callable[[Any], Any], ...]]] = {
    "ack": (Ack, (_count,)),
    "floor": (Floor, (_count,)),
    "heard": (Heard, (_count,)),
    "change": (RuleChange, (_rule_name, _count, _name, _rule_text)),
    "noted": (Noted, (_rule_name, _count, _name)),
    "hello": (Hello, ()),
    "ask": (Ask, (_count,)),
    "tell": (Tell, (_count, _flag, _count, _names)),
    "why": (Why, (_count, _asked_facts)),
}
"""Messages that are lists of their fields in JSON: the class of each, and what reads its fields."""
_WORDS = {kind: word for word, (kind, _) in _PLAIN.items()}
