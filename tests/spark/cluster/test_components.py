"""Components by the cluster engine: closures that every partition has, and what is aggregated over them."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

import tidelog
from tests.spark.cluster.harness import LIMITS, Cluster
from tests.suite import difference
from tidelog.options import DatabaseOptions
from tidelog.spark.cluster.placement.place import PlacementLimits
from tidelog.spark.cluster.processes.executors import LocalExecutors
from tidelog.storage.closed_relation import ClosedRelation
from tidelog.storage.members import ClosedMembers
from tidelog.storage.stored import StoredRelation

CLOSURE = """
.decl e(x: number, y: number)
.decl con(x: number, y: number)
con(x, y) :- e(x, y).
con(x, y) :- con(y, x).
con(x, z) :- con(x, y), con(y, z).
"""
LEAST = f"""
{CLOSURE}
.decl c(x: number, c: number)
.decl size(y: number, n: number)
.decl all(n: number)
c(x, c) :- con(x, _), c = min y : {{ con(x, y) }}.
size(y, n) :- con(_, y), n = count : {{ con(_, y) }}.
all(n) :- n = count : {{ con(_, _) }}.
"""
EDGES = [(i, i + 1) for i in range(600) if i % 100]


def partition_views(db: Cluster) -> Iterator[tuple[str, StoredRelation]]:
    assert isinstance(db.engine.executors, LocalExecutors)
    for keeper in db.engine.executors.keepers.values():
        assert keeper.partition is not None
        yield from keeper.partition.engine.views.items()


def test_partitions_fold_components_and_write_no_pairs() -> None:
    with Cluster(3, PlacementLimits()) as db:
        db.load(LEAST)
        db.insert("e", EDGES)
        db.commit()
        assert db["all"] == {(6 * 100 * 100,)}
        assert db["c"] == {(x, 1 + (x - 1) // 100 * 100) for x in range(1, 601)}
        views = list(partition_views(db))
        folded = [name for name, view in views if isinstance(view, ClosedMembers)]
        assert len(folded) == 3 + 3 + 1, folded
        written = [(name, len(view)) for name, view in views if not isinstance(view, ClosedRelation)]
        assert max(rows for _, rows in written) <= 600, written


def test_folded_components_follow_changes() -> None:
    rng = random.Random(17)
    here = tidelog.connect()
    with Cluster(3, PlacementLimits()) as there:
        for db in (here, there):
            db.load(LEAST)
            db.insert("e", EDGES)
            db.commit()
        for _ in range(6):
            gone, come = rng.sample(sorted(set(here["e"])), 3), [(rng.randrange(620), rng.randrange(620))]
            there.options = DatabaseOptions(strategy="update")  # Half of the groups may change.
            for db in (here, there):
                db.delete("e", gone)
                db.insert("e", come)
            change = here.commit()
            outcome = there.commit()
            assert not difference(there.views(), {name: set(here[name]) for name in here.relations})
            wanted = {name: (set(change[name].inserted), set(change[name].deleted)) for name in change}
            assert {name: both for name, both in there.changes(outcome).items() if any(both)} == wanted
            begun = [node for node in outcome.report.nodes if node.strategy == "bootstrap"]
            assert not begun, begun


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_nodes_of_a_closure_where_a_rule_needs_no_pairs(limits: PlacementLimits) -> None:
    text = f"""{CLOSURE}
    .decl from(x: number)
    .decl to(y: number)
    .decl loop(x: number)
    .decl lone(x: number)
    .decl p(x: number)
    from(x) :- con(x, _).
    to(y) :- con(_, y).
    loop(x) :- con(x, x).
    lone(x) :- p(x), !con(x, _).
    """
    with Cluster(3, limits) as db:
        db.load(text)
        db.insert("e", [(1, 2), (2, 3), (7, 8)])
        db.insert("p", [(1,), (4,)])
        db.commit()
        nodes = {(x,) for x in (1, 2, 3, 7, 8)}
        assert (db["from"], db["to"], db["loop"], db["lone"]) == (nodes, nodes, nodes, {(4,)})
        db.delete("e", [(1, 2)])
        db.commit()
        assert (db["from"], db["lone"]) == (nodes - {(1,)}, {(1,), (4,)})
        db.check()


LABELS = """
.decl e(x: number, y: number)
.decl label(x: number, l: number) min(l)
.decl members(l: number, n: number)
.decl distance(x: number, d: number) min(d)
.decl far(x: number)
label(x, x) :- e(x, _).
label(y, y) :- e(_, y).
label(y, l) :- label(x, l), e(x, y).
label(x, l) :- label(y, l), e(x, y).
members(l, n) :- label(_, l), n = count : { label(_, l) }.
distance(1, 0).
distance(y, d + 1) :- distance(x, d), e(x, y).
far(x) :- distance(x, d), d > 50.
"""
RINGS = [(100 * i + k, 100 * i + k % 60 + 1) for i in range(4) for k in range(1, 61)]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_recursions_that_select_read_selected_tuples_only(limits: PlacementLimits) -> None:
    """Around a ring there are as many labels of each node as nodes, and distances without end."""
    with Cluster(3, limits) as db:
        db.load(LABELS)
        db.insert("e", RINGS)
        db.commit()
        assert db["label"] == {(100 * i + k, 100 * i + 1) for i in range(4) for k in range(1, 61)}
        assert db["members"] == {(100 * i + 1, 60) for i in range(4)}
        assert db["distance"] == {(k, k - 1) for k in range(1, 61)}
        assert db["far"] == {(k,) for k in range(52, 61)}
        most = max(view.rows for name, view in partition_views(db) if name.startswith("#all."))
        assert most < 4 * 60 * 60 / 10, most  # All candidates would be the pairs of each ring, and distances no end.
        db.check()


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_recursions_that_select_follow_changes(limits: PlacementLimits) -> None:
    rng = random.Random(18)
    here = tidelog.connect()
    with Cluster(3, limits) as there:
        for db in (here, there):
            db.load(LABELS)
            db.insert("e", RINGS)
            db.commit()
        there.options = DatabaseOptions(strategy="update")
        for number in range(6):
            there.engine.counting.fixed = 3 + number // 3  # In between, rows move to another partition.
            gone = rng.sample(sorted(set(here["e"])), 2)
            come = [(rng.choice((1, 100, 200)) + rng.randrange(62), rng.randrange(300))]
            for db in (here, there):
                db.delete("e", gone)
                db.insert("e", come)
            change, outcome = here.commit(), there.commit()
            assert not difference(there.views(), {name: set(here[name]) for name in here.relations})
            wanted = {name: (set(change[name].inserted), set(change[name].deleted)) for name in change}
            assert {name: both for name, both in there.changes(outcome).items() if any(both)} == wanted
            assert not [node for node in outcome.report.nodes if node.strategy == "bootstrap"]
        there.check()
