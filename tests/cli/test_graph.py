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
