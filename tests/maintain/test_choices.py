"""Relations with choice-domains: the tuples that they show, and those that they show after changes."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

import tidelog
from tests.choosing import FAMILIES, run, script_for
from tests.depth import cases
from tests.suite import FIRST_SEED, evaluate_naive, evaluate_seminaive
from tidelog.errors import ProgramError

CHUNK = 20

# --- the programs of Soufflé's documentation and of its paper on choice ----------------------------------------------

SPANNING_TREE = """
.decl edge(v: symbol, u: symbol)
.decl st(v: symbol, u: symbol) choice-domain u
edge("L1", "L2"). edge("L2", "L10"). edge("L2", "L3"). edge("L3", "L4"). edge("L4", "L8"). edge("L3", "L6").
edge("L6", "L8"). edge("L8", "L2").
st("r", "L1").
st(v, u) :- st(_, v), edge(v, u).
"""
MATCHING = """
.decl likes(x: symbol, y: symbol)
.decl couple(x: symbol, y: symbol) choice-domain x, y
couple(x, y) :- likes(x, y).
likes("a", "u"). likes("a", "v"). likes("b", "u"). likes("b", "w"). likes("c", "u").
"""
ADVISORS = """
.decl student(s: symbol, major: symbol, year: number)
.decl professor(s: symbol, major: symbol)
.decl advisor(s: symbol, p: symbol) choice-domain s
advisor(s, p) :- student(s, major, _), professor(p, major).
student("Ann", "CS", 3). student("Bob", "CS", 1). student("Cat", "Art", 2). student("Dan", "Law", 1).
professor("Moss", "CS"). professor("Lee", "CS"). professor("Ray", "Art").
"""
ORDER = """
.decl member(x: symbol)
.decl next(x: symbol, y: symbol) choice-domain x, y
next("", x) :- member(x).
next(x, y) :- next(_, x), member(y).
member("pear"). member("fig"). member("apple"). member("quince").
"""
BIDS = """
.decl bid(x: number, job: number, cost: number)
.decl assigned(x: number, job: number, cost: number) choice-domain job, (x, cost)
assigned(x, j, c) :- bid(x, j, c).
bid(1, 1, 5). bid(1, 2, 5). bid(1, 3, 4). bid(2, 2, 5). bid(2, 1, 1). bid(3, 3, 1).
"""
EXPECTED = {
    "spanning tree": (
        SPANNING_TREE,
        "st",
        {("r", "L1"), ("L1", "L2"), ("L2", "L10"), ("L2", "L3"), ("L3", "L4"), ("L3", "L6"), ("L4", "L8")},
    ),
    "bipartite matching": (MATCHING, "couple", {("a", "u"), ("b", "w")}),
    "eligible advisors": (ADVISORS, "advisor", {("Ann", "Lee"), ("Bob", "Lee"), ("Cat", "Ray")}),
    # "" is followed by the least member; from there each round brings all pairs with the last one.
    "total order of a set": (ORDER, "next", {("", "apple"), ("apple", "fig"), ("fig", "pear"), ("pear", "quince")}),
    "two domains, one of two attributes": (BIDS, "assigned", {(1, 1, 5), (1, 3, 4), (2, 2, 5)}),
}


def connected(text: str, **options: object) -> tidelog.Database:
    db = tidelog.connect()
    db.options(**options)
    db.load(text)
    db.commit()
    return db


@pytest.mark.parametrize("name", EXPECTED)
def test_programs_show_one_tuple_of_each_key(name: str) -> None:
    text, relation, expected = EXPECTED[name]
    assert evaluate_naive(text, {})[relation] == expected
    assert evaluate_seminaive(text, {})[relation] == expected
    db = connected(text)
    assert set(db[relation]) == expected
    db.check()
    assert set(connected(text, maintain=False)[relation]) == expected


def test_births_are_the_rounds_of_the_reference() -> None:
    births = connected(SPANNING_TREE).births("st")
    ranks = {birth: rank for rank, birth in enumerate(sorted({birth for birth, _ in births.values()}))}
    assert {row[1]: ranks[birth] for row, (birth, _) in births.items()} == {
        "L1": 0,
        "L2": 1,
        "L10": 2,
        "L3": 2,
        "L4": 3,
        "L6": 3,
        "L8": 4,
    }


@pytest.mark.parametrize("seed", range(cases(12)))
def test_the_order_of_insertions_makes_no_difference(seed: int) -> None:
    """Symbols have other words then, and rows other places."""
    rng = random.Random(seed)
    names = [f"n{i}" for i in range(30)]
    edges = sorted({(rng.choice(names), rng.choice(names)) for _ in range(120)})
    text = SPANNING_TREE.split("edge(", 2)[0] + "edge(v: symbol, u: symbol)\n"
    text += '.decl st(v: symbol, u: symbol) choice-domain u\nst("r", "n0").\nst(v, u) :- st(_, v), edge(v, u).\n'
    text += ".decl couple(x: symbol, y: symbol) choice-domain x, y\ncouple(x, y) :- edge(x, y).\n"
    expected = evaluate_naive(text, {"edge": edges})
    for order in (edges, edges[::-1], rng.sample(edges, len(edges))):
        db = tidelog.connect()
        db.load(text)
        db.insert("edge", order)
        db.commit()
        assert set(db["st"]) == expected["st"]
        assert set(db["couple"]) == expected["couple"]


@pytest.mark.parametrize(
    ("type_", "rows", "first"),
    [
        ("unsigned", [(1, 2**64 - 1), (1, 7)], (1, 7)),
        ("float", [(1, 0.5), (1, -1.5), (1, -2.5)], (1, -2.5)),
        ("number", [(1, 3), (1, -3)], (1, -3)),
        ("symbol", [(1, "é"), (1, "z"), (1, "zz")], (1, "z")),
        ("Pair", [(1, (2, "a")), (1, (1, "b")), (1, (1, "a"))], (1, (1, "a"))),
        ("Pair", [(1, (2, "a")), (1, None)], (1, None)),
    ],
)
def test_ties_go_to_the_least_tuple(type_: str, rows: list[tuple[object, ...]], first: tuple[object, ...]) -> None:
    text = f".type Pair = [n: number, s: symbol]\n.decl c(k: number, v: {type_}) choice-domain k"
    db = connected(text)
    db.insert("c", rows)
    db.commit()
    assert list(db["c"]) == [first]
    assert evaluate_naive(text, {"c": rows})["c"] == {first}
    db.delete("c", [first])
    db.commit()
    assert list(db["c"]) == sorted((row for row in rows if row != first), key=repr)[:1] or len(rows) > 2


# --- changes ---------------------------------------------------------------------------------------------------------


def test_a_choice_stays_while_it_is_derived() -> None:
    """A lesser tuple comes too late, and goes without a trace."""
    db = connected(ADVISORS)
    db.insert("professor", [("Abe", "CS")])
    change = db.commit()
    assert set(change) == {"professor"}
    assert not change.report.bootstraps
    db.delete("professor", [("Abe", "CS")])
    assert set(db.commit()) == {"professor"}
    assert ("Ann", "Lee") in set(db["advisor"])


def test_the_oldest_candidate_takes_the_place_and_of_one_age_the_least() -> None:
    db = connected(ADVISORS)
    db.insert("professor", [("Abe", "CS")])
    db.commit()
    db.delete("professor", [("Lee", "CS")])
    change = db.commit()
    assert set(change["advisor"].inserted) == {("Ann", "Moss"), ("Bob", "Moss")}
    assert set(change["advisor"].deleted) == {("Ann", "Lee"), ("Bob", "Lee")}
    db.insert("professor", [("Zoe", "CS"), ("Lee", "CS")])
    db.commit()
    db.delete("professor", [("Moss", "CS"), ("Abe", "CS")])
    db.commit()
    assert ("Ann", "Lee") in set(db["advisor"])


def test_a_tuple_that_frees_two_keys_lets_two_in() -> None:
    db = connected(MATCHING)
    db.delete("likes", [("a", "u")])
    change = db.commit()
    assert set(db["couple"]) == {("a", "v"), ("b", "w"), ("c", "u")}
    assert set(change["couple"].inserted) == {("a", "v"), ("c", "u")}
    db.insert("likes", [("a", "u")])
    assert set(db.commit()) == {"likes"}


def test_a_subtree_moves_to_another_parent_and_keeps_its_inside() -> None:
    db = connected(SPANNING_TREE)
    db.insert("edge", [("L1", "L3")])
    db.commit()
    db.delete("edge", [("L2", "L3")])
    change = db.commit()
    # L4, L6 and L8 follow from L3 all the same, so that only its own edge is another one.
    assert set(change["st"].deleted) == {("L2", "L3")}
    assert set(change["st"].inserted) == {("L1", "L3")}
    db.check()


def test_choices_that_follow_from_each_other_alone_are_not_kept() -> None:
    """L8 leads to L2, and L2 to L8: without L1 none of them is reached any more."""
    db = connected(SPANNING_TREE)
    db.delete("edge", [("L1", "L2")])
    db.commit()
    assert set(db["st"]) == {("r", "L1")}
    db.insert("edge", [("L1", "L8")])
    db.commit()
    assert ("L8", "L2") in set(db["st"])


def test_what_was_chosen_before_comes_before_older_candidates() -> None:
    """p(1, 2) loses its oldest derivation and has another one. p(1, 3) has waited for longer than that."""
    db = connected(
        ".decl a(x: number, y: number)\n.decl b(x: number, y: number)\n.decl p(x: number, y: number) choice-domain x\n"
        "p(x, y) :- a(x, y).\np(x, y) :- p(x, z), b(z, y).\np(x, y) :- b(x, y)."
    )
    db.insert("a", [(1, 2), (1, 3)])
    db.commit()
    db.insert("b", [(1, 2)])
    db.commit()
    db.delete("a", [(1, 2)])
    assert set(db.commit()) == {"a"}
    assert set(db["p"]) == {(1, 2)}


def test_facts_are_candidates() -> None:
    db = connected(".decl r(x: number, y: number) choice-domain x\n.decl e(x: number, y: number)\nr(x, y) :- e(x, y).")
    db.insert("r", [(1, 5)])
    db.insert("e", [(1, 4), (2, 2)])
    db.commit()
    assert set(db["r"]) == {(1, 4), (2, 2)}
    db.delete("e", [(1, 4)])
    db.commit()
    assert set(db["r"]) == {(1, 5), (2, 2)}
    db.delete("r", [(1, 5)])
    db.commit()
    assert set(db["r"]) == {(2, 2)}
    db.check()


def test_rules_come_and_go() -> None:
    db = connected(MATCHING)
    db.rules.add("back: couple(x, y) :- likes(y, x).")
    db.rules.remove("r1")
    change = db.commit()
    assert set(db["couple"]) == {("u", "a"), ("w", "b")}
    assert not change.report.bootstraps
    db.rules.add("r1: couple(x, y) :- likes(x, y).")
    db.commit()
    assert set(db["couple"]) == {("u", "a"), ("w", "b"), ("a", "u"), ("b", "w")}
    db.rules.remove("back")
    db.commit()
    assert set(db["couple"]) == {("a", "u"), ("b", "w")}
    db.rules.remove("r1")
    db.insert("couple", [("x", "y")])
    db.commit()
    assert set(db["couple"]) == {("x", "y")}
    db.check()


def test_readers_see_shown_tuples_only() -> None:
    db = connected(
        f"{MATCHING}\n.decl single(x: symbol)\nsingle(x) :- likes(x, _), !couple(x, _).\n"
        ".decl pairs(n: number)\npairs(n) :- n = count : { couple(_, _) }."
    )
    assert (set(db["single"]), set(db["pairs"])) == ({("c",)}, {(2,)})
    assert set(db.query('couple(x, "u")')) == {("a", "u")}
    assert set(db.query("likes(x, y), couple(x, y)")) == {("a", "u"), ("b", "w")}
    db.delete("likes", [("a", "u")])
    db.commit()
    assert (set(db["single"]), set(db["pairs"])) == (set(), {(3,)})


def test_a_minimum_in_the_recursion_of_a_choice_reads_all_of_its_tuples() -> None:
    db = connected(
        ".decl e(x: number, y: number)\n.decl c(x: number, y: number) choice-domain x\n"
        ".decl d(x: number, n: number) min(n)\n"
        "d(0, 0).\nd(y, n + 1) :- d(x, n), e(x, y), n < 4.\nc(y, x) :- d(x, _), e(x, y).\nd(x, 3) :- c(x, _)."
    )
    db.insert("e", [(0, 1), (1, 2), (2, 0)])
    reason = next(node.reason for node in db.commit().report.nodes if "c" in node.relations)
    assert set(db["d"]) == {(0, 0), (1, 1), (2, 2)}
    assert set(db["c"]) == {(1, 0), (2, 1), (0, 2)}
    assert reason.endswith("one tuple of each key is chosen")
    db.check()


# --- rollback, limits, stores ----------------------------------------------------------------------------------------


def test_an_epoch_that_fails_and_a_rollback_leave_the_choice() -> None:
    db = connected(SPANNING_TREE)
    before = db.births("st")
    db.delete("edge", [("L2", "L3")])
    db.rollback()
    db.commit()
    assert db.births("st") == before
    db.options(max_rows=3)
    db.delete("edge", [("L1", "L2")])
    db.insert("edge", [("L1", f"n{i}") for i in range(20)])
    with pytest.raises(tidelog.LimitError):
        db.commit()
    db.rollback()
    db.options(max_rows=None)
    assert db.births("st") == before
    db.insert("edge", [("L1", "L8")])
    db.commit()
    assert len(db["st"]) == 7
    db.check()


def test_the_size_of_a_choice_is_limited_in_the_end() -> None:
    db = connected(f"{MATCHING}.limitsize couple(n=2)")
    db.delete("likes", [("b", "w")])
    db.insert("likes", [("b", "x")])
    db.commit()
    assert set(db["couple"]) == {("a", "u"), ("b", "x")}
    db.delete("likes", [("a", "u")])
    with pytest.raises(tidelog.LimitError, match="E0504"):
        db.commit()


def test_an_evaluation_from_scratch_keeps_the_choice() -> None:
    for options in ({"strategy": "bootstrap"}, {"maintain": False}):
        db = connected(ADVISORS, **options)
        db.insert("professor", [("Abe", "CS"), ("Ada", "Art")])
        db.commit()
        assert {("Ann", "Lee"), ("Cat", "Ray")} < set(db["advisor"])
        db.delete("professor", [("Lee", "CS")])
        db.commit()
        assert ("Ann", "Abe") in set(db["advisor"])
        assert ("Cat", "Ray") in set(db["advisor"])


# --- random scripts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("strategy", ["update", "auto", "bootstrap"])
def test_random_scripts(family: str, strategy: str) -> None:
    first = FIRST_SEED + 10_000 * ["update", "auto", "bootstrap"].index(strategy)
    for seed in range(first, first + cases(CHUNK if strategy == "update" else CHUNK // 4)):
        script = script_for(seed * len(FAMILIES) + list(FAMILIES).index(family))
        problem = run(script, strategy)
        assert not problem, f"{problem}\n{script}"


# --- errors ----------------------------------------------------------------------------------------------------------


MISTAKES: Mapping[str, str] = {
    "r(x, y) :- r(x, z), !r(z, y), r(_, y).": "E0301",
    "r(x, c) :- r(x, _), c = count : { r(_, _) }.": "E0302",
}


@pytest.mark.parametrize("rule", MISTAKES)
def test_a_choice_is_no_way_around_strata(rule: str) -> None:
    with pytest.raises(ProgramError, match=MISTAKES[rule]):
        connected(f".decl r(x: number, y: number) choice-domain x\n{rule}")


def test_a_relation_that_went_with_its_rules_and_came_back_is_the_new_one() -> None:
    """The hyper-node of its recursion goes on with another relation of the same name."""
    script = script_for(7_700_064)
    assert str(script).splitlines()[-3:] == [
        "-s(1,) -r0 +r3",
        "-e(0, 0, 1) -e(0, 2, 2) -e(1, 1, 2) +s(1,) +e(2, 0, 2)",
        "-r1 -r3 +r0 +r5",
    ], "another script does not show it"
    assert not run(script, "update")
