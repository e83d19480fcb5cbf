"""/mcp: the paths of the server as tools of the Model Context Protocol, for programs that talk to language models.

A tool makes a request of the server's own interface, with the headers of its client. So tokens, limits and errors are
those of the interface, and there is no second way into the database.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote, urlencode

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tidelog.version import __version__

_TEXT: dict[str, Any] = {"type": "string"}
_TUPLE = {"relation": _TEXT, "tuple": {"type": "array", "description": "the values of the tuple, by columns"}}
_LIMIT = {"limit": {"type": "integer", "minimum": 0}}
_CURSOR = {"cursor": {**_TEXT, "description": "the cursor of the page before"}}
_HEADERS = (b"authorization", b"host", b"origin")
_INSTRUCTIONS = "tidelog keeps views of facts by Datalog rules. Begin with `relations` and `rules`."


@dataclass(frozen=True)
class McpTool:
    """A tool, and the request that it makes: its arguments are parameters of the path, or the members of a body."""

    text: str
    path: str
    arguments: dict[str, Any] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    method: str = "GET"
    writes: bool = False


_FACTS = {"type": "object", "additionalProperties": {"type": "array"}, "description": "rows by relation"}
_RULE_CHANGES = {
    "type": "object",
    "properties": {key: {"type": "array", "items": _TEXT} for key in ("add", "replace", "remove")},
    "description": "texts of rules to add, texts that may be there already, and names of rules to remove",
}
TOOLS = {
    "relations": McpTool("All relations with their columns, sizes and rules", "/v1/relations"),
    "rows": McpTool(
        "Rows of a relation, a page at a time",
        "/v1/relations/{relation}",
        {
            "relation": _TEXT,
            "filter": {"type": "object", "description": "values by column"},
            "order": {**_TEXT, "description": "columns such as x,y"},
            **_LIMIT,
            **_CURSOR,
        },
        ("relation",),
    ),
    "query": McpTool(
        "The answer to an atom, a path, or the body of a rule, such as edge(x, y), x < y",
        "/v1/query",
        {"query": _TEXT, "parameters": {"type": "object", "description": "values of variables"}, **_LIMIT, **_CURSOR},
        method="POST",
    ),
    "explain": McpTool("Proofs of a tuple", "/v1/explain", {**_TUPLE, **_LIMIT}, tuple(_TUPLE)),
    "why_not": McpTool("Why a relation does not have a tuple", "/v1/why-not", _TUPLE, tuple(_TUPLE)),
    "ways_to_remove": McpTool(
        "Sets of facts without which a relation would not have a tuple",
        "/v1/ways-to-remove",
        {**_TUPLE, **_LIMIT},
        tuple(_TUPLE),
    ),
    "ways_to_derive": McpTool(
        "Sets of facts with which a relation would have a tuple",
        "/v1/ways-to-derive",
        {**_TUPLE, **_LIMIT},
        tuple(_TUPLE),
    ),
    "blame": McpTool("Since which epoch a tuple is there", "/v1/blame", _TUPLE, tuple(_TUPLE)),
    "rules": McpTool("The rules with their names and texts", "/v1/rules"),
    "stats": McpTool("Sizes, totals, and the reports of the last epochs", "/v1/stats"),
    "check": McpTool("Check the views of the last epoch, independent of the engine", "/v1/check", method="POST"),
    "transact": McpTool(
        "Change facts and rules together, as one epoch; with dry_run only say what would change",
        "/v1/transactions",
        {"insert": _FACTS, "delete": _FACTS, "rules": _RULE_CHANGES, "dry_run": {"type": "boolean"}},
        method="POST",
        writes=True,
    ),
}


class McpPath:
    """The application of ASGI for /mcp. `interface` answers the requests of tools, `check` raises for clients without
    access; `writes` offers the tools that change something. `manager` has to run."""

    def __init__(
        self, interface: Callable[[], ASGIApp], check: Callable[[Request], object], most: int, *, writes: bool
    ) -> None:
        self._interface = interface
        self._check = check
        self._tools = {name: tool for name, tool in TOOLS.items() if writes or not tool.writes}
        server: Server[Any] = Server(
            "tidelog",
            version=__version__,
            instructions=_INSTRUCTIONS,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )
        self.manager = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=most
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._check(Request(scope))
        await self.manager.handle_request(scope, receive, send)

    async def _list(self, _: object, __: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool_description(name, tool) for name, tool in self._tools.items()])

    async def _call(self, context: Any, call: types.CallToolRequestParams) -> types.CallToolResult:
        tool, given = self._tools.get(call.name), dict(call.arguments or {})
        if tool is None:
            return _error_result(f"there is no tool {call.name!r}; use one of {', '.join(self._tools)}")
        lost = [name for name in tool.required if name not in given]
        unknown = [name for name in given if name not in tool.arguments]
        if lost or unknown:
            return _error_result(
                f"error[E0692]: the tool {call.name} has the arguments {', '.join(tool.arguments) or '(none)'};"
                f" {f'missing: {lost}' if lost else f'unknown: {unknown}'}"
            )
        status, data = await _answer(self._interface(), context.request.scope, tool, given)
        found = json.loads(data)
        if status < 400:  # The first status of errors.
            return types.CallToolResult(content=[_text(data.decode())], structured_content=found)
        hint = f"\n  hint: {found['hint']}" if found.get("hint") else ""
        place = f"{found['place']}: " if found.get("place") else ""
        return _error_result(f"error[{found['code']}]: {place}{found['detail']}{hint}", found)


def _tool_description(name: str, tool: McpTool) -> types.Tool:
    schema = {
        "type": "object",
        "properties": tool.arguments,
        "required": list(tool.required),
        "additionalProperties": False,
    }
    notes = types.ToolAnnotations(read_only_hint=not tool.writes, destructive_hint=tool.writes, open_world_hint=False)
    return types.Tool(name=name, description=tool.text, input_schema=schema, annotations=notes)


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


def _error_result(text: str, document: Any = None) -> types.CallToolResult:
    return types.CallToolResult(content=[_text(text)], structured_content=document, is_error=True)


async def _answer(interface: ASGIApp, scope: Scope, tool: McpTool, given: dict[str, Any]) -> tuple[int, bytes]:
    """Return the status and the body of the answer to the request of a tool."""
    path, parameters, body = tool.path, dict[str, str](), b""
    if "{relation}" in path:
        path = path.replace("{relation}", quote(str(given.pop("relation")), safe=""))
    if given.pop("dry_run", False):
        parameters["dry_run"] = "true"
    if tool.method == "POST":
        body = json.dumps(given).encode() if tool.arguments else b""
    else:
        filters = given.pop("filter", {})
        parameters |= {f"filter[{name}]": _plain(value) for name, value in dict(filters).items()}
        parameters |= {name: _plain(value) for name, value in given.items()}
    headers = [each for each in scope["headers"] if each[0] in _HEADERS]
    headers += [(b"content-type", b"application/json"), (b"accept", b"application/json")]
    request = {
        **scope, "method": tool.method, "path": unquote(path), "raw_path": path.encode(), "root_path": "",
        "query_string": urlencode(parameters).encode(), "headers": headers,
    }  # fmt: skip
    for name in ("app", "router", "endpoint", "route", "path_params", "starlette.exception_handlers"):
        request.pop(name, None)
    status, parts, sent = 0, list[bytes](), False

    async def receive() -> Message:
        nonlocal sent
        if sent:
            await asyncio.Event().wait()  # The client is there until the task of its call is cancelled.
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        else:
            parts.append(message.get("body", b""))

    await interface(request, receive, send)
    return status, b"".join(parts)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
