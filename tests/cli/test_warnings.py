"""Warnings of the command line: options and comments that switch them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

PROGRAM = """\
.decl a(x: number, y: number) input
.decl b(x: number)
.output b
b(x) :- a(x, y).
"""


@pytest.fixture
def program(folder: Path) -> Path:
    (folder / "p.dl").write_text(PROGRAM)
    (folder / "a.facts").write_text("1\t2\n")
    return folder / "p.dl"


def codes(text: str) -> list[str]:
    return [part[:5] for part in text.split("warning[")[1:]]


def test_each_has_a_code(program: Path, tidelog: Run) -> None:
    found = tidelog("check", "p.dl")
    assert found.code == 0
    assert codes(found.err) == ["E0292", "E0294"]


def test_an_option_hides_those_with_a_code(program: Path, tidelog: Run) -> None:
    assert codes(tidelog("check", "--wno", "E0292", "p.dl").err) == ["E0294"]
    assert codes(tidelog("run", "--wno", "E0292", "--wno", "E0294", "-D", "-", "p.dl").err) == []
    assert codes(tidelog("check", "-w", "p.dl").err) == []


def test_a_code_that_no_warning_has(program: Path, tidelog: Run) -> None:
    found = tidelog("check", "--wno", "E0101", "p.dl")
    assert found.code == 2
    assert "error[E0640]: no warning has the code E0101" in found.err


def test_warnings_as_errors(program: Path, tidelog: Run) -> None:
    found = tidelog("run", "--warn-as-error", "-D", "-", "p.dl")
    assert found.code == 1
    assert "error[E0292]: variable `y` occurs once" in found.err
    assert found.out == ""
    assert tidelog("check", "--warn-as-error", "--wno", "E0292", "--wno", "E0294", "p.dl").code == 0


def test_comments_hide_warnings(program: Path, tidelog: Run) -> None:
    program.write_text(PROGRAM.replace("a(x, y).", "a(x, y).  // no-warn: E0292"))
    assert codes(tidelog("check", "p.dl").err) == ["E0294"]
    program.write_text(PROGRAM.replace("input", "input // no-warn"))
    assert codes(tidelog("check", "p.dl").err) == ["E0292"]
    program.write_text(f"// no-warn: E0294, E0292\n{PROGRAM}")
    assert codes(tidelog("check", "p.dl").err) == []
    program.write_text(f"// no-warning about E0292\n{PROGRAM}")
    assert codes(tidelog("check", "p.dl").err) == ["E0292", "E0294"]


SELECTING = """\
.decl e(x: symbol, y: symbol, w: number)
.input e
.decl d(x: symbol, c: number) min(c)
.output d
d(x, 0) :- e(x, _, _).
d(y, c + w) :- d(x, c), e(x, y, w), c > 7.
"""


def test_a_recursion_that_reads_dominated_tuples(folder: Path, tidelog: Run) -> None:
    program = folder / "p.dl"
    program.write_text(SELECTING)
    (folder / "e.facts").write_text("a\tb\t9\n")
    for command in (("check",), ("run", "-D", "-")):
        err = tidelog(*command, "p.dl").err
        assert "p.dl:6:37: warning[E0298]: the recursion of `d` reads dominated tuples" in err
        assert "rule r2 may derive less from a better tuple: `c > 7`" in err
        assert codes(tidelog(*command, "--wno", "E0298", "p.dl").err) == []
    program.write_text(SELECTING.replace("c > 7.", "c < 7."))
    assert codes(tidelog("check", "p.dl").err) == []
    program.write_text(SELECTING.replace("c > 7.", "c > 7. // no-warn: E0298"))
    assert codes(tidelog("run", "-D", "-", "p.dl").err) == []


def test_unknown_options_and_plans_that_do_not_fit_have_no_effect(folder: Path, tidelog: Run) -> None:
    (folder / "p.dl").write_text(
        '.decl a(x: number, y: number)\na(1, 2).\n.output a(IO=stdout, delimitr=",")\n'
        ".decl b(x: number) .output b(IO=stdout)\nb(x) :- a(x, _), a(_, x + 1).\n.plan 0:(1,2,3)\n"
    )
    found = tidelog("run", "p.dl")
    assert (found.code, codes(found.err)) == (0, ["E0290", "E0299"])
    assert "1\t2" in found.out
    assert "\n1\n" in found.out


def test_many_warnings_of_one_kind_are_one_with_a_count(folder: Path, tidelog: Run) -> None:
    rules = "".join(f"b(x) :- a(x, y{number}).\n" for number in range(60))
    (folder / "p.dl").write_text(f".decl a(x: number, y: number) input\n.decl b(x: number)\n.output b\n{rules}")
    found = tidelog("check", "p.dl")
    assert codes(found.err) == ["E0292", "E0294"]
    assert "p.dl:4:14: warning[E0292]: variable `y0` occurs once (and 59 others of this kind)" in found.err
    assert "p.dl:8:14: note: variable `y4` occurs once" in found.err
    assert "p.dl:9:14" not in found.err
    assert "61 warnings" in found.out
    assert len(json.loads(tidelog("check", "--json", "p.dl").out)["warnings"]) == 61
