"""Arrays that do not fit into memory lie in files: views, changes and failures are as without."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tidelog
from tests.allocations import Disk, spilling
from tests.depth import stride
from tests.memory_stories import STORIES, try_all
from tests.scripts import run, script_for
from tests.suite import FIRST_SEED, chunks
from tidelog.cli.entry import main
from tidelog.limits.watch import Watch
from tidelog.maintain.epoch import EpochState
from tidelog.maintain.protocol import EpochOptions
from tidelog.maintain.walk import cold_blocks
from tidelog.storage import memory, room
from tidelog.storage import room as files
from tidelog.storage.memory import Block, Lease
from tidelog.storage.room import Room
from tidelog.workspace.options import DatabaseOptions

CLOSURE = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(y, z).
"""


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder on a disk: files in memory would save none."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


def tight(folder: Path) -> Room:
    """A room whose process has more memory than it may have."""
    found = Room()
    found.limit, found.folder = 1, folder
    return found


def open_files(folder: Path) -> int:
    """How many files of a folder this process has open."""
    numbers = Path("/proc/self/fd")
    return sum(str(folder) in os.readlink(each) for each in numbers.iterdir() if each.is_symlink())


def in_process(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process of its own."""
    command = [sys.executable, "-W", "ignore", "-c", code, *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def ring(db: tidelog.Database, nodes: int = 400) -> None:
    """Let a database evaluate the closure of a ring by its rules: 160,000 tuples."""
    db.options(closures=False)
    db.load(CLOSURE)
    db.insert("e", [(x, (x + 1) % nodes) for x in range(nodes)])


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """No array of some kilobytes fits into memory."""
    monkeypatch.setattr(room, "_LEAST", 1 << 16)
    monkeypatch.setattr(Room, "fits", lambda self, more: False)


# --- what a user sees ------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("short")
def test_a_commit_finishes_in_files_and_leaves_no_names(tmp_path: Path) -> None:
    db = tidelog.connect()
    db.options(spill=tmp_path)
    ring(db)
    db.commit()
    memory = db.stats()["memory"]
    assert 2_000_000 < memory["files"] < memory["rows"] + memory["indexes"]
    assert (len(db["t"]), (0, 399) in db["t"]) == (160_000, True)
    assert os.listdir(tmp_path) == []
    assert open_files(tmp_path) >= 4  # rows, slots, counts, supports
    db.check()
    db.close()
    del db
    assert open_files(tmp_path) == 0


@pytest.mark.usefixtures("short")
def test_later_epochs_and_rollbacks_are_right(tmp_path: Path) -> None:
    db, plain = tidelog.connect(), tidelog.connect()
    db.options(spill=tmp_path, strategy="update")
    for each in (db, plain):
        ring(each)
        each.commit()
    db.delete("e", [(399, 0)])
    change = db.commit()
    assert (len(change["t"].deleted), len(db["t"])) == (400 * 401 // 2, 400 * 399 // 2)
    db.insert("e", [(399, 0), (5, 1_000)])
    db.options(max_rows=10)
    with pytest.raises(tidelog.LimitError, match="E0502"):
        db.commit()
    assert len(db["t"]) == 400 * 399 // 2
    db.options(max_rows=None)
    db.commit()
    assert len(db["t"]) == 160_000 + 400
    assert db.stats()["memory"]["files"] > 1_000_000
    db.delete("e", [(5, 1_000)])
    assert db.commit().report.nodes[0].strategy == "update"
    assert set(db["t"]) == set(plain["t"])
    db.check()


def test_a_budget_that_ends_a_commit_suffices_with_files(tmp_path: Path) -> None:
    program = CLOSURE + "e(x, (x + 1) % 1500) :- x = range(0, 1500).\n"
    code = """
import sys, tidelog
from tidelog.storage.room import resident
small = tidelog.connect()
small.options(closures=False)
small.load(sys.argv[1].replace("1500", "15"))
small.commit()
db = tidelog.connect()
db.options(closures=False, memory=resident() + 40_000_000)
db.load(sys.argv[1])
try:
    db.commit()
except tidelog.LimitError as error:
    print(error.problems[0].code)
db.options(spill=sys.argv[2])
db.commit()
print(len(db["t"]), db.stats()["memory"]["files"] > 10_000_000)
"""
    found = in_process(code, program, str(tmp_path))
    assert found.stdout == "E0503\n2250000 True\n", found.stderr


@pytest.mark.usefixtures("short")
def test_the_command_line_has_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "ring.dl"
    program.write_text(CLOSURE + "e(x, (x + 1) % 400) :- x = range(0, 400).\n.printsize t\n")
    assert main(["run", str(program), "--spill", str(tmp_path), "-j", "1"]) == 0
    assert "160000" in capsys.readouterr().out
    assert main(["run", str(program), "--spill", str(tmp_path / "nowhere")]) == 2
    assert "E0656" in capsys.readouterr().err


@pytest.mark.usefixtures("short")
def test_two_databases_share_a_folder_and_a_link_is_followed_once(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    one, other = tidelog.connect(), tidelog.connect()
    for db in (one, other):
        db.options(spill=str(link))
        ring(db)
    link.unlink()
    for db in (one, other):
        db.commit()
        assert len(db["t"]) == 160_000
    one.close()
    del one
    other.delete("e", [(0, 1)])
    other.commit()
    assert len(other["t"]) == 400 * 399 // 2
    assert os.listdir(real) == []


@pytest.mark.usefixtures("short")
def test_snapshots_see_their_epoch_while_arrays_move(tmp_path: Path) -> None:
    db = tidelog.connect()
    db.options(spill=tmp_path)
    ring(db, 300)
    db.options(spill=None)
    db.commit()
    assert db.stats()["memory"]["files"] == 0
    with db.snapshot() as snapshot:
        seen = snapshot["t"]
        assert (0, 7) in seen
        db.options(spill=tmp_path)
        db.insert("e", [(0, x) for x in range(300, 600)])
        db.commit()
        assert db.stats()["memory"]["files"] > 1_000_000
        assert (len(seen), set(seen)) == (90_000, {(x, y) for x in range(300) for y in range(300)})
    assert len(db["t"]) == 90_000 + 300 * 300


# --- folders that cannot be used -------------------------------------------------------------------------------------


def nowhere(path: Path) -> Path:
    return path / "nowhere"


def a_file(path: Path) -> Path:
    (path / "file").write_text("")
    return path / "file"


def dangling(path: Path) -> Path:
    (path / "link").symlink_to(path / "nowhere")
    return path / "link"


@pytest.mark.parametrize(
    ("folder", "reason"),
    [
        (nowhere, "the folder does not exist"),
        (a_file, "it is a file"),
        (dangling, "the folder does not exist"),
        (lambda _: Path("/proc/self"), "No such file|not permitted|denied|not supported"),
    ],
)
def test_a_folder_that_cannot_be_used_sets_nothing(tmp_path: Path, folder: Callable[[Path], Path], reason: str) -> None:
    db = tidelog.connect()
    db.options(spill=tmp_path)
    with pytest.raises(tidelog.UsageError, match=f"E0656.*cannot use the folder(.|\n)*({reason})(.|\n)*hint: "):
        db.options(spill=folder(tmp_path), max_rows=5)
    assert (db._options.spill, db._options.max_rows) == (tmp_path.resolve(), None)


@pytest.mark.parametrize(("system", "reason"), [("tmpfs", "lie in memory"), ("nfs4", "lie on another machine")])
def test_folders_in_memory_and_on_other_machines_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, reason: str
) -> None:
    device = tmp_path.stat().st_dev
    mounts = tmp_path / "mountinfo"
    place = f"{os.major(device)}:{os.minor(device)}"
    mounts.write_text(f"1 0 0:999 / /proc rw - proc proc rw\n22 1 {place} / / rw,x shared:1 - {system} none rw\n")
    monkeypatch.setattr(files, "_MOUNTS", mounts)
    with pytest.raises(tidelog.UsageError, match=rf"E0656.*{reason} \({system}\)"):
        tidelog.connect().options(spill=tmp_path)


@pytest.mark.parametrize("wrong", [7, True, b"folder", ["folder"]])
def test_values_that_are_no_folders_are_refused(wrong: object) -> None:
    with pytest.raises(tidelog.UsageError, match=r"E0603(.|\n)*hint: pass the path of a folder"):
        tidelog.connect().options(spill=wrong)


@pytest.mark.usefixtures("short")
def test_a_folder_that_goes_away_ends_a_commit_without_a_trace(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    db = tidelog.connect()
    db.options(spill=folder)
    ring(db)
    folder.rmdir()
    with pytest.raises(tidelog.LimitError, match=r"E0508(.|\n)*No such file(.|\n)*while it derived `t`") as caught:
        db.commit()
    assert caught.value.problems[0].place == str(folder)
    folder.mkdir()
    db.commit()
    assert len(db["t"]) == 160_000


# --- a full disk -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("short")
def test_a_full_disk_is_an_error_with_place_and_hint(tmp_path: Path) -> None:
    db = tidelog.connect()
    db.options(spill=tmp_path)
    ring(db)
    with Disk(3), pytest.raises(tidelog.LimitError, match=r"E0508(.|\n)*No space left on device") as caught:
        db.commit()
    problem = caught.value.problems[0]
    assert (problem.code, problem.place) == ("E0508", str(tmp_path))
    assert "make room on the disk" in str(problem.hint)
    db.commit()
    assert len(db["t"]) == 160_000


@pytest.mark.parametrize("name", ["an update", "a bootstrap", "rules", "closures"])
def test_a_full_disk_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    sizes = spilling(monkeypatch, FIRST_SEED)
    monkeypatch.setattr(Room, "fits", lambda self, more: False)  # A closure is small, and asks for few files.
    story = STORIES[name]
    monkeypatch.setitem(story.options, "spill", tmp_path)
    disks = []
    for last in range(1, 400, stride(9)):
        disks.append(Disk(last))
        if len(disks) > 1 and not disks[-2].failed:
            break
    assert try_all(story, iter(disks), often=1) >= 1
    assert sizes


# --- random scripts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seeds", chunks(FIRST_SEED + 700_000, 100, 25))
def test_random_scripts_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seeds: range) -> None:
    sizes = spilling(monkeypatch, seeds[0])
    monkeypatch.setattr(memory, "_MAPPED", 1 << 10)  # Relations of scripts have few rows.
    monkeypatch.setattr("tidelog.database.database.DatabaseOptions", partial(DatabaseOptions, spill=tmp_path))
    for seed in seeds:
        problem = run(script_for(seed), ("update", "auto", "bootstrap")[seed % 3])
        assert not problem, f"{problem}\n{script_for(seed)}"
    assert len(sizes) > len(seeds)


# --- blocks ----------------------------------------------------------------------------------------------------------

SIZES = st.sampled_from([1, 5_000, 140_000, 300_000, 5_000_000])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(["grow", "clear", "spill", "lease", "roomy", "short"]), SIZES), max_size=9))
def test_a_block_keeps_its_contents_wherever_it_lies(tmp_path: Path, steps: list[tuple[str, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "_LEAST", 0)
        own = tight(tmp_path)
        block = Block(200_000, room=own)
        assert own.in_files == block.size
        leases: list[tuple[Lease, int]] = []
        for number, (step, size) in enumerate(steps, start=1):
            block.view(numpy.uint8, block.size)[:] = number
            expected = numpy.full(block.size, number, numpy.uint8)
            if step == "clear":
                if any(lease._block is block for lease, _ in leases):
                    continue
                block.clear(size)
                expected = numpy.zeros(block.size, numpy.uint8)
            elif step == "spill":
                address = block.address
                block.spill()
                assert block.address == address
            elif step == "lease":
                leases.append((block.lease(), number))
            elif step == "grow":
                block.grow(size)
                expected = numpy.concatenate([expected, numpy.zeros(block.size - len(expected), numpy.uint8)])
            else:
                own.limit = None if step == "roomy" else 1
            assert (block.view(numpy.uint8, block.size) == expected).all()
            assert own.in_files in (0, block.size)
            for lease, written in leases:
                assert lease._block is not None or (lease.view(numpy.uint8, lease.size) >= written).all()


def anonymous(address: int) -> int:
    """Return the bytes of memory, without pages of files, of the mapping of this process that has an address."""
    found = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if bounds := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            found = int(bounds[1], 16) <= address < int(bounds[2], 16)
        elif found and line.startswith("Anonymous:"):
            return int(line.split()[1]) * 1024
    return 0


def test_an_array_that_moves_gives_its_memory_back(tmp_path: Path) -> None:
    own = Room()
    own.folder = tmp_path
    block = Block(60_000_000, room=own)
    block.view(numpy.int8, 60_000_000)[:] = 7
    assert anonymous(block.address) >= 60_000_000
    before = block.address
    block.spill()
    assert (anonymous(before), anonymous(block.address)) == (0, 0)
    assert (block.view(numpy.int8, 60_000_000) == 7).all()


def test_cold_arrays_go_first(tmp_path: Path) -> None:
    own = tight(tmp_path)
    first, second = Block(2_000_000, room=own), Block(3_000_000, room=own)
    del first, second
    own.limit = None
    cold, hot = Block(2_000_000, room=own), Block(2_000_000, room=own)
    cold.view(numpy.int8, 2_000_000)[:] = 7
    own.limit = room.resident() + 50_000_000
    asked: list[Block] = []

    def colder() -> list[Block]:
        asked.append(cold)
        return [cold]

    with own.allow_spilling(colder):
        hot.grow(200_000_000)
    assert asked
    assert own.in_files == cold.size + hot.size
    assert (cold.view(numpy.int8, 2_000_000) == 7).all()


def test_relations_that_a_hyper_node_does_not_need_are_cold(tmp_path: Path) -> None:
    program = """
    .decl u(x: number, y: number)
    .decl v(x: number)
    .decl w(x: number)
    u(x, y) :- t(x, y), x != y.
    v(x) :- u(x, x + 1).
    w(x) :- v(x), e(x, _).
    """
    db = tidelog.connect()
    db.options(closures=False)
    db.load(CLOSURE + program)
    db.insert("e", [(1, 2), (2, 3)])
    db.commit()
    state = EpochState(db.engine, db.engine.program, Watch(), EpochOptions())
    position, views = state.derived["v"], db.engine.views
    found = [id(block) for block in cold_blocks(state, state.structure.nodes[position], position)]
    places = {name: [found.index(id(block)) for block in views[name].blocks() if id(block) in found] for name in views}
    assert places["u"] == places["v"] == []
    assert len(places["t"]) == 4
    assert max(places["t"]) < min(places["e"]), "t has finished, w still reads e"
    indexes = [id(block) for index in views["e"].indexes.values() for block in index.blocks()]
    assert indexes
    assert set(indexes) == set(found[: len(indexes)])


# --- other processes -------------------------------------------------------------------------------------------------

SPILLED = """
import os, signal, sys, tidelog
from tidelog.storage import room
from tidelog.storage.room import Room
room._LEAST, Room.fits = 1 << 16, lambda self, more: False
db = tidelog.connect()
db.options(spill=sys.argv[1], closures=False)
db.load(sys.argv[2])
db.insert("e", [(x, (x + 1) % 400) for x in range(400)])
db.commit()
"""
FORKED = (
    SPILLED
    + """
snapshot, relation = db.snapshot(), db["t"]
apart = tidelog.connect()
apart.load(".decl n(x: number)  n(1).")
apart.commit()
number = os.fork()
if not number:
    for call in (db.commit, lambda: len(db["t"]), lambda: len(snapshot["t"]), lambda: set(relation)):
        try:
            call()
            os._exit(1)
        except tidelog.UsageError as error:
            if error.problems[0].code != "E0627":
                os._exit(2)
    os._exit(0 if set(apart["n"]) == {(1,)} else 3)
assert os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 0
db.delete("e", [(0, 1)])
db.commit()
print(len(db["t"]), len(snapshot["t"]))
"""
)


def test_a_forked_process_does_not_share_files(tmp_path: Path) -> None:
    found = in_process(FORKED, str(tmp_path), CLOSURE)
    assert found.stdout == f"{400 * 399 // 2} 160000\n", found.stderr
    assert "Traceback" not in found.stderr  # also of the child


KILLED = (
    SPILLED
    + """
assert db.stats()["memory"]["files"] > 0
os.kill(os.getpid(), signal.SIGKILL)
"""
)


def test_a_killed_process_leaves_nothing(tmp_path: Path) -> None:
    assert in_process(KILLED, str(tmp_path), CLOSURE).returncode == -9
    assert os.listdir(tmp_path) == []
