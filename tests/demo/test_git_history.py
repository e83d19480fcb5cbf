"""The example that follows commits: what it says about each, and that views follow instead of being evaluated anew."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples/git_history/history.py"
SAID = """\
9190b6b sell things
    + unused: orders.describe
2c2a0d7 say how many things
    - unused: orders.describe
164ae02 give discounts
    + circular: orders
    + circular: prices
f2572d4 move discounts to a module of their own
    - circular: orders
    - circular: prices
16ce057 call prices by their module
    + broken: orders.total -> prices.with_tax
    + unused: discounts.discount
    + unused: prices.gross
    + unused: prices.net
17da15f rename gross
    - broken: orders.total -> prices.with_tax
    - unused: discounts.discount
    - unused: prices.gross
    - unused: prices.net
5dd8ce9 print the total only
    + unused: orders.describe
28281f8 remove what nobody uses
    - unused: orders.describe
"""


def test_each_commit_says_what_it_changes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE)])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert capsys.readouterr().out == SAID


def test_the_views_of_the_last_commit_are_right(tmp_path: Path) -> None:
    example: dict[str, Any] = runpy.run_path(str(EXAMPLE))
    example["git"](tmp_path, "init", "--quiet", "--initial-branch=main")
    example["git"](tmp_path, "fast-import", "--quiet", stdin=EXAMPLE.with_name("shop.txt").read_bytes())
    db = example["follow"](tmp_path)
    db.check()
    assert sorted(db["defines"]) == [
        ("discounts.discount", "discounts", "discount"),
        ("orders.total", "orders", "total"),
        ("prices.net", "prices", "net"),
        ("prices.with_tax", "prices", "with_tax"),
    ]
    assert not list(db["unused"])
    assert db.stats()["updates"] > db.stats()["bootstraps"]
