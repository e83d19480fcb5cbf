"""The files of `.input` in Python: `read_inputs` reads them, and a commit warns where nobody has."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import tidelog
from tidelog.errors import DataError, InputWarning, UsageError

TEXT = """
.decl edge(x: number, y: number)
.decl name(x: number, text: symbol)
.input edge
.input name(filename="names.txt", rfc4180=true)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
"""


@pytest.fixture
def db() -> tidelog.Database:
    database = tidelog.connect()
    database.load(TEXT)
    return database


def test_their_facts_come_with_the_next_commit(db: tidelog.Database, tmp_path: Path) -> None:
    (tmp_path / "edge.facts").write_text("1\t2\n")
    (tmp_path / "names.txt").write_text('1,"a, b"\n')
    db.read_inputs(tmp_path)
    assert len(db["path"]) == 0
    db.commit()
    assert set(db["path"]) == {(1, 2)}
    assert set(db["name"]) == {(1, "a, b")}


def test_an_error_in_one_file_inserts_nothing_from_any(db: tidelog.Database, tmp_path: Path) -> None:
    (tmp_path / "edge.facts").write_text("1\t2\n")
    with pytest.raises(DataError) as caught:
        db.read_inputs(tmp_path)
    assert caught.value.code == "E0410"
    db.insert("edge", [(7, 8)])
    db.insert("name", [])
    db.commit()
    assert set(db["edge"]) == {(7, 8)}


def test_their_facts_are_a_part_of_a_transaction(db: tidelog.Database, tmp_path: Path) -> None:
    db.insert("edge", [(7, 8)])
    db.commit()
    (tmp_path / "edge.facts").write_text("1\t2\n")
    (tmp_path / "names.txt").write_text("1,one\n")
    with db.what_if() as trial:
        trial.read_inputs(tmp_path)
    assert trial.change is not None
    assert set(trial.change["path"].inserted) == {(1, 2)}
    assert set(db["path"]) == {(7, 8)}
    with db.transaction() as changes:
        changes.clear("edge")
        changes.read_inputs(tmp_path)
    assert (set(db["path"]), set(db["name"])) == ({(1, 2)}, {(1, "one")})
    with pytest.raises(UsageError, match="E0626"):
        changes.read_inputs(tmp_path)
    assert not db.has_pending


@pytest.mark.parametrize("place", ["the working directory", "the folder of the program"])
def test_a_commit_warns_of_a_file_that_nobody_has_read(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "names.txt").touch()
    (tmp_path / "program.dl").write_text(TEXT)
    with tidelog.connect() as db:
        if place == "the working directory":
            monkeypatch.chdir(tmp_path)
            db.load(TEXT)
        else:
            db.load(tmp_path / "program.dl")
        message = "(?s)5:8: .*E0418.*`name` has no facts.*names.txt.*read_inputs"
        with pytest.warns(InputWarning, match=message) as found:
            db.commit()
        assert [(len(found), Path(found[0].filename).name)] == [(1, "test_inputs.py")]
        db.commit()  # Once is enough.


def test_facts_from_elsewhere_may_come_later(db: tidelog.Database) -> None:
    db.commit()
    with db.transaction() as changes:
        changes.insert("edge", [(1, 2)])
    assert set(db["path"]) == {(1, 2)}


def test_facts_and_rules_of_the_program_are_no_reason_to_warn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        (tmp_path / f"{name}.facts").touch()
    with tidelog.connect() as db, warnings.catch_warnings():
        warnings.simplefilter("error")
        db.load(".decl a(x: number) .input a  a(1).  .decl b(x: number) .input b  b(x) :- a(x).")
        db.commit()
        assert set(db["b"]) == {(1,)}
