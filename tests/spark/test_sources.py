"""Which rows are facts, and what is said about the others."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tidelog.errors import DataError, TidelogError
from tidelog.spark import Counts, Pipeline, Result, Source

KINDS = """
.decl n(x: number)
.decl u(x: unsigned)
.decl f(x: float)
.decl s(x: symbol)
"""
MANY_DIGITS = "9" * 50


def bad_rows(result: Result) -> list[tuple[str, str, Any]]:
    rows = result.quarantine.collect()
    return sorted(((row.relation, row.reason, next(iter(json.loads(row.row).values()))) for row in rows), key=repr)


def values(result: Result, relation: str) -> list[Any]:
    return sorted(value for (value,) in facts(result, relation))


def facts(result: Result, relation: str) -> list[tuple[Any, ...]]:
    return list(result.database.local(relation))


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_text_that_does_not_read_as_the_declared_type_is_quarantined(spark: SparkSession, ansi: str) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", ansi)
    texts = ["7", " 8 ", "+9", "-5", "1.5", "x", "", None, "nan", "9223372036854775808", MANY_DIGITS]
    sources = [Source(name, frame=session.createDataFrame([(text,) for text in texts], "x string")) for name in "nufs"]
    floats = [("1e3",), ("-0.0",), (".5",), ("-inf",), ("1e999",), ("1d",)]
    sources.append(Source("f", frame=session.createDataFrame(floats, "x string")))
    with Pipeline(KINDS, sources).run(session) as result:
        assert values(result, "n") == [-5, 7, 8, 9]
        assert values(result, "u") == [7, 8, 9, 9223372036854775808]
        assert values(result, "f") == [
            float("-inf"), -5.0, 0.0, 0.5, 1.5, 7.0, 8.0, 9.0, 1000.0, 9223372036854775808.0, float(MANY_DIGITS)
        ]  # fmt: skip
        assert values(result, "s") == sorted(text for text in texts if text is not None)
        assert bad_rows(result) == [
            ("f", "x: NaN", "nan"),
            ("f", "x: not a number", ""),
            ("f", "x: not a number", "1d"),
            ("f", "x: not a number", "x"),
            ("f", "x: null", None),
            ("f", "x: out of range", "1e999"),
            ("n", "x: not a number", ""),
            ("n", "x: not a number", "1.5"),
            ("n", "x: not a number", "nan"),
            ("n", "x: not a number", "x"),
            ("n", "x: null", None),
            ("n", "x: out of range", "9223372036854775808"),
            ("n", "x: out of range", MANY_DIGITS),
            ("s", "x: null", None),
            ("u", "x: negative", "-5"),
            ("u", "x: not a number", ""),
            ("u", "x: not a number", "1.5"),
            ("u", "x: not a number", "nan"),
            ("u", "x: not a number", "x"),
            ("u", "x: null", None),
            ("u", "x: out of range", MANY_DIGITS),
        ]
        for count in result.counts.values():
            assert count.read == count.accepted + count.quarantined


def test_numbers_of_other_types_have_to_be_whole_and_in_range(spark: SparkSession) -> None:
    doubles = [1.0, 2.5, float("nan"), 9.3e18, 1e30, float("-inf"), -3.0, -0.0]
    decimals = [Decimal("4.00"), Decimal("4.50"), Decimal("-6.00"), Decimal("99999999999999999999.00")]
    frames = [("u", spark.createDataFrame([(Decimal(2**64 - 1),), (Decimal(2**64),)], "x decimal(20,0)"))]
    for relation in "nu":
        frames.append((relation, spark.createDataFrame([(value,) for value in doubles], "x double")))
        frames.append((relation, spark.createDataFrame([(value,) for value in decimals], "x decimal(30,2)")))
        frames.append((relation, spark.createDataFrame([(-7,), (7,)], "x tinyint")))
    with Pipeline(KINDS, [Source(relation, frame=frame) for relation, frame in frames]).run(spark) as result:
        assert values(result, "n") == [-7, -6, -3, 0, 1, 4, 7]
        assert values(result, "u") == [0, 1, 4, 7, int(9.3e18), 2**64 - 1]
        found = [(relation, reason.removeprefix("x: ")) for relation, reason, _ in bad_rows(result)]
        assert sorted(found) == [
            ("n", "NaN"),
            ("n", "not a whole number"),
            ("n", "not a whole number"),
            ("n", "out of range"),
            ("n", "out of range"),
            ("n", "out of range"),
            ("n", "out of range"),
            ("u", "NaN"),
            ("u", "negative"),
            ("u", "negative"),
            ("u", "negative"),
            ("u", "not a whole number"),
            ("u", "not a whole number"),
            ("u", "out of range"),
            ("u", "out of range"),
            ("u", "out of range"),
            ("u", "out of range"),
        ]


def test_numbers_keep_their_value_in_another_kind(spark: SparkSession) -> None:
    """A float is equal to the number that it is made of, and no two numbers become one: as in the embedded engine."""
    program = ".decl f(x: float)  .decl n(x: number)  .decl u(x: unsigned)"
    longs = spark.createDataFrame([(2**53,), (2**53 + 1,), (-(2**53) - 1,), (2**63 - 1,), (-(2**63),)], "x long")
    decimals = ["0.10", "12345678901234567.89", "12345678901234567.90", "9007199254740993.00", "-0.25"]
    exact = spark.createDataFrame([(Decimal(text),) for text in decimals], "x decimal(20,2)")
    doubles = spark.createDataFrame([(2.0**63,), (2.0**62 + 1024,)], "x double")
    sources = [
        Source("f", frame=longs, mode="append"),
        Source("f", frame=exact, mode="append"),
        Source("n", frame=doubles),
        Source("u", frame=doubles),
    ]
    with Pipeline(program, sources).run(spark) as result:
        assert sorted(facts(result, "f")) == sorted([(2.0**53,), (-(2.0**63),), (0.1,), (-0.25,)])
        assert facts(result, "n") == [(2**62 + 1024,)]
        assert sorted(facts(result, "u")) == [(2**62 + 1024,), (2**63,)]
        reasons = sorted(row.reason for row in result.quarantine.collect())
        assert reasons == ["x: no float is equal to it"] * 6 + ["x: out of range"]


@pytest.mark.smoke
def test_csv_lines_go_to_the_quarantine_with_their_file(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "edges.csv"
    file.write_bytes(b'a,1\n"b,c",2\nd\ne,3,4\n\xff\xfe,5\nf,\n,6\n')
    with Pipeline(".decl e(x: symbol, n: number)", [Source("e", file)]).run(spark) as result:
        assert sorted(facts(result, "e")) == [("", 6), ("a", 1), ("b,c", 2)]
        assert result.counts["e"].read == 7
        assert result.counts["e"].quarantined == 4
        rows = sorted((row.reason, row.row) for row in result.quarantine.collect())
        assert rows == [
            ("n: not a number", '{"x":"f","n":""}'),
            ("not 2 columns", '{"line":"d"}'),
            ("not 2 columns", '{"line":"e,3,4"}'),
            ("not valid UTF-8", '{"x":"\ufffd\ufffd","n":"5"}'),
        ]
        assert {row.source for row in result.quarantine.collect()} == {file.as_uri()}


def test_csv_has_nulls_only_where_somebody_says_what_is_null(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text('a,NA\nNA,2\n"",3\n')
    program, file = ".decl e(x: symbol, n: number)", tmp_path / "e.csv"
    sources = [Source("e", file, "CSV", options={"nullValue": "NA"}), Source("e", file)]
    for source, accepted, reasons in (
        (sources[0], [("", 3)], ["n: null", "x: null"]),
        (sources[1], [("", 3), ("NA", 2)], ["n: not a number"]),
    ):
        with Pipeline(program, [source]).run(spark) as result:
            assert sorted(facts(result, "e")) == accepted
            assert sorted(row.reason for row in result.quarantine.collect()) == reasons


def test_the_order_of_a_feed_in_texts_is_that_of_their_numbers(spark: SparkSession) -> None:
    program = ".decl e(x: symbol)"
    feed = [("+", "9", "a"), ("-", "10", "a"), ("-", "2026-01-31", "b"), ("+", "2026-02-01", "b")]
    source = Source("e", frame=spark.createDataFrame(feed, "op string, at string, x string"), mode="cdc", op="op")
    with Pipeline(program, [replace(source, order="at")]).run(spark) as result:
        assert facts(result, "e") == [("b",)]
    versions = spark.createDataFrame(
        [("+", "v9", "a"), ("-", "v10", "a"), ("+", "2026-13-01", "b")], "op string, at string, x string"
    )
    with Pipeline(program, [replace(source, frame=versions, order="at")]).run(spark) as result:
        assert facts(result, "e") == []
        assert {row.reason for row in result.quarantine.collect()} == {
            "at: neither a number nor an ISO time; order by a column of numbers or timestamps"
        }


def test_csv_with_a_header_goes_by_name(spark: SparkSession, tmp_path: Path) -> None:
    program = ".decl e(x: symbol, n: number)"
    (tmp_path / "e.tsv").write_text("n\textra\tx\n1\tz\ta\n2\tz\n")
    source = Source("e", tmp_path / "e.tsv", options={"header": True, "sep": "\t"})
    with Pipeline(program, [source]).run(spark) as result:
        assert facts(result, "e") == [("a", 1)]
        assert [row.reason for row in result.quarantine.collect()] == ["not 3 columns"]
    (tmp_path / "f.csv").write_text("a,n\nx,1\n")
    with pytest.raises(DataError) as caught:
        Pipeline(program, [Source("e", tmp_path / "f.csv", options={"header": True})]).run(spark)
    assert caught.value.code == "E0480"
    assert "the frame has no column 'x' for e.x; found a, n" in str(caught.value)


def test_files_in_another_encoding_are_read_as_said(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_bytes("müll,1\n".encode("latin-1"))
    source = Source("e", tmp_path / "old.csv", options={"encoding": "ISO-8859-1"})
    with Pipeline(".decl e(x: symbol, n: number)", [source]).run(spark) as result:
        assert facts(result, "e") == [("müll", 1)]


def test_json_lines_that_are_none_go_to_the_quarantine(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "e.json").write_text('{"x": "a", "n": 1}\n{"x": "b", "n":\n{"x": "c"}\n')
    source = Source("e", tmp_path / "e.json", format="json", expressions={"n": "n + 1"})
    with Pipeline(".decl e(x: symbol, n: number)", [source]).run(spark) as result:
        assert facts(result, "e") == [("a", 2)]
        rows = sorted((row.reason, row.row) for row in result.quarantine.collect())
        assert rows == [("n: null", '{"n":null,"x":"c"}'), ("not JSON", '{"line":"{\\"x\\": \\"b\\", \\"n\\":"}')]


def test_records_are_structs_and_nil_is_null(spark: SparkSession) -> None:
    program = """
    .type Place = [town: symbol, number: unsigned]
    .type Towns = [first: symbol, others: Towns]
    .decl at(p: Place)
    .decl tour(t: Towns)
    .decl copy(p: Place)
    .output copy
    .output tour
    copy(p) :- at(p).
    """
    place, towns = "p struct<number: int, town: string>", "struct<first: string, others: {}>"
    short, long = towns.format("void"), towns.format(towns.format("void"))
    rows = [((3, "Oslo"),), (None,), ((-1, "Rome"),), ((4, None),), ((3, "Oslo"),)]
    frames = [
        ("at", spark.createDataFrame(rows, place)),
        ("tour", spark.createDataFrame([(("Oslo", ("Rome", None)),), (("Rome", None),)], f"t {long}")),
        ("tour", spark.createDataFrame([(("Bern", None),), ((None, None),)], f"t {short}")),
    ]
    with Pipeline(program, [Source(name, frame=frame) for name, frame in frames]).run(spark) as result:
        assert set(facts(result, "at")) == {(("Oslo", 3),), (None,)}
        assert set(facts(result, "tour")) == {(("Oslo", ("Rome", None)),), (("Rome", None),), (("Bern", None),)}
        assert sorted(row.reason for row in result.quarantine.collect()) == [
            "p.number: negative",
            "p.town: null",
            "t.first: null",
        ]
        assert result.counts["at"].duplicates == 1
        copy, tour = result["copy"], result["tour"]
        assert copy.schema.simpleString() == "struct<p:struct<town:string,number:decimal(20,0)>>"
        assert {tuple(row) for row in copy.collect()} == {(("Oslo", Decimal(3)),), (None,)}
        assert {row.t for row in tour.collect()} == {"[Oslo, [Rome, nil]]", "[Rome, nil]", "[Bern, nil]"}


def test_columns_map_to_names_and_expressions_and_callers_may_reject_rows(spark: SparkSession) -> None:
    frame = spark.createDataFrame(
        [("a", 1, None), ("b", 2, "too old"), ("c", None, "too old")], "`from.name` string, n int, wrong string"
    )
    source = Source("e", frame=frame, columns={"x": "from.name", "n": F.col("n") * 10}, rejected="wrong")
    with Pipeline(".decl e(x: symbol, n: number)", [source]).run(spark) as result:
        assert set(facts(result, "e")) == {("a", 10)}
        assert sorted(row.reason for row in result.quarantine.collect()) == ["too old", "too old; n: null"]


@pytest.mark.parametrize(
    ("source", "code", "said"),
    [
        (lambda frame: Source("e", frame=frame.select("x")), "E0480", "no column 'y' for e.y"),
        (lambda frame: Source("e", frame=frame, columns={"x": "X"}), "E0480", "hint: pass columns={'x': 'x'}"),
        (
            lambda frame: Source("e", frame=frame.select("y", F.struct("x").alias("r")), columns={"x": "r.x"}),
            "E0480",
            "pass columns={'x': F.col('r.x')}",
        ),
        (lambda frame: Source("e", frame=frame, columns={"z": "x"}), "E0485", "use one of: x, y"),
        (lambda frame: Source("e", frame=frame, rejected="why"), "E0480", "the frame has no column 'why'; found x, y"),
        (lambda frame: Source("d", frame=frame), "E0601", "use one of: e"),
        (lambda frame: Source("e", "/nowhere/at/all.csv", options={"header": True}), "E0482", "PATH_NOT_FOUND"),
        (lambda frame: Source("e", table="nobody"), "E0482", "nobody"),
        (lambda frame: Source("e", frame=frame.sparkSession.readStream.format("rate").load()), "E0484", "a stream"),
        (lambda frame: Source("e", frame=frame, mode="cdc", op="what"), "E0480", "no column 'what'"),
    ],
)
def test_sources_that_do_not_fit_are_refused_at_once(spark: SparkSession, source: Any, code: str, said: str) -> None:
    frame = spark.createDataFrame([(1, "a")], "x int, y string")
    with pytest.raises(TidelogError) as caught:
        Pipeline(".decl e(x: number, y: symbol)", [source(frame)]).run(spark)
    assert caught.value.code == code
    assert said in str(caught.value)


def test_everything_that_is_wrong_is_told_at_once(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(True, 1)], "x boolean, y int")
    with pytest.raises(DataError) as caught:
        Pipeline(".decl e(x: number, y: symbol)", [Source("e", frame=frame), Source("e", table="nobody")]).run(spark)
    assert [problem.code for problem in caught.value.problems] == ["E0481", "E0481", "E0482"]
    assert 'hint: cast it: column.cast("int")' in str(caught.value)


@pytest.mark.parametrize("few", [0, 2_000])
@pytest.mark.parametrize("engine", ["embedded", "cluster"])
def test_few_rows_and_many_rows_are_the_same_facts(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, engine: str, few: int
) -> None:
    monkeypatch.setattr("tidelog.spark.sources.facts.FEW_ROWS", few)
    types = ".type pair = [a: number, s: symbol]\n.decl e(p: pair, f: float, u: unsigned)\n"
    frame = spark.createDataFrame(
        [
            ((1, "x"), 1.5, Decimal(2**63)),
            (None, -0.0, Decimal(7)),
            ((2, "y"), None, Decimal(8)),
            ((1, "x"), 1.5, Decimal(2**63)),
        ],
        "p struct<a: long, s: string>, f double, u decimal(20,0)",
    )
    program = f"{types}.decl t(u: unsigned)\nt(u) :- e(_, _, u)."
    with Pipeline(program, [Source("e", frame=frame)], engine=engine).run(spark) as result:
        assert sorted(facts(result, "e"), key=repr) == [((1, "x"), 1.5, 2**63), (None, 0.0, 7)]
        assert result.counts["e"] == Counts(4, 3, 1, 1)
        assert [row.reason for row in result.quarantine.collect()] == ["f: null"]
