"""A reopened store shows the tuples of relations with choice-domains that it showed before."""

from __future__ import annotations

import random
import shutil
from collections.abc import Set
from pathlib import Path

import pytest

import tidelog
from tests.choosing import FAMILIES, script_for
from tests.depth import cases
from tests.generate import Row
from tests.scripts import change_in
from tests.suite import FIRST_SEED
from tidelog.store.checkpoint import Checkpoint
from tidelog.store.database import StoredDatabase

NEVER = 1e9
"""The price of a checkpoint that is never due."""
PAIRS = ".decl e(x: symbol, y: number)\n.decl t(x: symbol, y: number) choice-domain x\nt(x, y) :- e(x, y)."


def opened(folder: Path) -> StoredDatabase:
    """Return the store in a folder, which gets no checkpoint by itself."""
    db = tidelog.connect(folder)
    assert isinstance(db, StoredDatabase)
    db.keeper.price = NEVER
    return db


def views(db: tidelog.Database) -> dict[str, Set[Row]]:
    return {name: set(db[name]) for name in db.relations}


def inserted(db: tidelog.Database, relation: str, *rows: Row) -> None:
    """Insert each row in an epoch of its own."""
    for row in rows:
        db.insert(relation, [row])
        db.commit()


def deleted(db: tidelog.Database, relation: str, *rows: Row) -> None:
    """Delete each row in an epoch of its own."""
    for row in rows:
        db.delete(relation, [row])
        db.commit()


def test_what_came_first_is_shown_without_a_checkpoint(tmp_path: Path) -> None:
    db = opened(tmp_path / "store")
    db.load(PAIRS)
    inserted(db, "e", ("a", 5), ("a", 2), ("b", 1))
    db.close()
    db = opened(tmp_path / "store")
    assert db.stats()["store"]["checkpoint"] is None
    assert set(db["t"]) == {("a", 5), ("b", 1)}
    deleted(db, "e", ("a", 5))
    assert set(db["t"]) == {("a", 2), ("b", 1)}
    db.close()


def test_a_choice_comes_back_where_all_facts_are_those_of_the_checkpoint(tmp_path: Path) -> None:
    """Also the number of a substitution that has gone and come since."""
    db = opened(tmp_path / "store")
    db.load(f"{PAIRS}\n.decl n(x: symbol, y: number, i: number)\nn(x, y, $) :- t(x, y).\n.decl m(y: number, i: number)")
    db.rules.add("m(y, $) :- e(_, y).")
    inserted(db, "e", ("a", 2), ("a", 5))
    db.keeper.write_checkpoint(db.engine)
    db.keeper.price = NEVER
    assert set(db["t"]) == {("a", 2)}
    deleted(db, "e", ("a", 2))
    inserted(db, "e", ("a", 2))
    before = views(db)
    assert before["t"] == {("a", 5)}
    db.close()
    db = opened(tmp_path / "store")
    assert db.stats()["store"]["segments"] == 2
    assert views(db) == before
    db.check()
    db.close()


def test_a_choice_comes_back_after_a_rule_that_went_and_came(tmp_path: Path) -> None:
    """Neither facts nor rules differ from those of the checkpoint."""
    db = opened(tmp_path / "store")
    db.load(
        ".decl e(x: number, y: number)\n.decl f(x: number, y: number)\n.decl t(x: number, y: number) choice-domain x"
    )
    db.load("t(x, y) :- f(x, y).\nlast: t(x, y) :- e(x, y).\ne(1, 2). f(1, 5).")
    db.commit()
    db.keeper.write_checkpoint(db.engine)
    db.keeper.price = NEVER
    assert set(db["t"]) == {(1, 2)}
    db.rules.remove("last")
    db.commit()
    db.rules.add("last: t(x, y) :- e(x, y).")
    db.commit()
    assert set(db["t"]) == {(1, 5)}
    db.close()
    db = opened(tmp_path / "store")
    assert db.stats()["store"]["segments"] == 1
    assert set(db["t"]) == {(1, 5)}
    db.close()


def test_tuples_of_wide_words_come_back(tmp_path: Path) -> None:
    db = opened(tmp_path / "store")
    db.load(".decl e(x: number, y: number)\n.decl t(x: number, y: number) choice-domain x")
    db.load("t(x, y * 1000003 * 1000003) :- e(x, y).")
    inserted(db, "e", (1, 0), (2, 9), (2, 8))
    before = views(db)
    assert before["t"] == {(1, 0), (2, 9 * 1000003**2)}
    db.close()
    db = opened(tmp_path / "store")
    assert views(db) == before
    db.close()


def test_values_of_all_kinds_come_back(tmp_path: Path) -> None:
    types = ".type Shape = Point {} | Box { side: number }\n.type Pair = [n: number, s: symbol]\n"
    columns = "k: number, s: symbol, f: float, u: unsigned, p: Pair, b: Shape"
    db = opened(tmp_path / "store")
    db.load(f"{types}.decl e({columns})\n.decl t({columns}) choice-domain k\n")
    db.load("t(k, s, f, u, p, b) :- e(k, s, f, u, p, b).")
    point, box = db.branch("Point")(), db.branch("Box")
    inserted(db, "e", (1, "z", 2.5, 7, (1, "z"), box(3)), (1, "a", 0.5, 1, None, point))
    before = views(db)
    assert [row[:2] for row in before["t"]] == [(1, "z")]
    db.close()
    db = opened(tmp_path / "store")
    assert views(db) == before
    db.close()


def test_the_choice_of_a_relation_that_went_does_not_come_back(tmp_path: Path) -> None:
    """A new relation of the same name chooses for itself."""
    component = ".comp C { .decl t(x: number, y: number) choice-domain x\n.decl d(x: number, y: number)\n"
    db = opened(tmp_path / "store")
    db.load(f"{component}t(x, y) :- d(x, y). }}\n.init one = C")
    inserted(db, "one.t", (1, 2))
    db.rules.remove_instance("one")
    db.commit()
    db.keeper.price = NEVER
    db.load(".init one = C")
    inserted(db, "one.d", (1, 5))
    inserted(db, "one.t", (1, 2))
    assert db.keeper.state.manifest.checkpoint is None
    db.close()
    db = opened(tmp_path / "store")
    assert set(db["one.t"]) == {(1, 5)}
    db.close()


@pytest.mark.parametrize("readable", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_store_shows_the_same_choice_after_every_epoch(
    family: str, readable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one checkpoint somewhere in a random script, which the tidelog that opens may not be able to continue."""
    first, came_back = FIRST_SEED + 10_000 * readable, 0
    if not readable:
        monkeypatch.setattr(Checkpoint, "restore", lambda *_: None)
    for number in range(first, first + cases(4)):
        script = script_for(number * len(FAMILIES) + list(FAMILIES).index(family))
        rng = random.Random(f"reopened {number}")
        due = rng.randrange(len(script.epochs) + 1)
        db = opened(tmp_path / f"{number}")
        db.options(strategy=rng.choice(("auto", "update", "bootstrap")))
        db.load(script.text())
        for name, rows in script.facts.items():
            db.insert(name, sorted(rows))
        db.commit()
        for epoch, change in enumerate((None, *script.epochs)):
            if change is not None:
                with db.transaction() as transaction:
                    change_in(transaction, script, change)
            if epoch == due:
                db.keeper.write_checkpoint(db.engine)
                db.keeper.price = NEVER
            copy = tmp_path / f"{number}.{epoch}"
            shutil.copytree(tmp_path / f"{number}", copy)
            again = opened(copy)
            place = f"epoch {epoch}, checkpoint after {due}, of {script}"
            assert views(again) == views(db), place
            assert again.keeper.state.manifest == db.keeper.state.manifest, place
            again.check()
            assert again.opening is not None
            came_back += any("its choice came back" in node.reason for node in again.opening.nodes)
            again.close()
        db.close()
    assert came_back or cases(4) == 1
