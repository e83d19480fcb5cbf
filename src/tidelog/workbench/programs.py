"""/v1/program, /v1/rules, /v1/graph, /v1/profile, /v1/stats: the program, and how the engine follows it."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tidelog.serve.answering import answered
from tidelog.workbench.describing import graph_of, rules_of
from tidelog.workbench.rows import as_json
from tidelog.workbench.service import Service


async def program(request: Request, service: Service) -> Response:
    """Return the program as one text without its facts, with the places where its statements were written."""

    def find() -> dict[str, Any]:
        with service.db.snapshot() as snapshot:
            found = service.program_of(snapshot)
            return {"epoch": snapshot.epoch, "text": found.text, "sha256": found.sha256}

    return as_json(await answered(request, find))


async def rules(request: Request, service: Service) -> Response:
    """Return the rules with their names and texts, and the relations that they derive and read."""

    def find() -> dict[str, Any]:
        with service.db.snapshot() as snapshot:
            return rules_of(snapshot)

    return as_json(await answered(request, find))


async def graph(request: Request, service: Service) -> Response:
    """Return the rule graph: boxes of hyper-nodes and given relations, with what the last epochs did in them."""

    def find() -> dict[str, Any]:
        with service.db.turns.using:
            core, number = service.db.workspace.committed.core, service.epoch
        return graph_of(core, number, service.history.epochs)

    return as_json(await answered(request, find))


async def profile(request: Request, service: Service) -> Response:
    """Return where the time of the last epochs went, as `db.profile()`: plans over all epochs, not of each."""
    found = await answered(request, lambda: service.db.profile().to_dict(plans=False))
    return as_json({"epoch": service.epoch, **found})


async def stats(request: Request, service: Service) -> Response:
    """Return sizes and totals, as `db.stats()`, and the reports of the last epochs."""
    found = await answered(request, service.db.stats)
    return as_json({"epoch": service.epoch, "stats": found, "epochs": service.history.epochs})
