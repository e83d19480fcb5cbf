"""Relations of every kind of column, and short ways to go through words and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from tidelog.common.arrays import Words
from tidelog.errors import CODES, DataError
from tidelog.io import encode
from tidelog.io.relation import Relation, WordRows
from tidelog.language.branches import branched_type, class_of
from tidelog.language.syntax import Column, RecordType, RelationType, Value
from tidelog.storage.dictionary import Dictionary


def column(name: str, kind: str) -> Column:
    return Column(name, kind, kind)


def relation(name: str, /, **kinds: str) -> RelationType:
    return RelationType(name, tuple(column(c, kind) for c, kind in kinds.items()))


RECORDS = {
    "Pair": RecordType("Pair", (column("a", "number"), column("b", "symbol"))),
    "Nested": RecordType("Nested", (column("left", "Pair"), column("size", "unsigned"))),
    "List": RecordType("List", (column("head", "symbol"), column("tail", "List"))),
    "Unit": RecordType("Unit", ()),
    "Shade": branched_type("Shade", [("Light", ()), ("Dark", ())], None),
    "Term": branched_type(
        "Term",
        [
            ("End", ()),
            ("Say", (column("text", "symbol"), column("shade", "Shade"))),
            ("Real", (column("f", "float"), column("u", "unsigned"))),
            ("Both", (column("left", "Term"), column("pair", "Pair"), column("right", "Term"))),
        ],
        None,
    ),
    "Odd": branched_type(
        "Odd", [("A?", ()), ("?B", (column("x", "number"),)), ("A?b?", (column("x", "number"),))], None
    ),
    "Holder": RecordType("Holder", (column("term", "Term"), column("n", "number"))),
}
BRANCHES = {branch.name: class_of(branch) for type_ in RECORDS.values() for branch in type_.branches}
END, DARK = BRANCHES["End"](), BRANCHES["Dark"]()
EDGE = relation("e", x="number", y="number")
NAMED = relation("s", name="symbol", n="number")
REAL = relation("f", x="float", u="unsigned")
HOLDER = relation("h", pair="Pair", chain="List")
TERMS = relation("t", term="Term", holder="Holder")
FLAG = relation("flag")
KINDS = {
    "n": "number",
    "u": "unsigned",
    "f": "float",
    "s": "symbol",
    "pair": "Pair",
    "nested": "Nested",
    "chain": "List",
}
EVERY = relation("every", **KINDS, shade="Shade", term="Term", holder="Holder")


def dictionary() -> Dictionary:
    return Dictionary(RECORDS)


def fails(action: Callable[[], object]) -> str:
    """The message of the DataError that the action raises."""
    with pytest.raises(DataError) as caught:
        action()
    assert caught.value.code in CODES
    return str(caught.value)


def cases(name: str, names: Mapping[str, Any]) -> list[Any]:
    """The cases of `errors/NAME.txt`: what a test takes on one line, in Python with `names`, and the message below."""
    text = (Path(__file__).parent / "errors" / f"{name}.txt").read_text(encoding="utf-8")
    blocks = (block.split("\n", 1) for block in text.rstrip("\n").split("\n\n"))
    return [
        pytest.param(*eval(f"({values},)", {**globals(), **names}), message, id=f"{name}-{number}")
        for number, (values, message) in enumerate(blocks, 1)
    ]


def decoded(words: Words, kind: RelationType, known: Dictionary) -> list[tuple[Value, ...]]:
    return list(Relation(kind.name, WordRows(kind.columns, known, words)))


def through_words(data: Any, kind: RelationType) -> list[tuple[Value, ...]]:
    """The data as tuples, once encoded and decoded again."""
    known = dictionary()
    return decoded(encode(data, kind, known), kind, known)


NUMBERS = st.integers(-(2**63), 2**63 - 1)
UNSIGNED = st.integers(0, 2**64 - 1)
FLOATS = st.floats(allow_nan=False).map(lambda value: value + 0.0)  # there is one zero
SYMBOLS = st.text(st.characters(codec="utf-8"), max_size=8)
PAIRS = st.none() | st.tuples(NUMBERS, SYMBOLS)
NESTED = st.none() | st.tuples(PAIRS, UNSIGNED)
CHAINS = st.recursive(st.none(), lambda tail: st.tuples(SYMBOLS, tail), max_leaves=5)
SHADES = st.sampled_from(["Light", "Dark"]).map(lambda name: BRANCHES[name]())
LEAVES = st.one_of(
    st.just(END), st.builds(BRANCHES["Say"], SYMBOLS, SHADES), st.builds(BRANCHES["Real"], FLOATS, UNSIGNED)
)
TERM = st.recursive(LEAVES, lambda inner: st.builds(BRANCHES["Both"], inner, PAIRS, inner), max_leaves=4)
HOLDERS = st.none() | st.tuples(TERM, NUMBERS)
ROWS = st.lists(st.tuples(NUMBERS, UNSIGNED, FLOATS, SYMBOLS, PAIRS, NESTED, CHAINS, SHADES, TERM, HOLDERS), max_size=8)
_TERM = BRANCHES["Both"](BRANCHES["Say"]("a (b", DARK), (1, "x)]"), BRANCHES["Real"](-1.5, 2**64 - 1))

A_ROW_OF_EACH = [
    (-(2**63), 2**64 - 1, 1.5, "a, b", (1, "x]y"), ((2, ""), 2**64 - 1), ("a", ("b", None)), DARK, _TERM, (_TERM, 7)),
    (2**63 - 1, 0, float("-inf"), 'ü "q" \\', None, (None, 0), None, BRANCHES["Light"](), END, None),
]
