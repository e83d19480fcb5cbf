"""/mcp: the paths of the server as tools of the Model Context Protocol, for programs that talk to language models.

A tool makes a request of the server's own interface, with the headers of its client. So tokens, limits and errors are
those of the interface, and there is no second way into the database.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote, urlencode

import mcp_types as types
import msgspec
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tidelog.version import __version__
from tidelog.workbench.bodies import JSON
from tidelog.workbench.routes import PATHS, ServerPath

_HEADERS = (b"authorization", b"host", b"origin")
_INSTRUCTIONS = "tidelog keeps views of facts by Datalog rules. Begin with `relations` and `rules`."
_FOR_CLIENTS = "instances"
"""The parameter that makes explanations larger, for programs that check them."""
_NAMED = {
    "relation": {"type": "string"},
    "filter": {"type": "object", "description": "values by column"},
}
"""The arguments that stand for the name in a path."""


class McpTool:
    """A tool that makes the request of a path. Its arguments are the name in the path, the parameters, and the members
    of the body."""

    def __init__(self, path: ServerPath) -> None:
        self.path = path
        body = path.body.get(JSON.media_type)
        named = _NAMED if "{name}" in path.path else {}
        parameters = {name: _argument(each) for name, each in path.parameters.items() if name != _FOR_CLIENTS}
        members, self._definitions = _members(body) if isinstance(body, type) else ({}, {})
        self.arguments = {**named, **parameters, **members}
        self.required = ("relation",) if named else path.required

    def description(self) -> types.Tool:
        """Return the tool as the protocol describes it."""
        schema = {
            "type": "object",
            "properties": self.arguments,
            "required": list(self.required),
            "additionalProperties": False,
            "$defs": self._definitions,
        }
        writes = self.path.right != "read"
        notes = types.ToolAnnotations(read_only_hint=not writes, destructive_hint=writes, open_world_hint=False)
        return types.Tool(name=self.path.tool, description=self.path.summary, input_schema=schema, annotations=notes)


def _argument(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an argument for a parameter: what a parameter spells as text is a value."""
    if schema.get("enum") == ["", "true", "false"]:
        return {"type": "boolean"}
    found: dict[str, Any] = schema.get("contentSchema", schema)
    return found


def _members(body: type) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the schemas of the members of a body, and the definitions that they refer to."""
    (root,), definitions = msgspec.json.schema_components([body], ref_template="#/$defs/{name}")
    return definitions.pop(root["$ref"].rpartition("/")[2])["properties"], definitions


class McpPath:
    """The application of ASGI for /mcp. `interface` answers the requests of tools, `check` raises for clients without
    access; `writes` offers the tools that change something. `manager` has to run."""

    def __init__(
        self, interface: Callable[[], ASGIApp], check: Callable[[Request], object], most: int, *, writes: bool
    ) -> None:
        self._interface = interface
        self._check = check
        self._tools = {each.tool: McpTool(each) for each in PATHS if each.tool and (writes or each.right == "read")}
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
        return types.ListToolsResult(tools=[tool.description() for tool in self._tools.values()])

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


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


def _error_result(text: str, document: Any = None) -> types.CallToolResult:
    return types.CallToolResult(content=[_text(text)], structured_content=document, is_error=True)


async def _answer(interface: ASGIApp, scope: Scope, tool: McpTool, given: dict[str, Any]) -> tuple[int, bytes]:
    """Return the status and the body of the answer to the request of a tool."""
    path, parameters = tool.path.path, dict[str, str]()
    if "{name}" in path:
        path = path.replace("{name}", quote(str(given.pop("relation")), safe=""))
        filters = given.pop("filter", {})
        parameters |= {f"filter[{name}]": _plain(value) for name, value in dict(filters).items()}
    parameters |= {name: _plain(given.pop(name)) for name in tool.path.parameters if name in given}
    body = json.dumps(given).encode() if tool.path.body else b""
    headers = [each for each in scope["headers"] if each[0] in _HEADERS]
    headers += [(b"content-type", b"application/json"), (b"accept", b"application/json")]
    request = {
        **scope, "method": tool.path.method, "path": unquote(path), "raw_path": path.encode(), "root_path": "",
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
