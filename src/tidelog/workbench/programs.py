"""/v1/rules, /v1/graph, /v1/stats: the program, and how the engine follows it."""

from __future__ import annotations

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from tidelog.language.paths import steps
from tidelog.language.syntax import Atom, Rule
from tidelog.language.trees import walk
from tidelog.rules.outline import is_written, outline
from tidelog.workbench.rows import as_json
from tidelog.workbench.service import Service


async def rules(request: Request, service: Service) -> Response:
    """Return the rules with their names and texts, and the relations that they derive and read."""

    def find() -> dict[str, Any]:
        with service.db.snapshot() as snapshot:
            found = [
                {
                    "name": rule.name,
                    "text": str(rule),
                    "heads": [head.relation for head in rule.heads],
                    "reads": _reads(rule),
                }
                for rule in snapshot.program.texts
            ]
            return {
                "epoch": snapshot.epoch,
                "rules": found,
                "hyper_nodes": [list(each) for each in snapshot.hyper_nodes],
            }

    return as_json(await run_in_threadpool(find))


def _reads(rule: Rule) -> list[str]:
    """Return the relations in the body of a rule."""
    atoms = [node for node in walk(rule.body) if isinstance(node, Atom)]
    names = [each.relation for atom in atoms for each in (steps(atom.path) if atom.path is not None else (atom,))]
    return sorted(set(names))


async def graph(request: Request, service: Service) -> Response:
    """Return the rule graph: boxes of hyper-nodes and given relations, with what the last epochs did in them."""

    def find() -> dict[str, Any]:
        with service.db.turns.using:
            core, number = service.db.workspace.committed.core, service.epoch
        drawn = outline(core)
        boxes = [
            {
                "sort": box.sort,
                "titles": list(box.titles),
                "rules": list(dict.fromkeys(str(rule.origin) for rule in box.rules if is_written(rule))),
                "recursive": box.recursive,
                "parts": [list(part) for part in box.parts],
            }
            for box in drawn.boxes
        ]
        arrows = [{"source": each.source, "target": each.target, "negative": each.negative} for each in drawn.arrows]
        return {"epoch": number, "boxes": boxes, "arrows": arrows, "epochs": service.history.epochs}

    return as_json(await run_in_threadpool(find))


async def stats(request: Request, service: Service) -> Response:
    """Return sizes and totals, as `db.stats()`, and the reports of the last epochs."""
    found = await run_in_threadpool(service.db.stats)
    return as_json({"epoch": service.epoch, "stats": found, "epochs": service.history.epochs})
