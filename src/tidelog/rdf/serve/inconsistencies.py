"""/inconsistencies: the contradictions of a store with the triples from which they follow."""

from __future__ import annotations

import json

from starlette.requests import Request
from starlette.responses import Response

from tidelog.rdf.justifications import justified
from tidelog.rdf.store import Store
from tidelog.serve.answering import answered
from tidelog.serve.bodies import ServerLimits
from tidelog.serve.media import MediaFormat, accepted

_JSON = MediaFormat("application/json", "json")


async def inconsistencies(request: Request, store: Store, _: ServerLimits) -> Response:
    """Return a list of objects in JSON: the rule, the terms that clash, and the asserted triples from which that
    follows.

    Raise LimitError beyond the time limit of the store, and RequestError: E0694 (406).
    """
    accepted(request, (_JSON,))
    found = await answered(request, lambda: [each.to_dict() for each in justified(store.justifications())])
    headers = {"Cache-Control": "no-store"}
    return Response(json.dumps(found, ensure_ascii=False), media_type=_JSON.media_type, headers=headers)
