"""Many symbols, outside of Python: the same words as those of a list, whatever is done with both."""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import tidelog
from tests.depth import cases
from tidelog.errors import DataError
from tidelog.storage import dictionary as module
from tidelog.storage import symbols
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.symbols import BulkSymbols, SymbolList

ROOT = Path(__file__).parents[2]
TEXTS = [
    *("", "a", "b", "ünï 🌊", "seven b", "eight by", "nine byte", "\x00", "\x00\x00"),
    *("y" * i for i in range(2, 40)),
    *(f"symbol {i}" for i in range(60)),
]


def run(rng: random.Random, steps: int) -> int:
    """Do the same with a list and with a table that begins as its copy, and compare; return how many words were used
    again."""
    few = SymbolList()
    few.add(rng.sample(TEXTS, 20))
    if rng.random() < 0.5:
        few.give_back(np.array([rng.random() < 0.5 for _ in range(len(few))]))
    copy = SymbolList()
    copy.__dict__.update(pickle.loads(pickle.dumps(few)).__dict__)
    many = BulkSymbols(copy)
    for _ in range(steps):
        some = rng.choices(TEXTS, k=rng.randint(0, 12))
        match rng.randrange(9):
            case 0:
                assert many.add(some) == few.add(some)
            case 1:
                words = many.add_array(pa.array(some, pa.string() if rng.random() < 0.5 else pa.large_string()))
                assert words.tolist() == few.add(some)
            case 2:
                assert many.words(some) == few.words(some)
                assert [many.get(text) for text in some] == [few.get(text) for text in some]
            case 3:
                there = few.present(0, len(few))
                assert many.present(0, len(many)).tolist() == there.tolist()
                words = np.array(rng.choices(there.tolist(), k=5) if len(there) else [], np.int64)
                assert many.strings(words.tolist()) == few.strings(words.tolist())
                words = words.astype(rng.choice([np.int32, np.int64]))
                assert many.array(words).to_pylist() == few.array(words).to_pylist()
            case 4 if rng.random() < 0.3:
                used = np.zeros(len(few), np.bool_)
                used[[word for word in few.present(0, len(few)).tolist() if rng.random() < 0.6]] = True
                few.give_back(used)
                many.give_back(used)
            case 5 if rng.random() < 0.3:
                few.stop_reusing()
                many.stop_reusing()
            case 6:
                start = rng.randint(0, len(few))
                new = [rng.choice([None, *TEXTS]) for _ in range(3)]
                told = [*(few.strings([w])[0] for w in range(start, len(few))), *dict.fromkeys(new)]
                assert many.follow(start, told) == few.follow(start, told)
            case 7:
                many = pickle.loads(pickle.dumps(many))
            case 8:
                assert many.get("\ud800") is None
        assert (len(many), many.count, many.made, many.reuse_count) == (len(few), few.count, few.made, few.reuse_count)
    return many.reuse_count


def test_a_table_does_what_a_list_does() -> None:
    assert sum(run(random.Random(seed), 60) for seed in range(cases(60))) > 0


def test_texts_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbols, "_PIECE", 7)
    few, many = SymbolList(), BulkSymbols(SymbolList())
    texts = [f"text {i % 300}" for i in range(1_000)]
    assert many.add_array(pa.array(texts).slice(5)).tolist() == few.add(texts[5:])
    assert many.words(texts) == few.words(texts)


def test_no_kernel_reads_or_writes_outside_of_the_table() -> None:
    script = "import random; from tests.storage.test_bulk_symbols import run; run(random.Random(1), 300); print('done')"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == "done\n", done.stderr


def test_a_dictionary_goes_over_to_a_table_with_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Dictionary()
    words = known.ids_of(["a", "b", "c"])
    known.give_back({"symbol": np.array([True, False, True])})
    monkeypatch.setattr(module, "_BULK", 4)
    found = known.encode_column(pa.array(["c", "d", "a", "e", "d"]), "symbol").tolist()
    assert known.table_for(0) is not None
    assert found == [words[2], words[1], words[0], 3, words[1]]
    assert known.find("e", "symbol") == 3
    assert known.encode("f", "symbol") == 4
    assert known.decode_column(np.arange(5), "symbol").to_pylist() == ["a", "d", "c", "e", "f"]
    assert known.strings(np.array([4, 0])) == ["f", "a"]
    assert known.decode(3, "symbol") == "e"
    copy: Dictionary = pickle.loads(pickle.dumps(known))
    assert copy.ids_of(["e", "g"]) == known.ids_of(["e", "g"])
    assert known.bytes() > 0
    known.give_back({"symbol": np.zeros(len(known), np.bool_)})
    assert (known.size, len(known)) == (0, 0)


def test_many_symbols_without_utf_8_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BULK", 0)
    known = Dictionary()
    # Together these bytes are UTF-8, but no text is.
    wrong = pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer("ä".encode()))
    with pytest.raises(DataError, match="E0408"):
        known.encode_column(wrong, "symbol")
    with pytest.raises(DataError, match="E0408"):
        known.ids_of(["fine", "\ud800"])
    assert known.size == 0


def test_many_rows_of_symbols_are_inserted_changed_and_shown() -> None:
    rows = [(i, f"symbol {i // 2}") for i in range(70_000)]
    db = tidelog.connect()
    db.load('.decl e(x: number, y: symbol) .decl p(y: symbol, z: symbol)\np(y, cat(y, "!")) :- e(0, y).')
    db.insert("e", pa.table({"x": [x for x, _ in rows], "y": [y for _, y in rows]}))
    db.commit()
    assert db.dictionary.table_for(0) is not None
    assert db["e"] == set(rows)
    assert db["p"] == {("symbol 0", "symbol 0!")}
    db.delete("e", rows[:1])
    db.insert("e", [(0, "new")])
    db.commit()
    assert db["p"] == {("new", "new!")}
    assert set(db["e"].to_arrow()["y"].to_pylist()) == {text for _, text in rows[1:]} | {"new"}
