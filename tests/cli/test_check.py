"""`tidelog check`: every error of a program, without running it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run

WRONG = """\
.decl a(x: number)
.decl b(x: number)
a(y) :- b(x).
a(1, 2).
"""


def test_warnings_are_no_errors(folder: Path, tidelog: Run) -> None:
    (folder / "p.dl").write_text(".decl a(x: number, y: number)\n.input a\n.decl b(x: number)\nb(x) :- a(x, y).\n")
    outcome = tidelog("check", "p.dl")
    assert outcome.code == 0
    assert outcome.err.startswith("p.dl:4:14: warning[E0292]")
    assert outcome.out == "p.dl: 1 warning (2 relations, 1 rule, 0 facts)\n"
    document = json.loads(tidelog("check", "p.dl", "--json").out)
    assert [(each["code"], each["severity"]) for each in document["warnings"]] == [("E0292", "warning")]


def test_errors_as_json(folder: Path, tidelog: Run) -> None:
    (folder / "p.dl").write_text(WRONG)
    outcome = tidelog("check", "p.dl", "--json")
    assert (outcome.code, outcome.err) == (1, "")
    document = json.loads(outcome.out)
    assert (document["ok"], document["exit"]) == (False, 1)
    places = [(error["file"], error["line"], error["column"]) for error in document["errors"]]
    assert places == [("p.dl", 3, 3), ("p.dl", 4, 1)]
    assert set(document["errors"][0]) == {
        "code", "severity", "message", "file", "line", "column", "length", "place", "hint", "notes",
    }  # fmt: skip
