"""A process in the background compiles kernels, while Python runs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

from tidelog.kernels import calling, checked, runs, words
from tidelog.kernels.background import BackgroundCompiler
from tidelog.kernels.calling import KEPT, PLAIN, Kernel

MIX: Any = words.mix
LAST_OF: Any = runs.last_of
pytestmark = pytest.mark.skipif(checked.CHECKING, reason="nothing is compiled")


@pytest.fixture
def pace(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> calling._Pace:
    """Return the pace of a process on a machine that has compiled nothing."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(calling, "_pace", calling._Pace())
    monkeypatch.setattr(calling, "_BETWEEN_LOOKS", 0.0)
    monkeypatch.setattr("tidelog.kernels.places.folder_in_package", lambda: tmp_path / "none")
    return calling._pace


def wait_for(compiler: BackgroundCompiler) -> int:
    """Return the exit code of the other process, once it has done all."""
    assert compiler._process is not None
    compiler._process.communicate()
    return compiler._process.returncode


def test_a_kernel_is_machine_code_once_it_is_there(
    pace: calling._Pace, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kernel: Any = Kernel(MIX.function)
    expected = MIX(5)
    stages: list[int] = []
    calling.at_each_stage(lambda: stages.append(pace.stage))
    assert kernel(5) == expected
    pace.due = calling.PATIENCE_IF_COLD + 0.1
    assert [kernel(5), kernel(5)] == [expected, expected]
    assert caplog.text.count("in the background") == 1
    assert (stages, kernel._run) == ([KEPT], kernel._begin)
    assert wait_for(pace.compiler) == 0
    assert len(list(tmp_path.rglob("words.mix-*.kernel"))) == 1
    assert kernel(5) == expected
    assert kernel.is_machine_code
    assert pace.follow() == KEPT
    assert stages == [KEPT, KEPT]  # What an epoch is undone with has to be machine code as well.
    assert len(list(tmp_path.rglob("words.mix-*.kernel"))) == 1  # It was loaded.


def test_arrays_are_named_by_their_types(pace: calling._Pace, tmp_path: Path) -> None:
    arguments: Any = numpy.array([4, -7, 9], numpy.int32), 0, numpy.int64(3)
    pace.compiler.request(LAST_OF.function, ("int32 1", "int64", "int64"))
    assert wait_for(pace.compiler) == 0
    compiled = sorted(tmp_path.rglob("*.kernel"))
    assert compiled
    kernel: Any = Kernel(LAST_OF.function)
    assert kernel.machine_code(*arguments) == kernel.plain(*arguments)
    assert sorted(tmp_path.rglob("*.kernel")) == compiled


def test_without_another_process_python_goes_on(pace: calling._Pace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    kernel: Any = Kernel(MIX.function)
    pace.due = calling.PATIENCE_IF_COLD + 0.1
    assert [kernel(5), kernel(5)] == [MIX(5)] * 2
    assert kernel._run == kernel._begin


def test_what_could_not_be_kept_is_not_compiled(
    pace: calling._Pace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    pace.compiler.request(MIX.function, ("int64",))
    assert pace.compiler._process is None


def test_python_alone_when_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pace = calling._Pace("python")
    monkeypatch.setattr(calling, "_pace", pace)
    calling.expect(10**12)
    assert pace.follow() == PLAIN
    kernel: Any = Kernel(MIX.function)
    assert kernel(5) == MIX(5)
    assert pace.compiler._process is None
