"""The OpenAPI document of the server."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from tidelog.version import __version__
from tidelog.workbench.bodies import PlanBody, QueryBody, TransactionBody

_JSON = "application/json"
_NDJSON = "application/x-ndjson"
_ROWS = (_JSON, _NDJSON, "text/csv", "application/vnd.apache.arrow.stream")
_FLAG = {"type": "string", "enum": ["", "true", "false"]}
_NUMBER = {"type": "integer", "minimum": 0, "maximum": 10**15 - 1}
_TEXT = {"type": "string"}
_MEMBERS = {"oneOf": [_NUMBER, {"type": "string", "enum": ["all"]}]}
_TUPLE = {"relation": _TEXT, "tuple": {**_TEXT, "contentMediaType": _JSON, "contentSchema": {"type": "array"}}}


@dataclass(frozen=True)
class PathOperation:
    """A method of a path: its parameters by name, those without which it does not answer, the members that its answer
    in JSON has, and the media types of answers."""

    summary: str
    members: tuple[str, ...] = ()
    parameters: dict[str, Any] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    types: tuple[str, ...] = (_JSON,)
    headers: tuple[str, ...] = ()
    is_open: bool = False


def _about(summary: str, *members: str, **parameters: Any) -> PathOperation:
    """Return the operation that explains a tuple."""
    return PathOperation(summary, members, {**_TUPLE, **parameters}, ("relation", "tuple"))


def _plain(summary: str, *, is_open: bool = True) -> PathOperation:
    return PathOperation(summary, types=("text/plain",), is_open=is_open)


_WAYS = ("epoch", "more", "partial")
_OF_WAYS = {"limit": _NUMBER, "instances": _FLAG}
_PAGE = ("epoch", "relation", "columns", "total", "rows", "cursor")
_OPERATIONS: dict[str, dict[str, PathOperation]] = {
    "/v1/relations": {
        "get": PathOperation("All relations with their columns, sizes and rules", ("epoch", "relations", "records"))
    },
    "/v1/relations/{name}": {
        "get": PathOperation(
            "Rows of a relation, a page at a time",
            _PAGE,
            {"order": _TEXT, "descending": _FLAG, "limit": _NUMBER, "cursor": _TEXT, "asserted": _FLAG},
            types=_ROWS,
        )
    },
    "/v1/relations/{name}/decode": {
        "post": PathOperation("The rows of a file for a relation", ("relation", "rows"), {"file": _TEXT}, ("file",))
    },
    "/v1/query": {"post": PathOperation("The answer to an atom, a path, or the body of a rule", _PAGE, types=_ROWS)},
    "/v1/query-plan": {"post": PathOperation("How a query would be evaluated", ("epoch", "rules"))},
    "/v1/transactions": {
        "post": PathOperation(
            "Facts and rules that come and go together, as one epoch",
            ("epoch",),
            {"dry_run": _FLAG, "change": {"type": "string", "enum": ["rows", "sizes"]}},
            headers=("Idempotency-Key",),
        )
    },
    "/v1/changes": {
        "get": PathOperation(
            "The changes of epochs, as server-sent events",
            parameters={"since": _NUMBER, "relation": {"type": "array", "items": _TEXT}},
            types=("text/event-stream",),
            headers=("Last-Event-ID",),
        )
    },
    "/v1/explain": {
        "get": _about("Proofs of a tuple", "epoch", "proofs", limit=_NUMBER, members=_MEMBERS, instances=_FLAG)
    },
    "/v1/why-not": {
        "get": _about("Why a relation does not have a tuple", "epoch", "absence", depth=_NUMBER, instances=_FLAG)
    },
    "/v1/ways-to-remove": {
        "get": _about(
            "Sets of facts, or rules, without which a relation would not have a tuple",
            *_WAYS,
            "removals",
            **_OF_WAYS,
            rules=_FLAG,
        )
    },
    "/v1/ways-to-derive": {
        "get": _about("Sets of facts with which a relation would have a tuple", *_WAYS, "additions", **_OF_WAYS)
    },
    "/v1/blame": {"get": _about("Since which epoch a tuple is there", "epoch", "blame", instances=_FLAG)},
    "/v1/program": {"get": PathOperation("The program as one text", ("epoch", "text", "sha256"))},
    "/v1/rules": {"get": PathOperation("The rules with their names and texts", ("epoch", "rules", "hyper_nodes"))},
    "/v1/graph": {
        "get": PathOperation(
            "The rule graph, and what the last epochs did in it", ("epoch", "boxes", "arrows", "epochs")
        )
    },
    "/v1/profile": {
        "get": PathOperation(
            "Where the time of the last epochs went", ("epoch", "recording", "seconds", "rules", "steps", "epochs")
        )
    },
    "/v1/stats": {
        "get": PathOperation("Sizes, totals, and the reports of the last epochs", ("epoch", "stats", "epochs"))
    },
    "/v1/check": {
        "get": PathOperation("The result of the last check", ("epoch", "last")),
        "post": PathOperation(
            "Check the views of the last epoch", ("epoch", "ok", "wrong", "seconds"), types=(_JSON, _NDJSON)
        ),
    },
    "/v1/certificate": {
        "get": PathOperation("The certificate of the last epoch, as a zip file", types=("application/zip",))
    },
    "/v1/openapi.json": {"get": PathOperation("This document", ("openapi", "paths"), is_open=True)},
    "/metrics": {"get": _plain("Metrics in the text format of Prometheus", is_open=False)},
    "/healthz": {"get": _plain("Whether the process answers")},
    "/readyz": {"get": _plain("Whether the store has been opened")},
}
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
_PARTS = {
    "type": "object",
    "description": "Arrow streams `insert.RELATION` and `delete.RELATION`, and a part `transaction` in JSON",
    "properties": {"transaction": {"type": "string"}},
    "additionalProperties": {"type": "string", "contentMediaType": _ROWS[-1]},
}


def document() -> dict[str, Any]:
    """Return the document, of OpenAPI 3.1."""
    bodies, components = msgspec.json.schema_components(
        (QueryBody, PlanBody, TransactionBody), ref_template="#/components/schemas/{name}"
    )
    query, plan, transaction = bodies
    contents: dict[str, Any] = {
        "/v1/query": {_JSON: {"schema": query}},
        "/v1/query-plan": {_JSON: {"schema": plan}},
        "/v1/relations/{name}/decode": {"application/octet-stream": {}},
        "/v1/transactions": {_JSON: {"schema": transaction}, "multipart/form-data": {"schema": _PARTS}},
    }
    paths: dict[str, Any] = {}
    for path, operations in _OPERATIONS.items():
        paths[path] = {method: _operation(path, each) for method, each in operations.items()}
        if path in contents:
            paths[path]["post"]["requestBody"] = {"required": True, "content": contents[path]}
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


def _operation(path: str, operation: PathOperation) -> dict[str, Any]:
    found: list[dict[str, Any]] = [
        {"name": name, "in": "query", "required": name in operation.required, "schema": schema}
        for name, schema in operation.parameters.items()
    ]
    found += [{"name": name, "in": "header", "schema": _TEXT} for name in operation.headers]
    if "{name}" in path:
        found.append({"name": "name", "in": "path", "required": True, "schema": _TEXT})
        found += [_FILTER] if path.endswith("}") else []
    answer = {"type": "object", "required": list(operation.members)}
    content = {each: {"schema": answer} if each == _JSON else {} for each in operation.types}
    problem = {"schema": {"$ref": "#/components/schemas/Problem"}}
    described: dict[str, Any] = {
        "summary": operation.summary,
        "parameters": found,
        "responses": {
            "200": {"description": "OK", "content": content},
            "default": {
                "description": "A problem document (RFC 9457)",
                "content": {"application/problem+json": problem},
            },
        },
    }
    return {**described, "security": []} if operation.is_open else described
