"""Words that are given back are used again, lowest first, and mean what they mean then."""

from __future__ import annotations

import numpy
import pytest

from tidelog.language.syntax import Column, RecordType, Value
from tidelog.storage import dictionary as module
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.usage import Usage, renumber, translate

LIST = RecordType("L", (Column("head", "symbol", "symbol"), Column("tail", "L", "L")))


def kept(known: Dictionary, *symbols: str) -> None:
    """Give back all words but those of these symbols, and of no record."""
    usage = Usage(known)
    for symbol in symbols:
        usage.add_value(symbol, "symbol")
    known.give_back(usage.flags())


@pytest.mark.parametrize(("left", "then"), [(("b", "d"), [4, 0, 2]), (("a",), [1, 2, 3]), ((), [0, 1, 2])])
@pytest.mark.parametrize("bulk", [0, 1 << 16])
def test_words_are_used_again(
    left: tuple[str, ...], then: list[int], bulk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BULK", bulk)  # With 0, symbols are kept as if they were many.
    known = Dictionary()
    words = known.ids_of(["a", "b", "c", "d"])
    assert known.decode_column(numpy.array(words), "symbol").to_pylist() == ["a", "b", "c", "d"]
    kept(known, *left)
    assert known.size == len(left)
    words = [words["abcd".index(text)] for text in left]
    assert known.decode_column(numpy.array(words, numpy.int64), "symbol").to_pylist() == list(left)
    new = known.ids_of(["x", "y", "z"])
    assert sorted(new) == sorted(then)
    every = {known.find(text, "symbol"): text for text in (*left, "x", "y", "z")}
    assert known.decode_column(numpy.array(list(every)), "symbol").to_pylist() == list(every.values())
    assert known.strings(numpy.array(list(every))) == list(every.values())
    kept(known, *left)
    assert known.ids_of(["p", "q", "r"]) == new
    assert known.decode_column(numpy.array(new), "symbol").to_pylist() == ["p", "q", "r"]


def test_records_keep_their_fields_however_deep() -> None:
    known = Dictionary({"L": LIST})
    chain: Value = None
    for i in range(5_000):
        chain = (f"s{i}", chain)
    word = known.encode(chain, "L")
    known.encode(("other", ("s1", None)), "L")
    usage = Usage(known)
    usage.add(["L"], numpy.array([[word]]))
    flags = usage.flags()
    assert (flags["symbol"].sum(), flags["L"].sum()) == (5_000, 5_001)  # nil is always used
    known.give_back(flags)
    assert known.size == 10_000
    assert known.find(chain, "L") == word
    assert known.strings(numpy.array([known.row("L", word)[0]])) == ["s4999"]
    assert known.find(("other", ("s1", None)), "L") is None
    assert known.encode(("another", None), "L") != word
    assert known.find(chain, "L") == word
    assert known.strings(numpy.array([known.row("L", word)[0]])) == ["s4999"]


def test_memory_comes_back() -> None:
    known = Dictionary({"L": LIST})
    symbols = known.ids_of([f"symbol number {i}" for i in range(100_000)])
    known.pack("L", [numpy.array(symbols), numpy.zeros(len(symbols), int)])
    full = known.bytes()
    kept(known)
    assert (known.size, len(known), known.extent("L")) == (0, 0, 1)
    assert known.bytes() < full / 100


def test_rows_are_renumbered() -> None:
    known = Dictionary({"L": LIST})
    known.ids_of(["a", "b", "c"])
    word = known.encode(("c", None), "L")
    usage = Usage(known)
    usage.add(["L", "number"], numpy.array([[word, 7]]))
    numbers = renumber(usage.flags())
    assert translate(["L", "number"], numpy.array([[word, 7], [0, 2]]), numbers).tolist() == [[1, 7], [0, 2]]
    assert numbers["symbol"][2] == 0
