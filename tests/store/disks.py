"""Scripts of epochs on a simulated disk, for what happens when the machine stops, a file operation fails, or a file is
damaged. The facts are numbers; what has to be there after each epoch is known. And a real disk without room.
"""

from __future__ import annotations

import errno
import json
import random
import re
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa
import pytest

from tidelog.durable.simulated import SimulatedDisk
from tidelog.errors import TidelogError
from tidelog.store.state import StateFolder

SYNCS = ("sync file", "sync folder", "sync name")
WRITES = ("make", "create", "truncate", "write", *SYNCS, "rename", "remove", "remove folder")
"""Operations that change something; what only reads leaves the disk as it was."""
ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES, errno.EMFILE)


@contextmanager
def without_logs() -> Iterator[None]:
    """Let all commits inside of the block be too large for a log."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tidelog.store.segments.MOST_ROWS", -1)
        yield


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond so many bytes inside of the block."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def table(numbers: set[int]) -> pa.Table:
    return pa.table({"x": pa.array(sorted(numbers), pa.int64())})


def facts_in(state: StateFolder) -> set[int]:
    """The facts of a state: those of the checkpoint, and what has changed since."""
    found: set[int] = set()
    with state.open_checkpoint() as file:
        if file is not None:
            found |= set(json.load(file))
    for _, asserts, values in state.tables():
        assert isinstance(values, pa.Table)
        numbers = set(values.column("x").to_pylist())
        found = found | numbers if asserts else found - numbers
    return found


def program_of(facts: set[int]) -> str:
    """The program that a `Follower` publishes with facts; some epochs change it and some do not."""
    return f"program {sum(facts) % 2}" if facts else ""


def opened(disk: SimulatedDisk, kind: str) -> tuple[int, set[int]]:
    """The epoch and the facts that a process finds. AssertionError where the program is not the one that goes with
    these."""
    state = StateFolder("/store", kind, files=disk.files())
    try:
        facts = facts_in(state)
        assert state.manifest.text == program_of(facts), state.manifest.text
        return state.manifest.epoch, facts
    finally:
        state.close()


class Killed(BaseException):
    """The process is no more."""


@dataclass
class Follower:
    """Makes epochs at random, of a database in memory or over Spark, which has no logs. It knows what a process may
    find: an epoch from `acknowledged` on, with the facts that `history` has for it, or had for one that has failed."""

    rng: random.Random
    disk: SimulatedDisk = field(default_factory=SimulatedDisk)
    history: list[set[int]] = field(default_factory=lambda: [set()])
    acknowledged: int = 0
    state: StateFolder | None = None
    failed: list[tuple[int, set[int]]] = field(default_factory=list)
    kind: str = field(init=False)
    aside: tuple[int, str] | None = None
    """The checkpoint that was written aside, and its checksum."""

    def __post_init__(self) -> None:
        self.kind = self.rng.choice(("embedded", "embedded", "spark"))

    def step(self) -> None:
        """Do one thing: mostly an epoch. Raises what the state raises, and `history` does not go on then."""
        state = self.open()
        match self.rng.choice(
            ("commit", "commit", "commit", "nothing", "fail", "checkpoint", "aside", "gather", "reopen", "kill")
        ):
            case "commit":
                self.commit(state)
            case "nothing":
                self.history.append(self.history[-1])
                state.publish(state.prepare({}), program_of(self.history[-1]), {})
                self.acknowledge()
            case "fail":
                state.discard(state.prepare({("e", True): table({-1})}))
            case "checkpoint" if state.manifest.epoch:
                now = json.dumps(sorted(self.history[-1])).encode()
                self.drop_aside(state)
                state.checkpoint(lambda file: file.write(now))
            case "aside":
                self.write_aside(state)
            case "gather" if self.kind == "spark" and state.manifest.epoch and state.manifest.checkpoint is None:
                if self.aside is None:
                    state.gather({("e", True): table(self.history[-1])})
            case "reopen":
                self.close()
            case "kill":
                self.kill()

    def commit(self, state: StateFolder) -> None:
        """Make an epoch that inserts and deletes."""
        before = self.history[-1]
        came = {self.rng.randrange(100) for _ in range(3)} - before
        went = set(self.rng.sample(sorted(before), len(before) // 4))
        tables = {("e", True): table(came), ("e", False): table(went)}
        self.history.append((before | came) - went)
        segment = state.prepare({key: each for key, each in tables.items() if len(each)})
        try:
            state.publish(segment, program_of(self.history[-1]), {})
        except BaseException:
            state.discard(segment)
            raise
        self.acknowledge()

    def write_aside(self, state: StateFolder) -> None:
        """Take the checkpoint of an earlier epoch that was written aside, or write one after an epoch."""
        written, self.aside = self.aside, None
        if written is not None:
            state.take_from_background(*written)
            return
        self.commit(state)
        now, number = json.dumps(sorted(self.history[-1])).encode(), state.manifest.number
        self.aside = number, state.write_in_background(number, lambda file: file.write(now))

    def drop_aside(self, state: StateFolder) -> None:
        """Remove what was written aside."""
        if self.aside is not None:
            state.drop_checkpoint(self.aside[0])
            self.aside = None

    def acknowledge(self) -> None:
        """Have committed the last epoch for good."""
        self.acknowledged = len(self.history) - 1
        self.failed.clear()

    def kill(self) -> None:
        """End the process, without a word to the disk."""
        self.disk.holders.clear()
        self.state = self.aside = None

    def go_on(self, epoch: int) -> None:
        """Go on from an epoch, after one has failed that may still be found."""
        self.failed += [(each, self.history[each]) for each in range(epoch + 1, len(self.history))]
        del self.history[epoch + 1 :]

    def open(self) -> StateFolder:
        """The state, opened if need be."""
        if self.state is None:
            self.state = StateFolder("/store", self.kind, files=self.disk.files())
        return self.state

    def close(self) -> None:
        """Close the state."""
        if self.state is not None:
            self.drop_aside(self.state)
            self.state.close()
            self.state = None

    def fault_in(self, disk: SimulatedDisk) -> str:
        """Return the error that a process finds on a disk, or ""."""
        try:
            epoch, facts = opened(disk, self.kind)
        except TidelogError as error:
            return f"cannot be opened: {error}"
        except AssertionError as error:
            return f"another program: {error}"
        right = [*enumerate(self.history)][self.acknowledged :] + self.failed
        return "" if (epoch, facts) in right else f"epoch {epoch} with {facts} instead of one of {right}"


def crash_everywhere(seed: int, steps: int, crashes: int, skip: Callable[[str, str], bool] | None = None) -> str:
    """Follow a script, and let the machine stop, or the process be killed, before each operation that changes the disk.
    In one step of three the process is killed in the middle, and another goes on. What is wrong then, or ""."""
    rng = random.Random(seed)
    follower = Follower(rng)
    faults: list[str] = []
    left = 0

    def look(operation: str, name: str) -> None:
        nonlocal left
        if isinstance(skip, Skipping) and operation in WRITES and not operation.startswith("sync"):
            skip.renamed = operation == "rename"
        if operation in WRITES and not faults:
            fault = _fault_now(follower, crashes)
            if fault:
                faults.append(f"before {operation} {name}: {fault}")
        left -= 1
        if left == 0:
            follower.disk.before = _end
            raise Killed

    if skip is not None:
        follower.disk.skip = skip
    for _ in range(steps):
        left = rng.randrange(1, 30) if rng.random() < 0.3 else 0
        follower.disk.before = look
        try:
            follower.step()
        except Killed:
            follower.kill()
            follower.disk.before = None
            follower.go_on(opened(follower.disk.copy_after_kill(), follower.kind)[0])
        follower.disk.before = None
        fault = faults[0] if faults else _fault_now(follower, crashes)
        if fault:
            return f"seed {seed}, {fault}"
    return ""


def _end(operation: str, name: str) -> None:
    raise Killed


def _fault_now(follower: Follower, crashes: int) -> str:
    """Return the error if the process ends now, or the machine; or ""."""
    disks = (follower.disk.copy_after_kill(), *(follower.disk.copy_after_crash(follower.rng) for _ in range(crashes)))
    return next(filter(None, map(follower.fault_in, disks)), "")


def fail_once(seed: int, steps: int, number: int, error: BaseException, *, for_good: bool) -> str:
    """Follow a script in which an operation fails, and perhaps all after it that write something, until the end of the
    step. What is wrong with the state then, or while another epoch follows, or ""; "over" where there are not so many
    operations."""
    follower = Follower(random.Random(seed))
    count = 0

    def fail(operation: str, name: str) -> None:
        nonlocal count
        count += 1
        full = for_good and operation in WRITES and operation not in ("remove", "remove folder")
        if count == number or (full and count > number):
            raise error

    def look(operation: str, name: str) -> None:
        if operation in WRITES:
            fault = _fault_now(follower, 1)
            if fault:
                raise AssertionError(f"before {operation} {name}: {fault}")

    follower.disk.before = fail
    for _ in range(steps):
        facts = follower.history[-1]
        try:
            follower.step()
        except (TidelogError, KeyboardInterrupt) as caught:
            if count < number:
                return f"without a reason: {caught}"
            if isinstance(caught, TidelogError) and (caught.code != "E0681" or not caught.problems[0].hint):
                return f"the error is {caught}"
        if count >= number:
            follower.disk.before = None
            fault = _fault_now(follower, 2)
            if fault:
                return f"after operation {number}: {fault}"
            epoch, found = opened(follower.disk.copy_after_kill(), follower.kind)
            if follower.state is not None:  # the process goes on as before
                if len(follower.history) - 1 > follower.acknowledged and not for_good and found != facts:
                    return f"after operation {number} there is epoch {epoch} on the disk"
                epoch = follower.state.manifest.epoch
            follower.go_on(epoch)
            if follower.state is not None and facts_in(follower.state) != follower.history[-1]:
                return f"the state has {facts_in(follower.state)} instead of {follower.history[-1]}"
            follower.disk.before = look
            try:
                follower.commit(follower.open())
            except AssertionError as wrong:
                return f"after operation {number}, while committing, {wrong}"
            fault = _fault_now(follower, 2)
            return f"after operation {number} and another epoch: {fault}" if fault else ""
    return "over"


def damages(data: bytes, rng: random.Random, flips: int) -> Iterator[tuple[str, bytes]]:
    """Yield damages to the bytes of a file: bits, blocks and ends."""
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
    """Says that a kind of sync does nothing: of a name, in which N is the name of a segment, checkpoint or program, and
    right after a file was renamed or not."""

    def __init__(self, operation: str, name: str, renamed: bool) -> None:
        self._wanted = (operation, name, renamed)
        self.renamed = False
        """Whether the last operation that changed the disk renamed a file."""

    def __call__(self, operation: str, name: str) -> bool:
        return (operation, plain(name), self.renamed) == self._wanted


def plain(name: str) -> str:
    """A name with N for the name of a segment, checkpoint or program."""
    return re.sub(r"[0-9]{8}(-all)?", "N", name)
