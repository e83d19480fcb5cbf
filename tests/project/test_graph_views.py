"""The examples of the Regular Datalog paper run, say what they said when they were written, and draw their pictures."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

FOLDER = Path(__file__).parents[2] / "examples/graph_views"
SUSPECT = "#c62828"
Run = Callable[[str], str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs an example by its name and returns its picture as text."""
    monkeypatch.syspath_prepend(str(FOLDER))

    def once(name: str) -> str:
        picture = tmp_path / "pictures" / f"{name}.svg"
        runpy.run_path(str(FOLDER / f"{name}.py"))["main"](picture)
        return picture.read_text()

    return once


def words(text: str) -> list[str]:
    """The labels of a picture."""
    root = ElementTree.fromstring(text)
    return [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_fraud_detection(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    picture = run("fraud_detection")
    assert capsys.readouterr().out.splitlines() == [
        "money may come back to foundry, mill",
        "secured: bakery to brewery",
        "one pair of eyes sees foundry to mill, mill to foundry",
        "the brewery pays the harbour, and north is no longer monitored:",
        "  suspect: 21 come, 0 go",
        "  stransfer: 0 come, 1 go",
        "  detectable: 5 come, 0 go",
        "money may come back to brewery, foundry, harbour, mill, quarry",
        "secured: nothing",
        "one pair of eyes sees foundry to mill, foundry to quarry, mill to foundry, mill to quarry, quarry to foundry, "
        "quarry to mill",
        "drawn: fraud_detection.svg",
    ]
    labels = words(picture)
    assert [labels.count(name) for name in ("before", "after", "harbour", "suspect transfer")] == [1, 1, 2, 1]
    before, after = picture.split('<g id="axes_2">')
    # An arrow names its colour three times, for its line and its head; the second half has the legend as well.
    assert [half.count(SUSPECT) for half in (before, after)] == [3 * 2, 3 * 6 + 1]


def test_brand_reach(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    labels = words(run("brand_reach"))
    assert capsys.readouterr().out.splitlines() == [
        "exposed: ada, eve, fay, gus; 16 pairs of clients",
        "ben hires the agency, eve no longer follows ada, gus follows ida:",
        "  + ben is exposed to tea",
        "  + hal is exposed to tea",
        "  + ida is exposed to tea",
        "exposed: ada, ben, eve, fay, gus, hal, ida; 49 pairs of clients",
        "drawn: brand_reach.svg",
    ]
    assert [labels.count(name) for name in ("before", "after", "ida", "endorses")] == [1, 1, 2, 1]


def test_the_same_graph_gives_the_same_picture(run: Run) -> None:
    assert run("brand_reach") == run("brand_reach")
