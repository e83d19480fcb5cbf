"""State folders on file systems of fsspec: without locks and renames, with calls that fail and lost answers."""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, ClassVar

import fsspec  # type: ignore[import-untyped]  # it has no types
import pyarrow as pa
import pytest
from fsspec.implementations.memory import MemoryFileSystem  # type: ignore[import-untyped]  # it has no types

from tests.depth import cases
from tidelog.durable.files import checksum
from tidelog.durable.remote import RemoteFiles
from tidelog.errors import DataError, TidelogError, UsageError
from tidelog.store.manifest import NAME
from tidelog.store.segments import FilePart
from tidelog.store.state import StateFolder

PROGRAM = ".decl e(x: number)\n"


class Killed(BaseException):
    """The process ends here."""


class Shaky(MemoryFileSystem):  # type: ignore[misc]  # its class has no types
    """A file system in memory of which calls fail: before they have done their work, or after it."""

    protocol = "shaky"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    often: ClassVar[float] = 0.0
    error: ClassVar[type[BaseException]] = OSError
    chance: ClassVar[random.Random] = random.Random(0)

    def _shake(self) -> None:
        if self.chance.random() < self.often:
            raise self.error("the connection was lost")

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: Any) -> None:
        self._shake()
        super().pipe_file(path, value, mode=mode, **options)
        self._shake()

    def open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        self._shake()
        return super().open(path, mode, **options)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> bytes:
        self._shake()
        found: bytes = super().cat_file(path, start, end, **options)
        return found

    def rm_file(self, path: str) -> None:
        self._shake()
        super().rm_file(path)
        self._shake()

    def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        self._shake()
        return super().ls(path, detail, **options)


class Replacing(MemoryFileSystem):  # type: ignore[misc]  # as above
    """A file system that knows no other way than to replace a file."""

    protocol = "replacing"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: Any) -> None:
        super().pipe_file(path, value, **options)


fsspec.register_implementation("shaky", Shaky, clobber=True)
fsspec.register_implementation("replacing", Replacing, clobber=True)


@pytest.fixture(params=["memory", "local"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An address in memory, or that of a folder, by a name that is not `file`."""
    place = f"{request.param}://{tmp_path}/state"
    yield place
    system, path = fsspec.core.url_to_fs(place)
    if system.exists(path):
        system.rm(path, recursive=True)


def commit(state: StateFolder, number: int) -> None:
    segment = state.prepare({("e", True): pa.table({"x": [number]})})
    try:
        state.publish(segment, PROGRAM if number % 3 else f"{PROGRAM}// {number}\n", {"streams": {"q": number}})
    except BaseException:
        state.discard(segment)
        raise


def content(state: StateFolder) -> list[int]:
    return [value for _, _, table in state.tables() for value in table.column("x").to_pylist()]  # type: ignore[union-attr]  # there are no parts


def test_commits_last_and_only_the_files_of_the_last_one_stay(address: str) -> None:
    system, path = fsspec.core.url_to_fs(address)
    state = StateFolder(address, "spark")
    for number in range(1, 5):
        commit(state, number)
    state.gather({("e", True): pa.table({"x": [1, 2, 3, 4]})})
    commit(state, 5)
    state.close()
    again = StateFolder(address, "spark")
    assert content(again) == [1, 2, 3, 4, 5]
    assert (again.manifest.epoch, again.manifest.notes) == (5, {"streams": {"q": 5}})
    files = sorted(name.removeprefix(path.rstrip("/") + "/").split(".")[0] for name in system.find(path))
    assert files == ["manifest", "programs/00000004", "segments/00000004-all", "segments/00000005"]


def test_who_opens_the_folder_keeps_others_from_committing(address: str) -> None:
    first = StateFolder(address, "spark")
    second = StateFolder(address, "spark")
    with pytest.raises(UsageError, match="another process has opened it since") as caught:
        commit(first, 1)
    assert (caught.value.code, address in str(caught.value)) == ("E0680", True)
    commit(second, 2)
    third = StateFolder(address, "spark")
    commit(third, 3)
    commit(third, 4)  # The number that the first and the second one would take is gone by now.
    for state in (first, second):
        for _ in range(2):
            with pytest.raises(UsageError, match="another process has opened it since"):
                commit(state, 5)
    assert content(third) == content(StateFolder(address, "spark")) == [2, 3, 4]


def test_two_that_commit_at_once_do_not_both_commit(address: str) -> None:
    """The second one opens the folder when the first one has written all but the manifest."""
    first = StateFolder(address, "spark")
    commit(first, 1)
    segment = first.prepare({("e", True): pa.table({"x": [2]})})
    second = StateFolder(address, "spark")
    with pytest.raises(UsageError, match="another process has opened it since"):
        first.publish(segment, PROGRAM, {})
    commit(second, 3)
    assert content(StateFolder(address, "spark")) == [1, 3]


def test_a_process_that_loses_the_folder_while_it_writes_harms_nothing(address: str, monkeypatch: Any) -> None:
    first = StateFolder(address, "spark")
    commit(first, 1)
    monkeypatch.setattr(RemoteFiles, "look", lambda files: None)  # The other one comes right after that.
    second = StateFolder(address, "spark")
    commit(second, 3)
    with pytest.raises(UsageError, match="another process has opened it since"):
        first.publish(first.prepare({("e", True): pa.table({"x": [2]})}), f"{PROGRAM}// 2\n", {})
    again = StateFolder(address, "spark")
    assert (content(again), again.manifest.text) == ([1, 3], f"{PROGRAM}// 3\n")


def test_a_process_that_loses_the_folder_while_it_opens_harms_nothing(address: str, monkeypatch: Any) -> None:
    commit(StateFolder(address, "spark"), 1)
    others: list[StateFolder] = []

    def clean(state: StateFolder, there: Collection[str]) -> None:
        if not others:
            others.append(state)
            commit(StateFolder(address, "spark"), 3)
        own(state, there)

    own = StateFolder._clean
    monkeypatch.setattr(StateFolder, "_clean", clean)
    with pytest.raises(UsageError, match="another process has opened it since"):
        commit(StateFolder(address, "spark"), 2)
    assert content(StateFolder(address, "spark")) == [1, 3]


def test_files_that_are_missing_cut_or_changed_are_damage(address: str) -> None:
    system, path = fsspec.core.url_to_fs(address)
    state = StateFolder(address, "spark")
    commit(state, 1)
    written = sorted(system.find(path))
    assert len(written) == 3
    for name in written:
        data = system.cat_file(name)
        for damage in (None, data[:-1], b"", data[:-9] + b"x" + data[-8:]):
            system.rm_file(name)
            if damage is not None:
                system.pipe_file(name, damage)
            if damage == b"" and NAME in name:  # A folder that is only claimed has no segments.
                continue
            with pytest.raises(DataError) as caught:
                content(StateFolder(address, "spark"))
            assert caught.value.code == "E0682"
            part = name.removeprefix(path.rstrip("/"))
            assert (f"{address}/{NAME}" if NAME in name else f"{address}{part}") in str(caught.value)
            if NAME in name:
                for other in system.glob(f"{path}/{NAME}*"):
                    system.rm_file(other)
            system.pipe_file(name, data)


def test_parts_are_listed_with_rows_and_checksums(address: str) -> None:
    def write(place: str) -> list[FilePart]:
        RemoteFiles(place, NAME).write_bytes("part-0.parquet", b"abc")
        return [FilePart("part-0.parquet", 3, checksum(b"abc"))]

    system, path = fsspec.core.url_to_fs(address)
    state = StateFolder(address, "spark")
    state.publish(state.prepare({("e", True): write}), PROGRAM, {})
    [(_, _, found)] = StateFolder(address, "spark").tables()
    assert found.parts == (FilePart("part-0.parquet", 3, checksum(b"abc")),)
    [listed] = [name for name in system.find(path) if name.endswith("_parts.json")]
    assert json.loads(system.cat_file(listed)) == {"part-0.parquet": {"rows": 3, "sha256": checksum(b"abc")}}
    folder = listed.rpartition("/")[0]
    system.pipe_file(f"{folder}/part-1.parquet", b"")
    with pytest.raises(DataError, match=r"part-1\.parquet: error\[E0682\].*this file was added"):
        list(StateFolder(address, "spark").tables())
    system.rm_file(f"{folder}/part-1.parquet")
    system.rm_file(f"{folder}/part-0.parquet")
    with pytest.raises(DataError, match=r"part-0\.parquet: error\[E0682\].*this file is missing"):
        list(StateFolder(address, "spark").tables())


@pytest.mark.parametrize(
    ("address", "code", "said"),
    [
        ("replacing://x/y", "E0681", "its file system replaces a file that exists"),
        ("nowhere://x/y", "E0681", "fsspec does not know its file system"),
    ],
)
def test_file_systems_that_do_not_suffice_are_refused(address: str, code: str, said: str) -> None:
    with pytest.raises(TidelogError, match=said) as caught:
        StateFolder(address, "spark")
    assert caught.value.code == code


def test_an_embedded_store_stays_local() -> None:
    with pytest.raises(UsageError, match="must be a local path"):
        StateFolder("memory://x")


@pytest.mark.parametrize("error", [OSError, Killed])
@pytest.mark.parametrize("seed", range(cases(15)))
def test_a_shaky_file_system_loses_no_commit(seed: int, error: type[BaseException], monkeypatch: Any) -> None:
    """After a failure the state is as before, or, if the process ends before it can say so, as after the commit."""
    chance = random.Random(seed)
    monkeypatch.setattr(Shaky, "chance", chance)
    monkeypatch.setattr(Shaky, "error", error)
    monkeypatch.setattr(Shaky, "store", {})
    monkeypatch.setattr(Shaky, "pseudo_dirs", [""])
    monkeypatch.setattr(Shaky, "often", 0.0)
    state = StateFolder("shaky://s/t", "spark")
    lost: list[StateFolder] = []
    committed: list[int] = []
    possible: list[list[int]] = []
    codes: set[str] = set()
    for number in range(1, 30):
        Shaky.often = chance.choice([0.0, 0.02, 0.1])
        try:
            commit(state, number)
            committed, possible = [*committed, number], []
        except (UsageError, Killed) as failed:
            codes.add(failed.code if isinstance(failed, UsageError) else "killed")
            possible = [[*committed, number], *possible]
        if (error is Killed and possible) or chance.random() < 0.2:
            Shaky.often = 0.0
            lost.append(state)
            state = StateFolder("shaky://s/t", "spark")
            found = content(state)
            assert found in [committed, *possible], f"seed {seed}, commit {number}"
            assert state.manifest.epoch == len(found), f"seed {seed}"
            committed, possible = found, []
    Shaky.often = 0.0
    assert codes <= {"E0681" if error is OSError else "killed"}, f"seed {seed}"
    for old in lost:
        with pytest.raises(UsageError, match="another process has opened it since"):
            commit(old, 0)
    assert content(StateFolder("shaky://s/t", "spark")) in [committed, *possible]
