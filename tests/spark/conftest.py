"""One Spark session for the whole test run: starting one takes longer than most tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tidelog.spark import session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    started = session(threads=2, brief=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # PySpark has put one of its own in its place
    yield started
    started.stop()
