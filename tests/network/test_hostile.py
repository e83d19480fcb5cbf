"""A peer that is let in and means harm: it can lie about what it derives, and about nothing else; it stops no node."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.network.cases import REACHABILITY, exchange
from tests.network.test_node import packet
from tidelog.errors import DataError, LimitError, UsageError
from tidelog.network import Limits, Node, SimulatedNetwork
from tidelog.network.journal import dump, load
from tidelog.network.limits import LARGEST_COUNT, LONGEST_TEXT, VERSION_STEP
from tidelog.network.messages import ROOT, Message, Offer, RuleChange, Tell
from tidelog.network.rulebook import Rulebook
from tidelog.network.wire import FORMAT

LISTS = """
.type List = [head: symbol, tail: List]
.decl link(@x: symbol, y: symbol)
.decl item(@x: symbol, l: List)
.decl seen(@x: symbol, l: List)
s: seen(@y, l) :- link(@x, y), item(@x, l).
"""
DEEP_NUMBER = "9" * 4300


def nested(levels: int) -> Any:
    row: Any = None
    for _ in range(levels):
        row = ("x", row)
    return row


def alone(text: str = REACHABILITY, **options: Any) -> tuple[SimulatedNetwork, Node]:
    wires = SimulatedNetwork(1)
    return wires, Node("a", text, wires.transport("a"), peers=["b"], **options)


def send(wires: SimulatedNetwork, node: Node, *messages: Message, text: str = REACHABILITY) -> None:
    """Let `b` say something to `node`."""
    wires.post("b", node.name, packet(*messages, fingerprint=Rulebook(text).fingerprint))
    while not wires.empty:
        wires.deliver()
        node.turn()


def raw(message: str, sender: str = '"b"', text: str = REACHABILITY) -> bytes:
    return f'[{FORMAT},"{Rulebook(text).fingerprint}",{sender},0,"a",0,[{message}]]'.encode("utf-8", "surrogatepass")


def is_well(node: Node) -> bool:
    """Return True if a node still works."""
    node.insert("link", [("a", "z")])
    return ("a", "z") in node["reachable"]


# --- fields beyond their bounds --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        raw(f'["offer",1,1,"reachable",["a","x"],{DEEP_NUMBER},[]]'),
        raw(f'["offer",1,1,"reachable",["a","x"],{LARGEST_COUNT + 1},[]]'),
        raw(f'["offer",{DEEP_NUMBER},1,"reachable",["a","x"],1,[]]'),
        raw(f'["offer",1,{DEEP_NUMBER},"reachable",["a","x"],1,[]]'),
        raw(f'["offer",1,1,"reachable",["a",{DEEP_NUMBER}],1,[]]'),
        raw(f'["offer",1,1,"reachable",["a",{2**64}],1,[]]'),
        raw('["offer",1,1,"reachable",["a",NaN],1,[]]'),
        raw('["offer",1,1,"reachable",["a","x"],1,[["reachable",["a",NaN]]]]'),
        raw('["offer",1,1,"reachable",["a",' + "[" * 400 + "]" * 400 + "],1,[]]"),
        raw(f'["offer",1,1,"reachable",["a","{"x" * (LONGEST_TEXT + 1)}"],1,[]]'),
        raw('["dead",[["reachable",["a","x"]]],1,1,"reachable",["a","x"],1,[]]'),
        raw('["dead",[["#root",["b",1]]],1,1,"reachable",["a","x"],1,[]]'),
        raw('["dead",[["#root",["b",1,7]]],1,1,"reachable",["a","x"],1,[]]'),
        raw('["offer",1,1,"reachable",["a","x"],1,[["#root",["b","1","y"]]]]'),
        raw(f'["change","x",{DEEP_NUMBER},"b",null]'),
        raw(f'["change","x",1,"{"b" * 300}",null]'),
        raw(f'["change","{"x" * 300}",1,"b",null]'),
        raw(f'["change","x",1,"b","{"x" * 70_000}"]'),
        raw(f'["noted","x",{DEEP_NUMBER},"b"]'),
        raw(f'["floor",{DEEP_NUMBER}]'),
        raw(f'["heard",{DEEP_NUMBER}]'),
        raw(f'["ask",{DEEP_NUMBER}]'),
        raw('["tell",1,true,1,["\\ud800"]]'),
        raw('["hello"]', sender='"\\ud800"'),
        raw('["hello"]', sender='"\\u0000"'),
        raw('["hello"]', sender=json.dumps("x" * 70_000)),
        raw('["hello"]').replace(b'"b",0', f'"b",{DEEP_NUMBER}'.encode()),
        raw('["hello"]').replace(b'"a",0', f'"a",{2**40}'.encode()),
    ],
    ids=lambda data: f"{len(data)} {data[24:70]!r}",
)
def test_a_field_beyond_its_bound_never_reaches_the_journal(data: bytes, tmp_path: Path) -> None:
    wires, a = alone(store=tmp_path)
    before = (tmp_path / "journal.1").read_bytes(), dump(a.state)
    wires.post("b", "a", data)
    wires.deliver()
    a.turn()
    assert dict(a.rejected) == {"no packet": 1}
    a.rejected.clear()
    assert ((tmp_path / "journal.1").read_bytes(), dump(a.state)) == before
    assert is_well(a)
    a.close()


@pytest.mark.parametrize(
    "letter",
    [
        f'["b",["offer",1,1,"reachable",["a","x"],{DEEP_NUMBER},[]]]',
        f'["b",["offer",1,1,"reachable",["a","x"],{"9" * 4000},[]]]',
        f'["b",["change","x",{"9" * 4000},"b",null]]',
        '["b",["offer",1,1,"reachable",["a",' + "[" * 400 + "]" * 400 + "],1,[]]]",
        '["b",["offer",1,1,"reachable",["a",' + "[" * 5000 + "]" * 5000 + "],1,[]]]",
        '["b",["nonsense"]]',
    ],
    ids=range(6),
)
def test_a_journal_with_a_poisoned_message_opens(letter: str, tmp_path: Path) -> None:
    wires, a = alone(store=tmp_path)
    a.insert("link", [("a", "y")])
    a.close()
    entry = f'["step",[{letter}]]'.encode()
    with (tmp_path / "journal.1").open("ab") as journal:
        journal.write(struct.pack(">II", len(entry), zlib.crc32(entry)) + entry)
    with Node("a", REACHABILITY, wires.transport("a"), store=tmp_path) as a:
        assert a["reachable"] == {("a", "y")}
        assert dict(a.rejected) == {"no packet": 1}
        a.resend()
        assert is_well(a)


def test_the_largest_height_is_not_passed_on() -> None:
    """One more would be beyond the bound, so that other nodes would reject the whole packet."""
    wires, a = alone()
    a.insert("link", [("a", "b")])
    send(wires, a, Offer(1, 1, ("#r2.s.none", ("a", "c")), LARGEST_COUNT))
    carrier = next(name for name in a.state.book.program.offered_relations if name.startswith("#"))
    send(
        wires,
        a,
        Offer(2, 1, (carrier, ("a", "c")), LARGEST_COUNT),
        Offer(3, 1, ("reachable", ("a", "d")), LARGEST_COUNT),
    )
    assert ("a", "d") in a["reachable"]
    assert all(said.height <= LARGEST_COUNT for peer in a.state.peers.values() for said in peer.said.values())
    assert is_well(a)


# --- what a peer may say ---------------------------------------------------------------------------------------------


def test_facts_of_a_node_are_its_own() -> None:
    wires, a = alone()
    send(wires, a, Offer(1, 1, ("link", ("a", "b")), 0))
    assert a["link"] == set()
    assert dict(a.rejected) == {"nobody derives it elsewhere": 1}


def test_a_relation_that_every_node_has_for_itself_is_nobody_elses() -> None:
    text = f'{REACHABILITY}\n.decl known(n: symbol) known("a").'
    wires, a = alone(text)
    send(wires, a, Offer(1, 1, ("known", ("b",)), 0), text=text)
    assert a["known"] == {("a",)}


def test_nobody_ends_the_roots_of_others() -> None:
    wires = SimulatedNetwork(1)
    a, c = (Node(name, REACHABILITY, wires.transport(name), peers="abc") for name in "ac")
    c.insert("link", [("c", "d")])
    a.insert("link", [("a", "c")])
    exchange(wires, a, c)
    assert ("a", "d") in a["reachable"]
    roots = [root for given in a.state.offers["reachable", ("a", "d")].values() for root in given.support]
    foreign = [root for root in roots if root[0] == ROOT]
    assert {root[1][0] for root in foreign} >= {"c"}
    guesses = [(ROOT, (node, number, mark)) for _, (node, number, digest) in foreign for mark in (digest, "", "0" * 16)]
    send(wires, a, Offer(1, 1, ("reachable", ("a", "x")), 1, frozenset(), frozenset([*foreign, *guesses])))
    assert {("a", "d"), ("a", "c"), ("a", "x")} <= a["reachable"]
    c.delete("link", [("c", "d")])
    exchange(wires, a, c)
    assert ("a", "d") not in a["reachable"]


def test_a_tuple_of_an_unknown_relation_is_not_kept() -> None:
    wires, a = alone()
    a.insert("link", [("a", "q")])
    offer = Offer(1, 1, ("later", ("a", 1, 2)), 1)
    send(wires, a, offer)
    assert "later" not in {fact[0] for fact in a.state.offers}
    rule = ".decl later(@x: symbol, y: symbol)\nl: later(@y, x) :- link(@x, y)."
    send(wires, a, RuleChange("l", 1, "b", rule))
    send(wires, a, offer)
    assert a.rejected["unknown relation"] == 1
    assert a.rejected["wrong type"] == 1
    send(wires, a, Offer(2, 1, ("later", ("a", "w")), 1))
    assert a["later"] == {("a", "w")}
    assert is_well(a)


def test_an_offer_before_its_rule_counts_when_it_is_said_again() -> None:
    wires = SimulatedNetwork(1)
    a, b = (Node(name, REACHABILITY, wires.transport(name), peers="ab") for name in "ab")
    b.insert("link", [("b", "a")])
    exchange(wires, a, b)
    b.rules.add(".decl twin(@x: symbol, y: symbol)\nt: twin(@y, x) :- link(@x, y).")
    kept = []
    while not wires.empty:
        receiver = wires.deliver()
        kept += wires.take("a") if receiver == "a" else []
    for sender, data in kept:  # without the change of the rule
        body = json.loads(data)
        body[6] = [message for message in body[6] if message[0] != "change"]
        wires.post(str(sender), "a", json.dumps(body).encode())
    exchange(wires, a, b)
    assert a.rejected["unknown relation"] == 1
    b.resend()
    exchange(wires, a, b)
    b.resend()
    exchange(wires, a, b)
    assert a["twin"] == {("a", "b")}
    assert b.quiet


# --- memory ----------------------------------------------------------------------------------------------------------


def test_the_memory_of_a_peer_is_bounded_and_there_is_room_again() -> None:
    wires, a = alone(limits=Limits(memory=100_000))
    many = [Offer(number, 1, ("reachable", ("a", f"x{number}")), 1) for number in range(1, 2000)]
    send(wires, a, *many)
    kept = len(a["reachable"])
    assert 100 < kept < 700
    assert a.rejected["too many tuples"] == 1999 - kept
    assert a.state.peers["b"].weight <= 100_000
    gone = [Offer(3000 + number, 3000, ("reachable", ("a", f"x{number}")), None) for number in range(1, kept + 1)]
    send(wires, a, *gone)
    assert a["reachable"] == set()
    send(wires, a, Offer(9000, 9000, ("reachable", ("a", "y")), 1))
    assert a["reachable"] == {("a", "y")}
    assert is_well(a)


def test_withdrawals_of_what_was_never_offered_are_bounded() -> None:
    wires, a = alone(limits=Limits(memory=10_000))
    send(wires, a, *[Offer(number, 1, ("reachable", ("a", f"x{number}")), None) for number in range(1, 2000)])
    assert len(a.state.peers["b"].graves) < 100


def test_what_a_peer_takes_is_the_same_after_a_restart(tmp_path: Path) -> None:
    wires, a = alone(store=tmp_path)
    send(wires, a, *[Offer(n, 1, ("reachable", ("a", f"x{n % 7}")), n % 3 or None) for n in range(1, 40)])
    weight = a.state.peers["b"].weight
    a.state.weigh_peers()
    assert a.state.peers["b"].weight == weight == load(dump(a.state)).peers["b"].weight > 0
    a.close()
    with Node("a", REACHABILITY, wires.transport("a"), store=tmp_path) as again:
        assert again.state.peers["b"].weight == weight


def test_nodes_that_nobody_has_heard_of_are_bounded() -> None:
    wires, a = alone(limits=Limits(peers=10))
    for number in range(30):
        wires.post("x", "a", raw('["offer",1,1,"reachable",["a","x"],1,[]]', sender=f'"n{number}"'))
    a.transport.receive = _unproven(a.transport.receive)  # type: ignore[method-assign]
    exchange(wires, a)
    assert len(a.state.peers) <= 11
    assert a.rejected["too many nodes"] >= 19
    a.ask()
    send(wires, a, Tell(a.state.survey.number, True, 0, tuple(f"m{number}" for number in range(1000))))
    assert len(a.state.survey.open_questions()) <= 11


def _unproven(receive: Callable[..., list[tuple[str | None, bytes]]]) -> Callable[..., list[tuple[str | None, bytes]]]:
    """As a transport that cannot prove who has sent a packet."""
    return lambda timeout=0.0: [(None, data) for _, data in receive(timeout)]


def test_a_tuple_of_others_with_a_surrogate_is_refused() -> None:
    wires, a = alone()
    send(wires, a, Offer(1, 1, ("reachable", ("a", "x\ud800")), 1))
    assert a.rejected["not UTF-8"] == 1
    assert not a["reachable"]


@pytest.mark.parametrize("name", ["n" * 70_000, "n\0"])
def test_what_lives_where_no_node_can_be_is_not_sent(name: str) -> None:
    text = f"{REACHABILITY}\n.decl heard(@x: symbol, y: symbol)\nh: heard(@y, x) :- reachable(@x, y)."
    wires, a = alone(text)
    send(wires, a, Offer(1, 1, ("reachable", ("a", name)), 1), text=text)
    assert name not in a.state.peers
    assert a.rejected["no such node"] >= 1
    a.resend()
    assert is_well(a)


# --- rules that travel -----------------------------------------------------------------------------------------------

TIGHT = Limits(steps=2_000, rows=300)
HUGE = 10**18


@pytest.mark.parametrize(
    "rule",
    [
        f"x: reachable(@s, to_string(n)) :- link(@s, _), n = range(0, {HUGE}).",
        f"x: reachable(@s, s) :- link(@s, _), n = range(0, {HUGE}), n < 0.",
        ".decl grow(@s: symbol, n: number)\nx: grow(@s, n + 1) :- grow(@s, n).\n",
        "x: reachable(@s, cat(d, d)) :- reachable(@s, d).",
        "x: reachable(@s, cat(cat(cat(cat(d, d), cat(d, d)), cat(d, d)), d)) :- reachable(@s, d).",
        "x: reachable(@s, d) :- reachable(@s, d), " + ", ".join(f"reachable(@s, v{n})" for n in range(12)) + ".",
    ],
    ids=range(6),
)
def test_a_rule_that_takes_too_much_is_set_aside(rule: str, tmp_path: Path) -> None:
    wires, a = alone(limits=TIGHT, store=tmp_path)
    if "grow" in rule:
        seed = ".decl grow(@s: symbol, n: number)\ny: grow(@s, 0) :- link(@s, _)."
        send(wires, a, RuleChange("y", 1, "b", seed))
    a.insert("link", [("a", f"q{number}") for number in range(5)])
    send(wires, a, RuleChange("x", 2, "b", rule))
    assert list(a.state.book.refused) == ["x"]
    assert a.rejected["rule takes too much"] == 1
    assert len(a["reachable"]) == 5
    assert is_well(a)
    state = dump(a.state)
    a.close()
    with Node("a", REACHABILITY, wires.transport("a"), store=tmp_path) as again:
        assert dump(again.state) == state
        assert list(again.state.book.refused) == ["x"]


def test_a_text_that_doubles_within_a_rule_is_never_made() -> None:
    wires, a = alone()
    a.insert("link", [("a", "q")])
    doubled = ", ".join(f"y{level} = cat(y{level - 1}, y{level - 1})" for level in range(1, 25))
    rule = f"x: reachable(@s, to_string(strlen(y24))) :- link(@s, y0), {doubled}."
    send(wires, a, RuleChange("x", 1, "b", rule))
    assert list(a.state.book.refused) == ["x"]
    assert a["reachable"] == {("a", "q")}


def test_a_rule_that_derives_too_many_rows_is_set_aside() -> None:
    wires, a = alone(limits=Limits(rows=50))
    rule = "x: reachable(@s, cat(d, e)) :- link(@s, d), link(@s, e)."
    send(wires, a, RuleChange("x", 1, "b", rule))
    a.insert("link", [("a", f"q{number}") for number in range(7)])
    assert len(a["reachable"]) == 7 + 49
    a.insert("link", [("a", "q7")])
    assert list(a.state.book.refused) == ["x"]
    assert len(a["reachable"]) == 8


def test_a_rule_that_takes_too_much_only_at_a_later_tuple_is_set_aside_then() -> None:
    wires, a = alone(limits=TIGHT)
    rule = f'x: reachable(@s, "lost") :- link(@s, y), n = range(0, {HUGE} * (4 - strlen(y))), n < 0.'
    send(wires, a, RuleChange("x", 1, "b", rule))
    a.insert("link", [("a", "good")])
    assert dict(a.state.book.refused) == {}
    a.insert("link", [("a", "bad")])
    assert list(a.state.book.refused) == ["x"]
    assert a["reachable"] == {("a", "good"), ("a", "bad")}
    send(wires, a, RuleChange("x", 2, "b", "x: reachable(@s, s) :- link(@s, _)."))
    assert dict(a.state.book.refused) == {}
    assert ("a", "a") in a["reachable"]


def test_a_rule_that_is_too_large_is_set_aside() -> None:
    wires, a = alone()
    for number, atoms in enumerate((100, 3000)):
        body = ", ".join(f"link(@s, v{atom})" for atom in range(atoms))
        send(wires, a, RuleChange(f"x{number}", number + 1, "b", f"x{number}: reachable(@s, s) :- {body}."))
    assert list(a.state.book.refused) == ["x1"]
    assert "E0507" in a.state.book.refused["x1"]
    assert is_well(a)


def test_a_tuple_of_others_at_which_an_own_rule_takes_too_much_is_not_used(tmp_path: Path) -> None:
    text = """
.decl link(@x: symbol, y: symbol)
.decl limit(@x: symbol, k: number)
.decl asked(@x: symbol, k: number)
.decl upto(@x: symbol, n: number)
a: asked(@y, k) :- link(@x, y), limit(@x, k).
u: upto(@x, n) :- asked(@x, k), n = range(0, k).
"""
    wires, a = alone(text, limits=TIGHT, store=tmp_path)
    send(wires, a, Offer(1, 1, ("asked", ("a", HUGE)), 1), Offer(2, 1, ("asked", ("a", 3)), 1), text=text)
    assert a["upto"] == {("a", 0), ("a", 1), ("a", 2)}
    assert a["asked"] == {("a", 3)}
    assert a.rejected["takes too much"] == 1
    state = dump(a.state)
    assert dump(load(state)) == state
    assert load(state).excluded == {("asked", ("a", HUGE)): None}
    a.close()
    with Node("a", text, wires.transport("a"), store=tmp_path) as again:
        assert dump(again.state) == state
        send(wires, again, Offer(3, 1, ("asked", ("a", HUGE)), None), text=text)
        assert again.state.excluded == {}


@pytest.mark.parametrize(
    ("limits", "taken"),
    [
        (Limits(), True),
        (Limits(senders=frozenset("b")), True),
        (Limits(senders=frozenset("c")), False),
        (Limits(senders=frozenset()), False),
        (Limits(names=frozenset(["x"])), True),
        (Limits(names=frozenset(["y"])), False),
        (Limits(rules=1), False),
    ],
)
def test_who_may_change_which_rules(limits: Limits, taken: bool) -> None:
    wires, a = alone(limits=limits)
    a.rules.add("own: reachable(@s, s) :- link(@s, _).")
    send(wires, a, RuleChange("x", 5, "b", 'x: reachable(@s, "w") :- link(@s, _).'))
    assert ("x" in a.state.book.rules) is taken
    assert "own" in a.state.book.rules
    assert sum(a.rejected.values()) == (not taken)


def test_nobody_uses_up_the_versions() -> None:
    wires, a = alone()
    send(wires, a, RuleChange("x", LARGEST_COUNT, "b", None), RuleChange("y", VERSION_STEP + 1, "b", None))
    assert a.rejected["version too far"] == 2
    a.rules.add("own: reachable(@s, s) :- link(@s, _).")
    assert a.state.book.changes["own"].version == 1


def test_former_locations_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.network.choices.FORMER_RELATIONS", 20)
    _, a = alone()
    for version in range(1, 40):
        rule = f".decl t{version}(@x: symbol)\nx: t{version}(@y) :- link(@x, y)."
        a.state.step([("b", RuleChange("x", version, "b", rule))])
    assert len(a.state.locations) < 30


@pytest.mark.parametrize("file", ["lock", "state", "state.new", "journal.1", "journal.2"])
def test_a_store_writes_nothing_outside(file: str, tmp_path: Path) -> None:
    wires, a = alone(store=tmp_path / "a")
    a.insert("link", [("a", "y")])
    a.close()
    outside = tmp_path / "outside"
    outside.write_bytes((tmp_path / "a" / file).read_bytes() if (tmp_path / "a" / file).exists() else b"precious")
    before = outside.read_bytes()
    (tmp_path / "a" / file).unlink(missing_ok=True)
    (tmp_path / "a" / file).symlink_to(outside)

    def go_on() -> None:
        with Node("a", REACHABILITY, wires.transport("a"), store=tmp_path / "a") as again:
            again._journal.begin(again.state)  # type: ignore[union-attr]

    with pytest.raises(UsageError, match="E0623"):
        go_on()
    assert outside.read_bytes() == before


# --- a node's own user -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (("a", nested(101)), "E0402"),
        (("a", nested(10_000)), "E0402"),
        (("a", ("x" * (LONGEST_TEXT + 1), None)), "E0402"),
        (("a\ud800", None), "E0408"),
        (("a", ("\udfff", None)), "E0408"),
        (("a", ("b", ("b\ud800", None))), "E0408"),
    ],
    ids=range(6),
)
def test_a_fact_that_no_packet_holds_is_rejected(row: tuple[Any, ...], code: str) -> None:
    _, a = alone(LISTS)
    for verb in ("insert", "delete"):
        with pytest.raises(DataError, match=code):
            getattr(a, verb)("item", [row])
    a.insert("item", [("a", nested(99))])
    assert len(a["item"]) == 1


def test_a_rule_that_takes_too_much_is_removed_again() -> None:
    _, a = alone(limits=TIGHT)
    a.insert("link", [("a", "y")])
    with pytest.raises(LimitError, match="E0507"):
        a.rules.add(f"x: reachable(@s, to_string(n)) :- link(@s, _), n = range(0, {HUGE}).")
    assert a.state.book.rules == ("r1", "r2")
    assert a["reachable"] == {("a", "y")}


def test_a_rule_that_is_too_large_does_not_travel() -> None:
    _, a = alone()
    with pytest.raises(LimitError, match="E0507"):
        a.rules.add("x: reachable(@s, s) :- " + ", ".join("link(@s, _)" for _ in range(300)) + ".")


def test_a_fact_from_which_something_too_large_follows_is_rejected() -> None:
    text = LISTS.replace("s: seen(@y, l) :- link(@x, y), item(@x, l).", 's: seen(@x, ["y", l]) :- item(@x, l).')
    _, a = alone(text)
    a.insert("item", [("a", nested(98))])
    with pytest.raises(LimitError, match="E0507"):
        a.insert("item", [("a", nested(99))])
    assert len(a["item"]) == len(a["seen"]) == 1


@pytest.mark.parametrize("name", ["\ud800", "n" * 256, "a\0b", "ä" * 128])
def test_a_name_that_no_node_can_have(name: str) -> None:
    wires = SimulatedNetwork(1)
    for names in ((name, []), ("a", [name])):
        with pytest.raises(UsageError, match="E0624"):
            Node(names[0], REACHABILITY, wires.transport("a"), peers=names[1])


@pytest.mark.parametrize(
    "wrong", [{"memory": 0}, {"steps": "many"}, {"senders": "abc"}, {"names": [1]}, {"peers": True}]
)
def test_limits_of_wrong_values(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="E0624"):
        Limits(**wrong)


def test_other_limits_count_from_then_on(tmp_path: Path) -> None:
    wires, a = alone(limits=Limits(memory=1000), store=tmp_path)
    offers = [Offer(number, 1, ("reachable", ("a", f"x{number}")), 1) for number in range(1, 50)]
    send(wires, a, *offers)
    kept = len(a["reachable"])
    a.close()
    for limits, more in ((None, False), (Limits(), True)):
        with Node("a", REACHABILITY, wires.transport("a"), store=tmp_path, limits=limits) as again:
            assert len(again["reachable"]) == kept
            send(wires, again, *offers)
            assert (len(again["reachable"]) > kept) is more
