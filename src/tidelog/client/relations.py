"""Rows that a server has sent: relations and answers as of one epoch, and changes."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

from numpy.typing import NDArray

from tidelog.errors import Problem, UsageError
from tidelog.io import encode
from tidelog.io.column_types import METADATA, ColumnTypes
from tidelog.io.columns import encode_table
from tidelog.io.json_values import value_of_json
from tidelog.io.relation import Relation, RowSource, WordRows
from tidelog.io.rows import place_in
from tidelog.language.syntax import Column, Kind, RecordType, RelationType
from tidelog.maintain.protocol import NodeReport, Report
from tidelog.storage.dictionary import Dictionary
from tidelog.workspace.change import Change, RelationChange

if TYPE_CHECKING:
    import httpx

ARROW = "application/vnd.apache.arrow.stream"


class RemoteRelation(Relation):
    """The tuples of a relation or of an answer as of an `epoch`, which stay as they are."""

    def __init__(self, name: str, source: RowSource, epoch: int) -> None:
        super().__init__(name, source)
        self.epoch = epoch
        """The number of the epoch that the rows are of."""

    @classmethod
    def of(cls, name: str, answer: httpx.Response) -> RemoteRelation:
        """Return the rows of an answer in Arrow."""
        import pyarrow as pa

        table = pa.ipc.open_stream(io.BytesIO(answer.content)).read_all()
        types = ColumnTypes.of(json.loads(table.schema.metadata[METADATA]))
        (columns,) = types.columns.values()
        dictionary = Dictionary(types.records)
        words = encode_table(table, RelationType(name, columns), dictionary, place_in(name), order=range(len(columns)))
        return cls(name, WordRows(columns, dictionary, words), int(answer.headers["tidelog-epoch"]))


class CountedRows:
    """Rows of which a server has sent only the number. What asks for the rows raises UsageError (E0688)."""

    def __init__(self, name: str, columns: tuple[Column, ...], dictionary: Dictionary, count: int) -> None:
        self.columns = columns
        self.dictionary = dictionary
        self._name = name
        self._count = count

    def __len__(self) -> int:
        return self._count

    def words(self, count: int | None = None) -> NDArray[Any]:
        self._refuse()

    def batches(self) -> Iterator[NDArray[Any]]:
        self._refuse()

    def has(self, words: tuple[int, ...]) -> bool:
        self._refuse()

    def _refuse(self) -> NoReturn:
        message = f"the server has sent only how many tuples of {self._name} have changed: {self._count:,}"
        raise UsageError(Problem("E0688", message, hint="look at their number, `len`, and read the relation again"))


@dataclass(frozen=True)
class RemoteRelationChange(RelationChange):
    """The exact net change of a relation in an epoch of a server, which may have sent only the numbers of tuples."""

    has_rows: bool = True
    """False if `inserted` and `deleted` have no more than a length."""


class RemoteChange(Change):
    """The change of an `epoch` of a server. `repeated` says that the epoch happened before, `rules` that it changed
    rules or declarations."""

    def __init__(self, document: Mapping[str, Any], types: ColumnTypes) -> None:
        self.epoch: int = document["epoch"]
        self.rules: bool = document.get("rules", False)
        self.repeated: bool = document.get("repeated", False)
        self.report = _report(document.get("report", {}))
        self.errors = ()
        changes: Mapping[str, Any] = document.get("changes", {})
        self._relations = {name: RelationType(name, columns) for name, columns in types.columns.items()}
        self._order = {name: number for number, name in enumerate(types.columns)}
        self._changed = changes.keys()
        self._part = cache(lambda name: _part(self._relations[name], changes.get(name, _NOTHING), types.records))


_NOTHING: Mapping[str, Any] = {"inserted": [], "deleted": []}


def _part(relation: RelationType, found: Mapping[str, Any], records: Mapping[Kind, RecordType]) -> RemoteRelationChange:
    """Return the change of a relation from a part of an answer in JSON."""
    dictionary, name, columns = Dictionary(records), relation.name, relation.columns
    both: list[RowSource] = []
    for rows in (found["inserted"], found["deleted"]):
        if isinstance(rows, int):
            both.append(CountedRows(name, columns, dictionary, rows))
            continue
        values = [
            [value_of_json(item, column.kind, records) for item, column in zip(row, columns, strict=True)]
            for row in rows
        ]
        both.append(WordRows(columns, dictionary, encode(values, relation, dictionary)))
    inserted, deleted = (Relation(name, source) for source in both)
    return RemoteRelationChange(inserted, deleted, not any(isinstance(each, CountedRows) for each in both))


def _report(found: Mapping[str, Any]) -> Report:
    """Return the report of an epoch from its form in JSON; an empty one of what only says that an epoch happened."""
    nodes = (
        NodeReport(tuple(each["relations"]), tuple(each["rules"]), *(each[key] for key in _OF_NODES))
        for each in found.get("nodes", ())
    )
    return Report(found.get("seconds", 0.0), tuple(nodes), duplicates=found.get("duplicates", {}))


_OF_NODES = ("strategy", "reason", "seconds", "impact")
