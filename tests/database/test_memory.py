"""A call for which there is not enough memory, wherever that shows, is E0503 and changes nothing."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import numpy
import pandas
import polars
import pyarrow as pa
import pytest

import tidelog
from tests.allocations import Budget
from tests.memory_stories import fingerprint, right
from tidelog.errors import LimitError

PROGRAM = """
.type Pair = [a: symbol, b: number]
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl label(s: symbol, f: float)
.decl pair(p: Pair)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(y, z).
pair([s, 1]) :- label(s, _).
"""
EDGES = [(x, x + 1) for x in range(40)]
LABELS = [(f"name{x}", x / 4) for x in range(400)]
MORE = {"s": [f"other{x}" for x in range(300)], "f": [x / 2 for x in range(300)]}
RULE = ".decl odd(x: number) odd(x) :- e(x, y), y % 2 = 1. odd(-1)."


def made() -> tidelog.Database:
    db = tidelog.connect()
    db.load(PROGRAM)
    db.insert("e", EDGES)
    db.insert("label", LABELS)
    db.commit()
    return db


def without_memory(error: LimitError) -> bool:
    """Return True if this is the error for exhausted memory; raise any other."""
    if error.code != "E0503":
        raise error
    return True


def shown(result: object) -> object:
    """A result as something that can be compared."""
    if isinstance(result, (pa.Table, pandas.DataFrame)):
        return result.to_pydict() if isinstance(result, pa.Table) else result.to_dict("list")
    return result.tolist() if isinstance(result, numpy.ndarray) else result


def fails_everywhere(call: Callable[[], object], step: int = 1) -> int:
    """Let every `step`-th request of a call fail; each is E0503, or the call could do without. How many were E0503."""
    expected, failures, last = shown(call()), 0, 1
    while True:
        with Budget(last) as budget:
            try:
                found = call()
            except LimitError as error:
                failures += without_memory(error)
                found = None
        assert found is None or shown(found) == expected
        if not budget.failed:
            return failures
        last += step


READS: dict[str, Callable[[tidelog.Database], object]] = {
    "list": lambda db: sorted(db["t"]),
    "a list of symbols": lambda db: sorted(db["label"]),
    "a list of records": lambda db: sorted(db["pair"]),
    "in": lambda db: ((0, 40) in db["t"], ("name1", 0.25) in db["label"], (("name1", 1),) in db["pair"]),
    "len": lambda db: (len(db["t"]), len(db["pair"])),
    "words": lambda db: db["t"].words(),
    "fixed": lambda db: sorted(db["t"].copy()),
    "repr": lambda db: (repr(db["pair"]), db["t"]._repr_html_()),
    "to_arrow": lambda db: db["label"].to_arrow(),
    "records to_arrow": lambda db: db["pair"].to_arrow(),
    "a closure to_arrow": lambda db: db["t"].to_arrow(),
    "to_pandas": lambda db: db["label"].to_pandas(),
    "records to_pandas": lambda db: db["pair"].to_pandas(),
    "query": lambda db: sorted(db.query('label("name1", F)')),
    "query of a closure": lambda db: sorted(db.query("t(3, Y)")),
    "query of a path": lambda db: sorted(db.query("<e/e/e>(1, Y)")),
    "births": lambda db: sorted(db.births("label").items()),
    "stats": lambda db: db.stats()["relations"],
    "check": lambda db: db.check(),
}


@pytest.mark.parametrize("name", READS)
def test_a_read_without_memory(name: str) -> None:
    db = made()
    before = fingerprint(db)
    fails_everywhere(lambda: READS[name](db), step=17 if name in ("check", "query of a path") else 1)
    assert fingerprint(db) == before
    db.insert("e", [(40, 41)])
    assert len(db.commit()["t"].inserted) == 41


def test_reads_fail_at_all() -> None:
    db = made()
    assert fails_everywhere(lambda: sorted(db["t"])) > 5
    assert fails_everywhere(db["label"].to_arrow) > 5
    assert fails_everywhere(db["label"].to_pandas) > 5


def test_a_change_without_memory() -> None:
    db = made()
    db.insert("e", [(40, 41)])
    change = db.commit()
    assert fails_everywhere(lambda: sorted(change["t"].inserted)) >= 2


INPUTS: dict[str, Callable[[], object]] = {
    "tuples": lambda: list(zip(*MORE.values(), strict=True)),
    "dicts": lambda: [{"s": s, "f": f} for s, f in zip(*MORE.values(), strict=True)],
    "Arrow": lambda: pa.table(MORE),
    "Arrow's stream": lambda: pa.RecordBatchReader.from_batches(
        pa.table(MORE).schema, pa.table(MORE).to_batches(max_chunksize=100)
    ),
    "pandas": lambda: pandas.DataFrame(MORE),
    "pandas, objects": lambda: pandas.DataFrame(MORE, dtype=object),
    "Polars": lambda: polars.DataFrame(MORE),
}


@pytest.mark.parametrize("name", INPUTS)
def test_facts_that_come_in_without_memory(name: str) -> None:
    db = made()
    before, last, failures = fingerprint(db), 1, 0
    while True:
        data = INPUTS[name]()
        with Budget(last) as budget:
            try:
                db.insert("label", data)
            except LimitError as error:
                failures += without_memory(error)
                assert not db.has_pending
            else:
                db.rollback()
        assert fingerprint(db) == before
        if not budget.failed:
            break
        last += 3
    assert failures > 1
    db.insert("label", INPUTS[name]())
    db.commit()
    assert set(db["label"]) == {*LABELS, *zip(*MORE.values(), strict=True)}
    right(db)


def test_numbers_that_come_in_without_memory() -> None:
    db, rows = made(), numpy.array([(x, 2 * x) for x in range(500)])
    for data in (
        rows,
        pa.table({"x": rows[:, 0], "y": rows[:, 1]}),
        pandas.DataFrame({"x": rows[:, 0], "y": rows[:, 1]}),
    ):

        def insert(data: object = data) -> None:
            db.insert("e", data)
            db.rollback()

        assert fails_everywhere(insert) >= 1
    right(db)


def test_a_program_without_memory() -> None:
    db = made()
    last, before = 1, fingerprint(db)
    while True:
        with Budget(last) as budget:
            try:
                db.load(RULE)
            except LimitError as error:
                without_memory(error)
                assert not db.has_pending
                assert "odd" not in db
        if not budget.failed:
            break
        db.rollback()
        assert fingerprint(db) == before
        last += 1
    db.commit()
    assert set(db["odd"]) == {(-1,), *((x,) for x in range(0, 40, 2))}
    right(db)


def test_handlers_of_arrow_let_a_lack_of_memory_through() -> None:
    """Arrow's MemoryError is an ArrowException: who takes that for wrong data looks for the other first."""
    source = Path(tidelog.__file__).parent
    handlers = 0
    texts = {path: path.read_text() for path in source.rglob("*.py")}
    for path, text in texts.items():
        for node in ast.walk(ast.parse(text)) if "ArrowException" in text else ():
            if isinstance(node, ast.Try):
                caught = [ast.unparse(handler.type) if handler.type else "" for handler in node.handlers]
                for number, what in enumerate(caught):
                    if "ArrowException" in what:
                        handlers += 1
                        assert "MemoryError" in caught[:number], f"{path.name}, line {node.lineno}"
    assert handlers >= 7
