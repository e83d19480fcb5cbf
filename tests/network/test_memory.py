"""A node that runs out of memory anywhere in a step: E0503, its store is as before, and the step can be done again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.depth import DEPTH, cases, stride
from tests.interrupting import attempts
from tests.network.cases import REACHABILITY, exchange
from tests.texts import cases_of
from tidelog.errors import LimitError
from tidelog.network import Node, SimulatedNetwork

FILES = "tidelog/network/", "tidelog/reference/"
STEPS: dict[str, Callable[[Node], object]] = {
    "insert": lambda node: node.insert("link", [("a", "c"), ("a", "d")]),
    "delete": lambda node: node.delete("link", [("a", "b")]),
    "rules.add": lambda node: node.rules.add("r3: reachable(@x, x) :- link(@x, y)."),
    "rules.remove": lambda node: node.rules.remove("r1"),
}
EVERY = {"insert": stride(122), "delete": stride(122), "rules.add": stride(194), "rules.remove": stride(194)}
"""So many bytecodes lie between two places that fail."""
BEHIND = tuple(cases_of(__file__, "behind"))
"""What also runs right behind the moment from which on a step lasts."""


def opened(folder: Path, wires: SimulatedNetwork | None = None) -> Node:
    return Node("a", REACHABILITY, (wires or SimulatedNetwork(1)).transport("a"), peers="ab", store=folder)


def state(node: Node) -> tuple[Any, ...]:
    return node["link"], node["reachable"], node.state.book.rules


def without_memory(call: Callable[[], object]) -> bool:
    """Return True if a call ends in E0503; raise all other errors."""
    try:
        call()
    except LimitError as error:
        if error.code != "E0503":
            raise
        return True
    return False


@pytest.mark.parametrize("name", STEPS)
def test_a_step_that_fails_has_not_happened(tmp_path: Path, name: str) -> None:
    step, kept = STEPS[name], tmp_path / "kept"
    with opened(kept) as node:
        node.insert("link", [("a", "b"), ("a", "e")])
        before = state(node)
    shutil.copytree(kept, tmp_path / "other")
    with opened(tmp_path / "other") as node:
        step(node)
        after = state(node)
    assert before != after
    failures = unsent = 0
    for number, attempt in enumerate(attempts(MemoryError, *FILES, every=EVERY[name])):
        folder = tmp_path / str(number)
        shutil.copytree(kept, folder)
        failed = False
        with opened(folder) as node:
            with attempt:
                failed = without_memory(lambda node=node: step(node))  # type: ignore[misc]
            assert attempt.error is None, f"a bare {attempt.error!r}"
            assert failed or state(node) == after
        failures += failed
        unsent += attempt.stopped and not failed
        with opened(folder) as node:
            lasts = state(node) == after
            assert lasts or state(node) == before
            assert lasts is not failed or attempt.place.startswith(BEHIND), attempt.place
            if not lasts:
                step(node)
            assert state(node) == after
        shutil.rmtree(folder)
    assert failures >= cases(10)
    assert unsent > 0 or name != "insert" or DEPTH < 0.5


def test_a_packet_for_which_there_is_no_memory_comes_again(tmp_path: Path) -> None:
    failures = 0
    for number, attempt in enumerate(attempts(MemoryError, *FILES, every=stride(65))):
        wires = SimulatedNetwork(1)
        a = opened(tmp_path / str(number), wires)
        with Node("b", REACHABILITY, wires.transport("b"), peers="ab") as b:
            a.insert("link", [("a", "b")])
            exchange(wires, a, b)
            b.insert("link", [("b", "c")])
            wires.deliver()
            with attempt:
                failures += without_memory(a.turn)
            assert attempt.error is None, f"a bare {attempt.error!r}"
            a.close()
            with opened(tmp_path / str(number), wires) as again:
                exchange(wires, again, b)
                for node in (b, again):
                    node.resend()
                exchange(wires, again, b)
                assert again["reachable"] == {("a", "b"), ("a", "c")}
    assert failures >= cases(10)
