"""/v1/explain, /v1/why-not, /v1/undo, /v1/repair, /v1/blame: why tuples are there, or are not."""

from __future__ import annotations

from itertools import islice
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tidelog.explain.enumeration import Enumeration
from tidelog.io.json_values import with_branches
from tidelog.io.rows import place_in
from tidelog.serve.answering import answered
from tidelog.serve.bodies import Parameters, of_address
from tidelog.serve.problems import bad_request
from tidelog.workbench.rows import as_json, limit_of
from tidelog.workbench.service import Service

_MOST = 10
"""Explanations of an answer that asks for no other number."""


async def explain(request: Request, service: Service) -> Response:
    """Return proofs of a tuple, the smallest first: one, or `limit` of them."""

    def find(relation: str, values: Any, limit: int | None) -> dict[str, Any]:
        with service.db.snapshot() as snapshot:
            if limit is None:
                return {"epoch": snapshot.epoch, "proofs": [_one(snapshot.explain(relation, values))]}
            found = snapshot.explain(relation, values, all=True)
            return {"epoch": snapshot.epoch, **_several("proofs", found, limit)}

    return await _answered(request, service, find)


async def why_not(request: Request, service: Service) -> Response:
    """Return how far the rules of a relation come towards a tuple that it does not have."""

    def find(relation: str, values: Any, _: int | None) -> dict[str, Any]:
        with service.db.snapshot() as snapshot:
            return {"epoch": snapshot.epoch, "absence": snapshot.why_not(relation, values).to_dict()}

    return await _answered(request, service, find)


async def blame(request: Request, service: Service) -> Response:
    """Return since which epoch a relation has a tuple, by which facts and rules."""

    def find(relation: str, values: Any, _: int | None) -> dict[str, Any]:
        with service.db.snapshot() as snapshot:
            return {"epoch": snapshot.epoch, "blame": snapshot.blame(relation, values).to_dict()}

    return await _answered(request, service, find)


async def undo(request: Request, service: Service) -> Response:
    """Return the smallest sets of facts, or with `rules` of rules, without which a tuple would go."""

    def find(relation: str, values: Any, limit: int | None) -> dict[str, Any]:
        by_rules = of_address(request).one("rules") in ("", "true")
        return _several("removals", service.db.ways_to_remove(relation, values, rules=by_rules), limit)

    return await _answered(request, service, find, "rules")


async def repair(request: Request, service: Service) -> Response:
    """Return the smallest sets of facts that would make a relation have a tuple."""

    def find(relation: str, values: Any, limit: int | None) -> dict[str, Any]:
        return _several("additions", service.db.ways_to_derive(relation, values), limit)

    return await _answered(request, service, find)


async def _answered(request: Request, service: Service, find: Any, *more: str) -> Response:
    parameters = of_address(request)
    allowed = ("relation", "tuple", "limit", *more)
    for name, _ in parameters.pairs:
        if name not in allowed:
            raise bad_request(f"there is no parameter {name!r}", f"use {', '.join(allowed)}")
    relation, limit = parameters.one("relation"), limit_of(parameters)
    if relation is None:
        raise bad_request("the parameter `relation` is missing", "pass relation=NAME and tuple=[VALUES] in JSON")
    values = _values(parameters, service, relation)
    return as_json(await answered(request, lambda: find(relation, values, limit), service.limits.memory))


def _values(parameters: Parameters, service: Service, relation: str) -> tuple[Any, ...]:
    """Return the tuple that a request is about."""
    try:
        found = msgspec.json.decode(parameters.one("tuple") or "null")
    except (msgspec.DecodeError, RecursionError) as error:
        raise bad_request(f"the parameter `tuple` is no JSON: {error}", "pass a list such as tuple=[1,2]") from None
    if not isinstance(found, list):
        raise bad_request("the parameter `tuple` is no list", "pass a list such as tuple=[1,2]")
    declared = service.db.workspace.relation(relation)
    (row,) = with_branches([found], declared, service.db.workspace.dictionary, place_in(relation))
    return tuple(row)


def _several(name: str, found: Any, limit: int | None) -> dict[str, Any]:
    """Return the first explanations, and whether there may be more."""
    most = _MOST if limit is None else limit
    items = list(islice(found, most + 1))
    partial = isinstance(found, Enumeration) and found.is_partial
    return {name: [_one(each) for each in items[:most]], "more": len(items) > most or partial}


def _one(found: Any) -> Any:
    """Return an explanation as JSON has it: a proof, or facts."""
    if hasattr(found, "to_dict"):
        return found.to_dict()
    facts = found.facts if hasattr(found, "facts") else found
    return [[name, list(row)] for name, row in facts]
