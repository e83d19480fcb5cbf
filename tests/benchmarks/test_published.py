"""The pages show the figures of `benchmarks/results`, and all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import findings, published, table
from benchmarks.findings import Judged
from benchmarks.harness import ROOT, Line, Measured, Target

TABLE = {
    "command": "make bench",
    "machine": "two cores",
    "when": "2026-11-22",
    "commit": "abc1234",
    "columns": [{"title": "case"}, {"title": "wall s", "digits": 3}, {"title": "met"}],
    "rows": [["one", 0.5, True], ["many", 1200.25, False]],
}
PAGE = "before\n\n<!-- figures: bench/lines -->\nold\n<!-- end of figures -->\n\nafter\n"


@pytest.mark.parametrize("page", [*published.pages(ROOT)], ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_show_what_the_results_say(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count("<!-- figures:") == text.count("<!-- end of figures -->") == len(published.shown(text))
    assert published.filled(text, published.RESULTS) == text, "run python -m benchmarks.published"


def test_every_published_table_is_on_a_page() -> None:
    shown = {place for page in published.pages(ROOT) for place in published.shown(page.read_text(encoding="utf-8"))}
    tables = {
        (file.stem, name)
        for file in published.RESULTS.glob("*.json")
        for name in json.loads(file.read_text(encoding="utf-8"))["tables"]
    }
    assert tables == shown


def test_a_page_gets_the_table_between_its_comments(tmp_path: Path) -> None:
    (tmp_path / "bench.json").write_text(published.document({"lines": TABLE}))
    filled = published.filled(PAGE, tmp_path)
    assert filled.splitlines() == [
        "before",
        "",
        "<!-- figures: bench/lines -->",
        "",
        "| case | wall s | met |",
        "| --- | --- | --- |",
        "| one | 0.500 | yes |",
        "| many | 1,200.250 | **no** |",
        "",
        "*Measured: `make bench`, two cores, 2026-11-22, commit abc1234.*",
        "",
        "<!-- end of figures -->",
        "",
        "after",
    ]
    assert published.filled(filled, tmp_path) == filled


def test_a_table_that_is_missing_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bench.json").write_text(published.document({"others": TABLE}))
    with pytest.raises(KeyError, match="lines"):
        published.filled(PAGE, tmp_path)


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (None, "|  |"),
        ("text", "| text |"),
        (1234567, "| 1,234,567 |"),
        (0.25, "| 0.25 |"),
        ({"ms": 1.4}, "| 1.4 ms |"),
        ([1000, 2], "| 1,000; 2 |"),
    ],
)
def test_cells(cell: Any, shown: str) -> None:
    one = {**TABLE, "columns": [{"title": "figure"}], "rows": [[cell]]}
    assert published.markdown(one).splitlines()[2] == shown


def test_figures_without_an_origin_have_no_line_about_it() -> None:
    bare = {**TABLE, "command": None, "machine": None, "when": None, "commit": None}
    assert published.markdown(bare).splitlines()[-1] == "| many | 1,200.250 | **no** |"


def test_a_run_replaces_tables_of_the_same_name_only(tmp_path: Path) -> None:
    results, run = tmp_path / "results", tmp_path / "out" / "bench.json"
    run.parent.mkdir()
    findings.write(run, {}, {"lines": findings.table(("case",), [["a"]]), "galen": findings.table(("case",), [["b"]])})
    published.take(run, results)
    findings.write(run, {}, {"lines": findings.table(("case",), [["c"]])})
    published.take(run, results)
    tables = json.loads((results / "bench.json").read_text())["tables"]
    assert {name: each["rows"] for name, each in tables.items()} == {"lines": [["c"]], "galen": [["b"]]}
    assert tables["lines"]["when"]
    assert tables["lines"]["machine"]


def test_a_run_publishes_its_targets() -> None:
    judged = [Judged("a small update", 0.0026123, 0.01, "s"), Judged("of scratch", 1.25678, 1.2, "x")]
    rows = findings.targets(judged)["rows"]
    assert rows == [["a small update", {"ms": 2.612}, {"ms": 10.0}, True], ["of scratch", 1.257, 1.2, False]]


def test_a_run_publishes_a_line_with_its_peers() -> None:
    ours = Measured({"t": 3}, 1.23456, 1.0, {"bytes_per_tuple": 90.7}, 1, 2_000_000_000)
    peer = Measured({"t": 3}, 9.0, 8.0, {}, 1, 1_000_000_000)
    one = table.published([Line("galen", "all", ours, {"t": 3}, (Target("seconds", 2),), {"nemo": peer})])
    expected = ["galen", "all", [3], 1.235, 1.0, 2000, "< 2 s", True, ["nemo"], [8.0], [8.0], {"bytes per tuple": 91}]
    assert one["rows"] == [expected]
    assert len(one["columns"]) == len(expected)
