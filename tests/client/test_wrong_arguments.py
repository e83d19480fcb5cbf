"""Whatever is passed to a public method of a client ends well or in an error of tidelog with a hint, and does not
wait."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest

import tidelog
from tests.database.test_wrong_arguments import ROWS, calls, no_raw_exception
from tests.workbench.serving import Server, serving
from tidelog.client.database import RemoteDatabase

Connected = tuple[RemoteDatabase, Server]
ADDRESSES = [
    "http://", "http://[", "http://127.0.0.1:99999", "http://127.0.0.1:x", "http://a b", "http://\0", "http://\ud800",
    "http://127.0.0.1:1", "http://" + "x" * 300,
]  # fmt: skip


def commit_after(db: RemoteDatabase, verb: Callable[[Any], object], value: Any) -> None:
    verb(value)
    db.commit()


def address_of(db: RemoteDatabase) -> str:
    return repr(db).split()[1].rstrip(">")


ARRAYS = [pandas.Series([1]), numpy.array([1, 2])]
CALLS = calls(Path(__file__).with_name("wrong_arguments.txt"), "db", {**globals(), "partial": partial})
NO_VALUES: dict[str, list[Any]] = {
    "E0401": [b"a", object(), len, {1}, {1: 2}, 1j, Decimal("1.5"), datetime.date(2020, 1, 1), numpy.bool_(True)],
    "E0402": [10**5000, -(10**400)],
    "E0404": [float("nan"), numpy.float32("nan")],
    "E0408": ["\ud800", {"\ud800": 1}, ("a", "\udfff")],
}


@pytest.fixture(scope="module")
def connected() -> Iterator[Connected]:
    with serving() as server, tidelog.connect(server.address, token=None) as db:
        yield db, server


@pytest.mark.parametrize("call", CALLS)
def test_no_raw_exception(call: str, connected: Connected) -> None:
    no_raw_exception(call, *CALLS[call], connected[0], connected[0].rollback)


@pytest.mark.parametrize("verb", ["insert", "delete"])
def test_what_comes_in_is_committed_or_does_not_wait(verb: str, connected: Connected) -> None:
    db, _ = connected

    def change(_: RemoteDatabase, rows: Any) -> None:
        try:
            getattr(db, verb)("edge", rows)
        except tidelog.TidelogError:
            assert not db.has_pending
            raise
        db.commit()

    no_raw_exception(verb, ROWS, change, db, db.rollback)


@pytest.mark.parametrize("code", NO_VALUES)
def test_a_value_that_json_does_not_have_is_an_error_of_the_call(code: str, connected: Connected) -> None:
    db, _ = connected
    for value in NO_VALUES[code]:
        for call in (
            lambda value=value: db.insert("mixed", [("a", 1.0, 1, None), (value, 1.0, 1, None)]),
            lambda value=value: db.insert("edge", [(1, value)], key="x"),
            lambda value=value: db.delete("mixed", [("a", 1.0, 1, (value, 2))]),
            lambda value=value: db.query("edge(x, y)", x=value),
            lambda value=value: db.rows("edge", x=value),
            lambda value=value: db.explain("edge", (1, value)),
        ):
            with pytest.raises(tidelog.DataError) as raised:
                call()
            assert raised.value.code == code, value
            assert raised.value.problems[0].hint
    assert not db.has_pending
    with pytest.raises(tidelog.DataError, match="mixed, row 2"):
        db.insert("mixed", [("a", 1.0, 1, None), (b"a", 1.0, 1, None)])


def test_numbers_of_numpy_are_numbers() -> None:
    with serving() as server, tidelog.connect(server.address, token=None) as db:
        db.insert("edge", [(numpy.int8(7), numpy.uint64(8))])
        db.insert("mixed", [(numpy.str_("a"), numpy.float32(0.5), numpy.int64(1), (numpy.int16(3), 4))])
        db.commit()
        assert (7, 8) in db["edge"]
        assert [7, 8] in db["edge"]
        others: list[Any] = [([], 8), (Decimal("sNaN"), 8), ({"x": 7}, 8), (None, 8)]
        assert all(row not in db["edge"] for row in others)
        assert db["mixed"] == {("a", 0.5, 1, (3, 4))}
        assert db.query("edge(x, y)", x=numpy.int64(7)) == {(8,)}
        limit: Any = numpy.int64(3)
        assert db.rows("edge", x=numpy.int64(7), limit=limit) == {(7, 8)}


def test_a_deep_value_is_an_error_of_the_call(connected: Connected) -> None:
    db, _ = connected
    value: Any = None
    for _ in range(100_000):
        value = (1, value)
    with pytest.raises(tidelog.DataError, match=r"E0106.*nested too deeply"):
        db.insert("mixed", [("a", 1.0, 1, value)])
    assert not db.has_pending


def test_a_closed_client_says_so(connected: Connected) -> None:
    _, server = connected
    db = tidelog.connect(server.address, token=None)
    db.close()
    db.close()
    for call in (lambda: db["edge"], lambda: db.relations, db.check, lambda: db.subscribe("edge", print), db.commit):
        with pytest.raises(tidelog.UsageError, match="E0602"):
            call()


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_would_be_another_path_is_no_relation(name: str, connected: Connected) -> None:
    db, _ = connected
    for call in (lambda: db[name], lambda: db.rows(name), lambda: db.subscribe(name, str)):
        with pytest.raises(tidelog.UsageError, match="E0601"):
            call()
