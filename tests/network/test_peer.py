"""The conversation of two nodes, one event at a time."""

from __future__ import annotations

from tidelog.network.messages import Offer
from tidelog.network.peer import Peer, Said

FACT, OTHER = ("p", ("a",)), ("p", ("b",))
ONE, TWO = Said(1, frozenset()), Said(2, frozenset([OTHER]))


def test_an_offer_waits_until_it_is_acknowledged() -> None:
    peer = Peer()
    offer = peer.say(FACT, ONE)
    assert offer == Offer(1, 1, FACT, 1)
    assert (peer.quiet, peer.waiting_offers()) == (False, [offer])
    assert peer.acknowledge(1) is None
    assert (peer.quiet, peer.waiting_offers()) == (True, [])


def test_low_is_the_smallest_number_that_is_not_acknowledged() -> None:
    peer = Peer()
    assert peer.low == 1
    assert [peer.say(FACT, ONE).low, peer.say(OTHER, ONE).low] == [1, 1]
    peer.acknowledge(1)
    assert peer.low == 2
    assert [(offer.seq, offer.low) for offer in peer.waiting_offers()] == [(2, 2)]
    peer.acknowledge(2)
    assert peer.low == 3


def test_what_is_newer_is_said_after_the_acknowledgement() -> None:
    peer = Peer()
    peer.say(FACT, ONE)
    peer.held[FACT] = None
    assert peer.acknowledge(1) == FACT
    assert peer.say(FACT, TWO) == Offer(2, 2, FACT, 2, frozenset([OTHER]))


def test_the_acknowledgement_of_an_older_offer_does_not_count_for_a_newer_one() -> None:
    peer = Peer()
    peer.say(FACT, ONE)
    peer.held[FACT] = None
    peer.supersede(FACT)
    peer.say(FACT, TWO)
    assert peer.acknowledge(1) is None
    assert not peer.quiet
    peer.acknowledge(2)
    assert peer.quiet


def test_an_acknowledgement_that_comes_twice() -> None:
    peer = Peer()
    peer.say(FACT, ONE)
    peer.acknowledge(1)
    assert peer.acknowledge(1) is None
    assert peer.acknowledge(77) is None


def test_news_is_what_has_a_greater_number() -> None:
    peer = Peer()
    assert peer.is_news(Offer(3, 1, FACT, 1), 0)
    assert not peer.is_news(Offer(3, 1, FACT, 1), 3)
    assert not peer.is_news(Offer(2, 1, FACT, 1), 3)


def test_a_tombstone_keeps_older_offers_out() -> None:
    peer = Peer()
    peer.note_withdrawal(Offer(4, 1, FACT, None))
    assert not peer.is_news(Offer(3, 1, FACT, 1), 0)
    assert peer.is_news(Offer(5, 1, FACT, 1), 0)


def test_the_floor_takes_the_place_of_tombstones() -> None:
    peer = Peer()
    peer.note_withdrawal(Offer(4, 1, FACT, None))
    peer.raise_floor(4)
    assert peer.graves == {FACT: 4}
    peer.raise_floor(5)
    assert peer.graves == {}
    assert not peer.is_news(Offer(3, 1, FACT, 1), 0)
    peer.raise_floor(2)
    assert peer.floor == 5
