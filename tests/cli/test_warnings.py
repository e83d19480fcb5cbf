"""Warnings of the command line: options and comments that switch them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run


def codes(text: str) -> list[str]:
    return [part[:5] for part in text.split("warning[")[1:]]


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
