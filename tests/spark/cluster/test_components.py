"""Components by the cluster engine: closures that every partition has, and what is aggregated over them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import tidelog
from tests.generate import Row
from tests.spark.cluster.harness import LIMITS, Cluster
from tests.suite import difference
from tidelog.spark.cluster.placement import place
from tidelog.spark.cluster.placement.place import PlacementLimits, memory_of_closure
from tidelog.spark.cluster.processes.executors import LocalExecutors
from tidelog.storage.closed_relation import ClosedMembers, ClosedRelation
from tidelog.storage.room import size_text
from tidelog.storage.stored import StoredRelation
from tidelog.workspace.options import DatabaseOptions

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


@pytest.mark.smoke
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


def commit_both(there: Cluster, here: tidelog.Database, come: Iterable[Row] = (), gone: Iterable[Row] = ()) -> str:
    """Commit the same edges to both engines, compare views and changes, and return the closure's way. Check the views
    where it is another one than before: a check evaluates everything anew, and does not depend on former epochs."""
    before = way_of_closure(there) if there.engine.plan is not None else None
    for db in (here, there):
        db.delete("e", gone)
        db.insert("e", come)
    change, outcome = here.commit(), there.commit()
    assert not difference(there.views(), {name: set(here[name]) for name in here.relations})
    wanted = {name: (set(change[name].inserted), set(change[name].deleted)) for name in change}
    assert {name: both for name, both in there.changes(outcome).items() if any(both)} == wanted
    way = way_of_closure(there)
    if way != before:
        there.check()
    return way


def way_of_closure(db: Cluster) -> str:
    assert db.engine.plan is not None
    return {name: way for names, way in db.engine.plan.nodes for name in names}["con"]


PAIRS = "exchanged, its pairs written"


def test_a_closure_crosses_the_limit_in_both_directions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is what fits into memory. It matters where the rules change, and where a closure fits again."""
    monkeypatch.setattr(place, "EVERYWHERE", 10)
    rings = [(10 * i + k, 10 * i + (k + 1) % 10) for i in range(10) for k in range(10)]
    limits = PlacementLimits(replicate=0, gather=0)
    executors = LocalExecutors(memory=int(memory_of_closure(30, 15, 3)))
    here = tidelog.connect()
    with Cluster(3, limits, tmp_path / "state", executors) as there:
        for db in (here, there):
            db.load(LEAST)
        assert commit_both(there, here, rings[:25]) == "everywhere"
        assert commit_both(there, here, rings[25:50]) == "everywhere"
        executors.bytes = None  # Memory that is not known any more is no reason for another plan.
        before = there.engine.plan
        assert commit_both(there, here, gone=rings[:1]) == "everywhere"
        assert there.engine.plan is before
        executors.bytes = int(memory_of_closure(30, 15, 3))
        for db in (here, there):
            db.load(".decl first(x: number)\nfirst(x) :- con(0, x).")
        assert commit_both(there, here) == "everywhere"
        assert commit_both(there, here, rings[50:]) == "everywhere"
        assert "of memory would keep" not in there.engine.describe()
        for db in (here, there):
            db.load(".decl last(x: number)\nlast(x) :- con(99, x).")
        assert commit_both(there, here) == PAIRS
        needed = size_text(int(memory_of_closure(99, 99 / 2, 3)))
        sentence = f"con: partitions with {needed} of memory would keep its 99 edges as components, and write no pairs"
        assert sentence in there.engine.describe().splitlines()
        assert commit_both(there, here, gone=rings[1:75]) == PAIRS
        assert commit_both(there, here, gone=rings[75:76]) == "everywhere"
        assert commit_both(there, here, come=rings[:20]) == "everywhere"


def test_a_closure_is_everywhere_once_there_is_more_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "EVERYWHERE", 10)
    here = tidelog.connect()
    with Cluster(3, PlacementLimits(replicate=0, gather=0), tmp_path / "state") as there:
        for db in (here, there):
            db.load(LEAST)
        assert commit_both(there, here, EDGES[:50]) == PAIRS
        there.restart(save=True)
        assert commit_both(there, here, EDGES[50:51]) == PAIRS
        there.restart(save=False)
        assert isinstance(there.engine.executors, LocalExecutors)
        there.engine.executors.bytes = 10**9
        assert commit_both(there, here, EDGES[51:52]) == "everywhere"
        there.restart(save=True)  # Memory is not known.
        assert way_of_closure(there) == "everywhere"
        assert commit_both(there, here, EDGES[52:53]) == "everywhere"


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
