"""Runs the fenced blocks of a Markdown page, in order, in one empty folder and one Python namespace.

    ```python     with `>>>` a doctest; without, code that has to run
    ```console    lines after `$ ` are commands, the lines below each are what it has to print ("..." matches anything);
                  a command has to succeed unless `$ echo $?` follows. `$ cat FILE` makes the file when there is none.
                  What a command leaves running (`&`) ends with the page.
    other fences  are not run

Commands that set the machine up (`make`, `pip`, `git`) are left to `.ci/run`.
"""

from __future__ import annotations

import doctest
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.conftest import without_progress

FENCE = re.compile(
    r"^(?P<indent> *)(?P<ticks>`{3,}|:{3,}) *(?P<language>\S*)[^\n]*\n(?P<text>.*?)^(?P=indent)(?P=ticks) *$",
    flags=re.M | re.S,
)
SET_UP = ("make", "pip", "git")
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, text and the line where the text starts."""

    language: str
    text: str
    line: int


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page."""
    for match in FENCE.finditer(page):
        text = "".join(line.removeprefix(match["indent"]) for line in match["text"].splitlines(keepends=True))
        yield Block(match["language"], text, page.count("\n", 0, match.start("text")) + 1)


def run_page(path: Path, folder: Path) -> None:
    """Run all blocks of the page; AssertionError with place and difference where one does not do what it says."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    running: list[int] = []
    before = Path.cwd()
    os.chdir(folder)
    try:
        for block in blocks(path.read_text(encoding="utf-8")):
            if block.language == "python":
                run_python(block, path, namespace)
            elif block.language == "console":
                run_console(block, path, folder, running)
    finally:
        os.chdir(before)
        for group in running:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)


def run_python(block: Block, path: Path, namespace: dict[str, Any]) -> None:
    """Run a Python block in `namespace`, which it changes."""
    if ">>>" not in block.text:
        exec(compile("\n" * (block.line - 1) + block.text, str(path), "exec"), namespace)
        return
    test = doctest.DocTestParser().get_doctest(block.text, namespace, path.name, str(path), block.line - 1)
    runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
    output: list[str] = []
    runner.run(test, out=output.append, clear_globs=False)
    namespace.update(test.globs)
    assert runner.summarize(verbose=False).failed == 0, "".join(output)


LONGEST = 400
"""Seconds for a command, on a machine however busy."""


def run_console(block: Block, path: Path, folder: Path, running: list[int]) -> None:
    """Run the commands of a console block and compare what they print; add the process groups that they leave to
    `running`."""
    status = 0
    steps = list(commands(block.text))
    for i, (command, expected) in enumerate(steps):
        place = f"{path}:{block.line}: $ {command}"
        words = command.split()
        if words[0] in SET_UP:
            continue
        if words[0] == "cat" and len(words) == 2 and not (folder / words[1]).exists():
            (folder / words[1]).parent.mkdir(parents=True, exist_ok=True)
            (folder / words[1]).write_text(expected, encoding="utf-8")
            continue
        process = subprocess.Popen(
            ["bash", "-c", f"(exit {status}); {command}"],
            cwd=folder,
            env=os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        running.append(process.pid)
        try:
            printed, _ = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:  # What holds the pipe may be another process than the command.
            listed = subprocess.run(
                ["ps", "-eo", "pid,pgid,stat,wchan:20,args"], capture_output=True, text=True, check=False
            )
            raise AssertionError(f"{place}\nhas not ended after {LONGEST} s, among\n{listed.stdout}") from None
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            running.remove(process.pid)
        status = process.returncode
        output = without_progress(printed)
        asked = i + 1 < len(steps) and steps[i + 1][0] == "echo $?"
        assert status == 0 or asked, f"{place}\nexit {status}:\n{printed}"
        assert doctest.OutputChecker().check_output(expected, output, OPTIONS), (
            f"{place}\nexpected:\n{expected}\ngot:\n{output}"
        )


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block with what it should print; a backslash continues a command on the next line."""
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, expected = re.sub(r"\\\n>? *", "", part).partition("\n")
        yield command, expected
