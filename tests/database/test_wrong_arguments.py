"""Whatever is passed to a public method ends well or in an error of tidelog with a code and a hint."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy
import pandas
import polars
import pytest

import tidelog
from tidelog.errors import ProgramError, TidelogError, quote


class Sparse:
    """A stand-in for a sparse matrix of SciPy, which need not be installed."""

    shape = (2, 2)

    def __len__(self) -> int:
        raise TypeError("sparse array length is ambiguous; use getnnz()")

    def __iter__(self) -> Any:
        raise NotImplementedError


Sparse.__module__ = "scipy.sparse._csr"


class Unprintable:
    """An object that fails to show itself."""

    def __repr__(self) -> str:
        raise RuntimeError


class Ambiguous:
    """A stand-in for the missing value of pandas, which is neither true nor false, nor equal to anything."""

    def __eq__(self, other: object) -> Any:
        return self

    def __bool__(self) -> bool:
        raise TypeError("the truth value is ambiguous")

    __hash__ = object.__hash__


VALUES: list[Any] = [
    None, 5, 2.5, True, b"e", "nope", "e\0", "\ud800", ["e"], ("e",), {"e": 1}, {"e"}, object(), numpy.zeros(3), len,
    Sparse(), Unprintable(), Ambiguous(), 10**5000, Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"),
    float("nan"), float("inf"),
]  # fmt: skip
ROWS: list[Any] = [
    *VALUES, [5], [None], [[1]], [(1, "x")], [(1, None)], [(1, 2.5)], [(1, 2, 3)], [(1, 2**70)], [(1, [2])], [(1, {})],
    [{"x": 1}], [{1: 1, 2: 2}], [(float("nan"), 1)], [(True, False)], iter([5]), range(3), memoryview(b"ab"), type,
    numpy.zeros((2, 2)), numpy.zeros(3, int), numpy.zeros((2, 2), object), numpy.zeros((2, 2), complex), numpy.array(5),
    numpy.array([["a", "b"]]), numpy.array([[1, 2]], "M8[s]"), numpy.zeros((2, 3), int),
    polars.DataFrame({"x": [1], "y": [2]}).lazy(), pandas.DataFrame({"x": [1], "y": [2]}).groupby("x"),
]  # fmt: skip

ROWS += [*([(1, each)] for each in VALUES), [(Decimal("1e-5000"), 1)]]
SETS: list[Any] = [{None}, {5}, {(1,)}, {(1, 2, 3)}, {("x", 2)}, {(1, None)}, {(1, Unprintable())}, {((1, 2), 3)}]

Calls = dict[str, tuple[list[Any], Callable[[Any, Any], object]]]
NO_TEXTS = [each for each in VALUES if not isinstance(each, str)]
NO_FUNCTIONS = [each for each in VALUES if not callable(each)]


def calls(file: Path, subject: str, names: Mapping[str, Any]) -> Calls:
    """The calls of a table, each with the values that take the place of `value`. `{a,b}` is one after the
    other; `subject` names the object that has the methods."""
    names = {**globals(), **names}
    found: Calls = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        values, call = line.split(" | ", 1)
        choice = re.search(r"\{(\w+(?:,\w+)+)\}", call)
        for each in [call] if choice is None else [call.replace(choice[0], word) for word in choice[1].split(",")]:
            assert each not in found
            found[each] = eval(values, names), eval(f"lambda {subject}, value: {each}", names)
    return found


CALLS = calls(Path(__file__).with_name("wrong_arguments.txt"), "db", {})


@pytest.fixture(scope="module")
def db() -> tidelog.Database:
    db = tidelog.connect()
    db.rules.add('.decl e(x: number, y: number) .decl s(x: symbol) r1: s("a") :- e(1, _).')
    db.insert("e", [(1, 2)])
    db.commit()
    return db


def has_advice(error: TidelogError) -> bool:
    """Return True if each problem has a hint or a place in a program; a server sends such places as texts."""
    places = [each.place if isinstance(error, ProgramError) else None for each in error.problems]
    return all(each.hint or each.span or place for each, place in zip(error.problems, places, strict=True))


def no_raw_exception(
    call: str, values: list[Any], function: Callable[[Any, Any], object], subject: Any, undo: Callable[[], object]
) -> None:
    """Make a call with one value after the other. It ends well, or in an error of tidelog with a hint."""
    for value in values:
        try:
            function(subject, value)
        except TidelogError as error:
            if not has_advice(error):
                pytest.fail(f"{call} with {quote(value)} has no hint: {error}")
        except Exception as error:
            pytest.fail(f"{call} with {quote(value)}: {type(error).__name__}: {error}")
        finally:
            undo()


@pytest.mark.parametrize("call", CALLS)
def test_no_raw_exception(call: str, db: tidelog.Database) -> None:
    def undo() -> None:
        db.rollback()
        db.options(timeout=None, max_rows=None, strategy="auto", switch=0.2, closures=True, maintain=True)
        db.options(threads=None, spill=None)

    no_raw_exception(call, *CALLS[call], db, undo)


def test_a_database_contains_and_names_its_relations(db: tidelog.Database) -> None:
    assert list(db) == ["e", "s"]
    assert "e" in db
    assert "nope" not in db
    assert 5 not in db
    assert {name: len(db[name]) for name in db} == {"e": 1, "s": 1}


def test_a_sparse_matrix_is_told_how_to_become_rows(db: tidelog.Database) -> None:
    with pytest.raises(
        tidelog.DataError, match="E0407.*list\\(zip\\(\\*data.nonzero\\(\\)\\)\\)".replace(".*", "(?s:.*)")
    ):
        db.insert("e", Sparse())
