"""How changes, reports and rule graphs show themselves in a notebook."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

import tidelog
from tidelog.rules import picture

HOSTILE = "<script>alert(1)</script>&\"'"


@pytest.fixture
def db() -> tidelog.Database:
    database = tidelog.connect()
    database.load(".decl e(x: symbol, y: number)  .decl n(x: symbol)  r1: n(x) :- e(x, _).")
    return database


def rows(html: str) -> list[list[str | None]]:
    return [[cell.text for cell in row] for row in ElementTree.fromstring(f"<a>{html}</a>").iter("tr")]


def test_a_change_shows_its_rows_with_signs_and_escaped(db: tidelog.Database) -> None:
    db.insert("e", [(HOSTILE, 1)])
    db.commit()
    db.insert("e", [("b", 2)])
    db.delete("e", [(HOSTILE, 1)])
    html = db.commit()._repr_html_()
    assert "<script" not in html
    assert rows(html) == [
        [None, "x", "y"], ["+", "b", "2"], ["-", HOSTILE, "1"], [None, "x"], ["+", "b"], ["-", HOSTILE]
    ]  # fmt: skip


def test_a_change_of_many_rows_is_cut(db: tidelog.Database) -> None:
    db.insert("e", [(f"{n}", n) for n in range(15)])
    db.commit()
    db.clear("e")
    db.insert("e", [(f"n{n}", n) for n in range(15)])
    html = db.commit()._repr_html_()
    assert len(rows(html)) == 2 * 21
    assert "e: +15 -15, the first 20 shown" in html


def test_a_change_of_nothing_says_so(db: tidelog.Database) -> None:
    assert db.commit()._repr_html_() == "<p>nothing changed</p>"


def test_a_report_is_a_table_of_hyper_nodes(db: tidelog.Database) -> None:
    db.insert("e", [("a", 1)])
    table = rows(db.commit().report._repr_html_())
    assert table[0] == ["relations", "rules", "strategy", "reason", "seconds", "impact"]
    assert [row[:3] + row[5:] for row in table[1:]] == [["n", "r1", "bootstrap", "1"]]


def test_the_rule_graph_is_a_picture_or_text(db: tidelog.Database, tmp_path: Path) -> None:
    db.commit()
    graph = db.draw()
    svg = graph._repr_svg_()
    assert svg is not None
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert "r1: n(x) :- e(x, _)." in repr(graph)
    graph.save(tmp_path / "g.dot")
    assert (tmp_path / "g.dot").read_text() == graph.dot


def test_without_pygraphviz_the_rule_graph_is_text(db: tidelog.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    db.commit()
    monkeypatch.setattr(picture, "is_installed", lambda module: module != "pygraphviz")
    assert db.draw()._repr_svg_() is None
