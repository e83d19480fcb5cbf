"""The columns of data go by name at every way in, and by position where there are no names, or on purpose."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pandas
import polars
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import tidelog
from tidelog.errors import DataError
from tidelog.io import read_facts
from tidelog.storage.column_names import match_columns

PROGRAM = ".decl r(id: number, amount: number)\n"
Columns = dict[str, list[int]]
Enter = Callable[[tidelog.Database, Columns, Path, str], object]


def inserted(make: Callable[[Columns], Any]) -> Enter:
    """Return the way in by `insert` of what `make` makes of columns."""
    return lambda db, columns, folder, options: db.insert("r", make(columns))


def deleted(make: Callable[[Columns], Any]) -> Enter:
    """Return the way in by `delete`: of the facts (1, 5) and (5, 1), the deleted ones are there in the end."""

    def enter(db: tidelog.Database, columns: Columns, folder: Path, options: str) -> None:
        both = {(1, 5), (5, 1)}
        db.insert("r", both)
        db.delete("r", make(columns))
        gone = both - facts(db)
        db.clear("r")
        db.insert("r", gone)

    return enter


def file(write: Callable[[Path, Columns], object], name: str, options: str = "") -> Enter:
    """Return the way in by `.input` of a file that `write` writes."""

    def enter(db: tidelog.Database, columns: Columns, folder: Path, more: str) -> None:
        write(folder / name, columns)
        db.load(f'.input r(filename="{name}"{options}{more})')
        [directive] = [each for each in db.program.directives if each.name == "input"]
        db.insert_words("r", read_facts(directive.options, folder, db.program.relations["r"], db.dictionary))

    return enter


def rows(columns: Columns) -> list[tuple[int, ...]]:
    return list(zip(*columns.values(), strict=True))


def write_text(delimiter: str, quote: str) -> Callable[[Path, Columns], None]:
    def write(path: Path, columns: Columns) -> None:
        lines = [[f"{quote}{name}{quote}" for name in columns], *[map(str, row) for row in rows(columns)]]
        path.write_text("".join(delimiter.join(line) + "\n" for line in lines))

    return write


def write_database(path: Path, columns: Columns) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"create table r ({', '.join(json.dumps(name, ensure_ascii=False) for name in columns)})")
        connection.executemany(f"insert into r values ({', '.join('?' * len(columns))})", rows(columns))


def dicts(columns: Columns) -> list[dict[str, int]]:
    return [dict(zip(columns, row, strict=True)) for row in rows(columns)]


def relation(columns: Columns) -> tidelog.Relation:
    other = tidelog.connect()
    other.load(f".decl other({', '.join(f'{name.strip()}: number' for name in columns)})")
    other.insert("other", rows(columns))
    other.commit()
    return other["other"]


DATA: dict[str, Enter] = {
    "pandas": inserted(pandas.DataFrame),
    "pandas deleted": deleted(pandas.DataFrame),
    "Polars": inserted(polars.DataFrame),
    "Polars deleted": deleted(polars.DataFrame),
    "Arrow": inserted(pa.table),
    "DuckDB": inserted(lambda columns: duckdb.from_arrow(pa.table(columns))),
    "relation": inserted(relation),
    "dicts": inserted(dicts),
    "dicts deleted": deleted(dicts),
}
FILES: dict[str, Enter] = {
    "text": file(write_text("\t", ""), "r.facts", ", headers=true"),
    "quoted text": file(write_text(",", '"'), "r.csv", ", headers=true, rfc4180=true"),
    "Parquet": file(lambda path, columns: parquet.write_table(pa.table(columns), path), "r.parquet"),
    "Arrow file": file(lambda path, columns: feather.write_feather(pa.table(columns), path), "r.arrow"),
    "SQLite": file(write_database, "r.sqlite"),
    "JSON": file(lambda path, columns: path.write_text(json.dumps(dicts(columns))), "r.json"),
}
ENTRANCES = DATA | FILES


@pytest.fixture
def db() -> Iterator[tidelog.Database]:
    with tidelog.connect() as opened:
        opened.load(PROGRAM)
        yield opened


def facts(db: tidelog.Database) -> set[Any]:
    db.commit()
    return set(db["r"])


@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize(
    "columns",
    [
        {"id": [1], "amount": [5]},
        {"amount": [5], "id": [1]},
        {"Amount": [5], "ID": [1]},
        {" AMOUNT ": [5], "id ": [1]},
        {"__index_level_0__": [7], "id": [1], "amount": [5]},
        {"amount": [5], "id": [1], "__index_level_0__": [7]},
    ],
)
def test_names_say_which_column_is_which(db: tidelog.Database, tmp_path: Path, entrance: str, columns: Columns) -> None:
    ENTRANCES[entrance](db, columns, tmp_path, "")
    assert facts(db) == {(1, 5)}


@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize(
    "columns", [{"total": [5], "key": [1]}, {"id": [1], "key": [5]}, {"amount": [5], "ID": [1], "more": [7]}]
)
def test_other_columns_are_an_error(db: tidelog.Database, tmp_path: Path, entrance: str, columns: Columns) -> None:
    with pytest.raises(DataError) as raised:
        ENTRANCES[entrance](db, columns, tmp_path, "")
    assert raised.value.code == "E0406"
    assert "expected the columns id, amount, found " + ", ".join(columns) in str(raised.value)
    assert ("to go by position" in str(raised.value)) == (len(columns) == 2)


@pytest.mark.parametrize(
    "data",
    [
        pandas.DataFrame([(1, 5)]),
        pandas.DataFrame([(1, 5)]).rename(columns=str),
        polars.DataFrame([(1, 5)], orient="row"),
        duckdb.sql("values (1, 5)"),
        [(1, 5)],
        pandas.DataFrame([(1, 5)]).to_numpy(),
    ],
    ids=["pandas", "pandas, texts", "Polars", "DuckDB", "tuples", "array"],
)
def test_data_without_names_go_by_position(db: tidelog.Database, data: Any) -> None:
    db.insert("r", data)
    assert facts(db) == {(1, 5)}


@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame, pa.table, relation])
def test_the_hint_for_tables_takes_them_by_position(db: tidelog.Database, make: Callable[[Columns], Any]) -> None:
    data = make({"key": [1], "total": [5]})
    with pytest.raises(DataError) as raised:
        db.insert("r", data)
    code = str(raised.value.problems[0].hint).split("to go by position, pass ")[1]
    db.insert("r", eval(code, {"data": data, "pyarrow": pa}))
    assert facts(db) == {(1, 5)}


def test_the_hint_for_dicts_takes_them_by_position(db: tidelog.Database) -> None:
    with pytest.raises(DataError, match="to go by position, pass its values as a tuple"):
        db.insert("r", [{"key": 1, "total": 5}])
    db.insert("r", [tuple({"key": 1, "total": 5}.values())])
    assert facts(db) == {(1, 5)}


@pytest.mark.parametrize("name", [name for name in FILES if name != "JSON"])
def test_the_hint_for_files_takes_them_by_position(db: tidelog.Database, tmp_path: Path, name: str) -> None:
    columns = {"key": [1], "total": [5]}
    with pytest.raises(DataError) as raised:
        FILES[name](db, columns, tmp_path, "")
    option = str(raised.value.problems[0].hint).split("to go by position, add ")[1].removesuffix(" to .input")
    db.rollback()
    db.load(PROGRAM)
    (tmp_path / "again").mkdir()
    FILES[name](db, columns, tmp_path / "again", f", {option}")
    assert facts(db) == {(1, 5)}


@pytest.mark.parametrize("name", ["Parquet", "Arrow file", "SQLite"])
def test_positions_pick_columns_of_tables(db: tidelog.Database, tmp_path: Path, name: str) -> None:
    FILES[name](db, {"amount": [5], "id": [1]}, tmp_path, ', columns="0:1"')
    assert facts(db) == {(5, 1)}


@pytest.mark.parametrize("name", ["Parquet", "Arrow file", "SQLite"])
def test_positions_that_a_table_lacks(db: tidelog.Database, tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=r"E0405.*expected at least 3 columns, found 2: amount, id"):
        FILES[name](db, {"amount": [5], "id": [1]}, tmp_path, ', columns="0:2"')


@pytest.mark.parametrize(
    ("found", "declared", "order"),
    [
        (["x", "X"], ["X", "x"], [1, 0]),
        (["X", "x"], ["X", "x"], [0, 1]),
        (["AMOUNT", "x", "X"], ["X", "x", "amount"], [2, 1, 0]),
        (["x", "X"], ["x", "y"], "missing: y; not declared: X"),
        (["Xx", "xX"], ["xx", "y"], "missing: y; more than once: Xx, xX"),
        (["Id", "y"], ["id", "ID"], "missing: id, ID; not declared: Id, y"),
        (["x", "x"], ["x", "y"], "missing: y; more than once: x"),
        (["1", "0"], ["x", "y"], "missing: x, y; not declared: 1, 0"),
        (["0", "1", "2"], ["x", "y"], "missing: x, y; not declared: 0, 1, 2"),
        ([0, 1], ["x", "y"], [0, 1]),
        (["_c0", "_c1"], ["x", "y"], [0, 1]),
        (["_1", "_2"], ["x", "y"], [0, 1]),
        (["_2", "_1"], ["_1", "_2"], [1, 0]),
        ([], [], []),
    ],
)
def test_the_rule(found: list[object], declared: list[str], order: list[int] | str) -> None:
    if isinstance(order, list):
        assert match_columns(found, declared, "r") == order
        return
    with pytest.raises(DataError) as raised:
        match_columns(found, declared, "r")
    assert raised.value.problems[0].hint == order


OF_RECORDS: dict[str, Callable[[Any], Any]] = {
    "tuples": lambda record: [(record,)],
    "dicts": lambda record: [{"p": record}],
    "pandas": lambda record: pandas.DataFrame({"p": [record]}),
    "Polars": lambda record: polars.DataFrame({"p": [record]}),
    "Arrow": lambda record: pa.table({"p": [record]}),
}


@pytest.mark.parametrize("entrance", [*OF_RECORDS, "JSON"])
@pytest.mark.parametrize(
    ("record", "is_right"),
    [({"a": 1, "b": "x"}, True), ({"B": "x", " a": 1}, True), ({"a": 1, "c": "x"}, False), ({"a": 1}, False)],
)
def test_names_of_fields(
    db: tidelog.Database, tmp_path: Path, entrance: str, record: dict[str, Any], is_right: bool
) -> None:
    db.load(".type Inner = [a: number, b: symbol]\n.decl s(p: Inner)")

    def enter() -> None:
        if entrance == "JSON":
            (tmp_path / "s.json").write_text(json.dumps([{"p": record}]))
            db.insert_words("s", read_facts({}, tmp_path, db.program.relations["s"], db.dictionary))
        else:
            db.insert("s", OF_RECORDS[entrance](record))

    if not is_right:
        with pytest.raises(DataError, match=r"E040[16]"):
            enter()
        return
    enter()
    db.commit()
    assert list(db["s"]) == [((1, "x"),)]
    assert ({"B": "x", "A": 1},) in db["s"]


def test_names_of_branches_in_objects(tmp_path: Path) -> None:
    db = tidelog.connect()
    db.load(".type List = Nil {} | Cons {head: number, tail: List}\n.decl r(id: number, items: List)\n")
    (tmp_path / "r.json").write_text('[{"Items": {"$Cons": {"Tail": ["$Nil"], "HEAD": 1}}, "ID": 7}]')
    db.insert_words("r", read_facts({}, tmp_path, db.program.relations["r"], db.dictionary))
    db.commit()
    [(number, items)] = db["r"]
    assert (number, items) == (7, db.branch("Cons")(1, db.branch("Nil")()))
