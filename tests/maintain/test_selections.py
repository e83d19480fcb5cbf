"""Relations that select follow facts and rules, and show only what they select."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest

import tidelog
from tests.depth import cases
from tests.generate import Row
from tests.selecting import FAMILIES, run, script_for
from tests.suite import FIRST_SEED, checked
from tidelog.certificate import certificate_of, check
from tidelog.reference import naive

GRAPH = """
.decl edge(x: symbol, y: symbol, w: number)
.decl dist(x: symbol, d: number) min(d)
r1: dist("a", 0) :- edge("a", _, _).
r2: dist(y, d + w) :- dist(x, d), edge(x, y, w).
.decl far(x: symbol)
r3: far(x) :- dist(x, d), d > 3.
edge("a", "b", 2). edge("b", "c", 2). edge("a", "c", 5).
"""
CHUNK = 20


def connected(text: str = GRAPH) -> tidelog.Database:
    db = tidelog.connect()
    db.load(text)
    db.commit()
    return db


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("strategy", ["update", "auto", "bootstrap"])
def test_random_scripts(family: str, strategy: str) -> None:
    first = FIRST_SEED + 10_000 * ["update", "auto", "bootstrap"].index(strategy)
    for seed in range(first, first + cases(CHUNK if strategy == "update" else CHUNK // 4)):
        script = script_for(seed * len(FAMILIES) + list(FAMILIES).index(family))
        problem = run(script, strategy)
        assert not problem, f"{problem}\n{script}"


def test_every_family_drops_dominated_tuples_where_its_rules_are_monotone() -> None:
    """The scripts above would not tell otherwise: without a dropping mode all views would be right as well."""
    reading = {"lexicographic": "d", "values joined": "d", "heads": "m", "conditions": "d", "not monotone": "d"}
    reading |= {"conditions on readers": "dm", "paths": "dm"}
    for number, family in enumerate(FAMILIES):
        program = tidelog.connect()
        program.load("\n".join([script_for(number).declarations, *script_for(number).rules.values()]))
        report = program.commit().report
        modes = {name: node.reason for node in report.nodes for name in node.relations if name in "dmp"}
        for name, reason in modes.items():
            if name in program.engine.program.candidates and name not in reading.get(family, ""):
                assert reason.endswith("dominated tuples are dropped"), (family, name, reason)


WILDCARDS = """
.decl e(x: number, y: number, w: number)
.decl d(x: number, c: number) min(c)
.decl p(x: number)
d(x, 9) :- e(x, x, _).
d(y, c + w) :- d(_, c), e(_, y, w), p(y), c < 20.
p(x) :- d(x, _), e(_, x, _).
p(y) :- p(_), e(_, y, _).
"""


def test_a_wildcard_in_a_key_is_no_obstacle() -> None:
    """A relation of the costs without the key would have dominated ones, too, and select nothing."""
    rows = [(1, 1, 4), (1, 2, 3), (2, 3, 0), (3, 2, 1)]
    db = tidelog.connect()
    db.load(WILDCARDS)
    db.insert("e", rows)
    (reason,) = (node.reason for node in db.commit().report.nodes if "d" in node.relations)
    assert reason.endswith("dominated tuples are dropped")
    facts: dict[str, set[Row]] = {"e": set(rows)}
    for relation in ("d", "p"):
        assert set(db[relation]) == naive.evaluate(checked(WILDCARDS), facts, ("d",))[relation]
    assert set(db["d"]) == {(1, 9), (2, 10), (3, 9)}
    db.delete("e", [(2, 3, 0)])
    db.commit()
    assert set(db["d"]) == naive.evaluate(checked(WILDCARDS), {"e": {*rows} - {(2, 3, 0)}}, ("d",))["d"]
    check_now(db)


def test_cycles_end() -> None:
    """The least model has no end, its selection does."""
    db = connected()
    db.insert("edge", [("c", "a", 1), ("b", "b", 0), ("c", "b", 0)])
    change = db.commit()
    assert set(db["dist"]) == {("a", 0), ("b", 2), ("c", 4)}
    assert not change.report.bootstraps
    db.delete("edge", [("a", "b", 2)])
    db.commit()
    assert set(db["dist"]) == {("a", 0), ("b", 5), ("c", 5)}
    db.delete("edge", [("a", "c", 5)])
    db.commit()
    assert len(db["dist"]) == 0


def test_negative_weights_without_a_negative_cycle() -> None:
    db = connected()
    db.insert("edge", [("b", "c", -1), ("c", "b", 2), ("c", "d", -3)])
    db.commit()
    assert set(db["dist"]) == {("a", 0), ("b", 2), ("c", 1), ("d", -2)}


def test_values_that_follow_from_themselves_are_found_among_all_tuples() -> None:
    """`max(c - 1, 0)` improves the value that it starts from, so the best tuple has only itself as a reason."""
    db = connected(
        ".decl f(x: number, c: number)\n.decl d(x: number, c: number) min(c)\n"
        "d(x, c) :- f(x, c).\nd(x, max(c - 1, 0)) :- d(x, c)."
    )
    db.insert("f", [(1, 5), (2, 3)])
    reasons = [node.reason for node in db.commit().report.nodes]
    assert set(db["d"]) == {(1, 0), (2, 0)}
    assert any("did not settle" in reason for reason in reasons)
    db.delete("f", [(1, 5)])
    db.commit()
    assert set(db["d"]) == {(2, 0)}
    check_now(db)


READERS = """
.decl offer(shop: symbol, price: number)
.decl best(shop: symbol, price: number)
.decl even(price: number)
.decl cheapest(price: number, shop: symbol) choice-domain shop
.decl least(parity: number, price: number) min(price)
.decl shown(price: number)
best(s, p) :- offer(s, p).
best(s, p) <= best(s, q) :- q < p, even(q), least(0, q), cheapest(q, s).
even(p) :- best(_, p), p % 2 = 0.
least(p % 2, p) :- best(_, p).
cheapest(p, s) :- best(s, p), even(p).
shown(p) :- best(_, p).
offer("a", 1). offer("a", 2). offer("a", 3). offer("b", 4). offer("b", 6).
"""


def test_a_condition_reads_what_depends_on_its_relation() -> None:
    """Rules between the relation and its condition read all tuples, all others the shown ones."""
    db = connected(READERS)
    assert set(db["best"]) == {("a", 1), ("a", 2), ("b", 4)}
    assert set(db["even"]) == {(2,), (4,), (6,)}
    assert set(db["shown"]) == {(1,), (2,), (4,)}
    db.delete("offer", [("a", 2)])
    db.insert("offer", [("c", 4), ("c", 9)])
    report = db.commit().report
    assert {node.strategy for node in report.nodes} <= {"update", "skip"}
    assert set(db["best"]) == {("a", 1), ("a", 3), ("b", 4), ("c", 4)}
    assert set(db["least"]) == {(0, 4), (1, 1)}
    assert set(db["shown"]) == {(1,), (3,), (4,)}
    check_now(db)


def test_proofs_of_what_a_condition_reads_may_need_hidden_tuples() -> None:
    db = connected(READERS)
    db.insert("offer", [("a", 8)])
    db.commit()
    proof = db.explain("even", (8,))
    assert 'best("a", 8)   [r1 at <text>:8:1, not shown by its selection: best("a", 2) is preferred]' in str(proof)
    proof.check()


def test_the_rules_of_a_condition_come_and_go() -> None:
    db = connected(READERS)
    db.rules.remove("r2")
    db.commit()
    assert len(db["best"]) == 5
    db.rules.add("back: best(s, p) <= best(s, q) :- q > p, even(q), even(p).")
    db.commit()
    assert set(db["best"]) == {("a", 1), ("a", 2), ("a", 3), ("b", 6)}
    assert set(db["shown"]) == {(1,), (2,), (3,), (6,)}


def test_a_path_leads_along_all_tuples_within_the_recursion_and_along_shown_ones_outside() -> None:
    db = connected("""
    .decl e(x: number, y: number)
    .decl d(x: number, y: number) min(y)
    .decl out, further(x: number, y: number)
    d(x, y) :- e(x, y).
    d(x, z) :- d+(x, z).
    out(x, z) :- d+(x, z).
    further(x, z) :- <(d+/e)+>(x, z).
    e(1, 2). e(1, 3). e(3, 0). e(2, 5).
    """)
    assert set(db["d"]) == {(1, 0), (2, 5), (3, 0)}
    assert set(db["out"]) == {(1, 0), (2, 5), (3, 0)}
    assert set(db["further"]) == set()
    db.insert("e", [(0, 7)])
    db.commit()
    assert set(db["out"]) == {(0, 7), (1, 0), (1, 7), (2, 5), (3, 0), (3, 7)}
    assert set(db["further"]) == {(1, 7), (3, 7)}
    db.rules.remove("r2")
    db.commit()
    assert set(db["d"]) == {(0, 7), (1, 2), (2, 5), (3, 0)}
    assert set(db["out"]) == {(0, 7), (1, 2), (1, 5), (2, 5), (3, 0), (3, 7)}
    check_now(db)


def test_certificates_of_selected_tuples(tmp_path: Path) -> None:
    db = connected()
    db.insert("edge", [("c", "a", 1)])
    db.commit()
    check_now(db)
    db.save_certificate(tmp_path / "saved")
    tidelog.check_certificate(tmp_path / "saved")


Rows = list[tuple[Any, ...]]
FORGERIES: dict[str, tuple[str, Callable[[Rows], Rows], str]] = {
    "a worse tuple": ("dist", lambda rows: [*rows, ("c", 5)], "E0805"),
    "a better tuple": ("dist", lambda rows: [*(row for row in rows if row[0] != "c"), ("c", 3)], "E0803"),
    "a tuple that is missing": ("dist", lambda rows: [row for row in rows if row[0] != "c"], "E0802"),
    "a worse one in the place of the best": (
        "dist",
        lambda rows: [*(row for row in rows if row[0] != "c"), ("c", 5)],
        "E0802",
    ),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_selections_are_rejected(forgery: str) -> None:
    relation, forge, code = FORGERIES[forgery]
    db = connected()
    certificate = certificate_of(db.engine, db.workspace.committed.checked)
    honest, births = certificate.view(relation)
    words = {str(row[0]): word for row, word in zip(db[relation], honest.tolist(), strict=True) for word in word[:1]}
    rows = [(words[name], cost) for name, cost in forge(list(db[relation]))]
    born = dict(zip(map(tuple, honest.tolist()), births.tolist(), strict=True))
    view = numpy.array(rows), numpy.array([born.get(row, 90) for row in rows])
    forged = replace(certificate, view=lambda name: view if name == relation else certificate.view(name))
    with pytest.raises(tidelog.CertificateRejected) as raised:
        check(forged)
    assert code in {problem.code for problem in raised.value.problems}


def check_now(db: tidelog.Database) -> None:
    check(certificate_of(db.engine, db.workspace.committed.checked))


@pytest.mark.parametrize("strategy", ["auto", "update"])
def test_candidates_that_are_a_closure_are_all_looked_at(strategy: str) -> None:
    """Only the pairs that an epoch has changed are rows meanwhile."""
    db = tidelog.connect()
    db.options(strategy=strategy)
    db.load(".decl e(x: number, y: number) .decl d(x: number, c: number) min(c)")
    db.load("one: d(x, y) :- e(x, y). more: d(x, z) :- <d/d>(x, z).")
    db.insert("e", [(1, 5), (5, 3)])
    db.commit()
    assert set(db["d"]) == {(1, 3), (5, 3)}
    assert "#all.d" in db.engine.closures
    steps: list[tuple[list[Row], list[Row], set[Row]]] = [
        ([], [(3, 2)], {(1, 2), (5, 2), (3, 2)}),
        ([], [(1, 9)], {(1, 2), (5, 2), (3, 2)}),
        ([(5, 3)], [], {(1, 5), (3, 2)}),
        ([(1, 5)], [(3, 7)], {(1, 9), (3, 2)}),
    ]
    for gone, came, expected in steps:
        db.delete("e", gone)
        db.insert("e", came)
        assert db.commit().report.bootstraps == 0
        assert set(db["d"]) == expected
        db.check()


def test_a_better_way_is_a_change_of_one_tuple_for_another() -> None:
    db = connected()
    assert set(db["dist"]) == {("a", 0), ("b", 2), ("c", 4)}
    db.insert("edge", [("a", "c", 1)])
    change = db.commit()
    assert (set(change["dist"].inserted), set(change["dist"].deleted)) == ({("c", 1)}, {("c", 4)})
    assert set(change) == {"edge", "dist", "far"}
    assert not change.report.bootstraps


def test_the_next_best_takes_the_place_of_what_goes() -> None:
    db = connected()
    db.delete("edge", [("b", "c", 2)])
    db.commit()
    assert set(db["dist"]) == {("a", 0), ("b", 2), ("c", 5)}


KINDS: dict[str, list[Any]] = {
    "number": [-(2**63), -5, -1, 0, 7, 2**63 - 1],
    "unsigned": [0, 7, 2**63 - 1, 2**63, 2**64 - 1],
    "float": [-numpy.inf, -2.5, -1.5, 0.0, 1e-300, 3.5, numpy.inf],
}
"""Values of each kind, in ascending order."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("best", [min, max])
def test_values_of_every_kind_have_their_order(kind: str, best: Callable[[list[Any]], Any]) -> None:
    """They come and go one by one."""
    db = connected(
        f".decl e(x: number, c: {kind})\n.decl d(x: number, c: {kind}) {best.__name__}(c)\nd(x, c) :- e(x, c)."
    )
    db.options(strategy="update")
    values = KINDS[kind][1::2] + KINDS[kind][::2]
    for i, value in enumerate(values, 1):
        db.insert("e", [(1, value)])
        db.commit()
        assert set(db["d"]) == {(1, best(values[:i]))}
    while len(values) > 1:
        values.remove(best(values))
        db.delete("e", set(db["d"]))
        assert db.commit().report.bootstraps == 0
        assert set(db["d"]) == {(1, best(values))}


def test_a_fact_competes_with_derived_tuples() -> None:
    db = connected()
    db.insert("dist", [("c", 3), ("b", 9)])
    db.commit()
    assert set(db["dist"]) == {("a", 0), ("b", 2), ("c", 3)}
    db.delete("dist", [("c", 3)])
    db.commit()
    assert set(db["dist"]) == {("a", 0), ("b", 2), ("c", 4)}


def test_candidates_have_the_name_of_their_relation() -> None:
    db = connected()
    assert set(db.stats()["relations"]) == {"edge", "dist", "far"}
    assert {name for node in db.commit().report.nodes for name in node.relations} == {"dist", "far"}
    assert {rule for node in db.rules.hyper_nodes for rule in node} == {"r1", "r2", "r3"}


def test_a_relation_begins_and_ceases_to_select() -> None:
    """Facts and views follow when subsumption rules come and go."""
    db = connected(".decl d(x: number, c: number)\n.decl e(x: number, c: number)\nr: d(x, c) :- e(x, c).")
    db.insert("d", [(1, 5), (2, 2)])
    db.insert("e", [(1, 3), (2, 4)])
    db.commit()
    db.rules.add("s: d(x, c) <= d(x, k) :- k <= c.")
    db.delete("d", [(2, 2)])
    change = db.commit()
    assert set(db["d"]) == {(1, 3), (2, 4)}
    assert set(change["d"].deleted) == {(1, 5), (2, 2)}
    db.rules.remove("s")
    db.insert("d", [(3, 3)])
    db.commit()
    assert set(db["d"]) == {(1, 3), (1, 5), (2, 4), (3, 3)}
    assert "s" not in db.rules


def test_a_store_comes_back_with_its_candidates(tmp_path: object) -> None:
    with tidelog.connect(f"{tmp_path}/store") as db:
        db.load(GRAPH)
        db.insert("dist", [("c", 3)])
        db.commit()
        db.insert("edge", [("c", "d", 1)])
        db.commit()
    with tidelog.connect(f"{tmp_path}/store") as db:
        assert set(db["dist"]) == {("a", 0), ("b", 2), ("c", 3), ("d", 4)}
        db.delete("dist", [("c", 3)])
        db.commit()
        assert set(db["dist"]) == {("a", 0), ("b", 2), ("c", 4), ("d", 5)}


def test_without_maintenance_the_views_are_the_same() -> None:
    db = tidelog.connect()
    db.options(maintain=False)
    db.load(GRAPH)
    db.commit()
    db.insert("edge", [("a", "c", 1)])
    db.commit()
    assert set(db["dist"]) == {("a", 0), ("b", 2), ("c", 1)}


def test_an_epoch_that_fails_leaves_the_selection() -> None:
    db = connected()
    before = db.births("dist")
    db.options(max_rows=3)
    db.insert("edge", [("c", f"n{i}", 1) for i in range(20)])
    with pytest.raises(tidelog.LimitError):
        db.commit()
    db.rollback()
    assert db.births("dist") == before
    db.options(max_rows=None)
    db.insert("edge", [("a", "c", 1)])
    db.commit()
    assert set(db["dist"]) == {("a", 0), ("b", 2), ("c", 1)}
