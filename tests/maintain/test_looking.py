"""Work that data can make long is done in parts, and limits are looked at in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tidelog
from tests.maintain.stopping import at_looks, fails_without_trace, limit
from tidelog.errors import LimitError
from tidelog.kernels.closed import neighbours
from tidelog.maintain import aggregates
from tidelog.maintain.aggregates import evaluate
from tidelog.rules.core import AggregateRule
from tidelog.storage import closure as closure_module
from tidelog.storage import ordering, rows
from tidelog.storage.catalog import Catalog
from tidelog.storage.closure import Closure
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.ordering import order_of
from tidelog.storage.stored import StoredRelation

RNG = numpy.random.default_rng(20)
COLUMNS: dict[str, list[Any]] = {
    "one": [RNG.integers(-(2**62), 2**62, 3_000)],
    "two": [RNG.integers(0, 7, 3_000), RNG.integers(0, 1_000, 3_000)],
    "heavy": [numpy.where(RNG.random(3_000) < 0.9, 5, RNG.integers(0, 9, 3_000)), RNG.integers(0, 50, 3_000)],
    "equal": [numpy.ones(3_000, numpy.int64), numpy.zeros(3_000, numpy.int32), RNG.integers(0, 2, 3_000)],
    "floats": [RNG.choice([0.5, -numpy.inf, numpy.inf, 1e300, 5e-324], 3_000), RNG.random(3_000)],
    "unsigned": [RNG.integers(2**63, 2**64 - 1, 3_000, numpy.uint64)],
    "few": [numpy.array([2, 1, 2])],
    "none": [numpy.empty(0, numpy.int64)],
}


class Looks:
    """Counts looks; raises at the one with number `last`."""

    def __init__(self, last: int = 0) -> None:
        self.count = 0
        self.last = last

    def __call__(self, *_: object) -> None:
        self.count += 1
        if self.count == self.last:
            raise limit()


@pytest.mark.parametrize("columns", COLUMNS.values(), ids=list(COLUMNS))
def test_rows_are_ordered_in_parts(columns: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = numpy.lexsort(columns[::-1])
    monkeypatch.setattr(ordering, "_AT_ONCE", 100)
    looks = Looks()
    assert order_of(columns, looks).tolist() == expected.tolist()
    assert looks.count > len(columns[0]) // 100
    for last in range(1, looks.count, 29):
        stopped = Looks(last)
        with pytest.raises(LimitError):
            order_of(columns, stopped)
        assert stopped.count == last


@pytest.mark.parametrize("op", ["count", "sum", "min", "mean", "median"])
def test_aggregates_look_while_they_sort_and_add(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    db = tidelog.connect()
    result = "number" if op in ("count", "min") else "float"
    value = "v" if op == "min" else "to_float(v)"
    target = "count" if op == "count" else f"{op} y"
    db.load(f".decl i(g: number, v: number) .decl a(g: number, x: {result})")
    db.load(f"a(g, x) :- i(g, _), x = {target} : {{ i(g, v), y = {value} }}.")
    db.commit()
    rows = [(g, v * v - 40 * g) for g in range(5) for v in range(40)]
    groups = {g: sorted(v for other, v in rows if other == g) for g in range(5)}
    folds: dict[str, Callable[[list[int]], float]] = {
        "count": len,
        "sum": sum,
        "min": min,
        "mean": lambda values: sum(values) / len(values),
        "median": lambda values: (values[19] + values[20]) / 2,
    }

    def patched(patch: pytest.MonkeyPatch, call: int) -> None:
        patch.setattr(ordering, "_AT_ONCE", 16)
        patch.setattr(aggregates, "_AT_ONCE", 8)
        at_looks(limit)(patch, call)

    def attempt() -> tidelog.Change:
        with db.transaction() as transaction:
            transaction.insert("i", rows)
        assert transaction.change is not None
        return transaction.change

    _, failures = fails_without_trace(db, attempt, patched, every=3)
    assert 3 * failures > len(rows) // 16
    assert set(db["a"]) == {(g, folds[op](values)) for g, values in groups.items()}
    more = [(g, 10_000 + v) for g in range(5) for v in range(40)]

    def again() -> tidelog.Change:
        db.insert("i", more)
        return db.commit()

    _, failures = fails_without_trace(db, again, patched, every=3)
    assert 3 * failures > (0 if op in ("count", "sum") else len(more) // 16)
    db.check()


def test_wider_words_are_written_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    db = tidelog.connect()
    db.load(".decl e(x: number, y: number) .decl t(x: number, y: number)")
    db.load("t(x, y) :- e(x, y). t(x, z) :- t(x, y), e(y, z).")
    db.insert("e", [(x, x + 1) for x in range(100)])
    db.commit()
    monkeypatch.setattr(rows, "AT_ONCE", 10)

    def attempt() -> tidelog.Change:
        db.insert("e", [(2**40, 0)])
        return db.commit()

    _, failures = fails_without_trace(db, attempt, at_looks(limit))
    assert failures > 20  # ten parts of the edges, ten of the nodes
    assert len(db["t"]) == 101 * 102 // 2
    db.check()


def test_pairs_of_a_closure_are_written_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    db = tidelog.connect()
    db.load(".decl e(x: number, y: number) .decl f(x: number, y: number) .decl t(x: number, y: number)")
    db.load("t(x, y) :- e(x, y). t(x, z) :- t(x, y), e(y, z).")
    db.insert("e", [(x, x + 1) for x in range(30)])
    db.commit()
    assert db.stats()["forms"]["t"] == "compressed"
    monkeypatch.setattr(closure_module, "_PAIRS_AT_ONCE", 20)
    rule = "three: t(x, z) :- f(x, y), t(y, z), x < z."

    def attempt() -> tidelog.Change:
        with db.transaction() as transaction:
            transaction.rules.add(rule)
        assert transaction.change is not None
        return transaction.change

    _, failures = fails_without_trace(db, attempt, at_looks(limit))
    assert failures > 465 // 40  # there are 465 pairs
    assert db.stats()["forms"]["t"] != "compressed"

    def back() -> tidelog.Change:
        with db.transaction() as transaction:
            transaction.rules.remove("three")
        assert transaction.change is not None
        return transaction.change

    fails_without_trace(db, back, at_looks(limit))
    assert len(db["t"]) == 465
    db.check()


def fan(size: int) -> Closure:
    """The closure of a path of so many nodes, all of which lead to a last one besides."""
    closure = Closure()
    closure.build([numpy.array([pair for x in range(size) for pair in ((x, x + 1), (x, 1_000))], numpy.int64)])
    return closure


def test_births_of_a_closure_are_searched_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    closure = fan(30)
    rows = closure.words(numpy.dtype(numpy.int64))
    expected = closure.lengths(rows)
    assert expected.tolist() == [1 if y == 1_000 else y - x for x, y in rows.tolist()]
    monkeypatch.setattr(closure_module, "_AT_ONCE", 10)
    looks = Looks()
    assert closure.lengths(rows, looks).tolist() == expected.tolist()
    assert looks.count > 25
    with pytest.raises(LimitError):
        closure.lengths(rows, Looks(3))
    assert closure.lengths(rows).tolist() == expected.tolist()


def test_births_are_searched_under_the_limits_of_a_check(monkeypatch: pytest.MonkeyPatch) -> None:
    db = tidelog.connect()
    db.load(".decl e(x: number, y: number) .decl t(x: number, y: number)")
    db.load("t(x, y) :- e(x, y). t(x, z) :- t(x, y), e(y, z).")
    db.insert("e", [(x, x + 1) for x in range(30)])
    db.commit()
    looks = Looks()
    births = db.engine.births("t", looks)
    monkeypatch.setattr(closure_module, "_AT_ONCE", 0)
    before, looks.count = looks.count, 0
    assert db.engine.births("t", looks).tolist() == births.tolist()
    assert looks.count > 20 * before


def test_pairs_are_counted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    closure = fan(30)
    monkeypatch.setattr(closure_module, "_AT_ONCE", 2)
    looks = Looks()
    counts = closure._counts(looks)
    assert counts.sum() == len(closure) == 30 * 31 // 2 + 30
    assert looks.count > 20
    fresh = Closure()
    with pytest.raises(LimitError):
        fresh.build([numpy.array([(x, x + 1) for x in range(30)], numpy.int64)], Looks(36))


def test_a_search_against_the_edges_comes_back_in_between() -> None:
    """It goes on where it stopped, and finds the same."""
    closure = fan(300)
    address = closure.publish()
    word_of = closure.words_of_nodes().tolist()
    last = word_of.index(1_000)

    def before(most: int) -> tuple[set[int], list[int]]:
        """The words of the nodes before the last one, and the steps that each call took."""
        found = numpy.empty(max(most, 1), numpy.int64)
        nodes: set[int] = set()
        j = k = 0
        steps = []
        while j >= 0:
            n, j, k, searched = neighbours(address, last, True, j, k, most, found.ctypes.data)
            nodes |= {word_of[node] for node in found[:n].tolist()}
            steps.append(searched)
        return nodes, steps

    in_parts, steps = before(1)
    assert in_parts == set(range(300))
    assert max(steps) <= 64 + 302
    assert sum(step > 0 for step in steps) > 2
    assert steps.count(0) > 250  # what has been found is not searched again
    closure.publish()
    assert before(100_000)[0] == in_parts


def test_evaluate_is_the_same_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of floats are exact, whatever the parts are that they are added in."""
    values = RNG.choice([1e308, -1e308, 0.1, 1e16, -1e16, 3.0, 5e-324], 2_000)
    groups = RNG.integers(0, 3, 2_000)
    inner, outer = (StoredRelation(Catalog(64), arity) for arity in (3, 1))
    inner.insert(numpy.stack([groups, values.view(numpy.int64), numpy.arange(2_000)], axis=1))
    outer.insert(numpy.arange(3).reshape(-1, 1))
    rule = AggregateRule("r", "r", "head", "sum", "float", 1, "inner", "outer")
    expected = evaluate(rule, outer, inner, Dictionary({}), Looks())
    monkeypatch.setattr(aggregates, "_AT_ONCE", 50)
    monkeypatch.setattr(ordering, "_AT_ONCE", 50)
    looks = Looks()
    assert evaluate(rule, outer, inner, Dictionary({}), looks).tolist() == expected.tolist()
    assert looks.count > 2 * 2_000 // 50
