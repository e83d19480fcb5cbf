"""Packets: what is written is read again, and nothing else is accepted."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tidelog.network import wire
from tidelog.network.limits import LARGEST_COUNT
from tidelog.network.messages import ROOT, Ack, Ask, Floor, Heard, Message, Noted, Offer, RuleChange, Tell
from tidelog.network.wire import Packet, RefusedError, decode, encode, packets

SCALARS = some.one_of(some.integers(-(2**63), 2**64 - 1), some.text(), some.floats(allow_nan=False), some.none())
ROWS = some.recursive(SCALARS, lambda inner: some.lists(inner, max_size=3).map(tuple), max_leaves=6)
FACTS = some.tuples(some.text(), some.lists(ROWS, max_size=3).map(tuple))
COUNTS = some.integers(0, LARGEST_COUNT)
NAMES = some.text(some.characters(codec="utf-8", exclude_characters="\0"), max_size=60)
ROOTS = some.tuples(some.just(ROOT), some.tuples(NAMES, COUNTS, some.text(max_size=32)))
SUPPORTS = some.frozensets(FACTS | ROOTS, max_size=4)
DEAD = some.frozensets(ROOTS, max_size=4)
MESSAGES: some.SearchStrategy[Message] = some.one_of(
    some.builds(Offer, COUNTS, COUNTS, FACTS, COUNTS, SUPPORTS, DEAD),
    some.builds(Offer, COUNTS, COUNTS, FACTS, some.none(), some.just(frozenset()), DEAD),
    some.builds(Ack, COUNTS),
    some.builds(Floor, COUNTS),
    some.builds(Heard, COUNTS),
    some.builds(RuleChange, some.text(max_size=255), COUNTS, NAMES, some.none() | some.text()),
    some.builds(Noted, some.text(max_size=255), COUNTS, NAMES),
    some.builds(Ask, COUNTS),
    some.builds(Tell, COUNTS, some.booleans(), COUNTS, some.lists(NAMES).map(tuple)),
)


def reason(data: bytes) -> str:
    with pytest.raises(RefusedError) as refused:
        decode(data, receiver="b", fingerprint="f")
    return str(refused.value.args[0])


@given(some.lists(MESSAGES, max_size=3))
def test_a_packet_comes_back(messages: list[Message]) -> None:
    packet = Packet("a", "b", "f", tuple(messages))
    assert decode(encode(packet), receiver="b", fingerprint="f") == packet


@given(some.binary(max_size=60))
def test_noise_is_refused(data: bytes) -> None:
    assert reason(data) == "no packet"


@given(some.recursive(SCALARS, lambda inner: some.lists(inner, max_size=5), max_leaves=12))
def test_any_other_json_is_refused(content: object) -> None:
    whole = json.dumps([wire.FORMAT, "f", "a", 0, "b", 0, [content]]).encode()
    assert reason(whole) == "no packet"


def test_every_cut_is_refused() -> None:
    offer = Offer(
        3, 2, ("link", ("ä", 1, -2.5, None, ("r",))), 4, frozenset([("p", ("x",))]), frozenset([(ROOT, ("n", 1, "y"))])
    )
    whole = encode(Packet("a", "b", "f", (offer, Ack(1))))
    assert {reason(whole[:length]) for length in range(len(whole))} == {"no packet"}


def test_wrong_numbers_are_refused() -> None:
    for message in (["ack", -1], ["ack", 1.0], ["ack", True], ["ack"], ["offer", 1, 1, "p", [True], 0, []], ["base"]):
        assert reason(json.dumps([wire.FORMAT, "f", "a", 0, "b", 0, [message]]).encode()) == "no packet"


def test_deep_nesting_is_refused() -> None:
    assert reason(f'[{wire.FORMAT},"f","a",0,"b",0,'.encode() + b"[" * 200_000 + b"]" * 200_000 + b"]") == "no packet"


def test_facts_of_a_user_do_not_come_over_the_wire() -> None:
    assert (
        reason(json.dumps([wire.FORMAT, "f", "a", 0, "b", 0, [["base", "link", ["b", "c"], True]]]).encode())
        == "no packet"
    )


def test_another_program_and_another_node() -> None:
    assert reason(encode(Packet("a", "b", "other", ()))) == "another program"
    assert reason(encode(Packet("a", "c", "f", ()))) == "for another node"
    assert reason(b'[1,"f","a",0,"b",0,[]]') == "no packet"


def test_what_is_too_large_is_not_even_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "LARGEST_PACKET", 100)
    assert reason(b"[" * 101) == "too large"


def test_many_messages_are_cut_into_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "LARGEST_PACKET", 100)
    messages = [Ack(number) for number in range(50)]
    cut = packets(Packet("a", "b", "f", tuple(messages), 3, 4))
    assert all(len(data) <= 100 for data in cut)
    assert [m for data in cut for m in decode(data, receiver="b", fingerprint="f").messages] == messages


def test_equal_supports_are_equal_bytes() -> None:
    facts = [("p", (str(number),)) for number in range(20)]
    one = Offer(1, 1, ("q", ()), 2, frozenset(facts))
    other = Offer(1, 1, ("q", ()), 2, frozenset(reversed(facts)))
    assert encode(Packet("a", "b", "f", (one,))) == encode(Packet("a", "b", "f", (other,)))


def test_floats_without_end() -> None:
    packet = Packet("a", "b", "f", (Offer(1, 1, ("p", (math.inf, -math.inf)), 0),))
    assert decode(encode(packet), receiver="b", fingerprint="f") == packet
