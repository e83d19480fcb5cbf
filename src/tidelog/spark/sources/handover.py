"""Micro-batches of a stream over Spark Connect, from the server to this process, which has the facts.

A function for `foreachBatch` runs in a process of the server. So the function here shows each batch as a global
temporary view, and waits until a thread of this process has made an epoch of it. Only then does Spark note its offsets,
as it does with a classic session. So nothing has to be stored on the way, and a batch without an answer comes again.

Each side looks for the views of the other one; their names have a secret. The function needs no tidelog on the server.
It ends the query if this process has shown no sign of life for a minute.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from tidelog.errors import Problem, SetupError, TidelogError
from tidelog.spark.failures import said
from tidelog.spark.sessions import is_alive

_LOOK = 0.05
"""Seconds between two looks for a view."""
_BEAT = 5.0
"""Seconds between two signs of life, and between two looks whether the query has ended."""
_SILENCE = 60.0
"""Seconds after which the function takes this process for dead."""


class Handover:
    """The batches of one query, each for a call of `take(frame, number)`. A batch for which that raises ends the
    query. Raise SetupError (E0706) if the server does not make the views."""

    def __init__(self, session: SparkSession, take: Callable[[DataFrame, int], None]) -> None:
        self._session = session
        self._take = take
        self._database = session.conf.get("spark.sql.globalTempDatabase") or "global_temp"
        self._prefix = f"tidelog_{secrets.token_hex(8)}"
        self._ended = threading.Event()
        self._server: threading.Thread | None = None
        try:
            self._show("beat", 0)
        except PySparkException as error:
            message = (
                f"this server makes no global temporary views, which streams over Spark Connect need: {said(error)}"
            )
            hint = 'start a classic session with .master(…), or run a pipeline with mode = "append" again and again'
            raise SetupError(Problem("E0706", message, hint=hint)) from error

    def function(self) -> Callable[[DataFrame, int], None]:
        """Return the function for `foreachBatch`."""
        prefix, views, look, silence = self._prefix, f"{self._database}.{self._prefix}", _LOOK, _SILENCE

        def show(frame: DataFrame, number: int) -> None:
            import time

            from pyspark.sql import functions

            session = frame.sparkSession
            frame.createOrReplaceGlobalTempView(f"{prefix}_batch")
            named = session.range(1).select(functions.lit(number).alias("value"))
            named.createOrReplaceGlobalTempView(f"{prefix}_number")
            beat, heard = None, time.monotonic()
            while not session.catalog.tableExists(f"{views}_answer"):
                time.sleep(look)
                if time.monotonic() > heard + silence:
                    found = session.table(f"{views}_beat").collect()[0][0]
                    if found == beat:
                        raise TimeoutError("the process that has the database does not answer any more")
                    beat, heard = found, time.monotonic()
            failed = session.table(f"{views}_answer").collect()[0][0]
            session.catalog.dropGlobalTempView(f"{prefix}_answer")
            if failed:
                raise RuntimeError(failed)

        return show

    def start(self, query: StreamingQuery) -> None:
        """Take the batches of a query, in threads that end with it."""
        threading.Thread(target=self._beat, name="tidelog-beat", daemon=True).start()
        self._server = threading.Thread(target=self._serve, args=(query,), name="tidelog-stream", daemon=True)
        self._server.start()

    def stop(self) -> None:
        """Take no further batch, now that the query has been stopped; wait for the one under way."""
        self._ended.set()
        if self._server is not None:
            self._server.join()

    def _beat(self) -> None:
        number = 0
        while not self._ended.wait(_BEAT):
            number += 1
            with suppress(Exception):  # The next one may get through, if the session has not ended.
                self._show("beat", number)

    def _serve(self, query: StreamingQuery) -> None:
        """Take batches until the query has ended, or the session."""
        try:
            while (number := self._next(query)) is not None:
                failed = self._failure(number)
                self._drop("number", "batch")
                self._show("answer", failed)
        except Exception:
            if is_alive(self._session):
                raise
        finally:
            self._ended.set()
            with suppress(Exception):  # A session that was stopped shows it in many ways.
                self._drop("number", "batch", "answer", "beat")

    def _next(self, query: StreamingQuery) -> int | None:
        """Return the number of the next batch, once it is there; None if the query has ended."""
        looked = time.monotonic()
        while not self._session.catalog.tableExists(self._name("number")):
            if self._ended.wait(_LOOK):
                return None
            if time.monotonic() > looked + _BEAT:
                if not query.isActive:
                    return None
                looked = time.monotonic()
        return int(self._session.table(self._name("number")).collect()[0][0])

    def _failure(self, number: int) -> str:
        """Return why a batch has failed, empty if it has become an epoch."""
        try:
            self._take(self._session.table(self._name("batch")), number)
        except Exception as error:
            return str(error) if isinstance(error, TidelogError) else said(error)
        return ""

    def _name(self, view: str) -> str:
        return f"{self._database}.{self._prefix}_{view}"

    def _show(self, view: str, value: int | str) -> None:
        """Have a view of one value."""
        frame = self._session.range(1).select(F.lit(value).alias("value"))
        frame.createOrReplaceGlobalTempView(f"{self._prefix}_{view}")

    def _drop(self, *views: str) -> None:
        for view in views:
            self._session.catalog.dropGlobalTempView(f"{self._prefix}_{view}")
