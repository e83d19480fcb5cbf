"""Clients of `tidelog serve`, whose server is in the same process."""

from __future__ import annotations

import re
from typing import Any

from tests.fuzz.verbs.databases import contents
from tests.fuzz.verbs.kind import Kind, Known
from tests.workbench.serving import Server, serving
from tidelog.client.database import RemoteDatabase

_BEGIN = """
server = stack.enter_context(serving())
server.db.options(max_rows=1000)
db = tidelog.connect(server.address, token=None)
db.insert("mixed", [("a", 1.5, 2, (3, 4))]); change = db.commit(); kept = kept2 = db["edge"]
"""


def _state(known: Known) -> dict[str, Any]:
    db: RemoteDatabase = known["db"]
    server: Server = known["server"]
    waiting = {
        "facts": {name: list(rows.values()) for name, rows in db._facts.items()},
        "keys": dict(db._keys),
        "equal": dict(db._duplicates),
        "rules": (list(db._added), list(db._replaced), list(db._removed)),
        "pending": db.has_pending,
    }
    return {"waiting": repr(waiting), **contents(server.db)}


CLIENTS = Kind(
    name="clients",
    relations={
        "edge": "x number y number", "path": "x number y number", "nope": "x number", "late": "x number",
        "mixed": "s symbol f float u unsigned p Point",
    },
    names={"serving": serving, "RemoteDatabase": RemoteDatabase},
    begin=_BEGIN,
    state=_state,
    changing=re.compile(r"\b(insert|delete|load|remove|commit|rollback|close|with|what_if|connect)\b"),
    check="db.close(); db = tidelog.connect(server.address, token=None); db.check()",
    reopen="db.close()",
)  # fmt: skip
