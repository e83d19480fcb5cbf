"""The baselines of the benchmarks evaluate what they say, or else factors mean nothing."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from benchmarks.harness import BenchmarkError
from benchmarks.spark import seminaive

NAMES = ".decl e(x: number, y: number)\n.decl odd(x: number, y: number)\n.decl even(x: number, y: number)\n"
WALKS = f"""
{NAMES}
.decl around(x: number, n: number)
odd(x, y) :- e(x, y).
even(x, z) :- odd(x, y), e(y, z).
odd(x, z) :- even(x, y), e(y, z).
around(x, 2) :- even(x, x), e(2, y), even(y, y).
"""


def test_dataframes(spark: SparkSession) -> None:
    """Mutual recursion, rules over what it finds, joins without a common variable, constants."""
    kept = spark.sparkContext._jsc.getPersistentRDDs
    before = set(kept())
    edges = spark.createDataFrame([(1, 2), (2, 1), (2, 3)], "x long, y long")
    found = seminaive.dataframes(spark, WALKS, {"e": edges}, "around", 60)
    assert (found.tuples, found.iterations, found.end) == (2, 2, "finished")
    assert set(kept()) <= before


@pytest.mark.smoke
def test_rules_that_the_baseline_does_not_know(spark: SparkSession) -> None:
    with pytest.raises(BenchmarkError, match="rules over atoms only"):
        seminaive.dataframes(spark, f"{NAMES}\nodd(x, y) :- e(x, y), !e(y, x).", {}, "odd", 60)
