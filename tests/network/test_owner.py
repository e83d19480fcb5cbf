"""The store of a node belongs to one process: a fork, a lock that is gone and a disk that refuses lose nothing."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.instead import KINDS, put
from tests.network.test_hostile import alone
from tidelog.errors import TidelogError, UsageError
from tidelog.network import Node

LINKS = ".decl link(@x: symbol, y: symbol)\n.decl two(@x: symbol, y: symbol)\nr: two(@x, y) :- link(@x, y)."

FORK = """
import os, sys, tidelog
from tidelog.network import Node
from tidelog.network import SimulatedNetwork

def code_of(call):
    try:
        call()
    except tidelog.TidelogError as error:
        return error.code

node = Node("a", sys.argv[1], SimulatedNetwork(1).transport("a"), store=sys.argv[2])
node.insert("link", [("a", "b")])
number = os.fork()
if not number:
    calls = [lambda: node.insert("link", [("a", "c")]), lambda: node.rules.remove("r"), node.ask, node.resend]
    same = {code_of(call) for call in calls} == {"E0627"} and node["two"] == {("a", "b")}
    node.close()
    os._exit(0 if same else 1)
assert os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 0
node.insert("link", [("a", "d")])
assert node["two"] == {("a", "b"), ("a", "d")}
"""


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(UsageError) as caught:
        call()
    assert caught.value.problems[0].hint
    return caught.value.code


def test_a_child_changes_nothing_in_the_store_of_its_parent(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore:This process", "-c", FORK, LINKS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr  # also of a child
    _, again = alone(LINKS, store=tmp_path)
    assert again["two"] == {("a", "b"), ("a", "d")}
    again.close()


@pytest.mark.parametrize("replaced", [False, True])
def test_a_node_without_its_lock_does_nothing(tmp_path: Path, replaced: bool) -> None:
    _, node = alone(LINKS, store=tmp_path)
    node.insert("link", [("a", "b")])
    (tmp_path / "lock").unlink()
    other = None
    if replaced:
        _, other = alone(LINKS, store=tmp_path)
        other.insert("link", [("a", "o")])
    for call in (lambda: node.insert("link", [("a", "c")]), node.ask, node.resend):
        assert code_of(call) == "E0628"
    assert node["two"] == {("a", "b")}
    node.close()
    if other is not None:
        other.insert("link", [("a", "p")])
        other.close()
    _, again = alone(LINKS, store=tmp_path)
    assert again["two"] == ({("a", "b"), ("a", "o"), ("a", "p")} if replaced else {("a", "b")})
    again.close()


def test_two_processes_cannot_have_a_store(tmp_path: Path) -> None:
    _, node = alone(LINKS, store=tmp_path)
    with pytest.raises(UsageError, match=f"E0623.*in use by process {os.getpid()}"):
        alone(LINKS, store=tmp_path)
    node.close()


def test_a_step_that_the_disk_does_not_take_has_not_happened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever follows it would be read without it."""
    _, node = alone(LINKS, store=tmp_path)
    node.insert("link", [("a", "b")])
    with monkeypatch.context() as patch:

        def full(descriptor: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        patch.setattr(os, "fsync", full)
        assert code_of(lambda: node.insert("link", [("a", "c")])) == "E0623"
    assert code_of(lambda: node.insert("link", [("a", "d")])) == "E0602"
    with Node("a", LINKS, alone(LINKS)[0].transport("a"), store=tmp_path) as again:
        assert ("a", "b") in again["two"]
        assert ("a", "d") not in again["two"]


def test_a_place_that_cannot_be_a_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file/below", Path("/dev/null/a")):
        assert code_of(partial(alone, LINKS, store=place)) == "E0623"


@pytest.mark.parametrize("kind", KINDS)
def test_something_else_in_the_place_of_a_file(tmp_path: Path, kind: str) -> None:
    for number, place in enumerate(("lock", "state", "journal.1")):
        store = tmp_path / str(number)
        with Node("a", LINKS, alone(LINKS)[0].transport("a"), store=store) as node:
            node.insert("link", [("a", "b")])
        assert (store / place).exists()
        put(kind, store / place)
        said = ""
        try:
            with Node("a", LINKS, alone(LINKS)[0].transport("a"), store=store) as node:
                assert node["two"] == ({("a", "b")} if place == "lock" else set()), place
        except TidelogError as error:
            said = str(error)
        assert kind == "a file" or ("E0623" in said and place in said), said
