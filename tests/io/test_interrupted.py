"""Ctrl-C inside of pandas, Arrow and DuckDB: KeyboardInterrupt ends the call, whatever they make of it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import pandas
import polars
import pyarrow as pa
import pytest

import tidelog
from tests.pressing import LIBRARIES, pressed_inside

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
ROWS = {(1, "a"), (2, "b")}


@pytest.fixture
def db() -> Iterator[tidelog.Database]:
    with tidelog.connect() as db:
        db.load(".decl e(x: number, y: symbol)")
        db.insert("e", list(ROWS))
        db.commit()
        yield db
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("library", LIBRARIES)
def test_ctrl_c_while_a_frame_is_read(library: str, db: tidelog.Database) -> None:
    frame = pandas.DataFrame({"x": [3], "y": ["c"]})
    for call in (db.insert, db.delete):
        with pytest.raises(KeyboardInterrupt), pressed_inside(pa, "array", library):
            call("e", frame)
        assert not db.has_pending
    db.insert("e", frame)
    db.commit()
    assert set(db["e"]) == ROWS | {(3, "c")}


@pytest.mark.parametrize("library", LIBRARIES)
def test_ctrl_c_while_a_frame_is_made(library: str, db: tidelog.Database) -> None:
    relation = db["e"]
    reads: tuple[tuple[Any, str, Callable[[], Any]], ...] = (
        (pandas, "RangeIndex", relation.to_pandas),
        (polars, "from_arrow", relation.to_polars),
    )
    for owner, name, read in reads:
        with pytest.raises(KeyboardInterrupt), pressed_inside(owner, name, library):
            read()
        assert len(read()) == 2


@pytest.mark.parametrize("library", LIBRARIES)
def test_ctrl_c_while_views_are_checked(library: str, db: tidelog.Database) -> None:
    with pytest.raises(KeyboardInterrupt), pressed_inside(duckdb, "connect", library):
        db.check()
    db.check()


def test_arrow_and_duckdb_raise_errors_of_their_own(db: tidelog.Database) -> None:
    """They read batches, and call functions, of Python, in which Ctrl-C comes."""
    schema = pa.schema({"x": pa.int64(), "y": pa.string()})

    def batches() -> Iterator[pa.RecordBatch]:
        signal.raise_signal(signal.SIGINT)
        yield pa.RecordBatch.from_pydict({"x": [3], "y": ["c"]}, schema)

    def press(x: int) -> int:
        signal.raise_signal(signal.SIGINT)
        return x

    with duckdb.connect(config={"threads": 1}) as connection:
        connection.create_function("press", press, ["BIGINT"], "BIGINT")
        tables: tuple[Any, ...] = (
            pa.RecordBatchReader.from_batches(schema, batches()),
            connection.sql("select press(3) x, 'c' y"),
        )
        for table in tables:
            with pytest.raises(KeyboardInterrupt):
                db.insert("e", table)
            assert not db.has_pending
