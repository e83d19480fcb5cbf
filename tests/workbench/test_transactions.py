"""Transactions over HTTP: facts and rules together, trials, keys, and what is refused without a trace."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.texts import cases_of
from tests.workbench.serving import Server, serving
from tidelog.serve.requests import ServerLimits


def paths(server: Server) -> list[list[int]]:
    return sorted(server.read("/v1/relations/path")["rows"])


def test_facts_and_rules_change_together() -> None:
    with serving() as server:
        rule = "back: path(y, x) :- path(x, y), edge(x, y)."
        made = server.change(insert={"edge": [{"x": 4, "y": 5}]}, delete={"edge": [[1, 2]]}, rules={"add": [rule]})
        assert made["epoch"] == 2
        assert made["changes"]["edge"] == {"inserted": [[4, 5]], "deleted": [[1, 2]]}
        assert [3, 2] in paths(server)
        gone = server.change(rules={"remove": ["back", "step"]}, clear=["mixed"])
        assert paths(server) == [[2, 3], [3, 4], [4, 5]]
        assert gone["epoch"] == 3


def test_a_trial_says_what_would_change_and_changes_nothing() -> None:
    with serving() as server:
        body = {"delete": {"edge": [[2, 3]]}, "rules": {"add": ["loop: path(x, x) :- edge(x, _)."]}}
        tried = json.loads(server.post("/v1/transactions?dry_run&change=rows", body).body)
        assert tried["changes"]["path"] == {
            "inserted": [[1, 1], [3, 3]],
            "deleted": [[1, 3], [1, 4], [2, 3], [2, 4]],
        }
        assert (tried["dry_run"], tried["epoch"]) == (True, 1)
        assert len(paths(server)) == 6
        assert [rule["name"] for rule in server.read("/v1/rules")["rules"]] == ["base", "step"]


def test_records_and_branches_come_as_lists() -> None:
    with serving() as server:
        server.change(
            rules={"add": [".type Tree = Leaf {} | Node {l: Tree, v: number}\n.decl tree(t: Tree)"]},
            insert={"mixed": [["a", 1.5, 2, [3, 4]], ["b", 2.5, 3, None]], "tree": [[["$Node", ["$Leaf"], 4]]]},
        )
        assert sorted(server.read("/v1/relations/mixed")["rows"]) == [["a", 1.5, 2, [3, 4]], ["b", 2.5, 3, None]]
        assert server.read("/v1/relations/tree")["rows"] == [[["$Node", ["$Leaf"], 4]]]


def test_facts_come_as_arrow_parts() -> None:
    table = pa.table({"x": [10, 11], "y": [11, 12]})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    parts = {"insert.edge": sink.getvalue(), "transaction": b'{"delete": {"edge": [[1, 2]]}}'}
    body = b"".join(
        b'--cut\r\nContent-Disposition: form-data; name="%s"; filename="x"\r\n\r\n%s\r\n' % (name.encode(), data)
        for name, data in parts.items()
    )
    with serving() as server:
        form = "multipart/form-data; boundary=cut"
        answer = server.send("POST", "/v1/transactions", body + b"--cut--\r\n", Content_Type=form)
        assert answer.status == 200, answer.text
        assert paths(server) == [[2, 3], [2, 4], [3, 4], [10, 11], [10, 12], [11, 12]]
        wrong = (body + b"--cut--\r\n").replace(b"insert.edge", b"insert_edge")
        assert server.send("POST", "/v1/transactions", wrong, Content_Type=form).problem["code"] == "E0692"
        torn = (body + b"--cut--\r\n").replace(sink.getvalue(), b"no arrow")
        assert server.send("POST", "/v1/transactions", torn, Content_Type=form).problem["code"] == "E0692"


def test_a_key_makes_a_transaction_happen_once(tmp_path: Path) -> None:
    body = {"insert": {"edge": [[7, 8]]}}
    with serving(tmp_path / "store") as server:
        first = server.post("/v1/transactions", body, Idempotency_Key="one")
        assert json.loads(first.body)["epoch"] == 2
        server.change(delete={"edge": [[7, 8]]})
        again = server.post("/v1/transactions", body, Idempotency_Key="one")
        assert json.loads(again.body) == {"epoch": 2, "repeated": True}
        assert [7, 8] not in paths(server)
        other = server.post("/v1/transactions", {"insert": {"edge": [[7, 9]]}}, Idempotency_Key="one")
        assert (other.status, other.problem["code"]) == (422, "E0698")
        failed = server.post("/v1/transactions", {"insert": {"edge": [[7]]}}, Idempotency_Key="two")
        assert failed.status == 400
        good = server.post("/v1/transactions", {"insert": {"edge": [[5, 6]]}}, Idempotency_Key="two")
        assert json.loads(good.body)["epoch"] == 4
    with serving(tmp_path / "store") as server:
        again = server.post("/v1/transactions", body, Idempotency_Key="one")
        assert json.loads(again.body) == {"epoch": 2, "repeated": True}


def test_the_last_thousand_keys_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.workbench.service.MOST_KEYS", 3)
    with serving() as server:
        for key in "abcd":
            server.post("/v1/transactions", {"insert": {"edge": [[ord(key), 0]]}}, Idempotency_Key=key)
        assert "repeated" in json.loads(
            server.post("/v1/transactions", {"insert": {"edge": [[ord("b"), 0]]}}, Idempotency_Key="b").body
        )
        new = server.post("/v1/transactions", {"insert": {"edge": [[99, 1]]}}, Idempotency_Key="a")
        assert new.status == 200


WRONG: list[tuple[Any, str]] = cases_of(__file__, "wrong transactions", json.loads)


@pytest.mark.parametrize(("body", "code"), WRONG, ids=[str(body)[:40] for body, _ in WRONG])
def test_a_wrong_transaction_changes_nothing(body: Any, code: str) -> None:
    with serving() as server:
        mixed = {**body, "delete": {"edge": [[1, 2]]}} if isinstance(body.get("insert", {}), dict) else body
        answer = server.post("/v1/transactions", mixed)
        assert answer.status in (400, 404), answer.text
        assert answer.code == code
        assert len(paths(server)) == 6
        assert server.change(insert={"edge": [[9, 9]]})["epoch"] == 2


def test_bodies_have_a_limit_and_a_type() -> None:
    with serving(limits=ServerLimits(body=1_000)) as server:
        large = server.post("/v1/transactions", {"insert": {"edge": [[1, 2]] * 1_000}})
        assert (large.status, large.problem["code"]) == (413, "E0695")
        typed = server.send("POST", "/v1/transactions", "{}", Content_Type="text/turtle")
        assert (typed.status, typed.problem["code"]) == (415, "E0694")
        packed = server.post("/v1/transactions", {}, Content_Encoding="gzip")
        assert (packed.status, packed.problem["code"]) == (415, "E0694")


def test_tokens_say_who_may_change_what() -> None:
    with serving(None, "read:look", "write:facts", "rules:all") as server:

        def status(token: str, body: Any, path: str = "/v1/transactions") -> int:
            return server.post(path, body, Authorization=f"Bearer {token}").status

        facts, rules = {"insert": {"edge": [[8, 9]]}}, {"rules": {"remove": ["step"]}}
        assert [status(token, facts) for token in ("none", "look", "facts", "all")] == [401, 403, 200, 200]
        assert [status(token, rules) for token in ("look", "facts", "all")] == [403, 403, 200]
        assert [status(token, {"query": "edge(x, 2)"}, "/v1/query") for token in ("none", "look")] == [401, 200]
        assert server.send("GET", "/v1/relations").status == 401
        assert server.send("GET", "/metrics").status == 401
        assert server.send("GET", "/healthz").status == 200


def test_a_server_that_only_reads_tries_but_does_not_change(tmp_path: Path) -> None:
    with serving(tmp_path / "store"):
        pass
    with serving(tmp_path / "store", read_only=True) as server:
        body = {"delete": {"edge": [[1, 2]]}}
        refused = server.post("/v1/transactions", body)
        assert (refused.status, refused.problem["code"]) == (403, "E0693")
        tried = json.loads(server.post("/v1/transactions?dry_run", body).body)
        assert tried["changes"]["path"] == {"inserted": 0, "deleted": 3}
        assert len(paths(server)) == 6


def test_a_page_of_another_origin_is_refused() -> None:
    with serving() as server:
        answer = server.post("/v1/transactions", {}, Origin="http://evil.example")
        assert (answer.status, answer.problem["code"]) == (403, "E0693")
        other = server.send("GET", "/v1/relations", Host="evil.example")
        assert (other.status, other.problem["code"]) == (403, "E0693")
