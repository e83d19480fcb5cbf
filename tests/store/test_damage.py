"""Files that are not what was written: each is reported by its name, and none is read as something else."""

from __future__ import annotations

import errno
import hashlib
import json
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.store.disks import Follower, damages, opened
from tests.store.test_failing import filled
from tests.suite import FIRST_SEED, views
from tidelog.durable.files import checksum
from tidelog.durable.local import LocalFiles
from tidelog.durable.simulated import SimulatedDisk
from tidelog.errors import DataError, UsageError
from tidelog.store.database import StoredDatabase
from tidelog.store.log import SealedLog
from tidelog.store.manifest import NAME, Manifest
from tidelog.store.segments import FilePart, PartFolder
from tidelog.store.state import StateFolder


def files_of(disk: SimulatedDisk) -> dict[str, bytes]:
    return {name: data for name, data in disk.contents().items() if data is not None and name != "lock"}


@pytest.mark.parametrize("seed", range(FIRST_SEED + 840_000, FIRST_SEED + 840_003))
def test_damage_of_any_file_is_reported(seed: int) -> None:
    rng = random.Random(seed)
    follower = Follower(rng)
    while len(files_of(follower.disk)) < 4:
        follower.step()
    follower.close()
    opened(follower.disk, follower.kind)  # removes the program before the last one
    files = files_of(follower.disk)
    for name, data in files.items():
        for what, changed in damages(data, rng, 40):
            follower.disk.change(name, changed)
            for _ in range(2):  # the folder is free again after the error
                with pytest.raises(DataError) as caught:
                    opened(follower.disk, follower.kind)
                assert (caught.value.code, caught.value.problems[0].place) == ("E0682", f"/store/{name}"), what
        follower.disk.change(name, data)
    assert opened(follower.disk, follower.kind)[1] == follower.history[-1]


@pytest.mark.parametrize("read_only", [False, True])
def test_damage_of_a_database(read_only: bool) -> None:
    """It is not that of the program, nor of Parquet, nor of numpy."""
    disk, rng = filled(), random.Random(FIRST_SEED + 841_000)
    for name, data in files_of(disk).items():
        for what, changed in damages(data, rng, 8):
            disk.change(name, changed)
            before = disk.contents()
            with pytest.raises(DataError) as caught:
                StoredDatabase("/store", read_only=read_only, files=disk.files())
            assert (caught.value.code, caught.value.problems[0].place) == ("E0682", f"/store/{name}"), what
            assert {**disk.contents(), "lock": b""} == {**before, "lock": b""}
        disk.change(name, data)


def test_files_that_take_the_place_of_each_other() -> None:
    disk = filled()
    files = files_of(disk)
    for name in files:
        for other, data in files.items():
            if data != files[name]:
                disk.change(name, data)
                with pytest.raises(DataError) as caught:
                    StoredDatabase("/store", files=disk.files())
                assert caught.value.problems[0].place == f"/store/{name}", other
        disk.change(name, files[name])


def test_the_lock_has_no_contents_that_count() -> None:
    disk = filled()
    disk.change("lock", b"\xff" * 100)
    with StoredDatabase("/store", files=disk.files()) as db:
        assert set(db["t"]) == {("a",), ("c",)}


SUM = "0" * 64
GOOD = Manifest(program=("00000001", SUM), epoch=1, segments={"00000001": {"e.insert.parquet": SUM}})
FORGED: dict[str, dict[str, Any]] = {
    "a path to elsewhere": {"segments": {"../outside": {}}},
    "an absolute path": {"segments": {"/tmp/outside": {}}},
    "the folder itself": {"segments": {".": {}}},
    "a file elsewhere": {"segments": {"00000001": {"../../e.insert.parquet": SUM}}},
    "an absolute file": {"segments": {"00000001": {"/e.insert.parquet": SUM}}},
    "a hidden file": {"segments": {"00000001": {".e.insert.parquet": SUM}}},
    "another ending": {"segments": {"00000001": {"e.parquet": SUM}}},
    "a checksum that is none": {"segments": {"00000001": {"e.insert.parquet": "0"}}},
    "a list of files": {"segments": {"00000001": ["e.insert.parquet"]}},
    "a list of segments": {"segments": ["00000001"]},
    "a checkpoint elsewhere": {"checkpoint": ("../outside", SUM)},
    "an absolute checkpoint": {"checkpoint": ("/tmp/outside", SUM)},
    "a checkpoint without checksum": {"checkpoint": ("00000001",)},
    "a checkpoint that is text": {"checkpoint": "00000001"},
    "an epoch below zero": {"epoch": -1},
    "an epoch that is no number": {"epoch": True},
    "a program that is a number": {"program": 1},
    "a program elsewhere": {"program": ("../outside", SUM)},
    "a program without checksum": {"program": ("00000001",)},
    "a program that is text": {"program": ".decl e(x: symbol)"},
    "a log elsewhere": {"logs": {"../outside": SealedLog(1, SUM)}},
    "a log without checksum": {"logs": {"00000001": SealedLog(1, "")}},
    "notes that are text": {"notes": {"a": "b"}},
    "a kind of its own": {"kind": "network"},
}
"""What somebody could write to a manifest, who knows how to make its checksum."""


@pytest.mark.parametrize("what", FORGED)
def test_a_manifest_has_plain_names(what: str) -> None:
    forged = Manifest(**{**vars(GOOD), **FORGED[what]})
    with pytest.raises(ValueError, match="it does not describe a store"):
        Manifest.from_bytes(forged.to_bytes())
    assert Manifest.from_bytes(GOOD.to_bytes()) == GOOD


def test_a_program_that_somebody_has_written_anew() -> None:
    """With the right checksum in the manifest; it is no text."""
    disk = filled()
    manifest = Manifest.from_bytes(files_of(disk)["manifest.json"])
    disk.change("programs/00000001", b"\xff")
    sums = ("00000001", hashlib.sha256(b"\xff").hexdigest())
    disk.change("manifest.json", Manifest(**{**vars(manifest), "program": sums}).to_bytes())
    with pytest.raises(DataError) as caught:
        StoredDatabase("/store", files=disk.files())
    assert (caught.value.code, caught.value.problems[0].place) == ("E0682", "/store/programs/00000001")


def test_a_store_of_version_1(tmp_path: Path) -> None:
    """It had neither mark nor checksums."""
    for part in ("segments", "checkpoints"):
        (tmp_path / part).mkdir()
    old = '{\n "version": 1,\n "epoch": 1,\n "program": "",\n "checkpoint": "",\n "segments": [],\n "notes": {}\n}'
    (tmp_path / "manifest.json").write_text(old)
    with pytest.raises(DataError, match="another version of tidelog wrote it, with stores of version 1") as caught:
        StoredDatabase(tmp_path)
    assert caught.value.code == "E0682"
    assert (tmp_path / "manifest.json").read_text() == old


PROGRAM = '.decl e(x: symbol)\n.decl t(x: symbol)\n\nt(x) :- e(x), x != "b".\n'


def of_version_2() -> SimulatedDisk:
    """The disk of `filled`, as the tidelog before wrote it: the program is in the manifest."""
    disk = filled()
    manifest = json.loads(files_of(disk)["manifest.json"])
    del manifest["sha256"]
    lines = [f'"{key}": {json.dumps(value)}' for key, value in {**manifest, "version": 2, "program": PROGRAM}.items()]
    text = ("{\n " + ",\n ".join(lines)).encode()
    disk.change("manifest.json", text + f',\n "sha256": "{hashlib.sha256(text).hexdigest()}"\n}}\n'.encode())
    files = disk.files()
    files.remove_tree("programs")
    files.sync_folder()
    return disk


def test_a_store_of_version_2_is_read() -> None:
    disk = of_version_2()
    before = disk.contents()
    with StoredDatabase("/store", read_only=True, files=disk.files()) as db:
        assert set(db["t"]) == {("a",), ("c",)}
    assert disk.contents() == before
    with StoredDatabase("/store", files=disk.files()) as db:
        assert set(db["t"]) == {("a",), ("c",)}
    assert disk.contents()["manifest.json"] == before["manifest.json"]


def test_a_store_of_version_2_goes_on_as_one_of_version_4() -> None:
    """Whatever operation of the first commit fails, or is the last one before the machine stops."""
    rng = random.Random(FIRST_SEED)
    number, count = 0, 1
    while number < count:
        number, count = number + 1, 0
        disk = of_version_2()
        found: list[SimulatedDisk] = []

        def fail(
            operation: str,
            name: str,
            number: int = number,
            disk: SimulatedDisk = disk,
            found: list[SimulatedDisk] = found,
        ) -> None:
            nonlocal count
            count += 1
            if count == number:
                found.extend((disk.copy_after_kill(), disk.copy_after_crash(rng)))
                raise OSError(errno.EIO, "no")

        with StoredDatabase("/store", files=disk.files()) as db:
            db.keeper.price = 1e9
            db.insert("e", [("d",)])
            disk.before = fail
            with suppress(UsageError):
                db.commit()
            disk.before = None
            found.extend((disk.copy_after_kill(), disk.copy_after_crash(rng)))
            db.insert("e", [("d",)])
            db.commit()
        assert json.loads(files_of(disk)["manifest.json"])["version"] == 4
        assert files_of(disk)["programs/00000003"].decode() == PROGRAM
        for other in (*found, disk):
            with StoredDatabase("/store", files=other.files()) as db:
                assert set(db["t"]) in ({("a",), ("c",)}, {("a",), ("c",), ("d",)})
    assert number > 20


def test_a_commit_writes_the_program_only_when_a_rule_has_changed() -> None:
    disk = SimulatedDisk()
    written: list[str] = []
    disk.before = lambda operation, name: written.append(name) if operation == "create" else None
    with StoredDatabase("/store", files=disk.files()) as db:
        db.load(".decl e(x: symbol)")
        for epoch, name in enumerate("abc", 1):
            db.insert("e", [(name,)])
            if name == "b":
                db.load(".decl t(x: symbol)  r: t(x) :- e(x).")
            db.commit()
            assert [each for each in written if each.startswith("programs/")] == [
                f"programs/{number:08}" for number in (1, 2)[:epoch]
            ]
    disk.before = None
    with StoredDatabase("/store", files=disk.files()) as db:
        assert set(db["t"]) == {("a",), ("b",), ("c",)}
        db.rules.remove("r")
        db.commit()
    with StoredDatabase("/store", files=disk.files()) as db:
        assert list(db.rules) == []
    assert [name for name in files_of(disk) if name.startswith("programs/")] == ["programs/00000004"]


def test_a_store_without_the_folders_that_are_empty(tmp_path: Path) -> None:
    """Some programs that copy files make none."""
    disk = filled()
    with StoredDatabase("/store", files=disk.files()) as db:
        db.keeper.write_checkpoint(db.engine)
        kept = views(db)
    for name, data in files_of(disk).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    assert not (tmp_path / "segments").exists()
    with StoredDatabase(tmp_path) as db:
        assert views(db) == kept
        db.insert("e", [("d",)])
        db.commit()


class Watched(LocalFiles):
    """Says what is synced."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.synced: list[str] = []

    def sync_folder(self, name: str = "") -> None:
        super().sync_folder(name)
        self.synced.append(name)


PARTS = {"part-0.parquet": b"first", "k=1/part-1.parquet": b"second", "_SUCCESS": b"", ".part-0.parquet.crc": b"crc"}
TABLE = "segments/00000001/e.insert.parquet"
FOLDER_PARTS = tuple(FilePart(name, len(data), checksum(data)) for name, data in PARTS.items())


def written_by_spark(folder: Path) -> list[str]:
    """Commit a table that is a folder, whose files tasks have synced; what else is synced for it."""

    def write(place: str) -> Sequence[FilePart]:
        for name, data in PARTS.items():
            (Path(place) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(place) / name).write_bytes(data)
        return FOLDER_PARTS

    files = Watched(folder)
    state = StateFolder(folder, "spark", files=files)
    state.publish(state.prepare({("e", True): write}), ".decl e(x: symbol)\n", {})
    state.close()
    return files.synced


def test_what_spark_has_written_is_synced_and_listed(tmp_path: Path) -> None:
    synced = written_by_spark(tmp_path)
    assert {TABLE, "segments/00000001", "segments", "programs", ""} == {*synced}
    state = StateFolder(tmp_path, "spark")
    assert list(state.tables()) == [("e", True, PartFolder(str(tmp_path / TABLE), FOLDER_PARTS))]
    state.close()


def test_a_list_of_parts_without_their_rows_is_read(tmp_path: Path) -> None:
    """Version 0.2.0 wrote it."""
    written_by_spark(tmp_path)
    listed = json.dumps({part.name: part.sum for part in FOLDER_PARTS}).encode()
    (tmp_path / TABLE / "_parts.json").write_bytes(listed)
    manifest = Manifest.from_bytes((tmp_path / NAME).read_bytes())
    segments = {"00000001": {"e.insert.parquet/": checksum(listed)}}
    (tmp_path / NAME).write_bytes(replace(manifest, segments=segments).to_bytes())
    state = StateFolder(tmp_path, "spark")
    [(_, _, found)] = state.tables()
    assert found == PartFolder(str(tmp_path / TABLE), tuple(replace(part, rows=None) for part in FOLDER_PARTS))
    state.close()


@pytest.mark.parametrize("name", [*PARTS, "_parts.json"])
@pytest.mark.parametrize("change", [lambda path: path.write_bytes(b"other"), Path.unlink], ids=["changed", "removed"])
def test_damage_of_what_spark_has_written(tmp_path: Path, name: str, change: Callable[[Path], object]) -> None:
    written_by_spark(tmp_path)
    change(tmp_path / TABLE / name)
    state = StateFolder(tmp_path, "spark")
    with pytest.raises(DataError) as caught:
        list(state.tables())
    assert (caught.value.code, caught.value.problems[0].place) == ("E0682", str(tmp_path / TABLE / name))
    state.close()


@pytest.mark.parametrize("name", ["part-2.parquet", "k=2/part-0.parquet"])
def test_a_part_that_spark_has_not_written_is_not_read(tmp_path: Path, name: str) -> None:
    written_by_spark(tmp_path)
    (tmp_path / TABLE / name).parent.mkdir(exist_ok=True)
    (tmp_path / TABLE / name).write_bytes(b"more")
    (tmp_path / TABLE / "_notes").write_bytes(b"Spark does not read this")
    state = StateFolder(tmp_path, "spark")
    with pytest.raises(DataError, match="this file was added") as caught:
        list(state.tables())
    assert caught.value.problems[0].place == str(tmp_path / TABLE / name)
    state.close()
