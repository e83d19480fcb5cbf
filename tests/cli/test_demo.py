"""`tidelog demo` hands over to `tidelog.demo.story`, which tests/spark/ tries for real."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import cast

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, bool]]:
    """The calls of the demo, which does nothing and returns 0."""
    made: list[tuple[Path, bool]] = []

    def run(folder: Path, progress: bool) -> int:
        made.append((folder, progress))
        return 0

    # The story itself would load Spark.
    monkeypatch.setitem(sys.modules, "tidelog.demo.story", cast(ModuleType, SimpleNamespace(run=run)))
    return made


def test_default_folder_and_no_progress_without_a_terminal(tidelog: Run, calls: list[tuple[Path, bool]]) -> None:
    assert tidelog("demo").code == 0
    assert calls == [(Path("out/demo"), False)]


@pytest.mark.parametrize("arguments", [("--simulated",), ("edge", "-D", "here"), ("sea",)])
def test_arguments_of_the_other_demo(tidelog: Run, calls: list[tuple[Path, bool]], arguments: tuple[str, ...]) -> None:
    assert tidelog("demo", *arguments).code == 2
    assert calls == []


def test_another_folder(tidelog: Run, calls: list[tuple[Path, bool]]) -> None:
    assert tidelog("demo", "-D", "here").code == 0
    assert calls == [(Path("here"), False)]
