"""The Spark session that a command works in."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def spark_session(
    conf: Mapping[str, str] | None = None, remote: str | None = None, place: str = "remote"
) -> Iterator[SparkSession]:
    """Provide the session of this process, or one that ends with the block: of the server at the address `remote`, or
    on this machine. `place` is where the address stands."""
    from tidelog.spark import session
    from tidelog.spark.machine import present_session

    present = present_session()
    if present is not None:
        spark = present
    elif remote is None:
        spark = session(os.cpu_count() or 1, conf=conf)
    else:
        from tidelog.spark.remote import remote_session

        spark = remote_session(remote, conf, place)
    try:
        yield spark
    finally:
        if present is None:
            spark.stop()
