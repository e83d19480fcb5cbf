"""`tidelog format`: files in one layout."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.store.disks import full_disk

LOOSE = ".decl a( x:number )\na(1).   // one\n"
NEAT = ".decl a(x: number)\na(1).  // one\n"


def test_files_are_written(folder: Path, tidelog: Run) -> None:
    for name, text in (("loose.dl", LOOSE), ("neat.dl", NEAT)):
        (folder / name).write_text(text)
    outcome = tidelog("format", "loose.dl", "neat.dl")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "loose.dl: formatted\n")
    assert (folder / "loose.dl").read_text() == (folder / "neat.dl").read_text() == NEAT


def test_check_writes_nothing(folder: Path, tidelog: Run) -> None:
    (folder / "loose.dl").write_text(LOOSE)
    outcome = tidelog("format", "--check", "loose.dl")
    assert (outcome.code, outcome.err) == (1, "loose.dl: has another layout\n")
    assert (folder / "loose.dl").read_text() == LOOSE
    (folder / "neat.dl").write_text(NEAT)
    assert tidelog("format", "--check", "neat.dl").code == 0


def test_diff_shows_the_changed_lines(folder: Path, tidelog: Run) -> None:
    (folder / "loose.dl").write_text(LOOSE)
    outcome = tidelog("format", "--diff", "loose.dl")
    assert outcome.code == 0
    assert outcome.out.splitlines()[3:5] == ["-.decl a( x:number )", "-a(1).   // one"]
    assert (folder / "loose.dl").read_text() == LOOSE


def test_standard_input(tidelog: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(LOOSE))
    outcome = tidelog("format", "-")
    assert (outcome.code, outcome.out) == (0, NEAT)


def test_line_ends_of_windows_stay(folder: Path, tidelog: Run) -> None:
    (folder / "loose.dl").write_bytes(LOOSE.replace("\n", "\r\n").encode())
    assert tidelog("format", "loose.dl").code == 0
    assert (folder / "loose.dl").read_bytes() == NEAT.replace("\n", "\r\n").encode()


def test_a_file_with_an_error_stays_and_the_others_are_written(folder: Path, tidelog: Run) -> None:
    (folder / "wrong.dl").write_text(".decl a(x:number\n")
    (folder / "loose.dl").write_text(LOOSE)
    outcome = tidelog("format", "wrong.dl", "loose.dl")
    assert outcome.code == 1
    assert "wrong.dl:1:8: error[E0101]" in outcome.err
    assert (folder / "wrong.dl").read_text() == ".decl a(x:number\n"
    assert (folder / "loose.dl").read_text() == NEAT


def test_a_file_that_finds_no_room_stays(folder: Path, tidelog: Run) -> None:
    text = ".decl a(x:number)\n" + "a(1).\n" * 1_000
    (folder / "p.dl").write_text(text)
    with full_disk(1_000):
        outcome = tidelog("format", "p.dl")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("p.dl: error[E0412]: the file cannot be written: File too large")
    assert (folder / "p.dl").read_text() == text
