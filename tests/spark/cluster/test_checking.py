"""The check of views in the partitions: it accepts what is right, rejects every kind of forgery, and brings no views to
the driver."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from tests.spark.cluster.harness import GATHERED, LIMITS, NOTHING_EVERYWHERE, Cluster
from tidelog.errors import CertificateRejected, LimitError
from tidelog.limits.watch import Watch
from tidelog.rules import compile_program
from tidelog.spark.ad_hoc import AdHocEvaluator
from tidelog.spark.cluster.checking.joins import FOUND, steps_of
from tidelog.spark.cluster.placement.buckets import owners
from tidelog.spark.cluster.placement.place import PlacementLimits
from tidelog.storage.changes import start

WALKS = """
    .decl e(x: number, y: number)
    .decl t(x: number, y: number)
    .decl deg(x: number, n: number)
    .decl apart(x: number, y: number)
    .decl name(x: number, s: symbol)
    .decl any()
    t(x, y) :- e(x, y).
    t(x, z) :- t(x, y), t(y, z).
    deg(x, n) :- e(x, _), n = count : t(x, _).
    apart(x, y) :- e(x, _), e(_, y), !t(y, x), x + y < 100.
    name(x, cat("n", to_string(x))) :- deg(x, 2).
    any() :- t(x, x).
"""


def checked_in_partitions(db: Cluster) -> None:
    db.ad_hoc.check(db.engine, -1, Watch())


@pytest.fixture
def no_evaluation_on_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    def evaluated(*_: object) -> None:
        raise AssertionError("the driver has evaluated the program")

    monkeypatch.setattr(AdHocEvaluator, "_evaluate_on_driver", evaluated)


@pytest.mark.usefixtures("no_evaluation_on_the_driver")
@pytest.mark.parametrize("limits", LIMITS)
def test_views_are_accepted_as_facts_and_rules_come_and_go(limits: PlacementLimits) -> None:
    with Cluster(3, limits) as db:
        db.load(WALKS)
        db.insert("e", [(i, i + 1) for i in range(8)] + [(4, 2)])
        db.commit()
        checked_in_partitions(db)
        db.delete("e", [(4, 2), (6, 7)])
        db.insert("e", [(6, 0)])
        db.commit()
        checked_in_partitions(db)
        assert db["any"] == {()}
        db.rules.remove("r2")
        report = db.commit().report
        checked_in_partitions(db)
        assert db["any"] == set()
        assert report.nodes


PATHS = """
    .decl e(x: number, y: number)
    .decl t(x: number, y: number)
    t(x, y) :- e(x, y).
    t(x, z) :- t(x, y), t(y, z).
"""


@pytest.fixture
def graph() -> Iterator[Cluster]:
    """0 -> 1 -> 2 -> 3, and a fact t(9, 9), in partitions that exchange t."""
    with Cluster(2, NOTHING_EVERYWHERE) as db:
        db.load(PATHS)
        db.insert("e", [(0, 1), (1, 2), (2, 3)])
        db.insert("t", [(9, 9)])
        db.commit()
        yield db


def forged(db: Cluster, relation: str, row: tuple[int, ...], there: bool, number: int = 0) -> None:
    """Put a row into the view of a relation in the partition with a number, or take it from where it is."""
    assert db.engine.plan is not None
    copy = db.engine.plan.views[relation]
    words = np.array([row], np.int64)
    for task in db.engine.tasks("rows"):
        partition = db.engine.executors.keepers[task.folder, task.partition].partition  # type: ignore[attr-defined]
        stored = partition.engine.views[copy]
        if there and task.partition == number:
            stored.insert(words)
            return
        if not there and stored.find(words)[0] >= 0:
            start([stored])
            stored.remove(stored.find(words))
            stored.finish()
            return
    raise AssertionError(f"{relation}{row} is nowhere")


@pytest.mark.parametrize(
    ("relation", "row", "there", "code", "tuples"),
    [
        ("t", (0, 3), False, "E0802", r"derives t\(0, 3\)"),
        ("t", (3, 0), True, "E0803", r"t\(3, 0\) is in the view"),
        ("t", (9, 9), False, "E0801", r"t\(9, 9\) is a fact"),
        ("e", (5, 5), True, "E0802", r"derives t\(5, 5\)"),
    ],
)
def test_forged_views_are_rejected(
    graph: Cluster, relation: str, row: tuple[int, ...], there: bool, code: str, tuples: str
) -> None:
    forged(graph, relation, row, there)
    with pytest.raises(CertificateRejected, match=tuples) as caught:
        checked_in_partitions(graph)
    assert code in {problem.code for problem in caught.value.problems}


@pytest.mark.parametrize(("limits", "tuples"), [(PlacementLimits(), r"e\(5, 5\)"), (GATHERED, r"t\(5, 5\)")])
def test_a_forged_copy_in_the_partition_that_users_read_is_rejected(limits: PlacementLimits, tuples: str) -> None:
    """All partitions have e, and users read each row from the one in which it lives."""
    with Cluster(2, limits) as db:
        db.load(PATHS)
        db.insert("e", [(0, 1), (1, 2)])
        db.commit()
        checked_in_partitions(db)
        forged(db, "e", (5, 5), True, int(owners(np.array([5]), 2)[0]))
        with pytest.raises(CertificateRejected, match=tuples):
            checked_in_partitions(db)


@pytest.mark.smoke
def test_tuples_that_only_support_each_other_are_rejected() -> None:
    with Cluster(2, PlacementLimits()) as db:
        db.load(".decl e(x: number, y: number) .decl r(x: number) .decl s(x: number)")
        db.load("r(y) :- r(x), e(x, y). r(x) :- s(x).")
        db.insert("e", [(1, 2), (2, 1)])
        db.insert("s", [(7,)])
        db.commit()
        checked_in_partitions(db)
        forged(db, "r", (1,), True)
        forged(db, "r", (2,), True)
        with pytest.raises(CertificateRejected, match=r"r\([12]\)"):
            checked_in_partitions(db)


def test_a_partition_that_goes_ahead_is_older_than_others() -> None:
    """The first partition walks ten nodes of its own in its first round, and the second one goes on from there."""
    with Cluster(2, NOTHING_EVERYWHERE) as db:
        nodes = np.arange(100)
        first, second = (nodes[owners(nodes, 2) == number][:10].tolist() for number in (0, 1))
        db.load(".decl e(x: number, y: number) .decl s(x: number) .decl r(x: number)")
        db.load("r(x) :- s(x). r(y) :- r(x), e(x, y).")
        db.insert("s", [(first[0],)])
        db.insert("e", pairwise([*first, *second]))
        db.commit()
        assert len(db["r"]) == 20
        checked_in_partitions(db)


def test_the_time_of_a_check_is_limited(graph: Cluster) -> None:
    with pytest.raises(LimitError, match="E0501"):
        graph.ad_hoc.check(graph.engine, -1, Watch(timeout=0))


def test_a_check_leaves_no_files(graph: Cluster) -> None:
    before = set(graph.engine.folder.names())
    checked_in_partitions(graph)
    forged(graph, "t", (3, 0), True)
    with pytest.raises(CertificateRejected):
        checked_in_partitions(graph)
    assert set(graph.engine.folder.names()) == before


STEPS = {
    "h(x, z) :- p(x, y), q(y, z).": [({"p": (1,), "q": (0,)}, 2)],
    "h(x, w) :- p(x, y), q(y, z), p(z, w).": [({"p": (1,), "q": (0,)}, 2), ({"p": (0,), FOUND: (1,)}, 2)],
    "h(x, x) :- p(x, _), !q(x, x).": [({"p": (0,), "q": (0,)}, 2)],
    "h(x, z) :- p(x, 1), q(z, 2).": [({"p": (0,)}, 1), ({"q": None, FOUND: (0,)}, 2)],
    "h(x, z) :- p(x, y), z = y + 1, !q(z, 3).": [({"p": (0,)}, 2), ({"q": (0,), FOUND: (1,)}, 2)],
    "h(1, 2) :- !q(1, 2).": [({"q": ()}, 2)],
}


SIZES = {"p": 1_000, "q": 1_000, "#projection.p(x0, _)": 1_000, "h": 0}


@pytest.mark.parametrize("rule", STEPS)
def test_tables_meet_by_variables(rule: str) -> None:
    with Cluster() as db:
        db.load(f".decl p(x: number, y: number) .decl q(x: number, y: number) .decl h(x: number, y: number) {rule}")
        program = compile_program(db.workspace.draft().checked)
        rules = [rule for node in program.nodes for rule in node.rules if str(rule).startswith("r1")]
        steps = steps_of(rules[0], program.relations, dict.fromkeys(program.relations, 0), SIZES.__getitem__)
        assert [({each.source: each.key for each in step.inputs}, len(step.kinds)) for step in steps] == STEPS[rule]


def test_tables_of_small_relations_meet_first() -> None:
    """Here u and q by r would be all pairs with the same r."""
    with Cluster() as db:
        db.load(".decl p(x: number, y: number) .decl q(x: number, r: number, y: number)")
        db.load(".decl u(w: number, r: number, z: number) p(x, z) :- p(y, w), u(w, r, z), q(x, r, y).")
        program = compile_program(db.workspace.draft().checked)
        (rule,) = [rule for node in program.nodes for rule in node.rules]
        steps = steps_of(
            rule, program.relations, dict.fromkeys(program.relations, 0), {"p": 7, "q": 9, "u": 2}.__getitem__
        )
        assert [sorted(each.source for each in step.inputs) for step in steps] == [["p", "u"], ["", "q"]]
