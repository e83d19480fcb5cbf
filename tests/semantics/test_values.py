"""Each functor, comparison and aggregate on values, the borders of their domains first of all."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tidelog.language.aggregates import AggregateName
from tidelog.semantics.aggregates import aggregate
from tidelog.semantics.functors import apply, holds
from tidelog.semantics.values import NoValueError, cast, normal

MIN, MAX = -(2**63), 2**63 - 1
TOP = 2**64 - 1
INF = math.inf


def value(functor: str, kind: str, *args: Any) -> Any:
    """The value of a functor, None if it has none."""
    found = list(apply(functor, kind, args))
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize(
    ("functor", "args", "expected"),
    [
        ("+", (2, 3), 5),
        ("+", (MAX, 1), MIN),
        ("-", (MIN, 1), MAX),
        ("*", (MAX, 2), -2),
        ("*", (2**32, 2**32), 0),
        ("/", (7, 2), 3),
        ("/", (-7, 2), -3),
        ("/", (7, -2), -3),
        ("/", (-7, -2), 3),
        ("/", (MIN, -1), MIN),
        ("/", (MIN, 3), -3074457345618258602),
        ("/", (1, 0), None),
        ("%", (7, 3), 1),
        ("%", (-7, 3), -1),
        ("%", (7, -3), 1),
        ("%", (-7, -3), -1),
        ("%", (MIN, -1), 0),
        ("%", (5, 0), None),
        ("^", (3, 4), 81),
        ("^", (-2, 63), MIN),
        ("^", (2, 64), 0),
        ("^", (0, 0), 1),
        ("^", (0, -1), None),
        ("^", (1, -5), 1),
        ("^", (-1, -4), 1),
        ("^", (-1, -5), -1),
        ("^", (2, -1), None),
        ("neg", (5,), -5),
        ("neg", (MIN,), MIN),
        ("band", (-1, 12), 12),
        ("bor", (8, 3), 11),
        ("bxor", (-1, 1), -2),
        ("bnot", (0,), -1),
        ("bshl", (1, 63), MIN),
        ("bshl", (1, 64), 1),
        ("bshl", (3, -1), MIN),
        ("bshr", (-8, 1), -4),
        ("bshr", (-8, 65), -4),
        ("bshru", (-1, 1), MAX),
        ("bshru", (-1, 64), -1),
        ("land", (2, 0), 0),
        ("land", (2, -1), 1),
        ("lor", (0, 0), 0),
        ("lor", (0, 9), 1),
        ("lxor", (4, 9), 0),
        ("lxor", (0, 9), 1),
        ("lnot", (0,), 1),
        ("lnot", (7,), 0),
        ("min", (3, -2, 9), -2),
        ("max", (3, -2, 9), 9),
    ],
)
def test_functors_on_numbers(functor: str, args: tuple[int, ...], expected: int | None) -> None:
    assert value(functor, "number", *args) == expected


@pytest.mark.parametrize(
    ("functor", "args", "expected"),
    [
        ("+", (TOP, 2), 1),
        ("-", (1, 2), TOP),
        ("*", (2**63, 2), 0),
        ("/", (TOP, 2), MAX),
        ("/", (1, 0), None),
        ("%", (TOP, 10), 5),
        ("%", (TOP, 0), None),
        ("^", (2, 63), 2**63),
        ("^", (3, 41), 18026252303461234787),
        ("neg", (1,), TOP),
        ("bnot", (0,), TOP),
        ("bshl", (TOP, 1), TOP - 1),
        ("bshr", (TOP, 1), MAX),
        ("bshru", (TOP, 60), 15),
        ("max", (1, TOP), TOP),
        ("lnot", (TOP,), 0),
    ],
)
def test_functors_on_unsigned(functor: str, args: tuple[int, ...], expected: int | None) -> None:
    assert value(functor, "unsigned", *args) == expected


@pytest.mark.parametrize(
    ("functor", "args", "expected"),
    [
        ("+", (0.1, 0.2), 0.30000000000000004),
        ("+", (INF, 1.0), INF),
        ("+", (INF, -INF), None),
        ("-", (INF, INF), None),
        ("*", (1e308, 10.0), INF),
        ("*", (0.0, INF), None),
        ("*", (0.0, -1.0), 0.0),
        ("/", (1.0, 4.0), 0.25),
        ("/", (1.0, 0.0), None),
        ("/", (1.0, INF), 0.0),
        ("^", (2.0, 0.5), 1.4142135623730951),
        ("^", (-8.0, 0.5), None),
        ("^", (10.0, 400.0), INF),
        ("^", (-10.0, 400.0), INF),
        ("^", (-10.0, 401.0), -INF),
        ("^", (1e-300, -2.0), INF),
        ("^", (-1e-300, -3.0), -INF),
        ("^", (10.0, -400.0), 0.0),
        ("^", (0.0, -1.0), None),
        ("^", (INF, 1.0), INF),
        ("neg", (0.0,), 0.0),
        ("min", (0.5, -0.5), -0.5),
        ("max", (0.5, -0.5), 0.5),
    ],
)
def test_functors_on_floats(functor: str, args: tuple[float, ...], expected: float | None) -> None:
    found = value(functor, "float", *args)
    assert found == expected
    assert found is None or math.copysign(1, found) == 1 or found < 0, "no negative zero"


@pytest.mark.parametrize(
    ("functor", "args", "expected"),
    [
        ("cat", ("a", "", "bc"), "abc"),
        ("strlen", ("née",), 3),
        ("strlen", ("",), 0),
        ("strlen", ("😀",), 1),
        ("substr", ("née", 1, 2), "ée"),
        ("substr", ("abc", 2, 5), "c"),
        ("substr", ("abc", 3, 1), ""),
        ("substr", ("abc", -1, 2), ""),
        ("substr", ("abc", 1, 0), ""),
        ("substr", ("abc", 0, -1), ""),
        ("codepoint", ("abc",), 97),
        ("codepoint", ("😀",), 0x1F600),
        ("codepoint", ("",), 0),
        ("ord", ("abc",), 6455300059550759896),
        ("min", ("b", "a", "é"), "a"),
        ("max", ("b", "Z", "é"), "é"),
    ],
)
def test_functors_on_symbols(functor: str, args: tuple[Any, ...], expected: Any) -> None:
    assert value(functor, "symbol", *args) == expected


@pytest.mark.parametrize(
    ("text", "number", "unsigned", "real"),
    [
        ("0", 0, 0, 0.0),
        ("-0", 0, 0, 0.0),
        ("007", 7, 7, 7.0),
        ("-12", -12, None, -12.0),
        ("+12", 12, 12, 12.0),
        ("0xFf", 255, 255, None),
        ("-0x10", -16, None, None),
        ("0b11", 3, 3, None),
        ("9223372036854775807", MAX, MAX, 9223372036854775808.0),
        ("9223372036854775808", None, 2**63, 9223372036854775808.0),
        ("-9223372036854775808", MIN, None, -9223372036854775808.0),
        ("18446744073709551616", None, None, 18446744073709551616.0),
        ("0" * 5000 + "1", 1, 1, 1.0),
        ("9" * 5000, None, None, INF),
        ("0b" + "1" * 64, None, TOP, None),
        ("1.5", None, None, 1.5),
        (".5", None, None, 0.5),
        ("2.", None, None, 2.0),
        ("-1e-3", None, None, -0.001),
        ("1e400", None, None, INF),
        ("-inf", None, None, -INF),
        ("nan", None, None, None),
        ("infinity", None, None, None),
        ("", None, None, None),
        (" 1", None, None, None),
        ("1 ", None, None, None),
        ("1\n", None, None, None),
        ("1_0", None, None, None),
        ("١", None, None, None),
        ("0x", None, None, None),
        ("0b2", None, None, None),
        ("--1", None, None, None),
        ("1u", None, None, None),
        ("12a", None, None, None),
    ],
)
def test_reading_of_numbers(text: str, number: int | None, unsigned: int | None, real: float | None) -> None:
    assert value("to_number", "symbol", text) == number
    assert value("to_unsigned", "symbol", text) == unsigned
    assert value("to_float", "symbol", text) == real


@pytest.mark.parametrize(
    ("functor", "kind", "arg", "expected"),
    [
        ("to_string", "number", -5, "-5"),
        ("to_string", "unsigned", TOP, "18446744073709551615"),
        ("to_string", "float", 1.0, "1.0"),
        ("to_string", "float", 0.1, "0.1"),
        ("to_string", "float", 1e16, "1e+16"),
        ("to_string", "float", -INF, "-inf"),
        ("to_string", "symbol", "x", "x"),
        ("itou", "number", -1, TOP),
        ("utoi", "unsigned", TOP, -1),
        ("itof", "number", MAX, 9223372036854775808.0),
        ("utof", "unsigned", TOP, 18446744073709551616.0),
        ("ftoi", "float", -2.9, -2),
        ("ftoi", "float", 9223372036854775808.0, None),
        ("ftoi", "float", -9223372036854775808.0, MIN),
        ("ftoi", "float", INF, None),
        ("ftou", "float", 2.9, 2),
        ("ftou", "float", -0.9, 0),
        ("ftou", "float", -1.0, None),
        ("ftou", "float", 9223372036854775808.0, 2**63),
        ("ftou", "float", 18446744073709551616.0, None),
        ("to_number", "float", -2.9, -2),
        ("to_number", "unsigned", TOP, -1),
        ("to_unsigned", "number", -1, TOP),
        ("to_float", "number", 3, 3.0),
        ("to_float", "float", 3.5, 3.5),
    ],
)
def test_conversions(functor: str, kind: str, arg: Any, expected: Any) -> None:
    found = value(functor, kind, arg)
    assert found == expected
    assert type(found) is type(expected)


def test_what_to_string_writes_of_a_float_reads_back() -> None:
    for real in (0.1, 1e300, -2.5e-7, INF, -INF, 1e16, 123456789.0):
        assert value("to_float", "symbol", value("to_string", "float", real)) == real


@pytest.mark.parametrize(
    ("kind", "args", "expected"),
    [
        ("number", (0, 3), [0, 1, 2]),
        ("number", (3, 0), [3, 2, 1]),
        ("number", (2, 2), []),
        ("number", (0, 7, 3), [0, 3, 6]),
        ("number", (7, 0, -3), [7, 4, 1]),
        ("number", (0, 7, -1), []),
        ("number", (7, 0, 1), []),
        ("number", (0, 7, 0), [0]),
        ("number", (7, 0, 0), [7]),
        ("number", (7, 7, 0), []),
        ("float", (0.5, 2.0, 0.0), [0.5]),
        ("number", (MAX - 1, MAX, 5), [MAX - 1]),
        ("unsigned", (2, 0), [2, 1]),
        ("unsigned", (TOP - 1, TOP), [TOP - 1]),
        ("unsigned", (0, 5, 2), [0, 2, 4]),
        ("float", (0.0, 1.0, 0.5), [0.0, 0.5]),
        ("float", (1.0, -0.5), [1.0, 0.0]),
        ("float", (1e17, INF), [1e17]),
    ],
)
def test_range(kind: str, args: tuple[Any, ...], expected: list[Any]) -> None:
    assert list(apply("range", kind, args)) == expected


@pytest.mark.parametrize(
    ("op", "left", "right", "expected"),
    [
        ("=", "a", "a", True),
        ("!=", (1, None), (1, None), False),
        ("<", "Z", "a", True),
        ("<", "z", "é", True),
        ("<=", -1, -1, True),
        (">", TOP, MAX, True),
        (">=", 0.5, 1.0, False),
        ("match", "a.", "ab", True),
        ("match", "a", "ab", False),
        ("match", "a|ab", "ab", True),
        ("!match", "a", "ab", True),
        ("match", "(", "(", False),
        ("!match", "(", "(", False),
        ("contains", "b", "abc", True),
        ("contains", "abc", "b", False),
        ("contains", "", "", True),
        ("!contains", "x", "abc", True),
    ],
)
def test_comparisons(op: str, left: Any, right: Any, expected: bool) -> None:
    assert holds(op, left, right) is expected


@pytest.mark.parametrize(
    ("op", "kind", "values", "expected"),
    [
        ("count", "number", [None, None], 2),
        ("count", "number", [], 0),
        ("sum", "number", [], 0),
        ("sum", "number", [MAX, 1, 1], MIN + 1),
        ("sum", "unsigned", [TOP, 3], 2),
        ("sum", "float", [0.1] * 10, 1.0),
        ("sum", "float", [], 0.0),
        ("sum", "float", [1e100, 1.0, -1e100], 1.0),
        ("sum", "float", [INF, 1.0], INF),
        ("sum", "float", [INF, -INF], None),
        ("sum", "float", [1e308, 1e308], None),
        ("min", "number", [3, -1, 2], -1),
        ("max", "number", [3, -1, 2], 3),
        ("min", "number", [], None),
        ("max", "float", [], None),
        ("mean", "number", [1, 2], 1.5),
        ("mean", "unsigned", [TOP], 18446744073709551616.0),
        ("mean", "float", [], None),
        ("median", "number", [5, 1, 3], 3.0),
        ("median", "number", [5, 1, 3, 4], 3.5),
        ("median", "float", [0.5], 0.5),
        ("median", "float", [-INF, INF], None),
        ("median", "number", [], None),
        ("any", "symbol", ["b", "a"], "a"),
        ("any", "number", [], None),
        ("collect", "number", [10, 9, 10], "9,10"),
        ("collect", "symbol", ["b", "a,", "b"], "a,,b"),
        ("collect", "float", [], None),
        ("argmin", "symbol", [("b", 1), ("a", 1), ("c", 0)], "c"),
        ("argmin", "number", [], None),
        ("argmax", "symbol", [("b", 1), ("a", 1), ("c", 0)], "a"),
    ],
)
def test_aggregates(op: AggregateName, kind: str, values: list[Any], expected: Any) -> None:
    try:
        found = aggregate(op, kind, values)
    except NoValueError:
        found = None
    assert found == expected
    assert type(found) is type(expected)


def test_casts_keep_the_bits() -> None:
    assert list(cast(-1, "unsigned")) == [TOP]
    assert list(cast(TOP, "number")) == [-1]
    assert list(cast(1.0, "number")) == [0x3FF0000000000000]
    assert list(cast(0x3FF0000000000000, "float")) == [1.0]
    assert list(cast(0x7FF8000000000000, "float")) == [], "NaN"
    assert list(cast(MIN, "float")) == [0.0]
    assert list(cast("x", "symbol")) == ["x"]


def test_zero_has_no_sign() -> None:
    assert math.copysign(1, normal(-0.0, "float")) == 1
    assert math.copysign(1, normal(0, "float")) == 1
