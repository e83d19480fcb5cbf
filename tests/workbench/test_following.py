"""Changes over HTTP: each epoch once and in order, resumed after a crash, and nobody held up by others."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

import tidelog
from tests.store.disks import full_disk
from tests.workbench.serving import EDGES, Server, serving, until
from tidelog.workbench import feed
from tidelog.workbench.feed import ChangeLog, EpochChanges, EpochFeed


def replayed(rows: list[list[int]], changes: list[dict[str, Any]], relation: str) -> list[list[int]]:
    """Rows after changes; each row comes and goes exactly when it may."""
    state = Counter(map(tuple, rows))
    for change in changes:
        part = change["changes"].get(relation, {"inserted": [], "deleted": []})
        state.subtract(map(tuple, part["deleted"]))
        state.update(map(tuple, part["inserted"]))
        assert set(state.values()) <= {0, 1}
    return sorted(list(row) for row, count in state.items() if count)


def change_often(server: Server, epochs: int) -> None:
    for i in range(epochs):
        server.change(insert={"edge": [[i % 5, i % 7 + 1]]}, delete={"edge": [[(i + 2) % 5, (i + 3) % 7 + 1]]})


def test_each_epoch_arrives_once_and_in_order() -> None:
    with serving() as server:
        rows = server.read("/v1/relations/path")["rows"]
        with server.events("?relation=path") as events, server.events() as others:
            assert next(events) == ("begin", {"epoch": 1})
            assert next(others) == ("begin", {"epoch": 1})
            change_often(server, 20)
            found = [next(events) for _ in range(20)]
            assert [name for name, _ in found] == ["change"] * 20
            assert [data["epoch"] for _, data in found] == list(range(2, 22))
            assert {name for _, data in found for name in data["changes"]} == {"path"}
            expected = sorted(server.read("/v1/relations/path")["rows"])
            assert replayed(rows, [data for _, data in found], "path") == expected
            edges = [data for _, data in islice(others, 20)]
            assert replayed(EDGES, edges, "edge") == sorted(server.read("/v1/relations/edge")["rows"])


def test_a_subscriber_goes_on_from_its_last_epoch() -> None:
    with serving() as server:
        change_often(server, 6)
        with server.events("?since=3") as events:
            assert [next(events)[1]["epoch"] for _ in range(4)] == [4, 5, 6, 7]
        with server.events(Last_Event_ID="5") as events:
            assert [next(events)[1]["epoch"] for _ in range(2)] == [6, 7]
        with server.events("?since=99") as events:  # The store has come back from an older copy.
            assert next(events) == ("missed", {"epoch": 7, "from": 8, "to": 99})
            server.change(insert={"edge": [[70, 71]]})
            assert next(events)[1]["epoch"] == 8


@pytest.mark.parametrize("lasts", [False, True])
def test_an_epoch_without_changes_is_one_as_well(tmp_path: Path, lasts: bool) -> None:
    """Who follows from before, between or behind such epochs gets each epoch once, and the server goes on."""
    folder = tmp_path / "store" if lasts else None
    with serving(folder) as server:
        for rows in ([[4, 5]], [], [[5, 6]], [], []):
            server.change(**({"insert": {"edge": rows}} if rows else {}))
        for since in range(1, 7):
            with server.events(f"?since={since}") as events:
                assert [next(events)[1]["epoch"] for _ in range(6 - since)] == [*range(since + 1, 7)]
                assert server.read("/v1/relations/edge")["epoch"] == 6
    if folder is not None:
        with serving(folder) as server, server.events("?since=1") as events:
            found = [next(events) for _ in range(5)]
            assert [(name, data["epoch"]) for name, data in found] == [("change", epoch) for epoch in range(2, 7)]
            server.change(insert={"edge": [[6, 7]]})
            assert next(events)[1]["epoch"] == 7


def test_a_gap_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A feed whose numbers had a gap kept the server busy, and its subscribers without the changes behind it."""
    monkeypatch.setattr(EpochFeed, "seal", lambda *_, **__: None)
    with serving() as server:
        change_often(server, 2)
        monkeypatch.undo()
        change_often(server, 2)
        for since, missed in ((1, {"epoch": 3, "from": 2, "to": 3}), (2, {"epoch": 3, "from": 3, "to": 3})):
            with server.events(f"?since={since}") as events:
                assert next(events) == ("missed", missed)
                assert [next(events)[1]["epoch"] for _ in range(2)] == [4, 5]


def test_an_epoch_of_which_nobody_was_told_comes_before_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: EpochFeed) -> None:
        raise OSError("the thread is stopped")

    with serving() as server, server.events() as events:
        next(events)
        with monkeypatch.context() as stopped:
            stopped.setattr(EpochFeed, "publish", fail)
            change_often(server, 1)
        server.change(insert={"edge": [[8, 9]]})
        assert [next(events)[1]["epoch"] for _ in range(2)] == [2, 3]


def test_a_subscriber_may_know_an_epoch_that_others_have_not_got_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has read the rows of an epoch that has happened, and that the server is about to give to subscribers."""
    publish = EpochFeed.publish
    with serving() as server, ExitStack() as stack:
        streams: list[Any] = []

        def follow_first(self: EpochFeed) -> None:
            if self.followers == 0:
                since = server.read("/v1/relations/edge")["epoch"]
                streams.append(stack.enter_context(server.events(f"?since={since}")))
                assert until(lambda: self.followers == 1)
            publish(self)

        monkeypatch.setattr(EpochFeed, "publish", follow_first)
        change_often(server, 2)
        assert next(streams[0])[1]["epoch"] == 3


def test_who_is_too_far_behind_hears_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "_MOST_EPOCHS", 3)
    with serving() as server:
        change_often(server, 8)
        with server.events("?since=2") as events:
            assert next(events) == ("missed", {"epoch": 6, "from": 3, "to": 6})
            assert [next(events)[1]["epoch"] for _ in range(3)] == [7, 8, 9]


def test_a_large_change_has_numbers_in_place_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "MOST_ROWS", 3)
    with serving() as server, server.events() as events:
        next(events)
        server.change(insert={"edge": [[4, 5]]})
        assert next(events)[1]["changes"] == {
            "edge": {"inserted": [[4, 5]], "deleted": []},
            "path": {"inserted": 4, "deleted": 0},
        }


def test_a_failed_epoch_is_not_sent() -> None:
    with serving() as server, server.events() as events:
        next(events)
        server.db.options(max_rows=1)
        assert server.post("/v1/transactions", {"insert": {"edge": [[4, 5]]}}).status == 503
        server.db.options(max_rows=None)
        server.change(insert={"edge": [[5, 6]]})
        assert next(events)[1] == {
            "epoch": 2,
            "changes": {
                "edge": {"inserted": [[5, 6]], "deleted": []},
                "path": {"inserted": [[5, 6]], "deleted": []},
            },
        }


def test_a_socket_gets_the_same_events() -> None:
    with serving() as server:
        address = server.address.replace("http", "ws")
        with connect(f"{address}/v1/changes?relation=edge") as socket:
            assert json.loads(socket.recv(timeout=20)) == {"event": "begin", "epoch": 1}
            server.change(insert={"edge": [[4, 5]]})
            expected = {"edge": {"inserted": [[4, 5]], "deleted": []}}
            assert json.loads(socket.recv(timeout=20)) == {"event": "change", "epoch": 2, "changes": expected}


def test_streams_end_with_the_server(caplog: pytest.LogCaptureFixture) -> None:
    with ExitStack() as connections:
        with serving() as server:
            events = connections.enter_context(server.events())
            socket = connections.enter_context(connect(f"{server.address.replace('http', 'ws')}/v1/changes"))
            assert next(events) == ("begin", {"epoch": 1})
            socket.recv(timeout=20)
            server.change(insert={"edge": [[4, 5]]})
        assert [data["epoch"] for _, data in events] == [2]  # and no error: the stream is whole
        assert json.loads(socket.recv(timeout=20))["epoch"] == 2
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=20)
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []


def test_changes_are_there_after_a_restart(tmp_path: Path) -> None:
    with serving(tmp_path / "store") as server:
        change_often(server, 5)
    with serving(tmp_path / "store") as server:
        change_often(server, 2)
        with server.events("?since=2") as events:
            assert [next(events)[1]["epoch"] for _ in range(6)] == [3, 4, 5, 6, 7, 8]


def test_an_epoch_says_that_it_changed_rules(tmp_path: Path) -> None:
    with serving(tmp_path / "store") as server:
        server.change(rules={"add": ["back: path(y, x) :- edge(x, y)."]})
        server.change(insert={"edge": [[4, 5]]})
        server.change(rules={"add": [".decl other(x: number)"]})
        server.change(rules={"remove": ["back"]}, insert={"edge": [[5, 6]]})
        with server.events("?since=1&relation=edge") as events:
            found = [next(events)[1] for _ in range(4)]
        assert [each.get("rules", False) for each in found] == [True, False, True, True]
        assert found[1] == {"epoch": 3, "changes": {"edge": {"inserted": [[4, 5]], "deleted": []}}}
    with serving(tmp_path / "store") as server, server.events("?since=1&relation=edge") as events:
        assert [next(events)[1] for _ in range(4)] == found


def test_lines_that_are_torn_or_of_no_epoch_are_left_out(tmp_path: Path) -> None:
    log = ChangeLog(tmp_path)
    for epoch in (3, 4, 5, 5, 6):
        log.write(EpochChanges(epoch, {"edge": f'{{"inserted":[[{epoch}, 0]],"deleted":[]}}'}))
    log.close()
    (file,) = (tmp_path / "changes").iterdir()
    file.write_bytes(file.read_bytes()[:-9])
    assert [each.number for each in log.read_epochs(5)] == [3, 4, 5]
    assert [each.number for each in log.read_epochs(4)] == [3, 4]
    assert [each.number for each in log.read_epochs(7)] == []


def test_a_line_without_room_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    log = ChangeLog(tmp_path)
    log.write(EpochChanges(3, {"edge": "3"}))
    for size in range(10, 70, 5):
        with full_disk(size), pytest.raises(tidelog.UsageError, match="E0681"):
            log.write(EpochChanges(4, {"edge": "4" * 100}))
    log.write(EpochChanges(4, {"edge": "4"}))
    log.write(EpochChanges(5, {"edge": "5"}))
    log.close()
    assert [(each.number, each.relations) for each in log.read_epochs(5)] == [(n, {"edge": str(n)}) for n in (3, 4, 5)]


def test_a_disk_that_takes_no_changes_refuses_them_and_reading_goes_on(tmp_path: Path) -> None:
    with serving(tmp_path / "store") as server, server.events() as events:
        next(events)
        (tmp_path / "store/changes").write_text("a file in the place of the folder")
        refused = server.post("/v1/transactions", {"insert": {"edge": [[4, 5]]}}, Idempotency_Key="one")
        assert (refused.status, refused.problem["code"]) == (507, "E0681")
        assert len(server.read("/v1/relations/path")["rows"]) == 6
        (tmp_path / "store/changes").unlink()
        assert (
            json.loads(server.post("/v1/transactions", {"insert": {"edge": [[5, 6]]}}, Idempotency_Key="one").body)[
                "epoch"
            ]
            == 2
        )
        assert next(events)[1]["changes"]["edge"] == {"inserted": [[5, 6]], "deleted": []}
    with serving(tmp_path / "store") as server, server.events("?since=1") as events:
        assert next(events)[1]["changes"]["edge"] == {"inserted": [[5, 6]], "deleted": []}


WRITER = """
import sys, threading
from tests.workbench.serving import serving
from pathlib import Path

with serving(Path(sys.argv[1])) as server:
    print(server.address, flush=True)
    threading.Event().wait()
"""


def test_a_killed_server_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    heard: dict[int, Any] = {}
    for round_number in range(2):
        command = [sys.executable, "-c", WRITER, str(tmp_path / "store")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ}) as process:
            assert process.stdout is not None
            server = Server(process.stdout.readline().strip(), None)  # type: ignore[arg-type]
            for i in range(8):
                body = {"insert": {"edge": [[100 * round_number + i, i]]}}
                answer = server.post("/v1/transactions", body, Idempotency_Key=f"{round_number}-{i}")
                assert answer.status == 200, answer.text
            last = json.loads(answer.body)["epoch"]
            with server.events(f"?since={max(heard, default=1)}") as events:
                while max(heard, default=1) < last:
                    name, data = next(events)
                    assert name == "change"
                    heard[data["epoch"]] = data
            process.send_signal(signal.SIGKILL)
    assert list(heard) == list(range(2, 18))
    with serving(tmp_path / "store") as server:
        assert replayed(EDGES, list(heard.values()), "edge") == sorted(server.read("/v1/relations/edge")["rows"])
        assert replayed([[1, 2], [1, 3], [1, 4], [2, 3], [2, 4], [3, 4]], list(heard.values()), "path") == sorted(
            server.read("/v1/relations/path", limit=9999)["rows"]
        )


@pytest.mark.parametrize(("query", "code"), [("?since=x", "E0692"), ("?relation=nope", "E0601"), ("?from=1", "E0692")])
def test_a_wrong_subscription_is_a_problem_document(query: str, code: str) -> None:
    with serving() as server:
        assert server.send("GET", f"/v1/changes{query}").problem["code"] == code
