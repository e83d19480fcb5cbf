"""`tidelog run --engine spark`: the outputs are those of the embedded engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tidelog.cli.entry import main

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


NEEDED = """
.decl parent(x: number, y: number)
.decl star(x: number, y: number)
.input parent, star
.decl sg(x: number, y: number)
.decl same(y: number)
.decl centre(x: number)
.output same, centre
sg(x, x) :- parent(x, _).
sg(x, x) :- parent(_, x).
sg(x, y) :- parent(a, x), sg(a, b), parent(b, y).
same(y) :- sg(5, y).
centre(x) :- star(x, _), star(x, _), star(x, _), star(x, _).
"""


@pytest.mark.smoke
@pytest.mark.usefixtures("spark")
def test_what_nobody_needs_is_derived_on_no_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """87,381 pairs of one generation, of which seven are needed; and for each of ten centres 10 ** 12 combinations."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.dl").write_text(NEEDED)
    (tmp_path / "parent.facts").write_text("".join(f"{x // 2}\t{x}\n" for x in range(2, 512)))
    (tmp_path / "star.facts").write_text("".join(f"{x}\t{y}\n" for x in range(10) for y in range(1_000)))
    found = {}
    for engine in ("embedded", "spark"):
        limits = ["--max-rows", "30000", "--timeout", "600"]
        assert main(["run", "p.dl", "-D", "-", "--json", "--stats", "--engine", engine, *limits]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["stats"]["sizes"]["relations"]["sg"] == 7
        found[engine] = {name: output["tuples"] for name, output in document["outputs"].items()}
    assert found["embedded"] == {"same": [[4], [5], [6], [7]], "centre": [[x] for x in range(10)]}
    assert found["spark"] == found["embedded"]
