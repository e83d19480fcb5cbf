"""Rows that a server has sent: relations and answers as of one epoch, and changes."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidelog.errors import Problem, UsageError, wrong_argument

if TYPE_CHECKING:
    import httpx
    import pandas
    import pyarrow as pa

ARROW = "application/vnd.apache.arrow.stream"


class RemoteRelation(Set[tuple[Any, ...]]):
    """The tuples of a relation or of an answer as of an epoch: a set, also as a table. Records are tuples, nil is None,
    and values with branches are text."""

    def __init__(self, name: str, epoch: int, table: pa.Table) -> None:
        self.name = name
        self.epoch = epoch
        """The number of the epoch that the rows are of."""
        self._table = table
        self._rows: frozenset[tuple[Any, ...]] | None = None

    @classmethod
    def of(cls, name: str, answer: httpx.Response) -> RemoteRelation:
        """Return the rows of an answer in Arrow."""
        import pyarrow as pa

        table = pa.ipc.open_stream(io.BytesIO(answer.content)).read_all()
        return cls(name, int(answer.headers["tidelog-epoch"]), table)

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return tuple(self._table.column_names)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._set)

    def __contains__(self, row: object) -> bool:
        try:
            return (tuple(row) if isinstance(row, list) else row) in self._set
        except TypeError:  # of what has no hash
            return False

    @property
    def _set(self) -> frozenset[tuple[Any, ...]]:
        if self._rows is None:
            columns = [[plain(value) for value in column.to_pylist()] for column in self._table.columns]
            self._rows = frozenset(zip(*columns, strict=True) if columns else [()] * len(self))
        return self._rows

    @classmethod
    def _from_iterable(cls, rows: Iterable[tuple[Any, ...]]) -> frozenset[tuple[Any, ...]]:  # type: ignore[override]
        return frozenset(rows)

    def to_arrow(self) -> pa.Table:
        """Return a pyarrow Table."""
        return self._table

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas DataFrame. Raise ImportError if pandas is not installed."""
        frame: pandas.DataFrame = self._table.to_pandas()
        return frame

    def __repr__(self) -> str:
        return f"<RemoteRelation {self.name}: {len(self):,} tuples of epoch {self.epoch}>"


@dataclass(frozen=True)
class RemoteRelationChange:
    """The net change of a relation. Of many rows the server sends only the `sizes`: the numbers of inserted and of
    deleted tuples."""

    name: str
    sizes: tuple[int, int]
    rows: tuple[frozenset[tuple[Any, ...]], frozenset[tuple[Any, ...]]] | None

    @classmethod
    def of(cls, name: str, document: Mapping[str, Any]) -> RemoteRelationChange:
        """Return the change that a part of an answer in JSON has."""
        inserted, deleted = document["inserted"], document["deleted"]
        if isinstance(inserted, int):
            return cls(name, (inserted, deleted), None)
        rows = frozenset(map(plain, inserted)), frozenset(map(plain, deleted))
        return cls(name, (len(inserted), len(deleted)), rows)

    @property
    def inserted(self) -> frozenset[tuple[Any, ...]]:
        """Return the inserted tuples. Raise UsageError (E0688) where the server has sent only their number."""
        return self._all[0]

    @property
    def deleted(self) -> frozenset[tuple[Any, ...]]:
        """Return the deleted tuples. Raise UsageError (E0688) where the server has sent only their number."""
        return self._all[1]

    @property
    def _all(self) -> tuple[frozenset[tuple[Any, ...]], frozenset[tuple[Any, ...]]]:
        if self.rows is None:
            message = f"the server has sent only how many tuples of {self.name} came and went: {sum(self.sizes):,}"
            raise UsageError(Problem("E0688", message, hint="look at `sizes`, and read the relation again"))
        return self.rows


class RemoteChange(Mapping[str, RemoteRelationChange]):
    """The changes of an epoch by relation; a relation that has not changed is empty. `report` is that of the engine, as
    JSON has it; `repeated` says that the epoch happened before, `rules` that it changed rules or declarations."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.epoch: int = document["epoch"]
        self.report: Mapping[str, Any] = document.get("report", {})
        self.rules: bool = document.get("rules", False)
        self.repeated: bool = document.get("repeated", False)
        self._parts = {name: RemoteRelationChange.of(name, part) for name, part in document.get("changes", {}).items()}

    def __getitem__(self, name: str) -> RemoteRelationChange:
        given: object = name
        if not isinstance(given, str):
            raise wrong_argument("a relation", "its name", name)
        return self._parts.get(name) or RemoteRelationChange(name, (0, 0), (frozenset(), frozenset()))

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __repr__(self) -> str:
        parts = ", ".join(f"{name} +{each.sizes[0]} -{each.sizes[1]}" for name, each in self._parts.items())
        return f"<RemoteChange of epoch {self.epoch}: {parts or 'nothing'}>"


def plain(value: Any) -> Any:
    """Return a value of JSON or of Arrow as Python has it in tuples."""
    if isinstance(value, dict):
        return tuple(map(plain, value.values()))
    return tuple(map(plain, value)) if isinstance(value, list) else value
