"""Files that are not what was written: each is reported by its name, and none is read as something else."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.store.disks import Follower, damages, opened
from tests.store.test_failing import filled
from tests.suite import FIRST_SEED, views
from tidelog.errors import DataError
from tidelog.store.database import StoredDatabase
from tidelog.store.local import LocalFiles
from tidelog.store.manifest import Manifest
from tidelog.store.simulated import SimulatedDisk
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
    files = files_of(follower.disk)
    for name, data in files.items():
        for what, changed in damages(data, rng, 40):
            follower.disk.change(name, changed)
            for _ in range(2):  # the folder is free again after the error
                with pytest.raises(DataError) as caught:
                    opened(follower.disk)
                assert (caught.value.code, caught.value.problems[0].place) == ("E0682", f"/store/{name}"), what
        follower.disk.change(name, data)
    assert opened(follower.disk)[1] == follower.history[-1]


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
GOOD = Manifest(program=".decl e(x: symbol)\n", epoch=1, segments={"00000001": {"e.insert.parquet": SUM}})
FORGED = {
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
    "a program that is no text": {"program": 1},
    "notes that are text": {"notes": {"a": "b"}},
    "a kind of its own": {"kind": "network"},
}
"""What somebody could write to a manifest, who knows how to make its checksum."""


@pytest.mark.parametrize("what", FORGED)
def test_a_manifest_has_plain_names(what: str) -> None:
    forged = Manifest(**{**vars(GOOD), **FORGED[what]})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="it does not describe a state"):
        Manifest.from_bytes(forged.to_bytes())
    assert Manifest.from_bytes(GOOD.to_bytes()) == GOOD


def test_a_store_of_version_1(tmp_path: Path) -> None:
    """It had neither mark nor checksums."""
    for part in ("segments", "checkpoints"):
        (tmp_path / part).mkdir()
    old = '{\n "version": 1,\n "epoch": 1,\n "program": "",\n "checkpoint": "",\n "segments": [],\n "notes": {}\n}'
    (tmp_path / "manifest.json").write_text(old)
    with pytest.raises(DataError, match="another version of tidelog, with stores of version 1") as caught:
        StoredDatabase(tmp_path)
    assert caught.value.code == "E0682"
    assert (tmp_path / "manifest.json").read_text() == old


def test_a_store_without_the_folders_that_are_empty(tmp_path: Path) -> None:
    """Some programs that copy files make none."""
    disk = filled()
    with StoredDatabase("/store", files=disk.files()) as db:
        db._write_checkpoint()
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

    def sync_file(self, name: str) -> None:
        super().sync_file(name)
        self.synced.append(name)

    def sync_folder(self, name: str = "") -> None:
        super().sync_folder(name)
        self.synced.append(name)


PARTS = {"part-0.parquet": b"first", "k=1/part-1.parquet": b"second", "_SUCCESS": b"", ".part-0.parquet.crc": b"crc"}
TABLE = "segments/00000001/e.insert.parquet"


def written_by_spark(folder: Path) -> list[str]:
    """Commit a table that is a folder; what is synced for it."""

    def write(path: Path) -> None:
        for name, data in PARTS.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(data)

    files = Watched(folder)
    state = StateFolder(folder, "spark", files=files)
    state.publish(state.prepare({("e", True): write}), ".decl e(x: symbol)\n", {})
    state.close()
    return files.synced


def test_what_spark_has_written_is_synced(tmp_path: Path) -> None:
    synced = written_by_spark(tmp_path)
    parts = {f"{TABLE}/{name}" for name in PARTS}
    assert parts | {f"{TABLE}/k=1", TABLE, "segments/00000001", "segments", ""} == {*synced}
    state = StateFolder(tmp_path, "spark")
    assert list(state.tables()) == [("e", True, tmp_path / TABLE)]
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
