"""Parts of the command line from Soufflé: its options, its layout, its deprecated ways, its files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.texts import cases_of

INCLUDING = '#include "shared.dl"\n.decl b(x: number)\n.output b\nb(LIMIT) :- a(LIMIT).\n'
ONCE = ".decl a(x: number, y: number)\na(1, 2).\n.decl b(x: number)\n.output b\nb(x) :- a(x, y).\n"


@pytest.fixture
def including(folder: Path) -> Path:
    (folder / "p.dl").write_text(INCLUDING)
    (folder / "lib").mkdir()
    (folder / "lib" / "shared.dl").write_text(".decl a(x: number)\na(LIMIT).\n#ifdef MORE\na(LIMIT + MORE).\n#endif\n")
    return folder


@pytest.mark.parametrize("macros", [("-M", "LIMIT=5"), ("--macro", "LIMIT=5 OTHER"), ("-MOTHER", "-M", "LIMIT=5")])
def test_macros_and_folders_of_the_preprocessor(including: Path, tidelog: Run, macros: tuple[str, ...]) -> None:
    outcome = tidelog("run", "p.dl", "-I", "lib", *macros, "-D", "-")
    assert (outcome.code, outcome.out) == (0, "---------------\nb\nx\n===============\n5\n===============\n")
    assert tidelog("check", "p.dl", "--include-dir", "lib", *macros).code == 0
    assert tidelog("graph", "p.dl", "--include-dir=lib", *macros).code == 0
    assert tidelog("init", "store", "p.dl", "-I", "lib", *macros).code == 0
    assert "E0112" in tidelog("run", "p.dl", *macros).err


def test_run_prints_warnings(folder: Path, tidelog: Run) -> None:
    (folder / "p.dl").write_text(ONCE)
    outcome = tidelog("run", "p.dl", "-D", "-")
    assert outcome.err.startswith("p.dl:5:14: warning[E0292]: variable `y` occurs once")
    assert outcome.code == 0
    for flag in ("-w", "--no-warn"):
        assert tidelog("run", "p.dl", "-D", "-", flag).err == ""
        assert tidelog("check", "p.dl", flag).err == ""
    document = json.loads(tidelog("run", "p.dl", "-D", "-", "--json").out)
    assert [each["code"] for each in document["warnings"]] == ["E0292"]
    assert "warnings" not in json.loads(tidelog("run", "p.dl", "-D", "-", "--json", "-w").out)


def test_a_relation_without_columns_holds_where_its_file_has_a_line(folder: Path, tidelog: Run) -> None:
    (folder / "p.dl").write_text(".decl a()\n.input a\n.decl b()\n.input b\n.printsize a\n.printsize b\n")
    (folder / "a.facts").write_text("\n")
    (folder / "b.facts").write_text("")
    assert tidelog("run", "p.dl").out == "a\t1\nb\t0\n"


def test_facts_that_no_output_needs_may_be_missing(folder: Path, tidelog: Run) -> None:
    (folder / "p.dl").write_text(
        ".decl a(x: number, y: number)\n.input a\n.decl b, c, d, e, f(x: number, y: number)\n.input b, c, d, e\n"
        "f(x, y) :- <a/c>(x, y), 0 < count : { d(x, _) }.\n.output f\nb(x, y) :- f(x, y).\n"
    )
    for name in "acd":
        (folder / f"{name}.facts").write_text("1\t1\n")
    assert tidelog("run", "p.dl", "-D", "-", "-w").out.endswith("1\t1\n===============\n")
    assert tidelog("init", "store", "p.dl").code == 1  # a later change may need them
    for name in "acd":
        (folder / f"{name}.facts").rename(folder / "aside")
        outcome = tidelog("run", "p.dl", "-D", "-", "-w")
        assert (outcome.code, f"the facts file of {name} does not exist" in outcome.err) == (1, True)
        (folder / "aside").rename(folder / f"{name}.facts")
    (folder / "b.facts").write_text("x\n")
    assert "E0405" in tidelog("run", "p.dl", "-D", "-", "-w").err  # a file that is there is read


@pytest.mark.parametrize("options", cases_of(__file__, "check refuses what run refuses"))
def test_check_refuses_what_run_refuses(folder: Path, tidelog: Run, options: str) -> None:
    (folder / "p.dl").write_text(f".decl a(x: number)\n.input a({options})\n.output a\n")
    (folder / "a.facts").write_text("1\n")
    assert tidelog("run", "p.dl").code == 1
    assert tidelog("check", "p.dl").code == 1
