"""The page at `/`: a form for queries and updates, made of three files without a library.

It needs no token: it has no data. The requests that it sends have the token that a person types.
"""

from __future__ import annotations

from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

FILES = {
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}
"""The files by their paths, and their media types."""
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def page(request: Request) -> Response:
    """Return one of the files of the page."""
    file, kind = FILES[request.url.path]
    text = (files("tidelog.rdf.serve") / "page" / file).read_text("utf-8")
    return Response(text, media_type=kind, headers=_HEADERS)
