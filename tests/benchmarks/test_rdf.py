"""The measurements over RDF at small sizes; nothing takes a time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.rdf import __main__ as program
from benchmarks.rdf import measure
from benchmarks.rdf.graphs import written
from tests.benchmarks.here import here

pytestmark = pytest.mark.deep


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(written(tmp_path_factory.mktemp("graphs"), 300))


def test_a_graph_has_every_property_and_is_the_same_again(graph: str, tmp_path: Path) -> None:
    text = Path(graph).read_text()
    assert len(text.splitlines()) >= 300
    assert "#subOrganizationOf>" in text
    assert written(tmp_path, 300).read_text() == text


def test_the_three_reasoners_differ_for_known_reasons_only(graph: str) -> None:
    found = measure.differences(graph)
    assert found["owlrl"]["both"] == found["triples"] > found["asserted"]
    assert found["owlrl"]["only tidelog"] == {}
    sides = [found[name][side] for name in ("owlrl", "reasonable") for side in ("only tidelog", f"only {name}")]
    assert all("unexplained" not in side for side in sides)


def test_loading_measures_both_libraries_in_both_places(graph: str) -> None:
    names = [f"{name}{where}" for where in ("", ", in a folder") for name in ("tidelog", "pyoxigraph")]
    assert list(measure.loading(graph, graph)) == [*names, "tidelog, opening"]


def test_changes_leave_the_graph_as_it_was(graph: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "CHANGED", 50)
    found = measure.updates(graph)
    assert found["triples"] == measure.ours(graph, graph)["triples"]
    assert found["axioms"].keys() == measure.AXIOMS.keys()
    assert found["axioms"]["a class above another"]["rules"] == 1


def test_one_relation_finds_what_needs_no_lists(graph: str) -> None:
    one, ours = measure.as_one_relation(graph, graph), measure.ours(graph, graph)
    assert ours["asserted"] < one["triples"] <= ours["triples"] + 10


def test_a_run_writes_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program, "apart", here)
    monkeypatch.setattr(program, "QUICK_LARGE", 400)
    monkeypatch.setattr(program, "QUICK_SMALL", 150)
    monkeypatch.setattr(program, "SAME", 150)
    monkeypatch.setattr(measure, "CHANGED", 50)
    assert program.main(["--quick", "--json", str(tmp_path / "rdf.json")]) == 0
    found = json.loads((tmp_path / "rdf.json").read_text())
    assert len(found["targets"]) == 10
    assert "in all changes" in capsys.readouterr().out
