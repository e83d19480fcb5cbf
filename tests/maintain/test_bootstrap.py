"""The result of a bootstrap: views, births and counts, in either word size, with plans made anew on the way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy
import pytest
from numpy.typing import NDArray

import tidelog
from tests.suite import loaded
from tidelog.kernels import layout
from tidelog.maintain import bootstrap, engine

TC = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(y, z).
"""


def evaluated(text: str, **facts: Sequence[tuple[object, ...]]) -> tidelog.Database:
    return loaded(text, facts, closures=False)


def test_births_are_rounds_and_counts_the_derivations_of_that_round() -> None:
    # A diamond: (1, 4) is derived twice in round 2; (1, 5) in round 3 once, by (1, 4).
    db = evaluated(TC, e=[(1, 2), (1, 3), (2, 4), (3, 4), (4, 5)])
    assert db.births("t") == {
        (1, 2): (1, 1),
        (1, 3): (1, 1),
        (2, 4): (1, 1),
        (3, 4): (1, 1),
        (4, 5): (1, 1),
        (1, 4): (2, 2),
        (2, 5): (2, 1),
        (3, 5): (2, 1),
        (1, 5): (3, 1),
    }


def test_an_asserted_fact_of_a_derived_relation_counts_as_a_derivation() -> None:
    db = evaluated(TC, e=[(1, 2)], t=[(1, 2), (7, 8)])
    assert db.births("t") == {(1, 2): (1, 2), (7, 8): (1, 1)}


def test_later_derivations_of_a_tuple_are_not_counted() -> None:
    db = evaluated(TC, e=[(1, 2), (2, 1)])
    # (1, 1) is born in round 2; round 3 derives (1, 2) again, whose count stays.
    assert db.births("t") == {(1, 2): (1, 1), (2, 1): (1, 1), (1, 1): (2, 1), (2, 2): (2, 1)}


def test_rounds_are_numbered_on_through_the_life_of_the_database() -> None:
    db = evaluated(TC, e=[(1, 2), (2, 3)])
    before = dict(db.births("t"))
    last = max(birth for birth, _ in before.values())
    db.insert("e", [(3, 4)])
    db.commit()
    after = db.births("t")
    assert {row: after[row] for row in before} == before
    assert min(after[row][0] for row in ((3, 4), (2, 4), (1, 4))) > last


def test_a_thousand_rounds() -> None:
    db = evaluated(TC, e=[(i, i + 1) for i in range(1_000)])
    assert len(db["t"]) == 1_000 * 1_001 // 2
    assert db.births("t")[0, 1_000] == (1_000, 1)


def test_plans_made_anew_in_the_middle_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = TC.replace("e(y, z)", "t(y, z)")
    edges: list[tuple[object, ...]] = [(i % 97, (i * 31 + 5) % 97) for i in range(150)]
    settled = evaluated(text, e=edges).births("t")
    monkeypatch.setattr(bootstrap, "_FIRST_PLANS_LAST", 10)
    monkeypatch.setattr(bootstrap, "_OUTGROWN", 1)
    assert evaluated(text, e=edges).births("t") == settled


def test_a_value_beyond_32_bits_widens_the_database() -> None:
    powers = ".decl n(x: number)\nn(1).\nn(x * 10) :- n(x), x < 10000000000000.\n"
    db = evaluated(powers + ".decl w(x: number)\nw(x) :- n(x), x > 5000000000.")
    assert db.stats()["word_bits"] == 64
    assert sorted(db["w"]) == [(10**i,) for i in range(10, 14)]


@pytest.mark.parametrize("value", ["x", "[x]"])
def test_numbers_of_values_get_wide_words_before_the_epoch_begins(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "begin_again", lambda: pytest.fail("the epoch began again"))
    text = ".type box = [x: symbol]\n.decl e(x: symbol)\n.decl n(x: symbol, y: box, i: number)\n"
    db = evaluated(f"{text}n(x, [x], i) :- e(x), i = ord({value}).", e=[("a",), ("b",)])
    assert db.stats()["word_bits"] == 64
    assert len({row[2] for row in db["n"]}) == 2


def test_numbers_of_numbers_need_32_bits_only() -> None:
    db = evaluated(".decl e(x: number)\n.decl n(x: number)\nn(ord(x)) :- e(x).", e=[(7,)])
    assert db.stats()["word_bits"] == 32
    assert list(db["n"]) == [(7,)]


def test_small_numbers_need_32_bits_only() -> None:
    assert evaluated(TC, e=[(-(2**31), 2**31 - 1)]).stats()["word_bits"] == 32


def test_widening_keeps_what_was_there() -> None:
    db = evaluated(TC, e=[(1, 2), (2, 3)])
    db.insert("e", [(3, 2**40)])
    db.commit()
    assert sorted(db["t"]) == sorted([(1, 2), (2, 3), (1, 3), (1, 2**40), (2, 2**40), (3, 2**40)])


def test_numbers_wrap_around_at_64_bits() -> None:
    text = ".decl n(x: number)\nn(x + 1) :- x = 9223372036854775807.\nn(-x) :- x = -9223372036854775808."
    assert sorted(evaluated(text)["n"]) == [(-(2**63),)]


def test_a_binding_takes_the_shorter_of_two_ways() -> None:
    # Hubs on either side: whichever fixed order is taken, some bindings would meet a hub.
    text = """
    .decl c(y: number, w: number, z: number)
    .decl p(x: number, y: number)
    p(x, z) :- c(y, w, z), p(x, w), p(x, y).
    """
    hub = [(0, w, 1_000 + w) for w in range(300)] + [(y, 0, 2_000 + y) for y in range(300)]
    facts = [(x, y) for x in range(4) for y in range(x * 50)]
    db = evaluated(text, c=hub, p=facts)
    expected = set(facts)
    while True:
        of: dict[int, set[int]] = {}
        for x, y in expected:
            of.setdefault(x, set()).add(y)
        more = {(x, z) for y, w, z in hub for x, ys in of.items() if y in ys and w in ys} - expected
        if not more:
            break
        expected |= more
    assert set(db["p"]) == expected


@pytest.mark.parametrize("rows", [20, 5_000])
def test_a_function_gets_large_batches_only_where_its_rule_reads_many_rows(rows: int) -> None:
    db = tidelog.connect()
    db.load(".functor next(x: number): number\n.decl a(x: number)\n.decl b(x: number)\nb(@next(x)) :- a(x).")
    sizes: list[int] = []

    def following(x: NDArray[numpy.int64]) -> NDArray[numpy.int64]:
        sizes.append(len(x))
        return x + 1

    db.functor("next", following, vectorized=True)
    db.insert("a", [(x,) for x in range(rows)])
    db.commit()
    assert set(db["b"]) == {(x + 1,) for x in range(rows)}
    assert max(sizes) == rows


def test_a_relation_gets_room_for_the_rows_that_come() -> None:
    db = tidelog.connect()
    db.load(
        ".decl a(x: number, y: number)\n.decl none(x: number)\n.decl few(x: number)\n"
        "none(x) :- a(x, _), x < 0.  few(x) :- a(x, 0)."
    )
    db.insert("a", [(x, x % 1_000) for x in range(5_000)])
    db.commit()
    room = {name: int(db.engine.views[name].fields[layout.R_CAPACITY]) for name in ("a", "none", "few")}
    assert room["none"] == 0
    assert 5 <= room["few"] < 100
    assert 5_000 <= room["a"] < 10_000
