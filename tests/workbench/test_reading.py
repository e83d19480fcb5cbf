"""Relations and queries over HTTP: formats, filters, orders, and pages of one epoch."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tests.texts import cases_of
from tests.workbench.serving import Server, serving
from tidelog.io import read_facts
from tidelog.io.options import GivenOptions
from tidelog.io.relation import Relation, WordRows

PATHS = [[1, 2], [1, 3], [1, 4], [2, 3], [2, 4], [3, 4]]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server that no test changes."""
    with serving() as found:
        found.db.insert("mixed", [('a"<b>', 2.5, 7, (1, -2)), ("", float("inf"), 2**64 - 1, None)])
        found.db.commit()
        yield found


def test_relations_have_columns_sizes_and_rules(server: Server) -> None:
    found = server.read("/v1/relations")
    assert found["epoch"] == 2
    by_name = {each["name"]: each for each in found["relations"]}
    assert list(by_name) == ["edge", "path", "mixed"]
    assert by_name["path"]["rules"] == ["base", "step"]
    assert by_name["path"]["size"] == 6
    assert by_name["mixed"]["columns"][3] == {"name": "p", "type": "Point", "kind": "Point"}


@pytest.mark.parametrize(("text", "found"), [('a"<b>', 1), ("", 1), ("_", 0), ('a", _, _, _), path(_, _', 0)])
def test_a_filter_takes_any_text_as_a_value(server: Server, text: str, found: int) -> None:
    assert len(server.read("/v1/relations/mixed", **{"filter[s]": text})["rows"]) == found


def test_rows_are_filtered_and_sorted(server: Server) -> None:
    assert sorted(server.read("/v1/relations/path")["rows"]) == PATHS
    assert sorted(server.read("/v1/relations/path", **{"filter[x]": 1})["rows"]) == [[1, 2], [1, 3], [1, 4]]
    assert server.read("/v1/relations/path", **{"filter[x]": 1, "filter[y]": 9})["rows"] == []
    assert server.read("/v1/relations/path", order="y,x")["rows"] == [[1, 2], [1, 3], [2, 3], [1, 4], [2, 4], [3, 4]]
    assert server.read("/v1/relations/path", order="x", descending="true", limit=1)["rows"] == [[3, 4]]
    assert sorted(server.read("/v1/relations/edge", asserted="")["rows"]) == [[1, 2], [2, 3], [3, 4]]
    assert server.read("/v1/relations/path", asserted="true")["rows"] == []


def test_values_of_all_types_are_filtered_and_shown(server: Server) -> None:
    quoted = server.read("/v1/relations/mixed", **{"filter[s]": 'a"<b>'})["rows"]
    assert quoted == [['a"<b>', 2.5, 7, [1, -2]]]
    assert server.read("/v1/relations/mixed", **{"filter[f]": "2.5", "filter[u]": 7})["rows"] == quoted
    assert server.read("/v1/relations/mixed", **{"filter[p]": "[1, -2]"})["rows"] == quoted
    other = server.read("/v1/relations/mixed", **{"filter[s]": ""})["rows"]
    assert other == [["", float("inf"), 2**64 - 1, None]]


def test_pages_stay_on_one_epoch_while_the_view_changes() -> None:
    with serving() as server:
        first = server.read("/v1/relations/path", limit=2, order="x,y")
        assert (first["rows"], first["total"], first["epoch"]) == ([[1, 2], [1, 3]], 6, 1)
        server.change(delete={"edge": [[1, 2]]})
        second = server.read("/v1/relations/path", limit=3, cursor=first["cursor"])
        assert (second["rows"], second["epoch"]) == ([[1, 4], [2, 3], [2, 4]], 1)
        used = server.send("GET", f"/v1/relations/path?cursor={first['cursor']}")
        assert (used.status, used.problem["code"]) == (410, "E0697")
        last = server.read("/v1/relations/path", cursor=second["cursor"])
        assert (last["rows"], last["cursor"]) == ([[3, 4]], None)
        assert sorted(server.read("/v1/relations/path")["rows"]) == [[2, 3], [2, 4], [3, 4]]


def test_rows_come_as_lines_csv_and_arrow(server: Server) -> None:
    lines = server.send("GET", "/v1/relations/path", Accept="application/x-ndjson")
    assert sorted(map(json.loads, lines.text.splitlines())) == PATHS
    assert lines.headers["tidelog-epoch"] == "2"
    text = server.send("GET", "/v1/relations/mixed?order=u", Accept="text/csv").text
    assert text == 's,f,u,p\n"a""<b>",2.5,7,"[1, -2]"\n,inf,18446744073709551615,nil\n'
    arrow = server.send("GET", "/v1/relations/mixed", Accept="application/vnd.apache.arrow.stream")
    table = pa.ipc.open_stream(io.BytesIO(arrow.body)).read_all()
    assert sorted(table.column("u").to_pylist()) == [7, 2**64 - 1]
    assert table.schema.field("p").type == pa.struct([("x", pa.int64()), ("y", pa.int64())])


def test_csv_reads_back(tmp_path: Path) -> None:
    rows = [("two\nlines", ""), ("a\r", 'say "hi"'), (" nil ", "\ufeff"), ("a,b", "\0")]
    with serving() as server:
        server.change(rules={"add": [".decl texts(x: symbol, y: symbol)"]}, insert={"texts": rows})
        (tmp_path / "texts.csv").write_bytes(server.send("GET", "/v1/relations/texts", Accept="text/csv").body)
        relation, dictionary = server.db.program.relations["texts"], server.db.dictionary
        options: GivenOptions = {"filename": "texts.csv", "rfc4180": True, "headers": True}
        words = read_facts(options, tmp_path, relation, dictionary)
        assert set(Relation("texts", WordRows(relation.columns, dictionary, words))) == set(rows)


def test_queries_are_bodies_of_rules_with_parameters(server: Server) -> None:
    found = server.post("/v1/query", {"query": "path(x, y), y > k", "parameters": {"k": 3}, "limit": 2})
    answer = json.loads(found.body)
    assert (len(answer["rows"]), answer["total"]) == (2, 3)
    rest = json.loads(server.post("/v1/query", {"cursor": answer["cursor"]}).body)
    assert sorted(answer["rows"] + rest["rows"]) == [[1, 4], [2, 4], [3, 4]]
    path = json.loads(server.post("/v1/query", {"query": "<edge/edge>(x, y)"}).body)
    assert sorted(path["rows"]) == [[1, 3], [2, 4]]


@pytest.mark.parametrize(
    ("path", "status", "code"), cases_of(__file__, "a wrong address is a problem document", str, int)
)
def test_a_wrong_address_is_a_problem_document(server: Server, path: str, status: int, code: str) -> None:
    answer = server.send("GET", path)
    assert (answer.status, answer.problem["code"]) == (status, code)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("{", "E0692"),
        ("[]", "E0692"),
        ("{}", "E0692"),
        ('{"query": 5}', "E0692"),
        ('{"query": "path(x, y"}', "E0101"),
        ('{"query": "nope(x)"}', "E0201"),
        ('{"query": "path(x, y)", "parameters": {"z": 1}}', "E0612"),
        ("[" * 100_000, "E0692"),
        (b"\xff", "E0692"),
        ('{"query": "path(x, y)", "parameters": {"x": NaN}}', "E0692"),
    ],
)
def test_a_wrong_query_is_a_problem_document(server: Server, body: str | bytes, code: str) -> None:
    answer = server.send("POST", "/v1/query", body, Content_Type="application/json")
    assert (answer.status, answer.code) == (400, code)


def test_a_format_that_nobody_writes_is_refused(server: Server) -> None:
    answer = server.send("GET", "/v1/relations/path", Accept="image/png")
    assert (answer.status, answer.problem["code"]) == (406, "E0694")
    answer = server.send("POST", "/v1/query", "x", Content_Type="text/plain")
    assert (answer.status, answer.problem["code"]) == (415, "E0694")


def test_a_check_that_reaches_a_limit_ends_with_its_problem() -> None:
    with serving() as server:
        server.db.options(timeout=1e-6)
        whole = server.send("POST", "/v1/check")
        assert (whole.status, whole.code) == (503, "E0501")
        lines = server.send("POST", "/v1/check", Accept="application/x-ndjson")
        assert lines.status == 200
        problem = json.loads(lines.text.splitlines()[-1])["problem"]
        assert (problem["code"], problem["status"], problem["hint"]) == ("E0501", 503, whole.problem["hint"])
        server.db.options(timeout=None)
        last = server.send("POST", "/v1/check", Accept="application/x-ndjson").text.splitlines()[-1]
        assert json.loads(last)["ok"] is True
