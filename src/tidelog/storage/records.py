"""The record types of a database, and the records of one type with their ids."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy
from numpy.typing import NDArray

from tidelog.language.syntax import PRIMITIVES, Column, Kind, RecordType

if TYPE_CHECKING:
    import pyarrow as pa

_AT_ONCE = 65_536  # keys that are held as Python tuples at a time
_FIRST = 16  # rows of a new table
Key = tuple[int, ...]


class RecordTypes(Mapping[Kind, RecordType]):
    """The record types by their names, to which others can be added."""

    def __init__(self) -> None:
        self._types: dict[Kind, RecordType] = {}
        self._arrow_types: dict[Kind, pa.DataType] = {}
        self._text: dict[Kind, bool] = {}

    def __getitem__(self, kind: Kind) -> RecordType:
        return self._types[kind]

    def __iter__(self) -> Iterator[Kind]:
        return iter(tuple(self._types))  # Another thread may add some.

    def __len__(self) -> int:
        return len(self._types)

    def add(self, records: Mapping[str, RecordType]) -> None:
        """Make further record types known, or others under names that are known."""
        self._arrow_types.clear()
        self._text.clear()
        self._types.update(records)

    def types_of_columns(self, columns: Sequence[Column]) -> dict[Kind, RecordType]:
        """Return the record types that values of these columns contain."""
        kinds = {column.kind for column in columns if column.kind in self._types}
        return {kind: self._types[kind] for kind in self._types if kind in kinds.union(*map(self._reach, kinds))}

    def arrow_type(self, kind: Kind) -> pa.DataType:
        """Return the Arrow type of a decoded column, see `is_text`."""
        import pyarrow as pa

        if not self._arrow_types:
            primitive = (pa.int64(), pa.uint64(), pa.float64(), pa.string())
            self._arrow_types = dict(zip(PRIMITIVES, primitive, strict=True))
        if kind not in self._arrow_types:
            self._arrow_types[kind] = (
                pa.string()
                if self.is_text(kind)
                else pa.struct([(field.name, self.arrow_type(field.kind)) for field in self._types[kind].fields])
            )
        return self._arrow_types[kind]

    def arrow_schema(self, columns: Sequence[Column]) -> pa.Schema:
        """Return the columns of a table of values."""
        import pyarrow as pa

        return pa.schema([(column.name, self.arrow_type(column.kind)) for column in columns])

    def is_text(self, kind: Kind) -> bool:
        """Return True if values are text in tables: those of types with branches, records without fields, for which
        Parquet has no type, records of a type that contains itself, and records that can contain any of these."""
        if kind not in self._text:
            kinds = {kind, *self._reach(kind)}
            self._text[kind] = any(
                self._types[name].branches or not self._types[name].fields or name in self._reach(name)
                for name in kinds
            )
        return self._text[kind]

    def _reach(self, kind: Kind) -> set[Kind]:
        reached: set[Kind] = set()
        waiting = [kind]
        while waiting:
            for field in self._types[waiting.pop()].fields:
                if field.kind in self._types and field.kind not in reached:
                    reached.add(field.kind)
                    waiting.append(field.kind)
        return reached


class RecordTable:
    """The records of one type: `rows[id]` has the words of the fields, `rows[0]` is nil.

    The first `count` rows are valid, except those with reclaimed ids. The ids by fields follow them, as in
    `SymbolList`, so that an interruption does no harm.
    """

    def __init__(self, arity: int) -> None:
        self.arity = arity
        self.count = 1
        self.made = 0
        """How many records were new when they came."""
        self.rows: NDArray[numpy.int64] = numpy.zeros((_FIRST, arity), dtype=numpy.int64)
        self._ids: dict[Key, int] = {}
        self._known = 1  # The ids of the rows below this place are known.
        self._free: NDArray[numpy.int64] = numpy.empty(0, numpy.int64)
        self._left = 0  # So many of `_free` are still to be used; it may name ids that are in use, which are skipped.

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self._ids)

    def find_or_add(self, key: Key, grow: bool) -> int | None:
        """Return the id of one record. If it is new, return a new id with `grow`, otherwise None."""
        found = self._ids.get(key)
        return self._add([key])[0] if found is None and grow else found

    def row(self, word: int) -> list[int]:
        """Return the fields of one record."""
        return self.rows[word].tolist()  # type: ignore[no-any-return]

    def pack(self, keys: Iterable[Key]) -> NDArray[numpy.int64]:
        """Return the ids of records given by their fields; new ones get reclaimed ids, and then the next ones."""
        keys, parts = iter(keys), []
        while True:
            some = list(islice(keys, _AT_ONCE))
            found = list(map(self._ids.get, some))
            parts.append(numpy.array(self._add(some) if None in found else found, dtype=numpy.int64))
            if len(some) < _AT_ONCE:
                return parts[0] if len(parts) == 1 else numpy.concatenate(parts)

    def _add(self, keys: list[Key]) -> list[int]:
        """Return the ids of records, and add new ones."""
        ids = self._ids
        self._catch_up()
        new = [key for key in dict.fromkeys(keys) if key not in ids]
        if new:
            self.made += len(new)
            if self._left:
                new = self._reuse(new)
            end = self.count + len(new)
            self._reserve(end)
            if self.arity:
                self.rows[self.count : end] = numpy.array(new, numpy.int64).reshape(len(new), self.arity)
            start, self.count = self.count, end
            ids.update(zip(new, range(start, end), strict=True))
            self._known = end
        return list(map(ids.__getitem__, keys))

    def _reuse(self, new: list[Key]) -> list[Key]:
        """Give reclaimed ids to the first of these records; return the others."""
        start = max(0, self._left - len(new))
        free = [word for word in self._free[start : self._left].tolist() if self._is_free(word)][::-1]
        if free:
            self.rows[free] = new[: len(free)]
        self._ids.update(zip(new, free, strict=False))
        self._left = start
        return new[len(free) :]

    def stop_reusing(self) -> None:
        """Let new records have the ids after all others, until ids are given back again."""
        self._left = 0

    def follow(self, start: int, rows: NDArray[numpy.int64], present: NDArray[numpy.bool_]) -> bool:
        """Add the records that another table has from the id `start` on, where they are `present`. Return True if that
        is possible. An interruption is harmless where all are present."""
        self._catch_up()
        both = max(0, min(self.count - start, len(rows)))
        known = numpy.zeros(both, numpy.bool_)
        known[self.present(start, start + both) - start] = True
        same = numpy.array_equal(known, present[:both])
        if start > self.count or not same or (self.rows[start : start + both][known] != rows[:both][known]).any():
            return False
        new = [(key, start + i) for i, key in enumerate(map(tuple, rows.tolist())) if i >= both and present[i]]
        if not self._ids.keys().isdisjoint(key for key, _ in new):
            return False
        end = self.count + len(rows) - both
        self._reserve(end)
        self.rows[self.count : end] = rows[both:]
        self.made += len(new)
        self.count = end
        self._ids.update(new)
        self._known = end
        return True

    def present(self, start: int, stop: int) -> NDArray[numpy.int64]:
        """Return the ids from `start` to `stop` that belong to records."""
        self._catch_up()
        return numpy.array([word for word in range(start, stop) if not self._is_free(word)], numpy.int64)

    def _is_free(self, word: int) -> bool:
        """Return True if no record has this id, even if its row has old values."""
        return self._ids.get(tuple(self.row(word))) != word

    def _catch_up(self) -> None:
        """Let the ids by fields know rows that an interruption has kept from them."""
        start, end = self._known, self.count
        if start < end:
            self._ids.update(zip(map(tuple, self.rows[start:end].tolist()), range(start, end), strict=True))
            self._known = end

    def _reserve(self, count: int) -> None:
        if count > len(self.rows):
            rows = numpy.zeros((max(count, 2 * len(self.rows)), self.arity), dtype=numpy.int64)
            rows[: self.count] = self.rows[: self.count]
            self.rows = rows

    def give_back(self, used: NDArray[numpy.bool_]) -> None:
        """Forget the records whose ids are not used, which others get from now on. That of nil, 0, is never free."""
        self._catch_up()
        ids = self._ids
        free = numpy.flatnonzero(~used[1:]) + 1
        before = len(ids)
        for word, key in zip(free.tolist(), map(tuple, self.rows[free].tolist()), strict=True):
            if ids.get(key) == word:
                del ids[key]
        end = self.count - int(numpy.argmax(used[::-1])) if used[1:].any() else 1
        self._left = 0
        self._known = min(self._known, end)
        self.count = end
        if len(self.rows) > 4 * end + _FIRST:
            self.rows = self.rows[: end + _FIRST].copy()
        free = free[free < end][::-1].copy()
        self._free = free
        self._left = len(free)
        if len(ids) < before // 2:
            self._ids = dict(ids)  # A dictionary shrinks only when it is copied.

    def bytes(self) -> int:
        """Estimate the memory that the records take."""
        key_bytes = sys.getsizeof((0,) * self.arity) + 32 * self.arity
        return int(self.rows.nbytes) + sys.getsizeof(self._ids) + key_bytes * len(self._ids) + self._free.nbytes
