"""Symbols whose texts are in blocks are the same to a dictionary as symbols in memory."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from tests.depth import cases, stride
from tests.interrupting import attempts
from tidelog.errors import DataError, InternalError
from tidelog.language.syntax import Column, RecordType
from tidelog.storage.dictionary import Dictionary, at_hand, blocks_of, gather_symbols, keep_texts, move_to_blocks
from tidelog.storage.distant_symbols import text_hash

READ: Counter[int] = Counter()
"""How often each block was read, by its first word."""


class Shelf(NamedTuple):
    """A block in memory."""

    start: int
    content: tuple[str | None, ...]
    low: int = 0
    high: int = 1 << 32

    @property
    def rows(self) -> int:
        return len(self.content)

    def texts(self) -> pa.LargeStringArray:
        READ[self.start] += 1
        return pa.array(self.content, pa.large_string())


def moved(known: Dictionary, size: int) -> Dictionary:
    """Move the symbols at hand to blocks of a size."""
    words = at_hand(known, 0, len(known)).tolist()
    runs = [words[i : i + size] for i in range(0, len(words), size)]
    assert all(run[-1] - run[0] == len(run) - 1 for run in runs)
    move_to_blocks(known, [Shelf(run[0], tuple(known.strings(np.array(run)))) for run in runs])
    return known


def test_blocks_hold_what_a_list_holds() -> None:
    rng, few, many = random.Random(3), Dictionary(), Dictionary()
    for step in range(60):
        texts = [f"t{rng.randrange(200)}" for _ in range(rng.randrange(12))] + ["", "ä"]
        assert few.ids_of(texts) == many.ids_of(texts)
        if step % 7 == 6:
            moved(many, 5)
        words = np.array([rng.randrange(len(few)) for _ in range(9)])
        assert few.strings(words) == many.strings(words)
        assert few.decode_column(words, "symbol").equals(many.decode_column(words, "symbol"))
        assert few.find(texts[0], "symbol") == many.find(texts[0], "symbol")
    assert many.find("none", "symbol") is None
    assert many.find("\ud800", "symbol") is None
    assert len(few) == len(many)
    assert many.present("symbol", 3, 50).tolist() == list(range(3, 50))
    assert len(blocks_of(many)) > 20
    copy = pickle.loads(pickle.dumps(many))
    assert copy.strings(np.arange(len(few))) == few.strings(np.arange(len(few)))
    gather_symbols(many)
    assert blocks_of(many) == ()
    assert many.strings(np.arange(len(few))) == few.strings(np.arange(len(few)))
    assert many.ids_of(["t1", "new"]) == few.ids_of(["t1", "new"])


def test_blocks_bring_new_symbols_with_words_behind_all_others() -> None:
    known = Dictionary()
    assert known.ids_of(["a", "b"]) == [0, 1]
    move_to_blocks(known, [Shelf(2, ("c", "d", "e"))])
    assert at_hand(known, 0, 9).tolist() == [0, 1]
    assert known.ids_of(["d", "f", "a"]) == [3, 5, 0]
    assert at_hand(known, 0, 9).tolist() == [0, 1, 5]
    with pytest.raises(DataError, match="E0415"):
        known.decode(6, "symbol")


def test_a_block_is_read_for_texts_of_its_hashes_only() -> None:
    texts = sorted((f"x{i}" for i in range(40)), key=text_hash)
    middle = text_hash(texts[20])
    known = Dictionary()
    move_to_blocks(known, [Shelf(0, tuple(texts[:20]), 0, middle), Shelf(20, tuple(texts[20:]), middle, 1 << 32)])
    READ.clear()
    assert known.find(texts[3], "symbol") == 3
    assert READ == {0: 1}
    assert known.find(texts[30], "symbol") == 30
    assert known.find(texts[3], "symbol") == 3
    assert READ == {0: 1, 20: 1}


def test_few_blocks_stay_in_memory() -> None:
    known = Dictionary()
    move_to_blocks(known, [Shelf(i, (f"x{i}",)) for i in range(40)])
    assert known.strings(np.arange(40)) == [f"x{i}" for i in range(40)]
    READ.clear()
    assert known.strings(np.arange(24, 40)) == [f"x{i}" for i in range(24, 40)]
    assert not READ
    assert known.decode(0, "symbol") == "x0"
    assert READ == {0: 1}


def test_words_without_a_meaning_are_in_no_block() -> None:
    known = Dictionary()
    known.ids_of(["a", "b", "c", "d"])
    known.give_back({"symbol": np.array([True, False, True, True])})
    known.stop_reusing()
    move_to_blocks(known, [Shelf(0, ("a", None, "c")), Shelf(3, ("d",))])
    assert known.ids_of(["b", "c", "a"]) == [4, 2, 0]
    gather_symbols(known)
    assert known.present("symbol", 0, 9).tolist() == [0, 2, 3, 4]
    assert known.ids_of(["c", "e"]) == [2, 5]


def test_words_in_files_are_not_given_back() -> None:
    known = Dictionary()
    known.ids_of(["a"])
    moved(known, 1)
    with known.alone() as alone:
        assert not alone
    with pytest.raises(InternalError, match="E0901"):
        known.give_back({"symbol": np.array([True])})
    gather_symbols(known)
    with known.alone() as alone:
        assert alone


def test_other_dictionaries_are_followed() -> None:
    known = Dictionary()
    known.ids_of(["a", "b"])
    moved(known, 2)
    assert known.follow_symbols(1, ["b", "c", None, "d"])
    assert known.ids_of(["c", "d", "e"]) == [2, 4, 5]
    assert not known.follow_symbols(1, ["c"])
    assert not known.follow_symbols(9, ["x"])
    assert not known.follow_symbols(6, ["a"])


def test_blocks_are_forgotten() -> None:
    known = Dictionary()
    known.ids_of(["a", "b"])
    moved(known, 2)
    known.ids_of(["c"])
    gather_symbols(known, blocks=False)
    assert known.present("symbol", 0, 9).tolist() == [2]
    assert known.ids_of(["c", "a"]) == [2, 3]


def test_texts_of_rows_stay_at_hand() -> None:
    """Of symbols and of records, without the blocks."""
    pair = RecordType("P", (Column("x", "symbol", "symbol"), Column("n", "number", "number")))
    known = Dictionary({"P": pair})
    shown = [known.ids_of(["a", "b"])[1], known.encode(("c", 7), "P"), 5]
    known.ids_of(["d"])
    lost = Shelf(0, tuple(known.strings(np.arange(4))))
    move_to_blocks(known, [lost])
    columns = [Column("s", "symbol", "symbol"), Column("p", "P", "P"), Column("n", "number", "number")]
    keep_texts(known, columns, np.array([shown]))
    READ.clear()
    assert known.decode(shown[0], "symbol") == "b"
    assert known.decode(shown[1], "P") == ("c", 7)
    assert known.find("b", "symbol") == shown[0]
    assert not READ
    assert at_hand(known, 0, 4).tolist() == []


@pytest.mark.parametrize("step", ["add", "move"])
def test_symbols_are_interrupted_anywhere(step: str) -> None:
    """No text gets two words, and no word two texts."""
    stopped = 0
    for attempt in attempts(KeyboardInterrupt, "storage/distant_symbols.py", every=stride(5)):
        known = Dictionary()
        known.ids_of(["a", "b"])
        moved(known, 1)
        known.ids_of(["c", "d"])
        with attempt:
            if step == "add":
                known.ids_of(["e", "a", "f"])
            else:
                move_to_blocks(known, [Shelf(2, ("c", "d")), Shelf(4, ("g",))])
        stopped += attempt.stopped
        texts = ["a", "b", "c", "d", "e", "f", "g"]
        words = known.ids_of(texts)
        assert words[:4] == [0, 1, 2, 3]
        assert len(set(words)) == len(texts)
        assert known.strings(np.array(words)) == texts
        found = at_hand(known, 0, len(known))
        assert len(set(known.strings(found))) == len(found)
    assert stopped >= cases(4)
