"""Frames of local rows that end with their epoch, as frames do whose rows are read when they are used.

The plan of a frame compares a property of Java with the number of its epoch, for each execution. Spark evaluates that
in the process that has the property: in its tasks on one machine, and while it plans a query in a cluster. There, it
does not plan a frame again that has been executed before, which keeps its rows.
"""

from __future__ import annotations

import secrets
from typing import Any

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidelog.spark.deferred import is_over
from tidelog.spark.failures import letting_go
from tidelog.spark.sessions import is_on_one_machine

_NEVER = "never"


class EndingFrames:
    """The frames of the present epoch of a database. Sessions of Spark Connect have none."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._name = f"tidelog.epoch.{secrets.token_hex(8)}"
        self._epoch = 0
        self._is_set = False

    def frame(self, rows: DataFrame, count: int) -> DataFrame:
        """Return a frame of local rows, so many, that raises E0687 when the epoch is over."""
        if not self._is_set:
            self._set()
        now = F.expr(f"reflect('java.lang.System', 'getProperty', '{self._name}', '')")
        # The processes of executors on other machines do not have the property.
        is_valid = F.assert_true(now.isin("", str(self._epoch)), F.lit(str(is_over()))).isNull()
        if not count:  # Without a row there would be nothing to look at.
            one = self._session.range(1).where(is_valid).where(now == _NEVER)
            return one.select(*[_null(field) for field in rows.schema.fields])
        if is_on_one_machine(self._session):  # Spark evaluates conditions right above local rows once, in its plan.
            rows = rows.coalesce(count)
        return rows.where(is_valid)

    def end(self) -> None:
        """End the epoch and its frames."""
        self._epoch += 1
        if self._is_set:
            with letting_go():
                self._set()

    def _set(self) -> None:
        java: Any = self._session.sparkContext._jvm
        java.java.lang.System.setProperty(self._name, str(self._epoch))
        self._is_set = True


def _null(field: Any) -> Expression:
    return F.lit(None).cast(field.dataType).alias(field.name)
