"""The tools of the Model Context Protocol, with the client of its SDK."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import mcp_types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.workbench.serving import Server, serving

EDGE = {"relation": "edge", "tuple": [1, 2]}


def called(server: Server, *calls: tuple[str, dict[str, Any]], token: str | None = None) -> list[Any]:
    """Return the answers to calls of tools."""

    async def run() -> list[Any]:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        address = f"{server.address}/mcp"
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(run())


def names(server: Server) -> set[str]:
    async def run() -> set[str]:
        async with Client(f"{server.address}/mcp") as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    return asyncio.run(run())


def test_tools_answer_as_the_paths_do() -> None:
    with serving(mcp="read") as server:
        calls: list[tuple[str, dict[str, Any]]] = [
            ("relations", {}),
            ("rows", {"relation": "path", "filter": {"x": 1}, "order": "y", "descending": True}),
            ("query", {"query": "path(x, y), y > k", "parameters": {"k": 3}}),
            ("explain", {"relation": "path", "tuple": [1, 3]}),
            ("why_not", {"relation": "path", "tuple": [4, 1]}),
            ("ways_to_remove", {"relation": "path", "tuple": [1, 3], "limit": 1}),
            ("ways_to_derive", {"relation": "path", "tuple": [4, 9], "limit": 1}),
            ("blame", EDGE),
            ("rules", {}),
            ("stats", {}),
            ("check", {}),
        ]
        assert names(server) == {name for name, _ in calls}
        answers = called(server, *calls)
        assert not any(each.is_error for each in answers), answers
        found = {name: each.structured_content for (name, _), each in zip(calls, answers, strict=True)}
        assert found["rows"]["rows"] == [[1, 4], [1, 3], [1, 2]]
        assert sorted(found["query"]["rows"]) == [[1, 4], [2, 4], [3, 4]]
        assert found["ways_to_remove"]["removals"] == [[["edge", [1, 2]]]]
        assert found["check"]["ok"] is True
        assert json.loads(answers[0].content[0].text) == found["relations"] == server.read("/v1/relations")


def test_errors_have_a_code_and_a_hint() -> None:
    with serving(mcp="read") as server:
        for call, code in (
            (("rows", {"relation": "é ?"}), "E0601"),
            (("query", {"query": "path(x"}), "E0101"),
            (("explain", {"relation": "path"}), "E0692"),
            (("transact", {"insert": {"edge": [[8, 9]]}}), "no tool"),
        ):
            (answer,) = called(server, call)
            assert answer.is_error
            assert isinstance(answer.content[0], mcp_types.TextContent)
            assert code in answer.content[0].text
        (answer,) = called(server, ("rows", {"relation": "paths"}))
        assert "hint: " in answer.content[0].text
        assert answer.structured_content["code"] == "E0601"


def test_tools_that_write_need_the_option_and_the_right() -> None:
    facts = ("transact", {"insert": {"edge": [[4, 5]]}})
    rules = ("transact", {"rules": {"add": ["back: path(y, x) :- edge(x, y)."]}})
    with serving(None, "read:one", "write:two", "rules:three", mcp="write") as server:
        for token, expected in (("one", [True, True]), ("two", [False, True]), ("three", [False, False])):
            answers = called(server, facts, rules, token=token)
            assert [answer.is_error for answer in answers] == expected, answers
        (tried,) = called(server, ("transact", {"delete": {"edge": [[4, 5]]}, "dry_run": True}), token="three")
        assert tried.structured_content["dry_run"] is True
        assert (4, 5) in server.db["edge"]
        for headers in ({}, {"Authorization": "Bearer other"}, {"Origin": "http://example.org"}):
            answer = server.send("POST", "/mcp", "{}", **headers)
            assert answer.problem["code"] == "E0693"
    with serving() as server:
        assert server.send("POST", "/mcp", "{}").status == 404
