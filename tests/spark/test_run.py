"""`tidelog run --engine spark`: the outputs are those of the embedded engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tidelog.cli import main

PROGRAM = """
.decl e(x: symbol, y: symbol)
.input e
.decl t(x: symbol, y: symbol)
.output t
.decl size(n: number, f: float)
.output size
.printsize t
t1: t(x, y) :- e(x, y).
t2: t(x, z) :- t(x, y), t(y, z).
size(n, 0.5) :- n = count : { t(_, _) }.
"""


def test_outputs_report_and_mistakes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.dl").write_text(PROGRAM)
    (tmp_path / "e.facts").write_text("a\tb\nb\tc\nc\ta\n")
    assert main(["run", "p.dl", "-D", "here"]) == 0
    assert main(["run", "p.dl", "-D", "there", "--engine", "spark", "--check", "--stats"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "t\t9\nt\t9\n"
    assert "cluster" in printed.err
    for name in ("t.csv", "size.csv"):
        assert (tmp_path / "there" / name).read_text() == (tmp_path / "here" / name).read_text()
    assert main(["run", "p.dl", "-D", "-", "--engine", "spark", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["outputs"]["size"]["tuples"] == [[9, 0.5]]
    assert main(["run", "p.dl", "-D", "-", "--engine", "spark", "--max-rows", "5"]) == 3
    assert "error[E0502]" in capsys.readouterr().err
    assert spark.range(3).count() == 3  # a session that was there goes on
