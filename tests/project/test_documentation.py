"""Every snippet of the README and the documentation runs and prints what the page says; pages name what exists."""

from __future__ import annotations

import ast
import os
import re
import runpy
import select
import tomllib
from itertools import chain
from pathlib import Path

import pytest

import tidelog
from tests.project.snippets import blocks, run_page

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if "_build" not in page.parts]


def identify(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize(
    "page", [PAGES[0], *(pytest.param(page, marks=pytest.mark.docs) for page in PAGES[1:])], ids=identify
)
def test_snippets_do_what_the_page_says(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "from tidelog.spark import" in page.read_text(encoding="utf-8"):
        spark = request.getfixturevalue("spark")  # which the page gets when it asks for a session
        monkeypatch.setattr(type(spark), "stop", lambda _: None)
    run_page(page, tmp_path)


def test_a_command_that_a_page_leaves_running_ends_with_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "end")
    end = os.open(tmp_path / "end", os.O_RDONLY | os.O_NONBLOCK)
    (tmp_path / "page.md").write_text("```console\n$ exec 3> end; sleep 60 >&3 2>&3 &\n```\n")
    run_page(tmp_path / "page.md", tmp_path)
    ended, _, _ = select.select([end], [], [], 30)  # Readable, at its end, once nobody has it open for writing.
    os.close(end)
    assert ended


@pytest.mark.parametrize("page", PAGES, ids=identify)
def test_fences_have_a_known_language(page: Path) -> None:
    known = {"python", "console", "datalog", "text", "{toctree}", "{eval-rst}", "toml", "json"}
    assert {block.language for block in blocks(page.read_text(encoding="utf-8"))} <= known


def test_every_public_name_is_in_the_documentation() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [name for name in tidelog.__all__ if not re.search(rf"\b{name}\b", text)] == []


def test_architecture_mentions_every_room() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    package = ROOT / "src/tidelog"
    rooms = [f"{folder.parent.name}/" for folder in package.glob("*/__init__.py")]
    rooms += [file.name for file in package.glob("*.py") if file.name != "__main__.py"]
    assert [room for room in rooms if f"`{room}`" not in page] == []


def defined(tree: ast.AST, name: str) -> bool:
    """Return True if a module has a function or a class, or with a dot a method, of this name."""
    first, _, rest = name.partition(".")
    kinds = (ast.FunctionDef, ast.ClassDef)
    found = [node for node in ast.iter_child_nodes(tree) if isinstance(node, kinds) and node.name == first]
    return any(not rest or defined(node, rest) for node in found)


def test_places_in_the_code_exist() -> None:
    pages = [(ROOT / page).read_text(encoding="utf-8") for page in ("docs/architecture.md", "CONTRIBUTING.md")]
    places = [place for page in pages for place in re.findall(r"`([\w/]+\.py)`(?:, `([\w.]+)`)?", page)]
    assert len([name for _, name in places if name]) > 25
    package = ROOT / "src/tidelog"
    for file, name in places:
        path = next((each for each in (package / file, ROOT / file) if each.exists()), None)
        if path is None:  # A name without its folder, behind the folder.
            assert [*package.rglob(file), *(ROOT / "tests").rglob(file)], file
        elif name and not name.isupper():
            assert defined(ast.parse(path.read_text(encoding="utf-8")), name), f"{file}, {name}"


def test_the_picture_of_the_rooms_is_that_of_the_imports() -> None:
    """`scripts/rooms` draws it again."""
    script = runpy.run_path(str(ROOT / "scripts/rooms"))
    picture = (ROOT / "docs/images/rooms.svg").read_text(encoding="utf-8")
    drawn = {tuple(title.split("&#45;&gt;")) for title in re.findall(r"<title>(\w+&#45;&gt;\w+)</title>", picture)}
    assert drawn == set(script["arrows"]())
    rooms = {path.parent.name for path in (ROOT / "src/tidelog").glob("*/__init__.py")}
    assert rooms - {"common"} == {room for band in script["BANDS"].values() for room in band} - {"connect"}


def test_every_page_is_in_the_table_of_contents() -> None:
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    pages = [identify(page).removeprefix("docs/").removesuffix(".md") for page in PAGES[1:]]
    assert [page for page in pages if page != "index" and f"\n{page}\n" not in index] == []


def test_links_of_the_readme_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_readme_leads_to_every_page() -> None:
    links = set(re.findall(r"\]\(([^)#]+)\)", PAGES[0].read_text(encoding="utf-8")))
    pages = [identify(page) for page in PAGES[1:] if page.parent.name != "dev" and page.stem != "index"]
    assert [page for page in pages if page not in links] == []


def test_people_find_what_they_look_for() -> None:
    """The search of the built pages ranks words of headings first."""
    headings = [re.findall("^#+ .*", page.read_text(encoding="utf-8").lower(), flags=re.M) for page in PAGES]
    words = {"back up", "cancel", "docker", "duplicates", "licence", "memory", "security", "service", "upgrade"}
    words -= {word for word in words for heading in chain(*headings) if word in heading}
    assert words == set()


def test_dependencies_are_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    page = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8")
    names = {re.split(r"[^\w-]", requirement, maxsplit=1)[0] for requirement in wanted}
    assert sorted(name for name in names if not re.search(rf"\b{name}\b", page)) == []
