"""Functors in Python on partitions in this process: the views of the embedded engine, and exact deletions."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest

import tidelog
from tests import functions
from tests.depth import cases
from tests.generate import Row
from tests.scripts import Script, scripted
from tests.spark.cluster.harness import LIMITS, NOTHING_EVERYWHERE, SKEWED, Cluster, followed
from tests.spark.cluster.test_faults import Forgetful
from tests.suite import FIRST_SEED
from tidelog.errors import UsageError
from tidelog.functions.callables import GivenFunctions
from tidelog.language.syntax import FunctorType
from tidelog.maintain import user_aggregates
from tidelog.spark.cluster.exchange import wire
from tidelog.spark.cluster.placement.place import PlacementLimits
from tidelog.spark.cluster.processes.executors import LocalExecutors

DECLARATIONS = """
.type Pair = [x: number, text: symbol]
.functor scaled(x: number, by: number): number
.functor doubled(x: number): number
.functor label(x: number, text: symbol): symbol
.functor letters(text: symbol): symbol
.functor divisors(x: number): number
.functor pair(x: number, text: symbol): Pair
.functor first(p: Pair): number
.functor plus(state: number, x: number): number
.aggregate total(x: number): number
.aggregate mean_by(x: number, weight: number): float
.aggregate joined(text: symbol): symbol
.aggregate last(text: symbol): symbol
.aggregate firsts(p: Pair): number
.decl m(x: number, y: float)
.decl e(x: number, y: number)
.decl f(x: number, y: number)
.decl n(x: number)
.decl t(x: number, y: number)
.decl s(text: symbol)
.decl p(p: Pair)
.decl u(x: number, y: number)
.decl l(x: number, text: symbol)
"""
RULES = (
    "t(x, y) :- e(x, y), @scaled(x, 2) < 9.",
    "t(x, @doubled(x)) :- e(x, _).",
    "t(@scaled(x, y), y) :- e(x, y), f(y, _).",
    "t(x, z) :- t(x, y), e(y, z), @doubled(y) != z.",
    "t(y, z) :- t(x, y), z = @scaled(y, 2), z < 20.",
    "t(x, y) :- n(x), y = @divisors(x).",
    "t(y, x) :- f(x, z), y = @divisors(z), n(y).",
    's(@label(x, "é")) :- n(x).',
    "s(y) :- s(x), y = @letters(x).",
    "s(@label(x, y)) :- s(y), n(x), strlen(y) < 3.",
    "p(@pair(x, y)) :- e(x, _), s(y), strlen(y) < 2.",
    'p([x, y]) :- p([x, _]), y = @label(x, "p").',
    "u(x, y) :- p(q), x = @first(q), e(x, y).",
    "u(x, c) :- n(x), c = count : { t(_, y), @doubled(y) > x }.",
    "u(x, m) :- m = max y : { t(_, z), y = @scaled(z, 3) }, n(x).",
    "u(x, y) :- n(x), n(y), !t(@doubled(x), y).",
    "u(x, z) :- u(x, y), f(y, z), z >= @scaled(1, y).",
    "u(x, y) :- n(x), y = total z : { t(x, z) }.",
    "u(x, y) :- n(x), y = total z : { e(_, z), z > 1 }.",
    "m(x, y) :- n(x), y = mean_by(z, w) : { e(x, z), f(z, w) }.",
    "l(x, y) :- n(x), y = last z : { s(z), strlen(z) > x }.",
    "s(y) :- e(x, _), y = joined z : { e(x, w), z = to_string(w) }.",
    "u(x, y) :- n(x), y = firsts p : { p(p), e(x, _) }.",
    "u(x, y) :- n(x), y = @@plus z : 1, { f(x, z) }.",
)


def script_for(seed: int) -> Script:
    rng = random.Random(f"functors {seed}")
    rules = rng.sample(RULES, rng.randint(6, len(RULES)))
    pool: dict[str, list[Row]] = {
        "e": [(rng.randrange(5), rng.randrange(5)) for _ in range(8)],
        "f": [(rng.randrange(5), rng.randrange(7)) for _ in range(6)],
        "n": [(x,) for x in range(5)],
        "s": [("a",), ("ab",)],
        "t": [(1, 2), (4, 4)],
    }
    return scripted(rng, DECLARATIONS, rules, pool)


@pytest.mark.parametrize("way", [(1, LIMITS[0]), (16, SKEWED), *((3, limits) for limits in LIMITS)], ids=str)
def test_views_are_those_of_the_embedded_engine(way: tuple[int, PlacementLimits]) -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + cases(2)):
        problem = followed(script_for(seed), *way, functors=functions)
        assert not problem, f"{problem}\n{script_for(seed)}"


@pytest.mark.smoke
def test_groups_that_are_merged_from_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_aggregates, "LARGE", 3)
    for seed in range(FIRST_SEED + 70, FIRST_SEED + 70 + cases(2)):
        problem = followed(script_for(seed), 3, NOTHING_EVERYWHERE, functors=functions)
        assert not problem, f"{problem}\n{script_for(seed)}"


def test_partitions_that_are_lost_call_the_functions_again() -> None:
    for seed in range(FIRST_SEED + 50, FIRST_SEED + 50 + cases(2)):
        problem = followed(script_for(seed), 3, NOTHING_EVERYWHERE, functors=functions, executors=Forgetful(seed))
        assert not problem, f"{problem}\n{script_for(seed)}"


FICKLE = """
.functor fickle(x: number): number
.functor fickle_symbols(x: number): symbol
.decl e(x: number, y: number)
.decl a(x: number, y: number)
.decl b(y: number, x: number)
.decl c(x: number, y: number)
.decl s(text: symbol)
a(x, @fickle(x)) :- e(x, _).
b(@fickle(x), x) :- e(_, x).
c(x, y) :- a(x, y).
c(x, z) :- c(x, y), y > 0, z = @fickle(-1).
s(text) :- a(x, _), text = @fickle_symbols(x).
"""


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_deletions_charge_what_insertions_derived_where_a_function_misbehaves(limits: PlacementLimits) -> None:
    rng = random.Random(FIRST_SEED)
    given = {"fickle": functions.fickle, "fickle_symbols": functions.fickle_symbols}
    with Cluster(3, limits, functors=given) as db:
        db.load(FICKLE)
        facts: set[tuple[int, int]] = set()
        for number in range(10):
            before: dict[int, int] = dict(db["a"])
            came, went = ({(rng.randrange(9), rng.randrange(9)) for _ in range(4)} for _ in range(2))
            db.delete("e", went)
            db.insert("e", came)
            facts = (facts - went) | came
            db.commit()
            a = db["a"]
            assert sorted(x for x, _ in a) == sorted({x for x, _ in facts}), number
            assert all(before[x] == y for x, y in a if x in before), number
            assert sorted(x for _, x in db["b"]) == sorted({x for _, x in facts})
            assert {text.split("-")[0] for (text,) in db["s"]} == {str(x) for x, _ in facts}
            assert db["c"] >= a
        db.delete("e", facts)
        db.commit()
        assert not any(db[name] for name in "abcs")


def test_results_are_remembered_while_rows_go_and_come() -> None:
    """After a deletion, copies of rows go in some rounds, and come again in others; the results outlive that."""
    text = """
    .functor fickle(x: number): number
    .decl e(x: number, y: number)
    .decl t(x: number, y: number)
    .decl v(x: number, y: number, n: number)
    .decl w(x: number, n: number)
    t(x, y) :- e(x, y).
    t(x, z) :- t(x, y), t(y, z).
    v(x, y, @fickle(x)) :- t(x, y).
    """
    with Cluster(3, NOTHING_EVERYWHERE, functors={"fickle": functions.fickle}) as db:
        db.load(text)
        edges = [(x, x + 1) for x in range(9)]
        db.insert("e", edges)
        db.commit()
        values = {x: n for x, _, n in db["v"]}
        for edge in (edges[4], edges[2]):
            db.delete("e", [edge])
            db.commit()
            assert db.engine.explanation.rederived + db.engine.explanation.resets
            db.insert("e", [edge, (8, 1)])
            db.commit()
            assert {(x, n) for x, _, n in db["v"]} == set(values.items())
        db.rules.add("w(x, @fickle(x)) :- t(x, _).")
        db.commit()
        assert db["w"] == set(values.items())


ONE = ".functor f(x: number): number .decl e(x: number) .decl r(x: number, y: number) sum: r(x, @f(x)) :- e(x)."


def local(x: int) -> Callable[[int], int]:
    def inner(y: int) -> int:
        return x + y

    return inner


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: x, "it is a lambda"),
        (local(1), "it is defined inside of another function"),
        (functions.Holder().method, "`tests.functions.Holder.method` names something else here"),
    ],
)
def test_functions_without_a_name_to_import_are_refused(function: Any, reason: str) -> None:
    with Cluster(2, functors={"f": function}) as db:
        db.load(ONE)
        db.insert("e", [(1,)])
        with pytest.raises(UsageError) as caught:
            db.commit()
        text = str(caught.value)
        assert f"[E0649]: other processes cannot import the function of the functor `f`: {reason}" in text
        assert "hint: define it at the top level of a module" in text


def test_functions_of_the_script_that_was_started_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions.failing, "__module__", "__main__")
    with Cluster(2, functors={"f": functions.failing}) as db:
        db.load(ONE)
        with pytest.raises(UsageError, match="it is defined in the script that was started"):
            db.commit()


@pytest.mark.parametrize(("function", "error"), [(functions.failing, "ValueError"), (functions.leaving, "SystemExit")])
def test_a_function_that_raises_takes_the_epoch_back(function: Any, error: str) -> None:
    with Cluster(2, NOTHING_EVERYWHERE, functors={"f": function}) as db:
        db.load(ONE)
        db.insert("e", [(1,), (2,)])
        db.commit()
        db.insert("e", [(3,), (13,)])
        with pytest.raises(UsageError) as caught:
            db.commit()
        assert f"[E0647]: in rule sum, `@f(13)` raised {error}: no luck, in functions.py, line" in str(caught.value)
        assert db["r"] == {(1, 2), (2, 3)}
        db.insert("e", [(4,)])
        db.delete("e", [(1,)])
        db.commit()
        assert db["r"] == {(2, 3), (4, 5)}


def test_a_function_of_c_and_one_of_numpy() -> None:
    text = ".functor root(x: number): number .decl e(x: number) .decl r(x: number, y: number) r(x, @root(x)) :- e(x)."
    with Cluster(2, functors={"root": math.isqrt}) as db:
        db.load(text)
        db.insert("e", [(17,)])
        db.commit()
        assert db["r"] == {(17, 4)}


def test_another_driver_gives_the_functions_again(tmp_path: Any) -> None:
    given = {"f": functions.failing}
    with Cluster(2, NOTHING_EVERYWHERE, tmp_path / "state", functors=given) as first:
        first.load(ONE)
        first.insert("e", [(1,), (2,)])
        first.commit()
    with Cluster(2, NOTHING_EVERYWHERE, tmp_path / "state", LocalExecutors(), functors=given) as second:
        second.load(ONE)
        second.delete("e", [(1,)])
        second.commit()
        assert second["r"] == {(2, 3)}


def test_files_name_no_functions() -> None:
    """Whoever can write to the folder cannot make partitions call anything."""
    with Cluster(2, NOTHING_EVERYWHERE, functors={"f": functions.failing}) as db:
        db.load(ONE)
        db.insert("e", [(1,)])
        db.commit()
        files = [db.engine.folder.read(name) for name in db.engine.folder.names() if name != "lock"]
        assert not any(b"failing" in data or b"tests.functions" in data for data in files)
        assert db.engine.plan is not None
        given = GivenFunctions()
        again = wire.loads(wire.dumps(db.engine.plan), given)
        declared: FunctorType = again.program.functors["f"]
        assert declared.given is given
        with pytest.raises(wire.DamagedError):
            wire.loads(b'["c", "callables.GivenFunctions", ["d"], ["d"]]')


def test_the_same_functions_twice_and_modules_by_name() -> None:
    db = tidelog.connect(functors=["tests.functions"])
    db.load(DECLARATIONS + RULES[0])
    db.insert("e", [(1, 2), (3, 4), (9, 9)])
    db.commit()
    assert set(db["t"]) == {(1, 2)}
    with pytest.raises(UsageError, match=r"E0649.*`tests.nothing` cannot be imported: ModuleNotFoundError"):
        tidelog.connect(functors="tests.nothing")
