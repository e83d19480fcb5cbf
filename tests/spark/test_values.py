"""One table of types and declared kinds: a value arrives as it is, or an error or the quarantine says why it does not.

The embedded readers take Arrow, pandas, Polars and Parquet, and convert nothing. Sources of a pipeline convert, on both
engines.
"""

from __future__ import annotations

import datetime
import gzip
import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy
import pandas
import polars
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

import tidelog
from tidelog.errors import DataError
from tidelog.spark import Pipeline, Source
from tidelog.spark.rows import to_spark
from tidelog.spark.sources import facts, readers
from tidelog.spark.sources.facts import Counts
from tidelog.spark.sources.mapping import map_frame
from tidelog.spark.sources.readers import text_size

KINDS = ("number", "unsigned", "float", "symbol")
DAY = datetime.datetime(2026, 1, 31, 12)
TYPE, RANGE, NAN, NULL = "E0401", "E0402", "E0404", "E0403"
NOT_WHOLE, UNEQUAL, OUT, NEGATIVE = "not a whole number", "no float is equal to it", "out of range", "negative"
NO = "E0481"
ALL_NULL = ("null",) * 3
REASONS = (NOT_WHOLE, UNEQUAL, OUT, NEGATIVE, "NaN", "null")

Expected = tuple[Any, Any, Any, Any]
TABLE: dict[str, tuple[pa.Array, Expected, Expected]] = {
    # the value, then what number, unsigned, float and symbol make of it: in memory, and in a pipeline
    "boolean": (pa.array([True]), (TYPE,) * 4, (NO,) * 4),
    "int8": (pa.array([-1], pa.int8()), (-1, RANGE, -1.0, TYPE), (-1, NEGATIVE, -1.0, NO)),
    "int32": (pa.array([7], pa.int32()), (7, 7, 7.0, TYPE), (7, 7, 7.0, NO)),
    "int64": (pa.array([2**53]), (2**53, 2**53, 2.0**53, TYPE), (2**53, 2**53, 2.0**53, NO)),
    "large": (pa.array([2**53 + 1]), (2**53 + 1, 2**53 + 1, RANGE, TYPE), (2**53 + 1, 2**53 + 1, UNEQUAL, NO)),
    "least": (pa.array([-(2**63)]), (-(2**63), RANGE, -(2.0**63), TYPE), (-(2**63), NEGATIVE, -(2.0**63), NO)),
    "most": (pa.array([2**63 - 1]), (2**63 - 1, 2**63 - 1, RANGE, TYPE), (2**63 - 1, 2**63 - 1, UNEQUAL, NO)),
    "uint64": (pa.array([2**64 - 1], pa.uint64()), (RANGE, 2**64 - 1, RANGE, TYPE), (OUT, 2**64 - 1, UNEQUAL, NO)),
    "uint64 even": (pa.array([2**63], pa.uint64()), (RANGE, 2**63, 2.0**63, TYPE), (OUT, 2**63, 2.0**63, NO)),
    "float32": (
        pa.array([0.1], pa.float32()),
        (TYPE, TYPE, float(numpy.float32(0.1)), TYPE),
        (NOT_WHOLE, NOT_WHOLE, float(numpy.float32(0.1)), NO),
    ),
    "float64": (pa.array([2.5]), (TYPE, TYPE, 2.5, TYPE), (NOT_WHOLE, NOT_WHOLE, 2.5, NO)),
    "whole": (pa.array([3.0]), (TYPE, TYPE, 3.0, TYPE), (3, 3, 3.0, NO)),
    "beyond": (pa.array([2.0**63]), (TYPE, TYPE, 2.0**63, TYPE), (OUT, 2**63, 2.0**63, NO)),
    "negative zero": (pa.array([-0.0]), (TYPE, TYPE, 0.0, TYPE), (0, 0, 0.0, NO)),
    "NaN": (pa.array([math.nan]), (TYPE, TYPE, NAN, TYPE), ("NaN", "NaN", "NaN", NO)),
    "infinite": (pa.array([math.inf]), (TYPE, TYPE, math.inf, TYPE), (OUT, OUT, math.inf, NO)),
    "decimal": (pa.array([Decimal("1.50")]), (TYPE,) * 4, (NOT_WHOLE, NOT_WHOLE, 1.5, NO)),
    "whole decimal": (pa.array([Decimal("3.00")]), (TYPE,) * 4, (3, 3, 3.0, NO)),
    "long decimal": (pa.array([Decimal("12345678901234567.89")]), (TYPE,) * 4, (NOT_WHOLE, NOT_WHOLE, UNEQUAL, NO)),
    "huge decimal": (pa.array([Decimal(10**30)]), (TYPE, "E0402", TYPE, TYPE), (OUT, OUT, 1e30, NO)),
    "date": (pa.array([DAY.date()]), (TYPE,) * 4, (NO,) * 4),
    "timestamp": (pa.array([DAY], pa.timestamp("us")), (TYPE,) * 4, (NO,) * 4),
    "zoned": (pa.array([DAY], pa.timestamp("us", "UTC")), (TYPE,) * 4, (NO,) * 4),
    "duration": (pa.array([datetime.timedelta(1)], pa.duration("us")), (TYPE,) * 4, (NO,) * 4),
    "text": (pa.array([" a "]), (TYPE, TYPE, TYPE, " a "), ("not a number",) * 3 + (" a ",)),
    "digits": (pa.array([" 08 "]), (TYPE, TYPE, TYPE, " 08 "), (8, 8, 8.0, " 08 ")),
    "NUL": (pa.array(["a\0b"]), (TYPE, TYPE, TYPE, "a\0b"), ("not a number",) * 3 + ("a\0b",)),
    "empty": (pa.array([""]), (TYPE, TYPE, TYPE, ""), ("not a number",) * 3 + ("",)),
    "categories": (pa.array(["a"]).dictionary_encode(), (TYPE, TYPE, TYPE, "a"), ("not a number",) * 3 + ("a",)),
    "bytes": (pa.array([b"a"]), (TYPE,) * 4, (NO,) * 4),
    "list": (pa.array([[1]]), (TYPE,) * 4, (NO,) * 4),
    "null": (pa.array([None], pa.int64()), (NULL,) * 4, (*ALL_NULL, NO)),
    "no text": (pa.array([None], pa.string()), (NULL,) * 4, (*ALL_NULL, "null")),
}


def in_memory(kind: str, data: Any) -> Any:
    """Return the value in a relation of one column of this kind, or the code of the error."""
    with tidelog.connect() as db:
        db.load(f".decl e(x: {kind})")
        try:
            db.insert("e", data)
        except DataError as error:
            return error.code
        db.commit()
        [(value,)] = db["e"]
        return value


def same(found: Any, expected: Any) -> bool:
    """Return True for equal values of one type; zeros have a sign."""
    return bool(type(found) is type(expected) and found == expected and repr(found) == repr(expected))


@pytest.mark.parametrize("name", TABLE)
def test_readers_in_memory_keep_a_value_or_refuse_it(name: str, tmp_path: Path) -> None:
    array, expected, _ = TABLE[name]
    table = pa.table({"x": array})
    parquet.write_table(table, tmp_path / "x.parquet", store_schema=True)
    ways = {
        "Arrow": table,
        "Parquet": parquet.read_table(tmp_path / "x.parquet"),
        "pandas": table.to_pandas(types_mapper=pandas.ArrowDtype),
        "Polars": polars.from_arrow(table),
    }
    for way, data in ways.items():
        found = tuple(in_memory(kind, data) for kind in KINDS)
        assert all(map(same, found, expected)), (way, found, expected)


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("data", "kind", "expected"),
    [
        (pandas.DataFrame({"x": [pandas.Period("2026-01")]}), "number", TYPE),  # is 672 months
        (pandas.DataFrame({"x": [pandas.Timestamp("2026-01-01")]}), "number", TYPE),
        (pandas.DataFrame({"x": [pandas.Timedelta(1)]}), "number", TYPE),
        (pandas.DataFrame({"x": [True, 1]}, dtype=object), "number", TYPE),
        (pandas.DataFrame({"x": [2**53 + 1, 0.5]}, dtype=object), "float", RANGE),
        (pandas.DataFrame({"x": [Decimal("0.1")]}), "float", TYPE),
        (pandas.DataFrame({"x": ["\ud800"]}), "symbol", "E0408"),
        (pa.table({"x": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1], pa.int8()))}), "number", TYPE),
        (pa.table({"x": pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}"]))}), "symbol", "{}"),
        ([("\ud800",)], "symbol", "E0408"),
        ([(True,)], "number", TYPE),
        ([(numpy.float16(0.1),)], "float", float(numpy.float16(0.1))),
        ([(numpy.longdouble(1) / 3,)], "float", RANGE),
        ([(2**53 + 1,)], "float", RANGE),
    ],
)
def test_values_of_python_and_pandas_are_kept_or_refused(data: Any, kind: str, expected: Any) -> None:
    assert same(in_memory(kind, data), expected)


@pytest.mark.parametrize("engine", ["embedded", "cluster"])
def test_pipelines_keep_a_value_or_say_why_not(spark: SparkSession, engine: str) -> None:
    """One row of good values for each kind, and one of bad ones, whose reasons stand in a row."""
    frame = to_spark(spark, pa.table({f"c{i}": array for i, (array, _, _) in enumerate(TABLE.values())}))
    program, sources = "", []
    good: dict[str, list[Any]] = {}
    bad: dict[str, str] = {}
    for number, kind in enumerate(KINDS):
        said = {f"c{i}": expected[number] for i, (_, _, expected) in enumerate(TABLE.values())}
        reasons = {
            name: found for name, found in said.items() if found != NO and (found in REASONS or found == "not a number")
        }
        values = {name: found for name, found in said.items() if found != NO and name not in reasons}
        for name, found in said.items():
            if found == NO:
                with tidelog.connect() as db:
                    db.load(f".decl e({name}: {kind})")
                    with pytest.raises(DataError, match=NO):
                        map_frame(db.program, "e", frame)
        good[f"good_{kind}"], bad[f"bad_{kind}"] = (
            list(values.values()),
            "; ".join(f"{n}: {r}" for n, r in reasons.items()),
        )
        for relation, names in ((f"good_{kind}", values), (f"bad_{kind}", reasons)):
            program += f".decl {relation}({', '.join(f'{name}: {kind}' for name in names)})\n"
            sources.append(Source(relation, frame=frame))
    with Pipeline(program, sources, engine=engine).run(spark) as result:
        assert result.database.stats()["engine"] == engine
        for relation, expected in good.items():
            [row] = result.database.local(relation)
            assert all(map(same, row, expected)), (relation, row, expected)
        assert {row.relation: row.reason for row in result.quarantine.collect()} == bad


@pytest.mark.parametrize("kind", ["number", "float"])
def test_an_integer_of_json_beside_fractions_is_not_rounded(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Spark makes doubles of all numbers in such a column."""
    (tmp_path / "e.json").write_text('{"x": 9007199254740993}\n{"x": 1.5}\n{"x": 3}\n{"x": -0.0}\n{"x": 1e400}\nx\n')
    with Pipeline(f".decl e(x: {kind})", [Source("e", tmp_path / "e.json", format="json")]).run(spark) as result:
        found = [float(text) for text in sorted(str(value) for (value,) in result.database.local("e"))]
        rows = {(row.reason, json.loads(row.row).get("line")) for row in result.quarantine.collect()}
    assert found == ([0.0, 1.5, 3.0] if kind == "float" else [0.0, 3.0])
    unequal = {("x: no float is equal to it", f'{{"x":"{text}"}}') for text in ("9007199254740993", "1e400")}
    rest = {("x: not a whole number", None)} if kind == "number" else set()
    assert rows == {*unequal, ("not JSON", "x"), *rest}


# --- quotation marks in CSV ------------------------------------------------------------------------------------------

PAIRS = ".decl e(n: number, x: symbol)"


def read_csv(
    spark: SparkSession, path: Path, program: str = PAIRS, **options: Any
) -> tuple[set[Any], dict[str, tuple[str, str]]]:
    """Return the facts, and file and reason of bad lines."""
    with Pipeline(program, [Source("e", path, options=options)]).run(spark) as result:
        bad = {json.loads(row.row)["line"]: (row.source, row.reason) for row in result.quarantine.collect()}
        count = result.counts["e"]
        assert count.read == count.accepted + count.quarantined
        return set(result.database.local("e")), bad


@pytest.fixture(params=["driver", "Spark"])
def kept_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Who keeps the rows of files: the driver, as those of small ones, or Spark, as those of large ones."""
    kept_by: str = request.param
    if kept_by == "Spark":
        monkeypatch.setattr(facts, "MANY_BYTES", 0)
        monkeypatch.setattr(facts, "FEW_ROWS", 0)
    return kept_by


def test_files_without_open_marks_are_not_read_for_their_marks(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kept_by: str
) -> None:
    def look(*_: object) -> None:
        pytest.fail("the files are read for their marks")

    monkeypatch.setattr(readers, "_line_breaks", look)
    if kept_by == "driver":
        monkeypatch.setattr(facts, "_check_in_spark", lambda sources: pytest.fail("Spark keeps rows of a small file"))
    folder = tmp_path / "50% ü"
    folder.mkdir()
    (folder / "1.csv").write_text('n,x\n1,"a, b"\n2,"say ""so"""\n')
    (folder / "2.csv").write_text('n,x\n3,"5\\" wide"\n4\n5,\nten,c\n')
    with Pipeline(PAIRS, [Source("e", folder, options={"header": True})], engine="embedded").run(spark) as result:
        assert set(result.database.local("e")) == {(1, "a, b"), (2, 'say "so"'), (3, '5" wide'), (5, "")}
        bad = [(row.reason, json.loads(row.row), Path(row.source).name) for row in result.quarantine.collect()]
        assert sorted(bad, key=repr) == [
            ("n: not a number", {"n": "ten", "x": "c"}, "2.csv"),
            ("not 2 columns", {"line": "4"}, "2.csv"),
        ]
        assert result.counts["e"] == Counts(6, 4, 2)


def test_the_size_of_files_is_known_if_they_are_not_compressed(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "50% ü"
    folder.mkdir()
    (folder / "1 2.csv").write_text("1,a\n")
    (folder / "3.TXT").write_text("2,b\n3,c\n")
    assert text_size(spark, spark.read.text(str(folder))) == 12
    (folder / "4.csv.gz").write_bytes(gzip.compress(b"4,d\n"))
    assert text_size(spark, spark.read.text(str(folder))) is None


def test_a_line_that_is_no_row_may_have_more_columns_than_the_reader_takes(
    spark: SparkSession, tmp_path: Path, kept_by: str
) -> None:
    file = tmp_path / "e.csv"
    file.write_text('1,"a\n2,b,c,d,e,f,g\nc"\n')
    assert read_csv(spark, file, maxColumns=4) == ({(1, "a\n2,b,c,d,e,f,g\nc")}, {})


def test_an_open_mark_of_a_header_counts_for_its_file(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "e.csv"
    file.write_text('n,x"\n1,a\n')
    options = {"header": True, "multiLine": True}
    with Pipeline(PAIRS, [Source("e", file, columns={"x": 'x"'}, options=options)]).run(spark) as result:
        [bad] = result.quarantine.collect()
        assert bad.reason == "a quotation mark is not closed in this file, and fields may have line breaks"


def test_a_feed_with_line_breaks_has_its_rows(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "e.csv"
    file.write_text('1,"a\n1,b"\n2,c\n2,"d\n')
    source = Source("e", file, mode="append", key="n")
    with Pipeline(PAIRS, [source]).run(spark) as result:
        assert not set(result.database.local("e"))
        assert result.counts["e"] == Counts(4, 0, 4)
    file.write_text('1,"a\n1,b"\n2,c\n')
    with Pipeline(PAIRS, [source]).run(spark) as result:
        assert set(result.database.local("e")) == {(1, "a\n1,b"), (2, "c")}
        assert result.counts["e"] == Counts(2, 2, 0)


def test_a_field_with_line_breaks_is_one_value(spark: SparkSession, tmp_path: Path, kept_by: str) -> None:
    """Also where a line in the middle looks like a row, and where a field ends and the next one begins in one line."""
    folder = tmp_path / "50% ü"
    folder.mkdir()
    (folder / "1.csv").write_text('1,"a\n2,b\nc"\n3,d\n4,"\n""f""\n"\n')
    (folder / "2.csv").write_text('5,"x\n6,y"\n7,"5\\" wide"\n')
    (folder / "3.csv").write_text('8,plain\n9,"say ""so"""\n10,"5\\" wide"\n11,""\n')
    expected = {
        (1, "a\n2,b\nc"), (3, "d"), (4, '\n"f"\n'), (5, "x\n6,y"), (7, '5" wide'), (8, "plain"), (9, 'say "so"'),
        (10, '5" wide'), (11, ""),
    }  # fmt: skip
    assert read_csv(spark, folder) == (expected, {})
    assert read_csv(spark, folder, multiLine=True) == (expected, {})
    both = tmp_path / "b.csv"
    both.write_text('a|b|c\n"p\nq"|"r\n3|4"|5\n')
    program = ".decl e(a: symbol, b: symbol, c: number)"
    assert read_csv(spark, both, program, header=True, sep="|") == ({("p\nq", "r\n3|4", 5)}, {})


def test_a_file_whose_quotation_marks_do_not_pair_up_is_quarantined_whole(
    spark: SparkSession, tmp_path: Path, kept_by: str
) -> None:
    mixed, typos, good = (tmp_path / f"{name}.csv" for name in ("mixed", "typos", "good"))
    mixed.write_text('1,"a\n2,b\nc"\n3,"d\n')
    typos.write_text('4,"a\n5,b\n6,5" d\n7,"c\n')
    good.write_text('8,"g\nh"\n')
    whole = "a quotation mark is not closed in this file, and fields may have line breaks"
    alone = "a quotation mark is not closed"
    assert read_csv(spark, tmp_path) == (
        {(5, "b"), (8, "g\nh")},
        {
            **dict.fromkeys(['1,"a', "2,b", 'c"', '3,"d'], (mixed.as_uri(), whole)),
            **dict.fromkeys(['4,"a', '6,5" d', '7,"c'], (typos.as_uri(), alone)),
        },
    )
    # With multiLine Spark would make one row of the rest of a file behind an open quotation mark.
    found, bad = read_csv(spark, tmp_path, multiLine=True)
    assert found == {(8, "g\nh")}
    assert {reason for _, reason in bad.values()} == {whole}
    assert len(bad) == 8


def test_marks_within_fields_and_other_marks_change_nothing(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "e.csv"
    file.write_text('1,5" wide\n2,"a\nb"\n3,c\n')
    expected = {(1, '5" wide'), (2, "a\nb"), (3, "c")}
    assert read_csv(spark, file, multiLine=True) == (expected, {})
    assert read_csv(spark, file) == (expected, {})
    file.write_text("1;'a\n2;b\n''c'''\n3;5\" wide\n")
    assert read_csv(spark, file, sep=";", quote="'") == ({(1, "a\n2;b\n'c'"), (3, '5" wide')}, {})
    file.write_text('1,"a\n2,b"\n')
    assert read_csv(spark, file, quote="") == ({(1, '"a'), (2, 'b"')}, {})
