"""The database of `tidelog run` on the cluster engine of a Spark session."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tidelog.relation import Relation, WordRows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidelog.language.syntax import CheckedProgram
    from tidelog.spark import SparkChange
    from tidelog.storage.dictionary import Dictionary


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


class OnSpark:
    """A program on the cluster engine, with facts from this process and views brought back to it."""

    def __init__(self, session: SparkSession) -> None:
        import tidelog

        self._db = tidelog.connect(spark=session)
        self._db.options(engine="cluster")
        self.options = self._db.options
        self.load = self._db.load
        self.insert_words = self._db.front.insert_words
        self.check = self._db.check
        self.stats = self._db.stats

    def __enter__(self) -> OnSpark:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    @property
    def program(self) -> CheckedProgram:
        """Return the loaded program."""
        return self._db.front.program

    @property
    def dictionary(self) -> Dictionary:
        """Return the dictionary of the views."""
        return self._db.front.dictionary

    def commit(self) -> SparkChange:
        """Evaluate the program."""
        return self._db.commit()

    def __getitem__(self, name: str) -> Relation:
        """Return a view."""
        columns = self.program.relations[name].columns
        return Relation(name, WordRows(columns, self.dictionary, self._db.words(name)))
