"""Whatever is passed to a public method ends well or in an error of tidelog with a code and a hint."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
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

CALLS: dict[str, tuple[list[Any], Callable[[tidelog.Database, Any], object]]] = {
    "connect(…)": ([each for each in VALUES if not isinstance(each, str)], lambda _, value: tidelog.connect(value)),
    "Database(…)": (VALUES, lambda _, value: tidelog.Database(value)),
    "check_certificate": (VALUES, lambda _, value: tidelog.check_certificate(value)),
    "load": (VALUES, lambda db, value: db.load(value)),
    "rules.add": (VALUES, lambda db, value: db.rules.add(value)),
    "rules.remove": (VALUES, lambda db, value: db.rules.remove(value)),
    "rules[…]": (VALUES, lambda db, value: db.rules[value]),
    "… in rules": (VALUES, lambda db, value: value in db.rules),
    "db[…]": (VALUES, lambda db, value: db[value]),
    "… in db": (VALUES, lambda db, value: value in db),
    "… in a relation": (VALUES, lambda db, value: value in db["e"]),
    "change[…]": (VALUES, lambda db, value: db.commit()[value]),
    "… in change": (VALUES, lambda db, value: value in db.commit()),
    "query": (VALUES, lambda db, value: db.query(value)),
    "births": (VALUES, lambda db, value: db.births(value)),
    "to_spark": ([5, "x"], lambda db, value: db["e"].to_spark(value)),
    "save_certificate": (
        [each for each in VALUES if not isinstance(each, str)],
        lambda db, value: db.save_certificate(value),
    ),
    "read_inputs": (VALUES, lambda db, value: db.read_inputs(value)),
    "rules.remove_instance": (VALUES, lambda db, value: db.rules.remove_instance(value)),
    "branch": (VALUES, lambda db, value: db.branch(value)),
    "draw().save": (VALUES, lambda db, value: db.draw().save(value)),
    "import_functions": (VALUES, lambda db, value: db.import_functions(value)),
    "functor(…)": (VALUES, lambda db, value: db.functor(value, len)),
    "aggregate(…)": (VALUES, lambda db, value: db.aggregate(value, 0, len)),
    "aggregate('a', …)": (
        [each for each in VALUES if not callable(each)],
        lambda db, value: db.aggregate("a", 0, value),
    ),
    **{
        f"functor('f', …, {name}=…)": (VALUES, lambda db, value, name=name: db.functor("f", 1, **{name: value}))  # type: ignore[misc]
        for name in ("vectorized", "compiled", "remember")
    },
    **{
        f"{verb}(…, key=…)": (VALUES[1:], lambda db, value, verb=verb: getattr(db, verb)("e", [(1, 2)], key=value))  # type: ignore[misc]
        for verb in ("insert", "delete")
    },
    **{
        f"proof.{verb}": (VALUES[1:], lambda db, value, verb=verb: getattr(db.explain("e", (1, 2)), verb)(value))  # type: ignore[misc]
        for verb in ("check", "draw", "export")
    },
    **{
        f"e {name} …": (SETS, function)
        for name, function in {
            "|": lambda db, value: db["e"] | value,
            "^": lambda db, value: value ^ db["e"],
            "&": lambda db, value: db["e"] & value,
            "<=": lambda db, value: db["e"] <= value,
        }.items()
    },
    "transaction(dry_run=…)": (VALUES, lambda db, value: db.transaction(dry_run=value)),
    "explain(all=…)": (VALUES, lambda db, value: db.explain("e", (1, 2), all=value)),
    "undo(rules=…)": (VALUES, lambda db, value: db.ways_to_remove("e", (1, 2), rules=value)),
    "to_dict(rows=…)": (VALUES, lambda db, value: db.commit()["e"].to_dict(rows=value)),
    "subscribe(…, print)": (VALUES, lambda db, value: db.subscribe(value, print)),
    "subscribe('e', …)": (VALUES, lambda db, value: db.subscribe("e", value)),
    **{
        f"{verb}(…)": (VALUES, lambda db, value, verb=verb: getattr(db, verb)(value, [(1, 2)]))  # type: ignore[misc]
        for verb in ("insert", "delete", "insert_words", "delete_words")
    },
    **{
        f"{verb}('e', …)": (ROWS, lambda db, value, verb=verb: getattr(db, verb)("e", value))  # type: ignore[misc]
        for verb in ("insert", "delete", "insert_words", "delete_words")
    },
    "insert('s', …)": (ROWS, lambda db, value: db.insert("s", value)),
    **{
        f"options({name}=…)": (VALUES, lambda db, value, name=name: db.options(**{name: value}))  # type: ignore[misc]
        for name in (
            "timeout",
            "max_rows",
            "strategy",
            "switch",
            "closures",
            "maintain",
            "threads",
            "spill",
            "early_projection",
            "nope",
        )
    },
}


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
