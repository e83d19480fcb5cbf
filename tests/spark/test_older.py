"""Functions that PySpark 3.5 has as well give what later methods give; `make test-versions` runs 3.5 itself."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tidelog.spark import sessions


@pytest.fixture(params=[False, True], ids=["3.5", "4"])
def version(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the functions of one version or the other."""
    monkeypatch.setattr(sessions, "IS_LATER", request.param)


@pytest.mark.smoke
@pytest.mark.usefixtures("version")
def test_rows_cross_as_arrow(spark: SparkSession) -> None:
    part = pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.string())]))])
    fields = [("n", pa.int64()), ("s", pa.string()), ("f", pa.float64()), ("u", pa.decimal128(20, 0)), ("r", part)]
    values = [[1, None], ["x", None], [0.5, None], [Decimal(3), None], [{"a": 1, "b": {"c": "y"}}, None]]
    table = pa.table([pa.array(each, kind) for each, (_, kind) in zip(values, fields, strict=True)], pa.schema(fields))
    frame = sessions.from_arrow(spark, table)
    assert sessions.to_arrow(frame).sort_by("n").equals(table)
    none = sessions.to_arrow(frame.where("n > 7"))
    assert (none.num_rows, none.schema.names) == (0, ["n", "s", "f", "u", "r"])


@pytest.mark.usefixtures("version")
def test_a_text_that_does_not_convert_is_null(spark: SparkSession) -> None:
    frame = spark.sql("select * from values ('1'), ('1.5'), ('x'), ('99999999999999999999'), (null) as t(a)")
    kinds = {"long": [1, None, None, None, None], "double": [1.0, 1.5, None, 1e20, None]}
    for kind, expected in kinds.items():
        assert [row[0] for row in frame.select(sessions.try_cast(F.col("a"), kind)).collect()] == expected
    beyond = spark.sql("select 1e20D as a").select(sessions.try_cast(F.col("a"), "long"))
    assert beyond.collect()[0][0] is None
