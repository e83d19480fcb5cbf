"""Functors whose results are not remembered, functors without parameters, and batches of thousands of calls."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, cast

import numpy
import pytest

import tidelog
from tests.depth import cases
from tests.sharing import sharing
from tests.suite import FIRST_SEED
from tidelog.errors import UsageError

TEXT = """
.functor next(x: number): number
.functor label(x: number): symbol
.decl e(x: number, y: number)
.decl r(x: number, y: number)
.decl t(x: number, s: symbol)
r(x, y) :- e(x, y).
r(x, z) :- r(x, y), z = @next(y), z < 40.
t(x, s) :- r(x, y), s = @label(y), !e(y, x).
"""


def following(x: int) -> int | None:
    return None if x % 7 == 3 else 2 * x + 1


def labelled(x: int) -> str:
    return f"n{x % 5}"


def following_all(x: Any) -> list[int | None]:
    return [following(each) for each in x.tolist()]


def labelled_all(x: Any) -> list[str]:
    return [labelled(each) for each in x.tolist()]


WAYS: dict[str, tuple[Callable[..., Any], Callable[..., Any], dict[str, Any]]] = {
    "rows": (following, labelled, {"compiled": False}),
    "compiled": (following, labelled, {}),
    "vectorized": (following_all, labelled_all, {"vectorized": True}),
}


def expected(facts: set[Any], turned: bool) -> dict[str, set[tuple[Any, ...]]]:
    """The views by hand; `turned` is whether the rule that turns edges is there."""
    r = facts | ({(y, z) for x, y in facts if (z := following(x)) is not None} if turned else set())
    waiting = list(r)
    while waiting:
        x, y = waiting.pop()
        z = following(y)
        if z is not None and z < 40 and (x, z) not in r:
            r.add((x, z))
            waiting.append((x, z))
    return {"r": r, "t": {(x, labelled(y)) for x, y in r if (y, x) not in facts}}


@pytest.mark.parametrize("way", WAYS)
def test_updates_call_functions_again(way: str) -> None:
    one, other, options = WAYS[way]
    for seed in range(FIRST_SEED, FIRST_SEED + cases(4)):
        rng, turned = random.Random(seed), False
        db = tidelog.connect()
        db.load(TEXT)
        db.functor("next", one, remember=False, **options)
        db.functor("label", other, remember=False, **options)
        db.insert("e", [(1, 2), (2, 6)])
        db.commit()
        db.options(strategy="update")
        for _ in range(8):
            db.insert("e", [(rng.randrange(9), rng.randrange(20)) for _ in range(4)])
            db.delete("e", [(rng.randrange(9), rng.randrange(20)), *rng.sample(sorted(db["e"]), 1)])
            if rng.random() < 0.3:
                if turned:
                    db.rules.remove("turned")
                else:
                    db.rules.add("turned: r(y, @next(x)) :- e(x, y).")
                turned = not turned
            report = db.commit().report
            assert (report.bootstraps, report.updates > 0) == (0, True)
            views = expected(set(db["e"]), turned)
            assert {name: set(db[name]) for name in views} == views, (seed, way)
        assert {each["remembered"] for each in db.stats()["functors"].values()} == {0}
        db.check()


def test_a_function_is_called_for_each_derivation() -> None:
    seen: list[int] = []

    def noted(x: int) -> int:
        seen.append(x)
        return x + 1

    db = tidelog.connect()
    db.load(".functor f(x: number): number .decl e(x: number) .decl r(x: number) r(@f(x)) :- e(x).")
    db.functor("f", noted, compiled=False, remember=False)
    db.insert("e", [(1,), (2,)])
    db.commit()
    db.options(strategy="update")
    db.delete("e", [(1,)])
    db.commit()
    assert seen == [1, 2, 1]
    assert set(db["r"]) == {(3,)}


def test_a_function_that_is_not_pure_is_found() -> None:
    count = iter(range(100))
    db = tidelog.connect()
    db.load(".functor f(x: number): number .decl e(x: number) .decl r(x: number) one: r(@f(x)) :- e(x).")
    db.functor("f", lambda x: next(count), compiled=False, remember=False)
    db.insert("e", [(1,), (2,)])
    db.commit()
    db.options(strategy="update")
    db.delete("e", [(1,)])
    with pytest.raises(UsageError) as caught:
        db.commit()
    assert caught.value.code == "E0643"
    assert "in rule one, `@f` is not pure" in str(caught.value)
    assert (set(db["e"]), set(db["r"])) == ({(1,), (2,)}, {(0,), (1,)})
    db.options(strategy="bootstrap")
    db.commit()
    assert (set(db["e"]), len(db["r"])) == ({(2,)}, 1)


def several(x: int) -> Any:
    yield x


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (several, {"remember": False}, "`f` is a generator function, which cannot have `remember=False`"),
        (several, {"vectorized": True}, "`f` is a generator function, which cannot have `vectorized`"),
        (abs, {"remember": "no"}, "`remember` of `f` must be True or False, found 'no'"),
        (abs, {"compiled": None}, "`compiled` of `f` must be True or False, found None"),
        (abs, {"vectorized": "polars"}, "`vectorized` of `f` must be True, False or \"arrow\", found 'polars'"),
        (abs, {"vectorized": 1}, '`vectorized` of `f` must be True, False or "arrow", found 1'),
    ],
)
def test_wrong_options(function: Any, options: dict[str, Any], message: str) -> None:
    db = tidelog.connect()
    with pytest.raises(UsageError) as caught:
        db.functor("f", function, **options)
    assert (caught.value.code, message in str(caught.value)) == ("E0603", True)
    db.functor("f", function)


def test_a_name_that_is_no_text() -> None:
    db, name = tidelog.connect(), cast(str, 5)
    with pytest.raises(UsageError) as functor:
        db.functor(name, abs)
    with pytest.raises(UsageError) as aggregate:
        db.aggregate(name, 0, max)
    assert (functor.value.code, aggregate.value.code) == ("E0635", "E0635")


# --- without parameters ----------------------------------------------------------------------------------------------


def nothing() -> Any:
    yield from ()


@pytest.mark.parametrize("remember", [True, False])
@pytest.mark.parametrize(
    ("function", "options", "values"),
    [
        (lambda: None, {}, set()),
        (lambda: 5, {}, {5}),
        (lambda: [None], {"vectorized": True}, set()),
        (lambda: numpy.array([7]), {"vectorized": True}, {7}),
        (nothing, {}, set()),
    ],
    ids=["none", "one", "vectorized none", "vectorized", "generator"],
)
def test_a_functor_without_parameters(function: Any, options: dict[str, Any], values: set[int], remember: bool) -> None:
    db = tidelog.connect()
    db.load(".functor f(): number .decl e(x: number) .decl r(x: number, y: number) r(x, y) :- e(x), y = @f().")
    db.functor("f", function, remember=remember or function is nothing, **options)
    db.insert("e", [(x,) for x in range(9)])
    db.commit()
    assert set(db["r"]) == {(x, y) for x in range(9) for y in values}
    db.delete("e", [(x,) for x in range(5)])
    db.commit()
    assert set(db["r"]) == {(x, y) for x in range(5, 9) for y in values}
    db.check()


# --- thousands of calls ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("remember", [True, False])
@pytest.mark.parametrize("threads", [1, 3])
def test_batches_of_thousands(threads: int, remember: bool) -> None:
    size = 20_000
    text = """
    .functor f(x: number): number
    .decl e(x: number)
    .decl r(x: number, y: number)
    .decl s(x: number)
    .decl q(x: number, y: number)
    q(x, @f(x)) :- e(x).
    r(x, x) :- e(x).
    r(x, z) :- r(x, y), z = @f(y), y > -3.
    s(x) :- r(x, _), x != 5.
    """
    db = tidelog.connect()
    db.load(text)
    db.options(threads=threads)
    db.functor("f", lambda x: numpy.where(x > 0, -1, x - 1), vectorized=True, remember=remember)
    db.insert_words("e", numpy.arange(1, size + 1, dtype=numpy.int64).reshape(-1, 1))
    with sharing(threads) as shared:
        db.commit()
        assert threads == 1 or max(shared, default=1) > 1
        assert (len(db["q"]), len(db["r"])) == (size, 4 * size)
        assert set(db["r"]) >= {(x, y) for x in (1, 5, size) for y in (x, -1, -2, -3)}
        db.options(strategy="update")
        db.delete("e", [(x,) for x in range(1, size - 9)])
        assert db.commit().report.bootstraps == 0
    assert set(db["r"]) == {(x, y) for x in range(size - 9, size + 1) for y in (x, -1, -2, -3)}
    assert set(db["s"]) == {(x,) for x in range(size - 9, size + 1)}
    assert len(db["s"]) == 10


@pytest.mark.parametrize("remember", [True, False])
def test_an_update_of_thousands_into_small_tables(remember: bool) -> None:
    db = tidelog.connect()
    db.load(".functor f(x: number): number .decl e(x: number) .decl r(x: number, y: number) r(x, @f(x)) :- e(x).")
    db.functor("f", lambda x: x + 1, vectorized=True, remember=remember)
    db.insert("e", [(-1,)])
    db.commit()
    db.options(strategy="update")
    db.insert_words("e", numpy.arange(20_000, dtype=numpy.int64).reshape(-1, 1))
    assert db.commit().report.bootstraps == 0
    assert set(db["r"]) == {(x, x + 1) for x in range(-1, 20_000)}


# --- other types -----------------------------------------------------------------------------------------------------

TWICE = """
.functor twice(x: {type}): {type}
.decl {name}_in(x: {type})
.decl {name}_out(x: {type})
{name}_out(@twice(x)) :- {name}_in(x).
"""


@pytest.mark.parametrize("compiled", [False, True])
def test_a_functor_that_is_declared_anew_with_other_types(compiled: bool) -> None:
    """Neither results nor the compiled function go over: a word of one type is another value of the other."""
    before, then = (TWICE.format(type=each, name=each) for each in ("number", "float"))
    db = tidelog.connect()
    db.functor("twice", lambda x: x + x, compiled=compiled)
    word = int(numpy.float64(1.25).view(numpy.int64))
    db.load(before)
    db.insert("number_in", [(3,), (word,)])
    db.commit()
    db.load(then, replace=before)
    db.insert("float_in", [(1.25,)])
    db.commit()
    assert set(db["float_out"]) == {(2.5,)}
    db.load(before, replace=then)
    db.insert("number_in", [(4,)])
    db.commit()
    assert set(db["number_out"]) == {(8,)}


def test_a_function_that_programs_declare_with_other_types() -> None:
    @tidelog.functor
    def twice(x: Any) -> Any:
        return x + x

    for type_, value in (("number", 3), ("float", 1.25), ("unsigned", 2**63 - 1), ("number", 4)):
        db = tidelog.connect(functors=[twice])
        db.load(TWICE.format(type=type_, name="r"))
        db.insert("r_in", [(value,)])
        db.commit()
        assert set(db["r_out"]) == {(value + value,)}
