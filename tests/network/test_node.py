"""Nodes with their transports and stores: what is refused, what survives, and when the whole network is quiet."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.network.cases import REACHABILITY, exchange
from tidelog.errors import DataError, LimitError, UsageError
from tidelog.network import Node, SimulatedNetwork
from tidelog.network.messages import Ack, Base, Floor, Heard, Hello, Message, Offer, RuleChange
from tidelog.network.node_state import Letter, NodeState
from tidelog.network.rulebook import Rulebook
from tidelog.network.wire import Packet, decode, encode

FINGERPRINT = Rulebook(REACHABILITY).fingerprint


def pair(**options: object) -> tuple[SimulatedNetwork, Node, Node]:
    wires = SimulatedNetwork(1)
    a, b = (Node(name, REACHABILITY, wires.transport(name), peers="ab", **options) for name in "ab")  # type: ignore[arg-type]
    return wires, a, b


def packet(
    *messages: Message,
    sender: str = "b",
    receiver: str = "a",
    fingerprint: str = FINGERPRINT,
    incarnation: int = 0,
    known: int = 0,
) -> bytes:
    return encode(Packet(sender, receiver, fingerprint, messages, incarnation, known))


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "data"),
    [
        ("no packet", b""),
        ("no packet", packet(Ack(1))[:-1]),
        ("no packet", packet(Base(("link", ("a", "b")), True))),
        ("another program", packet(fingerprint="0" * 16)),
        ("for another node", packet(receiver="c")),
        ("forged sender", packet(sender="c")),
        ("no packet", packet(sender="\0")),
        ("wrong type", packet(Offer(1, 1, ("reachable", ("a", 7)), 0))),
        ("wrong type", packet(Offer(1, 1, ("reachable", ("a",)), 0))),
        ("not ours", packet(Offer(1, 1, ("reachable", ("b", "a")), 0))),
        ("unknown relation", packet(Offer(1, 1, ("unknown", ("a", "b")), 0))),
        ("nobody derives it elsewhere", packet(Offer(1, 1, ("link", ("a", "b")), 0))),
    ],
)
def test_a_bad_packet_is_counted_and_changes_nothing(reason: str, data: bytes) -> None:
    wires, a, _ = pair()
    wires.post("b", "a", data)
    exchange(wires, a)
    assert dict(a.rejected) == {reason: 1}
    assert a["link"] == set()


def test_an_unknown_node_is_refused_where_nodes_are_known() -> None:
    wires, a, _ = pair(known_only=True)
    wires.post("c", "a", packet(Offer(1, 1, ("reachable", ("a", "x")), 1), sender="c"))
    exchange(wires, a)
    assert dict(a.rejected) == {"unknown node": 1}
    assert a["reachable"] == set()


def test_what_is_heard_again_is_counted_and_acknowledged() -> None:
    wires, a, _ = pair()
    for _ in range(3):
        wires.post("b", "a", packet(Offer(1, 1, ("reachable", ("a", "x")), 1)))
        exchange(wires, a)
    assert dict(a.rejected) == {"heard before": 2}
    assert a["reachable"] == {("a", "x")}


def test_who_greets_is_heard_and_has_withdrawn_nothing() -> None:
    wires, a, _ = pair()
    wires.post("b", "a", packet(Hello()))
    wires.deliver()
    a.turn()
    [(_, data)] = wires.take("b") or [wires._flight.pop()[1:]]
    assert decode(data, receiver="b", fingerprint=FINGERPRINT).messages == (Heard(0),)


def test_acknowledgements_of_nothing_change_nothing() -> None:
    wires, a, _ = pair()
    wires.post("b", "a", packet(Ack(99), Floor(5), Floor(2)))
    exchange(wires, a)
    assert a.quiet


def test_a_rule_from_elsewhere_cannot_read_files(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    wires, a, _ = pair()
    rule = f'#include "{tmp_path / "secret"}"\nx: reachable(@s, s) :- link(@s, _).'
    wires.post("b", "a", packet(RuleChange("x", 1, "b", rule)))
    exchange(wires, a)
    assert list(a.state.book.refused) == ["x"]
    assert "E0111" in a.state.book.refused["x"]


@pytest.mark.parametrize("text", ["", "nonsense", "a(1). b(2).", "x: reachable(@s, t) :- link(@s, _).", "\0"])
def test_a_wrong_rule_from_elsewhere_is_set_aside(text: str) -> None:
    wires, a, b = pair()
    a.insert("link", [("a", "b")])
    wires.post("b", "a", packet(RuleChange("x", 1, "b", text)))
    exchange(wires, a, b)
    assert list(a.state.book.refused) == ["x"]
    assert a["reachable"] == {("a", "b")}


def test_facts_of_another_node() -> None:
    _, a, _ = pair()
    with pytest.raises(UsageError, match="E0622"):
        a.insert("link", [("a", "b"), ("b", "a")])
    assert a["link"] == set()


# --- quiet -----------------------------------------------------------------------------------------------------------


def test_a_node_is_quiet_when_all_that_it_said_was_heard() -> None:
    wires, a, b = pair()
    a.insert("link", [("a", "b")])
    assert not a.quiet
    exchange(wires, a, b)
    assert a.quiet


def test_a_run_says_whether_it_has_come_so() -> None:
    _, a, _ = pair()
    assert a.run(0.0, until=lambda: True)
    assert not a.run(0.0, until=lambda: False)


def ask_twice(wires: SimulatedNetwork, a: Node, *others: Node) -> bool:
    for _ in range(2):
        a.ask()
        exchange(wires, a, *others)
    return a.state.network_quiet


def test_the_network_is_quiet_when_all_nodes_are() -> None:
    wires, a, b = pair()
    a.insert("link", [("a", "b")])
    assert not a.state.network_quiet
    exchange(wires, a, b)
    assert ask_twice(wires, a, b)


def test_one_round_of_answers_is_not_enough() -> None:
    wires, a, b = pair()
    a.ask()
    exchange(wires, a, b)
    assert not a.state.network_quiet
    b.insert("link", [("b", "x"), ("b", "y")])
    exchange(wires, a, b)
    assert not ask_twice(wires, a, b)  # x and y never answer


def test_activity_between_two_rounds_is_seen() -> None:
    wires, a, b = pair()
    a.ask()
    exchange(wires, a, b)
    a.insert("link", [("a", "b")])
    exchange(wires, a, b)
    a.ask()
    exchange(wires, a, b)
    assert not a.state.network_quiet
    assert ask_twice(wires, a, b)


def test_nodes_that_only_others_know_are_asked() -> None:
    wires, a, b = pair()
    c = Node("c", REACHABILITY, wires.transport("c"), peers=["b"])
    b.state.meet("c")
    wires.cut("ab", "c")
    c.insert("link", [("c", "b")])
    wires.heal()
    assert not ask_twice(wires, a, b, c)
    c.resend()
    exchange(wires, a, b, c)
    assert ask_twice(wires, a, b, c)


def test_a_node_that_never_answers_is_told_less_often() -> None:
    wires, a, _ = pair()
    a.insert("link", [("a", "b"), ("a", "c")])
    exchange(wires, a)
    sent = []
    for _ in range(25):
        before = wires.packets
        a.resend(everyone=False)
        sent.append(wires.packets - before)
    assert [number for number, packets in enumerate(sent, 1) if packets] == [1, 2, 4, 8, 16, 24]


# --- stores ----------------------------------------------------------------------------------------------------------


def test_a_node_goes_on_from_its_store(tmp_path: Path) -> None:
    wires = SimulatedNetwork(1)
    b = Node("b", REACHABILITY, wires.transport("b"), peers="ab")
    for round_number in range(5):
        with Node("a", REACHABILITY, wires.transport("a"), peers="ab", store=tmp_path / "a") as a:
            a.insert("link", [("a", f"x{round_number}"), ("a", "b")])
            if round_number == 2:
                b.insert("link", [("b", "y")])
                a.rules.add("back: reachable(@s, s) :- link(@s, _).")
            exchange(wires, a, b)
            a.resend()
            assert len(a["link"]) == round_number + 2
    assert {("a", "y"), ("a", "a"), ("a", "x4")} <= a["reachable"]
    assert b.state.book.rules == ("r1", "r2", "back")


def test_every_cut_of_the_journal_is_a_state_before(tmp_path: Path) -> None:
    wires = SimulatedNetwork(1)
    store = tmp_path / "a"
    sizes = []
    with Node("a", REACHABILITY, wires.transport("a"), store=store) as a:
        journal = store / "journal.1"
        for number in range(4):
            sizes.append(journal.stat().st_size)
            a.insert("link", [("a", str(number))])
    whole = journal.read_bytes()
    for length in range(len(whole) + 1):
        journal.write_bytes(whole[:length])
        with Node("a", REACHABILITY, wires.transport("a"), store=store) as a:
            assert len(a["link"]) == sum(
                size < length and next_size <= length for size, next_size in _steps(sizes, whole)
            )


def _steps(sizes: list[int], whole: bytes) -> list[tuple[int, int]]:
    return list(zip(sizes, [*sizes[1:], len(whole)], strict=True))


def test_the_journal_begins_anew_when_it_is_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.network.journal.LONGEST", 500)
    wires = SimulatedNetwork(1)
    with Node("a", REACHABILITY, wires.transport("a"), store=tmp_path) as a:
        for number in range(40):
            a.insert("link", [("a", str(number))])
    assert len(list(tmp_path.glob("journal.*"))) == 1
    assert not (tmp_path / "journal.1").exists()
    with Node("a", REACHABILITY, wires.transport("a"), store=tmp_path) as a:
        assert len(a["link"]) == 40


def test_a_store_belongs_to_one_process_one_node_and_one_program(tmp_path: Path) -> None:
    wires = SimulatedNetwork(1)
    with Node("a", REACHABILITY, wires.transport("a"), store=tmp_path):
        assert code(lambda: Node("a", REACHABILITY, wires.transport("a"), store=tmp_path)) == "E0623"
    assert code(lambda: Node("b", REACHABILITY, wires.transport("b"), store=tmp_path)) == "E0623"
    assert code(lambda: Node("a", f"{REACHABILITY}\n", wires.transport("a"), store=tmp_path)) == "E0623"
    Node("a", REACHABILITY, wires.transport("a"), store=tmp_path).close()


@pytest.mark.parametrize("state", [b"", b"1\n", b"1\n{}", b"x\n{}", b"1\n[1]", b'1\n{"format": 9}'])
def test_a_state_that_cannot_be_read(tmp_path: Path, state: bytes) -> None:
    (tmp_path / "state").write_bytes(state)
    with pytest.raises(DataError) as caught:
        Node("a", REACHABILITY, SimulatedNetwork(1).transport("a"), store=tmp_path)
    assert caught.value.code == "E0416"
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("functor", ["ord", "strlen"])
def test_a_state_with_another_meaning_of_ord_cannot_be_read(tmp_path: Path, functor: str) -> None:
    text = f".decl s(@n: symbol, x: symbol) .decl v(@n: symbol, k: number)\nv(@n, {functor}(x)) :- s(@n, x)."
    wires = SimulatedNetwork(1)
    with Node("a", text, wires.transport("a"), store=tmp_path) as node:
        node.insert("s", [("a", "x")])
        assert node._journal is not None
        node._journal.begin(node.state)
    state = tmp_path / "state"
    state.write_bytes(state.read_bytes().replace(b'{"format":5,', b'{"format":4,', 1))
    if functor == "ord":
        with pytest.raises(DataError, match="meant something else"):
            Node("a", text, wires.transport("a"), store=tmp_path)
    else:
        Node("a", text, wires.transport("a"), store=tmp_path).close()


def code(call: object) -> str:
    with pytest.raises(UsageError) as caught:
        call()  # type: ignore[operator]
    return caught.value.code


def test_a_node_without_memory_closes_and_comes_back_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step has changed half of the machine when memory runs out."""
    wires = SimulatedNetwork(1)
    node = Node("a", REACHABILITY, wires.transport("a"), peers="ab", store=tmp_path)
    node.insert("link", [("a", "b")])
    before = node["link"], node["reachable"]
    step = NodeState.step

    def half(machine: NodeState, letters: list[Letter]) -> list[Letter]:
        step(machine, letters)
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(NodeState, "step", half)
        with pytest.raises(LimitError, match="E0503"):
            node.insert("link", [("a", "c")])
    with Node("a", REACHABILITY, wires.transport("a"), peers="ab", store=tmp_path) as again:
        assert (again["link"], again["reachable"]) == before
        again.insert("link", [("a", "c")])
        assert again["link"] == {("a", "b"), ("a", "c")}
