"""Aggregates under change: right for every operation and kind, and at a cost in proportion to the change."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from math import inf
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from tests.depth import cases, stride
from tests.generate import Row
from tests.maintain.stopping import Error, at_looks, fails_without_trace, limit
from tests.scripts import Follower, Script, run, scripted
from tests.suite import FIRST_SEED
from tidelog.language.aggregates import AggregateName
from tidelog.maintain import large_groups
from tidelog.maintain.large_groups import LargeGroups, Total, Window, exact, state_of
from tidelog.semantics import aggregates as reference

DECLARATIONS = """
.decl asked(g: number)
.decl i(g: number, v: number, w: number)
.decl u(g: number, v: unsigned, w: number)
.decl f(g: number, v: float, w: number)
"""
KINDS = {"i": "number", "u": "unsigned", "f": "float"}
OPERATIONS: tuple[AggregateName, ...] = ("sum", "min", "max", "mean", "median", "any", "collect", "argmin", "argmax")


def result(op: AggregateName, facts: str) -> str:
    return {"mean": "float", "median": "float", "collect": "symbol", "argmin": "number", "argmax": "number"}.get(
        op, KINDS[facts]
    )


def over(op: AggregateName, group: str, facts: str) -> str:
    """The aggregate over the facts of a group."""
    target, last = (f"{op}(w, v)", "w") if op.startswith("arg") else (f"{op} v", "_")
    return f"{target} : {{ {facts}({group}, v, {last}) }}"


VIEWS = {"count_of": ".decl count_of(g: number, x: number)"}
VIEWS |= {f"{op}_of_{f}": f".decl {op}_of_{f}(g: number, x: {result(op, f)})" for f in KINDS for op in OPERATIONS}
VIEWS |= {f"{op}_of_all_{f}": f".decl {op}_of_all_{f}(x: {result(op, f)})" for f in KINDS for op in OPERATIONS}
RULES = [
    "count_of(g, x) :- asked(g), x = count : { i(g, _, _) }.",
    "count_of(g, x) :- i(g, _, _), x = count : { i(g, v, _), v > 0 }, x != 2.",
    *(f"{op}_of_{f}(g, x) :- asked(g), x = {over(op, 'g', f)}." for f in KINDS for op in OPERATIONS),
    *(f"{op}_of_all_{f}(x) :- x = {over(op, '_', f)}." for f in KINDS for op in OPERATIONS),
    *(f"{op}_of_{f}(g, x) :- x = {over(op, 'g', f)}, {f}(g, _, _)." for f in KINDS for op in OPERATIONS),
]
VALUES: dict[str, list[Any]] = {
    "i": [0, 1, 1, 2, 5, -3, 2**31, 2**63 - 1, -(2**63), 2**53 + 1],
    "u": [0, 1, 1, 3, 2**64 - 1, 2**63, 2**53 + 1],
    "f": [0.0, 0.1, 0.2, -0.3, 1e16, 1.0, 1e308, 1.5e308, -1.5e308, 5e-324, -5e-324, inf, -inf],
}


def script_of(seed: int) -> Script:
    """A change script over some of the rules; half of them without values that make numbers of 64 bits."""
    rng = random.Random(f"aggregates {seed}")
    pool: dict[str, list[Row]] = {"asked": [(g,) for g in range(3)]}
    for name, values in VALUES.items():
        some = [v for v in values if name == "f" or seed % 2 or v < 2**31]
        some = [v for v in some if rng.random() < 0.9 or abs(v) < 2**31]
        pool[name] = [(rng.randrange(3), rng.choice(some), rng.randrange(3)) for _ in range(12)]
    kinds = [name for name in KINDS if rng.random() < 0.4] or ["i"]
    rules = [rule for rule in RULES if rng.random() < 0.5 and any(f"{{ {name}(" in rule for name in kinds)]
    views = [text for name, text in VIEWS.items() if any(rule.startswith(f"{name}(") for rule in rules)]
    return scripted(rng, "\n".join([DECLARATIONS, *views]), rules, pool)


@pytest.fixture(params=[(1_024, 512), (1, 2), (4, 3)], ids=["small groups", "narrow windows", "windows"])
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the size of a large group, and the width of a window."""
    large, width = request.param
    monkeypatch.setattr(large_groups, "LARGE", large)
    monkeypatch.setattr(large_groups, "WIDTH", width)


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("strategy", ["update", "bootstrap", "auto"])
def test_random_scripts(strategy: str) -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + cases(8 if strategy == "update" else 3)):
        script = script_of(seed)
        problem = run(script, strategy)
        assert not problem, f"{problem}\n{script}"


@pytest.mark.usefixtures("sizes")
def test_strategies_in_turn() -> None:
    for seed in range(FIRST_SEED + 1_000, FIRST_SEED + 1_000 + cases(8)):
        follower = Follower(script_of(seed))
        for number, epoch in enumerate(follower.script.epochs):
            follower.db.options(strategy=("update", "update", "bootstrap")[(number + seed) % 3])
            follower.follow(epoch)
        follower.check_naive()


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("error", [limit, KeyboardInterrupt], ids=["limit", "interrupt"])
def test_an_epoch_stopped_anywhere_leaves_no_trace(error: Error) -> None:
    stops = 0
    for seed in range(FIRST_SEED + 2_000, FIRST_SEED + 2_000 + cases(1)):
        script = script_of(seed)
        follower = Follower(script, "update")
        for epoch in script.epochs[:5]:
            commit = partial(follower.commit, epoch)
            change, failures = fails_without_trace(follower.db, commit, at_looks(error), stride(2))
            stops += failures
            follower.note(epoch)
            follower.check(change)
    assert stops > cases(100)


def test_a_replaced_rule_of_the_same_name_asks_for_other_groups() -> None:
    rules = {
        "a": "count_of(g, x) :- asked(g), x = count : { i(g, _, _) }.",
        "b": "count_of(g, x) :- u(g, _, _), x = count : { i(g, _, _) }.",
        "c": "count_of(g, x) :- u(g, _, _), x = sum v : { i(g, v, _) }.",
    }
    db = tidelog.connect()
    db.load(f"{DECLARATIONS} {VIEWS['count_of']} r: {rules['a']}")
    db.insert("asked", [(1,), (2,)])
    db.insert("u", [(2, 0, 0), (3, 0, 0)])
    db.insert("i", [(1, 5, 0), (2, 5, 0), (3, 5, 0), (3, 6, 0)])
    db.commit()
    db.options(strategy="update")
    assert set(db["count_of"]) == {(1, 1), (2, 1)}
    for name, expected in (("b", {(2, 1), (3, 2)}), ("c", {(2, 5), (3, 11)}), ("a", {(1, 1), (2, 1)})):
        with db.transaction() as transaction:
            transaction.rules.remove("r")
            transaction.rules.add("r: " + rules[name])
        assert set(db["count_of"]) == expected
    db.insert("i", [(1, 6, 0)])
    db.delete("i", [(2, 5, 0)])
    db.insert("asked", [(3,)])
    db.commit()
    assert set(db["count_of"]) == {(1, 2), (2, 0), (3, 2)}


@pytest.mark.usefixtures("sizes")
def test_a_replaced_rule_of_the_same_name_ranges_over_values_of_another_kind() -> None:
    rules = {name: f"r: min_of_{name}(g, x) :- asked(g), x = min v : {{ {name}(g, v, _) }}." for name in KINDS}
    expected: dict[str, set[Row]] = {"i": {(1, -2)}, "u": {(1, 3)}, "f": {(1, -0.5)}}
    db = tidelog.connect()
    db.load("\n".join([DECLARATIONS, *(VIEWS[f"min_of_{name}"] for name in KINDS), rules["i"]]))
    db.options(strategy="update")
    db.insert("asked", [(1,)])
    db.insert("i", [(1, -2, 0), (1, 3, 0), (1, 4, 0)])
    db.insert("u", [(1, 2**64 - 2, 0), (1, 3, 0), (1, 4, 0)])
    db.insert("f", [(1, -0.5, 0), (1, 0.5, 0), (1, 0.25, 0)])
    db.commit()
    for name in ("i", "u", "i", "f", "u", "f", "i"):
        with db.transaction() as transaction:
            transaction.rules.remove("r")
            transaction.rules.add(rules[name])
        found = [minima(db)]
        for change in (db.insert, db.delete):
            change(name, [(1, 9, 0)])
            assert db.commit().report.bootstraps == 0
            found.append(minima(db))
        assert found == [{other: expected[other] if other == name else set() for other in KINDS}] * 3


def minima(db: tidelog.Database) -> dict[str, set[Row]]:
    return {name: set(db[f"min_of_{name}"]) for name in KINDS}


# --- one large group -------------------------------------------------------------------------------------------------

MEMBERS = 4_000


def one_group(op: AggregateName, kind: str = "number") -> tuple[tidelog.Database, list[tuple[Any, int]]]:
    """A database with one aggregate over the values 0 to MEMBERS - 1."""
    db = tidelog.connect()
    aggregate = "count : { m(g, _, _) }" if op == "count" else f"{op} v : {{ m(g, v, _) }}"
    of = "float" if op in ("mean", "median") else kind
    db.load(f"""
        .decl of(g: number)
        .decl m(g: number, v: {kind}, w: number)
        .decl x(g: number, x: {of})
        x(g, x) :- of(g), x = {aggregate}.
    """)
    scale = 0.1 if kind == "float" else 1
    rows = [(n * scale, n) for n in range(MEMBERS)]
    random.Random(1).shuffle(rows)
    db.insert("of", [(7,), (8,)])
    db.insert("m", [(7, *row) for row in rows])
    db.commit()
    db.options(strategy="update")
    return db, rows


def members_read(db: tidelog.Database) -> int:
    """The members of groups that were read for the one aggregate of a database."""
    (large,) = db.engine.large.values()
    return large.read


def expected(op: AggregateName, kind: Any, rows: list[tuple[Any, int]]) -> set[Row]:
    """The view, by the reference."""
    witnesses = [value for value, _ in rows]
    found = {(7, reference.aggregate(op, kind, witnesses))}
    return found | ({(8, 0)} if op in ("count", "sum") else set())


@pytest.mark.parametrize(("op", "kind"), [("count", "number"), ("sum", "number"), ("sum", "unsigned")])
def test_counts_and_sums_of_integers_read_no_group(op: AggregateName, kind: str) -> None:
    db, rows = one_group(op, kind)
    for _ in range(20):
        db.delete("m", [(7, *rows.pop())])
        rows += [(len(rows), -len(rows)), (3, -len(rows))]
        db.insert("m", [(7, *row) for row in rows[-2:]])
        assert db.commit().report.bootstraps == 0
        assert set(db["x"]) == expected(op, kind, rows)
    assert members_read(db) == 0


@pytest.mark.parametrize(
    ("op", "kind"),
    [
        ("sum", "float"),
        ("mean", "float"),
        ("mean", "number"),
        ("median", "number"),
        ("min", "float"),
        ("max", "number"),
    ],
)
def test_a_large_group_is_read_once(op: AggregateName, kind: str) -> None:
    db, rows = one_group(op, kind)
    for _ in range(20):
        db.delete("m", [(7, *row) for row in (rows.pop(), rows.pop(0))])
        rows += [(float(len(rows)) if kind == "float" else len(rows), -len(rows))]
        db.insert("m", [(7, *row) for row in rows[-1:]])
        assert db.commit().report.bootstraps == 0
        assert set(db["x"]) == expected(op, kind, rows)
    assert MEMBERS - 2 <= members_read(db) < MEMBERS


@pytest.mark.parametrize("op", ["min", "max"])
def test_the_extreme_member_goes_again_and_again(op: AggregateName) -> None:
    db, rows = one_group(op)
    ordered = sorted(rows, reverse=op == "min")
    for _ in range(2 * large_groups.WIDTH + 10):
        value, w = ordered.pop()
        db.delete("m", [(7, value, w)])
        db.commit()
        assert set(db["x"]) == {(7, ordered[-1][0])}
    assert members_read(db) <= 3 * MEMBERS


def test_a_large_group_becomes_small_and_empty_and_large_again() -> None:
    for op in ("mean", "median", "min"):
        db, rows = one_group(op)
        db.delete("m", [(7, *row) for row in rows[:1]])
        db.commit()
        (large,) = db.engine.large.values()
        assert list(large.states) == [(7,)]
        db.delete("m", [(7, *row) for row in rows[10:]])
        db.commit()
        assert not large.states
        assert set(db["x"]) == expected(op, "number", rows[1:10])
        db.delete("m", [(7, *row) for row in rows])
        db.commit()
        assert set(db["x"]) == set()
        db.insert("m", [(7, *row) for row in rows])
        db.commit()
        assert set(db["x"]) == expected(op, "number", rows)
        db.delete("m", [(7, *row) for row in rows])
        db.commit()
        assert not large.states
        assert set(db["x"]) == set()


def test_a_group_that_is_no_longer_asked_for() -> None:
    db, rows = one_group("mean")
    db.delete("m", [(7, *rows[0])])
    db.commit()
    db.delete("of", [(7,)])
    db.commit()
    assert set(db["x"]) == set()
    db.delete("m", [(7, *rows[1])])
    db.insert("of", [(7,)])
    db.commit()
    assert set(db["x"]) == expected("mean", "number", rows[2:])
    db.delete("m", [(7, *rows[2])])
    db.commit()
    assert set(db["x"]) == expected("mean", "number", rows[3:])


def test_what_is_kept_goes_with_the_rule_and_with_a_bootstrap() -> None:
    db, rows = one_group("max")
    db.delete("m", [(7, *rows[0])])
    db.commit()
    (before,) = db.engine.large.values()
    db.options(strategy="bootstrap")
    db.delete("m", [(7, *rows[1])])
    db.commit()
    assert all(large is not before for large in db.engine.large.values())
    db.options(strategy="update")
    db.delete("m", [(7, *rows[2])])
    db.commit()
    assert set(db["x"]) == expected("max", "number", rows[3:])
    db.rules.remove("r1")
    db.commit()
    assert not db.engine.large


# --- floats ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["update", "bootstrap"])
def test_a_sum_does_not_depend_on_the_order_or_on_parts_that_are_too_large(strategy: str) -> None:
    db = tidelog.connect()
    db.load(".decl f(v: float, w: number) .decl s(x: float) s(x) :- x = sum v : { f(v, _) }.")
    db.options(strategy=strategy)
    steps: list[tuple[float, set[Row]]] = [
        (1e308, {(1e308,)}),
        (1.5e308, set()),
        (-1e308, {(1.5e308,)}),
        (5e-324, {(1.5e308,)}),
        (-1.5e308, {(5e-324,)}),
        (inf, {(inf,)}),
        (1.7e308, {(inf,)}),
        (1.6e308, {(inf,)}),
        (-inf, set()),
    ]
    for number, (value, sums) in enumerate(steps):
        db.insert("f", [(value, number)])
        db.commit()
        assert set(db["s"]) == sums
    for number in reversed(range(len(steps))):
        assert set(db["s"]) == steps[number][1]
        db.delete("f", [(steps[number][0], number)])
        db.commit()
    assert set(db["s"]) == {(0.0,)}


FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(FLOATS))
def test_sums_are_exact(values: list[float]) -> None:
    assert Fraction(exact(numpy.array(values, numpy.float64)), 2**1126) == sum(map(Fraction, values))


# --- states ----------------------------------------------------------------------------------------------------------

CHANGES = st.lists(st.tuples(st.lists(st.integers(-6, 6), max_size=4), st.integers(0, 4)), min_size=1, max_size=12)


@given(st.sampled_from(["sum", "mean", "min", "max", "median"]), st.integers(2, 4), CHANGES, st.randoms())
def test_a_state_follows_or_asks_for_all_members(
    op: AggregateName, width: int, changes: Any, rng: random.Random
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_groups, "WIDTH", width)
        members = [0.0, 3.0, 3.0, -2.0, 1.0, 3.0, 0.5]
        state = state_of(op, numpy.array(members))
        for came, going in changes:
            died = rng.sample(members, min(going, len(members) - 1))
            members = [*members, *map(float, came)]
            for value in died:
                members.remove(value)
            after = state.with_changes(numpy.array(came, numpy.float64), numpy.array(died, numpy.float64))
            if after is None:
                assert isinstance(state, Window)
                after = state_of(op, numpy.array(members))
            state = after
            assert state.size == len(members)
            assert state.value() == reference.aggregate(op, "float", members)
            if isinstance(state, Window):
                ordered = sorted(members)
                assert state.values.tolist() == ordered[state.below : len(members) - state.above]
                assert len(state.values) <= 2 * width


def groups_of(*sizes: int) -> Iterator[tuple[tuple[int], Total]]:
    for number, size in enumerate(sizes):
        yield (number,), Total("sum", size)


def test_states_are_taken_back() -> None:
    large = LargeGroups()
    for group, state in groups_of(2_000, 3_000, 10):
        large.note_state(group, state)
    large.keep()
    kept = dict(large.states)
    assert set(kept) == {(0,), (1,)}
    large.note_state((0,), None)
    large.note_state((1,), Total("sum", 5_000))
    large.note_state((1,), Total("sum", 10))
    large.note_state((2,), Total("sum", 4_000))
    assert set(large.states) == {(2,)}
    large.take_back()
    assert large.states == kept
    large.take_back()
    assert large.states == kept


def test_a_window_of_equal_values() -> None:
    state = Window.of("median", numpy.full(5_000, 3.0))
    after = state.with_changes(numpy.full(0, 0.0), numpy.full(2_000, 3.0))
    assert after is None
    after = state.with_changes(numpy.full(3_000, 3.0), numpy.full(400, 3.0))
    assert after is not None
    assert (after.size, after.value(), len(after.values)) == (7_600, 3.0, large_groups.WIDTH)


def test_groups_of_many_columns_follow() -> None:
    """More than an index has; groups that differ in the last column only stay apart."""
    names = [f"x{i}" for i in range(10)]
    columns, args = ", ".join(f"{name}: number" for name in names), ", ".join(names)
    db = tidelog.connect()
    db.options(strategy="update")
    db.load(
        f".decl b({columns}) .decl c({columns}, y: number) .decl r({columns}, n: number)"
        f"r({args}, n) :- b({args}), n = sum y : {{ c({args}, y) }}."
    )
    rows = [(*[0] * 9, i) for i in range(5)]
    db.insert("b", rows)
    db.insert("c", [(*row, y) for row in rows for y in range(3)])
    db.commit()
    db.insert("c", [(*rows[1], 10)])
    db.delete("c", [(*rows[2], 1)])
    assert db.commit().report.updates
    assert [row[-1] for row in sorted(db["r"])] == [3, 13, 2, 3, 3]
