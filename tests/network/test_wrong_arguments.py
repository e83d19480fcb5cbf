"""Whatever is passed to a public method of a node or a network ends well or in an error of tidelog with a hint."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.database.test_wrong_arguments import VALUES, calls, no_raw_exception
from tests.network.test_hostile import alone
from tidelog.errors import DataError, ProgramError
from tidelog.network import Limits, Node, SimulatedNetwork, Simulation, localize
from tidelog.network.config import NetworkConfig
from tidelog.network.local import LocalNetwork

LINKS = ".decl link(@x: symbol, y: number)\n.decl two(@x: symbol, y: number)\nr: two(@x, y) :- link(@x, y)."
SECONDS = [each for each in VALUES if not isinstance(each, (int, float)) or isinstance(each, bool)] + [-1, float("nan")]


def made(value: Any, **options: Any) -> None:
    arguments: dict[str, Any] = {
        "name": "a",
        "program": LINKS,
        "transport": SimulatedNetwork(1).transport("a"),
    } | options
    Node(**{name: value if each is ... else each for name, each in arguments.items()}).close()


def simulated(**options: Any) -> None:
    Simulation(**{"program": LINKS, **options}).run(9)


def wires(**options: Any) -> SimulatedNetwork:
    return SimulatedNetwork(**{"seed": 1, **options})


NODE = calls(Path(__file__).with_name("wrong_arguments_nodes.txt"), "node", globals())
SIMULATION = calls(
    Path(__file__).with_name("wrong_arguments_simulation.txt"), "network", {**globals(), "localize": localize}
)
NETWORK = calls(Path(__file__).with_name("wrong_arguments_processes.txt"), "network", globals())


def test_a_text_with_a_surrogate_is_no_program_and_no_rule() -> None:
    text, rule = f'{LINKS}\nlink("a\ud800", 1).', 'x: link(@x, 1) :- link(@x, 2), x != "\ud800".'
    _, node = alone(LINKS)
    for call in (lambda: Simulation(text), lambda: made(text, program=...), lambda: node.rules.add(rule)):
        with pytest.raises(ProgramError, match="E0109"):
            call()
    assert "x" not in node.state.book.rules


@pytest.mark.parametrize("value", [2**53 + 1, -(10**400), 10**5_000], ids=["near", "large", "huge"])
def test_an_integer_that_no_float_equals_is_none_of_a_float_column(value: int) -> None:
    _, node = alone('.decl f(@x: symbol, y: float)\nf("a", 0).')
    node.insert("f", [("a", 2**53), ("a", -0.0)])
    for verb in (node.insert, node.delete):
        with pytest.raises(DataError, match="E0401"):
            verb("f", [("a", 1.0), ("a", value)])
    assert sorted(node["f"]) == [("a", 0.0), ("a", 2.0**53)]


@pytest.fixture(scope="module")
def network() -> Iterator[LocalNetwork]:
    with LocalNetwork(NetworkConfig(LINKS, ("a",))) as network:
        yield network


@pytest.mark.parametrize("call", NODE)
def test_no_raw_exception_of_a_node(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _, node = alone(LINKS, limits=Limits())
    no_raw_exception(call, *NODE[call], node, lambda: None)


@pytest.mark.parametrize("call", SIMULATION)
def test_no_raw_exception_of_a_simulation(call: str) -> None:
    network = Simulation(LINKS)
    network.insert("link", [("a", 1)])
    no_raw_exception(call, *SIMULATION[call], network, lambda: None)


@pytest.mark.parametrize("call", NETWORK)
def test_no_raw_exception_of_a_network(call: str, network: LocalNetwork) -> None:
    no_raw_exception(call, *NETWORK[call], network, lambda: None)
    network.insert("link", [("a", 7)])
    assert ("a", 7) in network["two"]
