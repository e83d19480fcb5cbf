"""Calls that ended in exceptions of Python, or read other things than the last epoch."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidelog
from tidelog.errors import LimitError, ProgramError
from tidelog.io import read_facts, write_view

SELECTING = """
.decl t(x: number)
.decl z(x: number)
.decl q(x: number, y: number) eqrel
.decl d(x: number, y: number, z: number) max(x)
"""


@pytest.mark.parametrize("strategy", ["update", "bootstrap"])
@pytest.mark.parametrize(
    "rule",
    [
        "d(y, y, min(x, 3)) :- d(x, y, x), t(y), !z(_).",
        "d(y, y, x) :- d(x, y, x), !z(_).",
        "d(y, y, x) :- d(x, y, x), t(y), c = count : { z(_) }, c < 3.",
        "d(y, y, x) :- d(x, y, x), q(y, x).",
    ],
)
def test_a_limit_stops_a_selection_that_reads_all_candidates(rule: str, strategy: str) -> None:
    db = tidelog.connect()
    db.load(f"{SELECTING}k: {rule}\n")
    db.commit()
    db.options(strategy=strategy, max_rows=1)
    db.insert("d", [(2, 1, 1), (3, 2, 3), (4, 4, 4)])
    db.insert("t", [(1,), (2,)])
    with pytest.raises(LimitError):
        db.commit()
    db.options(max_rows=None)
    db.commit()
    db.check()


EMPTY = (
    ".type Q = []\n.type W = [a: Q, b: number]\n.decl n(x: number)\n.decl q(x: Q)\n.decl w(x: W)\n.decl m(x: number)\n"
)


@pytest.mark.parametrize("strategy", ["update", "bootstrap"])
@pytest.mark.parametrize(
    "rule", ["q([]) :- n(x), x > 0.", "w([[], x]) :- n(x).", "m(x) :- n(x), !q([]).", "q(y) :- n(_), y = []."]
)
def test_records_without_fields(rule: str, strategy: str, tmp_path: Path) -> None:
    db = tidelog.connect(tmp_path / "store")
    db.options(strategy=strategy)
    db.load(EMPTY + rule)
    for number in range(3):
        db.insert("n", [(2 * number,), (2 * number + 1,)])
        db.commit()
        db.check()
    derived = {"q": {((),)}, "w": {(((), i),) for i in range(6)}, "m": {(i,) for i in range(6)}}[rule[0]]
    assert set(db[rule[0]]) == derived
    db.close()
    with tidelog.connect(tmp_path / "store") as db:
        assert set(db[rule[0]]) == derived


def test_facts_with_records_without_fields_last(tmp_path: Path) -> None:
    with tidelog.connect(tmp_path / "store") as db:
        db.load(EMPTY)
        db.insert("q", [((),), (None,)])
        db.insert("w", [(((), 1),), (None,), ((None, 2),)])
        db.commit()
        db.save_certificate(tmp_path / "certificate")
        frames = [db["w"].to_arrow(), db["w"].to_pandas(), db["w"].to_polars()]
    tidelog.check_certificate(tmp_path / "certificate")
    with tidelog.connect(tmp_path / "store") as db:
        assert set(db["q"]) == {((),), (None,)}
        rows = set(db["w"])
        assert rows == {(((), 1),), (None,), ((None, 2),)}
        for frame in frames:
            db.clear("w")
            db.insert("w", frame)
            db.commit()
            assert set(db["w"]) == rows


@pytest.mark.parametrize("format", ["parquet", "arrow", "json", "sqlite", "file"])
def test_records_without_fields_in_files(format: str, tmp_path: Path) -> None:
    db = tidelog.connect()
    db.load(f'{EMPTY}w([[], 1]). w(nil). w([nil, 2]).\n.output w(IO={format}, filename="w")\n')
    db.commit()
    (directive,) = db.program.directives
    words = db["w"].words_in(db.dictionary)
    assert words is not None
    write_view(directive.options, tmp_path, db.program.relations["w"], words, db.dictionary)
    back = read_facts(directive.options, tmp_path, db.program.relations["w"], db.dictionary)
    assert set(map(tuple, back.tolist())) == set(map(tuple, words.tolist()))


def test_readers_see_the_last_epoch_while_a_removal_waits() -> None:
    db = tidelog.connect()
    db.load(".comp A<T> { .decl s(x: T) }\n.init c = A<number>\n")
    db.insert("c.s", [(1,)])
    db.commit()
    db.rules.remove_instance("c")
    assert list(db["c.s"]) == [(1,)]
    assert list(db.asserted("c.s")) == [(1,)]
    assert list(db.query("c.s(x)")) == [(1,)]
    assert list(db.query("c.s(x), y = x + 1")) == [(1, 2)]
    db.rollback()
    assert list(db["c.s"]) == [(1,)]
    db.rules.remove_instance("c")
    db.commit()
    assert "c.s" not in db
    with pytest.raises(ProgramError):
        db.query("c.s(x)")


@pytest.mark.parametrize("query", ["(y > 0; true), e(x, y)", "(y > 0; y < 0), e(x, y)", "y > 0, e(x, y)"])
def test_columns_of_a_query_stand_as_variables_first_occur(query: str) -> None:
    db = tidelog.connect()
    db.load(".decl e(x: number, y: number)\ne(1, 20).")
    db.commit()
    assert list(db.query(query)) == [(20, 1)]
