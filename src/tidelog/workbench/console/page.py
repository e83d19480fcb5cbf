"""The page of the console: its HTML, its modules by name, and the policy that a browser holds it to.

The modules import each other by names, such as `console/api`. A map in the page says where each of them is: at an
address of the server, or inside of the page, where that is a file. So nothing has to be built.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ASSETS = Path(__file__).parent / "assets"
LATER = {"dagre": "vendor/dagre.js"}
"""Libraries that a page loads when it needs them."""
LIBRARIES = {"preact": "vendor/preact.js", "preact/hooks": "vendor/hooks.js", "htm": "vendor/htm.js", **LATER}
MAIN = "console/main"
STYLE = "console.css"
ICON = "icon.svg"

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>tidelog</title>
{head}
</head>
<body>
<div id="console"></div>
<noscript>The console of tidelog needs JavaScript.</noscript>
{data}<script type="module" src="{main}"></script>
</body>
</html>
"""
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
def served(base: str) -> tuple[str, str]:
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
    return _PAGE.format(head=head, main=main, data=data)


def policy(rules: Mapping[str, str]) -> str:
    """Return a Content-Security-Policy: what is not allowed by `rules` is forbidden."""
    return "; ".join(f"{name} {value}" for name, value in (_POLICY | dict(rules)).items())


def import_map(addresses: Mapping[str, str]) -> str:
    """Return the text of a map from the names of modules to addresses."""
    return json.dumps({"imports": dict(addresses)})


def digest(text: str) -> str:
    """Return the hash by which a policy allows an element with a text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
