"""The client: the verbs of a database over HTTP, its errors, and subscribers that lose their connection."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas
import pyarrow as pa
import pytest

import tidelog
from tests.workbench.serving import Server, serving
from tidelog.client.answers import RemoteRelationChange
from tidelog.client.database import RemoteDatabase
from tidelog.serve.running import address_of, open_listener
from tidelog.workbench.feed import EpochFeed

PATHS = {(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)}


@contextmanager
def connected(*tokens: str) -> Iterator[tuple[RemoteDatabase, Server]]:
    with serving(None, *tokens) as server:
        token = tokens[0].partition(":")[2] if tokens else None
        with tidelog.connect(server.address, token=token) as db:
            yield db, server


def test_relations_are_sets_and_tables() -> None:
    with connected() as (db, _):
        assert db.relations == ("edge", "path", "mixed")
        assert db["path"] == PATHS
        assert (1, 4) in db["path"]
        assert db["path"] - db["edge"] == {(1, 3), (1, 4), (2, 4)}
        assert db["path"].schema == {"x": "number", "y": "number"}
        assert db["path"].to_arrow().num_rows == len(db["path"]) == 6
        assert db.rows("path", x=1) == {(1, 2), (1, 3), (1, 4)}
        assert len(db.rows("path", limit=2)) == 2
        assert db.rows("path", asserted=True) == set()
        assert db.query("path(x, y), y > k", k=3) == {(1, 4), (2, 4), (3, 4)}
        db.insert("mixed", [("a", 1.5, 2, (3, 4)), ("b", float("inf"), 2**64 - 1, None)])
        db.commit()
        with pytest.raises(tidelog.DataError, match="E0404"):
            db.insert("mixed", [("c", float("nan"), 1, None)])
        assert db["mixed"] == {("a", 1.5, 2, (3, 4)), ("b", float("inf"), 2**64 - 1, None)}


def test_profiles_are_those_of_the_server() -> None:
    with connected() as (db, server):
        assert (db.profile()["recording"], db.profile()["epochs"]) == (False, [])
        server.db.options(profile=True)
        db.insert("edge", [(4, 5)])
        db.commit()
        found = db.profile()
        assert found["recording"]
        assert [each["epoch"] for each in found["epochs"]] == [found["epoch"]]
        assert found["rules"][0]["text"] == server.db.rules[found["rules"][0]["name"]]


def test_columns_go_by_name_as_everywhere() -> None:
    with connected() as (db, _):
        frames = [pandas.DataFrame({"Y": [2], "x ": [1]}), pa.table({"y": [4], "X": [3]}), [{"y": 6, "x": 5}]]
        for frame in frames:
            db.insert("edge", frame)
        db.insert("edge", pandas.DataFrame([(7, 8)]))
        db.insert("edge", [(9, 9)])
        db.delete("edge", pandas.DataFrame({"y": [9], "x": [9]}))
        db.commit()
        assert db["edge"] == {(1, 2), (3, 4), (5, 6), (7, 8), (2, 3)}
        db.insert("mixed", [{"p": {"y": 4, "x": 3}, "s": "a", "f": 1.5, "u": 2}])
        db.load(".decl later(n: number, m: number)")
        db.insert("later", [{"m": 2, "n": 1}])
        db.commit()
        assert db["mixed"] == {("a", 1.5, 2, (3, 4))}
        assert db["later"] == {(1, 2)}


def test_duplicates_are_reported() -> None:
    with connected() as (db, _):
        assert db.insert("edge", [(7, 8), (8, 9)]) is None
        found = db.insert("edge", pandas.DataFrame({"x": [7, 7, 7], "y": [8, 8, 9]}))
        assert found is not None
        assert (found.rows, found.duplicates) == (3, 1)
        assert db.commit().report.duplicates == {"edge": 1}
        db.insert("edge", [(1, 1)])
        assert db.commit().report.duplicates == {}


def test_the_key_of_no_rows_is_not_that_of_later_ones() -> None:
    with connected() as (db, _):
        before = set(db["edge"])
        db.insert("edge", [], key="x")
        db.delete("edge", [], key="x")
        db.insert("edge", [(1, 9)])
        db.commit()
        assert db["edge"] == before | {(1, 9)}


def test_rows_with_a_key_replace_facts() -> None:
    with connected() as (db, server):
        db.insert("edge", pandas.DataFrame({"Y": [7, 7], "X": [1, 1]}), key="x")
        db.insert("edge", [(2, 8)], key=["x"])
        db.insert("edge", [(2, 9)], key=["x"])
        db.delete("edge", [{"x": 3}], key="x")
        for rows, key, code in (
            ([(1, 1), (1, 2)], "x", "E0487"),
            ([(1,)], "x", "E0405"),
            ([(1, 2)], "z", "E0606"),
            ([(1, 2)], None, "E0606"),
        ):
            with pytest.raises(tidelog.TidelogError, match=code):
                db.insert("edge", rows, key=key)
        assert db.commit().report.duplicates == {"edge": 1}
        assert db["edge"] == {(1, 7), (2, 9)}
        with pytest.raises(tidelog.UsageError, match="E0485"):
            db.insert("edge", [(1, 2)], key="z")
        with pytest.raises(tidelog.UsageError, match="E0685"):
            db.insert("edge", [(1, 2)], key=["x", "x"])
        db.insert("mixed", [("a", 1.5, 2, (3, 4)), ("b", 1.5, 2, (5, 6))])
        db.commit()
        db.delete("mixed", [(2, (5, 6))], key=["p", "u"])
        db.commit()
        assert db["mixed"] == {("a", 1.5, 2, (3, 4))}
        assert server.post("/v1/transactions", {"insert": {"edge": [[1, 2]]}, "keys": {"edge": ["z"]}}).status == 400


def test_other_columns_are_an_error() -> None:
    with connected() as (db, _):
        for data, code in (
            (pandas.DataFrame({"a": [1], "b": [2]}), "E0406"),
            (pa.table({"x": [1], "z": [2]}), "E0406"),
            ([{"x": 1}], "E0406"),
            ([7], "E0407"),
            ("edge", "E0407"),
            ({"x": 1, "y": 2}, "E0407"),
        ):
            with pytest.raises(tidelog.DataError, match=code):
                db.insert("edge", data)
        with pytest.raises(tidelog.UsageError, match="E0601"):
            db.insert("nowhere", [{"x": 1}])
        assert not db.has_pending


def test_changes_wait_for_a_commit() -> None:
    with connected() as (db, _):
        db.load("back: path(y, x) :- edge(x, y).")
        db.insert("edge", [(4, 5), (6, 7)])
        db.delete("edge", [(6, 7), (1, 2)])
        assert db["path"] == PATHS
        change = db.commit()
        assert (change.epoch, change["edge"].inserted, change["edge"].deleted) == (2, {(4, 5)}, {(1, 2)})
        assert (3, 2) in db["path"]
        assert change["mixed"].inserted == frozenset()
        assert list(db.rules) == ["base", "step", "back"]
        with db.transaction():
            db.rules.remove("back")
        assert list(db.rules) == ["base", "step"]
        assert not db.has_pending


def test_columns_that_python_cannot_express_are_errors() -> None:
    ends = pa.array([0, 1, 2], pa.int32()).buffers()[1]
    texts = pa.StringArray.from_buffers(2, ends, pa.py_buffer(b"\xffa"))
    days = pa.array([2**31 - 1, 1], pa.int32()).cast(pa.date32())
    with connected() as (db, _):
        for wrong, code in ((texts, "E0408"), (days, "E0407")):
            table = pa.table({"s": wrong, "f": [1.0, 2.0], "u": [1, 2], "p": [None, None]})
            for data in (table, table.to_pandas(types_mapper=pandas.ArrowDtype)):
                with pytest.raises(tidelog.DataError) as caught:
                    db.insert("mixed", data)
                (problem,) = caught.value.problems
                assert (problem.code, problem.place) == (code, "mixed, column s")
                assert problem.hint
        assert not db.has_pending


def test_rules_come_and_go_by_name_as_in_any_database() -> None:
    with connected() as (db, _):
        db.rules.add("back: path(y, x) :- edge(x, y).")
        assert list(db.rules) == ["base", "step"]
        db.commit()
        rules = db.rules
        assert (rules.names, len(rules), "back" in rules, 3 in rules) == (("base", "step", "back"), 3, True, False)
        assert rules["back"] == rules.get("back") == "back: path(y, x) :- edge(x, y)."
        assert rules.get("backs") is None
        with pytest.raises(tidelog.UsageError, match=r"E0608.*there is no rule backs"):
            rules["backs"]
        db.rules.replace("back: path(y, y) :- edge(_, y).")
        db.commit()
        assert db.rules["back"] == "back: path(y, y) :- edge(_, y)."
        assert list(db.rules) == ["base", "step", "back"]
        db.rules.replace("other: path(x, x) :- edge(x, _).", "back: path(y, y) :- edge(_, y).")
        db.rules.remove("base")
        db.commit()
        assert repr(db.rules).splitlines()[-1] == "other: path(x, x) :- edge(x, _)."
        assert list(db.rules) == ["step", "other"]
        with pytest.warns(DeprecationWarning, match=r"rules\.remove"):
            db.remove_rules("other")  # type: ignore[attr-defined]
        db.commit()
        assert list(db.rules) == ["step"]


def test_a_program_is_loaded_again() -> None:
    text = "back: path(y, x) :- edge(x, y). edge(8, 9)."
    with connected() as (db, _):
        for _ in range(2):
            db.load(text, replace=True)
            db.commit()
        assert list(db.rules) == ["base", "step", "back"]
        assert (9, 8) in db["path"]
        db.load(text.replace("back: path(y, x)", "back: path(y, y)"), replace=True)
        assert db.has_pending
        change = db.commit()
        assert (9, 8) in change["path"].deleted
        assert (9, 9) in db["path"]
        with pytest.raises(tidelog.ProgramError, match="E0"), db.transaction():
            db.load(text)  # The name is taken.


def test_an_earlier_program_goes_with_its_next_text(tmp_path: Path) -> None:
    earlier, edited = "back: path(y, x) :- edge(x, y). edge(8, 9).", "loop: path(y, y) :- edge(_, y). edge(8, 7)."
    with connected() as (db, _):
        db.load(earlier)
        db.commit()
        (tmp_path / "earlier.dl").write_text(earlier)
        db.load(edited, replace=tmp_path / "earlier.dl")
        change = db.commit()
        assert (change["edge"].inserted, change["edge"].deleted) == ({(8, 7)}, {(8, 9)})
        assert list(db.rules) == ["base", "step", "loop"]
        assert {(7, 7), (9, 8)} & set(db["path"]) == {(7, 7)}
        with pytest.raises(tidelog.ProgramError, match="E0101"), db.transaction():
            db.load(edited, replace="loop: path(")
        assert not db.has_pending


def test_a_failed_commit_waits_and_a_failed_transaction_does_not() -> None:
    with connected() as (db, _):
        db.insert("edge", [(1, 2, 3)])
        with pytest.raises(tidelog.DataError, match="E0405") as raised:
            db.commit()
        assert raised.value.problems[0].place == "edge, row 1"
        with pytest.raises(tidelog.UsageError, match="E0606"), db.transaction():
            pass
        db.rollback()

        with pytest.raises(tidelog.UsageError, match="E0601"), db.transaction():
            db.insert("nope", [(8, 9)])
        assert not db.has_pending
        assert db["path"] == PATHS
        assert db.epoch == 1


def test_what_would_change_and_why() -> None:
    with connected() as (db, _):
        with db.what_if() as trial:
            trial.delete("edge", [(2, 3)])
        change = trial.change
        assert change is not None
        with pytest.raises(tidelog.UsageError, match="E0626"):
            trial.insert("edge", [(7, 7)])
        with db.transaction(), pytest.raises(tidelog.UsageError, match="E0625"):
            db.commit()
        assert change["path"].deleted == {(1, 3), (1, 4), (2, 3), (2, 4)}
        assert db["path"] == PATHS
        assert [step.relation for step in db.explain("path", (1, 3)).steps] == ["edge", "edge", "path"]
        assert db.why_not("path", (4, 1)).attempts[0].failed == "edge(4, 1)"
        assert [each.facts for each in db.ways_to_remove("path", (1, 3))] == [(("edge", (1, 2)),), (("edge", (2, 3)),)]
        assert next(db.ways_to_derive("path", (4, 9))) == (("edge", (4, 9)),)
        assert db.blame("path", (1, 3)).epoch == 1
        db.check()
        assert db.stats()["relations"]["path"] == 6


def test_errors_are_those_of_the_server() -> None:
    with connected("read:look") as (db, server):
        for act, kind, code in (
            (lambda: db["nope"], tidelog.UsageError, "E0601"),
            (lambda: db.query("path(x"), tidelog.ProgramError, "E0101"),
            (db.commit, tidelog.UsageError, "E0693"),
        ):
            with pytest.raises(kind, match=code):
                act()
        with pytest.raises(tidelog.UsageError, match=r"E0693.*\n.*token=") as caught:
            tidelog.connect(server.address, token="other")
        assert "header" not in str(caught.value)


def test_included_files_are_those_of_the_client(tmp_path: Path) -> None:
    (tmp_path / "rules.dl").write_text("back: PATH(y, x) :- edge(x, y).\n")
    program = tmp_path / "program.dl"
    program.write_text('#define PATH path\n#include "rules.dl"\n')
    with connected() as (db, _):
        db.load(program)
        db.load(program, replace=True)
        db.commit()
        assert db.rules["back"] == "back: path(y, x) :- edge(x, y)."
        with pytest.raises(tidelog.ProgramError, match="E0112"):
            db.load('#include "nowhere.dl"\n')
        assert not db.has_pending


def test_a_fault_of_the_server_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("planted")

    with connected() as (db, _):
        db.insert("edge", [(4, 5)])
        with monkeypatch.context() as patched:
            patched.setattr(EpochFeed, "seal", fails)
            with pytest.raises(tidelog.InternalError, match="E0901"):
                db.commit()
        assert db.commit().epoch == 2


def test_errors_in_texts_have_their_places_and_come_all_at_once() -> None:
    with connected() as (db, _):
        with pytest.raises(tidelog.ProgramError) as caught:
            db.query("path(x,\n  y")
        assert str(caught.value) == "<query>:1:5: error[E0101]: `(` is not closed\n  hint: close it with `)`"
        db.load("loop: path(x, x) :- nope(x).\nback: path(y, x) :- gone(x, y).")
        with pytest.raises(tidelog.ProgramError) as caught:
            db.commit()
        assert [(problem.code, problem.place) for problem in caught.value.problems] == [
            ("E0201", "<text>:1:21"), ("E0201", "<text>:2:21"),
        ]  # fmt: skip


@pytest.mark.parametrize("more", ["?x=1", "/?", "#top", "/v1/relations?limit=1"])
def test_an_address_has_no_query_and_no_fragment(more: str) -> None:
    with serving() as server, pytest.raises(tidelog.UsageError, match=r"E0699(.|\n)*leave out what begins"):
        tidelog.connect(server.address + more, token=None)


def test_a_server_that_is_none_or_of_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_listener("127.0.0.1", 0, False) as listener:
        address = address_of(listener)
    with pytest.raises(tidelog.UsageError, match="E0699"):
        tidelog.connect(address, token=None)
    monkeypatch.setattr("tidelog.client.exchange.INTERFACE", "0")
    with serving() as server, pytest.raises(tidelog.UsageError, match="it has the interface 2, the client 0"):
        tidelog.connect(server.address, token=None)
    for wrong in ({"state": "x"}, {"functors": (len,)}):
        with pytest.raises(tidelog.UsageError, match="E0610"):
            tidelog.connect(address, **wrong)
    with pytest.raises(tidelog.UsageError, match="E0610"):
        tidelog.connect("folder", token="secret")


def test_a_commit_that_is_repeated_happens_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with connected() as (db, _):
        db.insert("edge", [(4, 5)])
        send = db._exchange.send
        monkeypatch.setattr(db._exchange, "send", lambda *given, **named: lost(send(*given, **named)))

        def lost(_: object) -> Any:
            raise tidelog.UsageError(tidelog.errors.Problem("E0699", "lost"))

        with pytest.raises(tidelog.UsageError, match="E0699"):
            db.commit()
        monkeypatch.undo()
        change = db.commit()
        assert (change.epoch, change.repeated) == (2, True)
        assert (1, 5) in db["path"]


def test_rules_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with connected() as (db, _):
        read, reads = db._get_json, list[str]()

        def noting(path: str) -> object:
            reads.append(path)
            return read(path)

        monkeypatch.setattr(db, "_get_json", noting)
        rules = db.rules
        assert dict(rules) == {name: rules[name] for name in rules.names}
        assert len(rules) > 1
        assert reads == ["/v1/rules"]


def _sizes(change: RemoteRelationChange) -> tuple[int, int]:
    return len(change.inserted), len(change.deleted)


def test_a_subscriber_hears_each_change_of_its_relation() -> None:
    heard: queue.Queue[RemoteRelationChange] = queue.Queue()
    with connected() as (db, server):
        end = db.subscribe("path", heard.put)
        server.change(insert={"mixed": [["a", 1.5, 2, None]]})
        server.change(insert={"edge": [[4, 5]]})
        change = heard.get(timeout=20)
        assert change.inserted == {(1, 5), (2, 5), (3, 5), (4, 5)}
        assert change.deleted == frozenset()
        end()
        server.change(delete={"edge": [[4, 5]]})
        later = db.subscribe("path", heard.put, since=1)
        assert [_sizes(heard.get(timeout=20)) for _ in range(2)] == [(4, 0), (0, 4)]
        later()


SERVER = """
import sys, threading
from pathlib import Path
from tests.workbench.serving import serving
from tidelog.serve import running

open_listener = running.open_listener
import tests.serving
tests.serving.open_listener = lambda host, port, has_tokens: open_listener(host, int(sys.argv[2]), has_tokens)
with serving(Path(sys.argv[1])) as server:
    print(server.address, flush=True)
    threading.Event().wait()
"""


@pytest.mark.deep
def test_a_subscriber_goes_on_after_a_crash_of_the_server(tmp_path: Path) -> None:
    with open_listener("127.0.0.1", 0, False) as listener:
        port = address_of(listener).rpartition(":")[2]
    heard: queue.Queue[RemoteRelationChange] = queue.Queue()
    command = [sys.executable, "-c", SERVER, str(tmp_path / "store"), port]
    rows, db = set[tuple[Any, ...]](), None
    for i in range(3):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ}) as process:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            if db is None:
                db = tidelog.connect(address, token=None)
                rows = set(db["path"])
                db.subscribe("path", heard.put)
            for j in range(3):
                db.insert("edge", [(10 * i + j, j)])
                db.commit()
            expected = set(db["path"])
            while i == 2 and rows != expected:  # Before, the server is killed while changes are on their way.
                change = heard.get(timeout=20)
                assert change.deleted <= rows
                assert not change.inserted & rows
                rows = {*(rows - change.deleted), *change.inserted}
            process.send_signal(signal.SIGKILL)
    assert db is not None
    db.close()


def test_a_subscription_ends_at_once_even_where_nothing_changes() -> None:
    with connected() as (db, _):
        first = db.subscribe("edge", print, since=db.epoch)
        heard: queue.Queue[object] = queue.Queue()
        second = db.subscribe("edge", heard.put)
        db.insert("edge", [(7, 8)])
        db.commit()
        heard.get(timeout=30)
        first()
        second()
        for thread in threading.enumerate():
            if thread.name == "changes of edge":
                thread.join(10)
                assert not thread.is_alive()
