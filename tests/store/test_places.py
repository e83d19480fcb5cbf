"""The places of rules that explanations of a store cite: those in the user's files, also after it was opened again."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidelog
from tests.store.test_reopening import reopened
from tidelog.errors import position
from tidelog.language.stored_text import placed_text
from tidelog.store.database import StoredDatabase

PROGRAM = """\
.decl e(x: number, y: number)
#include "parts/more.dl"
e(1, 2). e(2, 3).
.comp C<T> {
   /// Pairs with a
   /// path.
   .decl t(x: T, y: T)

   .decl u(x: T)
   base: t(x, y) :- e(x, y).

      t(x, z) :- t(x, y),
          e(y, z).  u(x) :- t(x, x).
   u(x) :- q(x), !t(x, x).
}
.init A = C<number>
.decl z(x: number)
.output z
z(x) :- A.u(x).
many:
  z(x) :-
     q(x), x > 2.
"""
PLACES = {
    "r1": "parts/more.dl:3:4",
    "r2": "main.dl:19:1",
    "many": "main.dl:20:1",
    "A.base": "main.dl:10:4",
    "A.r1": "main.dl:12:7",
    "A.r2": "main.dl:13:21",
    "A.r3": "main.dl:14:4",
    "r3": "<text>:2:2",
    "far": "<text>:3:1",
}


def places(db: StoredDatabase) -> dict[str, str]:
    """The place of each rule by its name."""
    rules = (rule for program in db.workspace.committed.programs for rule in program.rules)
    return {rule.name: position(rule.span) for rule in rules if rule.name is not None and rule.span is not None}


def filled(folder: Path, monkeypatch: pytest.MonkeyPatch) -> StoredDatabase:
    monkeypatch.chdir(folder)
    Path("parts").mkdir()
    Path("parts/more.dl").write_text("// more\n  .decl q(x: number)\n   q(x) :- e(x, _).\n")
    Path("main.dl").write_text(PROGRAM)
    db = tidelog.connect(folder / "s")
    db.load("main.dl")
    db.commit()
    db.load(".decl late(x: number, y: number)\n late(x, x) :- q(x).\nfar: late(x, y) :- e(x, y).\n")
    db.commit()
    return db


def test_rules_keep_their_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = filled(tmp_path, monkeypatch)
    proof = str(db.explain("A.u", (1,)))
    assert "[A.r3 at main.dl:14:4]" in proof
    assert "[r1 at parts/more.dl:3:4]" in proof
    for number in range(3):
        db = reopened(db)
        assert str(db.explain("A.u", (1,))) == proof
        assert "[many at main.dl:20:1]" in str(db.why_not("z", (7,)))
        if number == 1:
            db.load(".decl more(x: number)")
        db.insert("e", [(5 + number, 6)])
        db.commit()
    db.close()


def test_a_text_with_places_is_that_of_what_it_reads_as(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So opening a store compiles no program that its checkpoint has."""
    db = filled(tmp_path, monkeypatch)
    assert places(db) == PLACES
    text, before = placed_text(db.workspace.committed.programs), places(db)
    db = reopened(db)
    assert (placed_text(db.workspace.committed.programs), places(db)) == (text, before)
    db.close()


def test_an_error_of_a_later_text_cites_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with reopened(filled(tmp_path, monkeypatch)) as db:
        with pytest.raises(tidelog.ProgramError) as caught:
            db.load(".decl q(x: symbol)")
        assert "parts/more.dl:2:" in str(caught.value)


@pytest.mark.parametrize("name", ['a "b".dl', "back\\slash.dl", "two\nlines.dl", "# 7.dl"])
def test_files_with_odd_names(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(f"\n\n.decl p(x: number)\n{' ' * 60}p(x) :- x = 1.\n")
    db = tidelog.connect(tmp_path / "s")
    db.load(Path(name))
    db.commit()
    with reopened(db) as again:
        shown = name.replace("\n", " ")
        assert places(again) == {"r1": f"{shown}:4:1"}  # No columns so far to the right.
