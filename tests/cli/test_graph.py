"""`tidelog graph`: the rule graph as a picture or as text. What is in it, tests/rules/ knows."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

from tests.cli.conftest import Run


def test_writes_a_picture(closure: Path, tidelog: Run) -> None:
    outcome = tidelog("graph", "closure.dl", "-o", "g.svg")
    assert (outcome.code, outcome.out, outcome.err) == (0, "g.svg: written\n", "")
    texts = [element.text for element in ET.parse(closure / "g.svg").iter("{http://www.w3.org/2000/svg}text")]
    assert {"e", "t"} <= set(texts)


def test_prints_the_graph_as_text(closure: Path, tidelog: Run) -> None:
    outcome = tidelog("graph", "closure.dl")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        "2 rules, 1 hyper-node, 2 components of single rules\n"
        "\n"
        "  1  t  (recursive)\n"
        "       r1: t(x, y) :- e(x, y).\n"
        "       r2: t(x, z) :- t(x, y), e(y, z).\n"
        "       reads e\n"
    )


def test_an_ending_that_no_picture_has(closure: Path, tidelog: Run) -> None:
    outcome = tidelog("graph", "closure.dl", "-o", "g.doc")
    assert outcome.code == 2
    assert outcome.err.startswith("error[E0690]")
    assert not (closure / "g.doc").exists()


def test_a_folder_that_is_not_there(closure: Path, tidelog: Run) -> None:
    outcome = tidelog("graph", "closure.dl", "-o", "nowhere/g.svg")
    assert outcome.code == 1
    assert outcome.err == (
        "nowhere/g.svg: error[E0412]: the file cannot be written: No such file or directory\n"
        "  hint: create the folder nowhere\n"
    )


def test_a_wrong_program(folder: Path, tidelog: Run) -> None:
    (folder / "p.dl").write_text("a(1).\n")
    outcome = tidelog("graph", "p.dl", "-o", "g.svg")
    assert outcome.code == 1
    assert outcome.err.startswith("p.dl:1:1: error[E0201]")
    assert not (folder / "g.svg").exists()
