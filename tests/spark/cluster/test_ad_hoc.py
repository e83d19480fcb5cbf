"""Certificates of what partitions have, and paths that no rule asks for, on partitions in this process."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tests.depth import cases
from tests.paths.automata import pairs, random_path
from tests.spark.cluster.harness import NOTHING_EVERYWHERE, Cluster
from tests.suite import FIRST_SEED
from tidelog.errors import CertificateRejected, LimitError, UsageError
from tidelog.language.reading import read_body
from tidelog.limits.watch import Watch
from tidelog.queries.bodies import body_of
from tidelog.queries.pattern import atom_of, pattern_of
from tidelog.spark.cluster.placement.place import PlacementLimits
from tidelog.spark.rows import DriverRows
from tidelog.workspace.options import DatabaseOptions

GRAPH = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl far(x: number, n: number)
.decl lonely(x: number)
t1: t(x, y) :- e(x, y).
t2: t(x, z) :- t(x, y), t(y, z).
far(x, n) :- e(x, _), n = count : { t(x, _) }.
lonely(x) :- e(x, _), !t(x, x).
"""


@pytest.fixture(params=[NOTHING_EVERYWHERE, PlacementLimits()], ids=["split", "everywhere"])
def graph(request: pytest.FixtureRequest) -> Any:
    with Cluster(limits=request.param) as db:
        db.load(GRAPH)
        db.insert("e", [(1, 2), (2, 3), (3, 1), (3, 4), (8, 9)])
        db.commit()
        yield db


def test_certificates_follow_changes(graph: Cluster) -> None:
    graph.check()
    graph.delete("e", [(3, 1), (8, 9)])
    graph.insert("t", [(4, 4)])
    graph.commit()
    graph.check()
    graph.rules.remove("t2")
    graph.commit()
    assert graph["t"] == {(1, 2), (2, 3), (3, 4), (4, 4)}
    graph.check()


@pytest.mark.parametrize(
    ("name", "wrong", "codes"),
    [
        ("t", lambda rows: rows[1:], {"E0802", "E0803"}),
        ("t", lambda rows: np.append(rows, [[9, 1]], axis=0), {"E0802", "E0803"}),
        ("far", lambda rows: np.add(rows, [0, 1]), {"E0802", "E0803"}),
        ("lonely", lambda rows: rows[:0], {"E0802"}),
        ("e", lambda rows: rows[1:], {"E0801", "E0803"}),
    ],
)
def test_wrong_views_are_rejected(
    graph: Cluster, name: str, wrong: Any, codes: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = graph.engine.relation

    def relation(asked: str) -> Any:
        return DriverRows(wrong(right(asked).local())) if asked == name else right(asked)

    monkeypatch.setattr(graph.engine, "relation", relation)
    with pytest.raises(CertificateRejected) as rejected:
        graph.check()
    assert {problem.code for problem in rejected.value.problems} == codes


def test_a_certificate_has_its_limits(graph: Cluster) -> None:
    rows = sum(graph.engine.size(name) for name in graph.workspace.program.relations)
    with pytest.raises(UsageError, match=rf"E0688.*needs {rows} rows at the driver, .* is {rows - 1}"):
        graph.ad_hoc.certificate(graph.engine, rows - 1, Watch())
    with pytest.raises(LimitError, match="E0501"):
        graph.ad_hoc.certificate(graph.engine, rows, Watch(timeout=1e-9))


@pytest.mark.smoke
@pytest.mark.parametrize("most", [0, 1000], ids=["cluster", "driver"])
def test_paths_that_no_rule_asks_for(most: int) -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + cases(6)):
        rng = random.Random(seed)
        path, other = random_path(rng, "abd"), random_path(rng, "ab")
        graph = {name: {(rng.randrange(5), rng.randrange(5)) for _ in range(rng.randrange(1, 7))} for name in "ab"}
        nodes = {value for edges in graph.values() for edge in edges for value in edge}
        with Cluster() as db:
            db.load(f".decl a, b, d(x: number, y: number)\nd(x, y) :- <{other}>(x, y).")
            for name, edges in graph.items():
                db.insert(name, edges)
            db.commit()
            graph["d"] = pairs(other, graph, nodes)
            for asked in (path, other, f"({other})?"):
                atom = atom_of(read_body(f"<{asked}>(X, Y)"))
                assert atom is not None
                pattern = pattern_of(atom, db.workspace.programs)
                _, found, _ = db.ad_hoc.answer(pattern, {}, db.engine, most, DatabaseOptions(), db.engine.relation)
                assert set(map(tuple, found.local().tolist())) == pairs(asked, graph, nodes), f"seed {seed}, {asked}"
            db.ad_hoc.close()


@pytest.mark.parametrize("most", [0, 1000], ids=["cluster", "driver"])
@pytest.mark.parametrize(
    ("body", "values", "answer"),
    [
        ("e(x, y), t(y, k), y != x", {"k": 4}, {(1, 2), (2, 3), (3, 1)}),
        ("t(k, x), !e(_, x)", {"k": 1}, set()),
        ("far(x, n), n > most, e(x, y)", {"most": 2}, {(1, 4, 2), (2, 4, 3), (3, 4, 1), (3, 4, 4)}),
        ("e(x, _), n = sum y + k : { e(x, y) }", {"k": 10}, {(1, 12), (2, 13), (3, 25), (8, 19)}),
        ("(lonely(x) ; e(x, x))", {}, {(8,)}),
        ("<e/e>(k, y), z = y * 3000000000", {"k": 1}, {(3, 9_000_000_000)}),
        ("e(1, 2), !e(2, 1)", {}, {()}),
    ],
)
def test_queries_that_are_bodies(
    graph: Cluster, most: int, body: str, values: dict[str, object], answer: set[tuple[int, ...]]
) -> None:
    asked = body_of(read_body(body), values, graph.workspace.programs, graph.workspace.given)
    _, found, _ = graph.ad_hoc.answer(asked, values, graph.engine, most, DatabaseOptions(), graph.engine.relation)
    assert set(map(tuple, found.local().tolist())) == answer
    graph.ad_hoc.close()
