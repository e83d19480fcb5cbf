"""Files that the server reads for its clients."""

from __future__ import annotations

import io
import json
from urllib.parse import quote

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from tests.workbench.serving import Server, serving
from tidelog.serve.requests import ServerLimits


def parquet_of(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    parquet.write_table(table, sink)
    return sink.getvalue()


def decoded(server: Server, name: str, file: str, data: bytes) -> tuple[int, dict[str, object]]:
    answer = server.send(
        "POST", f"/v1/relations/{name}/decode?file={quote(file)}", data, Content_Type="application/octet-stream"
    )
    return answer.status, json.loads(answer.body)


MIXED = {"s": ["a", "b"], "f": [1.5, float("inf")], "u": [2, 2**64 - 1], "p": [{"x": 1, "y": 2}, None]}


def test_rows_come_in_the_order_of_the_columns() -> None:
    table = pa.table({"u": pa.array(MIXED["u"], pa.uint64()), **{name: MIXED[name] for name in "spf"}})
    arrow = io.BytesIO()
    feather.write_feather(table, arrow)
    expected = [["a", 1.5, 2, [1, 2]], ["b", float("inf"), 2**64 - 1, None]]
    with serving() as server:
        for file, data in (
            ("mixed.parquet", parquet_of(table)),
            ("Mixed.Feather", arrow.getvalue()),
            ("m.json", json.dumps([["a", 1.5, 2, [1, 2]]]).encode()),
        ):
            status, found = decoded(server, "mixed", file, data)
            assert (status, found["relation"]) == (200, "mixed"), found
            assert found["rows"] == expected[: 1 if file == "m.json" else 2]
        assert len(server.db["mixed"]) == 0
        server.change(insert={"mixed": found["rows"]})
        assert server.db["mixed"] == {("a", 1.5, 2, (1, 2))}


@pytest.mark.parametrize(
    ("name", "file", "data", "status", "code"),
    [
        ("edge", "edge.parquet", b"PAR1 and so on", 400, "E04"),
        ("edge", "edge.parquet", parquet_of(pa.table({"a": [1], "x": [2]})), 400, "E0406"),
        ("edge", "edge.parquet", parquet_of(pa.table({"x": ["one"], "y": [2]})), 400, "E0401"),
        ("edge", "edge.json", b"[[1, 2], [3]]", 400, "E0405"),
        ("edge", "edge.csv", b"1,2", 400, "E0692"),
        ("edge", "../../etc/passwd", b"1,2", 400, "E0692"),
        ("edge", "\0.parquet", b"1,2", 400, "E0692"),
        ("nope", "edge.parquet", b"", 404, "E0601"),
    ],
)  # fmt: skip
def test_wrong_files_are_errors_that_name_them(name: str, file: str, data: bytes, status: int, code: str) -> None:
    with serving() as server:
        found, document = decoded(server, name, file, data)
        assert (found, str(document["code"])[: len(code)]) == (status, code), document
        assert "/tmp" not in str(document)
        assert "tidelog-" not in str(document)
        assert document["hint"]


def test_a_large_file_is_refused() -> None:
    with serving(limits=ServerLimits(body=1_000)) as server:
        assert decoded(server, "edge", "e.json", b" " * 1_001)[0] == 413
