"""Since when facts are there, as partitions in this process know: that of the embedded engine and of brute force."""

from __future__ import annotations

import random

import pytest

from tests.depth import cases
from tests.explain.test_blame import DECLARED, History
from tests.spark.cluster.harness import LIMITS, SKEWED, Cluster
from tests.spark.cluster.test_explanations import Counting
from tests.suite import FIRST_SEED
from tidelog.spark import cluster_views
from tidelog.spark.cluster import manifest
from tidelog.spark.cluster.placement.place import PlacementLimits
from tidelog.spark.cluster.processes.executors import LocalExecutors

NARROWED = PlacementLimits(replicate=1, closures=0, gather=0)
"""Facts are everywhere until there are some."""
WAYS = [*LIMITS, SKEWED, NARROWED]


@pytest.mark.parametrize("limits", WAYS, ids=str)
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(2)))
def test_random_histories(seed: int, limits: PlacementLimits, monkeypatch: pytest.MonkeyPatch) -> None:
    """Partitions that are lost come back from their files, also from those in the place of many."""
    rng, history, executors = random.Random(seed), History(), LocalExecutors()
    monkeypatch.setattr(manifest, "_ENTRIES", rng.choice([0, 3, 40]))
    monkeypatch.setattr(cluster_views, "WHOLE", rng.choice([-1, 10_000]))
    with Cluster(3, limits, executors=executors) as db:
        db.load(DECLARED)
        for _ in range(8):
            history.step(db, rng)
            if rng.random() < 0.4:
                executors.keepers.clear()
        history.check(db)


@pytest.mark.parametrize("most", [2, 1_000], ids=["few epochs in files", "many"])
def test_facts_that_outgrow_everywhere(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "_ENTRIES", most)
    executors, homes = LocalExecutors(), []
    with Cluster(3, PlacementLimits(replicate=2, closures=0), executors=executors) as db:
        db.load(".decl e(x: number, y: number) .decl t(x: number) one: t(x) :- e(x, _).")
        for epoch in range(1, 9):
            db.insert("e", [(epoch, 0), (epoch, 1), (1, epoch)])
            db.delete("e", [(epoch - 1, 1)])
            db.commit()
            assert db.engine.plan is not None
            homes.append(db.engine.plan.homes["e"])
        assert (homes[0], homes[-1]) == ("all", 0)
        for _ in range(2):
            assert [db.blame("e", (x, 0)).epoch for x in range(1, 9)] == list(range(1, 9))
            assert [db.blame("e", (1, y)).epoch for y in range(2, 9)] == list(range(2, 9))
            executors.keepers.clear()
            db.ad_hoc.close()


@pytest.mark.smoke
def test_one_job_for_the_facts_of_a_proof() -> None:
    executors = Counting()
    with Cluster(3, executors=executors) as db:
        db.load(".decl e, f(x: number, y: number) .decl t(x: number) one: t(x) :- e(x, y), f(y, x).")
        db.insert("e", [(1, 2)])
        db.commit()
        db.insert("f", [(2, 1)])
        db.commit()
        db.explain("t", (1,))
        executors.asked = 0
        found = db.blame("t", (1,))
        assert (found.epoch, found.facts, executors.asked) == (2, (("f", (2, 1)),), 1)
