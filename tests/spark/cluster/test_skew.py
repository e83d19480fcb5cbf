"""Words that many rows have: their rows are spread over partitions, and what comes of them is right."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

import tidelog
from tests.depth import cases
from tests.scripts import script_for
from tests.spark.cluster.harness import NOTHING_EVERYWHERE, SKEWED, Cluster, followed
from tests.spark.cluster.test_faults import Forgetful
from tests.suite import FIRST_SEED
from tidelog.spark.cluster.placement.buckets import EVERYBODY, find_skew, frequent, homes_of
from tidelog.spark.cluster.placement.place import PlacementLimits
from tidelog.spark.cluster.placement.plan import ClusterPlan, Follow, Spread

HUB = 7
MANY = PlacementLimits(replicate=0, closures=0, gather=0, skew=50)
DECLARED = """
.decl e(x: number, y: number)
.decl f(y: number, z: number)
"""
JOIN = DECLARED + ".decl p(x: number, z: number)\np(x, z) :- e(x, y), f(y, z)."
KEPT_APART = DECLARED + ".decl p(x: number, z: number)\np(y, x) :- e(x, y), !f(y, x)."
COUNTED = """
.decl e(x: number, y: number)
.decl least(y: number, x: number)
.decl degree(y: number, n: number)
.decl total(n: number)
.decl sums(y: number, n: number)
degree(y, n) :- f(y, _), n = count : { e(_, y) }.
least(y, n) :- f(y, _), n = min x : { e(x, y) }.
sums(y, n) :- f(y, _), n = sum x : { e(x, y) }.
total(n) :- n = count : { e(_, _) }.
.decl f(y: number, z: number)
"""
NON_LINEAR = DECLARED + ".decl t(x: number, y: number)\nt(x, y) :- e(x, y).\nt(x, z) :- t(x, y), t(y, z), f(y, _)."
PLAIN = [(i, 100 + i % 61) for i in range(200, 400)]
SPOKES = [(i, HUB) for i in range(400, 600)]
OTHERS = [*((100 + i, i) for i in range(60)), *((HUB, i) for i in range(5))]


class Both:
    """A program on the cluster and on the embedded engine, which must agree after each epoch."""

    def __init__(self, text: str, partitions: int = 4, limits: PlacementLimits = MANY) -> None:
        self.here = tidelog.connect()
        self.there = Cluster(partitions, limits)
        for db in (self.here, self.there):
            db.load(text)

    def __enter__(self) -> Both:
        return self

    def __exit__(self, *_: object) -> None:
        self.there.engine.close()

    def commit(
        self,
        come: Iterable[tuple[int, int]] = (),
        go: Iterable[tuple[int, int]] = (),
        f: Iterable[tuple[int, int]] = (),
    ) -> ClusterPlan:
        for db in (self.here, self.there):
            db.insert("e", come)
            db.delete("e", go)
            db.insert("f", f)
        wanted, epoch = self.here.commit(), self.there.commit()
        found = {name: both for name, both in self.there.changes(epoch).items() if any(both)}
        assert found == {name: (set(wanted[name].inserted), set(wanted[name].deleted)) for name in wanted}
        assert self.there.views() == {name: set(self.here[name]) for name in self.here.relations}
        assert self.there.engine.plan is not None
        return self.there.engine.plan

    @property
    def unevenness(self) -> float:
        """The rows of the largest partition as a multiple of an even share."""
        rows: list[int] = self.there.engine.stats()["rows_of_partitions"]
        return float(max(rows) * len(rows) / sum(rows))


@pytest.mark.parametrize("flipped", [False, True], ids=["hub second", "hub first"])
@pytest.mark.parametrize(
    "text", [JOIN, KEPT_APART, COUNTED, NON_LINEAR], ids=["join", "negated", "counted", "recursion"]
)
def test_a_hub_makes_no_partition_large(text: str, flipped: bool) -> None:
    edges = [row[::-1] for row in PLAIN + SPOKES] if flipped else PLAIN + SPOKES
    with Both(text) as spread, Both(text, limits=NOTHING_EVERYWHERE) as not_spread:
        plan = spread.commit(edges, f=OTHERS)
        not_spread.commit(edges, f=OTHERS)
        assert plan.skewed_keys == (HUB,)
        assert spread.unevenness < 1.35
        assert spread.unevenness < not_spread.unevenness or not_spread.unevenness < 1.2
        spread.commit([(1, 2), (1, HUB), (HUB, 3), (HUB, 100)], edges[::7])
        spread.commit([], [row for row in edges if HUB in row][::2])


@pytest.mark.parametrize("flipped", [False, True], ids=["hub second", "hub first"])
@pytest.mark.parametrize("text", [JOIN, COUNTED, NON_LINEAR], ids=["join", "counted", "recursion"])
def test_a_word_that_becomes_a_skewed_key_and_stops_being_one(text: str, flipped: bool) -> None:
    """What an epoch has brought decides about the next one."""
    spokes = [row[::-1] for row in SPOKES] if flipped else SPOKES
    with Both(text) as both:
        assert both.commit(PLAIN, f=OTHERS).skewed_keys == ()
        both.commit(spokes[:10])
        both.commit(spokes[10:])
        assert HUB in both.commit([(1, 2)]).skewed_keys
        assert both.unevenness < 1.35
        both.commit([(2, 3)], PLAIN[:50])
        both.commit([(i, 300 + i % 50) for i in range(1_000, 1_400)], spokes[5:])
        assert HUB not in both.commit([(3, 4)]).skewed_keys
        both.commit(spokes[7:20], [(3, 4)])


@pytest.mark.smoke
def test_rules_that_come_and_go_over_skewed_keys() -> None:
    with Both(JOIN) as both:
        both.commit(PLAIN + SPOKES, f=OTHERS)
        for db in (both.here, both.there):
            db.rules.add("r2: p(x, y) :- e(x, y), !f(y, 3).")
        both.commit([(1, HUB)])
        for db in (both.here, both.there):
            db.rules.remove("r1")
        both.commit([], [(1, HUB)])


def test_random_changes_with_partitions_that_are_lost() -> None:
    for seed in range(FIRST_SEED + 1_300, FIRST_SEED + 1_300 + cases(2)):
        problem = followed(script_for(seed), 3, SKEWED, executors=Forgetful(seed))
        assert not problem, f"{problem}\n{script_for(seed)}"


def test_each_pair_with_a_skewed_key_meets_once() -> None:
    left = np.array([(i, i % 3) for i in range(60)], np.int64)
    right = np.array([(i % 5, i) for i in range(50)], np.int64)
    there: dict[tuple[int, ...], set[int]] = {}
    for row, home in zip(right.tolist(), homes_of(Follow(0), right, (1, 2), 4).tolist(), strict=True):
        there[tuple(row)] = set(range(4)) if home == EVERYBODY else {home}
    homes = homes_of(Spread(1), left, (1, 2), 4)
    assert all(
        home in there[tuple(other)]
        for row, home in zip(left.tolist(), homes.tolist(), strict=True)
        for other in right.tolist()
        if row[1] == other[0]
    )
    assert len(set(homes[left[:, 1] == 1].tolist())) > 1
    assert len(set(homes[left[:, 1] == 0].tolist())) == 1


def test_words_that_are_skewed_keys() -> None:
    """More rows than half an even share, and at least so many; half of that is enough to stay."""
    rows = np.array([(i, HUB if i % 4 == 0 else i) for i in range(1_000)], np.int64)
    seen = [{"e": frequent(rows, 4)}]
    assert seen[0]["e"] == {1: {HUB: 251}}
    assert find_skew(seen, {"e": 1_000}, 4, 200, None).columns() == {("e", 1)}
    assert find_skew(seen, {"e": 1_000}, 4, 252, None).keys == ()
    assert find_skew(seen, {"e": 2_500}, 4, 200, None).keys == ()
    assert find_skew(seen * 2, {"e": 2_000}, 4, 300, None).keys == (HUB,)


def test_explain_names_skewed_keys() -> None:
    with Both(JOIN) as both:
        both.commit([*PLAIN, *SPOKES, *((HUB, i) for i in range(500))], f=[*OTHERS, *((i, i) for i in range(3_000))])
        assert both.there.engine.describe().splitlines()[-3:] == [
            "p: split",
            "e: facts by all their words",
            "skewed keys: 1, in e.x, e.y, p.x",
        ]
