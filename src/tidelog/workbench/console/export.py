"""The console as one file, with the relations, rules and reports of one epoch inside."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tidelog.database.database import Database
from tidelog.database.snapshots import Snapshot
from tidelog.durable.whole_files import write_whole
from tidelog.io.json_values import plain, rows_text
from tidelog.workbench.console.page import ASSETS, ICON, MAIN, STYLE, digest, import_map, modules, page, policy
from tidelog.workbench.describing import graph_of, relations_of, rules_of

MOST_ROWS = 1_000
"""Rows of a relation that a file has at most."""


def save_page(
    db: Database, path: Path, epochs: Sequence[dict[str, Any]] = (), check: dict[str, Any] | None = None
) -> None:
    """Write the page of the last committed epoch to a file, with the reports of epochs and the result of a check.

    It has the first `MOST_ROWS` rows of each relation. Raise DataError (E0412) if the file cannot be written.
    """
    with db.snapshot() as snapshot, db.turns.using:
        text = _page(_data(snapshot, db, epochs, check))
    write_whole(path, text.encode())


def _data(snapshot: Snapshot, db: Database, epochs: Sequence[dict[str, Any]], check: dict[str, Any] | None) -> str:
    """Return the data of a page as JSON."""
    described = {
        "relations": relations_of(snapshot),
        "rules": rules_of(snapshot),
        "graph": graph_of(db.workspace.committed.core, snapshot.epoch, epochs),
        "profile": db.profile().to_dict(plans=False),
        "check": {"epoch": snapshot.epoch, "last": check},
    }
    rows = (f"{json.dumps(name)}: {_rows(snapshot, name)}" for name in snapshot.relations)
    # Rows are JSON already, with numbers of all 64 bits and infinities, which `json` would write in another way.
    return f'{json.dumps(plain(described))[:-1]}, "rows": {{{", ".join(rows)}}}}}'


def _rows(snapshot: Snapshot, name: str) -> str:
    relation = snapshot[name]
    head = {
        "epoch": snapshot.epoch,
        "columns": [{"name": each.name, "type": str(each.type)} for each in relation.columns],
        "total": len(relation),
    }
    rows = rows_text(relation.words()[:MOST_ROWS], relation.columns, snapshot.workspace.dictionary)
    return f'{json.dumps(head)[:-1]}, "rows": {rows}}}'


def _page(data: str) -> str:
    style = (ASSETS / STYLE).read_text("utf-8")
    addresses = {name: _inline("text/javascript", ASSETS / file) for name, file in modules().items()}
    imports = import_map(addresses)
    rules = {"script-src": f"data: '{digest(imports)}'", "style-src": f"'{digest(style)}'"}
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{policy(rules)}">\n'
        f'<link rel="icon" href="{_inline("image/svg+xml", ASSETS / ICON)}">\n'
        f'<style>{style}</style>\n<script type="importmap">{imports}</script>'
    )
    element = f'<script type="application/json" id="snapshot">{_escaped(data)}</script>\n'
    return page(head, addresses[MAIN], element)


def _inline(media_type: str, file: Path) -> str:
    return f"data:{media_type};base64,{base64.b64encode(file.read_bytes()).decode()}"


def _escaped(data: str) -> str:
    """Return JSON whose texts do not end the element of a page that it stands in."""
    return data.replace("<", "\\u003c")
