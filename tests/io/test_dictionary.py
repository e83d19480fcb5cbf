"""Values have words, words have values, and the same value never has two words."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from tests.io.samples import CHAINS, FLOATS, NESTED, NUMBERS, RECORDS, SYMBOLS, UNSIGNED, dictionary
from tidelog.errors import DataError
from tidelog.language.syntax import Column, RecordType, Value
from tidelog.storage.dictionary import Dictionary


def test_numbers_are_their_own_words() -> None:
    known = dictionary()
    assert known.encode(-5, "number") == -5
    assert known.encode(2**64 - 1, "unsigned") == -1
    assert known.encode(2**63, "unsigned") == -(2**63)
    assert known.encode(1.0, "float") == 0x3FF0000000000000
    assert known.decode(-1, "unsigned") == 2**64 - 1


def test_there_is_one_zero_and_one_nan() -> None:
    known = dictionary()
    assert known.encode(-0.0, "float") == known.encode(0.0, "float") == 0
    assert known.encode(float("nan"), "float") == known.encode(-float("nan"), "float")


def test_symbols_are_numbered_from_zero_in_the_order_of_arrival() -> None:
    known = dictionary()
    assert [known.encode(text, "symbol") for text in ("b", "a", "b", "")] == [0, 1, 0, 2]
    assert known.decode(2, "symbol") == ""
    assert len(known) == 3


MANY_TEXTS = [f"{'ä€𝄞x'[i % 4]}{i * 7919 % 5_000}" * (i % 3) for i in range(9_000)]


@pytest.mark.parametrize("known_before", [(), ("x", *MANY_TEXTS[100:4_000:7])])
@pytest.mark.parametrize("most", [None, 1_000])
def test_many_symbols_get_the_words_of_one_after_the_other(
    known_before: tuple[str, ...], most: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if most is not None:
        monkeypatch.setattr("tidelog.storage.dictionary._MOST_CHARACTERS", most)
    together, single = dictionary(), dictionary()
    for known in (together, single):
        known.ids_of(known_before)
    words = together.words_of(MANY_TEXTS)
    assert words.dtype == np.int64
    assert words.tolist() == [single.encode(text, "symbol") for text in MANY_TEXTS]
    assert together.strings(np.arange(len(together))) == single.strings(np.arange(len(single)))
    assert together.words_of(MANY_TEXTS[::-1]).tolist() == words.tolist()[::-1]


def test_one_of_many_symbols_without_utf_8_is_an_error() -> None:
    known = dictionary()
    with pytest.raises(DataError, match=r"E0408.*udc80"):
        known.words_of([*MANY_TEXTS, "x\udc80y"])
    assert len(known) == 0


def test_records_are_numbered_from_one_because_nil_is_zero() -> None:
    known = dictionary()
    assert known.encode(None, "Pair") == 0
    assert known.encode((7, "x"), "Pair") == 1
    assert known.encode((7, "y"), "Pair") == 2
    spellings: list[Any] = [[7, "x"], {"b": "x", "a": 7}]
    assert [known.encode(spelling, "Pair") for spelling in spellings] == [1, 1]
    assert known.extent("Pair") == 3


def test_finding_never_grows() -> None:
    known = dictionary()
    known.encode("there", "symbol")
    known.encode((1, "there"), "Pair")
    assert known.find("there", "symbol") == 0
    assert known.find((1, "there"), "Pair") == 1
    assert known.find("absent", "symbol") is None
    assert known.find((2, "there"), "Pair") is None
    assert known.find((1, "absent"), "Pair") is None
    assert len(known) == 1
    assert known.extent("Pair") == 2


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("1", "number"),
        (1.0, "number"),
        (True, "number"),
        (None, "number"),
        (2**63, "number"),
        (-1, "unsigned"),
        (2**64, "unsigned"),
        (2**53 + 1, "float"),
        (10**400, "float"),
        (5, "symbol"),
        ((1,), "Pair"),
        ("ab", "Pair"),
        ({"a": 1}, "Pair"),
    ],
)
def test_what_is_no_value_of_the_kind_is_not_found(value: object, kind: str) -> None:
    assert dictionary().find(value, kind) is None


def test_a_symbol_must_be_writable_in_utf8() -> None:
    known = dictionary()
    with pytest.raises(DataError) as caught:
        known.encode("\ud800", "symbol")
    assert str(caught.value) == (
        "error[E0408]: the symbol '\\ud800' cannot be written in UTF-8\n  hint: remove unpaired surrogates"
    )
    assert len(known) == 0


def test_a_word_without_a_value_is_an_error() -> None:
    known = dictionary()
    known.encode("a", "symbol")
    for decode in (
        lambda: known.decode(7, "symbol"),
        lambda: known.decode_column(np.array([0, 7]), "symbol"),
        lambda: known.strings(np.array([-1])),
        lambda: known.decode(7, "Pair"),
        lambda: known.unpack("Pair", np.array([7])),
        lambda: known.decode(3, "List"),
    ):
        with pytest.raises(DataError, match="E0415"):
            decode()


def test_strings_in_small_batches() -> None:
    known = dictionary()
    assert known.ids_of(["a", "b", "a"]) == [0, 1, 0]
    assert known.strings(np.array([1, 0], dtype=np.int32)) == ["b", "a"]
    assert known.strings(np.array([], dtype=np.int64)) == []


def test_bulk_loading_keeps_the_order() -> None:
    known = dictionary()
    assert known.extend(pa.array(["x", "y", "z"])).tolist() == [0, 1, 2]
    assert known.extend(pa.array(["z", "w"])).tolist() == [2, 3]
    assert known.decode(3, "symbol") == "w"


def test_packing_and_unpacking_columns() -> None:
    known = dictionary()
    ids = known.pack("Pair", [np.array([5, 6, 5]), np.array([0, 0, 0])])
    assert ids.tolist() == [1, 2, 1]
    present, columns = known.unpack("Pair", np.array([2, 0, 1]))
    assert present.tolist() == [True, False, True]
    assert [column.tolist() for column in columns] == [[6, 0, 5], [0, 0, 0]]


def test_many_records_outgrow_the_first_table() -> None:
    known = dictionary()
    numbers = np.arange(1000)
    ids = known.pack("Pair", [numbers, numbers])
    assert ids.tolist() == list(range(1, 1001))
    assert known.unpack("Pair", ids)[1][0].tolist() == numbers.tolist()


def test_records_without_fields() -> None:
    known = Dictionary({"Unit": RecordType("Unit", ())})
    assert known.encode((), "Unit") == 1
    assert known.encode(None, "Unit") == 0
    words = np.array([1, 0, 1])
    assert known.decode_column(words, "Unit").to_pylist() == ["[]", "nil", "[]"]
    assert known.decode_list(words, "Unit") == [(), None, ()]


def test_record_types_may_come_later() -> None:
    known = Dictionary()
    known.add_records({"Pair": RECORDS["Pair"]})
    word = known.encode((1, "a"), "Pair")
    known.add_records({"Pair": RECORDS["Pair"], "Box": RecordType("Box", (Column("in", "Pair", "Pair"),))})
    assert known.decode(word, "Pair") == (1, "a")
    assert known.decode(known.encode(((1, "a"),), "Box"), "Box") == ((1, "a"),)


def test_nesting_goes_deeper_than_the_stack() -> None:
    known = dictionary()
    value: Value = None
    for _ in range(20_000):
        value = ("x", value)
    word = known.encode(value, "List")
    assert word == 20_000
    assert known.find(value, "List") == word
    back: Value = known.decode(word, "List")
    depth = 0
    while isinstance(back, tuple):
        depth, back = depth + 1, back[1]
    assert depth == 20_000
    text = known.decode_column(np.array([word]), "List")[0].as_py()
    assert text.startswith("[x, [x, ")
    assert text.endswith("nil" + "]" * 20_000)


def test_arrow_columns_have_the_type_that_is_promised() -> None:
    known = dictionary()
    assert known.types.arrow_type("unsigned") == pa.uint64()
    assert known.types.arrow_type("Nested") == pa.struct(
        [("left", pa.struct([("a", pa.int64()), ("b", pa.string())])), ("size", pa.uint64())]
    )
    assert known.types.arrow_type("List") == pa.string()
    for kind in ("number", "unsigned", "float", "symbol", "Pair", "Nested", "List"):
        assert known.decode_column(np.array([], dtype=np.int32), kind).type == known.types.arrow_type(kind)


def test_symbol_columns_keep_up_with_a_growing_dictionary() -> None:
    known = dictionary()
    first = known.extend(pa.array([f"a{i}" for i in range(5000)]))
    assert known.decode_column(first, "symbol").to_pylist()[-1] == "a4999"
    second = known.extend(pa.array(["b0", "b1"]))
    assert known.decode_column(second, "symbol").to_pylist() == ["b0", "b1"]
    assert known.decode_column(np.tile(second, 3000), "symbol").to_pylist()[-1] == "b1"
    assert known.bytes() > 5000 * 50


@given(NUMBERS, UNSIGNED, FLOATS, SYMBOLS, NESTED, CHAINS)
def test_every_value_comes_back(number: int, unsigned: int, real: float, text: str, box: Value, chain: Value) -> None:
    known = dictionary()
    values: dict[str, Value] = {
        "number": number,
        "unsigned": unsigned,
        "float": real,
        "symbol": text,
        "Nested": box,
        "List": chain,
    }
    for kind, value in values.items():
        word = known.encode(value, kind)
        assert known.decode(word, kind) == value
        assert known.find(value, kind) == word
        assert known.decode_list(np.array([word, word]), kind) == [value, value]
        if kind != "List":
            column = known.decode_column(np.array([word, word]), kind)
            assert known.encode_column(column, kind).tolist() == [word, word]


def test_a_dictionary_goes_to_other_processes_with_its_words() -> None:
    dictionary = Dictionary({"R": RecordType("R", (Column("a", "symbol", "symbol"),))})
    words = [dictionary.encode("a", "symbol"), dictionary.encode(("b",), "R")]
    copy = pickle.loads(pickle.dumps(dictionary))
    assert [copy.decode(words[0], "symbol"), copy.decode(words[1], "R")] == ["a", ("b",)]
    assert copy.encode("c", "symbol") == dictionary.encode("c", "symbol")
