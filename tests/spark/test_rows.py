"""Rows have the same methods on the driver and in Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from tidelog.queries.pattern import Pattern
from tidelog.spark.rows import DriverRows, Rows, SparkRows, no_rows, word_columns
from tidelog.storage.dictionary import Dictionary

FORMS = ("driver", "spark")
THREE = [(1, 1), (1, 2), (2, 1)]


def rows_in(form: str, spark: SparkSession, tuples: Sequence[tuple[int, ...]], arity: int = 2) -> Rows:
    rows = DriverRows(np.array(tuples, np.int64).reshape(len(tuples), arity))
    return rows if form == "driver" else SparkRows(rows.frame(spark), arity)


def tuples_of(rows: Rows) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, rows.local().tolist()))


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_counted_and_brought_to_the_driver(spark: SparkSession, form: str) -> None:
    rows = rows_in(form, spark, THREE)
    assert (rows.arity, rows.count(), tuples_of(rows)) == (2, 3, THREE)
    assert rows.local().dtype == np.int64
    assert (rows.driver_words is None) == (form == "spark")
    assert not rows.is_surely_empty


@pytest.mark.parametrize("form", FORMS)
def test_a_frame_has_the_columns_of_words(spark: SparkSession, form: str) -> None:
    frame = rows_in(form, spark, THREE).frame(spark)
    assert frame.columns == word_columns(2) == ["c0", "c1"]
    assert sorted(map(tuple, frame.collect())) == THREE


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [0, 1])
def test_a_relation_without_columns_has_its_row_or_none(spark: SparkSession, form: str, count: int) -> None:
    rows = rows_in(form, spark, [()] * count, arity=0)
    assert (rows.arity, rows.count(), rows.local().shape) == (0, count, (count, 0))
    assert [tuple(row) for row in rows.frame(spark).collect()] == [(0,)] * count
    assert tuples_of(rows.without(rows)) == []


@pytest.mark.smoke
@pytest.mark.parametrize("form", FORMS)
def test_rows_without_others(spark: SparkSession, form: str) -> None:
    rows, others = rows_in(form, spark, THREE), rows_in(form, spark, [(1, 2), (3, 3)])
    assert tuples_of(rows.without(others)) == [(1, 1), (2, 1)]
    assert tuples_of(others.without(rows)) == [(3, 3)]


@pytest.mark.parametrize("form", FORMS)
def test_rows_that_match_a_pattern(spark: SparkSession, form: str) -> None:
    rows, dictionary = rows_in(form, spark, THREE), Dictionary()
    kinds = ("number", "number")
    assert tuples_of(rows.select_matching(Pattern("e", kinds, ((0, 1),), ()), dictionary)) == [(1, 1), (1, 2)]
    assert tuples_of(rows.select_matching(Pattern("e", kinds, (), ((0, 1),)), dictionary)) == [(1, 1)]
    unknown = Pattern("e", ("symbol", "number"), ((0, "unheard"),), ())
    assert tuples_of(rows.select_matching(unknown, dictionary)) == []


def test_no_rows_are_surely_empty() -> None:
    assert no_rows(3).is_surely_empty
    assert no_rows(3).local().shape == (0, 3)
