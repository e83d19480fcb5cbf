"""Functors in Python on nodes: the views of one database, and nothing that a stranger makes a node call."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests import functions
from tests.depth import cases
from tests.network.cases import Case, couple, exchange, trial
from tests.suite import FIRST_SEED
from tidelog.errors import LimitError, UsageError
from tidelog.network import Limits, Node, SimulatedNetwork, Simulation
from tidelog.network.choices import Options
from tidelog.network.config import node_config
from tidelog.network.journal import dump, load
from tidelog.network.messages import RuleChange
from tidelog.network.node_state import NodeState

CALLS = """
.functor scaled(x: number, by: number): number
.functor doubled(x: number): number
.functor divisors(x: number): number
.functor label(x: number, text: symbol): symbol
.decl link(@x: symbol, y: symbol, c: number)
.decl cost(@x: symbol, y: symbol, c: number)
.decl part(@x: symbol, p: number)
.decl name(@x: symbol, n: symbol)
.decl odd(@x: symbol)
.decl most(@x: symbol, c: number)
c1: cost(@s, d, @scaled(c, 2)) :- link(@s, d, c).
c2: cost(@s, d, c) :- link(@s, z, _), cost(@z, d, k), c = @scaled(k, 2), c < 20.
c3: part(@d, p) :- cost(@s, d, c), p = @divisors(c).
c4: name(@s, n) :- part(@s, p), n = @label(p, s).
c5: odd(@s) :- link(@s, _, c), !part(@s, @doubled(c)).
c6: most(@s, m) :- link(@s, _, _), m = max c : { cost(s, _, k), c = @doubled(k) }.
"""
CASE = Case(
    CALLS,
    {"link": "nnw"},
    ("x1: part(@d, p) :- link(@s, d, c), p = @divisors(c).", "x2: part(@s, @doubled(c)) :- cost(@s, _, c)."),
)


def test_views_are_those_of_one_database() -> None:
    """Whatever is lost, repeated and restarted, and while rules that call functors come and go."""
    for seed in range(FIRST_SEED, FIRST_SEED + cases(10)):
        simulation = trial(seed, 4, 25, CASE, functors=functions)
        assert not any(node.rejected["functor failed"] for node in simulation.nodes.values())


FICKLE = """
.functor fickle(x: number): number
.functor fickle_symbols(x: number): symbol
.decl e(@n: symbol, m: symbol, x: number)
.decl a(@n: symbol, x: number, y: number)
.decl s(@n: symbol, s: symbol)
.decl pair(@n: symbol, x: number, y: number)
a(@m, x, @fickle(x)) :- e(@n, m, x).
s(@n, s) :- a(@n, x, _), s = @fickle_symbols(x).
pair(@n, x, y) :- a(@n, x, _), a(@n, y, _), @fickle(x) >= @fickle(y).
"""
GIVEN = {"fickle": functions.fickle, "fickle_symbols": functions.fickle_symbols}


def test_deletions_take_what_insertions_derived_where_a_function_misbehaves() -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + cases(4)):
        rng = random.Random(f"fickle {seed}")
        network = Simulation(FICKLE, seed, functors=GIVEN, loss=0.2, duplicates=0.2, restarts=True)
        facts: set[tuple[str, str, int]] = set()
        before: dict[Any, Any] = {}
        for _ in range(15):
            row = rng.choice("pqr"), rng.choice("pqr"), rng.randrange(3)
            (facts.add if rng.random() < 0.6 else facts.discard)(row)
            (network.insert if row in facts else network.delete)("e", [row])
            network.run()
            assert {(n, x) for n, x, _ in network["a"]} == {(m, x) for _, m, x in facts}
            for name in list(network.nodes):
                network.restart(name)
            network.run()
            now: dict[Any, set[int]] = {}
            for n, x, y in network["a"]:
                now.setdefault((n, x), set()).add(y)
            assert all(before[key] & values for key, values in now.items() if key in before)
            assert {(n, text.split("-")[0]) for n, text in network["s"]} == {(m, str(x)) for _, m, x in facts}
            for n, x in {(m, x) for _, m, x in facts}:
                assert (n, x, x) in network["pair"]
            before = now
        network.delete("e", facts)
        network.run()
        assert not any(network[name] for name in ("a", "s", "pair"))
        for node in network.nodes.values():
            assert not node.state.functors.results_in_use()
            node.state.step([])
            assert json.loads(dump(node.state))["results"] == []


ONE = """
.functor f(x: number): number
.decl e(@n: symbol, x: number)
.decl r(@n: symbol, x: number)
.decl t(@n: symbol, x: number)
sum: r(@n, @f(x)) :- e(@n, x).
t(@n, x) :- r(@n, x), @f(x) > 0.
"""


class Counted:
    def __init__(self) -> None:
        self.calls = 0

    def next(self, x: int) -> int:
        self.calls += 1
        if x == 13:
            raise ValueError("no luck")
        return 100 + self.calls


def node(store: Path | None, function: Any, wires: SimulatedNetwork | None = None, name: str = "a", **how: Any) -> Node:
    given = {} if function is None else {"f": function}
    transport = (wires or SimulatedNetwork(1)).transport(name)
    return Node(name, ONE, transport, store=store, functors=given, **how)


def test_a_store_keeps_the_results(tmp_path: Path) -> None:
    counted = Counted()
    for _ in range(3):
        with node(tmp_path / "a", counted.next) as one:
            one.insert("e", [("a", 5), ("a", 6 + counted.calls)])
            one.delete("e", [("a", 5)])
            one.insert("e", [("a", 5)])
            kept = one["r"], one["t"], dump(one.state), counted.calls
        with node(tmp_path / "a", counted.next) as one:
            assert (one["r"], one["t"], dump(one.state), counted.calls) == kept
            one.delete("e", [("a", 5)])
            one.insert("e", [("a", 5)])


def test_a_function_that_raises_changes_nothing(tmp_path: Path) -> None:
    with node(tmp_path / "a", Counted().next) as one:
        one.insert("e", [("a", 1)])
        kept = one["e"], one["r"]
        with pytest.raises(UsageError) as caught:
            one.insert("e", [("a", 1), ("a", 2), ("a", 13)])
        text = str(caught.value)
        assert "[E0647]: in rule sum, `@f(13)` raised ValueError: no luck, in test_functors.py, line" in text
        assert (one["e"], one["r"]) == kept
        one.insert("e", [("a", 3)])
    with node(tmp_path / "a", Counted().next) as one:
        assert len(one["e"]) == 2
        assert not one.state.excluded


def test_a_function_that_raises_at_one_node_changes_nothing_at_the_others() -> None:
    network = Simulation(ONE, functors={"f": Counted().next})
    network.insert("e", [("a", 1)])
    network.run()
    kept = network["e"], network["r"], network["t"]
    with pytest.raises(UsageError, match="E0647"):
        network.insert("e", [("a", 1), ("a", 2), ("c", 3), ("b", 13)])
    network.run()
    assert (network["e"], network["r"], network["t"]) == kept
    assert network.asserted("e") == {("a", 1)}


def test_a_function_cannot_end_a_node() -> None:
    one = node(None, functions.leaving)
    one.insert("e", [("a", 1)])
    kept = one["e"], one["r"]
    with pytest.raises(UsageError, match=r"`@f\(13\)` raised SystemExit: no luck"):
        one.insert("e", [("a", 13)])
    assert (one["e"], one["r"]) == kept


def test_what_fails_further_on_takes_the_fact_back() -> None:
    """The functor fails for a tuple that is derived from the fact."""
    one = node(None, lambda x: 13 if x == 1 else Counted().next(x))
    with pytest.raises(UsageError, match=r"in rule r1, `@f\(13\)` raised ValueError"):
        one.insert("e", [("a", 1)])
    assert not one["e"]
    assert not one["r"]
    one.insert("e", [("a", 2)])
    assert one["r"] == {("a", 101)}


TWO = """
.functor f(x: number): number
.decl e(@n: symbol, m: symbol, x: number)
.decl r(@n: symbol, x: number)
sum: r(@m, @f(x)) :- e(@n, m, x).
"""


def test_each_node_gives_the_functions_of_the_rules_that_it_evaluates() -> None:
    wires, one, two = couple(TWO, a={"f": lambda x: x + 1})
    one.insert("e", [("a", "b", 1)])
    exchange(wires, one, two)
    assert two["r"] == {("b", 2)}
    with pytest.raises(UsageError, match="E0645"):
        two.insert("e", [("b", "a", 1)])
    assert not two["e"]
    assert not one["r"]
    with pytest.raises(UsageError, match="E0645"):
        Node("a", f'{TWO}\ne("a", "b", 1).', wires.transport("c"))


def test_a_node_does_not_use_a_tuple_for_which_a_functor_fails_until_the_function_is_mended(tmp_path: Path) -> None:
    text = """.functor f(x: number): number .decl e(@n: symbol, m: symbol, x: number) .decl got(@n: symbol, x: number)
    .decl r(@n: symbol, x: number) got(@m, x) :- e(@n, m, x). sum: r(@m, @f(x)) :- got(@m, x)."""
    wires = SimulatedNetwork(seed=2)
    one = Node("a", text, wires.transport("a"), peers=["b"])
    two = Node("b", text, wires.transport("b"), store=tmp_path / "b", functors={"f": Counted().next})
    one.insert("e", [("a", "b", 13), ("a", "b", 4)])
    exchange(wires, one, two)
    assert two["got"] == {("b", 4)}
    assert two.rejected["functor failed"] == 1
    assert [problem.code for problem in two.state.excluded.values() if problem is not None] == ["E0647"]
    two.close()
    with Node("b", text, wires.transport("b"), store=tmp_path / "b", functors={"f": lambda x: x}) as two:
        assert two["got"] == {("b", 4), ("b", 13)}
        assert two["r"] == {("b", 102), ("b", 13)}
        kept = two["r"]
    with Node("b", text, wires.transport("b"), store=tmp_path / "b", functors={"f": lambda x: x}) as two:
        assert two["r"] == kept


# --- rules that travel -----------------------------------------------------------------------------------------------

CALLED: list[object] = []


def system(text: str) -> int:
    CALLED.append(text)
    return 0


PLAIN = ".decl e(@n: symbol, x: number) .decl r(@n: symbol, x: number) first: r(@n, x) :- e(@n, x)."


def test_rules_that_call_functors_travel_and_leave_others_alone() -> None:
    """A node that lacks the function sets the rule aside and says so."""
    wires, one, two = couple(PLAIN, a={"g": lambda x: x * 10})
    one.insert("e", [("a", 1)])
    two.insert("e", [("b", 2)])
    one.rules.add(".functor g(x: number): number\nmore: r(@n, @g(x)) :- e(@n, x).")
    exchange(wires, one, two)
    assert one["r"] == {("a", 1), ("a", 10)}
    assert two["r"] == {("b", 2)}
    assert two.state.book.refused == {
        "more": "this node has no function for the functor `g`, which the rule more calls"
    }
    assert one.state.book.refused == {}
    again = load(dump(two.state))
    assert again.book.refused == two.state.book.refused
    one.rules.remove("more")
    exchange(wires, one, two)
    assert one["r"] == {("a", 1)}
    assert two.state.book.refused == {}


def test_a_node_evaluates_a_rule_once_it_has_the_function(tmp_path: Path) -> None:
    wires = SimulatedNetwork(seed=2)
    with Node("a", PLAIN, wires.transport("a"), store=tmp_path / "a") as one:
        one.insert("e", [("a", 1)])
        one.rules.add(".functor g(x: number): number\nmore: r(@n, @g(x)) :- e(@n, x).")
        assert one["r"] == {("a", 1)}
        one.insert("e", [("a", 2)])
    with Node("a", PLAIN, wires.transport("a"), store=tmp_path / "a", functors={"g": lambda x: x * 10}) as one:
        assert one["r"] == {("a", 1), ("a", 2), ("a", 10), ("a", 20)}
        assert one.state.book.refused == {}
        one.insert("e", [("a", 3)])
    with Node("a", PLAIN, wires.transport("a"), store=tmp_path / "a", functors={"g": lambda x: x * 10}) as one:
        assert ("a", 30) in one["r"]


@pytest.mark.parametrize("functor", ["system", "os.system", "tests.network.test_functors.system", "eval"])
def test_a_stranger_makes_a_node_call_nothing_but_its_own_functions(functor: str) -> None:
    machine = NodeState("a", PLAIN)
    name = functor.replace(".", "_")
    for text in (
        f'.functor {name}(x: symbol): number\nevil: r(@n, @{name}("touch /tmp/x")) :- e(@n, _).',
        f'.functor {functor}(x: symbol): number\nevil: r(@n, @{functor}("touch /tmp/x")) :- e(@n, _).',
    ):
        machine.step([("stranger", RuleChange("evil", machine.book.version + 1, "stranger", text))])
        node_ = Node("a", machine, SimulatedNetwork(1).transport("a"))
        node_.insert("e", [("a", 1)])
        assert node_["r"] == {("a", 1)}
        assert "evil" in machine.book.refused
        assert CALLED == []
        assert all(name not in text for name, text in machine.book.refused.items() if name == "system")


def endless(x: int) -> Iterator[int]:
    while True:
        x += 1
        yield x


@pytest.mark.parametrize(
    ("functor", "rule", "code"),
    [
        ("g(x: number): number", "@g(x)", "E0647"),
        ("g(x: number): symbol", "strlen(@g(x))", "E0646"),
        ("endless(x: number): number", "@endless(x)", "E0507"),
        ("other(x: number): number", "@other(x)", "E0648"),
    ],
)
def test_rules_of_others_that_fail_are_set_aside(functor: str, rule: str, code: str) -> None:
    @tidelog.functor("number -> number")
    def g(x: int) -> int:
        return 1 // (x - 7)

    given = {"g": g, "endless": endless, "other": lambda x: "text"}
    wires, one, two = couple(PLAIN, b=given)
    two.state.limit(Limits(steps=2_000))
    two.insert("e", [("b", 7), ("b", 8)])
    one.rules.add(f".functor {functor}\nmore: r(@n, {rule}) :- e(@n, x).")
    exchange(wires, one, two)
    assert two["r"] == {("b", 7), ("b", 8)}
    assert f"[{code}]" in two.state.book.refused["more"]
    assert two.rejected["functor failed"] == 1
    two.insert("e", [("b", 9)])
    assert ("b", 9) in two["r"]
    with pytest.raises((UsageError, LimitError), match=code):
        two.rules.add(f".functor {functor}\nagain: r(@n, {rule}) :- e(@n, x).")
    assert "again" not in two.state.book.rules


def test_two_declarations_of_one_functor() -> None:
    """All nodes alike set the later rule aside."""
    wires, one, two = couple(PLAIN, a={"g": lambda x: 1}, b={"g": lambda x: 2})
    one.insert("e", [("a", 1)])
    one.rules.add(".functor g(x: number): number\nmore: r(@n, @g(x)) :- e(@n, x).")
    change = RuleChange("other", 2, "c", ".functor g(x: symbol): number\nother: r(@n, @g(n)) :- e(@n, x).")
    for each in (one, two):
        each.state.step([("c", change)])
    exchange(wires, one, two)
    for each in (one, two):
        assert "E0271" in each.state.book.refused["other"]


# --- values, configuration -------------------------------------------------------------------------------------------

VALUES = """
.type Tree = Leaf { value: number } | Fork { left: Tree, right: Tree }
.type Pair = [x: number, text: symbol]
.functor grow(t: Tree): Tree
.functor size(t: Tree): number
.functor pair(x: number, text: symbol): Pair
.functor first(p: Pair): number
.functor wrong(x: number): Tree
.decl e(@n: symbol, x: number)
.decl bad(@n: symbol, x: number)
.decl tree(@n: symbol, t: Tree)
.decl sizes(@n: symbol, s: number)
.decl p(@n: symbol, p: Pair)
tree(@n, $Leaf(x)) :- e(@n, x).
tree(@n, @grow(t)) :- tree(@n, t), @size(t) < 3.
sizes(@n, @size(t)) :- tree(@n, t).
p(@n, @pair(x, n)) :- e(@n, x).
sizes(@n, @first(p)) :- p(@n, p).
tree(@n, @wrong(x)) :- bad(@n, x).
"""


def test_records_and_values_with_branches() -> None:
    """A function gets and returns them as a database has them; wrong ones are errors."""

    def size(tree: Any) -> int:
        return 1 if type(tree).__name__ == "Leaf" else size(tree.left) + size(tree.right)

    database = tidelog.connect()
    database.load(VALUES)
    fork, leaf = database.branch("Fork"), database.branch("Leaf")
    given = {
        "grow": lambda tree: fork(tree, leaf(0)),
        "size": size,
        "pair": functions.pair,
        "first": functions.first,
        "wrong": lambda x: leaf("no number") if x == 1 else (1, 2) if x == 2 else leaf(x),
    }
    database.import_functions(given)
    network = Simulation(VALUES, functors=given, restarts=True)
    for each in (database, network):
        each.insert("e", [("a", 4), ("b", -1)])
        each.insert("bad", [("a", 3)])
    database.commit()
    network.run()
    network.restart("a")
    network.run()
    for name in ("tree", "sizes", "p"):
        assert network[name] == set(database[name])
    for number in (1, 2):
        with pytest.raises(UsageError, match="E0648"):
            network.insert("bad", [("a", number)])
    assert network["bad"] == {("a", 3)}


def test_modules_by_name() -> None:
    network = Simulation(CALLS, functors=["tests.functions"])
    network.insert("link", [("a", "b", 2)])
    network.run()
    assert network["cost"] == {("a", "b", 4)}
    own = Simulation(CALLS, functors=lambda name: functions if name == "a" else ())
    own.insert("link", [("a", "b", 3)])
    with pytest.raises(UsageError, match="E0645"):
        own.insert("link", [("b", "a", 3)])


def test_the_file_of_a_node(tmp_path: Path) -> None:
    (tmp_path / "a.secret").write_text("secret")
    text = 'name = "a"\nprogram = "p.dl"\nsecret = "a.secret"\n{}\n[nodes.a]\naddress = "x"\nkey = "y"\n'
    path = tmp_path / "a.toml"
    path.write_text(text.format('functors = ["my.module", "functions.py"]'))
    assert node_config(path).functors == ("my.module", str(tmp_path / "functions.py"))
    path.write_text(text.format("functors = [1]"))
    with pytest.raises(UsageError, match="`functors` must be a list of texts"):
        node_config(path)


def test_options_know_nothing_of_functions() -> None:
    """The state of a node as bytes has names of functors, and no functions."""
    one = node(None, functions.failing)
    one.insert("e", [("a", 1)])
    assert b"failing" not in dump(one.state)
    assert one.state.options == Options()
