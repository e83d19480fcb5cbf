"""The state that a database in a folder keeps: facts, rules and views, births and counts, so that it continues where it
was."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import tidelog
from tests.recount import state_of
from tests.scripts import Follower, Script, script_for
from tests.suite import FIRST_SEED, chunks, views
from tidelog.store.database import StoredDatabase

PROGRAM = """
.type Place = [town: symbol, number: unsigned]
.type List = [head: float, tail: List]
.decl edge(x: symbol, y: symbol)
.decl path(x: symbol, y: symbol)
.decl twice(x: symbol, y: symbol)
.decl at(p: Place, l: List)
.decl go()
.decl size(k: number)
one: path(x, y) :- edge(x, y).
more: path(x, z) :- path(x, y), edge(y, z).
two: twice(x, z) :- edge(x, y), edge(y, z), !edge(x, z).
count: size(k) :- k = count : { path(_, _) }.
"""
PLACE, CHAIN = ("Ålesund", 2**64 - 1), (0.1, (float("-inf"), None))


def reopened(db: StoredDatabase) -> StoredDatabase:
    """The database as another process would find it."""
    db.close()
    return tidelog.connect(db.folder)


def filled(folder: Path) -> StoredDatabase:
    db = tidelog.connect(folder)
    db.load(PROGRAM)
    db.insert("edge", [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
    db.insert("at", [(PLACE, CHAIN), (None, None)])
    db.insert("go", [()])
    db.commit()
    return db


@pytest.mark.parametrize("updated", [False, True])
def test_births_that_are_not_in_the_order_of_the_rows_come_back(updated: bool, tmp_path: Path) -> None:
    """An update gives new births to rows in the middle, so that births are kept row by row; a bootstrap keeps runs."""
    db = tidelog.connect(tmp_path / "s")
    db.options(closures=False, strategy="update" if updated else "bootstrap")
    db.load(PROGRAM)
    db.insert("edge", [(f"n{number}", f"n{number + 1}") for number in range(8)])
    db.commit()
    if updated:
        db.insert("edge", [("n2", "n4")])
        db.commit()
        db.delete("edge", [("n2", "n3")])
        assert db.commit().report.bootstraps == 0
    db.keeper.write_checkpoint(db.engine)  # An epoch that is replayed may give other births.
    births = db.births("path")
    stored = db.engine.views["path"]
    assert stored is not None
    assert stored.marks.keeps_births is updated
    db = reopened(db)
    stored = db.engine.views["path"]
    assert stored is not None
    assert stored.marks.keeps_births is updated
    assert db.births("path") == births
    assert len(set(births.values())) > 4
    db.close()


def test_everything_comes_back(tmp_path: Path) -> None:
    db = filled(tmp_path / "s")
    kept, births, forms = views(db), {name: db.births(name) for name in db.relations}, db.stats()["forms"]
    db = reopened(db)
    assert views(db) == kept
    assert {name: db.births(name) for name in db.relations} == births
    assert (db.stats()["forms"], forms["path"]) == (forms, "compressed")
    assert kept["at"] == {(PLACE, CHAIN), (None, None)}
    assert (kept["go"], kept["size"]) == ({()}, {(12,)})
    assert list(db.rules) == ["one", "more", "two", "count"]
    db.check()


def test_nothing_is_evaluated_again(tmp_path: Path) -> None:
    db = reopened(filled(tmp_path))
    assert db.opening is not None
    assert (db.opening.bootstraps, db.opening.updates) == (0, 0)
    db.options(strategy="update")
    db.delete("edge", [("c", "a")])
    change = db.commit()
    assert change.report.bootstraps == 0
    assert set(change["path"].deleted) == {("a", "a"), ("b", "b"), ("b", "a"), ("c", "c"), ("c", "a"), ("c", "b")}
    assert (set(db["twice"]), set(db["size"])) == ({("a", "c"), ("b", "d")}, {(6,)})


def test_rules_and_facts_after_the_checkpoint(tmp_path: Path) -> None:
    db = filled(tmp_path)
    db.keeper.price = 1e9  # no other checkpoint
    db.rules.remove("more")
    db.rules.add(".decl late(x: number)  late(5).  again: late(x + 1) :- late(x), x < 7.")
    db.insert("edge", [("d", "e"), ("e", "a")])
    db.commit()
    db.delete("edge", [("e", "a")])
    db.delete("go", [()])
    db.commit()
    kept = views(db)
    db = reopened(db)
    assert db.opening is not None
    assert {node.rules: node.strategy for node in db.opening.nodes}["two",] == "update"
    assert views(db) == kept
    assert (kept["late"], kept["go"]) == ({(5,), (6,), (7,)}, set())
    assert db.stats()["store"]["epoch"] == 3
    assert (db.stats()["store"]["checkpoint"], db.stats()["store"]["segments"]) == (1, 2)
    db.check()


def test_small_checkpoints_wait_for_epochs(tmp_path: Path) -> None:
    db = filled(tmp_path)
    assert db.stats()["store"]["checkpoint"] == 1  # The first one does not wait.
    for least, expected in ((1e9, 1), (0.0, 3)):
        db.keeper.price, db.keeper.least = 0.0, least
        db.insert("edge", [("z", f"{least}")])
        db.commit()
        assert db.stats()["store"]["checkpoint"] == expected
    db.keeper.price, db.keeper.least = 0.0, 1e9
    db.rules.add("late: edge(y, x) :- edge(x, y).")
    db.commit()
    assert db.stats()["store"]["checkpoint"] == 4  # So opening evaluates no rules.


def test_a_checkpoint_takes_the_place_of_segments(tmp_path: Path) -> None:
    db = filled(tmp_path)
    db.keeper.least = 0.0
    for number in range(5):
        db.keeper.price = 0.0 if number == 4 else 1e9
        db.insert("edge", [("z", f"{number}")])
        db.commit()
        assert db.stats()["store"]["segments"] == (0 if number == 4 else number + 1)
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["00000006"]
    assert list((tmp_path / "logs").iterdir()) == []
    assert set(reopened(db).query('edge("z", X)')) == {("z", f"{number}") for number in range(5)}


def test_an_epoch_without_changes_writes_nothing(tmp_path: Path) -> None:
    """A checkpoint that counts is never written over, whatever the time that such epochs take in all."""
    db = filled(tmp_path)
    kept = [tmp_path / "manifest.json", tmp_path / "checkpoints/00000001"]
    before = [path.stat() for path in kept]
    db.keeper.price = 0.0
    db.commit()
    assert [path.stat() for path in kept] == before


def test_wide_words_and_floats(tmp_path: Path) -> None:
    db = tidelog.connect(tmp_path)
    db.load(".decl n(x: number)  .decl f(x: float)  .decl m(x: number)  m(x) :- n(x), x > 0.")
    db.insert("n", [(2**62,), (-(2**62),)])
    db.insert("f", [(0.1,), (float("inf"),)])
    db.commit()
    db = reopened(db)
    assert (set(db["m"]), set(db["f"])) == ({(2**62,)}, {(0.1,), (float("inf"),)})
    db.delete("n", [(2**62,)])
    assert db.commit().report.bootstraps == 0
    assert set(db["m"]) == set()


def test_views_that_are_not_maintained(tmp_path: Path) -> None:
    db = tidelog.connect(tmp_path)
    db.options(maintain=False, closures=False)
    db.load(PROGRAM)
    db.insert("edge", [("a", "b"), ("b", "a")])
    db.commit()
    db = reopened(db)
    assert set(db["path"]) == {("a", "b"), ("b", "a"), ("a", "a"), ("b", "b")}
    db.delete("edge", [("b", "a")])
    change = db.commit()
    assert any("nothing was counted" in node.reason for node in change.report.nodes)
    assert set(db["path"]) == {("a", "b")}


def test_a_program_of_many_parts(tmp_path: Path) -> None:
    """Paths, components, inlined rules and functors come back from the text that is kept."""
    db = tidelog.connect(tmp_path)
    db.load(".decl link(x: symbol, y: symbol)  .decl far(x: symbol, y: symbol)  w: far(x, y) :- <link/(^link)+>(x, y).")
    db.load('.decl word(x: symbol, n: number)  v: word(cat(x, "!"), strlen(x)) :- far(x, _).')
    db.insert("link", [("a", "b"), ("c", "b"), ("b", "c")])
    db.commit()
    kept = views(db)
    db = reopened(db)
    assert views(db) == kept
    assert kept["word"] == {("a!", 1), ("b!", 1), ("c!", 1)}
    db.options(strategy="update")
    db.rules.remove("w")
    db.commit()
    assert (set(db["far"]), set(db["word"])) == (set(), set())


def test_a_view_that_shows_a_closure_comes_back(tmp_path: Path) -> None:
    """It has no rows of its own: those of the path are its."""
    db = tidelog.connect(tmp_path)
    db.load(".decl e(x: symbol, y: symbol)  .decl v(x: symbol, y: symbol)  v(x, y) :- <e+>(x, y).")
    db.insert("e", [("a", "b"), ("b", "c")])
    db.commit()
    db = reopened(db)
    assert db.stats()["forms"]["v"] == "compressed"
    assert set(db["v"]) == {("a", "b"), ("a", "c"), ("b", "c")}
    db.delete("e", [("a", "b")])
    change = db.commit()
    assert change.report.bootstraps == 0
    assert set(change["v"].deleted) == {("a", "b"), ("a", "c")}
    assert set(db["v"]) == {("b", "c")}


def follow(script: Script, folder: Path, strategy: str) -> None:
    """Go through a script, closing and opening the database at random."""
    rng = random.Random(script.seed)
    follower = Follower(script, strategy, folder=folder)
    for epoch in script.epochs:
        db = follower.db
        assert isinstance(db, StoredDatabase)
        if rng.random() < 0.7:
            if strategy == "update" or rng.random() < 0.5:
                db.keeper.write_checkpoint(db.engine)
            follower.db = reopened(db)
            follower.set_options()
            assert strategy != "update" or state_of(follower.db) == follower.tables
            follower.tables = state_of(follower.db)
        follower.follow(epoch)
    follower.check_naive()


@pytest.mark.parametrize("seeds", chunks(FIRST_SEED + 800_000, 12, 6))
@pytest.mark.parametrize("strategy", ["update", "auto"])
def test_random_scripts(tmp_path: Path, seeds: range, strategy: str) -> None:
    """Births and counts are those from before, so that updates go on without any bootstrap."""
    for seed in seeds:
        follow(script_for(seed), tmp_path / str(seed), strategy)
