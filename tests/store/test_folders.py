"""The folder of a database: whom it lets in, what it makes of damage, and of a disk that takes no more."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

import tidelog
from tests.store.disks import full_disk, without_logs
from tests.suite import views
from tidelog.errors import DataError, UsageError
from tidelog.store import state


def filled(folder: Path) -> None:
    """Two epochs, the second behind the checkpoint."""
    with tidelog.connect(folder) as db:
        db.load('.decl e(x: symbol)  .decl t(x: symbol)  t(x) :- e(x), x != "b".')
        db.insert("e", [("a",), ("b",)])
        db.commit()
        db.keeper.price = 1e9
        db.insert("e", [("c",)])
        db.commit()


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with tidelog.connect(tmp_path):
        with pytest.raises(UsageError) as caught:
            tidelog.connect(tmp_path)
        assert caught.value.code == "E0680"
        assert f"in use by process {os.getpid()}" in str(caught.value)
    tidelog.connect(tmp_path).close()


def test_a_forgotten_database_lets_the_folder_go(tmp_path: Path) -> None:
    db = tidelog.connect(tmp_path)
    del db
    tidelog.connect(tmp_path).close()


def test_a_closed_database_says_so(tmp_path: Path) -> None:
    db = tidelog.connect(tmp_path)
    db.close()
    with pytest.raises(UsageError) as caught:
        db.commit()
    assert caught.value.code == "E0602"


@pytest.mark.parametrize("arguments", [{"folder": "a", "spark": object()}, {"state": "a"}])
def test_arguments_that_do_not_go_together(arguments: dict[str, object]) -> None:
    with pytest.raises(UsageError) as caught:
        tidelog.connect(**arguments)  # type: ignore[call-overload]  # wrong on purpose
    assert caught.value.code == "E0610"


@pytest.mark.parametrize("text", [".decl e(x: number)", "\n  .include 'a.dl'", "p(x) :- q(x)."])
def test_a_program_is_no_folder(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"db\.load") as caught:
        tidelog.connect(text)
    assert caught.value.code == "E0610"
    assert not os.listdir(tmp_path)


def test_a_folder_of_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("…")
    with pytest.raises(UsageError, match=r"the folder is not a store, it contains thesis\.txt") as caught:
        tidelog.connect(tmp_path)
    assert caught.value.code == "E0681"
    assert os.listdir(tmp_path) == ["thesis.txt"]


def test_a_path_with_a_nul_character_is_refused_with_a_hint() -> None:
    with pytest.raises(UsageError) as caught:
        tidelog.connect("a\0b")
    assert (caught.value.code, caught.value.problems[0].hint) == ("E0681", "pass the path of a folder")


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_file_where_the_folder_should_be(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError) as caught:
        tidelog.connect(tmp_path / place)
    assert caught.value.code == "E0681"
    assert str(tmp_path / place) in str(caught.value)


def compiled(folder: Path, change: Callable[[tidelog.Database], None]) -> None:
    """Commit a change elsewhere, so that its kernels are in the cache, which has no room on a full disk either."""
    filled(folder)
    with tidelog.connect(folder) as db:
        change(db)
        db.commit()


def test_a_disk_without_room_for_an_epoch(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    def change(db: tidelog.Database) -> None:
        db.insert("e", [(f"long {i}",) for i in range(1000)])

    compiled(tmp_path_factory.mktemp("elsewhere"), change)
    filled(tmp_path)
    with tidelog.connect(tmp_path) as db:
        files, kept = sorted(tmp_path.rglob("*")), views(db)
        change(db)
        with full_disk(500), pytest.raises(UsageError, match="nothing has changed") as caught:
            db.commit()
        assert caught.value.code == "E0681"
        assert views(db) == kept
        assert sorted(tmp_path.rglob("*")) == files
        db.rollback()
        db.insert("e", [("d",)])
        assert set(db.commit()["t"].inserted) == {("d",)}
    with tidelog.connect(tmp_path) as db:
        assert set(db["t"]) == {("a",), ("c",), ("d",)}


def test_a_disk_without_room_for_the_manifest(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    def change(db: tidelog.Database) -> None:
        db.load(f".decl more(x: symbol)  more(x) :- t(x), x != '{'y' * 5000}'.".replace("'", '"'))

    compiled(tmp_path_factory.mktemp("elsewhere"), change)
    filled(tmp_path)
    with tidelog.connect(tmp_path) as db:
        kept = views(db)
        change(db)
        with full_disk(4000), pytest.raises(UsageError) as caught:
            db.commit()
        assert caught.value.code == "E0681"
        db.rollback()
        assert views(db) == kept
    with tidelog.connect(tmp_path) as db:
        assert views(db) == kept


def test_a_disk_without_room_for_a_checkpoint(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The epoch is safe in its segment."""

    def change(db: tidelog.Database) -> None:
        db.insert("e", [("d",)])

    compiled(tmp_path_factory.mktemp("elsewhere"), change)
    filled(tmp_path)
    with tidelog.connect(tmp_path) as db:
        db.keeper.price = 0.0
        change(db)
        with full_disk(2000):
            db.commit()
        assert db.stats()["store"] | {"folder": "", "opening": {}} == {
            "folder": "", "epoch": 3, "checkpoint": 1, "segments": 2, "opening": {},
        }  # fmt: skip
    with tidelog.connect(tmp_path) as db:
        assert set(db["t"]) == {("a",), ("c",), ("d",)}


def change_byte(path: Path) -> None:
    """Flip one bit in the middle of a word of a checkpoint."""
    data = bytearray(path.read_bytes())
    data[data.index(b"rows.") + 200] ^= 1
    path.write_bytes(bytes(data))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no JSON": (lambda folder: (folder / "manifest.json").write_text("{"), "manifest.json"),
    "another version": (lambda folder: (folder / "manifest.json").write_text('{"version": 9}'), "another version"),
    "no manifest": (lambda folder: (folder / "manifest.json").unlink(), "manifest.json is missing"),
    "no segment": (lambda folder: shutil.rmtree(folder / "segments/00000002"), r"segments/00000002/e\.insert\.parquet"),
    "a cut table": (
        lambda folder: (folder / "segments/00000002/e.insert.parquet").write_bytes(b"PAR1"),
        r"e\.insert\.parquet",
    ),
    "a table of another name": (
        lambda folder: (folder / "segments/00000002/e.insert.parquet").rename(
            folder / "segments/00000002/f.insert.parquet"
        ),
        r"e\.insert\.parquet",
    ),
    "no log": (lambda folder: (folder / "logs/00000002").unlink(), "logs/00000002"),
    "a cut log": (lambda folder: os.truncate(folder / "logs/00000002", 100), "logs/00000002"),
    "no checkpoint": (lambda folder: (folder / "checkpoints/00000001").unlink(), "checkpoints/00000001"),
    "a cut checkpoint": (lambda folder: os.truncate(folder / "checkpoints/00000001", 1000), "checkpoints/00000001"),
    "a flipped bit": (lambda folder: change_byte(folder / "checkpoints/00000001"), "checkpoints/00000001"),
    "no archive": (lambda folder: (folder / "checkpoints/00000001").write_text("x"), "checkpoints/00000001"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage(tmp_path: Path, damage: str) -> None:
    with without_logs() if "log" not in damage else nullcontext():
        filled(tmp_path)
    change, said = DAMAGES[damage]
    change(tmp_path)
    for _ in range(2):  # the folder is free again after the error
        with pytest.raises(DataError, match=said) as caught:
            tidelog.connect(tmp_path)
        assert caught.value.code == "E0682"


def test_a_checkpoint_of_another_tidelog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its facts are taken and everything else evaluated anew, which the report of the opening says."""
    filled(tmp_path)
    monkeypatch.setattr("tidelog.version.__version__", "99")
    with tidelog.connect(tmp_path) as db:
        assert db.opening is not None
        assert db.opening.bootstraps == 1
        assert views(db) == {"e": {("a",), ("b",), ("c",)}, "t": {("a",), ("c",)}}
        db.check()


def test_many_segments_become_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "MOST_SEGMENTS", 3)
    with tidelog.connect(tmp_path) as db:
        db.load(".decl e(x: number)")
        for i in range(6):
            db.keeper.price = 1e9
            db.insert("e", [(i,)])
            db.commit()
            assert db.stats()["store"]["segments"] <= 3


def test_a_checkpoint_is_a_plain_archive_of_arrays(tmp_path: Path) -> None:
    """As docs/how-to/stores.md says."""
    import numpy

    filled(tmp_path)
    with (tmp_path / "checkpoints/00000001").open("rb") as file:
        arrays = numpy.load(file, allow_pickle=False)
        assert arrays["symbols"].tobytes() == b"ab"
        assert {"about", "ends", "rows.0"} <= set(arrays)
