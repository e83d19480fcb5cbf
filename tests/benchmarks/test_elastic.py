"""The experiments of the elastic paper at a tiny size; nothing here judges a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
import pytest

from benchmarks.elastic import __main__ as program
from benchmarks.elastic import bytecode, derivations, epochs, points_to, proportion, targets, updates, workloads
from benchmarks.elastic.processes import apart
from benchmarks.harness import BenchmarkError
from tests.benchmarks.galen_facts import write_galen
from tests.benchmarks.here import here

pytestmark = pytest.mark.deep

SOURCE = """
class Shape:
    def grow(self, other):
        self.other = other
        return other

class Square(Shape):
    pass

def build():
    item = []
    square = Square()
    found = square.grow(item)
    return square.other
"""


def analysed(source: str) -> tuple[workloads.Workload, dict[str, set[tuple[Any, ...]]]]:
    facts = bytecode.facts_of([("shapes", source)])
    work = workloads.Workload("points_to", points_to.PROGRAM, facts, {})
    db = work.database()
    db.commit()
    return work, {name: set(db[name]) for name in points_to.DERIVED}


def test_a_method_is_found_through_the_receiver_and_its_bases() -> None:
    work, views = analysed(SOURCE)
    # What build() returns is the list, which went through an inherited method and a field of the receiver.
    lists = {o for _, o, _ in work.facts["allocate"].tolist()} & {o for _, _, o in views["heap"]}
    assert len(lists) == 1
    returned = {v for _, v in work.facts["returned"].tolist()}
    assert {o for v, o in views["points"] if v in returned} == lists
    # Two instances of two classes: what build() makes, and what a user of the module may call methods on.
    assert len(views["instance"]) == 2
    assert len(views["above"]) == 1


def test_a_function_that_nobody_calls_is_not_reached() -> None:
    called = "def _inner():\n    return []\ndef outer():\n    return _inner()\n"
    _, views = analysed(called)
    _, without = analysed(called.replace("return _inner()", "return 1"))
    assert len(views["reachable"]) == 3
    assert len(without["reachable"]) == 2


def test_facts_of_the_standard_library_are_pairs_of_the_right_width(tmp_path: Path) -> None:
    number = workloads.make_points_to(tmp_path, 3)
    work = workloads.workload("points_to", str(tmp_path))
    assert number == sum(map(len, work.facts.values()))
    assert {name: words.shape[1] for name, words in work.facts.items()} == points_to.ARITIES


def test_a_sample_is_of_the_facts_and_of_the_size_asked_for() -> None:
    facts = {"e": numpy.arange(20).reshape(10, 2), "f": numpy.arange(5).reshape(5, 1)}
    chosen = workloads.sample(facts, 12, numpy.random.default_rng(1))
    assert sum(map(len, chosen.values())) == 12
    left = workloads.without(facts, chosen)
    assert sum(map(len, left.values())) == 3
    both = {tuple(row) for name in chosen for row in chosen[name].tolist()}
    assert not both & {tuple(row) for name in left for row in left[name].tolist()}


def test_updates_leave_the_sizes_as_they_were(tmp_path: Path) -> None:
    workloads.make_points_to(tmp_path, 3)
    found = updates.experiment("points_to", str(tmp_path), {10: 2, 100: 1}, "update", 7)
    assert [(epoch["size"], epoch["kind"]) for epoch in found["epochs"]] == [
        (10, "delete"),
        (10, "insert"),
        (10, "delete"),
        (10, "insert"),
        (100, "delete"),
        (100, "insert"),
    ]
    assert sum(epoch["bootstraps"] for epoch in found["epochs"]) == 0


def test_a_size_that_is_not_the_published_one_fails(tmp_path: Path) -> None:
    write_galen(tmp_path)
    with pytest.raises(BenchmarkError):
        updates.experiment("galen", str(tmp_path), {}, "auto", 7)


@pytest.mark.parametrize("strategy", epochs.STRATEGIES)
def test_thirteen_epochs(strategy: str, tmp_path: Path) -> None:
    workloads.make_points_to(tmp_path, 3)
    found = epochs.experiment("points_to", str(tmp_path), 5, 50, strategy, 7)
    assert len(found["seconds"]) == 13
    assert (found["bootstraps"] == 13) == (strategy in {"fresh", "bootstrap"})


@pytest.mark.parametrize(("shape", "count"), [("chain", 99), ("grid", 180), ("tree", 99)])
def test_graphs_whose_last_edge_is_at_the_far_end(shape: str, count: int) -> None:
    edges = proportion.edges(shape, 100)
    assert len(edges) == count
    assert edges[-1, 1] == 99
    assert proportion.experiment(shape, 100)["nodes"] == 100


@pytest.mark.parametrize("op", proportion.OPERATIONS)
def test_groups_of_which_a_member_goes_and_comes(op: str) -> None:
    assert proportion.group(op, 50)["shape"] == op


def test_derivations_are_counted_for_each_algorithm() -> None:
    rows = {row["case"]: row for row in derivations.experiment()}
    assert rows["reached, chain of 60, last edge"] == {
        "case": "reached, chain of 60, last edge",
        "scratch": 60,
        "Update": [1, 1],
        "DRed": [1, 1],
        "ZodiacEdge": [1, 1],
    }
    assert len(rows) == 8


def test_a_promise_is_judged_by_cpu_seconds() -> None:
    found = [{"size": 10_000, "kind": "delete", "cpu": cpu, "seconds": 99.0} for cpu in (1.0, 2.0, 9.0)]
    judged = list(targets.of_updates({"name": "galen", "scratch_cpu": 10.0, "idle": 1e-5, "epochs": found}))
    assert [(one.found, one.bound, one.met) for one in judged] == [(0.2, 0.2, True), (1e-5, 1e-4, True)]


def test_a_process_that_fails_says_why() -> None:
    with pytest.raises(BenchmarkError) as caught:
        apart(proportion.experiment, "circle", "many")
    assert "proportion:experiment" in str(caught.value)


def test_tables_json_and_plot(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "apart", here)
    path = tmp_path / "out/elastic.json"
    words = ["--program", "points_to", "--modules", "3", "--largest", "100", "--quick", "--json", str(path)]
    assert program.main(["--only", "updates", "--only", "epochs", *words]) == 0
    document = json.loads(path.read_text())
    assert [epoch["size"] for epoch in document["updates"]["points_to"]["epochs"]] == [10] * 100 + [100] * 10
    assert set(document["epochs"]["points_to"]) == {"auto", "fresh"}
    assert "<svg" in (tmp_path / "out/elastic-points_to.svg").read_text()
    shown = capsys.readouterr().out
    assert "paper, Doop, all: Soufflé 304 s" in shown
    assert "points_to, 13 epochs, of recomputing each" in shown


def test_without_data_the_user_is_told_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.delenv("TIDELOG_DATA", raising=False)
    words = ["--only", "updates", "--program", "galen", "--json", str(tmp_path / "elastic.json")]
    assert program.main(words) == 2
    assert "TIDELOG_DATA=/path/to/data" in capsys.readouterr().err
