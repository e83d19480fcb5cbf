"""The checker's expressions, compared with the specification in tidelog.semantics."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tests.suite import FIRST_SEED
from tidelog.certificate.functors import Functors, sql_values
from tidelog.language.aggregates import AGGREGATES, AggregateName
from tidelog.language.functors import SIGNATURES, TESTS, several
from tidelog.language.syntax import Kind
from tidelog.rules.core import CoreConstant
from tidelog.semantics.aggregates import aggregate
from tidelog.semantics.functors import apply, holds
from tidelog.semantics.values import NoValueError, cast
from tidelog.storage.dictionary import Dictionary

NUMBERS = [
    0,
    1,
    -1,
    2,
    -2,
    3,
    7,
    63,
    64,
    65,
    2**31,
    -(2**31) - 1,
    2**53 + 1,
    2**63 - 1,
    -(2**63),
    6_148_914_691_236_517_206,
]
UNSIGNED = [0, 1, 2, 3, 63, 64, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1]
FLOATS = [
    0.0,
    1.0,
    -1.0,
    0.5,
    -2.5,
    3.0,
    1e-320,
    1e308,
    -1e308,
    9.3e18,
    1.9e19,
    2.0**63,
    -(2.0**63),
    math.inf,
    -math.inf,
]
TEXTS = [
    "", "a", "ab", "é", "😀x", "12", "-7", "+0x1F", "0b101", "0" * 70 + "5", "9" * 70, "18446744073709551615",
    "9223372036854775808", "1.5", ".5", "1.", "1e400", "-inf", "nan", "1_0", " 1", "a.c", "a+", "(", "A",
    "(a)|(b)(.*)?", "b", "aba", " a\t", "İ",
]  # fmt: skip
VALUES: dict[Kind, list[Any]] = {"number": NUMBERS, "unsigned": UNSIGNED, "float": FLOATS, "symbol": TEXTS}


class Bench:
    """A connection with its dictionary."""

    def __init__(self) -> None:
        self.connection = duckdb.connect()
        self.dictionary = Dictionary({})
        self.functors = Functors(self.connection, self.dictionary, lambda: None)

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def columns(self, rows: Sequence[Sequence[Any]], kinds: Sequence[Kind]) -> pa.Table:
        """Rows of values as a table with the columns c0, c1, … and n, the number of the row."""
        arrays = []
        for kind, values in zip(kinds, zip(*rows, strict=True), strict=True):
            words = pa.array([self.dictionary.encode(value, kind) for value in values], pa.int64()).to_numpy()
            arrays.append(pa.array(sql_values(words, kind)))
        names = [f"c{i}" for i in range(len(arrays))]
        return pa.table([*arrays, pa.array(range(len(rows)))], [*names, "n"])

    def evaluate(self, expression: str, rows: Sequence[Sequence[Any]], kinds: Sequence[Kind]) -> list[Any]:
        """The value of an expression in c0, c1, … for each of the rows."""
        self.connection.register("given", self.columns(rows, kinds))
        return [value for (value,) in self.connection.execute(f"SELECT {expression} FROM given ORDER BY n").fetchall()]

    def value(self, found: Any, kind: Kind) -> Any:
        return self.dictionary.decode(found, kind) if kind == "symbol" and found is not None else found


@pytest.fixture
def bench() -> Iterator[Bench]:
    with Bench() as bench:
        yield bench


def same(found: Any, expected: Any) -> bool:
    """Equal, with equal types; 0.0 is not -0.0."""
    return repr(found) == repr(expected)


def calls() -> Iterable[tuple[str, tuple[Kind, ...], Kind]]:
    """Every functor with the kinds of its operands and of its value."""
    for name, signature in SIGNATURES.items():
        for kind in sorted(signature.over or VALUES) if "*" in signature.parameters else ["number"]:
            kinds = tuple(kind if parameter == "*" else parameter for parameter in signature.parameters)
            if (name != "range" or kind == "float") and (name, kind) != ("+", "symbol"):  # that is `cat`
                yield name, kinds, kind if signature.result == "*" else signature.result
                if name in ("split", "groups"):
                    yield name, kinds[:2], signature.result
    yield "range", ("float",) * 3, "float"


def small(rows: Iterable[Sequence[Any]]) -> list[Sequence[Any]]:
    """Rows whose range has few values."""
    return [row for row in rows if all(value == 0 or 0.5 <= abs(value) < 100 for value in row)]


@pytest.mark.parametrize(("name", "kinds", "result"), list(calls()), ids=str)
def test_functors(bench: Bench, name: str, kinds: tuple[Kind, ...], result: Kind) -> None:
    rows: list[Sequence[Any]] = list(product(*(VALUES[kind] for kind in kinds)))
    rows = small(rows) if name == "range" else rows
    expression = bench.functors.call(name, kinds, result, [f"c{i}" for i in range(len(kinds))])
    for row, found in zip(rows, bench.evaluate(expression, rows, kinds), strict=True):
        expected = list(apply(name, kinds[0], row))
        if several(name, len(kinds)):
            assert same([bench.value(each, result) for each in found or ()], expected), (row, found, expected)
        else:
            assert same(bench.value(found, result), expected[0] if expected else None), (row, found, expected)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("kind", ["number", "unsigned"])
def test_ranges_of_integers(bench: Bench, kind: Kind, size: int) -> None:
    """Their values are counted, not listed."""
    ends = {"number": [-(2**63), 1 - 2**63, -9, -1, 0, 1, 2, 7, 2**63 - 9, 2**63 - 1], "unsigned": [0, 1, 7, 2**64 - 1]}
    rows = [row for row in product(ends[kind], repeat=size) if counted(*row) < 100]
    count, value = bench.functors.steps(kind, [f"c{i}" for i in range(size)])
    found = bench.evaluate(f"[{value.format('k')} for k in range(0, {count})]", rows, [kind] * size)
    assert len(rows) >= 10
    for row, values in zip(rows, found, strict=True):
        assert values == list(apply("range", kind, row)), row


def counted(start: int, end: int, step: int | None = None) -> int:
    step = (1 if start <= end else -1) if step is None else step
    return max(0, (end - start) // step) if step else 0


@pytest.mark.parametrize(("source", "target"), list(product(("number", "unsigned", "float"), repeat=2)))
def test_casts_keep_the_bits(bench: Bench, source: Kind, target: Kind) -> None:
    rows = [(value,) for value in VALUES[source]]
    found = bench.evaluate(bench.functors.call("as", [source], target, ["c0"]), rows, [source])
    assert [repr(value) for value in found] == [repr(next(cast(value, target), None)) for (value,) in rows]


@pytest.mark.parametrize("op", ["=", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("kind", list(VALUES))
def test_comparisons(bench: Bench, op: str, kind: Kind) -> None:
    rows = list(product(VALUES[kind], repeat=2))
    found = bench.evaluate(bench.functors.compare(op, kind, "c0", "c1"), rows, [kind, kind])
    assert found == [holds(op, *row) for row in rows]


@pytest.mark.parametrize("op", [sign + test for test in sorted(TESTS) for sign in ("", "!")])
def test_texts_are_searched(bench: Bench, op: str) -> None:
    rows = list(product(TEXTS, repeat=2))
    found = bench.evaluate(bench.functors.compare(op, "symbol", "c0", "c1"), rows, ["symbol", "symbol"])
    assert [bool(value) for value in found] == [holds(op, *row) for row in rows]


@pytest.mark.parametrize(
    ("op", "kind"),
    [
        (op, kind)
        for op, form in AGGREGATES.items()
        if op not in ("count", "autoinc") and not form.arguments
        for kind in sorted(form.over)
    ],
)
def test_aggregates(bench: Bench, op: AggregateName, kind: Kind) -> None:
    rng = random.Random(FIRST_SEED)
    expression = bench.functors.fold(op, kind, "c0")
    for size in (1, 1, 2, 2, 3, 4, 5, 8, 13):
        values = [rng.choice(VALUES[kind]) for _ in range(size)]
        try:
            expected = aggregate(op, kind, values)
        except NoValueError:
            expected = None
        bench.connection.register("given", bench.columns([(value,) for value in values], [kind]))
        ((found,),) = bench.connection.execute(f"SELECT {expression} FROM given").fetchall()
        assert same(bench.value(found, AGGREGATES[op].result or kind), expected), (values, found, expected)


@pytest.mark.parametrize("kind", list(VALUES))
def test_constants(bench: Bench, kind: Kind) -> None:
    for value in VALUES[kind]:
        (found,) = bench.evaluate(bench.functors.constant(CoreConstant(value, kind)), [(0,)], ["number"])
        assert same(bench.value(found, kind), value)


def test_nulls_have_no_value(bench: Bench) -> None:
    assert bench.evaluate(
        bench.functors.call("^", ["float", "float"], "float", ["NULL", "2.0"]), [(0,)], ["number"]
    ) == [None]
    assert bench.evaluate(bench.functors.call("strlen", ["symbol"], "number", ["NULL"]), [(0,)], ["number"]) == [None]
