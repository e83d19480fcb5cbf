"""`.limitsize` counts the tuples of the relation as of the end of the epoch, however they came, and no opening counts
any."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidelog
from tidelog.errors import LimitError

EDGES = ".decl e(x: number, y: number)\n"
KINDS = {
    "facts only": ".decl d(x: number, y: number)",
    "rule": ".decl d(x: number, y: number)\nd(x, y) :- e(x, y).",
    "recursion": ".decl d(x: number, y: number)\nd(x, y) :- e(x, y).\nd(x, z) :- d(x, y), d(y, z).",
    "composed": ".decl d(x: number, y: number)\nd(x, y) :- e(x, y).\nd(x, z) :- d(x, y), e(y, z), x != 7.",
    "eqrel": ".decl d(x: number, y: number) eqrel\nd(x, y) :- e(x, y).",
    "minimum": ".decl d(x: number, y: number) min(y)\nd(x, y) :- e(x, y).",
    "choice": ".decl d(x: number, y: number) choice-domain x\nd(x, y) :- e(x, y).",
    "dominance": ".decl d(x: number, y: number)\nd(x, y) :- e(x, y).\nd(x, a) <= d(x, b) :- b < a.",
}


@pytest.mark.parametrize("strategy", ["update", "bootstrap"])
@pytest.mark.parametrize("kind", KINDS)
def test_facts_and_derived_tuples_count_once(kind: str, strategy: str) -> None:
    db = tidelog.connect()
    db.options(strategy=strategy)
    db.load(f"{EDGES}{KINDS[kind]}\n.limitsize d(n=3)\n")
    db.insert("e", [(1, 1)])
    db.insert("d", [(1, 1)])
    db.commit()
    for number in (2, 3):
        db.insert("d", [(number, number)])
        db.commit()
    assert len(db["d"]) == 3
    db.insert("d", [(4, 4)])
    with pytest.raises(LimitError) as caught:
        db.commit()
    assert caught.value.code == "E0504"
    assert len(db["d"]) == 3
    db.delete("d", [(3, 3)])  # Tuples that go make room.
    db.commit()
    assert set(db["d"]) == {(1, 1), (2, 2), (4, 4)}
    db.check()


@pytest.mark.parametrize("strategy", ["update", "bootstrap"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_store_beyond_a_limit_opens_and_may_shrink(kind: str, strategy: str, tmp_path: Path) -> None:
    with tidelog.connect(tmp_path / "store") as db:
        db.load(f"{EDGES}{KINDS[kind]}\n")
        db.insert("d", [(number, number) for number in range(6)])
        db.commit()
        db.load(".limitsize d(n=2)")
        db.commit()
    with tidelog.connect(tmp_path / "store") as db:
        db.options(strategy=strategy)
        assert len(db["d"]) == 6
        db.delete("d", [(0, 0)])
        db.commit()
        db.insert("d", [(9, 9)])
        with pytest.raises(LimitError):
            db.commit()
        assert len(db["d"]) == 5


@pytest.mark.parametrize("checkpoint", [True, False])
def test_no_limit_stops_what_comes_back_without_its_views(checkpoint: bool, tmp_path: Path) -> None:
    """Without a checkpoint, opening evaluates all facts anew."""
    with tidelog.connect(tmp_path / "store") as db:
        db.load(f"{EDGES}.decl d(x: number, y: number)\nd(x, z) :- e(x, y), e(y, z).\n")
        db.insert("e", [(1, 1), (1, 2), (2, 1)])
        db.commit()
        db.load(".limitsize d(n=1)")
        db._keeper.least = 0.0 if checkpoint else 1e9  # type: ignore[union-attr]
        db.commit()
        rows = set(db["d"])
    assert len(rows) > 1
    with tidelog.connect(tmp_path / "store") as db:
        assert set(db["d"]) == rows


def test_an_endless_recursion_ends_at_the_limit() -> None:
    db = tidelog.connect()
    db.load(".decl n(x: number)\nn(x + 1) :- n(x).\n.limitsize n(n=1000)\n")
    db.commit()
    for strategy in ("bootstrap", "update"):
        db.options(strategy=strategy)
        db.insert("n", [(0,)])
        with pytest.raises(LimitError) as caught:
            db.commit()
        assert caught.value.code == "E0504"
        db.rollback()
