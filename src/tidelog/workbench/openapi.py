"""The OpenAPI document of the server."""

from __future__ import annotations

from typing import Any

import msgspec

from tidelog.version import __version__
from tidelog.workbench.bodies import QueryBody, TransactionBody

_ROWS = ("application/json", "application/x-ndjson", "text/csv", "application/vnd.apache.arrow.stream")
_TUPLE = {"relation": "string", "tuple": "string"}
_PATHS: dict[str, tuple[str, str, dict[str, str], tuple[str, ...]]] = {
    "/v1/relations": ("get", "All relations with their columns, sizes and rules", {}, ()),
    "/v1/relations/{name}": (
        "get",
        "Rows of a relation, a page at a time",
        {"order": "string", "descending": "boolean", "limit": "integer", "cursor": "string", "asserted": "boolean"},
        _ROWS,
    ),
    "/v1/query": ("post", "The answer to an atom, a path, or the body of a rule", {}, _ROWS),
    "/v1/transactions": (
        "post",
        "Facts and rules that come and go together, as one epoch",
        {"dry_run": "boolean", "change": "string"},
        (),
    ),
    "/v1/changes": (
        "get",
        "The changes of epochs, as server-sent events",
        {"since": "integer", "relation": "string"},
        ("text/event-stream",),
    ),
    "/v1/explain": ("get", "Proofs of a tuple", {**_TUPLE, "limit": "integer"}, ()),
    "/v1/why-not": ("get", "Why a relation does not have a tuple", dict(_TUPLE), ()),
    "/v1/undo": ("get", "What to remove so that a tuple goes", {**_TUPLE, "limit": "integer", "rules": "boolean"}, ()),
    "/v1/repair": ("get", "What to add so that a tuple comes", {**_TUPLE, "limit": "integer"}, ()),
    "/v1/blame": ("get", "Since which epoch a tuple is there", dict(_TUPLE), ()),
    "/v1/rules": ("get", "The rules with their names and texts", {}, ()),
    "/v1/graph": ("get", "The rule graph, and what the last epochs did in it", {}, ()),
    "/v1/stats": ("get", "Sizes, totals, and the reports of the last epochs", {}, ()),
    "/v1/check": ("post", "Check the views of the last epoch", {}, ("application/json", "application/x-ndjson")),
    "/v1/certificate": ("get", "The certificate of the last epoch, as a zip file", {}, ("application/zip",)),
    "/metrics": ("get", "Metrics in the text format of Prometheus", {}, ("text/plain",)),
    "/healthz": ("get", "Whether the process answers", {}, ("text/plain",)),
    "/readyz": ("get", "Whether the store has been opened", {}, ("text/plain",)),
}
_REQUIRED = frozenset(["relation", "tuple"])
_PROBLEM = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("type", "title", "detail", "code", "hint", "place")}
    | {"status": {"type": "integer"}},
}


def document() -> dict[str, Any]:
    """Return the document, of OpenAPI 3.1."""
    bodies, components = msgspec.json.schema_components(
        (QueryBody, TransactionBody), ref_template="#/components/schemas/{name}"
    )
    query, transaction = bodies
    paths: dict[str, Any] = {}
    for path, (method, summary, parameters, types) in _PATHS.items():
        required = frozenset[str]() if "since" in parameters else _REQUIRED
        found: list[dict[str, Any]] = [
            {
                "name": name,
                "in": "query",
                "required": name in required,
                "schema": {"type": kind},
            }
            for name, kind in parameters.items()
        ]
        if "{name}" in path:
            found.append({"name": "name", "in": "path", "required": True, "schema": {"type": "string"}})
            found.append(
                {
                    "name": "filter",
                    "in": "query",
                    "style": "deepObject",
                    "explode": True,
                    "description": "values of columns: filter[x]=5",
                    "schema": {"type": "object", "additionalProperties": {"type": "string"}},
                }
            )
        operation: dict[str, Any] = {
            "summary": summary,
            "parameters": found,
            "responses": {
                "200": {"description": "OK", "content": {each: {} for each in types or ("application/json",)}},
                "default": {
                    "description": "A problem document (RFC 9457)",
                    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
                },
            },
        }
        if path in ("/v1/query", "/v1/transactions"):
            schema = query if path == "/v1/query" else transaction
            operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
        if path == "/v1/transactions":
            operation["parameters"].append({"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}})
        paths[path] = {method: operation}
    return {
        "openapi": "3.1.0",
        "info": {"title": "tidelog", "version": __version__, "description": "Views that follow facts and rules."},
        "paths": paths,
        "components": {
            "schemas": {**components, "Problem": _PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }
