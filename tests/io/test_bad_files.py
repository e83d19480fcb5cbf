"""Everything that files and their options can get wrong, and the message that says so."""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.io.samples import EDGE, HOLDER, NAMED, REAL, cases, dictionary, fails
from tidelog.common.source import SourceText, Span
from tidelog.io import encode, read_facts, write_view
from tidelog.language.syntax import RelationType


@pytest.mark.parametrize(("kind", "options", "data", "message"), cases("files", {"gzip": gzip}))
def test_files(
    kind: RelationType,
    options: dict[str, Any],
    data: bytes | None,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    if data is not None:
        Path(options["filename"]).write_bytes(data)
    assert fails(lambda: read_facts(options, Path(), kind, dictionary())) == message


@pytest.mark.parametrize(("options", "message"), cases("options", {}))
def test_options(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    assert fails(lambda: read_facts(options, tmp_path, EDGE, dictionary())) == message


def test_a_bad_option_is_shown_in_the_program() -> None:
    source = SourceText("p.dl", ".input e(IO=delta)")
    assert fails(lambda: read_facts({"IO": "delta"}, Path(), EDGE, dictionary(), Span(source, 9, 17))) == (
        "p.dl:1:10: error[E0413]: unknown IO=delta\n"
        "    1 | .input e(IO=delta)\n"
        "      |          ^^^^^^^^\n"
        "  hint: use one of file, json, jsonfile, parquet, arrow, sqlite, stdin, stdout"
    )


def test_a_row_of_a_table_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(pa.table({"x": [1, None], "y": [1, 2]}), "e.parquet")
    assert fails(lambda: read_facts({}, Path(), EDGE, dictionary())) == (
        "e.parquet, row 2, column x: error[E0403]: expected a number, found no value (null)\n"
        "  hint: leave the row out, or use a marker of your own"
    )


def test_databases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect("a.db")) as connection:
        connection.execute("CREATE TABLE e (x, z)")
        connection.execute("CREATE TABLE s (name, n)")
        connection.execute("INSERT INTO s VALUES ('a', 1.5)")
        connection.execute("CREATE TABLE h (pair, chain)")
        connection.execute("INSERT INTO h VALUES ('[1', 'nil')")
        connection.commit()

    def message(kind: RelationType) -> str:
        return fails(lambda: read_facts({"filename": "a.db"}, Path(), kind, dictionary()))

    assert message(EDGE) == (
        "a.db, table e: error[E0406]: expected the columns x, y, found x, z\n"
        '  hint: missing: y; not declared: z; to go by position, add columns="0:1" to .input'
    )
    assert message(NAMED) == (
        "a.db, table s, row 1, column n: error[E0401]: expected a number, found the float 1.5\n"
        "  hint: write a whole number, or declare n as float"
    )
    assert message(HOLDER) == (
        "a.db, table h, row 1, column pair: error[E0401]: "
        "expected , at character 3 of the record '[1', found the end\n"
        "  hint: write a record of type Pair like [1, nil]"
    )
    assert message(REAL) == "a.db, table f: error[E0410]: the database has no table f\n  hint: name one of e, s, h"


def test_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    known = dictionary()
    words = encode([(1, 2)], EDGE, known)

    def message(folder: str, **options: Any) -> str:
        return fails(lambda: write_view(options, folder, EDGE, words, known))

    assert message("nowhere") == (
        "nowhere/e.csv: error[E0412]: the file cannot be written: No such file or directory\n"
        "  hint: create the folder nowhere"
    )
    assert message(".", filename="folder") == (
        "folder: error[E0412]: the file cannot be written: Is a directory\n  hint: write to another place"
    )
    assert message("nowhere", IO="sqlite") == (
        "nowhere/e.sqlite: error[E0412]: the database cannot be written: unable to open database file\n"
        "  hint: create the folder nowhere"
    )
    assert message(".", IO="stdin") == "error[E0413]: IO=stdin cannot be written\n  hint: write IO=stdout"
    assert [path.name for path in Path().iterdir()] == ["folder"]
