"""The page of the console as a server sends it and as a file, without a browser (see browser.py for those tests)."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.suite import loaded
from tests.workbench.serving import Server, serving
from tidelog.workbench.console.page import ASSETS, LATER, MOST_ROWS, digest, modules, save_page

OWN = sorted(ASSETS.glob("*.js"))
MARKUP = "</script><script>alert(1)</script><!-- &amp;"
POLICY = (
    "default-src 'none'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; script-src 'self' '{}'; style-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'"
)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server that needs a token."""
    with serving(None, "read:secret") as found:
        yield found


def test_the_page_comes_without_a_token_and_allows_only_its_own_files(server: Server) -> None:
    answer = server.send("GET", "/")
    assert (answer.status, answer.media_type) == (200, "text/html")
    (imports,) = re.findall(r'<script type="importmap">(.*?)</script>', answer.text)
    assert answer.headers["content-security-policy"] == POLICY.format(digest(imports))
    assert re.findall(r"<script(?! type=\"importmap\")[^>]*>", answer.text) == [
        '<script type="module" src="/console/main.js">'
    ]
    assert " style=" not in answer.text
    assert not re.search(r" on\w+=", answer.text)
    for file in set(re.findall(r'(?:href|src)="([^"]*)"', answer.text)) | set(json.loads(imports)["imports"].values()):
        found = server.send("GET", file)
        assert found.status == 200, file
        assert (
            found.media_type
            == {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}[Path(file).suffix]
        )


@pytest.mark.parametrize("path", ["/console/nothing.js", "/console/../page.py", "/console/%2e%2e/page.py", "/console/"])
def test_other_files_are_not_found(server: Server, path: str) -> None:
    answer = server.send("GET", path)
    assert (answer.status, answer.code) == (404, "E0692")


def test_modules_import_only_each_other() -> None:
    known = modules()
    assert OWN
    for file in [ASSETS / each for each in known.values()]:
        text = file.read_text("utf-8")
        assert set(re.findall(r'\bfrom ?"([^"]+)"', text)) <= set(known), file.name
        # Only a library may come later, by its name in the map.
        assert set(re.findall(r"\bimport\((.*?)\)", text)) <= {f'"{name}"' for name in LATER}, file.name


def test_a_library_for_later_is_not_loaded_with_the_page(server: Server) -> None:
    loaded = re.findall(r'<link rel="modulepreload" href="/console/([^"]*)"', server.send("GET", "/").text)
    assert set(loaded) == set(modules().values()) - set(LATER.values())
    assert LATER


def test_no_asset_names_another_host() -> None:
    found = {
        address
        for file in ASSETS.rglob("*")
        if file.suffix in (".js", ".css", ".svg")
        for address in re.findall(r"(?:https?:)?//[\w-]+(?:\.[\w-]+)+", file.read_text("utf-8"))
    }
    assert found <= {"http://www.w3.org"}  # namespaces of SVG and MathML, which nobody loads


def test_modules_never_write_markup() -> None:
    """Text nodes are all that values become. The policy of the page would stop the rest as well."""
    for file in OWN:
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function", file.read_text()
        )


def test_libraries_are_the_files_of_their_packages() -> None:
    versions = json.loads((ASSETS / "vendor/versions.json").read_text())
    files = sorted(file.name for file in (ASSETS / "vendor").glob("*.js"))
    assert files == sorted(versions)
    for name, each in versions.items():
        assert hashlib.sha256((ASSETS / "vendor" / name).read_bytes()).hexdigest() == each["sha256"], name


def test_boxes_of_the_graph_have_the_relations_that_their_rules_derive(server: Server) -> None:
    answer = server.send("GET", "/v1/graph", Authorization="Bearer secret")
    boxes = {box["titles"][0]: box["relations"] for box in json.loads(answer.body)["boxes"]}
    assert boxes == {"edge": ["edge"], "path": ["path"]}


def test_a_certificate_is_a_zip_file_that_the_checker_accepts(server: Server, tmp_path: Path) -> None:
    assert server.send("GET", "/v1/certificate").status == 401
    answer = server.send("GET", "/v1/certificate", Authorization="Bearer secret")
    assert (answer.status, answer.media_type, answer.headers["tidelog-epoch"]) == (200, "application/zip", "1")
    zipfile.ZipFile(io.BytesIO(answer.body)).extractall(tmp_path)
    tidelog.check_certificate(tmp_path / "certificate-1")


def data_of(page: str) -> dict[str, Any]:
    """Return the data inside of a page."""
    (text,) = re.findall(r'<script type="application/json" id="snapshot">(.*?)</script>', page)
    found: dict[str, Any] = json.loads(text)
    return found


def test_a_file_has_its_data_and_no_text_ends_an_element(tmp_path: Path) -> None:
    db = loaded(".decl said(s: symbol, n: number, f: float)", {"said": [(MARKUP, 2**63 - 1, float("inf"))]})
    save_page(db, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.count("<script") == 3
    assert "alert(1)</script>" not in page
    assert data_of(page)["rows"]["said"] == {
        "epoch": 1,
        "columns": [{"name": n, "type": t} for n, t in (("s", "symbol"), ("n", "number"), ("f", "float"))],
        "total": 1,
        "rows": [[MARKUP, 2**63 - 1, float("inf")]],
    }
    assert not re.search(r'(?:src|href)="(?!data:)', page)
    assert f"'{digest(re.findall('<style>(.*?)</style>', page, re.DOTALL)[0])}'" in page


def test_a_file_has_the_first_rows_of_a_large_relation(tmp_path: Path) -> None:
    db = loaded(".decl n(x: number)", {"n": [(x,) for x in range(MOST_ROWS + 5)]})
    save_page(db, tmp_path / "page.html")
    rows = data_of((tmp_path / "page.html").read_text("utf-8"))["rows"]["n"]
    assert (rows["total"], len(rows["rows"])) == (MOST_ROWS + 5, MOST_ROWS)
