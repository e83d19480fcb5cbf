"""`tidelog format`: files in one layout."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.store.disks import full_disk

LOOSE = ".decl a( x:number )\na(1).   // one\n"
NEAT = ".decl a(x: number)\na(1).  // one\n"


def test_standard_input(tidelog: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(LOOSE))
    outcome = tidelog("format", "-")
    assert (outcome.code, outcome.out) == (0, NEAT)


def test_line_ends_of_windows_stay(folder: Path, tidelog: Run) -> None:
    (folder / "loose.dl").write_bytes(LOOSE.replace("\n", "\r\n").encode())
    assert tidelog("format", "loose.dl").code == 0
    assert (folder / "loose.dl").read_bytes() == NEAT.replace("\n", "\r\n").encode()


def test_a_file_that_finds_no_room_stays(folder: Path, tidelog: Run) -> None:
    text = ".decl a(x:number)\n" + "a(1).\n" * 1_000
    (folder / "p.dl").write_text(text)
    with full_disk(1_000):
        outcome = tidelog("format", "p.dl")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("p.dl: error[E0412]: the file cannot be written: File too large")
    assert (folder / "p.dl").read_text() == text
