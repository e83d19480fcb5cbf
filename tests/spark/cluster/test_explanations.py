"""Explanations of the tuples of partitions in this process: those of the embedded engine, by few jobs."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import pytest

import tidelog
from tests.depth import cases
from tests.explain.test_changes_of_mind import ABSENCES
from tests.explain.test_proofs import FACTS, PROGRAM, PROOFS
from tests.generate import Row
from tests.scripts import Script, change_in, script_for
from tests.spark.cluster.harness import LIMITS, NOTHING_EVERYWHERE, SKEWED, Cluster
from tests.suite import FIRST_SEED
from tests.terms import terms_script
from tidelog.errors import LimitError, UsageError
from tidelog.language.inlining import INLINE
from tidelog.spark import cluster_views
from tidelog.spark.cluster.exchange.rounds import Task
from tidelog.spark.cluster.placement.place import PlacementLimits
from tidelog.spark.cluster.processes.executors import LocalExecutors

ACYCLIC = {**FACTS, "w": FACTS["w"][:3]}
"""Partitions derive dominated tuples as well, of which a cycle has no end."""
WAYS = [(1, NOTHING_EVERYWHERE), (3, SKEWED), *((3, limits) for limits in LIMITS)]


@pytest.fixture(params=[True, False], ids=["whole", "by words"])
def whole(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether small relations are fetched as a whole."""
    if not request.param:
        monkeypatch.setattr(cluster_views, "WHOLE", -1)
    return bool(request.param)


@pytest.mark.usefixtures("whole")
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_explanations_are_those_of_the_embedded_engine(way: tuple[int, PlacementLimits]) -> None:
    with Cluster(*way) as db:
        db.load(PROGRAM)
        for name, rows in ACYCLIC.items():
            db.insert(name, rows)
            db.commit()
        for goal, proof in PROOFS.items():
            found = db.explain(*goal)
            assert str(found) == proof
            assert not found.check(db).granted
        for goal, absence in ABSENCES.items():
            assert str(db.why_not(*goal)) == absence


@pytest.mark.usefixtures("whole")
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(2)))
@pytest.mark.parametrize("made", [script_for, terms_script], ids=["numbers", "values with branches"])
def test_random_programs_and_changes(made: Callable[[int], Script], seed: int) -> None:
    """After every epoch, proofs hold step by step and have the heights of those of the embedded engine, and absences
    have the same reasons."""
    rng, script = random.Random(seed), made(seed)
    way = WAYS[seed % len(WAYS)]
    with Cluster(*way) as there:
        here = tidelog.connect()
        for db in (here, there):
            db.load(script.text())
            for name, rows in script.facts.items():
                db.insert(name, sorted(rows, key=repr))
            db.commit()
        for epoch in [None, *script.epochs]:
            if epoch is not None:
                for db in (here, there):
                    change_in(db, script, epoch)
                    db.commit()
            problem = wrong_explanations(here, there, rng)
            assert not problem, f"{problem}\n{script}"


CONSTRUCTS = [
    "p(x, y) :- a(x, y), !b(y).",
    "p(x, y) :- a(x, y), !a(y, _).",
    "p(x, y) :- b(x), b(y), !a(x, y), x < y.",
    "p(x, n) :- b(x), n = count : { a(x, _) }.",
    "p(x, n) :- b(x), n = count : { a(_, _) }.",
    "p(x, n) :- b(x), n = sum y : { a(x, y), !b(y) }.",
    "p(x, n) :- b(x), n = max y : { a(x, z), a(z, y) }.",
    "p(x, n) :- a(x, y), n = count : { a(y, z), z > x }.",
    "p(x, n) :- b(x), n = count : { a(y, x), m = count : { a(y, _) }, m > 1 }.",
    "p(x, c) :- b(x), a(y, z), z > 3, c = min w : { a(y, w) }.",
    "p(x, y) :- a(x, y), (b(x) ; y = 3 ; !b(y), a(y, x)).",
    "p(x, y + 1) :- b(x), a(x, y), z = y - x, a(_, z).",
    "p(x, y) :- <a/^a>(x, y), !<a+>(y, x).",
    "p(x, n) :- b(x), n = count : { <a+>(x, y), b(y) }.",
    "p(x, y) :- r(x, [y, l]), l != nil. .type L = [h: number, t: L] .decl r(x: number, l: L) "
    "r(x, [y, nil]) :- a(x, y). r(x, [y, l]) :- a(x, y), r(y, l), !b(y), x < y.",
    "p(x, y) :- a(x, y), x < y. p(x, z) :- p(x, y), a(y, z), !b(z), x < z.",
    "p(x, n) :- d(x, n). .decl d(x: number, n: number) min(n) d(1, 0). d(y, n + 1) :- d(x, n), a(x, y), n < 4.",
    "p(x, n) :- d(x, n), !b(n). .decl d(x: number, n: number) d(x, n) :- a(x, n). d(x, m) <= d(x, n) :- n <= m.",
    "p(x, y) :- s(x, y), x < y. .decl s(x: number, y: number) eqrel s(x, y) :- a(x, y), !b(x).",
    ".comp C { .decl r(x: number, y: number) r(x, y) :- a(y, x), !b(x). } .init c = C p(x, y) :- c.r(x, y).",
    ".decl i(x: number, y: number) inline i(x, y) :- a(x, z), a(z, y), !b(z). p(x, y) :- i(x, y), !a(y, x).",
]


@pytest.mark.parametrize("way", WAYS[:2], ids=str)
@pytest.mark.parametrize("text", CONSTRUCTS)
def test_each_construct_by_itself(text: str, way: tuple[int, PlacementLimits], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question begins without rows, and fetches those that it reads."""
    monkeypatch.setattr(cluster_views, "WHOLE", -1)
    facts: dict[str, list[Row]] = {
        "a": [(0, 1), (1, 2), (1, 3), (2, 0), (2, 2), (3, 4), (4, 3)],
        "b": [(1,), (2,), (4,)],
    }
    here = tidelog.connect()
    with Cluster(*way) as there:
        for db in (here, there):
            db.load(f".decl a(x: number, y: number) .decl b(x: number) .decl p(x: number, y: number) {text}")
            for name, rows in facts.items():
                db.insert(name, rows)
            db.commit()
        for row in product(range(5), repeat=2):
            if row in here["p"]:
                assert str(there.explain("p", row)) == str(here.explain("p", row))
            else:
                assert str(there.why_not("p", row)) == str(here.why_not("p", row))
            assert there.ad_hoc._alone is None
            there.ad_hoc.close()


def wrong_explanations(here: tidelog.Database, there: Cluster, rng: random.Random) -> str:
    """Return where explanations of two databases with equal facts and rules differ, "" if they do not."""
    shown = [name for name, each in here.program.relations.items() if INLINE not in each.qualifiers]
    goals: list[tuple[str, Row]] = [(name, row) for name in shown for row in here[name]]
    for name, row in rng.sample(sorted(goals, key=repr), min(8, len(goals))):
        proof, expected = there.explain(name, row), here.explain(name, row)
        if proof.check(there).granted or proof.height != expected.height:
            return f"{name}{row}:\n{proof}\nis not\n{expected}"
    for name in shown:
        columns = here.program.relations[name].columns
        if goals and columns and all(column.kind == "number" for column in columns):
            row = tuple(rng.randrange(6) for _ in columns)
            if row not in here[name]:
                absence, wanted = there.why_not(name, row).to_dict(), here.why_not(name, row).to_dict()
                if outline(absence) != outline(wanted):
                    return f"{name}{row}:\n{absence}\nis not\n{wanted}"
    return "something was found by births" if there.ad_hoc._alone is not None else ""


def outline(absence: dict[str, Any]) -> Any:
    """An absence without the tuples that are near, of which there may be others."""
    keys = ("rule", "met", "failed", "bindings")
    return [(*(each[key] for key in keys), each["below"] and outline(each["below"])) for each in absence["attempts"]]


class Counting(LocalExecutors):
    """Executors that count the times that they are asked."""

    asked = 0

    def run(self, tasks: Sequence[Task]) -> list[Any]:
        self.asked += 1
        return super().run(tasks)


CHAIN = """
.decl e(x: number, y: number)
.decl stop(x: number)
.decl s(x: number)
.decl t(x: number, y: number)
.decl n(x: number, c: number)
.decl c(x: number, y: number)
s(0).
next: s(y) :- s(x), e(x, y), !stop(y).
first: t(x, y) :- e(x, y).
more: t(x, z) :- t(x, y), t(y, z), !stop(z).
size: n(x, c) :- e(x, _), c = count : { t(x, _) }.
c(x, y) :- e(x, y).
c(x, z) :- c(x, y), e(y, z).
"""


@pytest.mark.parametrize(
    ("goal", "most"),
    [
        (("s", (12,)), 1 + 12 * 2),
        (("t", (0, 16)), 1 + 5 * 2),
        (("n", (30, 10)), 1 + 5 * 2),
        (("c", (0, 16)), 1 + 16),
    ],
    ids=lambda each: str(each[0]) if isinstance(each, tuple) else "",
)
def test_jobs_are_as_many_as_levels(goal: tuple[str, Row], most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_views, "WHOLE", -1)
    executors = Counting()
    with Cluster(3, executors=executors) as db:
        db.load(CHAIN)
        db.insert("e", [(i, i + 1) for i in range(40)])
        db.commit()
        executors.asked = 0
        proof = db.explain(*goal)
        assert executors.asked <= most
        proof.check(db)
        executors.asked = 0
        assert db.explain(*goal) == proof
        assert executors.asked == 0
        db.insert("stop", [(77,)])
        db.commit()
        assert db.explain(*goal) == proof


@pytest.mark.smoke
def test_many_derivations_are_explained_by_births(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_views, "WHOLE", -1)
    monkeypatch.setattr(cluster_views.FetchedViews, "budget", 3)
    with Cluster(3) as db:
        db.load(CHAIN)
        db.insert("e", [(i, i + 1) for i in range(20)])
        db.commit()
        rows = sum(map(len, db.views().values()))
        db.most = rows - 1
        with pytest.raises(UsageError, match=f"E0688.*needs {rows} rows at the driver, .* is {rows - 1}"):
            db.explain("t", (0, 20))
        db.most = rows
        assert not db.explain("t", (0, 20)).check(db).granted


def test_limits() -> None:
    with Cluster(3) as db:
        db.load(CHAIN)
        db.insert("e", [(i, i + 1) for i in range(20)])
        db.commit()
        db.most = 10
        with pytest.raises(UsageError, match=r"E0688.*more rows at the driver than the embedded_limit, 10"):
            db.explain("t", (0, 16))
        db.most = 1_000
        db.options = db.options.with_options({"timeout": 1e-9})
        with pytest.raises(LimitError, match="E0501"):
            db.explain("t", (0, 16))


def test_rows_that_only_a_later_question_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule is asked twice where its first atom has no match, so that its plans are made without rows of others."""
    monkeypatch.setattr(cluster_views, "WHOLE", -1)
    with Cluster(3) as db:
        db.load(".decl a(x: number, y: number) .decl b(y: number) .decl p(x: number) one: p(x) :- a(x, y), b(y).")
        db.insert("p", [(1,), (2,)])
        db.insert("a", [(3, 4)])
        db.insert("b", [(y,) for y in range(100)])
        db.commit()
        db.most = 50
        for fact in (1, 2):
            assert len(list(db.explainer.proofs("p", (fact,), db.explained, db.options.watch()))) == 1
        assert db.explain("p", (3,)).facts == (("a", (3, 4)), ("b", (4,)))


def test_paths_that_only_a_part_of_a_rule_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """`why_not` asks for parts of bodies, whose paths may be other relations than those of the whole body."""
    monkeypatch.setattr(cluster_views, "WHOLE", -1)
    text = ".decl a, b(x: number, y: number) .decl r(x: number) r(x) :- <a/b>(x, y), <(b/a)+>(y, z), <a*>(z, x)."
    facts = {"a": [(1, 2), (3, 4), (5, 1)], "b": [(2, 3), (4, 5)]}
    here = tidelog.connect()
    with Cluster(3) as there:
        for db in (here, there):
            db.load(text)
            for name, rows in facts.items():
                db.insert(name, rows)
            db.commit()
        for x in range(7):
            if (x,) in here["r"]:
                assert str(there.explain("r", (x,))) == str(here.explain("r", (x,)))
            else:
                assert outline(there.why_not("r", (x,)).to_dict()) == outline(here.why_not("r", (x,)).to_dict())
