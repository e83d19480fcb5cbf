"""Whatever is passed to a public method of a node or a network ends well or in an error of tidelog with a hint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.database.test_wrong_arguments import ROWS, VALUES, no_raw_exception
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


NODE: dict[str, tuple[list[Any], Callable[[Node, Any], object]]] = {
    **{
        f"Node({name}=…)": (values, lambda _, value, name=name: made(value, **{name: ...}))  # type: ignore[misc]
        for name, values in {
            "name": VALUES, "program": VALUES, "transport": VALUES, "peers": VALUES,
            "store": [5, 2.5, ["e"], len, "", "a\0", "\ud800"],
            "incarnation": VALUES, "limits": VALUES, "functors": VALUES,
            **dict.fromkeys(("known_only", "sticky", "roots", "batch"), VALUES),
        }.items()
    },
    **{
        f"{verb}(…)": (VALUES, lambda node, value, verb=verb: getattr(node, verb)(value, [("a", 1)]))  # type: ignore[misc]
        for verb in ("insert", "delete")
    },
    **{
        f"{verb}('link', …)": (ROWS, lambda node, value, verb=verb: getattr(node, verb)("link", value))  # type: ignore[misc]
        for verb in ("insert", "delete")
    },
    "insert(stamp=…)": (VALUES, lambda node, value: node.insert("link", [("a", 1)], stamp=value)),
    "rules.add": (VALUES, lambda node, value: node.rules.add(value)),
    "rules.remove": (VALUES, lambda node, value: node.rules.remove(value)),
    "node[…]": (VALUES, lambda node, value: node[value]),
    "turn": (SECONDS, lambda node, value: node.turn(value)),
    "run": ([each for each in SECONDS if each is not None], lambda node, value: node.run(value)),
    "run(until=…)": ([each for each in VALUES if not callable(each)], lambda node, value: node.run(0.0, value)),
    "network_quiet": (SECONDS, lambda node, value: node.network_quiet(value)),
    "asserted": (VALUES, lambda node, value: node.asserted(value)),
    "resend": (VALUES, lambda node, value: node.resend(everyone=value)),
    **{
        f"explain({name}=…)": (values, lambda node, value, name=name: node.explain("link", ("a", 1), **{name: value}))  # type: ignore[misc]
        for name, values in {"seconds": SECONDS, "messages": VALUES}.items()
    },
    "explain('link', …)": (ROWS, lambda node, value: node.explain("link", value, seconds=0.0)),
    "introduce": (VALUES, lambda node, value: node.introduce(value)),
}  # fmt: skip
SIMULATION: dict[str, tuple[list[Any], Callable[[Simulation, Any], object]]] = {
    **{
        f"Simulation({name}=…)": (VALUES, lambda _, value, name=name: simulated(**{name: value}))  # type: ignore[misc]
        for name in (
            "program",
            "seed",
            "loss",
            "duplicates",
            "restarts",
            "schedule",
            "sticky",
            "roots",
            "functors",
            "machine",
        )
    },
    "SimulatedNetwork.transport": (VALUES, lambda _, value: wires().transport(value)),
    **{
        f"SimulatedNetwork({name}=…)": (VALUES, lambda _, value, name=name: wires(**{name: value}))  # type: ignore[misc]
        for name in ("seed", "loss", "duplicates", "schedule")
    },
    **{
        f"Limits({name}=…)": (VALUES, lambda _, value, name=name: Limits(**{name: value}))  # type: ignore[misc]
        for name in ("memory", "peers", "rules", "steps", "rows", "senders", "names")
    },
    "localize": (VALUES, lambda _, value: localize(value)),
    **{
        f"{verb}(…)": (VALUES, lambda network, value, verb=verb: getattr(network, verb)(value))  # type: ignore[misc]
        for verb in ("cut", "restart", "lose", "node", "asserted", "local")
    },
    "rules.add": (VALUES, lambda network, value: network.rules.add(value)),
    "rules.remove": (VALUES, lambda network, value: network.rules.remove(value)),
    "run": (
        [each for each in VALUES if not isinstance(each, int) or each == 5],
        lambda network, value: network.run(value),
    ),
    "network[…]": (VALUES, lambda network, value: network[value]),
    "explain(at=…)": (VALUES, lambda network, value: network.explain("link", ("a", 1), at=value)),
    "explain(tries=…)": (VALUES, lambda network, value: network.explain("link", ("a", 1), tries=value)),
    **{
        f"{verb}('link', …)": (ROWS, lambda network, value, verb=verb: getattr(network, verb)("link", value))  # type: ignore[misc]
        for verb in ("insert", "delete", "explain", "why_not", "ways_to_remove", "ways_to_derive", "blame")
    },
    **{
        f"{verb}(…, ('a', 1))": (VALUES, lambda network, value, verb=verb: getattr(network, verb)(value, ("a", 1)))  # type: ignore[misc]
        for verb in ("insert", "delete", "explain", "why_not", "ways_to_remove", "ways_to_derive", "blame")
    },
}
NETWORK: dict[str, tuple[list[Any], Callable[[LocalNetwork, Any], object]]] = {
    "LocalNetwork(…)": (VALUES, lambda _, value: LocalNetwork(value)),
    **{
        f"{verb}(…)": (VALUES, lambda network, value, verb=verb: getattr(network, verb)(value, []))  # type: ignore[misc]
        for verb in ("insert", "delete")
    },
    "insert('link', …)": (ROWS, lambda network, value: network.insert("link", value)),
    "rules.add": (VALUES, lambda network, value: network.rules.add(value)),
    "rules.remove": (VALUES, lambda network, value: network.rules.remove(value)),
    "network[…]": (VALUES, lambda network, value: network[value]),
    "views": ([each for each in VALUES if not isinstance(each, list)], lambda network, value: network.views(value)),
    "settle": (SECONDS, lambda network, value: network.settle(value)),
    "blame(…)": (VALUES, lambda network, value: network.blame(value, ("a", 7))),
    "blame('link', …)": (VALUES, lambda network, value: network.blame("link", value)),
}


def test_a_text_with_a_surrogate_is_no_program_and_no_rule() -> None:
    text, rule = f'{LINKS}\nlink("a\ud800", 1).', 'x: link(@x, 1) :- link(@x, 2), x != "\ud800".'
    _, node = alone(LINKS)
    for call in (lambda: Simulation(text), lambda: made(text, program=...), lambda: node.rules.add(rule)):
        with pytest.raises(ProgramError) as raised:
            call()
        assert raised.value.code == "E0109"
    assert "x" not in node.state.book.rules


@pytest.mark.parametrize("value", [2**53 + 1, -(10**400), 10**5_000], ids=["near", "large", "huge"])
def test_an_integer_that_no_float_equals_is_none_of_a_float_column(value: int) -> None:
    _, node = alone('.decl f(@x: symbol, y: float)\nf("a", 0).')
    node.insert("f", [("a", 2**53), ("a", -0.0)])
    for verb in (node.insert, node.delete):
        with pytest.raises(DataError) as raised:
            verb("f", [("a", 1.0), ("a", value)])
        assert raised.value.code == "E0401"
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
