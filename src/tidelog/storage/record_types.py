"""The record types of a database: their fields, which are made of which, and their types in Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tidelog.language.syntax import PRIMITIVES, Column, Kind, RecordType

if TYPE_CHECKING:
    import pyarrow as pa


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

    def reached(self, columns: Sequence[Column]) -> dict[Kind, RecordType]:
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
