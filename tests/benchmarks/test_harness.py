"""The table follows from the measurements; nothing here takes a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import table
from benchmarks.evaluate import first_evaluation
from benchmarks.harness import BenchmarkError, Line, Measured, Run, Target, in_child, measure

TEN = Measured({"t": 3}, wall=10.0, cpu=8.0, details={"load_cpu": 2.0}, runs=1, peak=2_000_000_000)


def test_medians_of_times_and_details() -> None:
    walls = iter([3.0, 1.0, 50.0])

    def once() -> Run:
        wall = next(walls)
        return Run({"t": 3}, wall, wall / 2, {"load": wall + 1})

    measured = measure(once, 3)
    assert (measured.wall, measured.cpu, measured.details, measured.runs) == (3.0, 1.5, {"load": 4.0}, 3)
    assert measured.peak > 1_000_000


@pytest.mark.parametrize(("seconds", "runs"), [(0.01, 7), (2.0, 3), (60.0, 1)])
def test_the_costlier_the_fewer_runs(seconds: float, runs: int) -> None:
    assert measure(lambda: Run({}, seconds, seconds), None).runs == runs


def test_runs_that_disagree_are_no_result() -> None:
    sizes = iter([3, 4])
    with pytest.raises(BenchmarkError) as caught:
        measure(lambda: Run({"t": next(sizes)}, 1, 1), 2)
    assert str(caught.value) == "sizes differ between runs: t"


def test_a_ratio_compares_cpu_seconds_with_loading_on_both_sides() -> None:
    line = Line("closure", "chain", TEN, peers={"slow": replace(TEN, cpu=60.0), "quick": replace(TEN, cpu=5.0)})
    assert (line.ratio("slow"), line.ratio("quick")) == (6.0, 0.5)


@pytest.mark.parametrize(
    ("targets", "met"),
    [
        ((), None),
        ((Target("seconds", 10),), True),
        ((Target("seconds", 9.9),), False),
        ((Target("bytes", 2e9),), True),
        ((Target("seconds", 10), Target("bytes", 1.9e9)), False),
        ((Target("ratio", 6),), True),
        ((Target("ratio", 6.1),), False),
        ((Target("seconds", 10), Target("ratio", 6.1)), False),
    ],
)
def test_all_targets_have_to_be_met(targets: tuple[Target, ...], met: bool | None) -> None:
    assert Line("closure", "chain", TEN, targets=targets, peers={"slow": replace(TEN, cpu=60.0)}).met is met


def test_a_ratio_without_a_peer_is_no_miss() -> None:
    assert Line("galen", "all", TEN, targets=(Target("ratio", 6),)).met is None
    assert Line("galen", "all", TEN, targets=(Target("seconds", 10), Target("ratio", 6))).met is True


def test_sizes_are_compared_exactly_also_those_of_peers() -> None:
    assert Line("closure", "chain", TEN, {"t": 3}).exact
    assert not Line("closure", "chain", TEN, {"t": 4}).exact
    assert not Line("closure", "chain", TEN, {"u": 3}).exact
    assert not Line("closure", "chain", TEN, {"t": 3}, peers={"duckdb": replace(TEN, sizes={"t": 2})}).exact


def test_a_wrong_size_is_shown_with_what_was_expected() -> None:
    head, *below = table.row(Line("closure", "chain", TEN, {"t": 4}, (Target("seconds", 9),))).splitlines()
    assert head.split() == ["closure", "chain", "WRONG", "10.000", "8.000", "1", "2,000", "<", "9", "s", "NO"]
    assert [line.strip() for line in below] == ["load_cpu 2", "expected {'t': 4}; tidelog found {'t': 3}"]


def test_a_line_of_the_document_has_everything() -> None:
    peers = {"slow": replace(TEN, cpu=60.0)}
    document = Line("closure", "chain", TEN, {"t": 3}, (Target("ratio", 6),), peers).as_json()
    assert document["exact"]
    assert document["met"]
    assert document["peers"]["slow"]["ratio"] == 6.0
    assert document["targets"] == [{"kind": "ratio", "bound": 6}]
    assert (document["wall"], document["peak"], document["expected"]) == (10.0, 2_000_000_000, {"t": 3})


def test_a_process_of_its_own_reports_back() -> None:
    assert in_child(first_evaluation).sizes == {"t": 60 * 61 // 2}


def no_evaluation(reason: str) -> Measured:
    raise ValueError(reason)


@pytest.mark.parametrize("cache", [None, "an empty folder"])
def test_a_process_that_fails_says_why(cache: str | None, tmp_path: Path) -> None:
    place = None if cache is None else str(tmp_path)
    with pytest.raises(BenchmarkError) as caught:
        in_child(no_evaluation, "no wheel", cache=place)
    assert "test_harness:no_evaluation ended with 1" in str(caught.value)
    assert "no wheel" in str(caught.value)
