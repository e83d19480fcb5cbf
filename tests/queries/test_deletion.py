"""Facts that are retracted by a pattern, or all at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tidelog

PROGRAM = """\
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl s(name: symbol, x: number)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(y, z).
"""


@pytest.fixture(params=["memory", "store"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tidelog.Database]:
    found = tidelog.connect(*([tmp_path / "db.tide"] if request.param == "store" else []))
    found.load(PROGRAM)
    found.insert("e", [(1, 2), (1, 3), (2, 2), (3, 1)])
    found.insert("s", [("ann", 1), ("bob", 2), ("ann", 3)])
    found.commit()
    yield found
    found.close()


@pytest.mark.parametrize(
    ("pattern", "values", "left"),
    [
        ("e(1, _)", {}, {(2, 2), (3, 1)}),
        ("e(1, 3).", {}, {(1, 2), (2, 2), (3, 1)}),
        ("e(x, x)", {}, {(1, 2), (1, 3), (3, 1)}),
        ("e(_, _)", {}, set()),
        ("e(x, y)", {"y": 2}, {(1, 3), (3, 1)}),
        ("e(k, k)", {"k": 2}, {(1, 2), (1, 3), (3, 1)}),
        ("e(k, k)", {"k": 3}, {(1, 2), (1, 3), (2, 2), (3, 1)}),
        ("e(7, _)", {}, {(1, 2), (1, 3), (2, 2), (3, 1)}),
    ],
)
def test_facts_that_match_are_retracted(
    db: tidelog.Database, pattern: str, values: dict[str, Any], left: set[tuple[int, int]]
) -> None:
    before = set(db["e"])
    db.delete(pattern, **values)
    assert set(db["e"]) == before
    change = db.commit()
    assert set(db["e"]) == left
    assert set(change["e"].deleted if "e" in change else ()) == before - left
    assert change.report.bootstraps == 0
    db.check()


def test_symbols_match_by_their_text(db: tidelog.Database) -> None:
    db.delete('s("nobody", _)')
    db.delete("s(who, _)", who="ann")
    db.commit()
    assert set(db["s"]) == {("bob", 2)}


def test_pending_facts_match_in_the_order_of_the_calls(db: tidelog.Database) -> None:
    db.insert("e", [(1, 9), (4, 4)])
    db.insert("s", [("new", 1)])
    db.delete("e(1, _)")
    db.delete('s("new", _)')
    db.insert("e", [(1, 3)])
    db.commit()
    assert set(db["e"]) == {(1, 3), (2, 2), (3, 1), (4, 4)}
    assert set(db["s"]) == {("ann", 1), ("bob", 2), ("ann", 3)}


def test_only_asserted_facts_of_a_view_are_retracted(db: tidelog.Database) -> None:
    db.insert("t", [(1, 100)])
    db.commit()
    db.delete("t(1, _)")
    db.commit()
    assert set(db["t"]) == {(x, y) for x in (1, 3) for y in (1, 2, 3)} | {(2, 2)}
    db.insert("t", [(1, 100), (5, 5)])
    db.clear("t")
    db.commit()
    assert (1, 100) not in db["t"]
    assert (5, 5) not in db["t"]


def test_clear_retracts_all_facts(db: tidelog.Database) -> None:
    db.insert("e", [(8, 8)])
    db.clear("e")
    db.insert("e", [(9, 9)])
    db.commit()
    assert set(db["e"]) == set(db["t"]) == {(9, 9)}


def test_transactions_and_rollback(db: tidelog.Database) -> None:
    db.delete("e(1, _)")
    db.clear("s")
    db.rollback()
    assert not db.has_pending
    with pytest.raises(tidelog.UsageError), db.transaction() as tx:  # noqa: PT012  # the block is what ends
        tx.clear("e")
        tx.clear("nobody")
    assert len(db["e"]) == 4
    with db.transaction() as tx:
        tx.delete("e(x, _)", x=1)
        tx.clear("s")
    assert set(db["e"]) == {(2, 2), (3, 1)}
    assert set(db["s"]) == set()
    for call, argument in ((tx.clear, "e"), (tx.delete, "e(1, _)")):
        with pytest.raises(tidelog.UsageError) as raised:
            call(argument)
        assert raised.value.code == "E0626"


@pytest.mark.parametrize(
    ("arguments", "values", "code"),
    [
        (("e",), {}, "E0613"),
        (("e(x, y), x > 1",), {}, "E0613"),
        (("!e(1, 2)",), {}, "E0613"),
        (("e+(1, _)",), {}, "E0613"),
        (("e(1 + 1, _)",), {}, "E0613"),
        (("zz(1)",), {}, "E0201"),
        (("e(1)",), {}, "E0208"),
        (('e("a", _)',), {}, "E0211"),
        (("e(x",), {}, "E0101"),
        (("e(x, y) :- e(y, x)",), {}, "E0607"),
        ((5,), {}, "E0635"),
        ((None,), {}, "E0635"),
        (("e(k, _)",), {"j": 1}, "E0612"),
        (("e(k, _)",), {"k": "a"}, "E0401"),
        (("e", [(1, 2)]), {"k": 1}, "E0612"),
        (("e", None), {}, "E0407"),
    ],
)
def test_wrong_patterns_change_nothing(
    db: tidelog.Database, arguments: tuple[Any, ...], values: dict[str, Any], code: str
) -> None:
    with pytest.raises(tidelog.TidelogError) as raised:
        db.delete(*arguments, **values)
    assert raised.value.code == code
    assert raised.value.problems[0].hint or code in ("E0101", "E0208", "E0211")
    assert not db.has_pending
    with pytest.raises(tidelog.UsageError):
        db.clear("zz")


def test_a_store_keeps_what_was_retracted(tmp_path: Path) -> None:
    with tidelog.connect(tmp_path / "db.tide") as db:
        db.load(PROGRAM)
        db.insert("e", [(1, 2), (1, 3), (2, 2)])
        db.commit()
        db.delete("e(1, _)")
        db.commit()
    with tidelog.connect(tmp_path / "db.tide") as db:
        assert set(db["t"]) == {(2, 2)}
        assert set(db.query("e(x, y), t(y, z)")) == {(2, 2, 2)}
