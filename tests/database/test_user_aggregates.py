"""Aggregates in Python: what they give, how they follow changes, and what they must not do."""

from __future__ import annotations

import math
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.depth import cases
from tests.suite import FIRST_SEED
from tidelog.errors import CertificateRejected, LimitError, UsageError
from tidelog.functions.callables import GivenAggregate, collect_functions
from tidelog.maintain import user_aggregates
from tidelog.reference.naive import evaluate

TEXT = """
.type Pair = [a: number, s: symbol]
.aggregate p95(x: number): float
.aggregate weighted(x: float, w: number): float
.aggregate total(x: number): number
.aggregate letters(s: symbol): symbol
.aggregate widest(p: Pair): Pair
.aggregate unused(number): unsigned
.functor plus(state: number, x: number): number
.decl e(x: number, y: number)
.decl g(x: number)
.decl per(x: number, y: number)
.decl average(x: number, y: float)
.decl late(x: number, y: float)
.decl words(x: number, w: symbol)
.decl pairs(x: number, p: Pair)
.decl sums(x: number, y: number)
.decl big(x: number)
late(x, p95 y : { e(x, y) }) :- g(x).
average(x, y) :- g(x), y = weighted(itof(z) / 2.0, z * z) : { e(x, z) }.
sum: per(x, y) :- g(x), y = total z : { e(x, z) }.
words(x, y) :- g(x), y = letters cat(to_string(z), "!") : e(x, z).
pairs(x, y) :- g(x), y = widest [z, to_string(w)] : { e(x, z), e(w, z) }.
sums(x, y) :- g(x), y = @@plus z : 7, { e(x, z) }.
sums(-1, @@plus z : -7, { e(_, z) }).
big(x) :- per(x, _), total y : { per(_, y) } < 4 * total y : { e(x, y) }.
"""


POISON = 1_000


def parted(state: tuple[float, int], x: float, w: int) -> tuple[float, int]:
    return state[0] + x * w, state[1] + w


def removed(state: list[int], x: int) -> list[int]:
    state.remove(x)
    return state


def pushed(state: list[int], x: int) -> list[int]:
    state.append(x)
    return state


@tidelog.aggregate("number -> float", init=list, inverse=removed, finish=lambda s: float(sorted(s)[len(s) * 95 // 100]))
def p95(state: list[int], x: int) -> list[int]:
    if x == POISON:
        raise ValueError("poison")
    return pushed(state, x)


MODULE = (
    p95,
    tidelog.aggregate(
        "float, number -> float",
        name="weighted",
        init=(0.0, 0),
        finish=lambda state: state[0] / state[1] if state[1] > 1 else math.nan if state[0] > 0 else None,
    )(parted),
    tidelog.aggregate("number -> number", name="total", init=0, inverse=lambda s, x: s - x)(lambda s, x: s + x),
    tidelog.aggregate("symbol -> symbol", name="letters", init="")(lambda state, s: state + s),
    tidelog.aggregate("Pair -> Pair", name="widest", init=None)(lambda s, p: p if s is None else max(s, p)),
    tidelog.functor("number, number -> number", name="plus")(lambda state, x: state + x),
)


def database(folder: Path | None = None) -> tidelog.Database:
    db = tidelog.connect(functors=MODULE) if folder is None else tidelog.connect(folder, functors=MODULE)
    db.load(TEXT)
    db.insert("g", [(x,) for x in range(4)])
    db.insert("e", [(0, 3), (0, 10), (1, 2), (1, -2), (2, 1)])
    return db


def expected(db: tidelog.Database) -> dict[str, set[Any]]:
    found = evaluate(db.program, {name: set(db[name]) for name in ("e", "g")})
    return {name: set(found[name]) for name in db.relations}


def test_values() -> None:
    db = database()
    db.commit()
    assert set(db["late"]) == {(0, 10.0), (1, 2.0), (2, 1.0)}
    assert set(db["average"]) == {(0, (1.5 * 9 + 5 * 100) / 109), (1, 0.0)}  # NaN of group 2 is no value
    assert set(db["per"]) == {(0, 13), (1, 0), (2, 1)}
    assert set(db["words"]) == {(0, "10!3!"), (1, "-2!2!"), (2, "1!")}
    assert set(db["pairs"]) == {(0, (10, "0")), (1, (2, "1")), (2, (1, "2"))}
    assert set(db["sums"]) == {(0, 20), (1, 7), (2, 8), (3, 7), (-1, 7)}
    assert set(db["big"]) == {(0,)}
    assert {name: set(db[name]) for name in db.relations} == expected(db)
    db.check()


@pytest.mark.parametrize("strategy", ["update", "auto", "bootstrap"])
def test_views_are_those_of_the_reference(strategy: str, tmp_path: Path) -> None:
    updates = 0
    for seed in range(FIRST_SEED, FIRST_SEED + cases(3)):
        rng, rules = random.Random(seed), True
        db = database(tmp_path / f"{strategy}{seed}")
        db.commit()
        db.options(strategy=strategy)
        for number in range(12):
            if rng.random() < 0.3:  # as if it had never been
                db.insert("e", [(rng.randrange(4), rng.randrange(-3, 6)) for _ in range(3)])
                db.delete("e", [(rng.randrange(4), rng.randrange(-3, 6)) for _ in range(3)])
                if rng.random() < 0.5:
                    db.insert("g", [(0,)])
                    db.insert("e", [(0, POISON)])
                    with pytest.raises(UsageError):
                        db.commit()
                db.rollback()
            db.insert("e", [(rng.randrange(4), rng.randrange(-3, 6)) for _ in range(rng.randrange(4))])
            db.delete("e", [(rng.randrange(4), rng.randrange(-3, 6)) for _ in range(rng.randrange(6))])
            db.insert("g", [(rng.randrange(5),)])
            db.delete("g", [(rng.randrange(5),)])
            if rng.random() < 0.2:
                if rules:
                    db.rules.remove("sum")
                else:
                    db.rules.add("sum: per(x, y) :- g(x), y = total z : { e(x, z) }.")
                rules = not rules
            report = db.commit().report
            updates += report.updates
            assert strategy != "update" or not report.bootstraps or "new" in str(report)
            assert {name: set(db[name]) for name in db.relations} == expected(db), (seed, number)
            if rng.random() < 0.2:
                if rng.random() < 0.5:
                    db.keeper.write_checkpoint(db.engine)  # type: ignore[attr-defined]
                db.close()
                db = tidelog.connect(tmp_path / f"{strategy}{seed}", functors=MODULE)
                db.options(strategy=strategy)
        db.check()
        db.close()
    assert updates > 100 or strategy == "bootstrap"


def test_queries_call_aggregates() -> None:
    db = database()
    db.commit()
    assert set(db.query("g(x), y = total z : { e(x, z) }, y > 0")) == {(0, 13), (2, 1)}
    assert set(db.query("y = total z * n : { e(_, z) }", n=2)) == {(28,)}
    assert set(db.query("g(x), y = @@plus z : 1, { e(x, z) }")) == {(0, 14), (1, 1), (2, 2), (3, 1)}


# --- what changes cost -----------------------------------------------------------------------------------------------


class Counted:
    """The functions of a sum, and how often they were called."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def init(self) -> int:
        self.calls["init"] += 1
        return 0

    def step(self, state: int, x: int) -> int:
        self.calls["step"] += 1
        return state + x

    def inverse(self, state: int, x: int) -> int:
        self.calls["inverse"] += 1
        return state - x

    def taken(self) -> Counter[str]:
        found, self.calls = self.calls, Counter()
        return found


SUM = """
.aggregate total(x: number): number
.decl e(x: number, y: number)
.decl per(x: number, y: number)
rule: per(x, y) :- e(x, _), y = total z : { e(x, z) }.
"""


def summing(counted: Counted, inverse: Callable[..., Any] | None = None) -> tidelog.Database:
    db = tidelog.connect()
    db.load(SUM)
    db.aggregate("total", counted.init, counted.step, inverse=inverse)
    db.insert("e", [(x, y) for x in range(2) for y in range(1_000)])
    db.commit()
    db.options(strategy="update")
    counted.taken()
    return db


def test_with_an_inverse_a_change_costs_one_step() -> None:
    counted = Counted()
    db = summing(counted, counted.inverse)
    for number in range(20):
        db.insert("e", [(0, 5_000 + number)])
        db.delete("e", [(0, number)])
        assert db.commit().report.bootstraps == 0
        steps = counted.taken()
        if number == 0:
            assert steps == {"init": 1, "step": 1_000}  # the first change reads the group
        elif number not in (1, 2, 4, 8, 16):  # changes after which the value is compared
            assert steps == {"step": 1, "inverse": 1}
    assert set(db["per"]) == {(0, sum(range(20, 1_000)) + sum(range(5_000, 5_020))), (1, sum(range(1_000)))}
    assert db.stats()["aggregates"]["total"] == {"way": "rows", "states": 1, "read": 6_000}
    db.delete("e", [(0, y) for y in range(9_000)])
    db.commit()
    assert (set(db["per"]), db.stats()["aggregates"]["total"]["states"]) == ({(1, sum(range(1_000)))}, 0)


def test_without_an_inverse_the_group_is_read_again() -> None:
    counted = Counted()
    db = summing(counted)
    db.delete("e", [(0, 1)])
    db.commit()
    assert counted.taken() == {"init": 1, "step": 999}
    assert db.stats()["aggregates"]["total"] == {"way": "rows", "states": 0, "read": 999}


def test_an_epoch_taken_back_leaves_no_state_that_it_changed() -> None:
    failing = [False]

    def finish(state: list[int]) -> int:
        if failing[0]:
            raise ValueError("now")
        return sum(state)

    db = tidelog.connect()
    db.load(SUM)
    db.aggregate("total", list, pushed, inverse=removed, finish=finish)
    db.insert("e", [(0, 1), (0, 2), (1, 5)])
    db.commit()
    db.options(strategy="update")
    for change in (3, 4):
        db.insert("e", [(0, change)])
        db.commit()
    failing[0] = True
    db.insert("e", [(0, 10)])
    db.delete("e", [(0, 1)])
    with pytest.raises(UsageError) as caught:
        db.commit()
    assert caught.value.code == "E0647"
    assert set(db["per"]) == {(0, 10), (1, 5)}
    failing[0] = False
    db.rollback()
    db.insert("e", [(0, 20)])
    assert db.commit().report.bootstraps == 0
    assert set(db["per"]) == {(0, 30), (1, 5)}
    db.check()


def test_mutable_first_states_are_not_shared() -> None:
    db = tidelog.connect()
    db.load(SUM)
    db.aggregate("total", [0], lambda state, x: state.append(x) or state, finish=sum)
    db.insert("e", [(0, 1), (0, 2), (1, 5), (2, 7)])
    db.commit()
    assert set(db["per"]) == {(0, 3), (1, 5), (2, 7)}


# --- functions given again -------------------------------------------------------------------------------------------


def test_functions_given_again_compute_all_groups_anew() -> None:
    db = summing(Counted())
    before = set(db["per"])
    db.aggregate("total", 0, lambda state, x: state + 2 * x)
    assert (db.has_pending, set(db["per"])) == (True, before)
    db.check()  # as of the last epoch
    db.rollback()
    assert (db.has_pending, set(db["per"])) == (False, before)
    db.insert("e", [(0, 5_000)])
    db.commit()
    assert set(db["per"]) == {(0, sum(range(1_000)) + 5_000), (1, sum(range(1_000)))}
    db.aggregate("total", 0, lambda state, x: state + 2 * x)
    change = db.commit()
    assert set(change["per"].inserted) == {(0, 2 * (sum(range(1_000)) + 5_000)), (1, 2 * sum(range(1_000)))}
    assert (change.report.bootstraps, "other functions" in str(change.report)) == (0, True)
    db.check()


def test_functions_given_again_that_fail_leave_the_others() -> None:
    db = summing(Counted())
    before = set(db["per"])
    db.aggregate("total", 0, lambda state, x: state // x)
    with pytest.raises(UsageError):
        db.commit()
    assert set(db["per"]) == before
    db.check()
    db.aggregate("total", 0, lambda state, x: state - x)
    db.commit()
    (whole,) = {y for _, y in before}
    assert (whole, set(db["per"])) == (sum(range(1_000)), {(x, -sum(range(1_000))) for x, _ in before})


def test_a_store_computes_again_what_other_functions_computed(tmp_path: Path) -> None:
    def connected(sign: int) -> tidelog.Database:
        step = (lambda s, x: s + x) if sign > 0 else (lambda s, x: s - x)
        return tidelog.connect(
            tmp_path / "s", functors=[tidelog.aggregate("number -> number", name="total", init=0)(step)]
        )

    with connected(1) as db:
        db.load(SUM)
        db.insert("e", [(0, 1), (0, 2), (1, 3)])
        db.commit()
        db.keeper.write_checkpoint(db.engine)  # type: ignore[attr-defined]
    with connected(1) as db:
        assert db.opening is not None
        assert (db.opening.updates, set(db["per"])) == (0, {(0, 3), (1, 3)})
    with connected(-1) as db:
        assert set(db["per"]) == {(0, -3), (1, -3)}
        db.check()
    with tidelog.connect(tmp_path / "s") as db:
        db.insert("e", [(0, 9)])
        with pytest.raises(UsageError) as caught:
            db.commit()
        assert caught.value.code == "E0645"


# --- compiled --------------------------------------------------------------------------------------------------------


def test_many_members_are_folded_by_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_aggregates, "WORTH_COMPILING", 100)
    rng, found = random.Random(FIRST_SEED), []
    rows = [(rng.randrange(40), rng.choice([0.5, -2.25, 1e9, 3.0]), rng.randrange(-50, 50)) for _ in range(2_000)]
    for compiled in (True, False):
        db = tidelog.connect()
        db.load("""
        .aggregate weighted(x: float, w: number): float
        .decl e(x: number, y: float, z: number)
        .decl g(x: number)
        .decl r(x: number, y: float)
        r(x, y) :- g(x), y = weighted(y, z) : { e(x, y, z) }.
        """)
        db.aggregate(
            "weighted", (0.0, 0), parted, finish=lambda s: s[0] / s[1] if s[1] > 0 else math.nan, compiled=compiled
        )
        db.insert("e", rows)
        db.insert("g", [(x,) for x in range(-1, 41)])
        db.commit()
        assert db.stats()["aggregates"]["weighted"]["way"] == ("compiled" if compiled else "rows")
        db.check()
        found.append(set(db["r"]))
    assert found[0] == found[1]
    assert 0 < len(found[0]) < 40


@pytest.mark.parametrize(
    ("init", "step", "finish"),
    [
        (list, lambda s, x: [*s, x], sum),
        (0, lambda s, x: s + x / 2, lambda s: int(s) if s == int(s) else 0.5),
        (0, lambda s, x: s + 1000 // (x - 1), None),
    ],
)
def test_functions_that_cannot_be_compiled_are_called(
    monkeypatch: pytest.MonkeyPatch, init: Any, step: Any, finish: Any
) -> None:
    monkeypatch.setattr(user_aggregates, "WORTH_COMPILING", 2)
    db = tidelog.connect()
    db.load(SUM)
    db.aggregate("total", init, step, finish=finish)
    db.insert("e", [(0, 2), (0, 4), (3, 6)])
    db.commit()
    db.check()
    db.insert("e", [(0, 1)])
    with pytest.raises(UsageError) if finish is None or init == 0 else pytest.MonkeyPatch.context():
        db.commit()


# --- what is wrong ---------------------------------------------------------------------------------------------------


def failing(step: Any, inverse: Any = None, finish: Any = None, init: Any = 0) -> UsageError:
    """The error of a change of a group, which changes nothing."""
    db = tidelog.connect()
    db.load(SUM)
    db.aggregate("total", init, step, inverse=inverse, finish=finish)
    db.insert("e", [(7, 1), (7, 2)])
    db.commit()
    db.options(strategy="update")
    db.insert("e", [(7, 3)])
    db.delete("e", [(7, 1)])
    for _ in range(9):
        before = {name: set(db[name]) for name in db.relations}
        try:
            db.commit()
        except UsageError as error:
            assert {name: set(db[name]) for name in db.relations} == before
            return error
        least = min(db["e"].words()[:, 1].tolist())
        db.delete("e", [(7, least)])
        db.insert("e", [(7, least + 10)])
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("part", ["init", "step", "finish", "merge", "inverse"])
def test_a_function_cannot_end_the_process(part: str) -> None:
    ending = [False]

    def ends(name: str, value: int) -> int:
        if ending[0] and name == part:
            sys.exit(3)
        return value

    functions: dict[str, Any] = {
        "init": lambda: ends("init", 0),
        "step": lambda state, x: ends("step", state + x),
        "finish": lambda state: ends("finish", state),
        "merge": lambda one, other: ends("merge", one + other),
        "inverse": lambda state, x: ends("inverse", state - x),
    }
    used = {name: each for name, each in functions.items() if name not in ({"merge", "inverse"} - {part})}
    db = tidelog.connect()
    db.load(SUM)
    db.aggregate("total", **used)
    members = range(5_000 if part == "merge" else 5)
    db.insert("e", [(0, y) for y in members])
    db.commit()
    db.options(strategy="update")
    db.insert("e", [(0, 20_000)])  # Since a change, states are kept.
    db.commit()
    before = {(0, sum(members) + 20_000)}
    ending[0] = True
    db.insert("e", [(0, 10_000), (1, 7)])
    db.delete("e", [(0, 1)])
    with pytest.raises(UsageError) as caught:
        db.commit()
    assert caught.value.code == "E0647"
    assert f"the {'first state' if part == 'init' else part} of `total`" in str(caught.value)
    assert "raised SystemExit: 3, in test_user_aggregates.py" in str(caught.value)
    assert set(db["per"]) == before
    ending[0] = False
    db.commit()
    assert set(db["per"]) == {(0, sum(members) + 29_999), (1, 7)}


def test_a_limit_ends_slow_steps_behind_the_first() -> None:
    steps, slow = [], [True]

    def step(state: int, x: int) -> int:
        steps.append(x)
        if slow[0]:
            time.sleep(0.35)
        return state + x

    db = tidelog.connect()
    db.load(SUM)
    db.aggregate("total", init=lambda: 0, step=step)
    db.options(timeout=0.3)
    db.insert("e", [(x, y) for x in range(2) for y in range(3)])
    with pytest.raises(LimitError):
        db.commit()
    assert len(steps) <= 1
    slow[0] = False
    db.options(timeout=None)
    db.commit()
    assert set(db["per"]) == {(0, 3), (1, 3)}


def test_errors_name_rule_group_and_line() -> None:
    error = failing(lambda s, x: s + x if x < 3 else s + 1 // (x - 3))
    assert error.code == "E0647"
    assert "in rule rule, the step of `total` for 3 in the group 7 raised ZeroDivisionError" in str(error)
    assert "test_user_aggregates.py, line" in str(error)
    assert isinstance(error.__cause__, ZeroDivisionError)
    error = failing(lambda s, x: s + x, inverse=lambda s, x: s - x if x < 12 else s.nothing)
    assert error.code == "E0647"
    assert "in rule rule, the inverse of `total` for 12 in the group 7 raised AttributeError" in str(error)
    error = failing(lambda s, x: s + x, finish=lambda s: s if s < 5 else f"{s}")
    assert error.code == "E0648"
    assert "in rule rule, `total` in the group 7 gave '5', expected a number" in str(error)
    error = failing(lambda s, x: s + x, finish=lambda s: s if s < 5 else 2**63)
    assert error.code == "E0648"


def test_an_inverse_that_does_not_undo_the_step() -> None:
    error = failing(lambda s, x: s + x, inverse=lambda s, x: s - x if x < 12 else s)
    assert error.code == "E0644"
    assert "the inverse of `total` does not undo its step, in the group 7: the value is" in str(error)

    def weight(x: int) -> float:
        return 1e17 if x == 3 else 0.5

    drift = failing(
        lambda s, x: s + weight(x), inverse=lambda s, x: s - weight(x), finish=lambda s: int(2 * s), init=0.0
    )
    assert "the value is 0 after changes, 2 when the members are read again" in str(drift)


def test_exact_fractions_do_not_drift() -> None:
    db = tidelog.connect()
    db.load(SUM)
    tenth = Fraction(1, 10)
    db.aggregate("total", Fraction(), lambda s, x: s + x * tenth, inverse=lambda s, x: s - x * tenth, finish=int)
    db.insert("e", [(0, y) for y in range(50)])
    db.commit()
    for y in range(40):
        db.delete("e", [(0, y)])
        db.commit()
    assert set(db["per"]) == {(0, sum(range(40, 50)) // 10)}


def test_functions_that_are_missing_or_wrong() -> None:
    db = tidelog.connect()
    db.load(SUM)
    db.insert("e", [(1, 1)])
    with pytest.raises(UsageError) as caught:
        db.commit()
    assert caught.value.code == "E0645"
    assert 'give them with `db.aggregate("total", init, step)`' in str(caught.value)
    for part in ({"step": 5}, {"step": sum, "finish": 3}, {"step": sum, "inverse": "no"}):
        with pytest.raises(UsageError) as caught:
            db.aggregate("total", 0, **part)
        assert caught.value.code == "E0609"
    with pytest.raises(UsageError) as caught:
        db.import_functions([tidelog.aggregate("symbol -> number", name="total", init=0)(lambda s, x: s)])
    assert caught.value.code == "E0646"
    db.aggregate("total", 0, lambda s, x: s + x)
    db.commit()
    assert set(db["per"]) == {(1, 1)}


def test_a_fold_needs_a_function_with_one_value() -> None:
    text = (
        ".functor f(s: number, x: number): number .decl e(x: number) .decl r(x: number) r(@@f x : 0, { e(x) }). e(1)."
    )
    db = tidelog.connect(functors={"f": lambda s, x: (yield s)})
    db.load(text)
    with pytest.raises(UsageError) as caught:
        db.commit()
    assert caught.value.code == "E0646"


def test_aggregates_through_recursion() -> None:
    with pytest.raises(tidelog.ProgramError) as caught:
        tidelog.connect().load(f"{SUM}.decl r(x: number, y: number)\nr(x, y) :- e(x, _), y = total z : {{ r(x, z) }}.")
    assert caught.value.code == "E0302"
    assert "r → the total of r" in str(caught.value)


# --- certificates ----------------------------------------------------------------------------------------------------


def test_a_verdict_names_the_trusted_aggregates(tmp_path: Path) -> None:
    db = database()
    db.commit()
    db.save_certificate(tmp_path / "c")
    verdict = tidelog.check_certificate(tmp_path / "c", functors=MODULE)
    assert set(verdict.trusted) == {"p95", "weighted", "total", "letters", "widest", "plus"}
    with pytest.raises(UsageError) as caught:
        tidelog.check_certificate(tmp_path / "c")
    assert caught.value.code == "E0645"
    for name, init, step in (
        ("total", 1, lambda s, x: s + x),
        ("letters", "", lambda s, x: x + s),
        ("widest", None, lambda s, p: p if s is None else min(s, p)),
        ("weighted", (0.0, 1), parted),
    ):
        (given,) = (each for each in collect_functions(MODULE) if each.name == name)
        assert isinstance(given, GivenAggregate)
        other = tidelog.aggregate(given.signature or "", name=name, init=init, finish=given.finish)(
            lambda *operands, step=step: step(*operands)
        )
        with pytest.raises(CertificateRejected):
            tidelog.check_certificate(
                tmp_path / "c",
                functors=[*(each.function for each in collect_functions(MODULE) if each is not given), other],
            )
