"""One Spark session for the whole test run: starting one takes longer than most tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tidelog.spark import session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    started = session(threads=2, brief=True)
    yield started
    started.stop()
