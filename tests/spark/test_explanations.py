"""Explanations and trials of a database over a Spark session, on both engines."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import tidelog
from tests.explain.test_blame import DECLARED, History
from tests.explain.test_changes_of_mind import ABSENCES
from tests.explain.test_proofs import FACTS, PROGRAM, PROOFS
from tests.suite import FIRST_SEED
from tidelog.cli.entry import main
from tidelog.spark import SparkDatabase
from tidelog.spark.cluster.engine import PartitionedEngine

ACYCLIC = {**FACTS, "w": FACTS["w"][:3]}
"""Partitions derive dominated tuples as well, of which a cycle has no end."""


@pytest.fixture(params=["embedded", "cluster"], scope="module")
def db(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[SparkDatabase]:
    """A database on each engine; tests leave it as it was."""
    with tidelog.connect(spark=spark) as made:
        filled(made, request.param)
        yield made


def filled(db: SparkDatabase, engine: str) -> None:
    db.options(engine=engine)
    db.load(PROGRAM)
    for name, rows in ACYCLIC.items():
        db.insert(name, rows)
    assert db.commit().report.engine == engine


@pytest.fixture(scope="module")
def here() -> tidelog.Database:
    """An embedded database with the same facts and rules."""
    here = tidelog.connect()
    here.load(PROGRAM)
    for name, rows in ACYCLIC.items():
        here.insert(name, rows)
    here.commit()
    return here


def state(db: SparkDatabase) -> dict[str, Any]:
    return {**db.stats()["relations"], "r": set(db.local("r")), "epochs": db.stats()["epochs"]}


def test_proofs_and_absences_are_those_of_an_embedded_database(db: SparkDatabase, here: tidelog.Database) -> None:
    for goal, text in PROOFS.items():
        proof = db.explain(*goal)
        assert proof == here.explain(*goal)
        assert str(proof) == text
        assert not proof.check(here).granted
    assert not db.explain("r", ("a", "d")).check(db).granted
    for goal, text in ABSENCES.items():
        assert str(db.why_not(*goal)) == text


def test_all_proofs_and_what_ends_and_begins_a_tuple(db: SparkDatabase, here: tidelog.Database) -> None:
    before = state(db)
    proofs = list(db.explain("r", ("a", "d"), all=True))
    assert len(proofs) > 1
    assert proofs == list(here.explain("r", ("a", "d"), all=True))
    assert [each.facts for each in db.ways_to_remove("r", ("a", "d"))] == [
        (("e", ("c", "d")),),
        (("e", ("a", "b")), ("e", ("a", "c"))),
        (("e", ("a", "c")), ("e", ("b", "c"))),
    ]
    assert [each.rules for each in db.ways_to_remove("r", ("a", "d"), rules=True)] == [("direct",), ("step",)]
    assert next(db.ways_to_derive("closed", ("zz", "b"))) == (("e", ("zz", "b")),)
    assert state(db) == before


def test_a_trial_shows_the_change_and_takes_it_back(db: SparkDatabase) -> None:
    heard: list[object] = []
    end = db.subscribe("ok", heard.append)
    before, frame = state(db), db["ok"]
    with db.what_if() as trial:
        trial.delete("e", [("a", "b")])
        trial.rules.add(".decl fresh(a: symbol, r: L) new: ok(x, 77) :- blocked(x). fresh(x, [n, nil]) :- ok(x, n).")
    change = trial.change
    assert change is not None
    assert change.report.engine == db.stats()["engine"]
    assert {tuple(row) for row in change["ok"].inserted.collect()} == {("a", 2), ("d", 77)}
    assert {tuple(row) for row in change["ok"].deleted.collect()} == {("a", 3)}
    assert change["fresh"].inserted.count() == 5
    assert change["blocked"].inserted.count() == 0
    assert {tuple(row) for row in frame.collect()} == {("a", 3), ("b", 2), ("c", 2), ("d", 2)}
    assert state(db) == before
    assert not db.has_pending
    assert not heard
    with db.transaction(dry_run=True) as block:
        block.insert("blocked", db.session.createDataFrame([("a",)], "a string"))
    assert block.change is not None
    assert ("a", "b") in {tuple(row) for row in block.change["r"].deleted.collect()}
    with pytest.raises(tidelog.TidelogError), db.what_if() as failing:
        failing.insert("e", [("x", 3)])
    with db.what_if() as nothing:
        nothing.insert("e", [("a", "b")])
    assert nothing.change is not None
    assert list(nothing.change) == []
    assert state(db) == before
    end()


@pytest.mark.parametrize(
    ("relation", "values", "code"),
    [
        ("r", ("d", "a"), "E0670"),
        ("r", ("a", "unknown"), "E0670"),
        ("r", ("a",), "E0405"),
        ("r", ("a", 3), "E0401"),
        ("nobody", ("a", "b"), "E0601"),
    ],
)
def test_what_cannot_be_explained(db: SparkDatabase, relation: str, values: object, code: str) -> None:
    with pytest.raises(tidelog.TidelogError) as caught:
        db.explain(relation, values)
    assert caught.value.code == code
    with pytest.raises(tidelog.UsageError, match="E0672"):
        db.why_not("r", ("a", "b"))


@pytest.mark.smoke
def test_limits_and_transactions(db: SparkDatabase) -> None:
    with db.transaction() as transaction:
        transaction.delete("e", FACTS["e"])
        transaction.rules.remove("step")
        assert str(db.explain("r", ("a", "d"))) == PROOFS["r", ("a", "d")]
        db.workspace.rollback()
    db.options(timeout=1e-9)
    with pytest.raises(tidelog.LimitError, match="E0501"):
        db.explain("r", ("a", "d"))
    db.options(timeout=None)


@pytest.mark.parametrize("engine", ["embedded", "cluster"])
def test_a_reopened_state_folder_after_changes(
    engine: str, spark: SparkSession, tmp_path: Path, here: tidelog.Database
) -> None:
    with tidelog.connect(spark=spark, state=tmp_path / "state") as db:
        filled(db, engine)
        files = {path: path.read_bytes() for path in (tmp_path / "state").glob("*.json")}
        proofs = db.ways_to_remove("r", ("a", "d"))
        next(proofs)
        assert {path: path.read_bytes() for path in (tmp_path / "state").glob("*.json")} == files
        db.delete("e", [("a", "c")])
        db.commit()
        with pytest.raises(tidelog.UsageError, match="E0671"):
            next(proofs)
        proof = db.explain("r", ("a", "d"))
        assert (proof.height, ("e", ("a", "c")) in proof.facts) == (3, False)
        db.insert("e", [("a", "c")])
        db.commit()
    with tidelog.connect(spark=spark, state=tmp_path / "state") as db:
        db.options(engine=engine)
        db.commit()
        for goal in PROOFS:
            assert db.explain(*goal) == here.explain(*goal)


def test_a_job_that_fails_is_an_error_with_a_hint(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of an explanation, and of the trial that confirms one."""

    def failing(*_: object) -> None:
        spark.sparkContext.range(1).map(lambda x: x / 0).collect()

    with tidelog.connect(spark=spark) as db:
        filled(db, "cluster")
        before = state(db)
        with monkeypatch.context() as patched:
            patched.setattr(PartitionedEngine, "look_up_rows", failing)
            for ask in (db.explain, db.why_not, db.ways_to_remove, db.ways_to_derive):
                with pytest.raises(tidelog.SetupError, match=r"E0708.*read the views(.|\n)*hint: ask again"):
                    ask("r", ("a", "d"))
        sets = db.ways_to_remove("r", ("a", "d"))
        with monkeypatch.context() as patched:
            patched.setattr(PartitionedEngine, "epoch", failing)
            with pytest.raises(tidelog.SetupError, match=r"E0708.*evaluate the trial(.|\n)*hint: try again"):
                next(sets)
        assert state(db) == before
        assert str(db.explain("r", ("a", "d"))) == PROOFS["r", ("a", "d")]
        assert next(db.ways_to_remove("r", ("a", "d"))).facts == (("e", ("c", "d")),)


CHAIN = ".decl e(x: number, y: number) .decl t(x: number, y: number) t1: t(x, y) :- e(x, y). "
LONGER = "t2: t(x, z) :- t(x, y), e(y, z)."


def chain(db: SparkDatabase) -> None:
    """Three epochs: a fact, a fact of a frame, a rule."""
    db.load(CHAIN)
    db.insert("e", [(1, 2)])
    db.commit()
    db.insert("e", db.session.createDataFrame([(2, 3)], "x bigint, y bigint"))
    db.commit()
    db.load(LONGER)
    db.commit()


@pytest.mark.parametrize("engine", ["embedded", "cluster"])
def test_since_when_a_tuple_holds(engine: str, spark: SparkSession, tmp_path: Path) -> None:
    with tidelog.connect(spark=spark, state=tmp_path / "state") as db:
        db.options(engine=engine)
        chain(db)
        assert (db.blame("t", (1, 2)).epoch, db.blame("t", (2, 3)).epoch) == (1, 2)
        found = db.blame("t", (1, 3))
        assert (found.epoch, found.or_before, found.facts, found.rules) == (3, False, (), ("t2",))
        assert str(db.blame("t", (2, 3))) == "t(2, 3) holds since epoch 2\n  fact: e(2, 3)"
        with db.what_if() as trial:
            trial.delete("e", [(1, 2)])
            trial.insert("e", [(7, 8)])
        db.insert("e", [(3, 4)])
        db.commit()
        assert (db.blame("t", (1, 2)).epoch, db.blame("t", (1, 4)).epoch) == (1, 4)
    with tidelog.connect(spark=spark, state=tmp_path / "state") as db:
        assert db.stats()["epochs"] == 4
        db.options(engine=engine)
        db.insert("e", [(4, 5)])
        assert db.commit().report.engine == engine
        assert db.stats()["epochs"] == 5
        # Partitions have come back with what they know; facts that are read again may have come in any epoch.
        old = (4, True) if engine == "embedded" else None
        for goal, since in (((1, 2), old or (1, False)), ((1, 4), old or (4, False)), ((1, 5), (5, False))):
            found = db.blame("t", goal)
            assert (found.epoch, found.or_before) == since


@pytest.mark.parametrize(("before", "after"), [("embedded", "cluster"), ("cluster", "embedded")])
def test_another_engine_knows_since_when_it_has_the_facts(before: str, after: str, spark: SparkSession) -> None:
    with tidelog.connect(spark=spark) as db:
        db.options(engine=before)
        chain(db)
        db.options(engine=after)
        db.insert("e", [(3, 4)])
        assert db.commit().report.engine == after
        for goal, epoch, or_before in (((1, 2), 3, True), ((1, 3), 3, True), ((1, 4), 4, False)):
            found = db.blame("t", goal)
            assert (found.epoch, found.or_before) == (epoch, or_before)


@pytest.mark.parametrize("engine", ["embedded", "cluster"])
def test_random_histories(engine: str, spark: SparkSession) -> None:
    rng, history = random.Random(FIRST_SEED), History()
    with tidelog.connect(spark=spark) as db:
        db.options(engine=engine)
        db.load(DECLARED)
        for _ in range(5 if engine == "embedded" else 2):
            history.step(db, rng)
        history.check(db)


def test_partitions_that_have_ended_are_asked_again(spark: SparkSession) -> None:
    """Processes of partitions come back from their files, here behind a trial as well."""
    with tidelog.connect(spark=spark) as db:
        db.options(engine="cluster")
        db.load(".decl e(x: number, y: number) .decl t(x: number) one: t(y) :- e(x, y), !e(y, x).")
        db.insert("e", [(1, 2), (2, 3), (3, 2)])
        db.commit()
        engine = db.engine
        assert isinstance(engine, PartitionedEngine)
        engine.executors.stop(engine.folder)
        assert db.explain("t", (2,)).facts == (("e", (1, 2)),)
        engine.executors.stop(engine.folder)
        with db.what_if() as trial:
            trial.insert("e", [(2, 1)])
        assert trial.change is not None
        assert [row.x for row in trial.change["t"].deleted.collect()] == [2]
        engine.executors.stop(engine.folder)
        assert set(db.local("t")) == {(2,)}


def test_a_run_on_spark_explains(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.dl").write_text(".decl e(x: symbol) .input e .decl r(x: symbol) .output r one: r(x) :- e(x).")
    (tmp_path / "e.facts").write_text("a\nb\n")
    assert main(["run", "p.dl", "--engine", "spark", "--explain", 'r("a")']) == 0
    assert capsys.readouterr().out == 'r("a")   [one at p.dl:1:58]\n└─ e("a")   [fact]\n'
    assert spark.range(3).count() == 3
