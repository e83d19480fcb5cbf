"""Questions for reasons, and reasons, from peers that mean harm: bounds hold, nothing of it is a step of a node, and no
lie becomes a step of a proof."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.network.cases import REACHABILITY
from tests.network.test_hostile import alone, is_well, raw, send
from tests.network.test_node import FINGERPRINT, packet
from tidelog.errors import ProofRejected, UsageError
from tidelog.explain.proof import Proof
from tidelog.network import Limits, Node, SimulatedNetwork
from tidelog.network.inquiry import reasons, weight_of
from tidelog.network.journal import dump
from tidelog.network.limits import LARGEST_ANSWER, MOST_ASKED, MOST_NEEDED, MOST_QUESTIONS, MOST_REASONS, Meter
from tidelog.network.messages import Because, NodeReason, Offer, Why
from tidelog.network.program import LocatedTuple
from tidelog.network.rulebook import Rulebook
from tidelog.network.wire import decode, reason_from_json, reason_to_json

PROGRAM = Rulebook(REACHABILITY).program
R1, R2 = (
    next(rule.key for rule in PROGRAM.rules if rule.origin == name and rule.head.relation == "reachable")
    for name in ("r1", "r2")
)
SENT = next(rule for rule in PROGRAM.rules if rule.head.relation.startswith("#"))
CARRIER = SENT.head.relation
GOAL = ("reachable", ("a", "c"))


def asked(wires: SimulatedNetwork, node: Node) -> list[tuple[str, Why]]:
    """Deliver everything, and return the questions to nodes that do not exist."""
    found = []
    while not wires.empty:
        receiver = wires.deliver()
        if receiver == node.name:
            node.turn()
        elif receiver is not None:
            for _, data in wires.take(receiver):
                messages = decode(data, receiver=receiver, fingerprint=FINGERPRINT).messages
                found += [(receiver, each) for each in messages if isinstance(each, Why)]
    return found


def told(wires: SimulatedNetwork, node: Node, goal: LocatedTuple, lies: dict[str, list[NodeReason]]) -> Proof:
    """Let a node ask for a tuple, and others answer."""
    inquiry = node.begin_inquiry(*goal)
    for _ in range(10):
        for receiver, why in asked(wires, node):
            answer = Because(why.number, tuple(lies.get(receiver, ())))
            wires.post(receiver, node.name, packet(answer, sender=receiver, receiver=node.name))
    return node.proof_of(inquiry)


# --- bounds ----------------------------------------------------------------------------------------------------------

FACT = '"reachable",["a","x"]'


def check(proof: Proof) -> None:
    """Check a proof without a database, which rejects one that has not explained its own tuple."""
    with pytest.raises(ProofRejected) if proof.goal.sort == "open" else nullcontext():
        proof.check()


@pytest.mark.parametrize(
    "data",
    [
        raw('["why",-1,[]]'),
        raw('["why",1]'),
        raw('["why",1,"ab"]'),
        raw('["why",1,[["reachable"]]]'),
        raw('["why",1,[["reachable",["a",NaN]]]]'),
        raw(f'["why",1,{json.dumps([["reachable", ["a", "b"]]] * (MOST_ASKED + 1))}]'),
        raw(f'["because",1,{json.dumps([["asserted", "reachable", ["a", "b"]]] * (MOST_REASONS + 1))}]'),
        raw('["because",1,[["nonsense","reachable",["a","b"]]]]'),
        raw('["because",1,["asserted"]]'),
        raw(f'["because",1,[["asserted",{FACT},1]]]'),
        raw(f'["because",1,[["heard",{FACT}]]]'),
        raw(f'["because",1,[["heard",{FACT},"\\u0000"]]]'),
        raw(f'["because",1,[["derived",{FACT},"r1",-1,[],[]]]]'),
        raw(f'["because",1,[["derived",{FACT},7,0,[],[]]]]'),
        raw(f'["because",1,[["derived",{FACT},"r1",0,{json.dumps([["link", ["a", "b"]]] * (MOST_NEEDED + 1))},[]]]]'),
        raw(f'["because",1,[["derived",{FACT},"r1",0,[],{json.dumps([["link", ["a", "b"]]] * (MOST_NEEDED + 1))}]]]'),
        raw(f'["because",1,[["aggregated",{FACT},"r1",0,[["link",["a"]]],[],1]]]'),
        raw(f'["because",1,[["aggregated",{FACT},"r1",0,[["link",["a"]]],["a"],0]]]'),
        raw(f'["because",1,[["aggregated",{FACT},"r1",0,{json.dumps([["link", ["a"]]] * 4)},["a","a","a","a"],9]]]'),
    ],
    ids=lambda data: f"{len(data)} {data[24:70]!r}",
)
def test_a_field_beyond_its_bound_makes_no_packet(data: bytes) -> None:
    wires, a = alone()
    wires.post("b", "a", data)
    wires.deliver()
    a.turn()
    assert dict(a.rejected) == {"no packet": 1}
    assert is_well(a)


@pytest.mark.parametrize(
    "reason",
    [
        NodeReason(GOAL, "asserted"),
        NodeReason(GOAL, "missing"),
        NodeReason(GOAL, "withheld"),
        NodeReason(GOAL, "heard", ("b",)),
        NodeReason(GOAL, "derived", (), "r1.x", 3, (("link", ("a", 7)),), (("link", ("a", None)),)),
        NodeReason(GOAL, "aggregated", ("b", "c"), "r1.x", 0, (("link", ("a", 7)), ("link", ("a", (1.5, "x")))), (), 9),
    ],
    ids=lambda reason: reason.sort,
)
def test_a_reason_comes_back_from_its_bytes(reason: NodeReason) -> None:
    assert reason_from_json(json.loads(json.dumps(reason_to_json(reason)))) == reason


def test_a_question_changes_nothing(tmp_path: Path) -> None:
    """Not even the nodes that are known, nor the journal."""
    wires, a = alone(store=tmp_path)
    a.insert("link", [("a", "b")])
    before = (tmp_path / "journal.1").read_bytes(), dump(a.state)
    facts = (GOAL, ("reachable", ("a", "b")), ("unknown", ("x",)), ("link", ("a",)), ("link", ()))
    for sender in ("b", "z"):
        wires.post(sender, "a", packet(Why(1, facts), sender=sender))
        wires.post(sender, "a", packet(Because(1, (NodeReason(GOAL, "asserted"),)), sender=sender))
    assert asked(wires, a) == []
    assert ((tmp_path / "journal.1").read_bytes(), dump(a.state)) == before
    assert a.messages["Because"] == 2
    a.close()


def test_a_node_answers_so_many_questions_of_a_peer_at_a_time() -> None:
    wires, a = alone()
    send(wires, a, *(Why(number, (GOAL,)) for number in range(MOST_QUESTIONS + 5)))
    assert a.messages["Because"] == MOST_QUESTIONS
    assert dict(a.rejected) == {"too many questions": 5}


def test_an_answer_has_so_many_reasons_of_so_many_bytes() -> None:
    _, a = alone()
    a.insert("link", [("a", f"n{number}") for number in range(2 * MOST_REASONS)])
    facts = [("reachable", row) for row in a["reachable"]]
    found = reasons(a.state, facts, Meter(None))
    assert len(found) == MOST_REASONS
    assert found[0].fact == facts[0]
    _, a = alone()
    a.insert("link", [("a", f"{number}{'x' * 100_000}") for number in range(20)])
    facts = [("reachable", row) for row in a["reachable"]]
    found = reasons(a.state, facts, Meter(None))
    assert 1 < len(found) < 20
    assert sum(map(weight_of, found)) <= LARGEST_ANSWER
    a.insert("link", [("a", "y" * 1_000_000)])
    (large,) = reasons(a.state, [("reachable", ("a", "y" * 1_000_000))], Meter(None))
    assert large.sort == "withheld"


def test_a_reason_that_takes_too_many_steps_is_withheld() -> None:
    _, a = alone()
    a.insert("link", [("a", "x")])
    (found,) = reasons(a.state, [("reachable", ("a", "x"))], Meter(0))
    assert found == NodeReason(("reachable", ("a", "x")), "withheld")


def test_answers_to_other_questions_do_not_count() -> None:
    wires, a = alone(limits=Limits(memory=10_000))
    send(wires, a, Offer(1, 1, GOAL, 1))
    inquiry = a.begin_inquiry(*GOAL)
    (question,) = asked(wires, a)
    derived = NodeReason(GOAL, "derived", (), R2, 0, ((CARRIER, ("b", "a")), ("reachable", ("b", "c"))), ())
    other = NodeReason(("link", ("b", "c")), "asserted")
    for sender, answer in [
        ("b", Because(question[1].number + 1, (derived,))),
        ("c", Because(question[1].number, (derived,))),
        ("b", Because(question[1].number, (other,))),
    ]:
        wires.post(sender, "a", packet(answer, sender=sender))
    asked(wires, a)
    assert list(inquiry.reasons) == [("a", GOAL)]
    long = NodeReason(GOAL, "derived", (), R2, 0, ((CARRIER, ("b", "a")), ("reachable", ("b", "c" * 10_000))), ())
    wires.post("b", "a", packet(Because(question[1].number, (long,))))
    asked(wires, a)
    assert list(inquiry.reasons) == [("a", GOAL)]
    assert inquiry.complete
    assert a.proof_of(inquiry).is_partial


# --- lies ------------------------------------------------------------------------------------------------------------


def by(rule: str, *body: LocatedTuple, fact: LocatedTuple = GOAL) -> NodeReason:
    return NodeReason(fact, "derived", (), rule, 0, body, ())


CARRIED, ONWARD = (CARRIER, ("b", "a")), ("reachable", ("b", "c"))
UNFIT = "the reason that node b gives does not fit the rules"


@pytest.mark.parametrize(
    ("lies", "gap"),
    [
        ([NodeReason(GOAL, "asserted")], UNFIT),
        ([NodeReason(GOAL, "heard", ("z",))], UNFIT),
        ([NodeReason(GOAL, "missing")], "node b does not derive it any more"),
        ([NodeReason(GOAL, "withheld")], "the reason of node b is too large to send"),
        ([NodeReason(GOAL, "aggregated", (), R2, 0, (), (), 3)], UNFIT),
        ([by("r9.x")], "node b derives it by rule r9 version 0, which is unknown here"),
        ([by(R1, ("link", ("a", "c")))], UNFIT),
        ([by(R2, CARRIED)], UNFIT),
        ([by(R2, ONWARD, CARRIED)], UNFIT),
        ([by(R2, CARRIED, ("reachable", ("b",)))], UNFIT),
        ([by(R2, CARRIED, ("reachable", ("b", 7)))], UNFIT),
        ([by(SENT.key, ("link", ("b", "a")))], UNFIT),
        ([], "node b has not answered"),
        ([by(R2, CARRIED, ("reachable", ("b", "d"))), NodeReason(("reachable", ("b", "d")), "asserted")], UNFIT),
    ],
)
def test_a_lie_is_an_open_leaf_with_the_name_of_its_node(lies: Sequence[NodeReason], gap: str) -> None:
    wires, a = alone()
    a.insert("link", [("a", "b")])
    send(wires, a, Offer(1, 1, GOAL, 1))
    proof = told(wires, a, GOAL, {"b": [*lies, NodeReason(CARRIED, "heard", ("a",))]})
    assert [(step.sort, step.node, step.gap) for step in proof.steps] == [("open", "b", gap)]
    check(proof)


def test_a_node_asserts_what_it_likes_of_its_own_tuples() -> None:
    wires, a = alone()
    a.insert("link", [("a", "b")])
    send(wires, a, Offer(1, 1, GOAL, 1))
    lies = [by(R2, CARRIED, ONWARD), NodeReason(CARRIED, "heard", ("a",)), NodeReason(ONWARD, "asserted")]
    proof = told(wires, a, GOAL, {"b": lies})
    expected = """\
reachable("a", "c")   [r2 at <text>:5:1, node b]
├─ link("a", "b")   [fact, node a]
└─ reachable("b", "c")   [fact, node b]"""
    assert str(proof) == expected
    check(proof)


def test_a_join_with_a_tuple_that_was_never_sent_is_open() -> None:
    wires, a = alone()
    send(wires, a, Offer(1, 1, GOAL, 1))
    lies = [by(R2, CARRIED, ONWARD), NodeReason(CARRIED, "heard", ("a",)), NodeReason(ONWARD, "asserted")]
    proof = told(wires, a, GOAL, {"b": lies})
    assert [(step.tuple_text, step.sort) for step in proof.steps] == [
        ('link("a", "b")', "open"),
        ('reachable("b", "c")', "fact"),
        ('reachable("a", "c")', "rule"),
    ]
    check(proof)


def test_reasons_that_rest_on_each_other_are_open() -> None:
    """Two nodes that answer at different moments, or lie: each derives its tuple from the other's."""
    wires, a = alone()
    goal, back = ("reachable", ("b", "x")), ("reachable", ("c", "x"))
    to_c, to_b = (CARRIER, ("c", "b")), (CARRIER, ("b", "c"))
    link, return_link = ("link", ("b", "c")), ("link", ("c", "b"))
    lies = {
        "b": [
            NodeReason(goal, "heard", ("c",)),
            by(SENT.key, link, fact=to_c),
            NodeReason(link, "asserted"),
            by(R2, to_b, goal, fact=back),
            NodeReason(to_b, "heard", ("c",)),
        ],
        "c": [
            by(R2, to_c, back, fact=goal),
            NodeReason(to_c, "heard", ("b",)),
            NodeReason(back, "heard", ("b",)),
            by(SENT.key, return_link, fact=to_b),
            NodeReason(return_link, "asserted"),
        ],
    }
    proof = told(wires, a, goal, lies)
    expected = """\
reachable("b", "x")   [r2 at <text>:5:1, node c]
├─ link("b", "c")   [fact, node b]
└─ reachable("c", "x")   [r2 at <text>:5:1, node b]
   ├─ link("c", "b")   [fact, node c]
   └─ reachable("b", "x")   [not explained: the reasons that nodes give rest on each other]"""
    assert str(proof) == expected
    check(proof)


def test_only_the_node_of_a_tuple_says_that_it_does_not_hold() -> None:
    wires, a = alone()
    with pytest.raises(UsageError, match="E0670"):
        told(wires, a, ("reachable", ("b", "x")), {"b": [NodeReason(("reachable", ("b", "x")), "missing")]})


def test_reasons_without_end_cost_the_budget_of_questions() -> None:
    """Each node has heard of its tuple from another one, which has derived it from one of its own."""

    def reason(node: str, fact: LocatedTuple) -> NodeReason:
        relation, (owner, other) = fact
        if relation == CARRIER and owner == node:
            return NodeReason(fact, "heard", (other,))
        if relation == CARRIER:
            return by(SENT.key, ("link", (node, owner)), fact=fact)
        if relation == "link":
            return NodeReason(fact, "asserted")
        return (
            NodeReason(fact, "heard", (f"{node}'",))
            if owner == node
            else by(R2, (CARRIER, (node, owner)), (relation, (node, other)), fact=fact)
        )

    wires, a = alone()
    inquiry = a.begin_inquiry("reachable", ("b", "x"), 20)
    count = 0
    while questions := asked(wires, a):
        count += len(questions)
        for receiver, why in questions:
            answer = Because(why.number, tuple(reason(receiver, fact) for fact in why.facts))
            wires.post(receiver, "a", packet(answer, sender=receiver))
    assert (count, inquiry.left, inquiry.complete) == (20, 0, True)
    proof = a.proof_of(inquiry)
    assert {step.reason for step in proof.steps if step.sort == "open"} == {"not explained: a limit was reached"}
    assert proof.height > 3
    check(proof)
