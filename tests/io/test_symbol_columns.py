"""Symbols of several files get their words together, and the same words as one by one."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

import tidelog
from tidelog.io import SymbolColumns, read_facts, symbol_columns
from tidelog.language.syntax import RelationType

PROGRAM = """\
.decl a(x: symbol, n: number, y: symbol)
.decl b(y: symbol, f: float)
.decl c(x: symbol)
.decl d(x: symbol, y: symbol)
"""


def files(folder: Path, rng: random.Random) -> dict[str, list[tuple[str, ...]]]:
    """Write a file for each relation, one of them with names in another order and one that needs a closer look."""
    texts = ["", "ann", "bob", "ünï 🌊", "x" * 300, *(f"s{i}" for i in range(40))]
    rows: dict[str, list[tuple[str, ...]]] = {
        "a": [(rng.choice(texts), str(i), rng.choice(texts)) for i in range(50)],
        "b": [(rng.choice(texts), "inf" if i == 30 else f"{i}.5") for i in range(40)],
        "c": [(text,) for text in texts],
        "d": [(rng.choice(texts), rng.choice(texts)) for i in range(30)],
    }
    for name, own in rows.items():
        lines = ["y\tx", *("\t".join(row[::-1]) for row in own)] if name == "d" else ["\t".join(row) for row in own]
        (folder / f"{name}.facts").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return rows


@pytest.mark.parametrize("most", [1 << 29, 200])
def test_words_are_those_of_the_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(symbol_columns, "_MOST_BYTES", most)
    rows = files(tmp_path, random.Random(most))
    db = tidelog.connect()
    db.load(PROGRAM)
    db.dictionary.ids_of(["s5", "other"])
    symbols = SymbolColumns(db.dictionary)
    relations: dict[str, RelationType] = dict(db.program.relations)
    read = {
        name: read_facts({"headers": name == "d"}, tmp_path, relations[name], db.dictionary, symbols=symbols)
        for name in rows
    }
    symbols.encode()
    for name, words in read.items():
        db.insert_words(name, words)
    db.commit()
    assert db["a"] == {(x, int(n), y) for x, n, y in rows["a"]}
    assert db["b"] == {(y, float(f)) for y, f in rows["b"]}
    assert db["c"] == set(rows["c"])
    assert db["d"] == set(rows["d"])
    texts = db.dictionary.strings(db["c"].words()[:, 0])
    assert len(set(texts)) == len(texts)


def test_nothing_waits_in_vain() -> None:
    db = tidelog.connect()
    SymbolColumns(db.dictionary).encode()
    assert len(db.dictionary) == 0


def test_a_packed_file_stands_for_a_missing_one_of_the_given_name(tmp_path: Path) -> None:
    db = tidelog.connect()
    db.load(PROGRAM)
    (tmp_path / "some.data.gz").write_bytes(gzip.compress(b"packed\n"))
    (tmp_path / "list.json.gz").write_bytes(gzip.compress(b'[["json"]]'))
    relation = db.program.relations["c"]

    def read(**options: str) -> list[str]:
        return db.dictionary.strings(read_facts(options, tmp_path, relation, db.dictionary)[:, 0])

    assert read(filename="some.data") == ["packed"]
    assert read(filename="some.data.gz") == ["packed"]
    assert read(filename="list.json") == ["json"]
    (tmp_path / "some.data").write_text("plain\n")
    assert read(filename="some.data") == ["plain"]
    with pytest.raises(tidelog.DataError, match=r"none\.data: error\[E0410\]"):
        read(filename="none.data")
