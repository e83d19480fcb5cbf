"""`tidelog graph`: which boxes and arrows the picture has."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

from tests.cli.conftest import Run
from tidelog.cli.picture import draw, rule_graph
from tidelog.language import check, read
from tidelog.rules import compile_program

PROGRAM = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl far(x: number, y: number)
.decl size(n: number)
r1: t(x, y) :- e(x, y).
r2: t(x, z) :- t(x, y), e(y, z).
r3: far(x, y) :- t(x, y), !e(x, y).
r4: size(n) :- n = count : { far(_, _) }.
"""


def test_boxes_and_arrows() -> None:
    boxes = rule_graph(compile_program(check(read(PROGRAM))))
    assert [(box.title, box.rules, box.form) for box in boxes] == [
        (("e",), (), "given"),
        (("t",), ("r1 r2",), "recursive"),
        (("far",), ("r3",), "box"),
        (("size",), ("r4",), "box"),
    ]
    assert [dict(box.reads) for box in boxes] == [{}, {0: False}, {0: True, 1: False}, {2: True}]


def test_picture_is_well_formed_and_stable() -> None:
    core = compile_program(check(read(PROGRAM.replace("far", "f_and_g"))))
    picture = draw(core)
    texts = [element.text for element in ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]
    assert texts[:7] == ["e", "t", "r1 r2", "f_and_g", "r3", "size", "r4"]
    assert picture == draw(core)


def test_empty_program_gives_a_picture() -> None:
    ET.fromstring(draw(compile_program(check(read("\n")))))


def test_writes_the_file(closure: Path, tidelog: Run) -> None:
    outcome = tidelog("graph", "closure.dl", "-o", "g.svg")
    assert (outcome.code, outcome.out, outcome.err) == (0, "g.svg: written\n", "")
    assert (closure / "g.svg").read_text().startswith("<svg")


def test_dash_prints_the_picture(closure: Path, tidelog: Run) -> None:
    assert tidelog("graph", "closure.dl", "-o", "-").out.startswith("<svg")


def test_a_folder_that_is_not_there(closure: Path, tidelog: Run) -> None:
    outcome = tidelog("graph", "closure.dl", "-o", "nowhere/g.svg")
    assert outcome.code == 2
    assert "error[E0650]" in outcome.err
    assert "nowhere" in outcome.err
