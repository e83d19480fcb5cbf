"""The dictionary of symbols in Spark, for facts that are not to come to the driver.

`SymbolTable` replaces symbols in frames by their ids, and ids by symbols. The driver numbers new symbols of a frame if
they are few. Many are numbered by the tasks that write their texts to blocks (`cluster.exchange.texts`): an id is the
place of a text in the blocks, so that the driver needs the number of texts in each. Tasks read the blocks in which the
symbols of a frame may be. Symbols that the driver has at hand are few: they go to every task, and to blocks when they
have become many.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, chain, pairwise
from typing import IO, Any

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tidelog.spark.cluster.exchange.folder import Folder
from tidelog.spark.cluster.exchange.texts import (
    BLOCK,
    PREFIX,
    BlockPlace,
    SymbolBlock,
    hash_range,
    move_texts,
    write_block,
)
from tidelog.spark.failures import ignore_stopped_session
from tidelog.spark.jobs import step
from tidelog.spark.rows import larger_batches, to_spark
from tidelog.spark.sessions import map_in_workers, results_of, to_arrow
from tidelog.spark.sources.facts import FactFrame
from tidelog.spark.sources.readers import empty_frame
from tidelog.storage.arrow_arrays import numbers_to_numpy
from tidelog.storage.dictionary import Dictionary, at_hand, blocks_of, move_to_blocks
from tidelog.storage.distant_symbols import BlockReader, TextBlock

FEW_SYMBOLS = 200_000
"""So many symbols, and those that came since, are at hand on the driver: more go to blocks."""
FEW_BLOCKS = 32
"""So many blocks the driver reads itself, in place of some ten Spark jobs."""
_AT_ONCE = 100_000
"""Rows that a task looks up at once, or a few more."""


@dataclass(frozen=True)
class _Part:
    """A frame of the `count` symbols with ids from `start` to `stop` that are at hand."""

    frame: DataFrame
    start: int
    stop: int
    count: int


class SymbolTable:
    """The engine's dictionary of symbols in Spark. Those at hand are in few frames however many commits have brought
    new ones: a part goes together with the one before it unless that is twice as large, so that no symbol moves often.

    The dictionary is what counts, and the parts follow it; after an interruption anywhere the next `follow` goes on."""

    def __init__(self, session: SparkSession, dictionary: Dictionary) -> None:
        self._session = session
        self._dictionary = dictionary
        self.place: BlockPlace | None = None
        """Where blocks go. Without it, all symbols stay at hand."""
        self._parts: list[_Part] = []
        self._blocks: Sequence[TextBlock] = ()
        self._stamp = dictionary.stamp
        self._kept: list[DataFrame] = []
        """Frames that are kept in Spark, or about to be: of the epoch that is under way."""

    def __len__(self) -> int:
        """Return the number of symbols at hand that have been followed."""
        return sum(part.count for part in self._parts)

    @property
    def frame(self) -> DataFrame:
        """All symbols at hand with their ids."""
        if not self._parts:
            return empty_frame(self._session, "symbol string", "id long")
        return reduce(DataFrame.unionAll, [part.frame for part in self._parts])

    def can_look_up(self, symbols: int) -> bool:
        """Return True if the driver can look up so many symbols soon: each of them may be in another block."""
        return min(symbols, len(blocks_of(self._dictionary))) <= FEW_BLOCKS

    @step("new symbols")
    def grow(self, facts: FactFrame) -> None:
        """Give an id to every symbol of the facts."""
        self._dictionary.stop_reusing()  # Blocks begin at the end of the dictionary.
        self.follow()
        names = [leaf.name for leaf in facts.leaves if leaf.kind == "symbol"]
        if not names:
            return
        new = self._symbols_not_at_hand(facts.frame, names)
        if self._blocks:
            new = self._look_up(new, "symbol", "symbol").where("_found is null").select("symbol")
        try:
            count = self._keep(new).count()
            if self.place is not None and count > FEW_SYMBOLS:
                move_to_blocks(self._dictionary, self._write_blocks(new, count, self.place))
            elif count:
                for chunk in to_arrow(new).column("symbol").chunks:
                    self._dictionary.extend(chunk, distinct=True)
        finally:
            self._release(new)
        self.follow()

    def encode(self, facts: DataFrame, symbol_columns: Sequence[str]) -> DataFrame:
        """Return `facts` with symbols replaced by their ids."""
        encoded = self._replace(facts, symbol_columns, "symbol", "id")
        # Several jobs of an epoch read it, and each would look all symbols up.
        return self._keep(encoded) if self._blocks and symbol_columns else encoded

    def decode(self, rows: DataFrame, symbol_columns: Sequence[str]) -> DataFrame:
        """Return `rows` with ids replaced by their symbols."""
        self.follow()
        return self._replace(rows, symbol_columns, "id", "symbol")

    def _replace(self, rows: DataFrame, names: Sequence[str], given: str, wanted: str) -> DataFrame:
        columns = rows.columns
        pairs = self._joinable().select(F.col(given).alias("_given"), F.col(wanted).alias("_wanted"))
        for name in names:
            value = F.col("_wanted")
            if self._blocks:
                found = self._look_up(rows, name, given)
                joined = found.join(pairs, found[name] == pairs["_given"], "left")
                value = F.coalesce("_found", "_wanted")
                joined = joined.where(value.isNotNull())
            else:
                joined = rows.join(pairs, rows[name] == pairs["_given"])
            rows = joined.select(*[value.alias(name) if c == name else F.col(c) for c in columns])
        return rows

    # --- frames that Spark keeps -------------------------------------------------------------------------------------

    def _keep(self, frame: DataFrame) -> DataFrame:
        self._kept.append(frame)  # before it is kept, so that an interruption leaves nothing in Spark
        return frame.persist(StorageLevel.MEMORY_AND_DISK)

    def _release(self, frame: DataFrame) -> None:
        with ignore_stopped_session():
            frame.unpersist()
        self._kept = [each for each in self._kept if each is not frame]

    def settle(self) -> None:
        """Let go of frames that are kept in Spark: an epoch is over."""
        while self._kept:
            self._release(self._kept[-1])

    def close(self) -> None:
        """Forget the symbols."""
        self.settle()
        self._parts.clear()

    # --- symbols at hand ---------------------------------------------------------------------------------------------

    def follow(self) -> None:
        """Add the symbols that the dictionary got by other ways: constants, functors, direct inserts. Move symbols to
        blocks if too many are at hand."""
        stamp, blocks = self._dictionary.stamp, blocks_of(self._dictionary)
        if stamp != self._stamp or blocks is not self._blocks:  # Other words have a meaning, or are at hand.
            self._parts.clear()
            self._stamp, self._blocks = stamp, blocks
        start, stop = self._parts[-1].stop if self._parts else 0, len(self._dictionary)
        new = len(at_hand(self._dictionary, start, stop))
        if self.place is not None and len(self) + new > FEW_SYMBOLS:
            move_texts(self._dictionary, self.place, BLOCK)
            self._parts.clear()
            self._blocks = blocks_of(self._dictionary)
        elif new:
            first = len(self._parts)
            while first and self._parts[first - 1].count < 2 * (new + sum(each.count for each in self._parts[first:])):
                first -= 1
            start = self._parts[first].start if first < len(self._parts) else start
            self._parts[first:] = [self._part(start, stop)]

    def bound_symbols_at_hand(self) -> None:
        """Move symbols to blocks if too many are at hand, also where nobody asks for a frame of them."""
        start = self._parts[-1].stop if self._parts else 0
        new = at_hand(self._dictionary, start, len(self._dictionary))
        if self.place is not None and len(self) + len(new) > FEW_SYMBOLS:
            self.follow()

    def _part(self, start: int, stop: int) -> _Part:
        ids = at_hand(self._dictionary, start, stop)
        table = pa.table({"symbol": self._dictionary.decode_column(ids, "symbol"), "id": ids})
        return _Part(to_spark(self._session, table), start, stop, len(ids))

    def _joinable(self) -> DataFrame:
        return F.broadcast(self.frame) if len(self) <= FEW_SYMBOLS else self.frame

    # --- symbols in blocks -------------------------------------------------------------------------------------------

    def _symbols_not_at_hand(self, rows: DataFrame, names: Sequence[str]) -> DataFrame:
        """Return the different symbols in some columns that are not at hand."""
        different = rows.select(F.explode(F.array(*names)).alias("symbol")).distinct()
        return different.join(self._joinable(), "symbol", "left_anti") if self._parts else different

    def _look_up(self, rows: DataFrame, name: str, given: str) -> DataFrame:
        """Return rows with another column `_found`: the ids of the symbols in a column, or the symbols of ids; null for
        those that are in no block. Rows that need the same block come to a task one after the other."""
        is_text = given == "symbol"
        order, found = F.crc32(rows[name]) if is_text else rows[name], T.LongType() if is_text else T.StringType()
        near = F.shiftright("_order", 20 if is_text else 14)
        placed = rows.withColumn("_order", order).repartition(near).sortWithinPartitions("_order").drop("_order")
        function = _lookup_function(BlockReader(self._blocks), rows.columns.index(name), given)
        return map_in_workers(placed, function, T.StructType([*placed.schema.fields, T.StructField("_found", found)]))

    def _write_blocks(self, new: DataFrame, count: int, place: BlockPlace) -> list[SymbolBlock]:
        """Have tasks write new symbols to blocks, and number them."""
        number = -(-count // BLOCK)
        placed = new.select("symbol", F.shiftright(F.crc32("symbol") * F.lit(number), 32).alias("number"))
        sorted_ = placed.repartition("number").sortWithinPartitions("number")
        rows = sorted(results_of(sorted_, _write_function(place.folder.address)))  # Spark would write twice.
        starts = accumulate((size for *_, size in rows), initial=len(self._dictionary))
        return [
            SymbolBlock(place.folder.address, file, offset, length, start, size, *hash_range(each, number))
            for (each, file, offset, length, size), start in zip(rows, starts, strict=False)
        ]


def _lookup_function(reader: BlockReader, place: int, given: str) -> Callable[[Any], Iterator[pa.RecordBatch]]:
    """Return the function by which tasks look up the symbols or ids in a column of rows."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in larger_batches(batches, _AT_ONCE):
            if given == "symbol":
                texts = batch.column(place).dictionary_encode()
                words = reader.words(texts.dictionary.cast(pa.large_string()))
                ids = words[numbers_to_numpy(texts.indices)]
                found = pa.array(ids, mask=ids < 0)
            else:
                ids = numbers_to_numpy(batch.column(place))
                there = reader.cover(ids) >= 0
                rows = pa.array(np.cumsum(there) - 1, mask=~there)
                found = reader.texts(ids[there]).cast(pa.string()).take(rows)
            yield pa.RecordBatch.from_arrays([*batch.columns, found], [*batch.schema.names, "_found"])

    return run


def _write_function(folder: str) -> Callable[[Any], Iterator[tuple[int, str, int, int, int]]]:
    """Return the function by which tasks write blocks, whose symbols come one after the other. It yields the number of
    each block, its file, its place there, its bytes and its rows."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, str, int, int, int]]:
        blocks = _by_number(batches)
        first = next(blocks, None)
        if first is None:
            return
        name, found = f"{PREFIX}{secrets.token_hex(12)}", list[tuple[int, str, int, int, int]]()

        def write(file: IO[bytes]) -> None:
            offset = 0
            for number, texts in chain([first], blocks):
                length = write_block(file, texts)
                found.append((number, name, offset, length, len(texts)))
                offset += length

        Folder(folder).write_by(name, write)
        yield from found

    return run


def _by_number(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, pa.Array]]:
    """Yield the texts of each number; rows have a text and a number, and are sorted by this."""
    now, waiting = -1, list[pa.Array]()
    for batch in batches:
        numbers = numbers_to_numpy(batch.column(1))
        bounds = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
        for start, stop in pairwise(bounds):
            if start < stop and numbers[start] != now:
                if waiting:
                    yield now, pa.concat_arrays(waiting)
                now, waiting = int(numbers[start]), []
            waiting.append(batch.column(0).slice(start, stop - start))
    if waiting:
        yield now, pa.concat_arrays(waiting)
