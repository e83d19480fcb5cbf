"""`tidelog warm` compiles all kernels that later runs call, in both sizes of words."""

from __future__ import annotations

import ast
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest

import tidelog
from tidelog.cli import warming
from tidelog.cli.entry import main
from tidelog.kernels import calling
from tidelog.kernels.calling import Kernel
from tidelog.maintain import epoch

SOURCES = Path(tidelog.__file__).parent


def called_kernels() -> Iterator[Kernel]:
    """The kernels that Python calls: modules outside of `kernels` import them."""
    for path in SOURCES.rglob("*.py"):
        if path.parent.name != "kernels":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tidelog.kernels."):
                    module = importlib.import_module(node.module or "")
                    names = [getattr(module, each.name) for each in node.names]
                    yield from (each for each in names if isinstance(each, Kernel))


def name_of(kernel: Kernel) -> str:
    return f"{kernel.function.__module__}.{kernel.function.__name__}"


def test_the_parts_need_all_kernels_in_both_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    called: dict[str, set[str]] = {}
    kinds: dict[tuple[str, int], set[tuple[str, ...]]] = {}
    call = Kernel.__call__

    def counted(self: Kernel, *arguments: object) -> object:
        tag = str(getattr(arguments[-1], "dtype", "")) if "w" in self.function.__code__.co_varnames else ""
        called.setdefault(name_of(self), set()).add(tag)
        size = getattr(arguments[-1], "itemsize", 0)
        kinds.setdefault((name_of(self), size), set()).add(tuple(map(calling._kind_of, arguments)))
        assert all(each.flags.c_contiguous for each in arguments if isinstance(each, numpy.ndarray)), name_of(self)
        return call(self, *arguments)

    monkeypatch.setattr(Kernel, "__call__", counted)
    epoch.load_undo_kernels.cache_clear()  # A process calls these once, which another test may have done.
    epoch.load_closure_undo_kernels.cache_clear()
    for part in warming.PARTS:
        warming.run(part)
    kernels = {name_of(each): each for each in called_kernels()}
    assert len(kernels) > 40
    for name, kernel in kernels.items():
        has_tag = "w" in kernel.function.__code__.co_varnames
        assert called.get(name) == ({"int32", "int64"} if has_tag else {""}), name
    # Machine code is chosen by the size of the last argument's words alone.
    assert [key for key, found in kinds.items() if len(found) > 1] == []


def test_one_part_fills_the_folder_that_the_variable_names(tmp_path: Path) -> None:
    environment = os.environ | {"TIDELOG_CACHE_DIR": str(tmp_path), "TIDELOG_KERNELS": "auto"}
    environment.pop("NUMBA_CACHE_DIR", None)
    code = (
        "from tidelog.cli import warming; from tidelog.cli.entry import main;"
        "warming.PARTS = (); raise SystemExit(main(['warm', '--json']))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    document = json.loads(done.stdout)
    assert (document["kernels"], document["bytes"]) == (0, 0)
    assert Path(document["folder"]).parent == tmp_path


def test_jobs_are_positive(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["warm", "--jobs", "0"])
    assert raised.value.code == 2
    assert "positive integer" in capsys.readouterr().err
