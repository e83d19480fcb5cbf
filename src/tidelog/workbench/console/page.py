"""The page of the console: its HTML, its modules by name, and the policy that a browser holds it to.

The modules import each other by names, such as `console/api`. A map in the page says where each of them is: at an
address of the server, or inside of the page, where that is a file. So nothing has to be built. A page as a file has the
relations, rules and reports of one epoch inside.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tidelog.database.database import Database
from tidelog.database.snapshots import Snapshot
from tidelog.durable.whole_files import write_whole
from tidelog.io.json_values import plain, rows_text
from tidelog.workbench.describing import graph_of, relations_of, rules_of

ASSETS = Path(__file__).parent / "assets"
LATER = {"dagre": "vendor/dagre.js"}
"""Libraries that a page loads when it needs them."""
LIBRARIES = {"preact": "vendor/preact.js", "preact/hooks": "vendor/hooks.js", "htm": "vendor/htm.js", **LATER}
MAIN = "console/main"
STYLE = "console.css"
ICON = "icon.svg"

_POLICY = {
    "default-src": "'none'",
    "img-src": "'self' data:",
    "base-uri": "'none'",
    "form-action": "'none'",
    "require-trusted-types-for": "'script'",
}


def modules() -> dict[str, str]:
    """Return the files of the modules, relative to `ASSETS`, by the names under which they import each other."""
    own = {f"console/{file.stem}": file.name for file in sorted(ASSETS.glob("*.js"))}
    return LIBRARIES | own


@cache
def page_at(base: str) -> tuple[str, str]:
    """Return the page with its files under the address `base`, and its Content-Security-Policy."""
    imports = import_map({name: base + file for name, file in modules().items()})
    # All modules are loaded at once: a browser finds out only one by one which ones the others import.
    links = {ICON: "icon", STYLE: "stylesheet"}
    links |= {file: "modulepreload" for name, file in modules().items() if name not in LATER}
    lines = [f'<script type="importmap">{imports}</script>']
    lines += [f'<link rel="{relation}" href="{base}{file}">' for file, relation in links.items()]
    head = "\n".join(lines)
    rules = {
        "script-src": f"'self' '{digest(imports)}'",
        "style-src": "'self'",
        "connect-src": "'self'",
        "frame-ancestors": "'none'",
    }
    return page(head, base + modules()[MAIN]), policy(rules)


def page(head: str, main: str, data: str = "") -> str:
    """Return a page with these elements in its head, the address of its main module, and elements with data."""
    return Path(__file__).with_name("page.html").read_text("utf-8").format(head=head, main=main, data=data)


def policy(rules: Mapping[str, str]) -> str:
    """Return a Content-Security-Policy: what is not allowed by `rules` is forbidden."""
    return "; ".join(f"{name} {value}" for name, value in (_POLICY | dict(rules)).items())


def import_map(addresses: Mapping[str, str]) -> str:
    """Return the text of a map from the names of modules to addresses."""
    return json.dumps({"imports": dict(addresses)})


def digest(text: str) -> str:
    """Return the hash by which a policy allows an element with a text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


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
    element = f'<script type="application/json" id="snapshot">{_escape(data)}</script>\n'
    return page(head, addresses[MAIN], element)


def _inline(media_type: str, file: Path) -> str:
    return f"data:{media_type};base64,{base64.b64encode(file.read_bytes()).decode()}"


def _escape(data: str) -> str:
    """Return JSON whose texts do not end the element of a page that it stands in."""
    return data.replace("<", "\\u003c")
