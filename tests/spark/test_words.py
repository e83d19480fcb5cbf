"""Databases over a session give back the symbols and records that nothing refers to; no value changes meanwhile."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import tidelog
from tests.depth import stride
from tests.interrupting import attempts
from tests.maintain.churn import FACTS, PROGRAM, fact, reclaiming_always
from tests.spark.test_full_disk import full
from tidelog.errors import UsageError
from tidelog.spark import SparkDatabase
from tidelog.spark.cluster.exchange.folder import Folder
from tidelog.spark.frames import symbols, translation
from tidelog.spark.frames.symbols import SymbolTable
from tidelog.spark.sources.checks import Leaf
from tidelog.spark.sources.facts import FactFrame
from tidelog.storage.dictionary import Dictionary, at_hand
from tidelog.storage.usage import Usage

VIEWS = ("l", "made", "counted")


@pytest.fixture
def eager() -> Iterator[None]:
    """Words are looked through before every epoch."""
    with reclaiming_always():
        yield


def rows(frame: DataFrame) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in frame.collect()}


def plain(found: Any) -> set[tuple[Any, ...]]:
    """Tuples as Spark gives them: text in place of records of a type that contains itself."""
    columns = found.to_arrow().to_pydict().values()
    return {tuple(tuple(v.values()) if isinstance(v, dict) else v for v in row) for row in zip(*columns, strict=True)}


def size(db: SparkDatabase) -> int:
    return db.workspace.dictionary.size


def test_churn_shows_what_a_database_shows_that_keeps_all_words(
    spark: SparkSession, eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Frames that are read when they are used, too, and facts that wait for a commit while a stream makes an epoch."""
    rng, facts = random.Random(5), {name: set[Any]() for name in FACTS}
    twin = tidelog.connect()
    with tidelog.connect(spark=spark) as db:
        for each in (db, twin):
            each.load(PROGRAM)
            each.commit()
        for step in range(6):
            gone = {name: {row for row in there if rng.random() < 0.5} for name, there in facts.items()}
            came = {name: {fact(rng, name) for _ in range(5)} for name in FACTS}
            facts = {name: facts[name] - gone[name] | came[name] for name in FACTS}
            for each in (db, twin):
                for name in FACTS:
                    each.delete(name, list(gone[name]))
                if step == 3 and each is db:
                    db.apply([], {})  # an epoch of its own
                    db.options(max_rows=1)
                    with suppress(tidelog.LimitError):
                        db.commit()
                    db.options(max_rows=None)
                for name in FACTS:
                    each.insert(name, list(came[name]))
            change, expected = db.commit(), twin.commit()
            if step in (2, 5):
                monkeypatch.setattr(translation, "MOST_IN_JAVA", 3 if step == 5 else 1_000)
                assert set(change) == set(expected)
                assert rows(change["e"].deleted) == plain(expected["e"].deleted)
                assert rows(change["made"].inserted) == plain(expected["made"].inserted)
                assert rows(db.query('e(X, "s1")')) == plain(twin.query('e(X, "s1")'))
                for name in VIEWS:
                    assert rows(db[name]) == plain(twin[name]), name
        db.check()
        before = size(db)
        for name, there in facts.items():
            db.delete(name, list(there))
        db.commit()
        del change
        db.commit()
        assert (before > 40, size(db)) == (True, 2), "the constants of the program"


def test_a_long_life_with_few_facts_has_few_words(spark: SparkSession) -> None:
    with tidelog.connect(spark=spark) as db:
        db.load(".decl e(x: symbol, y: symbol)")
        last: list[tuple[str, str]] = []
        for i in range(30):
            new = [(f"a {i} {j}", f"b {i} {j}") for j in range(400)]
            db.insert("e", new)
            db.delete("e", last)
            db.commit()
            last = new
        assert (size(db) < 14_000, len(db.workspace.dictionary) < 14_000) == (True, True)
        assert rows(db["e"]) == set(last)


def test_a_frame_keeps_its_words_as_long_as_it_can_be_read(
    spark: SparkSession, eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frame of a change whose rows are read when it is used; another commit fails meanwhile."""
    monkeypatch.setattr(translation, "MOST_IN_JAVA", 1)
    with tidelog.connect(spark=spark) as db:
        db.load(".decl e(x: symbol)\n.decl f(x: symbol) f(x) :- e(x).")
        db.insert("e", [("alice",), ("bob",), ("carol",)])
        db.commit()
        db.delete("e", [("alice",), ("bob",)])
        deleted = db.commit()["e"].deleted
        db.insert("e", [(f"new {i}",) for i in range(5)])
        db.options(timeout=1e-9)
        with pytest.raises(tidelog.LimitError):
            db.commit()
        db.insert("e", [(f"newer {i}",) for i in range(5)])
        assert rows(deleted) == {("alice",), ("bob",)}
        db.options(timeout=None)
        db.commit()
        db.commit()
        assert rows(db["f"]) == {("carol",), *((f"new {i}",) for i in range(5)), *((f"newer {i}",) for i in range(5))}
        assert db.workspace.dictionary.find("alice", "symbol") is None


def test_a_database_goes_to_the_cluster_with_words_given_back(spark: SparkSession, eager: None, tmp_path: Path) -> None:
    """The cluster's partitions and frames follow a dictionary that has gaps, and words of new meaning."""
    declared = (
        ".type P = [a: symbol, b: symbol]\n.decl e(x: symbol, y: symbol)\n.decl p(x: P)\n.decl c(x: symbol, p: P)\n"
    )
    with tidelog.connect(spark=spark, state=tmp_path / "state") as db:
        db.load(declared + 'c(cat(x, "!"), [y, x]) :- e(x, y). c(x, p) :- p(p), p = [x, _].')
        facts = {(f"x{i}", f"y{i}") for i in range(12)}
        gone = {(f"x{i}", f"y{i}") for i in (0, 2, 3, 7)}
        new = {(f"new x{i}", f"new y{i}") for i in range(6)}
        db.insert("e", list(facts))
        db.insert("p", [(row,) for row in facts])
        db.commit()
        db.delete("e", list(gone))
        db.delete("p", [(row,) for row in gone])
        db.commit()
        db.commit()
        known = db.workspace.dictionary
        assert len(known.present("symbol", 0, len(known))) < len(known)
        db.options(engine="cluster")
        db.insert("e", spark.createDataFrame([*new, ("x2", "y2")], "x string, y string"))
        db.insert("p", [(row,) for row in new])
        change = db.commit()
        assert rows(change["e"].inserted) == {*new, ("x2", "y2")}
        there = facts - gone | new
        assert rows(db["e"]) == there | {("x2", "y2")}
        made = {(x + "!", (y, x)) for x, y in there | {("x2", "y2")}}
        assert rows(db["c"]) == made | {(x, (x, y)) for x, y in there}


# --- the symbols in Spark ---------------------------------------------------------------------------------------------


def symbols_of(table: SymbolTable) -> dict[str, int]:
    """The symbols of a table, each of which it must have once."""
    found = [(row["symbol"], row["id"]) for row in table.frame.collect()]
    assert len(dict(found)) == len(found)
    return dict(found)


def given_back(known: Dictionary, *symbols: str) -> None:
    """Give back all words but those of these symbols."""
    usage = Usage(known)
    for symbol in symbols:
        usage.add_value(symbol, "symbol")
    known.give_back(usage.flags())


@pytest.mark.smoke
def test_symbols_follow_words_that_are_given_back(spark: SparkSession) -> None:
    known = Dictionary()
    table = SymbolTable(spark, known)
    known.ids_of(["a", "b", "c", "d"])
    table.follow()
    given_back(known, "b", "d")
    table.follow()
    assert symbols_of(table) == {"b": 1, "d": 3}
    assert known.ids_of(["x", "b"]) == [0, 1]
    table.follow()
    assert symbols_of(table) == {"x": 0, "b": 1, "d": 3}
    table.grow(facts_of(spark, "c", "x", "new"))
    assert symbols_of(table) == {
        "x": 0,
        "b": 1,
        "d": 3,
        "c": known.find("c", "symbol"),
        "new": known.find("new", "symbol"),
    }
    assert {known.find("c", "symbol"), known.find("new", "symbol")} == {4, 5}
    table.close()


def facts_of(spark: SparkSession, *symbols: str) -> FactFrame:
    frame = spark.createDataFrame([(symbol,) for symbol in symbols], "c0 string")
    leaf = Leaf("c0", "symbol", F.col("c0"), F.lit(None))
    return FactFrame("e", lambda: frame, (leaf,), len(symbols), False)


class Place:
    """A folder for blocks."""

    def __init__(self, folder: Path) -> None:
        self.folder = Folder(str(folder))


def test_symbols_that_the_disk_does_not_take_stay_at_hand(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nothing half written stays: it could be what fills the disk."""
    monkeypatch.setattr(symbols, "FEW_SYMBOLS", 3)
    known = Dictionary()
    table = SymbolTable(spark, known)
    table.place = Place(tmp_path)
    known.ids_of([*"abcdefg"])
    with full(0), pytest.raises(UsageError, match="free disk space") as caught:
        table.follow()
    assert caught.value.code == "E0681"
    assert list(tmp_path.iterdir()) == []
    assert len(at_hand(known, 0, len(known))) == 7
    table.follow()
    assert len(at_hand(known, 0, len(known))) == 0
    table.close()


@pytest.mark.parametrize("step", ["follow", "grow"])
def test_symbols_in_spark_are_interrupted_anywhere(
    step: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No symbol gets two words, wherever texts are, and no frame stays in Spark that nobody knows."""
    monkeypatch.setattr(symbols, "FEW_SYMBOLS", 3)
    context: Any = spark.sparkContext
    before, stopped = context._jsc.getPersistentRDDs().size(), 0
    for attempt in attempts(
        KeyboardInterrupt, "spark/frames/symbols.py", every=stride(20 if step == "follow" else 200)
    ):
        known = Dictionary()
        table = SymbolTable(spark, known)
        table.place = Place(tmp_path)
        known.ids_of(["a", "b"])
        table.follow()
        with attempt:
            known.ids_of(["c", "d", "e", "f", "g"])
            if step == "grow":
                table.grow(facts_of(spark, "a", "h", "i", "j", "k"))
            table.follow()
            table.settle()
        stopped += attempt.stopped
        table.follow()
        texts = [known.decode(word, "symbol") for word in range(len(known))]
        assert len(set(texts)) == len(texts)
        assert symbols_of(table) == {
            known.decode(word, "symbol"): word for word in at_hand(known, 0, len(known)).tolist()
        }
        coded = table.encode(facts_of(spark, *"abcdefg").frame, ["c0"])
        assert {row["c0"] for row in coded.collect()} == {known.find(text, "symbol") for text in "abcdefg"}
        table.close()
        assert context._jsc.getPersistentRDDs().size() == before
    assert stopped > 0


def test_each_column_of_symbols_is_looked_up_once(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """However many columns there are: a look-up in a join would be repeated for each column after it."""
    monkeypatch.setattr(symbols, "FEW_SYMBOLS", 3)
    known = Dictionary()
    table = SymbolTable(spark, known)
    table.place = Place(tmp_path)
    table.grow(facts_of(spark, *"abcdefg"))
    known.ids_of(["at hand"])
    names = ["c0", "c1", "c2"]
    facts = spark.createDataFrame([("a", "b", "a"), ("at hand", "a", "g")], "c0 string, c1 string, c2 string")
    table.follow()
    coded = table.encode(facts, names)
    shown: Any = table.decode(coded, names)
    assert shown._jdf.queryExecution().analyzed().toString().count("MapInArrow") == 6
    assert rows(shown) == {("a", "b", "a"), ("at hand", "a", "g")}
    table.close()
