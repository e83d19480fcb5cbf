"""Values with branches on nodes: they travel in packets as lists that begin with the branch, and are kept so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.suite import evaluate_naive
from tidelog.errors import DataError
from tidelog.language.branches import branch_class
from tidelog.network import Simulation
from tidelog.network.localize import localize
from tidelog.network.simulation import SimulatedNetwork
from tidelog.network.values import fits

PROGRAM = """
.type Way = End {} | Hop { node: symbol, cost: float, rest: Way }
.type Mark = Seen {} | Named { text: symbol }
.type Pair = [way: Way, mark: Mark]
.decl link(@s: symbol, d: symbol)
.decl way(@s: symbol, w: Way, d: symbol)
.decl known(@s: symbol, p: Pair)
.decl last(@s: symbol, m: Mark)
way(@s, $Hop(s, 1, $End), d) :- link(@s, d).
way(@s, $Hop(s, 1, w), d) :- link(@s, z), way(@z, w, d), w = $Hop(z, _, $End).
known(@d, [w, $Named(s)]) :- way(@s, w, d), w = $Hop(_, _, $Hop(_, _, _)).
last(@s, m) :- known(@s, [$Hop(_, _, _), m]), m != $Seen.
"""
LINKS = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]
Named, Seen, Hop, End = (
    branch_class(name, fields)
    for name, fields in (("Named", ("text",)), ("Seen", ()), ("Hop", ("node", "cost", "rest")), ("End", ()))
)


def views(text: str, **facts: list[Any]) -> dict[str, set[Any]]:
    return evaluate_naive(text, facts)


@pytest.mark.parametrize("seed", range(4))
def test_a_network_has_the_views_of_one_database(seed: int) -> None:
    network = Simulation(PROGRAM, seed=seed, loss=0.2, duplicates=0.2, restarts=True)
    network.insert("link", LINKS)
    network.insert("known", [("a", (Hop("x", 2, End()), Named("y"))), ("a", (End(), Named("z")))])
    network.run()
    known = [("a", (Hop("x", 2.0, End()), Named("y"))), ("a", (End(), Named("z")))]
    expected = views(PROGRAM, link=LINKS, known=known)
    assert expected["last"] >= {("a", Named("y")), ("c", Named("a"))}
    assert {name: network[name] for name in expected} == expected
    network.delete("link", LINKS[:1])
    network.delete("known", known[:1])
    network.run()
    expected = views(PROGRAM, link=LINKS[1:], known=known[1:])
    assert {name: network[name] for name in expected} == expected


def test_a_node_keeps_the_values_on_its_disk(tmp_path: Path) -> None:
    text = PROGRAM.replace(":- link(@s, z), way(@z, w, d),", ":- link(@s, z), way(@s, w, d),")
    for _ in range(2):
        node = tidelog.Node("a", text, SimulatedNetwork(1).transport("a"), store=tmp_path / "a")
        node.insert("known", [("a", (Hop("x", 2, End()), Named("y")))])
        node.insert("link", [("a", "b")])
        assert node["last"] == {("a", Named("y"))}
        assert node["way"] == {("a", Hop("a", 1.0, End()), "b")}
        node.close()


@pytest.mark.parametrize(
    "value",
    [
        None,
        (),
        ("Hop",),
        ("End", 1),
        ("Seen",),
        ("Hop", "x", 1, ("End",)),
        ("Hop", "x", 1.0, ("Named", "x")),
        ("Hop", "x", 1.0, None),
        (None, "x"),
        "End",
        (["End"],),
    ],
)
def test_nodes_reject_what_is_no_value(value: Any) -> None:
    program = localize(tidelog.language.check(tidelog.language.read(PROGRAM)))
    assert fits(("way", ("a", value, "d")), program) == "wrong type"
    assert fits(("way", ("a", ("Hop", "x", 1.0, ("End",)), "d")), program) is None


def test_users_get_an_error_for_what_is_no_value() -> None:
    network = Simulation(PROGRAM)
    for value in (Seen(), ("End", 1), None, (1, 2), Hop("x", "y", End())):
        with pytest.raises(DataError, match=r"E0401.*row 1 does not fit way"):
            network.insert("way", [("a", value, "b")])
    network.insert("way", [("a", json.loads('["Hop", "x", 1, ["End"]]'), "b")])
    network.run()
    assert network["way"] == {("a", Hop("x", 1.0, End()), "b")}
