"""The dictionary of symbols, built in Spark, for facts that are not to come to the driver.

`SymbolTable` mirrors the engine's dictionary as a Spark frame (symbol, id). New symbols are found and numbered by
Spark: ids are dense, continue where the dictionary ends, and known symbols keep theirs. The number of a new symbol is
its rank by (hash partition, text), which depends on the set of new symbols only, so that a task that runs twice gives
the same numbers. The driver sees each new symbol once, because the engine decodes there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from typing import TYPE_CHECKING

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidelog.errors import InternalError, Problem
from tidelog.spark.arrow import to_spark
from tidelog.spark.failures import letting_go
from tidelog.spark.jobs import step
from tidelog.spark.older import to_arrow
from tidelog.spark.sources.facts import FactFrame
from tidelog.spark.sources.readers import empty_frame
from tidelog.storage.dictionary import Dictionary

if TYPE_CHECKING:
    import pyarrow as pa

FEW_SYMBOLS = 200_000  # a dictionary up to this size goes to every task as a whole
_ROW_BITS = 33  # monotonically_increasing_id has the partition above these bits, the row in the partition below


@dataclass(frozen=True)
class _Part:
    """The symbols of `count` ids, those behind the parts before it. A large part is kept in Spark."""

    frame: DataFrame
    count: int


class SymbolTable:
    """The engine's dictionary of symbols as Spark frames. These are few however many commits have brought new symbols:
    a part goes together with the one before it unless that is twice as large, so that no symbol is moved often.

    The dictionary is what counts, and the parts follow it; after an interruption anywhere the next `follow` goes on."""

    def __init__(self, session: SparkSession, dictionary: Dictionary) -> None:
        self._session = session
        self._dictionary = dictionary
        self._parts: list[_Part] = []
        self._stamp = dictionary.stamp
        self._kept: list[DataFrame] = []
        """Frames that are kept in Spark, or about to be: of parts, and those that parts have been and the plans of the
        commit that is under way may still have."""

    def __len__(self) -> int:
        return sum(part.count for part in self._parts)

    @property
    def frame(self) -> DataFrame:
        """All symbols with their ids."""
        if not self._parts:
            return empty_frame(self._session, "symbol string", "id long")
        return reduce(DataFrame.unionAll, [part.frame for part in self._parts])

    @step("new symbols")
    def grow(self, facts: FactFrame) -> None:
        """Give an id to every symbol of the facts, in the engine's dictionary too."""
        self._dictionary.stop_reusing()  # Spark numbers from the end of the dictionary on.
        self.follow()
        names = [leaf.name for leaf in facts.leaves if leaf.kind == "symbol"]
        if not names:
            return
        symbols = facts.frame.select(F.explode(F.array(*names)).alias("symbol")).distinct()
        if self._parts:
            symbols = symbols.join(self._joinable(), "symbol", "left_anti")
        partitions = int(self._session.conf.get("spark.sql.shuffle.partitions") or 1)
        placed = symbols.repartition(partitions, "symbol").sortWithinPartitions("symbol")
        placed = placed.withColumn("place", F.monotonically_increasing_id())
        self._kept.append(placed)
        try:
            placed.persist(StorageLevel.MEMORY_AND_DISK)
            numbered = self._number(placed, partitions)
            new = to_arrow(numbered).sort_by("id")
            if new.num_rows:
                self._extend(new)
            if new.num_rows > FEW_SYMBOLS:
                self._add(self._keep(numbered, new.num_rows))
        finally:
            with letting_go():
                placed.unpersist()
        self.follow()

    def encode(self, facts: DataFrame, symbol_columns: Sequence[str]) -> DataFrame:
        """Return `facts` with symbols replaced by their ids."""
        return self._replace(facts, symbol_columns, "symbol", "id")

    def decode(self, rows: DataFrame, symbol_columns: Sequence[str]) -> DataFrame:
        """Return `rows` with ids replaced by their symbols."""
        self.follow()
        return self._replace(rows, symbol_columns, "id", "symbol")

    def _replace(self, rows: DataFrame, names: Sequence[str], given: str, wanted: str) -> DataFrame:
        columns = rows.columns
        for name in names:
            pairs = self._joinable().select(F.col(given).alias("_given"), F.col(wanted).alias("_wanted"))
            joined = rows.join(pairs, rows[name] == pairs["_given"])
            rows = joined.select(*[F.col("_wanted").alias(name) if c == name else F.col(c) for c in columns])
        return rows

    def settle(self) -> None:
        """Let go of what a commit has replaced, now that its plans are over."""
        used = {id(part.frame) for part in self._parts}
        for frame in [frame for frame in self._kept if id(frame) not in used]:
            with letting_go():
                frame.unpersist()
            self._kept = [each for each in self._kept if each is not frame]

    def close(self) -> None:
        """Release the frames that are kept in Spark."""
        self._parts.clear()
        self.settle()

    def _joinable(self) -> DataFrame:
        return F.broadcast(self.frame) if len(self) <= FEW_SYMBOLS else self.frame

    def follow(self) -> None:
        """Add the symbols that the dictionary got by other ways: constants, functors, direct inserts."""
        stamp = self._dictionary.stamp
        if stamp != self._stamp:  # Words have been given back, or have another meaning.
            self._parts.clear()
            self._stamp = stamp
        start = len(self)
        if start < len(self._dictionary):
            count = len(self._dictionary) - start
            self._add(_Part(self._local(start, count), count))

    def _local(self, start: int, count: int) -> DataFrame:
        """Return symbols from the dictionary on the driver."""
        import pyarrow as pa

        ids = self._dictionary.present("symbol", start, start + count)
        return to_spark(self._session, pa.table({"symbol": self._dictionary.decode_column(ids, "symbol"), "id": ids}))

    def _add(self, part: _Part) -> None:
        """Add a part, or replace smaller parts by one that includes them."""
        joined, first = [part], len(self._parts)
        while first and self._parts[first - 1].count < 2 * sum(each.count for each in joined):
            first -= 1
            joined.insert(0, self._parts[first])
        count = sum(each.count for each in joined)
        if len(joined) > 1 and count <= FEW_SYMBOLS:
            start = sum(each.count for each in self._parts[:first])
            part = _Part(self._local(start, count), count)
        elif len(joined) > 1:
            part = self._keep(reduce(DataFrame.unionAll, [each.frame for each in joined]), count)
        self._parts[first:] = [part]

    def _keep(self, frame: DataFrame, count: int) -> _Part:
        """Return a part with rows of its own in Spark."""
        self._kept.append(frame)  # before it is kept, so that an interruption leaves nothing in Spark
        frame.persist(StorageLevel.MEMORY_AND_DISK)
        frame.count()
        return _Part(frame, count)

    def _number(self, placed: DataFrame, partitions: int) -> DataFrame:
        """Return symbols with their `place` by partition and row, given dense ids from `len(self)` on."""
        partition = F.shiftright("place", _ROW_BITS).cast("int")
        tally = placed.groupBy(partition.alias("partition")).agg(F.count("*").alias("size")).collect()
        sizes = {row["partition"]: row["size"] for row in tally}
        before = accumulate((sizes.get(i, 0) for i in range(partitions)), initial=len(self))
        starts = F.array(*[F.lit(start).cast("long") for start in before])
        within = F.col("place").bitwiseAND(F.lit((1 << _ROW_BITS) - 1))
        return placed.select("symbol", (F.element_at(starts, partition + 1) + within).alias("id"))

    def _extend(self, new: pa.Table) -> None:
        """Take new symbols into the dictionary, which has to give them the same ids."""
        import numpy as np

        ids = np.concatenate([self._dictionary.extend(chunk) for chunk in new.column("symbol").chunks])
        if not np.array_equal(ids, new.column("id").to_numpy()):
            raise InternalError(Problem("E0901", "Spark and the engine number symbols differently"))
