"""Scripts of epochs on a simulated disk, for what happens when the machine stops, a file operation fails, or a file is
damaged. The facts are numbers; what has to be there after each epoch is known.
"""

from __future__ import annotations

import errno
import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from tidelog.errors import TidelogError
from tidelog.store.simulated import SimulatedDisk
from tidelog.store.state import State

WRITES = ("make", "create", "write", "sync file", "sync folder", "sync name", "rename", "remove", "remove folder")
"""Operations that change something; what only reads leaves the disk as it was."""
ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES, errno.EMFILE)


def table(numbers: set[int]) -> pa.Table:
    return pa.table({"x": pa.array(sorted(numbers), pa.int64())})


def facts_in(state: State) -> set[int]:
    """The facts of a state: those of the checkpoint, and what has changed since."""
    found: set[int] = set()
    with state.saved() as file:
        if file is not None:
            found |= set(json.load(file))
    for _, asserts, values in state.tables():
        assert isinstance(values, pa.Table)
        numbers = set(values.column("x").to_pylist())
        found = found | numbers if asserts else found - numbers
    return found


def opened(disk: SimulatedDisk) -> tuple[int, set[int]]:
    """The epoch and the facts that a process finds."""
    state = State("/store", files=disk.files())
    try:
        return state.manifest.epoch, facts_in(state)
    finally:
        state.close()


@dataclass
class Follower:
    """Makes epochs at random, and knows what a process may find: `acknowledged`, or what is being committed."""

    rng: random.Random
    disk: SimulatedDisk = field(default_factory=SimulatedDisk)
    history: list[set[int]] = field(default_factory=lambda: [set()])
    acknowledged: int = 0
    state: State | None = None

    def step(self) -> None:
        """Do one thing: mostly an epoch. Raises what the state raises, and `history` does not go on then."""
        state = self.open()
        match self.rng.choice(
            ("commit", "commit", "commit", "nothing", "fail", "checkpoint", "gather", "reopen", "kill")
        ):
            case "commit":
                self.commit(state)
            case "nothing":
                self.history.append(self.history[-1])
                state.publish(state.prepare({}), "program", {})
                self.acknowledged += 1
            case "fail":
                state.discard(state.prepare({("e", True): table({-1})}))
            case "checkpoint" if self.acknowledged:
                now = json.dumps(sorted(self.history[self.acknowledged])).encode()
                state.checkpoint(lambda file: file.write(now))
            case "gather" if self.acknowledged and state.manifest.checkpoint is None:
                state.gather({("e", True): table(self.history[self.acknowledged])})
            case "reopen":
                self.close()
            case "kill":
                self.disk.holders.clear()
                self.state = None

    def commit(self, state: State) -> None:
        """Make an epoch that inserts and deletes."""
        before = self.history[self.acknowledged]
        came = {self.rng.randrange(100) for _ in range(3)} - before
        went = set(self.rng.sample(sorted(before), len(before) // 4))
        tables = {("e", True): table(came), ("e", False): table(went)}
        self.history.append((before | came) - went)
        segment = state.prepare({key: each for key, each in tables.items() if len(each)})
        try:
            state.publish(segment, f"program {len(self.history)}", {})
        except BaseException:
            state.discard(segment)
            raise
        self.acknowledged += 1

    def open(self) -> State:
        """The state, opened if need be."""
        if self.state is None:
            self.state = State("/store", files=self.disk.files())
        return self.state

    def close(self) -> None:
        """Close the state."""
        if self.state is not None:
            self.state.close()
            self.state = None

    def forgive(self) -> None:
        """Forget the epoch that has failed."""
        del self.history[self.acknowledged + 1 :]

    def fault_in(self, disk: SimulatedDisk) -> str:
        """What is wrong with what a process finds on a disk, or ""."""
        try:
            epoch, facts = opened(disk)
        except TidelogError as error:
            return f"cannot be opened: {error}"
        if not self.acknowledged <= epoch < len(self.history):
            return f"epoch {epoch} instead of {self.acknowledged} to {len(self.history) - 1}"
        return "" if facts == self.history[epoch] else f"epoch {epoch} with {facts} instead of {self.history[epoch]}"


def crash_everywhere(seed: int, steps: int, crashes: int, skip: Callable[[str, str], bool] | None = None) -> str:
    """Follow a script, and let the machine stop, or the process be killed, before each operation that changes the disk.
    What is wrong then, or ""."""
    rng = random.Random(seed)
    follower = Follower(rng)
    faults: list[str] = []

    def look(operation: str, name: str) -> None:
        if isinstance(skip, Skipping) and operation in WRITES and not operation.startswith("sync"):
            skip.renamed = operation == "rename"
        if operation in WRITES and not faults:
            for disk in (follower.disk.left(), *(follower.disk.crashed(rng) for _ in range(crashes))):
                fault = follower.fault_in(disk)
                if fault:
                    faults.append(f"before {operation} {name}: {fault}")

    follower.disk.before = look
    if skip is not None:
        follower.disk.skip = skip
    for _ in range(steps):
        follower.step()
        look("sync file", "the end of a step")
        if faults:
            return f"seed {seed}, {faults[0]}"
    return ""


def fail_once(seed: int, steps: int, number: int, error: BaseException, *, for_good: bool) -> str:
    """Follow a script in which an operation fails, and after it perhaps all until the end of the step. What is wrong
    with the state then, or with the steps that follow, or ""; "over" where there are not so many operations."""
    rng = random.Random(seed)
    follower = Follower(rng)
    count = 0
    failing = False

    def fail(operation: str, name: str) -> None:
        nonlocal count, failing
        count += 1
        if count == number or (failing and for_good):
            failing = True
            raise error

    follower.disk.before = fail
    for _ in range(steps):
        facts = follower.history[follower.acknowledged]
        try:
            follower.step()
        except TidelogError as caught:
            if not failing:
                return f"without a reason: {caught}"
            if not isinstance(error, OSError) or caught.code != "E0681" or not caught.problems[0].hint:
                return f"the error is {caught}"
        except KeyboardInterrupt:
            if not isinstance(error, KeyboardInterrupt):
                return "an interrupt without a reason"
        if failing:
            follower.disk.before, failing = None, False
            known = len(follower.history) - 1
            fault = follower.fault_in(follower.disk.left())
            if fault:
                return f"after operation {number}: {fault}"
            if follower.state is not None and known > follower.acknowledged:  # the process goes on as before
                follower.forgive()
                if facts_in(follower.state) != facts or follower.state.manifest.epoch != follower.acknowledged:
                    return f"the state has {facts_in(follower.state)} instead of {facts}"
            elif known > follower.acknowledged:
                epoch, _ = opened(follower.disk.left())
                follower.acknowledged = epoch
                follower.forgive()
            follower.commit(follower.open())
            fault = follower.fault_in(follower.disk.left()) or follower.fault_in(follower.disk.crashed(rng))
            if fault:
                return f"after operation {number} and another epoch: {fault}"
    return "" if count >= number else "over"


def damages(data: bytes, rng: random.Random, flips: int) -> Iterator[tuple[str, bytes]]:
    """What can become of the bytes of a file: bits, blocks and ends."""
    for _ in range(flips):
        place, bit = rng.randrange(len(data)), rng.randrange(8)
        yield f"bit {bit} of byte {place}", data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]
    for _ in range(flips // 8):
        start = rng.randrange(len(data))
        end = rng.randint(start + 1, len(data))
        yield f"nothing after {start}", data[:start]
        yield f"{start} to {end} are missing", data[:start] + data[end:]
        if any(data[start:end]):
            yield f"zeros from {start} to {end}", data[:start] + bytes(end - start) + data[end:]
    yield "nothing", b""
    yield "more at the end", data + b"\n"
    yield "twice", data + data


class Skipping:
    """Says that a kind of sync does nothing: of a name, in which N is the name of a segment or checkpoint, and right
    after a file was renamed or not."""

    def __init__(self, operation: str, name: str, renamed: bool) -> None:
        self._wanted = (operation, name, renamed)
        self.renamed = False
        """Whether the last operation that changed the disk renamed a file."""

    def __call__(self, operation: str, name: str) -> bool:
        return (operation, plain(name), self.renamed) == self._wanted


def plain(name: str) -> str:
    """A name with N for the name of a segment or checkpoint."""
    return re.sub(r"[0-9]{8}(-all)?", "N", name)
