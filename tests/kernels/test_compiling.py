"""Between two kernels that have to be compiled, limits are looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numba
import numpy
import pytest

import tidelog
from tests.maintain.stopping import at_looks, fails_without_trace, limit
from tidelog.errors import LimitError
from tidelog.kernels import compiling, fixpoint
from tidelog.kernels.compiling import before_compiling, between_kernels
from tidelog.kernels.words import kernel

pytestmark = pytest.mark.skipif(
    numba.config.DISABLE_JIT,  # type: ignore[attr-defined]  # numba fills its config at run time
    reason="nothing is compiled",
)


def test_a_look_before_each_kernel_that_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))

    @kernel
    def inner(x: Any) -> Any:
        return x + 1

    @kernel
    def outer(x: Any) -> Any:
        return inner(x) * 2

    looks = 0

    def look() -> None:
        nonlocal looks
        looks += 1
        if looks == 2:
            raise limit()

    with between_kernels(look), pytest.raises(LimitError):
        outer(20)
    assert looks == 2  # the inner kernel was not compiled
    with between_kernels(look):
        assert outer(20) == 42
        assert looks == 4
        assert outer(20) == 42  # now they are there
    assert looks == 4


def test_an_epoch_that_has_to_compile_keeps_to_its_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is stopped in the midst of compiling, nothing has changed."""
    db = tidelog.connect()
    db.load(".decl e(x: number, y: number) .decl r(x: number, y: number)")
    db.load("r(x, y) :- e(x, y). r(x, z) :- r(x, y), r(y, z).")
    db.options(closures=False, strategy="bootstrap")
    for change in (db.insert, db.delete):  # with a fact, so that the kernel has run
        change("e", [(1, 2)])
        db.commit()
    compiled: Any = fixpoint.run_rounds

    def cold(*arguments: Any) -> Any:
        """The kernel as if it were compiled at this call."""
        before_compiling()
        return compiled(*arguments)

    monkeypatch.setattr(fixpoint, "run_rounds", cold)

    def attempt() -> tidelog.Change:
        db.insert("e", [(1, 2), (2, 3)])
        return db.commit()

    _, failures = fails_without_trace(db, attempt, at_looks(limit))
    with_cold = failures
    monkeypatch.undo()
    db.delete("e", [(1, 2), (2, 3)])
    db.commit()
    _, failures = fails_without_trace(db, attempt, at_looks(limit))
    assert with_cold > failures
    assert set(db["r"]) == {(1, 2), (2, 3), (1, 3)}


def test_a_notice_comes_once_when_compiling_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    clock = iter([10.0, 10.9, 11.1, 15.0])
    monkeypatch.setattr(compiling, "_since", [])
    monkeypatch.setattr(compiling, "monotonic", lambda: next(clock))

    def fresh() -> Any:
        @kernel
        def seven(x: Any) -> Any:
            return x + 7

        return seven

    said = []
    for each in (1, 1, 1.5, True, numpy.uint8(1)):  # the second one is loaded
        assert fresh()(each) == each + 7
        said.append(len(caplog.messages))
    assert said == [0, 0, 0, 1, 1]
    assert "tidelog warm" in caplog.text
