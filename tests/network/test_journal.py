"""The store of a node on a disk that forgets: whatever the machine loses, no step is lost that others may know of."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.depth import cases
from tests.network.cases import REACHABILITY
from tests.suite import FIRST_SEED
from tidelog.durable.simulated import SimulatedDisk
from tidelog.errors import DataError
from tidelog.network.choices import Options
from tidelog.network.journal import Journal, dump
from tidelog.network.messages import Base
from tidelog.network.node_state import Letter, NodeState

WRITES = ("make", "create", "write", "truncate", "sync file", "sync folder", "sync name", "rename", "remove")


class Killed(BaseException):
    """The process is no more."""


def opened(disk: SimulatedDisk) -> tuple[Journal, NodeState]:
    """The store and the node that a process finds, a new one in a new store."""
    journal = Journal("/store", disk.files())
    state = journal.open("a", REACHABILITY)
    if state is None:
        state = NodeState("a", REACHABILITY, Options(), secret=b"s" * 32)
        journal.begin(state)
    return journal, state


@dataclass
class Follower:
    """Takes steps, and knows which states a process may find: `states` from `acknowledged` on."""

    rng: random.Random
    disk: SimulatedDisk = field(default_factory=SimulatedDisk)
    states: list[bytes] = field(default_factory=list)
    acknowledged: int = 0
    now: tuple[Journal, NodeState] | None = None

    def step(self) -> None:
        """Do one thing, mostly a step of the node."""
        if self.now is None:
            self.now = opened(self.disk)
            self.states, self.acknowledged = [dump(self.now[1])], 0
        journal, state = self.now
        match self.rng.choice(("step", "step", "step", "begin", "reopen", "kill")):
            case "step":
                row = ("a", str(self.rng.randrange(20)))
                letters: list[Letter] = [("a", Base(("link", row), self.rng.random() < 0.7, self.rng.randrange(3)))]
                state.step(letters)
                self.states.append(dump(state))
                journal.append(state, "step", letters)
                self.acknowledged = len(self.states) - 1
            case "begin":
                journal.begin(state)
            case "reopen":
                journal.close()
                self.now = None
            case "kill":
                self.kill()

    def kill(self) -> None:
        """End the process, without a word to the disk."""
        self.disk.holders.clear()
        self.now = None

    def fault(self) -> str:
        """Return the error if the process or the machine stops now, or ""."""
        for disk in (
            self.disk.copy_after_kill(),
            self.disk.copy_after_crash(self.rng),
            self.disk.copy_after_crash(self.rng),
        ):
            journal = Journal("/store", disk.files())
            try:
                state = journal.open("a", REACHABILITY)
            except DataError as error:
                return str(error)
            finally:
                journal.close()
            found = None if state is None else dump(state)
            if self.states and found not in self.states[self.acknowledged :]:
                return f"another state than the last of {len(self.states)}"
        return ""


def followed(seed: int, skip: Callable[[str, str], bool] = lambda operation, name: False) -> str:
    """Follow a script, and let the machine stop before each operation that changes the disk. What is wrong then, or
    ""."""
    follower = Follower(random.Random(seed))
    follower.disk.skip = skip
    faults: list[str] = []
    left = 0

    def look(operation: str, name: str) -> None:
        nonlocal left
        if operation in WRITES and not faults:
            fault = follower.fault()
            if fault:
                faults.append(f"seed {seed}, before {operation} {name}: {fault}")
        left -= 1
        if left == 0:
            follower.disk.before = None
            raise Killed

    for _ in range(12):
        left = follower.rng.randrange(1, 12) if follower.rng.random() < 0.3 else 0
        follower.disk.before = look
        try:
            follower.step()
        except Killed:
            follower.kill()
        follower.disk.before = None
        if faults:
            return faults[0]
    return follower.fault()


@pytest.mark.parametrize("seed", range(FIRST_SEED + 880_000, FIRST_SEED + 880_000 + cases(24)))
def test_random_steps_on_a_disk_that_forgets(seed: int) -> None:
    assert followed(seed) == ""


def test_a_journal_that_a_killed_process_has_begun_but_not_for_good() -> None:
    """Neither the name of the state nor that of the journal is on the disk then, until the next process sees to it."""
    follower = Follower(random.Random(FIRST_SEED))
    disk = follower.disk
    journal, state = opened(disk)

    def end(operation: str, name: str) -> None:
        if operation == "sync folder":
            raise Killed

    disk.before = end
    with pytest.raises(Killed):
        journal.begin(state)
    disk.before = None
    follower.kill()
    journal, state = opened(disk)
    letters: list[Letter] = [("a", Base(("link", ("a", "b")), True))]
    state.step(letters)
    journal.append(state, "step", letters)
    follower.states = [dump(state)]
    assert [follower.fault() for _ in range(20)] == [""] * 20


SYNCS = [("sync name", ""), ("sync folder", ""), ("sync file", "state.new"), ("sync file", "journal.N")]


@pytest.mark.parametrize("sync", SYNCS)
def test_every_sync_is_needed(sync: tuple[str, str]) -> None:
    """Without any one of them there is a machine that stops and loses a step, and these tests notice."""
    seeds = range(FIRST_SEED + 881_000, FIRST_SEED + 881_040)
    assert any(followed(seed, lambda operation, name: (operation, _plain(name)) == sync) for seed in seeds)


def test_these_are_all_syncs() -> None:
    found = set[tuple[str, str]]()

    def note(operation: str, name: str) -> bool:
        found.add((operation, _plain(name)))
        return False

    followed(FIRST_SEED + 881_000, note)
    assert found == set(SYNCS)


def _plain(name: str) -> str:
    return re.sub(r"[0-9]+", "N", name)
