"""Both engines behind one database: the same answers, and a database that goes from one to the other."""

from __future__ import annotations

import random
import tempfile
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import tidelog
from tidelog.errors import ProgramError
from tidelog.spark import Pipeline, SparkDatabase
from tidelog.spark import Source as Rows

PROGRAM = """
.type Place = [town: symbol, number: unsigned]
.decl all(n: number, u: unsigned, f: float, s: symbol, p: Place)
.decl same(n: number, u: unsigned, f: float, s: symbol, p: Place)
.decl made(s: symbol, f: float, p: Place)
.decl go()
.decl gone()
s: same(n, u, f, s, p) :- all(n, u, f, s, p).
m: made(cat(s, "!"), f * 2.0, [s, u]) :- all(_, u, f, s, _).
g: gone() :- go().
"""
GRAPH = """
.decl e(x: symbol, y: symbol)
.decl t(x: symbol, y: symbol)
.decl degree(x: symbol, n: number)
.decl lonely(x: symbol)
t1: t(x, y) :- e(x, y).
t2: t(x, z) :- t(x, y), e(y, z).
d: degree(x, n) :- e(x, _), n = count : { t(x, _) }.
l: lonely(x) :- e(x, _), !t(x, x).
"""
SCHEMA = "n long, u decimal(20,0), f double, s string, p struct<town: string, number: decimal(20,0)>"
GIVEN = [
    (-(2**63), Decimal(2**64 - 1), -0.5, "", ("Oslo", Decimal(2**63))),
    (2**63 - 1, Decimal(0), 1e300, "ünï🌊", None),
]


def rows(frame: DataFrame) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in frame.collect()}


def views(db: SparkDatabase) -> dict[str, set[tuple[Any, ...]]]:
    return {name: rows(db[name]) for name in db.relations}


def test_every_type_goes_through_the_cluster(spark: SparkSession) -> None:
    with tidelog.connect(spark=spark) as db:
        db.options(engine="cluster")
        db.load(PROGRAM)
        db.insert("all", spark.createDataFrame(GIVEN, SCHEMA))
        db.insert("go", spark.range(1).select())
        change = db.commit()
        assert change.report.engine == "cluster"
        assert rows(db["same"]) == set(GIVEN) == rows(change["same"].inserted)
        assert rows(db["made"]) == {
            ("!", -1.0, ("", Decimal(2**64 - 1))),
            ("ünï🌊!", 2e300, ("ünï🌊", Decimal(0))),
        }
        assert db["gone"].count() == 1
        assert rows(db.query('made("!", F, P)')) == {("!", -1.0, ("", Decimal(2**64 - 1)))}
        assert rows(db.query('made("nobody", F, P)')) == set()
        db.delete("all", db["same"])
        db.delete("go", [()])
        assert rows(db.commit()["made"].deleted) >= {("!", -1.0, ("", Decimal(2**64 - 1)))}
        assert {name: len(found) for name, found in views(db).items()} == dict.fromkeys(db.relations, 0)


def test_large_feeds_without_records_stay_in_spark(spark: SparkSession) -> None:
    """Symbols and floats are turned into words by Spark, and back."""
    program = ".decl r(s: symbol, f: float, n: number)\n.decl v(s: symbol, f: float)\nv(s, f) :- r(s, f, _)."
    frame = spark.range(3000).selectExpr("concat('n', id % 100) s", "id % 7 / 2 f", "id n").repartition(3)
    with tidelog.connect(spark=spark) as db:
        db.options(engine="cluster")
        db.load(program)
        db.insert("r", frame)
        db.delete("r", frame.where("n >= 2000"))
        db.insert("r", frame.where("n >= 2990"))
        db.commit()
        kept = [i for i in range(3000) if i < 2000 or i >= 2990]
        assert rows(db["v"]) == {(f"n{i % 100}", i % 7 / 2) for i in kept}
        assert db["r"].count() == len(kept) == db.stats()["relations"]["r"]
        dictionary = db.dictionary
        assert sorted(map(int, dictionary.ids_of([f"n{i}" for i in range(100)]))) == list(range(100))


def test_a_database_moves_while_its_data_grow(spark: SparkSession) -> None:
    rng = random.Random(5)
    here = tidelog.connect()
    here.load(GRAPH)
    with tidelog.connect(spark=spark) as db:
        db.options(embedded_limit=25)
        db.load(GRAPH)
        engines: list[str] = []
        switched: list[str | None] = []
        moved = 0
        both: tuple[Any, ...] = (here, db)
        here.commit()
        db.commit()
        for step in range(6):
            came = [(f"a{rng.randrange(12)}", f"a{rng.randrange(12)}") for _ in range(10)]
            gone = rng.sample(sorted(here["e"]), min(3, len(here["e"])))
            before = {name: set(here[name]) for name in here.relations}
            moved = len(here["e"]) + 10 if not engines or engines[-1] == "embedded" else moved
            for one in both:
                with one.transaction() as tx:
                    tx.delete("e", gone)
                    tx.insert("e", came)
                    if step == 3:
                        tx.rules.remove("t2")
                    if step == 4:
                        tx.rules.add("t3: t(x, z) :- e(x, y), t(y, z).")
            assert views(db) == {name: set(here[name]) for name in here.relations}
            for name in ("t", "degree", "lonely"):
                assert rows(tx.change[name].inserted) == set(here[name]) - before[name]
                assert rows(tx.change[name].deleted) == before[name] - set(here[name])
            engines.append(tx.change.report.engine)
            switched.append(tx.change.report.switched)
        assert db.plan().startswith("cluster engine\n\n")
        assert engines == ["embedded"] * 2 + ["cluster"] * 4
        assert switched[2] == f"{moved} facts are more than the embedded_limit of 25"
        assert switched[:2] + switched[3:] == [None] * 5
        db.check()  # In the executors, and then on the driver.
        db.options(embedded_limit=1000)
        db.check()
        db.options(engine="embedded")
        assert db.commit().report.switched == "asked for by options(engine='embedded')"
        assert views(db) == {name: set(here[name]) for name in here.relations}
        assert db.plan().startswith("embedded engine\n\n4 rules, ")
        db.check()


def test_paths_that_no_rule_asks_for_and_certificates(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the cluster engine, whose files are where a file system of fsspec has them."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "shared").mkdir()
    with tidelog.connect(spark=spark) as db:
        db.options(engine="cluster", cluster_folder=f"local://{tmp_path}/shared")
        db.load(GRAPH)
        db.insert("e", [("a", "b"), ("b", "c"), ("c", "b"), ("d", "d")])
        db.commit()
        assert len(list(tmp_path.glob("shared/tidelog-*/manifest"))) == 1
        assert rows(db.query('<e/e>("a", Y)')) == {("a", "c")}
        db.options(embedded_limit=0)
        beside = db.query("<^e/e>(X, Y)")
        assert len(list(tmp_path.glob("shared/tidelog-*/manifest"))) == 2
        assert rows(beside) == {("b", "b"), ("c", "c"), ("d", "d")}
        assert rows(db.query('<e+>("a", Y)')) == {("a", "b"), ("a", "c")}
        db.check()  # In the executors.
        db.save_certificate(tmp_path / "from executors")
        db.options(embedded_limit=1000)
        db.check()
        db.save_certificate(tmp_path / "certificate")
        for name in ("certificate", "from executors"):
            tidelog.check_certificate(tmp_path / name)
        db.insert("e", [("c", "a")])
        db.options(partitions=3)
        assert db.commit().report.switched == "2 partitions became 3: options(partitions=…)"
        assert (db.stats()["partitions"], db.stats()["rounds"]) == (3, 1)
        assert rows(db["t"]) == {("d", "d"), *product("abc", repeat=2)}
        assert len(list(tmp_path.glob("shared/tidelog-*/manifest"))) == 1
        db.load(".decl later(x: symbol)")
        assert rows(db.query("later(X)")) == rows(db.query('<e>("nobody", Y)')) == set()
    assert list((tmp_path / "shared").iterdir()) == []


@pytest.mark.parametrize("engine", ["embedded", "cluster"])
def test_queries_and_deletions(spark: SparkSession, engine: str) -> None:
    with tidelog.connect(spark=spark) as db:
        db.options(engine=engine)
        db.load(".decl e(x: symbol, y: symbol)\n.decl t(x: symbol, y: symbol)\nt(x, z) :- e(x, y), e(y, z).")
        db.insert("e", [("a", "b"), ("b", "c"), ("c", "d")])
        db.commit()
        assert rows(db.query("e(k, y), t(y, z)", k="a")) == {("b", "d")}
        assert rows(db.query("t(x, _), n = count : { e(_, x) }")) == {("a", 0), ("b", 1)}
        assert db.query("e(x, y), t(x, z)").columns == ["x", "y", "z"]
        assert db.query('e("a", "b"), !t("a", "b")').count() == 1
        for wrong, values, code in (("e(x, y), t(y", {}, "E0101"), ("e(k, y)", {"k": 5}, "E0401")):
            with pytest.raises(tidelog.TidelogError) as raised:
                db.query(wrong, **values)
            assert raised.value.code == code
        db.insert("e", spark.createDataFrame([("a", "z"), ("q", "r")], "x string, y string"))
        db.delete("e(k, _)", k="a")
        change = db.commit()
        assert (rows(change["e"].inserted), rows(change["e"].deleted)) == ({("q", "r")}, {("a", "b")})
        assert rows(db["t"]) == {("b", "d")}
        with db.transaction() as tx:
            tx.clear("e")
            tx.insert("e", [("1", "2")])
        assert rows(db["e"]) == {("1", "2")}
        db.clear("e")
        db.rollback()
        db.clear("e")
        db.commit()
        assert rows(db["e"]) == rows(db["t"]) == set()


def test_a_first_epoch_that_fails_on_the_cluster_leaves_the_embedded_engine(spark: SparkSession) -> None:
    with tidelog.connect(spark=spark) as db:
        db.load(GRAPH)
        db.insert("e", [("a", "b")])
        db.commit()
        db.options(engine="cluster", max_rows=100)
        db.insert("e", spark.range(60).selectExpr("concat('n', id) x", "concat('n', id + 1) y"))
        with pytest.raises(tidelog.LimitError):
            db.commit()
        assert rows(db["t"]) == {("a", "b")}
        assert db.stats()["engine"] == "embedded"
        db.options(max_rows=None)
        db.rollback()
        db.insert("e", [("b", "c")])
        assert db.commit().report.engine == "cluster"
        assert rows(db["t"]) == {("a", "b"), ("b", "c"), ("a", "c")}


def test_a_state_folder_brings_the_cluster_back(spark: SparkSession, tmp_path: Path) -> None:
    state = tmp_path / "my stäte [1]"  # which Java, patterns and URIs each read in a way of their own
    with tidelog.connect(spark=spark, state=state) as db:
        db.options(engine="cluster")
        db.load(GRAPH)
        db.insert("e", spark.createDataFrame([("a", "b"), ("b", "a")], "x string, y string"))
        db.commit()
        db.insert("e", [("b", "c")])
        db.delete("e", spark.createDataFrame([("b", "a")], "x string, y string"))
        db.commit()
        kept = views(db)
    assert list(tmp_path.iterdir()) == [state]
    with tidelog.connect(spark=spark, state=state) as db:
        assert views(db) == kept
        assert kept["t"] == {("a", "b"), ("b", "c"), ("a", "c")}


def test_a_pipeline_on_the_cluster_works_on_the_difference_and_leaves_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = dict(spark.conf.getAll), spark.sparkContext._jsc.getPersistentRDDs().size()
    one = spark.createDataFrame([("a", "b"), ("b", "c"), ("b", "c"), (None, "x")], "x string, y string")
    two = spark.createDataFrame([("b", "c"), ("c", "d")], "x string, y string")
    with tidelog.connect(spark=spark) as db:
        first = Pipeline(GRAPH, [Rows("e", frame=one)], engine="cluster").run(spark, db)
        assert (first.counts["e"].read, first.counts["e"].accepted, first.counts["e"].quarantined) == (4, 3, 1)
        assert first.counts["e"].duplicates == 1
        assert rows(first["t"]) == {("a", "b"), ("b", "c"), ("a", "c")}
        second = Pipeline(GRAPH, [Rows("e", frame=two)], engine="cluster").run(spark, db)
        assert rows(second.change["e"].deleted) == {("a", "b")}
        assert rows(second.change["t"].inserted) == {("c", "d"), ("b", "d")}
    assert (dict(spark.conf.getAll), spark.sparkContext._jsc.getPersistentRDDs().size()) == before
    assert list(tmp_path.iterdir()) == []


COUNTED = """
.decl b(x: number)
.decl a(x: number, n: number)
a(x, $) :- b(x).
"""


@pytest.mark.smoke
def test_counters_are_for_the_embedded_engine(spark: SparkSession, tmp_path: Path) -> None:
    """The cluster engine rejects them, and a database that chooses by itself stays embedded. A state folder would not
    keep the numbers."""
    with tidelog.connect(spark=spark) as db:
        db.options(embedded_limit=1)
        db.load(COUNTED)
        db.insert("b", [(3,), (1,), (2,)])
        assert db.commit().report.engine == "embedded"
        assert {tuple(row) for row in db["a"].collect()} == {(1, 0), (2, 1), (3, 2)}
        db.options(engine="cluster")
        db.insert("b", [(4,)])
        with pytest.raises(ProgramError, match=r"E0709.*the counter of rule r1"):
            db.commit()
        db.options(engine="embedded")
        db.commit()
        assert {tuple(row) for row in db["a"].collect()} == {(1, 0), (2, 1), (3, 2), (4, 3)}
    with tidelog.connect(spark=spark, state=tmp_path / "state") as db:
        db.load(COUNTED)
        with pytest.raises(ProgramError, match=r"E0709.*state folder"):
            db.commit()
