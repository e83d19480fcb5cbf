"""Files that a user asks for: whole or as before, with the same rights, and links stay links."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tests.store.disks import full_disk
from tidelog.durable.whole_files import write_whole
from tidelog.errors import DataError


def test_a_file_that_finds_no_room_is_as_before(tmp_path: Path) -> None:
    file = tmp_path / "program.dl"
    file.write_bytes(b"before")
    with full_disk(1_000), pytest.raises(DataError, match=r"E0412.*: File too large"):
        write_whole(file, b"x" * 10_000)
    assert [each.name for each in tmp_path.iterdir()] == ["program.dl"]
    assert file.read_bytes() == b"before"


def test_rights_and_links_stay(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_bytes(b"before")
    file.chmod(0o640)
    link.symlink_to(file)
    write_whole(link, b"after")
    assert link.is_symlink()
    assert file.read_bytes() == b"after"
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_pipe_gets_the_text(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, b"text")
    reader.join(20)
    assert found == [b"text"]
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("name", "reason"),
    [("nowhere/file", "create the folder"), (".", "Is a directory"), ("a\0b", "null")],
)
def test_what_cannot_be_written(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(DataError, match=f"(?s)E0412.*{reason}"):
        write_whole(tmp_path / name, b"text")
    assert list(tmp_path.iterdir()) == []
