"""Each construct on both engines over one Spark session, as the table in the reference says."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

import tidelog
from tests import functions
from tests.constructs import CONSTRUCTS, Construct, cells, run
from tests.depth import stride

TRIED = [
    *(("Spark, embedded", each) for each in CONSTRUCTS[:: stride(2)]),  # The engine is the same without Spark.
    *(("Spark, cluster", each) for each in CONSTRUCTS[:: stride(1)]),  # Suites of the cluster meet them all as well.
]


@pytest.mark.smoke
@pytest.mark.parametrize(("column", "construct"), TRIED, ids=lambda each: getattr(each, "name", each))
def test_a_construct_over_spark(spark: SparkSession, column: str, construct: Construct) -> None:
    engine = column.removeprefix("Spark, ")

    class OverSpark:
        def __init__(self, text: str) -> None:
            self.db: Any = tidelog.connect(spark=spark, functors=functions)
            self.db.options(engine=engine)
            self.db.load(text)

        def insert(self, relation: str, rows: Any) -> None:
            self.db.insert(relation, rows)

        def delete(self, relation: str, rows: Any) -> None:
            self.db.delete(relation, rows)

        def add(self, rule: str) -> None:
            self.db.rules.add(rule)

        def settle(self) -> None:
            assert self.db.commit().report.engine == engine

        def view(self, relation: str) -> set[Any]:
            return set(self.db.local(relation))

        def close(self) -> None:
            self.db.close()

    assert run(construct, OverSpark) == cells(column)[construct.name]
