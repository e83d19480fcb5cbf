"""The page for queries that the server has at its root."""

from __future__ import annotations

import re

from tests.rdf.serving import serving

FILES = {"/": "text/html", "/page.css": "text/css", "/page.js": "text/javascript"}


def test_the_page_needs_no_token_and_no_other_server() -> None:
    with serving("", "secret") as server:
        texts = {path: server.send("GET", path) for path in FILES}
        for path, found in texts.items():
            assert (found.status, found.media_type) == (200, FILES[path])
            policy = found.headers["content-security-policy"].split("; ")
            for wanted in ("default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"):
                assert wanted in policy
            assert "unsafe" not in found.headers["content-security-policy"]
            assert not re.search("https?://|//[a-z]+\\.", found.text)
        assert server.send("GET", "/sparql?query=ASK{}").status == 401
        assert set(re.findall('(?:href|src)="([^"]*)"', texts["/"].text)) == {"page.css", "page.js"}


def test_the_page_reads_no_value_as_markup_or_program() -> None:
    with serving("") as server:
        program = server.send("GET", "/page.js").text
    assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(", program) == []


def test_each_control_of_the_page_has_a_name() -> None:
    with serving("") as server:
        page = server.send("GET", "/").text
    controls = set(re.findall(r'<(?:textarea|input) id="(\w+)"', page))
    assert controls == set(re.findall('<label for="([^"]*)"', page)) == {"text", "token"}
    assert re.findall("<button[^>]*>([^<]*)</button>", page) == ["Run", "Stop", "Inconsistencies"]
    assert '<html lang="en">' in page


def test_there_are_no_other_files() -> None:
    with serving("") as server:
        for path in ("/page.html", "/index.html", "/..%2fpages.py", "/%2e%2e", "//etc/passwd"):
            assert server.send("GET", path).status == 404
