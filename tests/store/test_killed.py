"""A process that is killed, or a machine that stops, leaves an epoch that was committed, or the one being committed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.depth import cases
from tests.store.disks import WRITES, Skipping, crash_everywhere, plain
from tests.suite import FIRST_SEED
from tidelog.durable.simulated import SimulatedDisk
from tidelog.store.database import StoredDatabase

EPOCHS: list[set[tuple[object, ...]]] = [
    set(),
    {("a", "b")},
    {("a", "b"), ("b", "c"), ("a", "c")},
    {("b", "c")},
    {("b", "c"), ("c", "d")},
]
"""The views after each epoch of `epochs`: the last removes the recursive rule."""


def epochs(db: StoredDatabase, done: Callable[[], object]) -> None:
    """Commit EPOCHS, the second and the last with a checkpoint; call `done` after each."""

    def commit(*, checkpoint: bool) -> None:
        db.keeper.price = 0.0 if checkpoint else 1e9
        db.commit()
        done()

    db.load("""
    .decl edge(x: symbol, y: symbol)
    .decl path(x: symbol, y: symbol)
    path(x, y) :- edge(x, y).
    more: path(x, z) :- path(x, y), edge(y, z).
    """)
    db.insert("edge", [("a", "b")])
    commit(checkpoint=False)
    db.insert("edge", [("b", "c")])
    commit(checkpoint=True)
    db.delete("edge", [("a", "b")])
    commit(checkpoint=False)
    db.insert("edge", [("c", "d")])
    db.rules.remove("more")
    commit(checkpoint=True)


def epoch_in(db: StoredDatabase, *, checked: bool = True) -> int:
    """Which of EPOCHS a database has, with views that are right."""
    if not db.relations:
        return 0
    if checked:
        db.check()
    return EPOCHS.index(set(db["path"]))


def test_whatever_is_on_the_disk_before_each_operation() -> None:
    """As the next process finds it when this one is killed there, and when the machine stops."""
    rng = random.Random(FIRST_SEED)
    disk = SimulatedDisk()
    found: dict[tuple[int, str], tuple[bool, SimulatedDisk]] = {}
    acknowledged = 0

    def keep(operation: str, name: str) -> None:
        if operation in WRITES:
            for killed, other in ((True, disk.copy_after_kill()), (False, disk.copy_after_crash(rng))):
                found.setdefault((acknowledged, str({**other.contents(), "lock": None})), (killed, other))

    def done() -> None:
        nonlocal acknowledged
        acknowledged += 1

    disk.before = keep
    with StoredDatabase("/store", files=disk.files()) as db:
        epochs(db, done)
    disk.before = None
    assert len(found) > 60
    proved = set[tuple[object, ...]]()
    for (committed, _), (killed, other) in found.items():
        with StoredDatabase("/store", files=other.files()) as db:
            manifest, names = db.keeper.state.manifest, other.contents()
            state = manifest.epoch, manifest.checkpoint  # which decide what is read
            assert epoch_in(db, checked=killed and state not in proved) in (committed, committed + 1)
            proved |= {state} if killed else set()
        assert {name.split("/")[1] for name in names if name.startswith("segments/")} == set(manifest.segments)
        for part, file in (("programs", manifest.program), ("checkpoints", manifest.checkpoint)):
            wanted = [] if file is None else [f"{part}/{file[0]}"]
            assert wanted == [name for name in names if name.startswith(f"{part}/")]
        assert "manifest.json.new" not in names


@pytest.mark.parametrize("seed", range(FIRST_SEED + 810_000, FIRST_SEED + 810_000 + cases(16)))
def test_random_scripts_on_a_disk_that_forgets(seed: int) -> None:
    assert crash_everywhere(seed, steps=10, crashes=2) == ""


SYNCS = [
    ("sync name", "", False),
    ("sync folder", "", False),
    ("sync folder", "", True),
    ("sync folder", "segments", False),
    ("sync folder", "segments/N", False),
    ("sync folder", "checkpoints", False),
    ("sync folder", "programs", False),
    ("sync file", "segments/N/e.insert.parquet", False),
    ("sync file", "segments/N/e.delete.parquet", False),
    ("sync file", "checkpoints/N", False),
    ("sync file", "programs/N", False),
    ("sync file", "manifest.json.new", False),
    ("sync folder", "logs", False),
    ("sync file", "logs/N", False),
]
"""Every sync: of what, and whether right after a file was renamed."""


@pytest.mark.parametrize(("operation", "name", "renamed"), SYNCS)
def test_every_sync_is_needed(operation: str, name: str, renamed: bool) -> None:
    """Without any one of them there is a machine that stops and finds something else, and these tests notice."""
    seeds = range(FIRST_SEED + 820_000, FIRST_SEED + 820_040)
    assert any(crash_everywhere(seed, 10, 3, Skipping(operation, name, renamed)) for seed in seeds)


def test_these_are_all_syncs() -> None:
    listed = {(operation, name) for operation, name, _ in SYNCS}
    for seed in range(FIRST_SEED + 820_000, FIRST_SEED + 820_004):
        found = set[tuple[str, str]]()

        def note(operation: str, name: str, found: set[tuple[str, str]] = found) -> bool:
            found.add((operation, plain(name)))
            return False

        crash_everywhere(seed, 10, 0, note)
        assert found <= listed


def test_a_killed_process_lets_the_folder_go(tmp_path: Path) -> None:
    code = f"""
import sys, tidelog
from tests.store.test_killed import epochs
db = tidelog.connect({str(tmp_path)!r})
epochs(db, lambda: None)
print("done", flush=True)
sys.stdin.read()
"""
    command, root = [sys.executable, "-c", code], Path(__file__).parents[2]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"done\n"
        os.kill(child.pid, signal.SIGKILL)
    with StoredDatabase(tmp_path) as db:
        assert epoch_in(db) == 4
