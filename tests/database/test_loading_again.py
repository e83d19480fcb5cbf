"""`load(text, replace=True)`: a text that is loaded again, as cells of notebooks are."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidelog
from tidelog.errors import ProgramError, UsageError

TEXT = """
.type Node <: symbol
.decl edge(x: Node, y: Node)
.decl path(x: Node, y: Node)
edge("a", "b"). edge("b", "c").
path(x, y) :- edge(x, y).
step: path(x, z) :- path(x, y), edge(y, z).
.comp Counted { .decl size(n: number) size(n) :- n = count : { edge(_, _) }. }
.init counted = Counted
"""


@pytest.fixture
def db() -> tidelog.Database:
    database = tidelog.connect()
    database.load(TEXT)
    database.commit()
    return database


def rules(db: tidelog.Database) -> dict[str, str]:
    return {name: db.rules[name] for name in db.rules}


def same_as_new(db: tidelog.Database, *texts: str) -> bool:
    """Return True if a database has the views that these texts make."""
    new = tidelog.connect()
    for text in texts:
        new.load(text)
    new.commit()
    return {name: set(db[name]) for name in db.relations} == {name: set(new[name]) for name in new.relations}


def test_the_same_text_again_changes_nothing(db: tidelog.Database) -> None:
    before = rules(db)
    db.load(TEXT, replace=True)
    change = db.commit()
    assert list(change) == []
    assert rules(db) == before
    assert change.report.bootstraps == change.report.updates == 0


def test_without_replace_it_is_still_an_error(db: tidelog.Database) -> None:
    with pytest.raises(ProgramError):
        db.load(TEXT)
    assert not db.has_pending


def test_a_named_rule_replaces_the_one_of_its_name(db: tidelog.Database) -> None:
    db.load("step: path(y, x) :- edge(x, y).\n", replace=True)
    assert sorted(db.commit()["path"].inserted) == [("b", "a"), ("c", "b")]
    assert list(db.rules) == ["r1", "counted.r1", "step"]


def test_a_rule_without_a_name_is_there_once(db: tidelog.Database) -> None:
    db.load("path(x, y) :- edge(x, y).  path(x, y) :- edge(x, y).\n", replace=True)
    db.commit()
    assert list(db.rules) == ["r1", "step", "counted.r1"]


def test_a_name_that_a_rule_got_by_itself_replaces_none(db: tidelog.Database) -> None:
    with pytest.raises(ProgramError):
        db.load("r1: path(x, x) :- edge(x, _).\n", replace=True)
    assert not db.has_pending


def test_facts_of_the_text_are_asserted_again(db: tidelog.Database) -> None:
    db.delete("edge", [("a", "b")])
    db.commit()
    db.load(TEXT, replace=True)
    assert sorted(db.commit()["edge"].inserted) == [("a", "b")]


def test_other_facts_stay(db: tidelog.Database) -> None:
    db.insert("edge", [("c", "d")])
    db.load(TEXT.replace('edge("b", "c").', ""), replace=True)
    db.commit()
    assert sorted(db["edge"]) == [("a", "b"), ("b", "c"), ("c", "d")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('edge("b", "c").', 'edge("c", "a").'),
        ("path(x, y) :- edge(x, y).", "path(y, x) :- edge(x, y)."),
        ("path(x, y) :- edge(x, y).", "base: path(x, y) :- edge(x, y)."),
        ("step: path", "path"),
        ("edge(y, z).", "path(y, z)."),
        ("size(n) :- n = count : { edge(_, _) }", "size(n) :- n = count : { path(_, _) }"),
        (".init counted = Counted", ""),
        ("path(x, y) :- edge(x, y).", ".decl loop(x: Node) loop(x) :- path(x, x)."),
    ],
)
def test_an_edited_text_in_place_of_an_earlier_one_makes_the_views_of_a_new_database(
    db: tidelog.Database, old: str, new: str
) -> None:
    edited = TEXT.replace(old, new)
    db.load(edited, replace=TEXT)
    db.commit()
    assert same_as_new(db, edited)
    db.check()
    db.load(TEXT, replace=edited)
    db.commit()
    assert same_as_new(db, TEXT)


def test_what_other_texts_state_stays(db: tidelog.Database) -> None:
    other = '.decl far(x: Node)\nfar(x) :- path(x, _), !edge(x, _).\nedge("x", "y").\n'
    db.load(other)
    db.commit()
    edited = TEXT.replace("step: path(x, z) :- path(x, y), edge(y, z).", "")
    db.load(edited, replace=TEXT)
    db.commit()
    assert same_as_new(db, edited, other)


def test_a_declaration_that_others_read_cannot_go(db: tidelog.Database) -> None:
    with pytest.raises(ProgramError):
        db.load('edge("a", "b").\n', replace=TEXT)
    db.load("far: path(x, x) :- edge(x, _).\n")
    db.commit()
    with pytest.raises(ProgramError):
        db.load(".decl other(x: number)\n", replace=TEXT)
    assert not db.has_pending


def test_other_attributes_need_a_commit_in_between(db: tidelog.Database) -> None:
    edited = TEXT.replace("size(n: number)", "size(n: number, m: number)").replace("size(n) :-", "size(n, n) :-")
    with pytest.raises(UsageError, match="E0606"):
        db.load(edited, replace=TEXT)
    db.load(TEXT.replace(".init counted = Counted", ""), replace=TEXT)
    db.commit()
    db.load(edited, replace=True)
    db.commit()
    assert set(db["counted.size"]) == {(2, 2)}


def test_rollback_keeps_the_earlier_text(db: tidelog.Database) -> None:
    before = rules(db)
    db.load(TEXT.replace("edge(y, z)", "path(y, z)"), replace=TEXT)
    db.rollback()
    assert rules(db) == before
    db.load(TEXT, replace=True)
    assert list(db.commit()) == []


def test_a_store_comes_back_with_the_new_text(tmp_path: Path) -> None:
    edited = TEXT.replace('edge("b", "c").', 'edge("b", "d").').replace("edge(y, z).", "path(y, z).")
    with tidelog.connect(tmp_path / "s.tide") as store:
        store.load(TEXT)
        store.commit()
        store.load(edited, replace=TEXT)
        store.commit()
    with tidelog.connect(tmp_path / "s.tide") as store:
        assert sorted(store["edge"]) == [("a", "b"), ("b", "d")]
        assert store.rules["step"] == "step: path(x, z) :- path(x, y), path(y, z)."
        store.load(edited, replace=True)
        assert list(store.commit()) == []


def test_a_file_can_be_loaded_again(db: tidelog.Database, tmp_path: Path) -> None:
    file = tmp_path / "p.dl"
    file.write_text(TEXT)
    db.load(file, replace=True)
    assert list(db.commit()) == []


def test_a_wrong_replace_is_rejected(db: tidelog.Database) -> None:
    with pytest.raises(ProgramError, match="E0109"):
        db.load(TEXT, replace=3)  # type: ignore[arg-type]  # on purpose
