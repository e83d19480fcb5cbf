"""Messages as bytes: a packet is one JSON text with sender, receiver, the fingerprint of the program, and messages.

JSON, because nothing in it can run, because every edge device reads it, and because a person can as well. Whatever is
too large, cut off, of another shape or of another program is refused as a whole, with the reason, before any of it is
used. Members of a support are listed in order, so that equal packets are equal bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from tidelog.network.messages import Ack, Ask, Base, Change, Floor, Heard, Hello, Message, Met, Noted, Offer, Tell
from tidelog.network.program import Fact

_JSON = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)

FORMAT = 2
LARGEST_PACKET = 16 * 2**20


class RefusedError(Exception):
    """A packet that is none; the first argument is the reason under which it is counted."""


@dataclass(frozen=True)
class Packet:
    """`incarnation` is that of the sender, `known` that of the receiver as far as the sender knows."""

    sender: str
    receiver: str
    fingerprint: str
    messages: tuple[Message, ...]
    incarnation: int = 0
    known: int = 0


def encode(packet: Packet) -> bytes:
    """The bytes of a packet."""
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
    """The bytes of a packet, or of several that hold its messages where it is larger than allowed; one message is never
    parted, whatever its size."""
    data, messages = encode(packet), packet.messages
    if len(data) <= LARGEST_PACKET or len(messages) == 1:
        return [data]
    middle = len(messages) // 2
    parts = messages[:middle], messages[middle:]
    return [data for part in parts for data in packets(replace(packet, messages=part))]


def decode(data: bytes, *, receiver: str, fingerprint: str) -> Packet:
    """The packet for `receiver`. Raises RefusedError."""
    if len(data) > LARGEST_PACKET:
        raise RefusedError("too large")
    try:
        body = json.loads(data.decode("utf-8", "surrogatepass"))
        version, theirs, sender, incarnation, to, known, messages = body
        if version != FORMAT or not all(type(each) is str for each in (theirs, sender, to)):
            raise RefusedError("no packet")
        if to != receiver:
            raise RefusedError("for another node")
        if theirs != fingerprint:
            raise RefusedError("another program")
        found = tuple([_from_others(each) for each in messages])
        return Packet(sender, to, theirs, found, _count(incarnation), _count(known))
    except (ValueError, TypeError, LookupError, RecursionError):
        raise RefusedError("no packet") from None


# --- messages --------------------------------------------------------------------------------------------------------


def message_to_json(message: Message) -> list[Any]:
    """A message as JSON can hold it."""
    match message:
        case Offer(seq, low, fact, height, support, dead):
            rest = [height, support_to_json(support)] if height is not None else []
            state = [seq, low, *fact, *rest]
            return ["dead", support_to_json(dead), *state] if dead else ["offer", *state]
        case Ack(seq):
            return ["ack", seq]
        case Floor(low):
            return ["floor", low]
        case Heard(low):
            return ["heard", low]
        case Change(name, version, author, text):
            return ["change", name, version, author, text]
        case Noted(name, version, author):
            return ["noted", name, version, author]
        case Ask(number):
            return ["ask", number]
        case Tell(number, quiet, activity, peers):
            return ["tell", number, quiet, activity, list(peers)]
        case Hello():
            return ["hello"]
        case Met(incarnation, known):
            return ["met", incarnation, known]
        case Base(fact, present):
            return ["base", *fact, present]


def message_from_json(parts: Any) -> Message:
    """What `message_to_json` gave. Raises TypeError, ValueError, KeyError or IndexError where that is none."""
    if parts[0] == "base":
        _, relation, row, present = parts
        return Base((_text(relation), _row(row)), _flag(present))
    if parts[0] == "met":
        _, incarnation, known = parts
        return Met(_count(incarnation), _count(known))
    return _from_others(parts)


def _from_others(parts: Any) -> Message:
    return _READERS[_text(parts[0])](*parts[1:])


def _offer(seq: Any, low: Any, relation: Any, row: Any, *rest: Any) -> Offer:
    height, support = rest if rest else (None, ())
    known = None if height is None else _count(height)
    return Offer(_count(seq), _count(low), (_text(relation), _row(row)), known, frozenset(map(fact_from_json, support)))


def _with_dead(dead: Any, *rest: Any) -> Offer:
    offer = _offer(*rest)
    return Offer(offer.seq, offer.low, offer.fact, offer.height, offer.support, frozenset(map(fact_from_json, dead)))


def _change(name: Any, version: Any, author: Any, text: Any) -> Change:
    return Change(_text(name), _count(version), _text(author), None if text is None else _text(text))


def _tell(number: Any, quiet: Any, activity: Any, peers: Any) -> Tell:
    return Tell(_count(number), _flag(quiet), _count(activity), tuple(map(_text, peers)))


_READERS: dict[str, Callable[..., Message]] = {
    "offer": _offer,
    "dead": _with_dead,
    "ack": lambda seq: Ack(_count(seq)),
    "floor": lambda low: Floor(_count(low)),
    "heard": lambda low: Heard(_count(low)),
    "change": _change,
    "noted": lambda name, version, author: Noted(_text(name), _count(version), _text(author)),
    "hello": Hello,
    "ask": lambda number: Ask(_count(number)),
    "tell": _tell,
}
"""What a node takes from other nodes; facts and rules of its own user do not come this way."""


# --- parts -----------------------------------------------------------------------------------------------------------


def support_to_json(support: Iterable[Fact]) -> list[Any]:
    """Facts in an order that depends on nothing but themselves."""
    return sorted(([relation, row] for relation, row in support), key=repr)


def fact_from_json(parts: Any) -> Fact:
    """Raises TypeError or ValueError where that is none."""
    relation, row = parts
    return _text(relation), _row(row)


def _row(parts: Any) -> tuple[Any, ...]:
    if type(parts) is not list:
        raise TypeError
    return tuple([_row(part) if type(part) is list else _scalar(part) for part in parts])


def _scalar(value: Any) -> Any:
    if value is not None and type(value) not in (str, int, float):
        raise TypeError
    return value


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError
    return value


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise TypeError
    return value
