"""The paths of the interface: who answers each, the right that it needs, and its part of the OpenAPI document."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tidelog.serve.access import Right
from tidelog.serve.problems import bad_request
from tidelog.serve.requests import of_address
from tidelog.version import __version__
from tidelog.workbench import explaining, following, reading, status, transactions
from tidelog.workbench.bodies import ARROW, CSV, JSON, NDJSON, PlanBody, QueryBody, TransactionBody
from tidelog.workbench.service import Service

PathAnswer: TypeAlias = Callable[[Request, Service], Awaitable[Response]]

_JSON = JSON.media_type
_ROWS = (_JSON, NDJSON.media_type, CSV.media_type, ARROW.media_type)
_FLAG = {"type": "string", "enum": ["", "true", "false"]}
_NUMBER = {"type": "integer", "minimum": 0, "maximum": 10**15 - 1}
_TEXT = {"type": "string"}
_MEMBERS = {"oneOf": [_NUMBER, {"type": "string", "enum": ["all"]}]}
_VALUES = {"type": "array", "description": "the values of the tuple, by columns"}
_TUPLE = {"relation": _TEXT, "tuple": {**_TEXT, "contentMediaType": _JSON, "contentSchema": _VALUES}}
_ORDER = {**_TEXT, "description": "columns such as x,y"}
_CURSOR = {**_TEXT, "description": "the cursor of the page before"}
_PARTS = {
    "type": "object",
    "description": "Arrow streams `insert.RELATION` and `delete.RELATION`, and a part `transaction` in JSON",
    "properties": {"transaction": {"type": "string"}},
    "additionalProperties": {"type": "string", "contentMediaType": ARROW.media_type},
}
BodySchema: TypeAlias = "type[msgspec.Struct] | dict[str, Any]"


@dataclass(frozen=True)
class ServerPath:
    """A path with a method; without `answer`, the application answers it in its own way.

    The description has the `members` that the answer in JSON has, the `parameters` by name, those `required`, and the
    media types of answers and of a `body`, these with their schemas. An open path needs no token. A path with a name as
    `tool` is one of /mcp.
    """

    path: str
    answer: PathAnswer | None
    summary: str
    members: tuple[str, ...] = ()
    parameters: dict[str, Any] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    types: tuple[str, ...] = (_JSON,)
    headers: tuple[str, ...] = ()
    body: dict[str, BodySchema] = field(default_factory=dict)
    right: Right = "read"
    method: str = "GET"
    is_open: bool = False
    tool: str = ""

    @property
    def has_filter(self) -> bool:
        """Return True if `filter[COLUMN]` are parameters as well."""
        return self.path.endswith("{name}")

    def check_parameters(self, request: Request) -> None:
        """Raise RequestError (E0692) for a parameter that the path does not have."""
        for name, _ in of_address(request).pairs if self.parameters else ():
            if name not in self.parameters and not (self.has_filter and reading.FILTER.fullmatch(name)):
                names = [*self.parameters, "filter[COLUMN]"] if self.has_filter else self.parameters
                raise bad_request(f"there is no parameter {name!r}", f"use {', '.join(names)}")


def _about(path: str, answer: PathAnswer, summary: str, *members: str, **parameters: Any) -> ServerPath:
    """Return the path that explains a tuple."""
    return ServerPath(
        path,
        answer,
        summary,
        ("epoch", *members),
        {**_TUPLE, **parameters},
        ("relation", "tuple"),
        tool=answer.__name__,
    )


def _plain(path: str, summary: str, *, is_open: bool = True) -> ServerPath:
    return ServerPath(path, None, summary, types=("text/plain",), is_open=is_open)


_OF_WAYS = {"limit": _NUMBER, "instances": _FLAG}
_PAGE = ("epoch", "relation", "columns", "total", "rows", "cursor")
PATHS = (
    ServerPath(
        "/v1/relations",
        reading.relations,
        "All relations with their columns, sizes and rules",
        ("epoch", "relations", "records"),
        tool="relations",
    ),
    ServerPath(
        "/v1/relations/{name}",
        reading.relation,
        "Rows of a relation, a page at a time",
        _PAGE,
        {"order": _ORDER, "descending": _FLAG, "limit": _NUMBER, "cursor": _CURSOR, "asserted": _FLAG},
        types=_ROWS,
        tool="rows",
    ),
    ServerPath(
        "/v1/relations/{name}/decode",
        reading.decode,
        "The rows of a file for a relation",
        ("relation", "rows"),
        {"file": _TEXT},
        ("file",),
        body={"application/octet-stream": {}},
        method="POST",
    ),
    ServerPath(
        "/v1/query",
        reading.query,
        "The answer to an atom, a path, or the body of a rule, such as edge(x, y), x < y",
        _PAGE,
        types=_ROWS,
        body={_JSON: QueryBody},
        method="POST",
        tool="query",
    ),
    ServerPath(
        "/v1/query-plan",
        reading.query_plan,
        "How a query would be evaluated",
        ("epoch", "rules"),
        body={_JSON: PlanBody},
        method="POST",
    ),
    _about(
        "/v1/explain",
        explaining.explain,
        "Proofs of a tuple",
        "proofs",
        limit=_NUMBER,
        members=_MEMBERS,
        instances=_FLAG,
    ),
    _about(
        "/v1/why-not",
        explaining.why_not,
        "Why a relation does not have a tuple",
        "absence",
        depth=_NUMBER,
        instances=_FLAG,
    ),
    _about(
        "/v1/ways-to-remove",
        explaining.ways_to_remove,
        "Sets of facts, or rules, without which a relation would not have a tuple",
        "more",
        "partial",
        "removals",
        **_OF_WAYS,
        rules=_FLAG,
    ),
    _about(
        "/v1/ways-to-derive",
        explaining.ways_to_derive,
        "Sets of facts with which a relation would have a tuple",
        "more",
        "partial",
        "additions",
        **_OF_WAYS,
    ),
    _about("/v1/blame", explaining.blame, "Since which epoch a tuple is there", "blame", instances=_FLAG),
    ServerPath("/v1/program", status.program, "The program as one text", ("epoch", "text", "sha256")),
    ServerPath(
        "/v1/rules",
        status.rules,
        "The rules with their names and texts",
        ("epoch", "rules", "hyper_nodes"),
        tool="rules",
    ),
    ServerPath(
        "/v1/graph",
        status.graph,
        "The rule graph, and what the last epochs did in it",
        ("epoch", "boxes", "arrows", "epochs"),
    ),
    ServerPath(
        "/v1/profile",
        status.profile,
        "Where the time of the last epochs went",
        ("epoch", "recording", "seconds", "rules", "steps", "epochs"),
    ),
    ServerPath(
        "/v1/stats",
        status.stats,
        "Sizes, totals, and the reports of the last epochs",
        ("epoch", "stats", "epochs"),
        tool="stats",
    ),
    ServerPath("/v1/check", status.last_check, "The result of the last check", ("epoch", "last")),
    ServerPath(
        "/v1/check",
        status.check,
        "Check the views of the last epoch, independent of the engine",
        ("epoch", "ok", "wrong", "seconds"),
        types=(_JSON, NDJSON.media_type),
        method="POST",
        tool="check",
    ),
    ServerPath(
        "/v1/certificate",
        status.certificate,
        "The certificate of the last epoch, as a zip file",
        types=("application/zip",),
    ),
    ServerPath(
        "/v1/changes",
        following.changes,
        "The changes of epochs, as server-sent events",
        parameters={"since": _NUMBER, "relation": {"type": "array", "items": _TEXT}},
        types=("text/event-stream",),
        headers=("Last-Event-ID",),
    ),
    ServerPath(
        "/v1/transactions",
        transactions.transactions,
        "Change facts and rules together, as one epoch; with dry_run only say what would change",
        ("epoch",),
        {"dry_run": _FLAG, "change": {"type": "string", "enum": ["rows", "sizes"]}},
        headers=("Idempotency-Key",),
        body={_JSON: TransactionBody, "multipart/form-data": _PARTS},
        right="write",
        method="POST",
        tool="transact",
    ),
    ServerPath("/v1/openapi.json", None, "This document", ("openapi", "paths"), is_open=True),
    _plain("/metrics", "Metrics in the text format of Prometheus", is_open=False),
    _plain("/healthz", "Whether the process answers"),
    _plain("/readyz", "Whether the store has been opened"),
)

# --- the OpenAPI document --------------------------------------------------------------------------------------------

_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": dict.fromkeys(("type", "title", "detail", "code", "hint", "place"), _TEXT)
    | {"status": {"type": "integer"}},
}
_FILTER = {
    "name": "filter",
    "in": "query",
    "style": "deepObject",
    "explode": True,
    "description": "values of columns: filter[x]=5",
    "schema": {"type": "object", "additionalProperties": _TEXT},
}


def document() -> dict[str, Any]:
    """Return the document, of OpenAPI 3.1."""
    kinds = [schema for path in PATHS for schema in path.body.values() if isinstance(schema, type)]
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    known = dict(zip(kinds, schemas, strict=True))
    paths: dict[str, Any] = {}
    for each in PATHS:
        described = paths.setdefault(each.path, {})[each.method.lower()] = _operation(each)
        contents = {
            media: {"schema": known[schema] if isinstance(schema, type) else schema} if schema else {}
            for media, schema in each.body.items()
        }
        if contents:
            described["requestBody"] = {"required": True, "content": contents}
    return {
        "openapi": "3.1.0",
        "info": {"title": "tidelog", "version": __version__, "description": "Views that follow facts and rules."},
        "paths": paths,
        "components": {
            "schemas": {**components, "Problem": _PROBLEM},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "basic": {"type": "http", "scheme": "basic", "description": "the token is the password"},
            },
        },
        "security": [{"bearer": []}, {"basic": []}, {}],
    }


def _operation(path: ServerPath) -> dict[str, Any]:
    found: list[dict[str, Any]] = [
        {"name": name, "in": "query", "required": name in path.required, "schema": schema}
        for name, schema in path.parameters.items()
    ]
    found += [{"name": name, "in": "header", "schema": _TEXT} for name in path.headers]
    if "{name}" in path.path:
        found.append({"name": "name", "in": "path", "required": True, "schema": _TEXT})
        found += [_FILTER] if path.has_filter else []
    answer = {"type": "object", "required": list(path.members)}
    content = {each: {"schema": answer} if each == _JSON else {} for each in path.types}
    problem = {"schema": {"$ref": "#/components/schemas/Problem"}}
    described: dict[str, Any] = {
        "summary": path.summary,
        "parameters": found,
        "responses": {
            "200": {"description": "OK", "content": content},
            "default": {
                "description": "A problem document (RFC 9457)",
                "content": {"application/problem+json": problem},
            },
        },
    }
    return {**described, "security": []} if path.is_open else described
