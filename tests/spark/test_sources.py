"""Which rows are facts, and what is said about the others."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tidelog.errors import DataError, UsageError
from tidelog.spark import Pipeline, Result

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


def values(pipeline: Pipeline, relation: str) -> list[Any]:
    return sorted(value for (value,) in pipeline.database[relation])


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_text_that_does_not_read_as_the_declared_type_is_quarantined(spark: SparkSession, ansi: str) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", ansi)
    texts = ["7", " 8 ", "+9", "-5", "1.5", "x", "", None, "nan", "9223372036854775808", MANY_DIGITS]
    with Pipeline(session, KINDS) as pipeline:
        for relation in "nufs":
            frame = session.createDataFrame([(text,) for text in texts], "x string")
            pipeline.read(relation, frame)
        pipeline.read(
            "f", session.createDataFrame([("1e3",), ("-0.0",), (".5",), ("-inf",), ("1e999",), ("1d",)], "x string")
        )
        result = pipeline.run()
        assert values(pipeline, "n") == [-5, 7, 8, 9]
        assert values(pipeline, "u") == [7, 8, 9, 9223372036854775808]
        assert values(pipeline, "f") == [
            float("-inf"), -5.0, 0.0, 0.5, 1.5, 7.0, 8.0, 9.0, 1000.0, 9223372036854775808.0, float(MANY_DIGITS)
        ]  # fmt: skip
        assert values(pipeline, "s") == sorted(text for text in texts if text is not None)
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
    with Pipeline(spark, KINDS) as pipeline:
        for relation in "nu":
            pipeline.read(relation, spark.createDataFrame([(value,) for value in doubles], "x double"))
            pipeline.read(relation, spark.createDataFrame([(value,) for value in decimals], "x decimal(30,2)"))
            pipeline.read(relation, spark.createDataFrame([(-7,), (7,)], "x tinyint"))
        pipeline.read("u", spark.createDataFrame([(Decimal(2**64 - 1),), (Decimal(2**64),)], "x decimal(20,0)"))
        result = pipeline.run()
        assert values(pipeline, "n") == [-7, -6, -3, 0, 1, 4, 7]
        assert values(pipeline, "u") == [0, 1, 4, 7, int(9.3e18), 2**64 - 1]
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


def test_csv_lines_go_to_the_quarantine_with_their_file(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "edges.csv"
    file.write_bytes(b'a,1\n"b,c",2\nd\ne,3,4\n\xff\xfe,5\nf,\n,6\n')
    with Pipeline(spark, ".decl e(x: symbol, n: number)") as pipeline:
        pipeline.read_csv("e", file)
        result = pipeline.run()
        assert sorted(pipeline.database["e"]) == [("", 6), ("a", 1), ("b,c", 2)]
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


def test_csv_with_a_header_goes_by_name(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "e.tsv").write_text("n\textra\tx\n1\tz\ta\n2\tz\n")
    with Pipeline(spark, ".decl e(x: symbol, n: number)") as pipeline:
        pipeline.read_csv("e", tmp_path / "e.tsv", delimiter="\t", header=True)
        result = pipeline.run()
        assert sorted(pipeline.database["e"]) == [("a", 1)]
        assert [row.reason for row in result.quarantine.collect()] == ["not 3 columns"]
        (tmp_path / "f.csv").write_text("a,n\nx,1\n")
        with pytest.raises(DataError) as caught:
            pipeline.read_csv("e", tmp_path / "f.csv", header=True)
        assert caught.value.code == "E0480"
        assert "no column 'x' for e.x; found a, n" in str(caught.value)


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
    with Pipeline(spark, program) as pipeline:
        rows = [((3, "Oslo"),), (None,), ((-1, "Rome"),), ((4, None),), ((3, "Oslo"),)]
        pipeline.read("at", spark.createDataFrame(rows, place))
        pipeline.read("tour", spark.createDataFrame([(("Oslo", ("Rome", None)),), (("Rome", None),)], f"t {long}"))
        pipeline.read("tour", spark.createDataFrame([(("Bern", None),), ((None, None),)], f"t {short}"))
        result = pipeline.run()
        assert set(pipeline.database["at"]) == {(("Oslo", 3),), (None,)}
        assert set(pipeline.database["tour"]) == {(("Oslo", ("Rome", None)),), (("Rome", None),), (("Bern", None),)}
        assert sorted(row.reason for row in result.quarantine.collect()) == [
            "p.number: negative",
            "p.town: null",
            "t.first: null",
        ]
        assert result.counts["at"].duplicates == 1
    assert result["copy"].schema.simpleString() == "struct<p:struct<town:string,number:decimal(20,0)>>"
    assert {tuple(row) for row in result["copy"].collect()} == {(("Oslo", Decimal(3)),), (None,)}
    assert {row.t for row in result["tour"].collect()} == {"[Oslo, [Rome, nil]]", "[Rome, nil]", "[Bern, nil]"}


def test_columns_map_to_names_and_expressions_and_callers_may_reject_rows(spark: SparkSession) -> None:
    frame = spark.createDataFrame(
        [("a", 1, None), ("b", 2, "too old"), ("c", None, "too old")], "`from.name` string, n int, wrong string"
    )
    with Pipeline(spark, ".decl e(x: symbol, n: number)") as pipeline:
        pipeline.read("e", frame, columns={"x": "from.name", "n": F.col("n") * 10}, rejected="wrong")
        result = pipeline.run()
        assert set(pipeline.database["e"]) == {("a", 10)}
        assert sorted(row.reason for row in result.quarantine.collect()) == ["too old", "too old; n: null"]


def test_frames_that_do_not_fit_are_refused_at_once(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(True, 1)], "x boolean, y int")
    with Pipeline(spark, ".decl e(x: number, y: symbol)") as pipeline:
        with pytest.raises(DataError) as wrong_types:
            pipeline.read("e", frame)
        assert [problem.code for problem in wrong_types.value.problems] == ["E0481", "E0481"]
        assert "x: error[E0481]: a number is expected" in str(wrong_types.value)
        assert "found the type boolean" in str(wrong_types.value)
        with pytest.raises(DataError) as missing:
            pipeline.read("e", frame.select("x"))
        assert missing.value.code == "E0480"
        with pytest.raises(UsageError) as unknown:
            pipeline.read("e", frame, columns={"z": "x"})
        assert unknown.value.code == "E0485"
        with pytest.raises(UsageError) as undeclared:
            pipeline.read("d", frame)
        assert undeclared.value.code == "E0601"
        with pytest.raises(DataError) as nowhere:
            pipeline.read_csv("e", "/nowhere/at/all.csv", header=True)
        assert nowhere.value.code == "E0482"
        stream = spark.readStream.format("rate").load()
        with pytest.raises(UsageError) as streaming:
            pipeline.read("e", stream)
        assert streaming.value.code == "E0484"
        assert pipeline.run().counts == {}
