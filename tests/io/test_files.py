"""Which file a directive means, and that every format gives back what it was given."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings

from tests.io.samples import (
    A_ROW_OF_EACH,
    BRANCHES,
    DARK,
    EDGE,
    END,
    EVERY,
    NAMED,
    ROWS,
    TERMS,
    decoded,
    dictionary,
    relation,
)
from tests.texts import cases_of, python
from tidelog.errors import DataError
from tidelog.io import encode, read_facts, size_line, write_view
from tidelog.language.syntax import RelationType

FORMATS: list[dict[str, str | int | bool]] = [
    {"rfc4180": "true", "compress": True},
    {"IO": "parquet"},
    {"IO": "arrow"},
    {"IO": "json"},
    {"IO": "json", "format": "object", "compress": "true"},
    {"IO": "sqlite"},
]


def write(rows: list[Any], kind: RelationType, folder: Path, **options: str | int | bool) -> Path:
    known = dictionary()
    path = write_view(options, folder, kind, encode(rows, kind, known), known)
    assert path is not None
    return path


def read(kind: RelationType, folder: Path, **options: str | int | bool) -> list[tuple[Any, ...]]:
    known = dictionary()
    return decoded(read_facts(options, folder, kind, known), kind, known)


@pytest.mark.parametrize("options", FORMATS, ids=str)
def test_every_format_keeps_a_row_of_each_kind(options: dict[str, str | int | bool], tmp_path: Path) -> None:
    path = write(A_ROW_OF_EACH, EVERY, tmp_path, **options)
    assert read(EVERY, tmp_path, filename=path.name, **options) == A_ROW_OF_EACH
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("options", FORMATS, ids=str)
@pytest.mark.parametrize("rows", [[], [()]], ids=["false", "true"])
def test_every_format_keeps_a_relation_without_columns(
    options: dict[str, str | int | bool], rows: list[Any], tmp_path: Path
) -> None:
    path = write(rows, relation("flag"), tmp_path, **options)
    assert read(relation("flag"), tmp_path, filename=path.name, **options) == rows


@settings(max_examples=25)
@given(ROWS)
def test_every_format_keeps_every_row(rows: list[Any]) -> None:
    for options in FORMATS:
        with tempfile.TemporaryDirectory() as folder:
            path = write(rows, EVERY, Path(folder), **options)
            back = read(EVERY, Path(folder), filename=path.name, **options)
        assert sorted(map(repr, back)) == sorted(map(repr, rows))


@pytest.mark.parametrize(("options", "name"), cases_of(__file__, "names of outputs", python))
def test_names_of_outputs(options: dict[str, str | int | bool], name: str, tmp_path: Path) -> None:
    assert write([(1, 2)], EDGE, tmp_path, **options) == tmp_path / name
    assert read(EDGE, tmp_path, **{**options, "filename": name}) == [(1, 2)]


@pytest.mark.parametrize("options", [{"compress": True}, {"IO": "json", "compress": True}], ids=str)
def test_packed_files_hold_neither_a_time_nor_a_name(options: dict[str, str | int | bool], tmp_path: Path) -> None:
    data = write([(1, 2)], EDGE, tmp_path, **options).read_bytes()
    assert data[3:8] == bytes(5)  # flags and time, see RFC 1952


def test_an_absolute_name_leaves_the_folder(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("1\t2\n")
    assert read(EDGE, Path("/nowhere"), filename=str(tmp_path / "x")) == [(1, 2)]


@pytest.mark.parametrize("name", ["e.facts", "e.facts.gz", "e.csv", "e.tsv", "e.csv.gz"])
def test_text_facts_under_other_names(name: str, tmp_path: Path) -> None:
    data = b"1\t2\n"
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert read(EDGE, tmp_path) == [(1, 2)]


def test_table_facts_under_other_names(tmp_path: Path) -> None:
    table = pa.table({"y": [2], "x": [1]})
    pyarrow.parquet.write_table(table, tmp_path / "e.parquet")
    assert read(EDGE, tmp_path) == [(1, 2)]
    (tmp_path / "e.parquet").unlink()
    pyarrow.feather.write_feather(table, tmp_path / "e.arrow")
    assert read(EDGE, tmp_path) == [(1, 2)]
    (tmp_path / "e.arrow").unlink()
    (tmp_path / "e.json").write_text('[{"x": 1, "y": 2}]')
    assert read(EDGE, tmp_path) == [(1, 2)]


def test_facts_come_before_all_other_names(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("3\t4\n")
    (tmp_path / "e.facts").write_text("1\t2\n")
    assert read(EDGE, tmp_path) == [(1, 2)]


def test_a_csv_file_may_have_commas(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("1,2\n3,4\n")
    assert read(EDGE, tmp_path) == [(1, 2), (3, 4)]
    assert read(EDGE, tmp_path, filename="e.csv", delimiter=",") == [(1, 2), (3, 4)]
    (tmp_path / "e.csv").write_text("1,2\t3\n")
    assert read(relation("e", s="symbol", n="number"), tmp_path) == [("1,2", 3)]


def test_a_folder_of_parquet_files(tmp_path: Path) -> None:
    folder = tmp_path / "e.parquet"
    folder.mkdir()
    for part in range(2):
        pyarrow.parquet.write_table(pa.table({"x": [part], "y": [part]}), folder / f"part-{part}.parquet")
    assert read(EDGE, tmp_path) == [(0, 0), (1, 1)]


def test_an_arrow_stream(tmp_path: Path) -> None:
    table = pa.table({"x": [1], "y": [2]})
    with pa.OSFile(str(tmp_path / "e.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    assert read(EDGE, tmp_path) == [(1, 2)]


def test_several_views_in_one_database(tmp_path: Path) -> None:
    options = {"IO": "sqlite", "filename": "all.db"}
    write([(1, 2)], EDGE, tmp_path, **options)
    write([("a", 1)], NAMED, tmp_path, **options)
    write([(3, 4)], EDGE, tmp_path, **options)
    assert read(EDGE, tmp_path, **options) == [(3, 4)]
    with closing(sqlite3.connect(tmp_path / "all.db")) as connection:
        assert connection.execute("SELECT name, n FROM s").fetchall() == [("a", 1)]
        connection.execute("CREATE VIEW v AS SELECT y AS x, x AS y FROM e")
    assert read(relation("v", x="number", y="number"), tmp_path, **options) == [(4, 3)]


def test_json_has_two_layouts_of_records_and_branches(tmp_path: Path) -> None:
    both, say = BRANCHES["Both"], BRANCHES["Say"]
    rows = [(both(END, (1, "x"), say("y", DARK)), (END, 2)), (END, None)]
    lists = [[["$Both", ["$End"], [1, "x"], ["$Say", "y", ["$Dark"]]], [["$End"], 2]], [["$End"], None]]
    parts = {"left": {"$End": {}}, "pair": {"a": 1, "b": "x"}, "right": {"$Say": {"text": "y", "shade": {"$Dark": {}}}}}
    objects = [
        {"term": {"$Both": parts}, "holder": {"term": {"$End": {}}, "n": 2}},
        {"term": {"$End": {}}, "holder": None},
    ]
    texts = [["$Both($End, [1, x], $Say(y, $Dark))", [{"$End": []}, 2]], ["$End()", None]]
    assert json.loads(write(rows, TERMS, tmp_path, IO="json").read_text()) == lists
    assert json.loads(write(rows, TERMS, tmp_path, IO="json", format="object").read_text()) == objects
    for document in (lists, objects, texts):
        (tmp_path / "t.json").write_text(json.dumps(document))
        assert read(TERMS, tmp_path, IO="json") == rows


@pytest.mark.parametrize(("row", "message"), cases_of(__file__, "json without a value is an error", str, python))
def test_json_without_a_value_is_an_error(row: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(f'[[["$End"], null],\n{row}]')
    with pytest.raises(DataError) as raised:
        read(TERMS, tmp_path, IO="json")
    assert f"t.json, row 2, {message}" in str(raised.value)


def test_null_in_sqlite_is_nil_or_an_error(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        connection.execute("CREATE TABLE t (term, holder)")
        connection.execute("INSERT INTO t VALUES ('$End', NULL), ('$Say(x, $Dark)', '[$End, 0x10]')")
        connection.commit()
        assert read(TERMS, tmp_path, IO="sqlite", dbname="t.db") == [
            (END, None),
            (BRANCHES["Say"]("x", DARK), (END, 16)),
        ]
        connection.execute("INSERT INTO t VALUES (NULL, NULL)")
        connection.execute("CREATE TABLE s (name, n)")
        connection.execute("INSERT INTO s VALUES ('a', 1), ('b', NULL)")
        connection.commit()
    for kind, place in ((TERMS, "table t, row 3, column term"), (NAMED, "table s, row 2, column n")):
        with pytest.raises(DataError, match=rf"t\.db, {place}: error\[E0403\].*found no value \(None\)"):
            read(kind, tmp_path, IO="sqlite", dbname="t.db")


def test_json_is_a_row_per_line(tmp_path: Path) -> None:
    holder = relation("h", s="symbol", pair="Pair")
    rows = [('"ü"', (1, "x")), ("a", None)]
    assert write(rows, holder, tmp_path, IO="json").read_text() == '[\n["\\"ü\\"", [1, "x"]],\n["a", null]\n]\n'
    path = write(rows, holder, tmp_path, IO="json", format="object")
    assert json.loads(path.read_text())[1] == {"s": "a", "pair": None}


def test_views_are_sorted(tmp_path: Path) -> None:
    rows: list[tuple[Any, ...]] = [("b", 1), ("a", 10), ("a", 9), ("a", -1), ("B", 0), ("ä", 0), ("", 5)]
    assert write(rows, NAMED, tmp_path).read_text() == "\t5\nB\t0\na\t-1\na\t9\na\t10\nb\t1\nä\t0\n"
    wide = relation("w", u="unsigned", f="float")
    rows = [(2**64 - 1, 0.0), (1, 2.0), (1, -3.0), (1, float("-inf"))]
    assert write(rows, wide, tmp_path).read_text() == "1\t-inf\n1\t-3\n1\t2\n18446744073709551615\t0\n"
    pairs = relation("p", pair="Pair", n="number")
    rows = [((10, "a"), 1), ((9, "b"), 1), ((9, "a"), 2), (None, 7), (None, 3)]
    assert write(rows, pairs, tmp_path).read_text() == "nil\t3\nnil\t7\n[9, a]\t2\n[9, b]\t1\n[10, a]\t1\n"
    lists = relation("l", chain="List")
    rows = [(("b", None),), (("a", ("c", None)),), (None,), (("a", ("b", None)),)]
    assert write(rows, lists, tmp_path).read_text() == "[a, [b, nil]]\n[a, [c, nil]]\n[b, nil]\nnil\n"


def test_the_widest_columns_are_sorted_too(tmp_path: Path) -> None:
    rows = [(2**63 - 1, -(2**63)), (-(2**63), 5), (0, 2**63 - 1), (0, -1)]
    assert read(EDGE, tmp_path, filename=write(rows, EDGE, tmp_path).name) == sorted(rows)


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    for options in FORMATS[:-1]:
        first = write([("a", 1), ("b", 2)], NAMED, tmp_path, **options).read_bytes()
        assert write([("b", 2), ("a", 1)], NAMED, tmp_path, **options).read_bytes() == first


def test_printing_on_standard_output() -> None:
    known = dictionary()
    words = encode([(3, 4), (1, 2)], EDGE, known)
    stream = io.BytesIO()
    assert write_view({"IO": "stdout"}, None, EDGE, words, known, stream=stream) is None
    write_view({"IO": "stdout"}, ".", EDGE, words[:1], known, stream=stream)
    write_view({"headers": "true"}, None, EDGE, words[:0], known, stream=stream)
    assert stream.getvalue().decode() == (
        "---------------\ne\nx\ty\n===============\n1\t2\n3\t4\n===============\n"
        "---------------\ne\n===============\n3\t4\n===============\n"
        "---------------\ne\nx\ty\n===============\n===============\n"
    )


def test_reading_from_standard_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"1,2\n")))
    assert read(EDGE, tmp_path, IO="stdin", delimiter=",") == [(1, 2)]


def test_sizes() -> None:
    assert size_line(EDGE, 12) == "e\t12"


def test_a_failed_output_leaves_the_file_that_was_there(tmp_path: Path) -> None:
    path = write([("a", 1)], NAMED, tmp_path)
    known = dictionary()
    with pytest.raises(DataError):  # the word 99 is no symbol
        write_view({}, tmp_path, NAMED, encode([("a", 1)], NAMED, known) + 99, known)
    assert path.read_text() == "a\t1\n"
    assert list(tmp_path.iterdir()) == [path]


def test_options_of_other_engines_are_read_over(tmp_path: Path) -> None:
    assert write([(1, 2)], EDGE, tmp_path, attributeNames="x\ty", operation="output", IO="file", headers=0).exists()


def test_a_tab_may_be_written_with_a_backslash(tmp_path: Path) -> None:
    (tmp_path / "e.facts").write_text("1\t2\n")
    assert read(EDGE, tmp_path, delimiter="\\t") == [(1, 2)]
