"""Proofs of the tuples of networks: every tuple of every node has one, whatever happens to packets, rules and nodes."""

from __future__ import annotations

import random
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests import functions
from tests.depth import cases
from tests.network.cases import CASES, REACHABILITY, random_case, trial
from tests.network.test_aggregates_in_python import CASE as FOLDS
from tests.network.test_branches import LINKS, End, Hop, Named
from tests.network.test_branches import PROGRAM as BRANCHES
from tests.network.test_constructs import PROGRAM as CONSTRUCTS
from tests.network.test_examples import square
from tests.network.test_functors import CALLS
from tests.suite import FIRST_SEED
from tidelog.errors import DataError, UsageError
from tidelog.explain.checking import ViewTables, check_steps
from tidelog.explain.steps import ProofStep
from tidelog.language.inlining import INLINE
from tidelog.network import Node, SimulatedNetwork, SimulatedTransport, Simulation
from tidelog.network.choices import BASE
from tidelog.network.journal import dump
from tidelog.network.values import stored_row

LINE = [("a", "b"), ("b", "c"), ("c", "d")]


def network_of(text: str = REACHABILITY, seed: int = 1, **options: Any) -> Simulation:
    return Simulation(text, seed, **options)


def line(**options: Any) -> Simulation:
    network = network_of(**options)
    network.insert("link", LINE)
    network.run()
    return network


def is_asserted(network: Simulation, step: ProofStep) -> bool:
    """Return True if the node of a step has its tuple as a fact."""
    assert step.node is not None
    machine = network.nodes[step.node].state
    columns = machine.book.program.places[step.relation].columns
    fact = step.relation, stored_row(step.values, columns, machine.book.program.records)
    return BASE in machine.offers.get(fact, ())


def assert_proven(network: Simulation, rng: random.Random, most: int = 40) -> int:
    """Explain tuples of a network at rest, asked for at any node; return the number of rule steps."""
    shown = [name for name, each in network.program.relations.items() if INLINE not in each.qualifiers]
    goals = sorted(((name, row) for name in shown for row in network[name]), key=repr)
    views = ViewTables(network)
    states = {name: dump(node.state) for name, node in network.nodes.items()}
    count = 0
    for relation, row in rng.sample(goals, min(most, len(goals))):
        owner = network.program.relations[relation].location is not None or None
        at = rng.choice([None, *network.nodes]) if owner else None
        proof = network.explain(relation, row, at=at)
        assert (proof.goal.relation, proof.goal.values) == (relation, row)
        assert not proof.is_partial, f"\n{network.book.program}\n{proof}"
        assert check_steps(proof.steps, views).granted == ()
        assert all(is_asserted(network, step) for step in proof.steps if step.sort == "fact")
        assert all(step.node is not None for step in proof.steps if step.sort == "rule")
        count += sum(step.sort == "rule" for step in proof.steps)
    assert states == {name: dump(node.state) for name, node in network.nodes.items()}
    assert network.quiet
    return count


# --- every tuple -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_classic_programs_after_random_changes(name: str) -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + cases(3)):
        network = trial(seed, 5, 30, CASES[name], restarts=False)
        assert_proven(network, random.Random(seed))


def test_random_programs_with_deletions_and_rules_that_travel() -> None:
    steps = 0
    for seed in range(FIRST_SEED, FIRST_SEED + cases(40)):
        rng = random.Random(f"explained {seed}")
        case, names = random_case(rng), "uvwx"[: rng.randrange(2, 5)]
        network = network_of(case.text, seed, loss=rng.choice([0.0, 0.2]), duplicates=0.2, sticky=rng.random() < 0.3)
        pairs = [(x, y) for x in names for y in names]
        facts = {name: pairs if columns == "nn" else [(x,) for x in names] for name, columns in case.base.items()}
        for name, rows in facts.items():
            network.insert(name, rng.sample(rows, rng.randrange(1, len(rows) + 1)))
        network.run(rng.randrange(40))
        for rule in case.spare:
            network.rules.add(rule)
        for name in facts:
            network.delete(name, [row for row in network[name] if rng.random() < 0.2])
        network.run()
        steps += assert_proven(network, rng, 12)
    assert steps > cases(50)


@pytest.mark.parametrize("options", [{"sticky": True}, {"roots": False}, {"loss": 0.5, "duplicates": 0.5}])
def test_every_variant(options: dict[str, object]) -> None:
    network = trial(3, 5, 40, CASES["non-linear"], restarts=False, **options)
    assert_proven(network, random.Random(3))


MIXTURE = """
.decl link(@x: symbol, y: symbol)
.decl shut(@x: symbol, y: symbol)
.decl load(@x: symbol, n: number)
.decl open(@x: symbol, y: symbol)
.decl far(@x: symbol, y: symbol)
.decl any(@x: symbol, y: symbol)
.decl onward(@x: symbol, y: symbol)
.decl more(@x: symbol, d: number)
.decl next(@x: symbol, n: number)
.decl here(@x: symbol, y: symbol)
.decl there(@x: symbol, y: symbol)
.decl most(@x: symbol, n: number)
.decl uneven(@x: symbol)
.decl way(@x: symbol)
m1: open(@x, y) :- link(@x, y), (!shut(@x, _); !shut(@y, _); !shut(@x, y), shut(@y, x)).
m2: far(@x, y) :- link(@x, z), link(@z, y), !<link+>(y, x).
m3: any(@x, y) :- <link*/shut?>(x, y).
m4: onward(@x, y) :- <(link|shut)+>(x, y).
m5: more(@x, a - b) :- link(@x, _), a = count : { link(x, _) }, b = count : { shut(x, _) }.
m6: next(@x, n + 1) :- load(@x, n), !load(@x, n + 1), n < 3.
m7: next(@x, n + 1) :- next(@x, n), n < 5.
m8: here(@y, x), there(@x, y) :- link(@x, y), link(@y, z), x != z.
m9: most(@x, a + b) :- link(@x, _), a = max n : { link(x, y), load(y, n) }, b = max n : { shut(x, y), load(y, n) }.
m10: uneven(@x) :- link(@x, _), a = count : { link(x, _) }, b = max n : { load(x, n) }, a + b > 0.
m11: way(@x) :- link(@x, y), !shut(@x, y).
"""


def test_alternatives_paths_and_several_aggregates() -> None:
    """Of several alternatives, the one that the node has checked; of several aggregates, each its own value."""
    steps = 0
    for seed in range(FIRST_SEED, FIRST_SEED + cases(5)):
        rng = random.Random(f"mixture {seed}")
        network = network_of(MIXTURE, seed, loss=0.1)
        pairs = [(x, y) for x in "abcd" for y in "abcd"]
        network.insert("link", rng.sample(pairs, rng.randrange(2, 7)))
        network.insert("shut", rng.sample(pairs, rng.randrange(1, 6)))
        network.insert("load", [(x, rng.randrange(4)) for x in "abcd" for _ in range(2)])
        network.run()
        steps += assert_proven(network, rng, 60)
    assert steps > cases(100)


def test_inline_relations_equivalences_and_witnesses() -> None:
    network = network_of(CONSTRUCTS, 3)
    network.insert("link", [("a", "b"), ("b", "c"), ("d", "d")])
    network.insert("cost", [("a", "x", 3), ("a", "y", 2), ("a", "z", 2), ("c", "x", 1)])
    network.rules.add("back: step(@d, s) :- link(@s, d).")
    network.run()
    assert assert_proven(network, random.Random(3), 100) > 20


def test_values_with_branches() -> None:
    network = network_of(BRANCHES, 3)
    network.insert("link", LINKS)
    network.insert("known", [("a", (Hop("x", 2, End()), Named("y"))), ("a", (End(), Named("z")))])
    network.run()
    assert assert_proven(network, random.Random(3), 100) > 20
    proof = network.explain("last", ("c", ["Named", "a"]))
    assert proof.goal.values == ("c", Named("a"))


def test_functors_in_python() -> None:
    network = network_of(CALLS, 3, functors=functions)
    network.insert("link", [("a", "b", 1), ("b", "c", 2), ("c", "a", 3), ("a", "c", 2)])
    network.run()
    assert assert_proven(network, random.Random(3), 100) > 20
    row = min(row for row in network["name"] if row[0] == "b")
    assert network.explain("name", row).goal.sort == "rule"
    network.nodes["b"].state.functors.given.functions.pop("label")
    proof = network.explain("name", row)
    assert proof.goal.sort == "open"
    assert proof.goal.reason == "not explained: the functor `label` has no function"


def test_aggregates_in_python() -> None:
    network = network_of(FOLDS.text, 3, functors=functions)
    network.insert("link", [("a", "b", 1), ("b", "c", 2), ("c", "a", 3), ("a", "c", 2)])
    network.run()
    assert assert_proven(network, random.Random(3), 100) > 20


@pytest.mark.parametrize("name", ["cheapest_path", "link_state", "path_vector", "reachability"])
def test_the_protocols_of_the_examples(name: str) -> None:
    network = square(name)
    network._restarts = False
    assert assert_proven(network, random.Random(3), 60) > 10


# --- how proofs read -------------------------------------------------------------------------------------------------


def test_a_proof_names_who_says_what() -> None:
    proof = line().explain("reachable", ("a", "d"))
    expected = """\
reachable("a", "d")   [r2 at <text>:5:1, node b]
├─ link("a", "b")   [fact, node a]
└─ reachable("b", "d")   [r2 at <text>:5:1, node c]
   ├─ link("b", "c")   [fact, node b]
   └─ reachable("c", "d")   [r1 at <text>:4:1, node c]
      └─ link("c", "d")   [fact, node c]"""
    assert str(proof) == expected
    assert proof.facts == tuple(("link", row) for row in LINE)
    assert proof.rules == ("r1", "r2")
    assert [step["node"] for step in proof.to_dict()["steps"]] == ["a", "b", "c", "c", "c", "b"]
    assert "fact, node a" in proof.to_html()
    assert "r2 at <text>:5:1, node b" in proof.to_dot()


VERDICTS = """
.decl link(@x: symbol, y: symbol)
.decl load(@x: symbol, n: number)
.decl closed(@x: symbol, y: symbol)
.decl total(@x: symbol, n: number)
.decl busy(@x: symbol)
.decl calm(@x: symbol, n: number)
.decl near(@x: symbol, y: symbol)
.decl limit(n: number)
limit(5).
t: total(@x, n) :- link(@x, _), n = sum l : { link(x, y), load(y, l) }.
b: busy(@x) :- total(@x, n), limit(m), n > m, !closed(@x, _).
c: calm(@x, n) :- link(@x, _), n = count : { closed(x, _) }, !busy(@x).
n: near(@x, y) :- <link+>(x, y), x != y.
"""


def verdicts() -> Simulation:
    network = network_of(VERDICTS)
    network.insert("link", [("a", "b"), ("a", "c"), ("b", "c"), ("c", "d"), ("d", "a")])
    network.insert("load", [("b", 3), ("c", 4), ("d", 1)])
    network.insert("closed", [("d", "a")])
    network.run()
    return network


def test_conditions_name_the_node_that_says_so() -> None:
    network = verdicts()
    expected = """\
busy("a")   [b at <text>:12:1, node a]
├─ total("a", 7)   [t at <text>:11:1, node a]
│  ├─ link("a", "b")   [fact, node a]
│  └─ 7 = sum l : { link("a", y), load(y, l) }   [node a, 2 members: \
link("a", "b"), load("b", 3) (node b), link("a", "c"), load("c", 4) (node c)]
├─ limit(5)   [fact, node a]
├─ 7 > 5
└─ !closed(@"a", _)   [node a]"""
    assert str(network.explain("busy", ("a",))) == expected
    expected = """\
calm("c", 0)   [c at <text>:13:1, node c]
├─ link("c", "d")   [fact, node c]
├─ 0 = count : { closed("c", _) }   [node c, 0 members]
└─ !busy(@"c")   [node c]"""
    assert str(network.explain("calm", ("c", 0))) == expected


def test_paths_are_walks_over_facts_of_several_nodes() -> None:
    proof = verdicts().explain("near", ("a", "d"))
    walk = proof.steps[proof.goal.premises[0]]
    edges = [proof.steps[number] for number in walk.premises]
    assert walk.sort == "walk"
    assert [(each.values, each.node) for each in edges] == [(("a", "c"), "a"), (("c", "d"), "c")]


def test_conditions_hold_at_every_node() -> None:
    assert_proven(verdicts(), random.Random(1), 100)


def test_rules_that_travel_show_the_version_that_derived() -> None:
    network = line()
    network.rules.add("back: reachable(@d, s) :- link(@s, d).")
    network.run()
    expected = """\
reachable("b", "a")   [back version 1, node a]
└─ link("a", "b")   [fact, node a]"""
    assert str(network.explain("reachable", ("b", "a"))) == expected
    network.rules.remove("back")
    network.rules.add("back: reachable(@d, s) :- link(@s, d), s != d.")
    network.run()
    proof = network.explain("reachable", ("b", "a"))
    assert proof.goal.reason == "back version 3, node a"
    assert proof.to_dict()["steps"][-1]["version"] == 3
    assert "version" not in proof.to_dict()["steps"][0]
    assert proof.goal.text == "back: reachable(@d, s) :- link(@s, d), s != d."


# --- what cannot be had ----------------------------------------------------------------------------------------------


def test_a_node_that_is_away_is_an_open_leaf_with_its_name() -> None:
    network = line()
    network.cut(["a", "b"], ["c", "d"])
    proof = network.explain("reachable", ("a", "d"), tries=3)
    expected = """\
reachable("a", "d")   [r2 at <text>:5:1, node b]
├─ link("a", "b")   [fact, node a]
└─ reachable("b", "d")   [not explained: node c has not answered]"""
    assert str(proof) == expected
    assert proof.is_partial
    assert proof.to_dict()["steps"][1]["gap"] == "node c has not answered"
    assert "node c has not answered" in proof.to_html()
    proof.check()
    network.heal()
    assert not network.explain("reachable", ("a", "d")).is_partial


def test_the_tuples_behind_a_join_of_a_node_that_is_away_are_open() -> None:
    """Node a has sent b that it has a link to it: so much is known of its reasons."""
    network = line()
    network.cut(["b", "c", "d"])
    proof = network.explain("reachable", ("b", "d"), at="b")
    assert not proof.is_partial
    proof = network.explain("reachable", ("a", "d"), at="b", tries=3)
    assert str(proof) == 'reachable("a", "d")   [not explained: node a has not answered]'


def test_a_carried_tuple_of_a_node_that_is_away_is_open() -> None:
    text = REACHABILITY + ".decl twice(@x: symbol, y: symbol)\nt: twice(@y, x) :- link(@x, y), link(@y, _).\n"
    network = network_of(text)
    network.insert("link", LINE)
    network.run()
    assert not network.explain("twice", ("b", "a")).is_partial
    network.cut(["b", "c", "d"])
    expected = """\
twice("b", "a")   [t at <text>:7:1, node b]
├─ link("a", "b")   [not explained: node a has not answered]
└─ link("b", "c")   [fact, node b]"""
    assert str(network.explain("twice", ("b", "a"), tries=3)) == expected


def test_a_budget_of_questions_leaves_the_rest_open() -> None:
    network = line()
    node = network.node("a")
    inquiry = node.begin_inquiry("reachable", ("a", "d"), 1)
    while not network.network.empty:
        network.network.deliver()
        for each in network.nodes.values():
            each.turn()
    assert inquiry.complete
    proof = node.proof_of(inquiry)
    assert str(proof).splitlines()[-1] == '└─ reachable("b", "d")   [not explained: a limit was reached]'


@pytest.mark.parametrize(
    ("code", "relation", "row"),
    [
        ("E0670", "reachable", ("a", "zz")),
        ("E0601", "nothing", ("a", "b")),
        ("E0401", "reachable", ("a", 7)),
        ("E0401", "reachable", ("a",)),
        ("E0407", "reachable", "ab"),
        ("E0402", "reachable", ("a" * 300, "b")),
        ("E0624", "reachable", ("zz", "a")),
    ],
)
def test_what_is_no_tuple_of_the_network(code: str, relation: str, row: Iterable[object]) -> None:
    with pytest.raises((UsageError, DataError), match=code):
        line().explain(relation, row)


@pytest.mark.parametrize("options", [{"at": "zz"}, {"tries": 0}, {"tries": "many"}])
def test_wrong_arguments(options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        line().explain("reachable", ("a", "b"), **options)  # type: ignore[arg-type]


# --- nodes with a transport ------------------------------------------------------------------------------------------


class Pumped(SimulatedTransport):
    """The end of a node, which lets all others work while it waits."""

    def __init__(self, wires: SimulatedNetwork, name: str, others: list[Node]) -> None:
        super().__init__(wires, name)
        wires.transport(name)
        self.wires, self.others = wires, others

    def receive(self, timeout: float = 0.0) -> list[tuple[str | None, bytes]]:
        while timeout and not self.wires.empty:
            self.wires.deliver()
            for node in self.others:
                node.turn()
        return super().receive()


def nodes(loss: float = 0.0) -> tuple[Node, list[Node], SimulatedNetwork]:
    """Node a, which can wait, and the nodes b and c; the network has come to rest."""
    wires = SimulatedNetwork(3, loss=loss)
    others = [Node(name, REACHABILITY, wires.transport(name), peers="abc") for name in "bc"]
    a = Node("a", REACHABILITY, Pumped(wires, "a", others), peers="abc")
    for node, row in zip((a, *others), ["ab", "bc", "ca"], strict=True):
        node.insert("link", [tuple(row)])
    while not all(node.quiet and len(node["reachable"]) == 3 for node in (a, *others)):
        a.run(0.001)
        for node in (a, *others):
            node.resend()
    return a, others, wires


@pytest.mark.parametrize("loss", [0.0, 0.5])
def test_a_node_asks_others_in_their_turns(loss: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a simulated wire does not block: a node that waits for long would spin for long."""
    monkeypatch.setattr("tidelog.network.node.LONGEST_PATIENCE", 0.02)
    monkeypatch.setattr("tidelog.network.node.PATIENCE", 0.01)
    a, _, _ = nodes(loss)
    proof = a.explain("reachable", ("a", "a"), seconds=60.0)
    assert not proof.is_partial
    assert {step.node for step in proof.steps} == {"a", "b", "c"}
    assert a.inquiry is None
    with pytest.raises(UsageError, match="E0670"):
        a.explain("reachable", ("c", "d"), seconds=60.0)


def test_a_node_asks_for_so_long() -> None:
    a, others, wires = nodes()
    others.clear()
    proof = a.explain("reachable", ("a", "a"), seconds=0.2)
    assert str(proof) == 'reachable("a", "a")   [not explained: node b has not answered]'
    assert not a.explain("reachable", ("a", "b"), seconds=0.0).is_partial
    assert a.messages["Why"] == 2
    assert wires.packets


def test_a_node_asks_so_many_questions() -> None:
    a, _, _ = nodes()
    proof = a.explain("reachable", ("a", "a"), messages=1)
    assert str(proof).splitlines()[-1] == '└─ reachable("b", "a")   [not explained: a limit was reached]'


@pytest.mark.parametrize("options", [{"seconds": -1.0}, {"seconds": "long"}, {"messages": 0}, {"messages": 1.5}])
def test_wrong_limits_of_a_node(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="E0635"):
        nodes()[0].explain("reachable", ("a", "a"), **options)


def test_a_store_does_not_hold_questions(tmp_path: Path) -> None:
    wires = SimulatedNetwork(1)
    a = Node("a", REACHABILITY, wires.transport("a"), store=tmp_path)
    a.insert("link", LINE[:1])
    before = (tmp_path / "journal.1").read_bytes(), dump(a.state)
    assert not a.explain("reachable", ("a", "b")).is_partial
    assert ((tmp_path / "journal.1").read_bytes(), dump(a.state)) == before
    a.close()


# --- while changes are on their way ----------------------------------------------------------------------------------


def test_proofs_of_a_busy_network_are_right_as_far_as_they_go() -> None:
    """Reasons of different moments: what does not go together is open, and no step is wrong."""
    whole = partial = 0
    for seed in range(FIRST_SEED, FIRST_SEED + cases(12)):
        rng = random.Random(f"busy {seed}")
        case = CASES[rng.choice(list(CASES))]
        network = network_of(case.text, seed, loss=0.2, duplicates=0.2, restarts=True, sticky=rng.random() < 0.3)
        facts = [
            (name, tuple(rng.choice("abcd") if kind == "n" else rng.randrange(1, 4) for kind in kinds))
            for name, kinds in case.base.items()
            for _ in range(12)
        ]
        for number in range(30):
            name, row = rng.choice(facts)
            (network.insert if rng.random() < 0.7 else network.delete)(name, [row])
            if number == 15:
                network.rules.add(case.spare[0])
            network.run(rng.randrange(8))
            if rng.random() < 0.1:
                network.cut("ab", "cd")
            elif rng.random() < 0.3:
                network.heal()
            derived = [(view, each) for view in case.views for each in sorted(network[view])]
            if not derived:
                continue
            with suppress(UsageError):  # where the tuple does not hold any more when the question arrives
                proof = network.explain(*rng.choice(derived), at=rng.choice(list(network.nodes)), tries=3)
                if proof.goal.sort != "open":  # Nothing is left to check.
                    proof.check()
                partial, whole = partial + proof.is_partial, whole + (not proof.is_partial)
    assert whole > partial > 0
