"""`tidelog run --console` and `tidelog report`: pages to look into."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run
from tests.workbench.test_console import data_of


def test_a_run_as_a_page(closure: Path, tidelog: Run) -> None:
    outcome = tidelog("run", "closure.dl", "--check", "--console", "run.html")
    assert (outcome.code, outcome.err) == (0, "")
    found = data_of((closure / "run.html").read_text("utf-8"))
    assert {each["name"]: each["size"] for each in found["relations"]["relations"]} == {"e": 2, "t": 3}
    assert found["check"]["last"]["ok"] is True
    assert [each["changes"] for each in found["graph"]["epochs"]] == [{"e": [2, 0], "t": [3, 0]}]
    assert sorted(found["rows"]["t"]["rows"]) == [[1, 2], [1, 3], [2, 3]]


def test_a_run_on_spark_has_no_page(closure: Path, tidelog: Run) -> None:
    outcome = tidelog("run", "closure.dl", "--engine", "spark", "--console", "run.html")
    assert outcome.code == 2
    assert "error[E0603]: --console shows runs of the embedded engine" in outcome.err


def test_a_store_as_a_page(closure: Path, tidelog: Run) -> None:
    assert tidelog("init", "s", "closure.dl").code == 0
    outcome = tidelog("report", "s", "store.html")
    assert (outcome.code, outcome.out, outcome.err) == (0, "store.html: written\n", "")
    found = data_of((closure / "store.html").read_text("utf-8"))
    assert found["check"]["last"] is None
    assert found["rows"]["t"]["total"] == 3


def test_a_page_of_no_store(closure: Path, tidelog: Run) -> None:
    outcome = tidelog("report", "nothing", "store.html")
    assert outcome.code == 2
    assert "error[E0654]" in outcome.err
    assert not (closure / "store.html").exists()
