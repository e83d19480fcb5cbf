"""Aggregates in Python on nodes: the views of one database, the same after a restart, whatever a function does."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests import functions
from tests.depth import cases
from tests.network.cases import Case, couple, exchange, trial
from tests.suite import FIRST_SEED
from tidelog.errors import UsageError
from tidelog.functions.callables import GivenAggregate, GivenFunctions
from tidelog.network import Node, SimulatedNetwork, Simulation
from tidelog.network.journal import dump, load

FOLDS = """
.aggregate total(x: number): number
.aggregate mean_by(x: number, weight: number): float
.aggregate joined(text: symbol): symbol
.functor plus(state: number, x: number): number
.functor doubled(x: number): number
.decl link(@x: symbol, y: symbol, c: number)
.decl near(@x: symbol, y: symbol, c: number)
.decl cost(@x: symbol, t: number)
.decl average(@x: symbol, m: float)
.decl names(@x: symbol, n: symbol)
.decl start(@x: symbol, t: number)
.decl heavy(@x: symbol, y: symbol)
a1: near(@d, s, c) :- link(@s, d, c).
a2: near(@d, z, c) :- link(@s, d, _), near(@s, z, c).
a3: cost(@s, t) :- near(@s, _, _), t = total c : { near(s, _, c) }.
a4: average(@s, m) :- near(@s, _, _), m = mean_by(c, w) : { near(s, y, c), link(s, y, w) }.
a5: names(@s, n) :- link(@s, _, _), n = joined y : { link(s, y, _) }.
a6: start(@s, t) :- link(@s, _, _), t = @@plus @doubled(c) : 100, { near(s, _, c) }.
a7: heavy(@y, s) :- cost(@s, t), t > 4, link(@s, y, _).
"""
CASE = Case(
    FOLDS,
    {"link": "nnw"},
    (
        "x1: near(@d, s, c) :- link(@s, d, _), c = total w : { link(s, _, w) }.",
        "x2: heavy(@s, s) :- link(@s, _, _), !cost(@s, 2).",
    ),
)


def test_views_are_those_of_one_database() -> None:
    """Whatever is lost, repeated and restarted, and while rules that aggregate come and go."""
    for seed in range(FIRST_SEED, FIRST_SEED + cases(10)):
        simulation = trial(seed, 4, 25, CASE, functors=functions)
        assert not any(node.rejected["functor failed"] for node in simulation.nodes.values())


ONE = """
.aggregate f(x: number): number
.decl e(@n: symbol, m: symbol, x: number)
.decl got(@n: symbol, x: number)
.decl r(@n: symbol, y: number)
a: got(@m, x) :- e(@n, m, x).
fold: r(@n, y) :- got(@n, _), y = f x : { got(n, x) }.
"""


def given(step: Any, **parts: Any) -> dict[str, Any]:
    """The functions of the aggregate `f` as those that are marked are given."""

    @tidelog.aggregate("number -> number", init=parts.pop("init", 0), name="f", **parts)
    def marked(state: Any, x: int) -> Any:
        return step(state, x)

    return {"f": marked}


def test_a_value_stays_for_as_long_as_its_members_whatever_the_function_does() -> None:
    dice = random.Random(5)
    fickle = given(lambda state, x: dice.randrange(1_000_000))
    for seed in range(FIRST_SEED, FIRST_SEED + cases(4)):
        rng = random.Random(f"fickle {seed}")
        network = Simulation(ONE, seed, functors=fickle, loss=0.2, duplicates=0.2)
        facts: set[tuple[str, str, int]] = set()
        for _ in range(12):
            row = rng.choice("pq"), rng.choice("pq"), rng.randrange(3)
            (facts.add if rng.random() < 0.6 else facts.discard)(row)
            before, groups = network["r"], grouped(network)
            (network.insert if row in facts else network.delete)("e", [row])
            network.run()
            now, new = network["r"], grouped(network)
            assert {n for n, _ in now} == {m for _, m, _ in facts}
            for name in new:
                assert sum(n == name for n, _ in now) == 1
                if new[name] == groups.get(name):
                    assert {row for row in now if row[0] == name} == {row for row in before if row[0] == name}
            for name in list(network.nodes):
                network.restart(name)
            network.run()
            assert network["r"] == now
        network.delete("e", facts)
        network.run()
        assert not network["r"]
        for node in network.nodes.values():
            node.state.step([])
            assert json.loads(dump(node.state))["results"] == []


def grouped(network: Simulation) -> dict[str, set[int]]:
    groups: dict[str, set[int]] = {}
    for n, x in network["got"]:
        groups.setdefault(n, set()).add(x)
    return groups


class Counted:
    """A sum that counts its steps, and has no luck with some numbers."""

    def __init__(self, *unlucky: int) -> None:
        self.steps = 0
        self.unlucky = unlucky

    def __call__(self, state: int, x: int) -> int:
        self.steps += 1
        if state + x in self.unlucky:
            raise ValueError("no luck")
        return state + x


def node(store: Path | None, step: Any, **how: Any) -> Node:
    functors = {} if step is None else given(step)
    return Node("a", ONE, SimulatedNetwork(1).transport("a"), store=store, functors=functors, **how)


def test_a_store_keeps_the_values(tmp_path: Path) -> None:
    counted = Counted()
    for number in range(3):
        with node(tmp_path / "a", counted) as one:
            one.insert("e", [("a", "a", number), ("a", "a", 10 + number)])
            one.delete("e", [("a", "a", number)])
            kept = one["r"], dump(one.state), counted.steps
        with node(tmp_path / "a", counted) as one:
            assert (one["r"], dump(one.state), counted.steps) == kept
    assert kept[0] == {("a", 33)}


def test_a_step_that_raises_changes_nothing(tmp_path: Path) -> None:
    with node(tmp_path / "a", Counted(13, 4)) as one:
        one.insert("e", [("a", "a", 1), ("a", "a", 2)])
        kept = one["e"], one["got"], one["r"]
        with pytest.raises(UsageError) as caught:
            one.insert("e", [("a", "a", 1), ("a", "a", 3), ("a", "a", 7)])
        text = str(caught.value)
        assert 'error[E0647]: in rule fold, the step of `f` for 7 in the group "a" raised ValueError: no luck' in text
        assert (one["e"], one["got"], one["r"]) == kept
        one.insert("e", [("a", "a", 9)])
        one.delete("e", [("a", "a", 2)])
        with pytest.raises(UsageError, match="E0647"):
            one.insert("e", [("a", "a", 3)])
        assert one["r"] == {("a", 10)}
    with node(tmp_path / "a", Counted()) as one:
        assert one["r"] == {("a", 10)}
        assert not one.state.problems


def test_a_deletion_that_leaves_members_without_a_value_changes_nothing() -> None:
    one = node(None, Counted(4))
    one.insert("e", [("a", "a", 1), ("a", "a", 2), ("a", "a", 3)])
    with pytest.raises(UsageError, match="E0647"):
        one.delete("e", [("a", "a", 2)])
    assert one["r"] == {("a", 6)}
    one.delete("e", [("a", "a", 2), ("a", "a", 1)])
    assert one["r"] == {("a", 3)}


def test_tuples_of_others_leave_a_group_without_a_value_until_the_function_is_mended(tmp_path: Path) -> None:
    wires = SimulatedNetwork(seed=2)
    one = Node("a", ONE, wires.transport("a"), peers=["b"])
    two = Node("b", ONE, wires.transport("b"), store=tmp_path / "b", functors=given(Counted(13)))
    one.insert("e", [("a", "b", 4)])
    exchange(wires, one, two)
    assert two["r"] == {("b", 4)}
    one.insert("e", [("a", "b", 9)])
    exchange(wires, one, two)
    assert (two["got"], two["r"]) == ({("b", 4), ("b", 9)}, set())
    assert two.rejected["functor failed"] == 1
    assert [problem.code for problem in two.state.problems.values()] == ["E0647"]
    kept = dump(two.state)
    assert dump(load(kept)) == kept
    one.insert("e", [("a", "b", 10)])
    exchange(wires, one, two)
    assert two["r"] == set()
    one.delete("e", [("a", "b", 9)])
    exchange(wires, one, two)
    assert two["r"] == {("b", 14)}
    one.insert("e", [("a", "b", -1)])
    exchange(wires, one, two)
    assert two["r"] == set()
    two.close()
    with Node("b", ONE, wires.transport("b"), store=tmp_path / "b", functors=given(Counted())) as two:
        assert two["r"] == {("b", 13)}


def test_the_node_of_a_group_needs_the_functions() -> None:
    wires, one, two = couple(ONE, b=given(Counted()))
    one.insert("e", [("a", "b", 1)])
    exchange(wires, one, two)
    assert two["r"] == {("b", 1)}
    with pytest.raises(UsageError, match="E0645"):
        one.insert("e", [("a", "a", 1)])
    assert not one["got"]
    with pytest.raises(UsageError, match="E0645"):
        Node("a", f'{ONE}\ne("a", "a", 1).', wires.transport("c"))


@pytest.mark.parametrize(("made", "code"), [("text", "E0648"), (2**63, "E0648"), (7, None), (None, None)])
def test_values_fit_their_type(made: Any, code: str | None) -> None:
    one = Node("a", ONE, SimulatedNetwork(1).transport("a"), functors=given(lambda state, x: made))
    if code is None:
        one.insert("e", [("a", "a", 1)])
        assert one["r"] == ({("a", made)} if made is not None else set())
        return
    with pytest.raises(UsageError, match=code):
        one.insert("e", [("a", "a", 1)])
    assert not one["got"]


# --- rules that travel -----------------------------------------------------------------------------------------------

PLAIN = ".decl e(@n: symbol, x: number) .decl r(@n: symbol, x: number) first: r(@n, x) :- e(@n, x)."
MORE = ".aggregate f(x: number): number\nmore: r(@n, y) :- e(@n, _), y = f x : { e(n, x) }."


def test_rules_that_aggregate_travel_and_leave_others_alone() -> None:
    """A node that lacks the functions sets the rule aside and says so."""
    wires, one, two = couple(PLAIN, a=given(Counted()))
    one.insert("e", [("a", 1), ("a", 2)])
    two.insert("e", [("b", 2)])
    one.rules.add(MORE)
    exchange(wires, one, two)
    assert one["r"] == {("a", 1), ("a", 2), ("a", 3)}
    assert two["r"] == {("b", 2)}
    text = "this node has no function for the aggregate `f`, which the rule more calls"
    assert two.state.book.refused == {"more": text}
    again = load(dump(two.state), given=functions_of(Counted()))
    again.renew()
    assert again.book.refused == {}
    one.rules.remove("more")
    exchange(wires, one, two)
    assert one["r"] == {("a", 1), ("a", 2)}
    assert two.state.book.refused == {}


def functions_of(step: Any) -> GivenFunctions:
    return GivenFunctions({}, aggregates={"f": GivenAggregate("f", 0, step)})


def test_rules_of_others_that_fail_are_set_aside() -> None:
    wires, one, two = couple(PLAIN, b=given(Counted(13)))
    two.insert("e", [("b", 6), ("b", 7)])
    one.rules.add(MORE)
    exchange(wires, one, two)
    assert two["r"] == {("b", 6), ("b", 7)}
    assert "[E0647]" in two.state.book.refused["more"]
    assert two.rejected["functor failed"] == 1
    two.insert("e", [("b", 9)])
    assert ("b", 9) in two["r"]
    with pytest.raises(UsageError, match="E0647"):
        two.rules.add(MORE.replace("more", "again"))
    assert "again" not in two.state.book.rules


# --- records and values with branches --------------------------------------------------------------------------------

VALUES = """
.type Tree = Leaf { value: number } | Fork { left: Tree, right: Tree }
.type Pair = [x: number, text: symbol]
.aggregate grown(t: Tree): Tree
.aggregate firsts(p: Pair): number
.aggregate widest(x: number): Pair
.decl e(@n: symbol, x: number)
.decl tree(@n: symbol, t: Tree)
.decl cost(@n: symbol, x: number)
.decl pair(@n: symbol, p: Pair)
tree(@n, t) :- e(@n, _), t = grown u : { e(n, x), u = $Leaf(x) }.
cost(@n, y) :- e(@n, _), y = firsts p : { e(n, x), p = [x, n] }.
pair(@n, p) :- e(@n, _), p = widest x : { e(n, x) }.
"""


def test_records_and_values_with_branches() -> None:
    """A function gets and returns them as a database has them."""
    database = tidelog.connect()
    database.load(VALUES)
    fork = database.branch("Fork")

    @tidelog.aggregate("Tree -> Tree", init=None)
    def grown(state: Any, tree: Any) -> Any:
        return tree if state is None else fork(state, tree)

    @tidelog.aggregate("number -> Pair", init=None)
    def widest(state: Any, x: int) -> Any:
        return x, f"widest of {x}"

    module = [grown, widest, functions.firsts]
    database.import_functions(module)
    network = Simulation(VALUES, functors=module, restarts=True)
    for rows in ([("a", 4), ("b", -1), ("a", 2)], [("a", 9)]):
        for each in (database, network):
            each.insert("e", rows)
        database.commit()
        network.run()
        network.restart("a")
        network.run()
        for name in ("tree", "cost", "pair"):
            assert network[name] == set(database[name])
