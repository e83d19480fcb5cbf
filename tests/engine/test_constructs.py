"""Each construct on each engine in this process, as the table in the reference says."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any

import pytest

import tidelog
from tests import functions
from tests.constructs import COLUMNS, CONSTRUCTS, Construct, cells, run
from tests.spark.cluster.harness import Cluster


class InMemory:
    db: Any

    def __init__(self, text: str) -> None:
        self.db = self.opened()
        self.db.load(text)

    def opened(self) -> Any:
        return tidelog.connect(functors=functions)

    def insert(self, relation: str, rows: Sequence[Any]) -> None:
        self.db.insert(relation, rows)

    def delete(self, relation: str, rows: Sequence[Any]) -> None:
        self.db.delete(relation, rows)

    def add(self, rule: str) -> None:
        self.db.rules.add(rule)

    def settle(self) -> None:
        self.db.commit()

    def view(self, relation: str) -> set[Any]:
        return set(self.db[relation])

    def close(self) -> None:
        self.db.close()


class Store(InMemory):
    """A store that is closed and opened after each step."""

    def __init__(self, text: str) -> None:
        self.folder = tempfile.mkdtemp(prefix="tidelog-test-")
        super().__init__(text)

    def opened(self) -> Any:
        return tidelog.connect(self.folder, functors=functions)

    def settle(self) -> None:
        self.db.commit()
        self.db.close()
        self.db = self.opened()


class Partitions(InMemory):
    """Partitions in this process."""

    def opened(self) -> Any:
        return Cluster(2, functors=functions)

    def close(self) -> None:
        self.db.engine.close()


class Network(InMemory):
    """Nodes that lose and repeat packets, and start again."""

    def __init__(self, text: str) -> None:
        options: Any = {"loss": 0.1, "duplicates": 0.1, "restarts": True}
        self.db = tidelog.network.Simulation(text, 5, functors=functions, **options)

    def add(self, rule: str) -> None:
        self.db.rules.add(rule)

    def settle(self) -> None:
        self.db.run()

    def close(self) -> None:
        pass


ENGINES = {"in memory": InMemory, "store": Store, "Spark, cluster": Partitions, "nodes": Network}


@pytest.mark.parametrize("construct", CONSTRUCTS, ids=lambda construct: construct.name)
@pytest.mark.parametrize("column", ENGINES)
def test_a_construct_on_an_engine(column: str, construct: Construct) -> None:
    assert run(construct, ENGINES[column]) == cells(column)[construct.name]


def test_the_table_has_a_row_for_each_construct() -> None:
    for column in COLUMNS:
        assert list(cells(column)) == [construct.name for construct in CONSTRUCTS]
