"""The examples run and say what they said when they were written."""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tidelog.cli.entry import main

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_points_to_runs_from_the_command_line(tmp_path: Path) -> None:
    folder = EXAMPLES / "points_to"
    command: list[str | Path] = [sys.executable, "-m", "tidelog", "run", folder / "points_to.dl"]
    command += ["-F", folder / "facts", "-D", tmp_path]
    subprocess.run(command, check=True, capture_output=True)
    rows = {file.stem: sorted(file.read_text().splitlines()) for file in tmp_path.iterdir()}
    assert rows["kept_local"] == ["Buffer", "List"]
    assert rows["points_to"] == [
        "cursor\tNode1",
        "cursor\tNode2",
        "first\tNode1",
        "head\tNode1",
        "list\tList",
        "next\tNode2",
        "scratch\tBuffer",
        "second\tNode2",
        "start\tNode1",
    ]
    assert "first\tstart" in rows["alias"]


@pytest.mark.smoke
def test_org_chart_shows_what_a_move_changes(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "org_chart/org_chart.py"))["main"]()
    assert capsys.readouterr().out.splitlines() == [
        "ada has 5 people for 393000 euros",
        "ben has 2 people for 148000 euros",
        "cleo has 1 people for 70000 euros",
        "eve earns 8000 euros more than ben",
        "eve moves from ben to cleo:",
        "  - team('ben', 2, 148000)",
        "  - team('cleo', 1, 70000)",
        "  + team('ben', 1, 60000)",
        "  + team('cleo', 2, 158000)",
        "  - earns_more_than_boss('eve', 'ben', 8000)",
    ]


def test_fraud_runs_through_spark(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "fraud/fraud.py"))["main"](spark)
    assert capsys.readouterr().out.splitlines() == [
        "account: 5 read = 5 accepted + 0 quarantined",
        "transfer: 11 read = 7 accepted + 4 quarantined",
        "  transfer: euros: NaN: " + '{"id":"11","payer":"C1","payee":"D1","euros":"NaN"}',
        "  transfer: euros: not a number: " + '{"id":"9","payer":"A1","payee":"D1","euros":"many"}',
        "  transfer: id: negative: " + '{"id":"-8","payer":"A1","payee":"D1","euros":"50"}',
        "  transfer: not 4 columns: " + '{"line":"10,A1,D1"}',
        "money of A1 comes back after 4 steps",
        "money of A2 comes back after 4 steps",
        "money of B1 comes back after 4 steps",
        "money of C1 comes back after 4 steps",
        "Amber Ltd: 2 account(s) on a round trip, 16900.00 euros received",
        "Basil AG: 1 account(s) on a round trip, 9120.00 euros received",
        "Cedar SA: 1 account(s) on a round trip, 8700.50 euros received",
    ]


def test_the_pipeline_of_the_readme_works_on_the_difference(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "fraud"
    shutil.copytree(EXAMPLES / "fraud", folder, ignore=shutil.ignore_patterns("out"))
    command = ["pipeline", "run", str(folder / "pipeline.toml")]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "transfer    11         7           0            4" in shown
    assert shown.endswith("\nepoch 1 on the embedded engine, 97 derived tuples changed\n")
    transfers = folder / "data/transfers.csv"
    transfers.write_text(transfers.read_text().replace("2,B1,C1,8700.50\n", ""))
    assert main([*command, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["epoch"], summary["engine"]) == (2, "embedded")
    assert summary["counts"]["transfer"] == {"read": 10, "accepted": 6, "quarantined": 4, "duplicates": 0, "late": 0}
    assert summary["written"][str(folder / "out/suspect")] == 0
    changes = spark.read.parquet(str(folder / "out/round_trip_changes"))
    assert changes.where("epoch = 1 and op = 'insert'").count() == 4
    assert changes.where("epoch = 2 and op = 'delete'").count() == 4
    assert spark.read.parquet(str(folder / "out/quarantine")).count() == 8


def test_a_pipeline_that_cannot_run_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "run", str(tmp_path / "none.toml")]) == 2
    assert "none.toml: error[E0650]: cannot use this file: No such file or directory" in capsys.readouterr().err
    (tmp_path / "p.toml").write_text('program = "none.dl"\n')
    assert main(["pipeline", "run", str(tmp_path / "p.toml")]) == 1
    assert "error[E0110]" in capsys.readouterr().err
