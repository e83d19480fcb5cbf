"""Types of columns as JSON, for readers of rows that do not have the program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tidelog.language.syntax import BranchType, Column, Kind, RecordType

METADATA = b"tidelog.types"
"""The key of the types of an Arrow table in the metadata of its schema."""


@dataclass(frozen=True)
class ColumnTypes:
    """The columns of relations, by name, and the record types that their values contain."""

    columns: Mapping[str, tuple[Column, ...]] = field(default_factory=dict)
    records: Mapping[Kind, RecordType] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the types as JSON has them."""
        columns = {name: columns_as_json(each) for name, each in self.columns.items()}
        return {"columns": columns, "records": records_as_json(self.records.values())}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> ColumnTypes:
        """Return the types that `to_dict` has made a document of."""
        columns = {name: _columns(each) for name, each in document["columns"].items()}
        return cls(columns, {each["name"]: _record(each) for each in document["records"]})


def columns_as_json(columns: Iterable[Column]) -> list[dict[str, str]]:
    """Return columns as JSON has them."""
    return [asdict(column) for column in columns]


def records_as_json(records: Iterable[RecordType]) -> list[dict[str, Any]]:
    """Return record types as JSON has them."""
    found = [asdict(replace(record, span=None)) for record in records]
    return [{key: each[key] for key in ("name", "fields", "branches")} for each in found]


def _columns(found: Sequence[Mapping[str, Any]]) -> tuple[Column, ...]:
    return tuple(Column(**each) for each in found)


def _record(found: Mapping[str, Any]) -> RecordType:
    branches = (BranchType(each["name"], _columns(each["fields"]), tuple(each["places"])) for each in found["branches"])
    return RecordType(found["name"], _columns(found["fields"]), tuple(branches))
