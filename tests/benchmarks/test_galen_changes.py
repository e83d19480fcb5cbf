"""GALEN with small changes, and the tables that a run publishes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import __main__ as program
from benchmarks import galen, galen_changes
from benchmarks.harness import Line, Measured
from tests.benchmarks.galen_facts import write_galen


def measured(cpu: float, runs: int = 1, **details: float) -> Measured:
    return Measured({}, 2 * cpu, cpu, details, runs, 1)


SCRATCH = measured(20.0, load=0.1, store=0.07, fixpoint=19.816, growing=0.6, reindexing=4.0)
CHECK = measured(5.0, bootstrap=20.0, bootstrap_cpu=20.0, memory_ratio=1.4)
LINES = [
    Line("galen", galen.SCRATCH, SCRATCH, peers={"nemo": measured(170.04)}),
    Line("galen", galen.CHECK, CHECK),
    Line("galen_changes", galen_changes.WHAT, measured(0.00142, runs=80)),
]


def test_facts_go_and_come_back(tmp_path: Path) -> None:
    write_galen(tmp_path)
    assert galen_changes.changes(str(tmp_path), 3).runs == 6


def test_a_run_publishes_galen_beside_its_peer() -> None:
    tables = galen_changes.tables(LINES)
    assert [figure for _, figure in tables["galen"]["rows"]] == [{"s": 20.0}, {"s": 170.0}, {"ms": 1.4}]
    assert tables["galen"]["rows"][2][0].endswith("median of 80")
    parts = [{"s": 0.1}, {"s": 0.07}, {"s": 19.8}, {"s": 0.6}, {"s": 4.0}, 0.5, 0.25, 1.4]
    assert [figure for _, figure in tables["galen_parts"]["rows"]] == parts


@pytest.mark.parametrize("lacking", range(4))
def test_a_run_without_a_part_leaves_the_published_tables(lacking: int) -> None:
    without_nemo = [Line("galen", galen.SCRATCH, SCRATCH), *LINES[1:]]
    assert galen_changes.tables([*LINES[:lacking], *LINES[lacking + 1 :]] if lacking < 3 else without_nemo) == {}


def test_only_a_whole_run_publishes_its_lines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIDELOG_DATA", str(tmp_path))
    words = ["--runs", "1", "--json", str(tmp_path / "bench.json")]
    monkeypatch.setattr(program, "GENERATED", {})
    monkeypatch.setattr(program, "PUBLISHED", {"galen_changes": lambda _: iter(LINES)})
    assert program.main([*words, "--only", "galen_changes"]) == 0
    assert json.loads((tmp_path / "bench.json").read_text())["tables"].keys() == {"galen", "galen_parts"}
    assert program.main(words) == 0
    assert json.loads((tmp_path / "bench.json").read_text())["tables"].keys() == {"lines", "galen", "galen_parts"}
