"""Functors in Python: what they give, what is remembered, and what they must not do."""

from __future__ import annotations

import itertools
import math
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pyarrow as pa
import pytest

import tidelog
from tests.depth import cases
from tests.suite import FIRST_SEED
from tidelog.errors import CertificateRejected, LimitError, UsageError
from tidelog.reference.naive import evaluate

TEXT = """
.functor scaled(x: number, by: number): number
.functor half(float): float
.functor label(x: number, s: symbol): symbol
.functor words(s: symbol): symbol stateful
.functor top(): unsigned
.type Pair = [a: number, s: symbol]
.functor pair(a: number, s: symbol): Pair
.functor unused(number, symbol): symbol
.decl e(x: number)
.decl r(x: number, y: number)
.decl h(y: float)
.decl t(s: symbol)
.decl w(s: symbol)
.decl u(x: unsigned)
.decl p(p: Pair)
r(x, @scaled(x, 3)) :- e(x).
r(x, y) :- r(_, x), x > 0, x < 50, y = @scaled(x, 2).
h(@half(itof(x))) :- e(x).
t(@label(x, "é")) :- e(x).
w(y) :- t(s), y = @words(s).
u(@top()).
u(to_unsigned(x)) :- e(x), to_unsigned(x) = @top().
p(@pair(x, "s")) :- e(x), x > 1.
"""


def words(text: str) -> Iterator[str | None]:
    yield from text
    yield None
    yield text[:1]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "scaled": lambda x, by: x * by,
    "half": lambda x: math.nan if x < 0 else x / 2,
    "label": lambda x, s: None if x == 2 else f"{s}{x}",
    "words": words,
    "top": lambda: 2**64 - 1,
    "pair": lambda a, s: (a, s * a),
}


def database(functions: dict[str, Callable[..., Any]] = FUNCTIONS) -> tidelog.Database:
    db = tidelog.connect(functors=functions)
    db.load(TEXT)
    db.insert("e", [(1,), (2,), (-3,)])
    return db


def test_values() -> None:
    db = database()
    db.commit()
    chain = {(x, 2 * x) for x in (3, 6, 12, 24, 48)}
    assert set(db["r"]) == {(1, 3), (2, 6), (-3, -9), *chain}
    assert set(db["h"]) == {(0.5,), (1.0,)}
    assert set(db["t"]) == {("é1",), ("é-3",)}
    assert set(db["w"]) == {("é",), ("1",), ("-",), ("3",)}
    assert set(db["u"]) == {(2**64 - 1,)}
    assert set(db["p"]) == {((2, "ss"),)}
    db.check()


def test_changes_are_followed() -> None:
    db = database()
    db.commit()
    db.options(strategy="update")
    heard: list[Any] = []
    db.subscribe("t", heard.append)
    db.insert("e", [(5,)])
    db.delete("e", [(1,)])
    report = db.commit().report
    assert (report.bootstraps, report.updates > 3) == (0, True)
    assert set(heard[0].inserted) == {("é5",)}
    assert set(heard[0].deleted) == {("é1",)}
    assert set(db["w"]) == {("é",), ("5",), ("-",), ("3",)}
    db.rules.add('t(s) :- e(x), s = @label(x + 100, "ü").')
    db.commit()
    assert ("ü105",) in set(db["t"])
    db.check()


def test_queries_call_functors() -> None:
    db = database()
    db.commit()
    assert set(db.query("e(x), y = @scaled(x, 10), y > 0")) == {(1, 10), (2, 20)}


def test_without_maintenance() -> None:
    db = database()
    db.options(maintain=False)
    db.commit()
    db.delete("e", [(1,)])
    db.commit()
    assert set(db["t"]) == {("é-3",)}


# --- remembered results ----------------------------------------------------------------------------------------------

RANDOM = """
.functor any_of(x: number): number
.functor some(x: number): symbol
.decl e(x: number)
.decl a(x: number, y: number)
.decl b(x: number, y: number)
.decl c(s: symbol)
a(x, @any_of(x)) :- e(x).
b(x, y) :- a(x, y).
b(x, z) :- b(x, y), z = @any_of(y + 1000), z < 12.
c(s) :- a(_, y), s = @some(y).
"""


FAILING = -1


class Fickle:
    """Functions that give another value at each call, and the values that they gave first."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.first: dict[int, int | None] = {}
        self.several: dict[int, list[str]] = {}
        self.calls = 0

    def any_of(self, x: int) -> int | None:
        self.calls += 1
        if x == FAILING:
            raise ValueError
        value = self.rng.choice([None, *range(20)])
        return self.first.setdefault(x, value) if x not in self.first else value

    def some(self, x: int) -> Iterator[str]:
        values = [f"{self.rng.randrange(9)}" for _ in range(self.rng.randrange(4))]
        self.several.setdefault(x, values)
        yield from values

    def views(self, facts: set[int], rules: bool) -> dict[str, set[tuple[Any, ...]]]:
        a = {(x, self.first[x]) for x in facts if self.first[x] is not None} if rules else set()
        b, waiting = set(a), list(a)
        while waiting:
            x, y = waiting.pop()
            z = self.first[y + 1000] if y is not None else None
            if z is not None and z < 12 and (x, z) not in b:
                b.add((x, z))
                waiting.append((x, z))
        return {"a": a, "b": b, "c": {(s,) for _, y in a if y is not None for s in self.several[y]}}


@pytest.mark.parametrize("strategy", ["update", "auto", "bootstrap"])
def test_deletions_charge_what_insertions_derived_where_a_function_misbehaves(strategy: str, tmp_path: Path) -> None:
    updates = 0
    for seed in range(FIRST_SEED, FIRST_SEED + cases(8)):
        fickle, rng, facts, rules = Fickle(seed), random.Random(seed), set[int](), True
        functions = {"any_of": fickle.any_of, "some": fickle.some}
        db = tidelog.connect(tmp_path / f"{strategy}{seed}", functors=functions)
        db.load(RANDOM)
        db.insert("e", [(0,)])
        db.commit()
        facts.add(0)
        db.options(strategy=strategy)
        for number in range(14):
            came, went = ({rng.randrange(12) for _ in range(rng.randrange(4))} for _ in range(2))
            if rules and rng.random() < 0.2:  # an epoch that is taken back leaves nothing
                before = dict(fickle.first), dict(fickle.several)
                db.insert("e", [(x,) for x in (*came, rng.randrange(100, 999), FAILING)])
                with pytest.raises(UsageError):
                    db.commit()
                db.rollback()
                fickle.first, fickle.several = before
                continue
            db.insert("e", [(x,) for x in came])
            db.delete("e", [(x,) for x in went])
            if rng.random() < 0.2:
                if rules:
                    db.rules.remove("r1")
                else:
                    db.rules.add("r1: a(x, @any_of(x)) :- e(x).")
                rules = not rules
            updates += db.commit().report.updates
            facts = (facts | came) - went
            expected = fickle.views(facts, rules)
            assert {name: set(db[name]) for name in expected} == expected, (seed, number)
            if rng.random() < 0.2:
                db.keeper.write_checkpoint(db.engine)
                db.close()
                db = tidelog.connect(tmp_path / f"{strategy}{seed}", functors=functions)
                db.options(strategy=strategy)
        db.delete("e", [(x,) for x in facts])
        db.commit()
        assert not any(len(db[name]) for name in "abc")
        db.close()
    assert updates > cases(60) or strategy == "bootstrap"


def test_a_function_is_called_once_for_the_same_arguments() -> None:
    fickle = Fickle(1)
    db = tidelog.connect(functors={"any_of": fickle.any_of, "some": fickle.some})
    db.load(RANDOM)
    for _ in range(3):
        db.insert("e", [(1,), (2,)])
        db.commit()
        calls = fickle.calls
        db.delete("e", [(1,), (2,)])
        db.commit()
        assert fickle.calls == calls
    stats = db.stats()["functors"]["any_of"]
    assert (stats["way"], stats["remembered"]) == ("rows", calls)
    db.load(".decl other(x: number)")
    for name in list(db.rules):
        db.rules.remove(name)
    db.commit()
    assert "functors" not in db.stats()


def test_an_epoch_taken_back_forgets_its_results() -> None:
    seen: list[int] = []

    def fails(x: int) -> int:
        seen.append(x)
        if x == 9:
            raise ValueError("nine")
        return len(seen)

    db = tidelog.connect(functors={"f": fails})
    db.load(".functor f(number): number .decl e(x: number) .decl r(x: number, y: number) r(x, @f(x)) :- e(x).")
    db.insert("e", [(1,)])
    db.commit()
    with pytest.raises(UsageError), db.transaction() as transaction:
        transaction.insert("e", [(2,), (9,)])
    db.insert("e", [(2,)])
    db.commit()
    assert set(db["r"]) == {(1, 1), (2, len(seen))}
    assert seen[0] == 1
    assert seen[-1] == 2


# --- ways to call ----------------------------------------------------------------------------------------------------

NUMERIC = """
.functor f(x: number, y: float, z: unsigned): float
.decl e(x: number, y: float, z: unsigned)
.decl r(x: number, y: float, z: unsigned, v: float)
r(x, y, z, @f(x, y, z)) :- e(x, y, z).
"""


def plain(x: int, y: float, z: int) -> float:
    return x * y + z if y < 3 else math.nan


def masked(x: Any, y: Any, z: Any) -> Any:
    return numpy.where(y < 3, x * y + z, numpy.nan)


def arrow(x: pa.Array, y: pa.Array, z: pa.Array) -> pa.Array:
    rows = zip(x.to_pylist(), y.to_pylist(), z.to_pylist(), strict=True)
    return pa.array([None if math.isnan(value := plain(*row)) else value for row in rows])


@pytest.mark.parametrize(
    ("function", "options", "way"),
    [
        (plain, {}, "compiled"),
        (plain, {"compiled": False}, "rows"),
        (masked, {"vectorized": True}, "vectorized"),
        (arrow, {"vectorized": "arrow"}, "vectorized"),
    ],
)
def test_ways_to_call_are_the_same(function: Any, options: dict[str, Any], way: str) -> None:
    rng = random.Random(FIRST_SEED)
    rows = [(rng.randrange(-9, 9), rng.choice([0.5, 2.0, 4.0]), rng.choice([1, 2**63])) for _ in range(1_200)]
    db = tidelog.connect()
    db.load(NUMERIC)
    db.functor("f", function, **options)
    db.insert("e", rows)
    db.commit()
    assert set(db["r"]) == {(*row, plain(*row)) for row in rows if row[1] < 3}
    assert db.stats()["functors"]["f"]["way"] == way
    db.delete("e", rows[:600])
    db.commit()
    assert set(db["r"]) == {(*row, plain(*row)) for row in set(rows) - set(rows[:600]) if row[1] < 3}
    db.check()


def test_vectorized_symbols() -> None:
    db = tidelog.connect()
    db.load(".functor f(s: symbol): symbol .decl e(s: symbol) .decl r(s: symbol) r(@f(s)) :- e(s).")
    db.functor("f", lambda texts: [None if text == "b" else text.upper() for text in texts], vectorized=True)
    db.insert("e", [("a",), ("b",), ("c",)])
    db.commit()
    assert set(db["r"]) == {("A",), ("C",)}


def test_what_numba_cannot_compile_is_called_row_by_row() -> None:
    db = tidelog.connect(functors={"f": lambda x: int(str(x)[::-1]) if x >= 0 else 2.5})
    db.load(".functor f(x: number): number .decl e(x: number) .decl r(x: number) r(@f(x)) :- e(x).")
    db.insert("e", [(12,)])
    db.commit()
    assert set(db["r"]) == {(21,)}
    assert db.stats()["functors"]["f"]["way"] == "rows"


# --- against the reference -------------------------------------------------------------------------------------------


def test_views_are_those_of_the_reference() -> None:
    rng = random.Random(FIRST_SEED)
    for _ in range(cases(4)):
        db = database()
        db.commit()
        db.options(strategy="update")
        for _ in range(4):
            db.insert("e", [(rng.randrange(-4, 9),) for _ in range(3)])
            db.delete("e", [(rng.randrange(-4, 9),) for _ in range(3)])
            assert db.commit().report.bootstraps == 0
        facts = {"e": set(db["e"])}
        expected = evaluate(db.program, facts)
        assert {name: set(db[name]) for name in db.relations} == {name: set(expected[name]) for name in db.relations}


# --- certificates ----------------------------------------------------------------------------------------------------


def test_a_verdict_names_the_trusted_functions(tmp_path: Path) -> None:
    db = database()
    db.commit()
    db.save_certificate(tmp_path / "c")
    verdict = tidelog.check_certificate(tmp_path / "c", functors=FUNCTIONS)
    assert set(verdict.trusted) == set(FUNCTIONS)
    with pytest.raises(UsageError) as caught:
        tidelog.check_certificate(tmp_path / "c")
    assert caught.value.code == "E0645"
    for name, other in {"label": lambda x, s: s, "words": lambda s: None, "top": lambda: 1}.items():
        with pytest.raises(CertificateRejected):
            tidelog.check_certificate(tmp_path / "c", functors={**FUNCTIONS, name: other})


# --- what is wrong ---------------------------------------------------------------------------------------------------

WRONG = ".functor f(x: number): {} .decl e(x: number) .decl r(x: {}) rule: r(@f(x)) :- e(x)."


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("number", "a"),
        ("number", 2**63),
        ("number", 1.0),
        ("unsigned", -1),
        ("float", "1"),
        ("symbol", 1),
        ("symbol", b"a"),
        ("symbol", "\ud800"),
        ("number", [1]),
        ("number", (1, 2)),
    ],
)
def test_a_value_that_does_not_fit(kind: str, value: Any) -> None:
    db = tidelog.connect(functors={"f": lambda x: value})
    db.load(WRONG.format(kind, kind))
    db.insert("e", [(7,)])
    with pytest.raises(UsageError) as caught:
        db.commit()
    assert caught.value.code == "E0648"
    assert "in rule rule, `@f(7)` returned" in str(caught.value)
    assert not len(db["r"])
    db.rollback()
    db.commit()


def test_what_a_function_raises_has_its_cause() -> None:
    def fails(x: int) -> int:
        return 1 // (x - 2)

    db = tidelog.connect(functors={"f": fails})
    db.load(WRONG.format("number", "number"))
    db.insert("e", [(1,)])
    db.commit()
    with pytest.raises(UsageError) as caught, db.transaction() as transaction:
        transaction.insert("e", [(2,), (3,)])
    assert caught.value.code == "E0647"
    assert "in rule rule, `@f(2)` raised ZeroDivisionError" in str(caught.value)
    assert "test_functors.py" in str(caught.value)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert (set(db["r"]), set(db["e"])) == ({(-1,)}, {(1,)})


class Ending(BaseException):
    """An exception that only ends a process or a task."""


@pytest.mark.parametrize("ending", [SystemExit(3), SystemExit(), GeneratorExit(), Ending("now")], ids=repr)
@pytest.mark.parametrize("way", ["scalar", "generator", "vectorized"])
def test_a_function_cannot_end_the_process(ending: BaseException, way: str) -> None:
    ends = [False]

    def plain(x: Any) -> Any:
        if ends[0]:
            raise ending
        return x

    def generating(x: int) -> Iterator[int]:
        yield x
        yield plain(x)

    db = tidelog.connect()
    db.load(WRONG.format("number", "number"))
    db.functor("f", generating if way == "generator" else plain, vectorized=way == "vectorized")
    db.insert("e", [(1,)])
    db.commit()
    ends[0] = True
    db.insert("e", [(2,)])
    with pytest.raises(UsageError) as caught:
        db.commit()
    assert caught.value.code == "E0647"
    assert f"raised {type(ending).__name__}" in str(caught.value)
    assert "in rule rule, `@f(" in str(caught.value)
    assert caught.value.__cause__ is ending
    assert (set(db["r"]), set(db["e"])) == ({(1,)}, {(1,)})
    ends[0] = False
    db.commit()
    assert set(db["r"]) == {(1,), (2,)}


def test_a_vectorized_function_that_gives_too_few_values() -> None:
    db = tidelog.connect()
    db.load(WRONG.format("number", "number"))
    db.functor("f", lambda xs: xs[1:], vectorized=True)
    db.insert("e", [(1,), (2,)])
    with pytest.raises(UsageError) as caught:
        db.commit()
    assert caught.value.code == "E0648"


def test_a_functor_without_a_function_changes_nothing() -> None:
    db = tidelog.connect()
    db.load(".decl e(x: number) .decl r(x: number) r(x) :- e(x). e(1).")
    db.commit()
    db.load(".functor f(x: number): number r(@f(x)) :- e(x).")
    with pytest.raises(UsageError) as caught:
        db.commit()
    assert caught.value.code == "E0645"
    assert set(db["r"]) == {(1,)}
    db.functor("f", lambda x: x + 1)
    db.commit()
    assert set(db["r"]) == {(1,), (2,)}


def test_functions_given_twice_or_with_other_types() -> None:
    db = database()
    for name, function, code in (
        ("scaled", FUNCTIONS["scaled"], "E0646"),
        ("unused", 5, "E0609"),
        ("unused", tidelog.functor("number -> symbol")(lambda x: ""), "E0646"),
    ):
        with pytest.raises(UsageError) as caught:
            db.functor(name, function)  # type: ignore[arg-type]  # wrong on purpose
        assert caught.value.code == code
    db.functor("unused", tidelog.functor("number,symbol->symbol")(lambda x, s: s))
    early = tidelog.connect()
    early.functor("f", tidelog.functor("number -> symbol")(lambda x: ""))
    early.load(WRONG.format("number", "number"))
    with pytest.raises(UsageError) as caught:
        early.commit()
    assert caught.value.code == "E0646"


def test_limits_stop_calls() -> None:
    def slow(x: int) -> int:
        time.sleep(0.001)
        return x

    db = tidelog.connect(functors={"f": slow})
    db.load(WRONG.format("number", "number"))
    db.options(timeout=0.05)
    db.insert("e", [(x,) for x in range(5_000)])
    with pytest.raises(LimitError):
        db.commit()
    assert not len(db["r"])


class Slow:
    """A function that notes its calls, of which each takes longer than the limit of `limited`, while it is `slow`."""

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.slow = True

    def __call__(self, x: int) -> int:
        self.calls.append(x)
        if self.slow:
            time.sleep(0.35)
        return x


def limited(function: Callable[..., Any]) -> tidelog.Database:
    db = tidelog.connect(functors={"f": function})
    db.load(WRONG.format("number", "number"))
    db.options(timeout=0.3)
    db.insert("e", [(x,) for x in range(9)])
    return db


def test_a_limit_ends_slow_calls_behind_the_first() -> None:
    slow = Slow()
    db = limited(slow)
    with pytest.raises(LimitError):
        db.commit()
    assert len(slow.calls) <= 1
    slow.slow = False
    db.options(timeout=None)
    db.commit()
    assert len(db["r"]) == 9


def test_ctrl_c_ends_slow_calls_behind_the_one_in_which_it_comes() -> None:
    slow = Slow()

    def interrupted(x: int) -> int:
        if len(slow.calls) == 2 and slow.slow:
            signal.raise_signal(signal.SIGINT)
        return slow(x)

    db = limited(interrupted)
    db.options(timeout=None)
    with pytest.raises(KeyboardInterrupt):
        db.commit()
    assert len(slow.calls) == 3
    assert not len(db["r"])
    slow.slow = False
    db.commit()
    assert len(db["r"]) == 9


def test_a_limit_ends_a_generator_without_end() -> None:
    def endless(x: int) -> Iterator[int]:
        yield from itertools.count(x)

    db = limited(endless)
    with pytest.raises(LimitError):
        db.commit()
    assert not len(db["r"])


# --- stores ----------------------------------------------------------------------------------------------------------


def test_a_store_needs_its_functions_before_it_uses_them(tmp_path: Path) -> None:
    db = tidelog.connect(tmp_path / "s", functors=FUNCTIONS)
    db.load(TEXT)
    db.insert("e", [(1,)])
    db.commit()
    db.keeper.write_checkpoint(db.engine)
    db.close()
    with tidelog.connect(tmp_path / "s") as db:
        assert set(db["t"]) == {("é1",)}
        db.insert("e", [(4,)])
        with pytest.raises(UsageError) as caught:
            db.commit()
        assert caught.value.code == "E0645"
        db.import_functions(FUNCTIONS)
        db.commit()
        assert set(db["t"]) == {("é1",), ("é4",)}


def test_a_functor_cannot_have_the_name_of_a_built_in_one() -> None:
    with pytest.raises(tidelog.ProgramError) as caught:
        tidelog.connect().load(".functor cat(symbol): symbol")
    assert caught.value.code == "E0101"
    db = tidelog.connect(functors={"lower": lambda text: "mine"})
    db.load('.functor lower(symbol): symbol .decl r(s: symbol) r(@lower("A")). r(lower("B")).')
    db.commit()
    assert set(db["r"]) == {("mine",), ("b",)}
