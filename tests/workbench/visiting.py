"""Persons with a browser who visit the console of a server in this process, for browser*.py."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

import tidelog
from tests.chromium import chromium
from tests.serving import running
from tidelog.serve.access import AccessToken
from tidelog.workbench.application import application
from tidelog.workbench.service import Service

MARKUP = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>&amp;"
SLOWEST = 30_000
"""Milliseconds that a busy machine may take for what a test expects."""
DESK: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}
PROGRAM = """
.decl road(x: number, y: number)
.decl way(x: number, y: number)
.decl level(n: number)
.decl said(text: symbol, number: number)
.decl loud(text: symbol)
base: way(x, y) :- road(x, y).
step: way(x, z) :- way(x, y), road(y, z), z < 90.
start: level(0).
next: level(n + 1) :- level(n), n < 11.
speak: loud(text) :- said(text, n), n > 4.
"""


@dataclass
class Visitor:
    """A person with a browser, who notes errors in scripts and violations of a page's policy."""

    browser: Browser
    wrong: list[str] = field(default_factory=list)

    def open(self, address: str, *, dark: bool = False, phone: bool = False) -> Page:
        """Open an address in a browser without a past."""
        scheme: Literal["dark", "light"] = "dark" if dark else "light"
        context = self.browser.new_context(viewport=PHONE if phone else DESK, color_scheme=scheme)
        page = context.new_page()
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", lambda message: self.wrong.append(message.text) if "Policy" in message.text else None)
        page.goto(address)
        return page

    def leave(self) -> None:
        """Close all pages, so that no server waits for them."""
        for context in self.browser.contexts:
            context.close()
        assert self.wrong == []


@dataclass
class Site:
    """A database whose console a person visits."""

    db: tidelog.Database
    address: str
    visitor: Visitor

    def open(self, place: str = "", *, dark: bool = False, phone: bool = False) -> Page:
        """Open the console at a place such as `views/edge`."""
        return self.visitor.open(f"{self.address}/#/{place}", dark=dark, phone=phone)

    def commit(self, relation: str, *rows: tuple[object, ...]) -> None:
        """Commit facts of a relation."""
        self.db.insert(relation, list(rows))
        self.db.commit()


Serve = Callable[..., AbstractContextManager[Site]]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium without a window."""
    expect.set_options(timeout=SLOWEST)
    with chromium() as found:
        yield found


@pytest.fixture
def serve(browser: Browser) -> Serve:
    """Serve a new database with the roads from 1 to 2 and from 2 to 3 as epoch 2; an empty one for an empty program."""

    @contextmanager
    def served(program: str = PROGRAM, *tokens: str) -> Iterator[Site]:
        visitor = Visitor(browser)
        with tidelog.Database() as db:
            if program:
                db.load(program)
                db.commit()
            found = application(Service(db), tuple(map(AccessToken.of, tokens)))
            with running(found, has_tokens=bool(tokens)) as address:
                site = Site(db, address, visitor)
                if program:
                    site.commit("road", (1, 2), (2, 3))
                try:
                    yield site
                finally:
                    visitor.leave()

    return served


@pytest.fixture
def pictures() -> Path:
    """The folder of the pictures."""
    folder = Path(os.environ.get("TIDELOG_PICTURES", "out/browser"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def draw_late(page: Page) -> None:
    """Draw as late as a busy machine does, from the next load on."""
    page.add_init_script("window.requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 90)")


def visit(page: Page, name: str) -> None:
    """Go to a page of the console."""
    page.get_by_role("navigation", name="Pages").get_by_role("link", name=name).click()
