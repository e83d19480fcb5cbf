"""Instances of components that are removed: their rules, relations and facts go, and nothing of them comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidelog
from tidelog.errors import ProgramError, UsageError
from tidelog.store.checkpoint import EngineImage

COMPONENT = """
.type node <: symbol
.comp Reach<T> {
  .decl edge(x: T, y: T)
  .decl reach(x: T, y: T)
  reach(x, y) :- edge(x, y).
  reach(x, z) :- reach(x, y), edge(y, z).
  edge("own", "fact").
}
"""
TEXT = f"{COMPONENT}.init roads = Reach<node>\n.init rails = Reach<symbol>\n"
EDGES = [("a", "b"), ("b", "c")]


def filled(db: tidelog.Database) -> tidelog.Database:
    db.load(TEXT)
    for name in ("roads", "rails"):
        db.insert(f"{name}.edge", EDGES)
    db.commit()
    assert len(db["roads.reach"]) == len(db["rails.reach"]) == 4
    return db


def test_everything_of_an_instance_goes() -> None:
    db = filled(tidelog.connect())
    db.rules.remove_instance("roads")
    assert "roads.reach" not in db
    db.commit()
    assert db.relations == ("rails.edge", "rails.reach")
    assert list(db.rules) == ["rails.r1", "rails.r2"]
    assert len(db["rails.reach"]) == 4
    db.check()
    with pytest.raises(UsageError, match="E0601"):
        db["roads.reach"]


def test_an_instance_within_an_instance_goes_alone() -> None:
    db = tidelog.connect()
    db.load(
        ".comp In { .decl r(x: number) r(1). }\n.comp Out { .init in = In\n .decl s(x: number) s(2). }\n.init o = Out"
    )
    db.commit()
    db.rules.remove_instance("o.in")
    db.commit()
    assert db.relations == ("o.s",)
    db.rules.remove_instance("o")
    db.commit()
    assert db.relations == ()


def test_a_rollback_brings_it_back() -> None:
    db = filled(tidelog.connect())
    db.rules.remove_instance("roads")
    db.rollback()
    db.insert("roads.edge", [("c", "d")])
    change = db.commit()
    assert change.report.bootstraps == 0
    assert len(db["roads.reach"]) == 7


def test_it_stays_while_rules_outside_read_it() -> None:
    db = filled(tidelog.connect())
    db.load(".decl far(x: symbol)\nfar(y) :- roads.reach(_, y).")
    db.commit()
    with pytest.raises(ProgramError, match=r"roads\.reach"):
        db.rules.remove_instance("roads")
    assert not db.has_pending
    assert len(db["far"]) == 3


@pytest.mark.parametrize(("name", "hint"), [("road", "did you mean roads"), ("far.off", "`.init`"), (7, "`.init`")])
def test_unknown_instances(name: str, hint: str) -> None:
    db = filled(tidelog.connect())
    with pytest.raises(UsageError, match="E0608") as error:
        db.rules.remove_instance(name)
    assert hint in str(error.value)
    assert not db.has_pending


def test_a_renewed_instance_begins_without_facts() -> None:
    db = filled(tidelog.connect())
    with db.transaction():
        db.insert("roads.edge", [("x", "y")])
        db.rules.remove_instance("roads")
        db.rules.add(".init roads = Reach<node>")
        db.insert("roads.edge", [("b", "c"), ("p", "q")])
    assert sorted(db["roads.reach"]) == [("b", "c"), ("own", "fact"), ("p", "q")]
    assert len(db["rails.reach"]) == 4
    db.check()


def test_other_attributes_wait_for_the_next_epoch() -> None:
    db = filled(tidelog.connect())
    db.rules.remove_instance("roads")
    other = ".comp Other { .decl reach(x: number) reach(1). }\n.init roads = Other"
    with pytest.raises(UsageError, match="E0606"):
        db.load(other)
    db.commit()
    db.load(other)
    db.commit()
    assert list(db["roads.reach"]) == [(1,)]


OTHER = ".comp Other { .decl reach(x: number) .decl edge(x: number)  reach(x) :- edge(x). }\n.init roads = Other"


@pytest.mark.parametrize("same", [True, False], ids=["same", "other attributes"])
@pytest.mark.parametrize("checkpoint", [True, False], ids=["checkpoint", "segments"])
def test_a_store_forgets_it(tmp_path: Path, checkpoint: bool, same: bool) -> None:
    def reopened(db: tidelog.Database) -> tidelog.Database:
        db.close()
        return tidelog.connect(tmp_path / "store")

    db = filled(tidelog.connect(tmp_path / "store"))
    if checkpoint:
        db = reopened(db)
        assert db.stats()["store"]["checkpoint"] == 1
    db.rules.remove_instance("roads")
    db.commit()
    db = reopened(db)
    assert db.relations == ("rails.edge", "rails.reach")
    assert len(db["rails.reach"]) == 4
    db.rules.add(".init roads = Reach<node>" if same else OTHER)
    db.commit()
    db = reopened(db)
    assert len(db["roads.reach"]) == (1 if same else 0)
    db.check()
    db.close()


def test_a_store_without_room_for_a_checkpoint_forgets_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tidelog.connect(tmp_path / "store")).close()
    db = tidelog.connect(tmp_path / "store")
    assert db.stats()["store"]["checkpoint"] == 1

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(EngineImage, "write", full)
    db.rules.remove_instance("roads")
    db.commit()
    db.rules.add(OTHER)
    db.insert("roads.edge", [(5,)])
    db.commit()
    assert db.stats()["store"]["checkpoint"] == 1
    db.close()
    db = tidelog.connect(tmp_path / "store")
    assert list(db["roads.reach"]) == [(5,)]
    assert len(db["rails.reach"]) == 4
    db.close()
