"""The Spark session that a command works in."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def spark_session(conf: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Provide the active session, or one on this machine that ends with the block."""
    from tidelog.spark import session

    # isort: split
    # The above says that PySpark is missing, if it is.
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    spark = active or session(os.cpu_count() or 1, conf=conf)
    try:
        yield spark
    finally:
        if active is None:
            spark.stop()
