"""Columns of text files by their positions, names of columns in outputs, and lines with far too many fields."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.suite import loaded
from tidelog.io import read_facts, text_reader, write_view
from tidelog.io.relation import Relation, WordRows

PROGRAM = (
    ".decl e(x: number, y: symbol)\n.decl one(x: symbol)\n.decl p(r: P, n: number)\n.type P = [a: number, b: number]"
)


def read(folder: Path, text: str, name: str = "e", **options: Any) -> list[tuple[Any, ...]]:
    (folder / f"{name}.facts").write_text(text, encoding="utf-8")
    db = tidelog.connect()
    db.load(PROGRAM)
    relation = db.program.relations[name]
    words = read_facts(options, folder, relation, db.dictionary)
    return list(Relation(name, WordRows(relation.columns, db.dictionary, words)))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    ("text", "options", "rows"),
    [
        ("a\t1\tb\t2\nc\t3\td\t4\n", {"columns": "1:2"}, [(1, "b"), (3, "d")]),
        ("a\t1\tb\t2\nc\t3\td\t4\n", {"columns": "3:0"}, [(2, "a"), (4, "c")]),
        ("1\tb\textra\n2\td\t\n", {"columns": "0:1"}, [(1, "b"), (2, "d")]),
        ("u;v;w\n1;x;2\n\n3;y;4\n", {"columns": "2:1", "headers": True, "delimiter": ";"}, [(2, "x"), (4, "y")]),
        ('"q,1",5,"a""b"\n"r",6,"two\nlines"\n', {"columns": "1:2", "rfc4180": True}, [(5, 'a"b'), (6, "two\nlines")]),
        ("a::1::b::2\n", {"columns": "1:2", "delimiter": "::"}, [(1, "b")]),
        ("a\t1\tb\na\t2\tc\td\te\n", {"columns": "1:2"}, [(1, "b"), (2, "c")]),
        ("", {"columns": "1:2"}, []),
    ],
)  # fmt: skip
def test_columns_by_position(
    tmp_path: Path,
    text: str,
    options: dict[str, Any],
    rows: list[tuple[Any, ...]],
    exact: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if exact:
        monkeypatch.setattr(text_reader, "_read_quickly", lambda *_: None)
    assert read(tmp_path, text, **options) == rows


def test_one_column_of_many_has_no_blank_rows(tmp_path: Path) -> None:
    assert read(tmp_path, "a\tb\n\nc\td\n", "one", columns="1") == [("b",), ("d",)]
    assert read(tmp_path, "[1, 2]\tx\t7\n", "p", columns="0:2") == [((1, 2), 7)]


@pytest.mark.parametrize(
    ("options", "code", "part"),
    [
        ({"columns": "0"}, "E0413", "columns=0 does not fit the columns of e"),
        ({"columns": "0:0"}, "E0413", "no list of positions"),
        ({"columns": "0:x"}, "E0413", "no list of positions"),
        ({"columns": "0,1"}, "E0413", "no list of positions"),
        ({"columns": "-1:0"}, "E0413", "no list of positions"),
        ({"columns": "0:5"}, "E0405", "expected at least 6 columns, found 2"),
        ({"columns": "1:0"}, "E0401", "e.facts:1:3: "),
        ({"columns": "0:1", "IO": "json"}, "E0413", "is read as json"),
    ],
)
def test_wrong_positions(tmp_path: Path, options: dict[str, Any], code: str, part: str) -> None:
    (tmp_path / "e.json").write_text("[]")
    with pytest.raises(tidelog.DataError) as raised:
        read(tmp_path, "1\tb\n", **options)
    assert raised.value.code == code
    assert part in str(raised.value)
    assert raised.value.problems[0].hint


def test_names_in_the_first_line_of_an_output(tmp_path: Path) -> None:
    db = loaded(PROGRAM, {"e": [(1, "a")]})
    relation, words = db.program.relations["e"], db["e"].words()
    options: dict[str, Any] = {"headers": True, "attributeNames": "number;text", "delimiter": ";"}
    path = write_view(options, tmp_path, relation, words, db.dictionary)
    assert path is not None
    assert path.read_text() == "number;text\n1;a\n"
    stream = io.BytesIO()
    write_view({**options, "IO": "stdout"}, tmp_path, relation, words, db.dictionary, stream=stream)
    assert stream.getvalue().decode().splitlines()[1:4] == ["e", "number;text", "==============="]
    with pytest.raises(tidelog.DataError, match="E0413"):
        write_view({"columns": "0:1"}, tmp_path, relation, words, db.dictionary)


def test_a_line_with_far_too_many_fields_takes_little_memory(tmp_path: Path) -> None:
    db = tidelog.connect()
    db.load(PROGRAM)
    relation = db.program.relations["e"]

    def peak(fields: int) -> int:
        """Return the most bytes that objects of Python have at a time."""
        (tmp_path / "e.facts").write_text("1\t" * (fields - 1))
        tracemalloc.start()
        try:
            with pytest.raises(tidelog.DataError, match=f"expected 2 columns, found {fields}: "):
                read_facts({}, tmp_path, relation, db.dictionary)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(2_000_001)  # Modules that are loaded when first needed do not count.
    assert peak(2_000_001) < 10 * 4_000_000
