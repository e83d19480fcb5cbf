"""Text files split by a kernel: the same rows as the exact reader, and the same errors."""

from __future__ import annotations

import gzip
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import tidelog
from tests.depth import cases
from tidelog.io import read_facts, text_reader
from tidelog.io.text_reader import TextFormat, read_text, split_text
from tidelog.language.syntax import Column, RelationType
from tidelog.storage import dictionary as dictionary_module
from tidelog.storage.dictionary import Dictionary

TEXTS = [
    "",
    "a",
    "ann",
    "eight by",
    "ünï 🌊",
    "nine byte",
    "x" * 300,
    " b ",
    '"',
    "\r",
    "c\rd",
    "[1]",
    *map(str, range(40)),
]
NUMBERS = ["0", "-0", "7", "-13", "007", "999999999999999999", "-999999999999999999"]
UNUSUAL = ["9223372036854775807", " 5", "0x1f", "x", "", "-", "1.5", "9223372036854775808", "+1"]
KINDS = {"number": NUMBERS, "unsigned": [text for text in NUMBERS if "-" not in text], "symbol": TEXTS}


def outcome(data: bytes, form: TextFormat, relation: RelationType, large: int) -> tuple[Any, bool]:
    """Return the rows of a text, or the error, and whether the kernel has read them: those of `large` bytes or more."""
    known = Dictionary()
    known.ids_of(["7", "other"])
    split: list[bool] = []

    def watched(*arguments: Any, **options: Any) -> Any:
        found = split_text(*arguments, **options)
        split.append(found is not None)
        return found

    with mock.patch.object(text_reader, "_LARGE", large), mock.patch.object(text_reader, "split_text", watched):
        try:
            words = read_text(data, "e.facts", form, relation, known)
        except tidelog.DataError as error:
            return str(error), any(split)
    columns = [known.decode_list(words[:, i], column.kind) for i, column in enumerate(relation.columns)]
    return [tuple(column[i] for column in columns) for i in range(len(words))], any(split)


def text_file(rng: random.Random) -> tuple[bytes, TextFormat, RelationType, bool]:
    """Return a text, its form and relation, and whether each of its rows is one for the kernel."""
    kinds = [rng.choice(list(KINDS)) for _ in range(rng.randint(1, 4))]
    relation = RelationType("e", tuple(Column(f"c{i}", kind, kind) for i, kind in enumerate(kinds)))
    delimiter = rng.choice("\t,;|")
    picked = rng.random() < 0.3
    order = rng.sample(range(len(kinds) + 2), len(kinds)) if picked else list(range(len(kinds)))
    width = rng.randint(max(order) + 1, len(kinds) + 3) if picked else len(kinds)
    usual = True
    lines = []
    for _ in range(rng.randint(0, 40)):
        fields = [rng.choice(TEXTS) for _ in range(width)]
        for position, kind in zip(order, kinds, strict=True):
            fields[position] = rng.choice(KINDS[kind])
            if kind != "symbol" and rng.random() < 0.002:
                fields[position], usual = rng.choice(UNUSUAL), False
        if rng.random() < 0.002:
            fields, usual = fields[: rng.randint(1, width)] + ["more"] * rng.randint(0, 2), False
        lines.append(delimiter.join(fields) + rng.choice(["\n", "\n", "\r\n"]))
        if rng.random() < 0.1:
            lines.append(rng.choice(["\n", "\r\n"]))
    data = "".join(lines).encode()
    if rng.random() < 0.3:
        data = data.removesuffix(b"\n")
    return data, TextFormat(delimiter, columns=tuple(order) if picked else ()), relation, usual


def test_the_kernel_reads_what_the_exact_reader_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dictionary_module, "_BULK", 0)
    monkeypatch.setattr(text_reader, "_FIELDS", 16)  # Files of several pieces.
    kernel = 0
    for seed in range(cases(400)):
        data, form, relation, usual = text_file(random.Random(seed))
        with mock.patch.object(text_reader, "_read_quickly", return_value=None):
            expected, _ = outcome(data, form, relation, large=1 << 40)
        found, split = outcome(data, form, relation, large=0)
        assert found == expected, f"seed {seed}: {data!r}"
        assert split or not usual, f"seed {seed}: {data!r}"
        kernel += split
    assert kernel > cases(400) // 2


def test_texts_that_are_not_utf_8_have_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_reader, "_LARGE", 0)
    relation = RelationType("e", (Column("x", "symbol", "symbol"),))
    known = Dictionary()
    with pytest.raises(tidelog.DataError, match=r"e\.facts:2:2: error\[E0408\]: the byte 0xc3"):
        read_text(b"fine\na\xc3\n\xa4b\n", "e.facts", TextFormat(), relation, known)
    assert len(known) == 0


def test_files_with_the_same_symbols_share_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_reader, "_LARGE", 0)
    monkeypatch.setattr(dictionary_module, "_BULK", 0)
    db = tidelog.connect()
    db.load(".decl a(x: symbol, n: number) .decl b(y: symbol, f: float) .decl c(x: symbol, y: symbol)")
    rows: dict[str, list[tuple[str, ...]]] = {
        "a": [(f"s{i % 7}", str(i)) for i in range(50)],
        "b": [(f"s{i % 9}", f"{i}.5") for i in range(50)],
        "c": [(f"s{i % 5}", "") for i in range(50)],
    }
    for name, own in rows.items():
        (tmp_path / f"{name}.facts").write_text("".join("\t".join(row) + "\n" for row in own))
        db.insert_words(name, read_facts({}, tmp_path, db.program.relations[name], db.dictionary))
    db.commit()
    assert db["a"] == {(x, int(n)) for x, n in rows["a"]}
    assert db["b"] == {(y, float(f)) for y, f in rows["b"]}
    assert db["c"] == set(rows["c"])
    assert sorted(db.dictionary.strings(np.arange(len(db.dictionary)))) == sorted(["", *(f"s{i}" for i in range(9))])


CHECKED = """
from unittest import mock
from tests.io import test_split_text as tests
from tidelog.io import text_reader
from tidelog.storage import dictionary
import random
with mock.patch.object(dictionary, "_BULK", 0), mock.patch.object(text_reader, "_FIELDS", 16):
    for seed in range(60):
        data, form, relation, _ = tests.text_file(random.Random(seed))
        tests.outcome(data, form, relation, large=0)
print("done")
"""


def test_the_kernel_reads_no_byte_outside_of_the_text() -> None:
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", CHECKED], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr


def test_a_packed_file_stands_for_a_missing_one_of_the_given_name(tmp_path: Path) -> None:
    db = tidelog.connect()
    db.load(".decl c(x: symbol)")
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
