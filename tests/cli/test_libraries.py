"""`-l` and `-L`: shared libraries with functions of functors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.libraries import built

ROOTS = """\
.functor cbrt(x: float): float
.decl e(x: float)
.input e
.decl r(x: float)
.output r
r(@cbrt(x)) :- e(x).
"""
WIDTHS = ".functor before(x: number): number\n.decl r(x: number)\n.output r\nr(@before(0)).\n"


def shown(rows: str) -> str:
    return f"---------------\nr\nx\n===============\n{rows}===============\n"


def test_commands_call_functions_of_a_library(folder: Path, tidelog: Run) -> None:
    (folder / "p.dl").write_text(ROOTS)
    (folder / "e.facts").write_text("8\n")
    assert tidelog("run", "p.dl", "-D", "-", "-l", "m").out == shown("2\n")
    assert "no errors" in tidelog("check", "p.dl", "-l", "m").out
    assert tidelog("init", "store", "p.dl", "-F", ".", "-l", "m").code == 0
    assert tidelog("query", "store", "r(x)", "--csv", "-l", "m").out == "x\n2\n"
    assert "trusted values of functors: cbrt" in tidelog("check", "store", "-l", "m").out


def test_a_function_that_is_missing_is_reported_before_files_are_read(folder: Path, tidelog: Run) -> None:
    (folder / "p.dl").write_text(ROOTS.replace("cbrt", "atoi"))
    message = "p.dl:1:1: error[E0645]: the functor `atoi` has no function, neither in Python nor in the library `m`"
    for arguments in (("run", "p.dl", "-D", "-"), ("check", "p.dl")):
        outcome = tidelog(*arguments, "-l", "m")
        assert (outcome.code, outcome.out) == (2, "")
        assert message in outcome.err
    assert tidelog("check", "p.dl").code == 0  # Programs are checked without functions, too.


def test_a_library_that_is_missing(folder: Path, tidelog: Run) -> None:
    (folder / "p.dl").write_text(ROOTS)
    outcome = tidelog("run", "p.dl", "-l", "none", "-L", "there", "-L", ".")
    assert (outcome.code, outcome.out) == (2, "")
    assert "error[E0642]: the library `none` is not found: there is no 'libnone.so' in 'there', '.'" in outcome.err
    assert "hint: pass its folder with -L FOLDER, or the path of its file" in outcome.err


@pytest.mark.parametrize("name", ["own", "functors"])
def test_the_folders_of_libraries(name: str, folder: Path, tidelog: Run) -> None:
    """`-L` alone asks for `functors`, as in Soufflé; without both, no library is loaded."""
    built(folder, name)
    (folder / "p.dl").write_text(WIDTHS)
    for options in (("-l", name), ("-l", f"./lib{name}.so"), ("-l", name, "-L", "."), ("-L", ".")):
        outcome = tidelog("run", "p.dl", "-D", "-", "--library-bits", "32", *options)
        if name == "functors" or "-l" in options:
            assert outcome.out == shown("-1\n")
        else:
            assert "the library `functors` is not found" in outcome.err
    assert "the functor `before` has no function\n" in tidelog("run", "p.dl").err
