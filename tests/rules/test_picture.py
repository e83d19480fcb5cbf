"""The rule graph as a picture and as text."""

from __future__ import annotations

import random
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.zodiac import RS2
from tests.rules.test_graph import core
from tidelog.errors import UsageError
from tidelog.rules.describe import describe
from tidelog.rules.layout import layout
from tidelog.rules.picture import draw, picture

SMALL = """
.decl e(x: number, y: number) .decl t(x: number, y: number) .decl n(x: number, c: number) .decl leaf(x: number)
r1: t(x, y) :- e(x, y).
r2: t(x, y) :- t(x, z), e(z, y).
r3: n(x, c) :- e(x, _), c = count : { t(x, _) }.
r4: leaf(x) :- e(_, x), !n(x, _).
"""


def texts(svg: str) -> list[str]:
    return ["".join(node.itertext()) for node in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_a_picture_names_relations_rules_and_aggregates_in_the_words_of_the_program() -> None:
    shown = texts(picture(core(SMALL)))
    assert {"e", "t", "n", "leaf", "r1", "r2", "count in r3"} <= set(shown)
    assert "r3: n(x, c) :- e(x, _), c = count : { t(x, _) }." in shown
    assert not any("#" in text for text in shown)


PATHS = """
.decl a, b, t, u(x: number, y: number) .decl n(x: number, c: number)
first: t(x, y) :- <a/b|a+>(x, y).
second: u(x, y) :- a+(y, x), n(x, _).
counts: n(x, c) :- t(x, _), c = count : { a+(x, _), b*(x, _) }.
round: u(x, y) :- <(u|b)+>(x, y), !a+(x, y).
"""


def test_a_picture_names_paths_in_words() -> None:
    shown = texts(picture(core(PATHS)))
    assert {"path a+", "path a+|a/b", "path b*", "nodes of type number", "first", "counts"} <= set(shown)
    assert not any("#" in text for text in shown)


def test_a_description_looks_through_paths() -> None:
    text = describe(core(PATHS))
    assert "       first: t(x, y) :- <a/b|a+>(x, y).\n       reads a, b\n" in text
    assert "       reads t, count of a, count of b" in text
    assert "       reads a, n, b, not a" in text
    assert "#" not in text


def test_what_has_to_be_complete_is_drawn_dashed() -> None:
    assert picture(core(SMALL)).count("stroke-dasharray") == 2
    assert picture(core(RS2)).count("stroke-dasharray") == 2
    assert "dashed red" not in picture(core(".decl a(x: number) .decl b(x: number)\nb(x) :- a(x).\n"))


def test_rule_set_2_has_a_box_for_each_hyper_node_and_component() -> None:
    boxes = list(ElementTree.fromstring(picture(core(RS2))).iter("{http://www.w3.org/2000/svg}rect"))
    page, given, nodes, components = 1, 4, 8, 14
    assert len(boxes) == page + given + nodes + components


def test_the_same_program_gives_the_same_picture() -> None:
    assert picture(core(RS2)) == picture(core(RS2))


def test_large_programs_are_drawn_without_their_rules() -> None:
    text = "".join(f".decl p{i}(x: number)\n" for i in range(301))
    shown = texts(picture(core(text + "".join(f"r{i}: p{i + 1}(x) :- p{i}(x).\n" for i in range(300)))))
    assert {"p0", "p300", "1 rule"} <= set(shown)
    assert "r7" not in shown


def test_an_empty_program_is_an_empty_picture() -> None:
    assert "<svg" in picture(core(".decl a(x: number)\n"))
    assert describe(core(".decl a(x: number)\n")) == "0 rules, 0 hyper-nodes, 0 components of single rules"


@pytest.mark.parametrize(
    ("ending", "start"), [(".svg", b"<svg"), (".html", b"<!doctype html>"), (".png", b"\x89PNG"), (".pdf", b"%PDF")]
)
def test_files_are_written_by_their_ending(ending: str, start: bytes, tmp_path: Path) -> None:
    draw(core(SMALL), tmp_path / f"graph{ending}")
    assert (tmp_path / f"graph{ending}").read_bytes().startswith(start)


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has to end in \.svg, \.html, \.png, \.pdf; this is 'graph\.txt'"):
        draw(core(SMALL), tmp_path / "graph.txt")


def test_a_description_lists_the_nodes_with_what_they_read() -> None:
    assert describe(core(SMALL)).splitlines() == [
        "4 rules, 3 hyper-nodes, 4 components of single rules",
        "",
        "  1  t  (recursive)",
        "       r1: t(x, y) :- e(x, y).",
        "       r2: t(x, y) :- t(x, z), e(z, y).",
        "       reads e",
        "",
        "  2  n",
        "       r3: n(x, c) :- e(x, _), c = count : { t(x, _) }.",
        "       reads e, count of t",
        "",
        "  3  leaf",
        "       r4: leaf(x) :- e(_, x), !n(x, _).",
        "       reads e, not n",
    ]


def test_boxes_do_not_overlap_and_arrows_lead_to_the_right() -> None:
    rng = random.Random(3)
    for _ in range(100):
        size = rng.randrange(1, 15)
        sizes = [(rng.uniform(20, 90), rng.uniform(15, 60)) for _ in range(size)]
        arrows = [(i, j) for i, j in combinations(range(size), 2) if rng.random() < 0.2]
        placed = layout(sizes, arrows, late=[0])
        for one, other in combinations(placed.places[:size], 2):
            across = abs(one.x - other.x) >= (one.size[0] + other.size[0]) / 2
            down = abs(one.y - other.y) >= (one.size[1] + other.size[1]) / 2
            assert across or down
        for route in placed.routes:
            assert all(placed.places[one].x < placed.places[other].x for one, other in pairwise(route))
