"""Whatever is passed to a public method of a SparkDatabase ends well or in an error of tidelog with a hint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

import tidelog
from tests.database.test_wrong_arguments import ROWS, VALUES, no_raw_exception

OTHERS = [each for each in VALUES if not isinstance(each, str)]
"""Values that are no text, for what takes paths and names of tables."""

CALLS: dict[str, tuple[list[Any], Callable[[Any, Any], object]]] = {
    "connect(spark=…)": ([each for each in VALUES if each is not None], lambda _, value: tidelog.connect(spark=value)),
    "connect(state=…)": (
        [each for each in OTHERS if each is not None],
        lambda db, value: tidelog.connect(spark=db.session, state=value),
    ),
    "load": (VALUES, lambda db, value: db.load(value)),
    "rules.add": (VALUES, lambda db, value: db.rules.add(value)),
    "rules.remove": (VALUES, lambda db, value: db.rules.remove(value)),
    "db[…]": (VALUES, lambda db, value: db[value]),
    "change[…]": (VALUES, lambda db, value: db.commit()[value]),
    "change.count": (VALUES, lambda db, value: db.commit().count(value)),
    "… in change": (VALUES, lambda db, value: value in db.commit()),
    "query": (VALUES, lambda db, value: db.query(value)),
    "save_certificate": (OTHERS, lambda db, value: db.save_certificate(value)),
    "subscribe(…, print)": (VALUES, lambda db, value: db.subscribe(value, print)),
    "subscribe('e', …)": (VALUES, lambda db, value: db.subscribe("e", value)),
    "maintain(…, 'e')": (VALUES, lambda db, value: db.maintain(value, "e")),
    "maintain(stream, …)": (VALUES, lambda db, value: db.maintain(db.session.range(1), value)),
    **{
        f"{verb}(…)": (VALUES, lambda db, value, verb=verb: getattr(db, verb)(value, [(1, 2)]))  # type: ignore[misc]
        for verb in ("insert", "delete")
    },
    "insert(…, frame)": (VALUES, lambda db, value: db.insert(value, db.session.range(1))),
    "insert('e', …)": (ROWS, lambda db, value: db.insert("e", value)),
    "delete('e', …)": (ROWS, lambda db, value: db.delete("e", value)),
    **{
        f"options({name}=…)": (VALUES, lambda db, value, name=name: db.options(**{name: value}))  # type: ignore[misc]
        for name in ("timeout", "strategy", "engine", "embedded_limit", "cluster_folder", "partitions", "nope")
    },
}


@pytest.fixture(scope="module")
def db(spark: SparkSession) -> Iterator[Any]:
    with tidelog.connect(spark=spark) as db:
        db.load('.decl e(x: number, y: number) .decl s(x: symbol) r1: s("a") :- e(1, _).')
        db.insert("e", [(1, 2)])
        db.commit()
        yield db


@pytest.mark.smoke
@pytest.mark.parametrize("call", CALLS)
def test_no_raw_exception(call: str, db: Any) -> None:
    def undo() -> None:
        db.rollback()
        db.options(
            timeout=None, strategy="auto", engine="auto", embedded_limit=10**6, cluster_folder=None, partitions=None
        )

    no_raw_exception(call, *CALLS[call], db, undo)
