"""Shared parts of the tests of the command line: a folder to work in, and two ways to run a command."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tidelog.cli.entry import main

CLOSURE = """\
.decl e(x: number, y: number)
.input e
.decl t(x: number, y: number)
.output t
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(y, z).
"""


@dataclass(frozen=True)
class Outcome:
    """The result of a command: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No line of progress, however busy the machine is."""
    monkeypatch.setattr("tidelog.limits.progress.LOGGED_AFTER", math.inf)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def closure(folder: Path) -> Path:
    """A current folder with `closure.dl`, `e.facts` (1 2, 2 3)."""
    (folder / "closure.dl").write_text(CLOSURE)
    (folder / "e.facts").write_text("1\t2\n2\t3\n")
    return folder


@pytest.fixture
def tidelog(folder: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process."""

    def run(*arguments: str) -> Outcome:
        capfd.readouterr()
        try:
            code = main(arguments)
        except SystemExit as end:  # argparse ends the process itself
            code = int(end.code or 0)
        captured = capfd.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture
def process(folder: Path) -> Run:
    """Run a command in a process of its own."""

    def run(*arguments: str, **environment: str) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "tidelog", *arguments],
            env=os.environ | environment,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, without_progress(done.stderr))

    return run


def without_progress(text: str) -> str:
    """Return an output without the lines of progress, which a busy machine has where others have none, and without that
    about kernels, which a machine has once."""
    return re.sub(r"^tidelog(: .* has run for | compiles its kernels).*\n", "", text, flags=re.M)
