"""The protocols of `examples/network`: through cuts and repairs each agrees with one database, and what it says."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.depth import cases
from tidelog.network import Simulation

FOLDER = Path(__file__).parents[2] / "examples/network"


def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("protocols", FOLDER / "protocols.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["protocols"] = module
    spec.loader.exec_module(module)
    return module


PROTOCOLS = example()

SQUARE = [("a", "b", 1), ("b", "c", 1), ("a", "d", 1), ("d", "c", 3)]


def square(name: str) -> Simulation:
    """a to c by way of b costs 2, by way of d 4."""
    simulation = Simulation(FOLDER / f"{name}.dl", 3, loss=0.1, duplicates=0.1, restarts=True)
    simulation.insert("link", [link for x, y, cost in SQUARE for link in ((x, y, cost), (y, x, cost))])
    simulation.run()
    return simulation


def cut(simulation: Simulation, x: str, y: str, cost: int) -> None:
    simulation.delete("link", [(x, y, cost), (y, x, cost)])
    simulation.run()


@pytest.mark.parametrize("name", PROTOCOLS.PROTOCOLS)
@pytest.mark.parametrize("seed", range(1, 1 + cases(1)))
def test_protocols_agree_with_one_database(name: str, seed: int) -> None:
    events = list(PROTOCOLS.life(name, seed, nodes=6, extra=2))
    assert len(events) == 7
    assert [what for what, agrees, _ in events if not agrees] == []


def test_there_are_four_protocols() -> None:
    assert PROTOCOLS.PROTOCOLS == ["cheapest_path", "link_state", "path_vector", "reachability"]


@pytest.mark.parametrize("name", ["cheapest_path", "link_state"])
def test_the_cheapest_way_and_the_next_one(name: str) -> None:
    simulation = square(name)
    assert ("a", "c", 2) in simulation["best"]
    cut(simulation, "b", "c", 1)
    assert {row for row in simulation["best"] if row[:2] == ("a", "c")} == {("a", "c", 4)}
    cut(simulation, "d", "c", 3)
    assert {row for row in simulation["best"] if row[:2] == ("a", "c")} == set()


def test_the_next_hop() -> None:
    simulation = square("cheapest_path")
    assert ("a", "c", "b") in simulation["next_hop"]
    cut(simulation, "b", "c", 1)
    assert {row for row in simulation["next_hop"] if row[:2] == ("a", "c")} == {("a", "c", "d")}


def test_the_path_is_told() -> None:
    simulation = square("path_vector")
    assert ("a", "c", " a b c ") in simulation["route"]
    cut(simulation, "b", "c", 1)
    assert ("a", "c", " a d c ") in simulation["route"]
    assert all(len(set(path.split())) == len(path.split()) for _, _, path in simulation["route"])


def test_a_part_that_is_cut_off_is_unreachable() -> None:
    simulation = square("reachability")
    cut(simulation, "b", "c", 1)
    cut(simulation, "d", "c", 3)
    assert simulation["reachable"] == {(x, y) for x in "abd" for y in "abd"}
