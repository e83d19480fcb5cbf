"""A store in which something else is in the place of a file or folder says so, with the name; nothing is waited for,
and nothing is raw."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.instead import KINDS, put
from tidelog.errors import TidelogError
from tidelog.store.database import StoredDatabase

PLACES = (
    "lock", "manifest.json", "checkpoints", "checkpoints/00000001", "programs", "programs/00000002", "segments",
    "segments/00000002", "segments/00000002/e.insert.parquet",
)  # fmt: skip
FACTS = {(1,), (2,)}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a checkpoint, a program and a segment."""
    folder = tmp_path_factory.mktemp("stores") / "sound"
    with tidelog.connect(folder) as db:
        db.load(".decl e(x: number)\n.decl n(x: number)\nn(x) :- e(x).")
        db.insert("e", [(1,)])
        db.commit()
        db.keeper.price = float("inf")  # no other checkpoint
        db.load("n(7) :- e(_).")
        db.insert("e", [(2,)])
        db.commit()
    assert all((folder / place).exists() for place in PLACES)
    return folder


def code_of(call: Callable[[], object]) -> tuple[str, str]:
    """The code and the text of the error that a call raises, ("", "") where it raises none."""
    try:
        call()
    except TidelogError as error:
        return error.code, str(error)
    return "", ""


def opened(folder: Path, read_only: bool) -> None:
    make: Any = StoredDatabase(folder, read_only=True) if read_only else tidelog.connect(folder)
    with make as db:
        assert set(db["e"]) == FACTS


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_opening(sound: Path, tmp_path: Path, kind: str, read_only: bool) -> None:
    for number, place in enumerate(PLACES):
        store = Path(shutil.copytree(sound, tmp_path / str(number)))
        put(kind, store / place)
        code, text = code_of(partial(opened, store, read_only))
        if (place, kind) == ("lock", "a file"):  # which may say anything
            assert code == ""
        else:
            assert code in ("E0681", "E0682"), (place, code, text)
            assert Path(place).name in text


@pytest.mark.parametrize("kind", KINDS)
def test_committing(sound: Path, tmp_path: Path, kind: str) -> None:
    """Where the epoch cannot last, it has not happened, and waits."""
    failed = 0
    for number, place in enumerate(PLACES):
        store = Path(shutil.copytree(sound, tmp_path / str(number)))
        with tidelog.connect(store) as db:
            put(kind, store / place)
            db.insert("e", [(9,)])
            code, text = code_of(db.commit)
            assert code in ("", "E0681", "E0628"), (place, text)
            assert set(db["e"]) == (FACTS if code else {*FACTS, (9,)})
            assert db.has_pending == bool(code)
            if code:
                assert Path(place).name in text
                failed += 1
            db.check()
    assert failed >= 1
