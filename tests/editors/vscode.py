"""The extension in Visual Studio Code, as a person uses it: `make test-vscode` runs these.

The editor is VS Code's own server, whose pages Chromium shows (scripts/vscode). Each test opens a folder with a program
in a new browser, and `tidelog lsp` of this environment serves it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, TimeoutError, expect

from tests.chromium import chromium

PROGRAM = """\
/// Streets between places.
.decl edge(x: symbol, y: symbol)
.input edge
.decl reach(x: symbol, y: symbol)
.output reach
reach(x, y) :- edge(x, y).
reach(x, z) :-   reach(x, y), edge(y, z).
"""
TIDELOG = Path(sys.executable).with_name("tidelog")
WITHOUT_EXTRA = f"""\
#!{sys.executable}
import sys
sys.modules["pygls"] = None
from tidelog.cli.entry import main
sys.exit(main())
"""
_DEADLINE = 30.0
_PATIENCE = 30_000
"""Milliseconds for the editor, its extensions and the server to start on a busy machine."""


@dataclass
class Editor:
    """The editor with a program in a folder."""

    page: Page
    folder: Path

    @property
    def file(self) -> Path:
        """The program."""
        return self.folder / "reach.dl"

    @property
    def problems(self) -> Locator:
        """The panel with the problems."""
        return self.page.get_by_role("treeitem").filter(has_text="tidelog")

    @property
    def message(self) -> Locator:
        """The notifications."""
        return self.page.locator(".notification-toast")

    def line(self, number: int) -> Locator:
        """A line of the program by its number, from 1."""
        # VS Code writes the style of a line itself, and the browser writes it anew after a change.
        styles = (f"[style*='top:{space}{19 * (number - 1)}px;']" for space in ("", " "))
        return self.page.locator(", ".join(f".editor-instance .view-line{style}" for style in styles))

    def go_to(self, line: int, column: int) -> None:
        """Put the cursor somewhere in the program."""
        self.press("Control+g")
        self.page.keyboard.type(f":{line}:{column}")
        self.press("Enter")
        self.is_at(line, column)

    def is_at(self, line: int, column: int) -> None:
        """Wait until the cursor is somewhere."""
        expect(self.page.get_by_role("button", name=f"Ln {line}, Col {column}")).to_be_visible()

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            self.page.keyboard.press(key)

    def is_saved_as(self, text: str) -> None:
        """Wait until the file has a text."""
        for _ in range(100):
            if self.file.read_text() == text:
                return
            self.page.wait_for_timeout(100)
        assert self.file.read_text() == text

    def until_it_shows(self, expected: Locator, *keys: str) -> None:
        """Press keys until the editor shows something: its server may be at work still."""
        for _ in range(20):
            self.press(*keys)
            with suppress(TimeoutError):
                expected.wait_for(timeout=3_000)
                return
        expect(expected).to_be_visible()


Open = Callable[..., Editor]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """VS Code with the extension on a free port."""
    folder = tmp_path_factory.mktemp("vscode")
    settings = folder / "data/Machine/settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"tidelog.command": str(TIDELOG), "workbench.startupEditor": "none"}))
    command = ["node", os.environ["TIDELOG_VSCODE"], "--server-data-dir", str(folder), "--accept-server-license-terms"]
    command += ["--extensions-dir", str(folder / "extensions"), "--telemetry-level", "off"]
    subprocess.run([*command, "--install-extension", os.environ["TIDELOG_VSIX"]], check=True, capture_output=True)
    with (folder / "log").open("w+") as log:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", "0", "--without-connection-token"],
            stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            found = next(filter(None, map(re.compile(r"listening on (\d+)").search, process.stdout)))
            yield f"http://127.0.0.1:{found[1]}"
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # with the hosts of extensions, which wait for the browser to return
            process.communicate(timeout=_DEADLINE)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium without a window."""
    with chromium() as found:
        yield found


@pytest.fixture
def opened(browser: Browser, address: str, tmp_path: Path) -> Iterator[Open]:
    """Open a folder with the program and `more` lines, and settings of its own."""
    expect.set_options(timeout=_PATIENCE)

    def open_folder(more: str = "", *, trusted: bool = True, **settings: str) -> Editor:
        folder = tmp_path / "streets"
        (folder / ".vscode").mkdir(parents=True)
        named = {f"tidelog.{name}": value for name, value in settings.items()}
        (folder / ".vscode/settings.json").write_text(json.dumps(named))
        editor = Editor(browser.new_page(viewport={"width": 1200, "height": 760}), folder)
        editor.file.write_text(PROGRAM + more)
        editor.page.set_default_timeout(_PATIENCE)
        editor.page.goto(f"{address}/?folder={folder}")
        answer = "Yes, I trust the authors" if trusted else "No, I don't trust the authors"
        editor.page.get_by_role("button", name=answer).click()
        editor.page.get_by_role("treeitem", name="reach.dl").dblclick()
        expect(editor.line(1)).to_contain_text("Streets")
        editor.line(1).click()
        return editor

    yield open_folder
    for context in browser.contexts:
        context.close()


def test_a_wrong_rule_shows_its_problem_and_a_fix(opened: Open) -> None:
    editor = opened("reach(x, z) :- edgy(x, z).\n")
    expect(editor.page.locator(".squiggly-error")).to_be_visible()
    editor.press("Control+Shift+M")
    expect(editor.problems).to_contain_text("the relation `edgy` is not declared")
    expect(editor.problems).to_contain_text("E0201")
    editor.page.screenshot(path=pictures() / "editor-vscode.png")
    editor.line(8).click()
    editor.go_to(8, 18)
    editor.until_it_shows(editor.page.locator(".action-widget"), "Control+.")
    editor.press("Enter")
    expect(editor.line(8)).to_contain_text("edge")
    expect(editor.page.locator(".squiggly-error")).to_have_count(0)


def test_names_are_explained_found_and_completed(opened: Open) -> None:
    editor = opened()
    editor.go_to(6, 17)
    hover = editor.page.locator(".monaco-hover", has_text="Streets between places")
    editor.until_it_shows(hover, "Control+k", "Control+i")
    editor.press("Escape", "F12")
    editor.is_at(2, 7)
    editor.press("Control+End")
    editor.page.keyboard.type("reach(x, y) :- ed")
    suggested = editor.page.locator(".suggest-widget").get_by_role("option", name="edge")
    editor.until_it_shows(suggested, "Control+Space")
    editor.press("Enter")
    expect(editor.line(8)).to_contain_text("edge")
    editor.page.keyboard.type("(x, y).")
    editor.press("Control+Shift+O")
    expect(editor.page.get_by_role("option", name="reach(x, z)")).to_be_visible()


def test_a_relation_is_renamed_and_the_program_laid_out(opened: Open) -> None:
    editor = opened()
    editor.go_to(6, 17)
    editor.until_it_shows(editor.page.locator(".rename-box.monaco-editor"), "F2")
    expect(editor.page.locator(".rename-box input")).to_be_focused()
    editor.press("Control+a")
    editor.page.keyboard.type("street")
    editor.press("Enter")
    expect(editor.line(3)).to_contain_text("street")
    editor.press("F1")
    editor.page.keyboard.type("Format Document")
    expect(editor.page.get_by_role("option", name="Format Document").first).to_be_visible()
    editor.press("Enter")
    expect(editor.line(7)).to_have_text(re.compile(r":-\sreach"))
    editor.press("Control+s")
    editor.is_saved_as(PROGRAM.replace("edge", "street").replace(":-   ", ":- "))


def test_words_of_the_language_have_colours(opened: Open) -> None:
    editor = opened()
    colours = [
        editor.line(number).get_by_text(text, exact=True).first.evaluate("found => getComputedStyle(found).color")
        for number, text in (
            (1, "///\u00a0Streets\u00a0between\u00a0places."),
            (2, ".decl"),
            (2, "edge"),
            (2, "symbol"),
            (2, "x"),
        )
    ]
    assert len({*colours}) == len(colours)


def test_a_command_that_is_missing_is_named_and_the_next_one_starts(opened: Open) -> None:
    editor = opened("wrong(1).\n", command="no-such-program")
    expect(editor.message).to_contain_text("the command 'no-such-program' cannot be started (ENOENT). Install tidelog")
    (editor.folder / ".vscode/settings.json").write_text(json.dumps({"tidelog.command": str(TIDELOG)}))
    expect(editor.page.locator(".squiggly-error")).to_be_visible()


def test_a_missing_extra_is_reported_with_its_hint(opened: Open, tmp_path: Path) -> None:
    command = tmp_path / "without_extra"
    command.write_text(WITHOUT_EXTRA)
    command.chmod(0o755)
    editor = opened(command=str(command))
    expect(editor.message).to_have_count(1)
    expect(editor.message).to_contain_text("error[E0790]: `tidelog lsp` needs the package pygls")
    expect(editor.message).to_contain_text("pip install")


def test_a_folder_without_trust_does_not_choose_the_command(opened: Open, tmp_path: Path) -> None:
    command = tmp_path / "evil"
    command.write_text(f"#!/bin/sh\ntouch {tmp_path}/taken\n")
    command.chmod(0o755)
    editor = opened("wrong(1).\n", trusted=False, command=str(command))
    expect(editor.page.locator(".squiggly-error")).to_be_visible()
    assert not (tmp_path / "taken").exists()


def pictures() -> Path:
    """Return the folder of the pictures."""
    folder = Path(os.environ.get("TIDELOG_PICTURES", "out/browser"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
