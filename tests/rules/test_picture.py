"""The rule graph as a picture and as text."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from pygraphviz import AGraph

from benchmarks.zodiac import RS2
from tests.constructs import CONSTRUCTS
from tests.rules.test_graph import core
from tests.suite import PROGRAMS
from tidelog.errors import UsageError
from tidelog.language import check, read
from tidelog.rules import compile_program
from tidelog.rules.core import CoreProgram
from tidelog.rules.outline import describe, outline
from tidelog.rules.picture import dot, draw

EXAMPLES = Path(__file__).parents[2] / "examples/constructs"
EVERY_PROGRAM = sorted([*PROGRAMS.glob("*.dl"), *EXAMPLES.glob("*.dl")])

SMALL = """
.decl e(x: number, y: number) .decl t(x: number, y: number) .decl n(x: number, c: number) .decl leaf(x: number)
r1: t(x, y) :- e(x, y).
r2: t(x, y) :- t(x, z), e(z, y).
r3: n(x, c) :- e(x, _), c = count : { t(x, _) }.
r4: leaf(x) :- e(_, x), !n(x, _).
"""


def texts(program: CoreProgram, folder: Path) -> list[str]:
    """The lines of text in the picture of a program."""
    draw(program, folder / "graph.svg")
    picture = ElementTree.parse(folder / "graph.svg")
    return ["".join(node.itertext()) for node in picture.iter("{http://www.w3.org/2000/svg}text")]


def test_a_picture_names_relations_rules_and_aggregates_in_the_words_of_the_program(tmp_path: Path) -> None:
    shown = texts(core(SMALL), tmp_path)
    assert {"e", "t", "n", "leaf", "r1", "r2", "count in r3"} <= set(shown)
    assert "r3: n(x, c) :- e(x, _), c = count : { t(x, _) }." in shown
    assert not any("#" in text for text in shown)


SEVERAL_ATOMS = """
.decl a, b, c, d, q(x: number, y: number)
q(x, w) :- a(x, w), b(x, u), c(u, v), d(v, x).
"""


def test_a_projection_of_several_atoms_is_named_by_their_relations() -> None:
    titles = [title for box in outline(compile_program(check(read(SEVERAL_ATOMS)))).boxes for title in box.titles]
    assert titles == ["a", "b", "c", "d", "a(x0, _)", "columns of a(x0, _), b, c, d", "q"]


PATHS = """
.decl a, b, t, u(x: number, y: number) .decl n(x: number, c: number)
first: t(x, y) :- <a/b|a+>(x, y).
second: u(x, y) :- a+(y, x), n(x, _).
counts: n(x, c) :- t(x, _), c = count : { a+(x, _), b*(x, _) }.
round: u(x, y) :- <(u|b)+>(x, y), !a+(x, y).
"""


def test_a_picture_names_paths_in_words(tmp_path: Path) -> None:
    shown = texts(core(PATHS), tmp_path)
    assert {"path a+", "path a+|a/b", "path b*", "nodes of type number", "first", "counts"} <= set(shown)
    assert not any("#" in text for text in shown)


SELECTING = """
.decl e(x: number, y: number, w: number)
.decl d(x: number, c: number, h: number) min(c), max(h)
.decl f(x: number, c: number)
.decl open(x: number)
.decl far(x: number)
start: d(x, 1, 0) :- e(x, x, _).
step: d(y, c + w, h + 1) :- d(x, c, h), e(x, y, w), open(x).
opens: open(y) :- d(x, _, _), e(x, y, _).
value: f(x, w) :- e(x, _, w).
worse: f(x, c) <= f(x, k) :- e(c, k, _).
fars: far(x) :- d(x, c, _), !f(x, c).
"""


def test_candidates_belong_to_the_relation_that_selects_from_them() -> None:
    program = core(SELECTING)
    assert describe(program).splitlines() == [
        "6 rules, 3 hyper-nodes, 5 components of single rules",
        "",
        "  1  open, d  (recursive)",
        "       start: d(x, 1, 0) :- e(x, x, _).",
        "       step: d(y, c + w, h + 1) :- d(x, c, h), e(x, y, w), open(x).",
        "       opens: open(y) :- d(x, _, _), e(x, y, _).",
        "       reads e",
        "",
        "  2  f",
        "       value: f(x, w) :- e(x, _, w).",
        "       worse: f(x, c) <= f(x, k) :- e(c, k, _).",
        "       reads e",
        "",
        "  3  far",
        "       fars: far(x) :- d(x, c, _), !f(x, c).",
        "       reads d, not f",
    ]
    graph = AGraph(string=dot(program))
    assert {node.attr["label"] for node in graph.nodes()} == {"e", "start", "step, opens", "value", "worse", "fars"}
    assert not [line for line in dot(program).splitlines() if "all." in line or "best." in line or "beat" in line]


def test_a_description_looks_through_paths() -> None:
    text = describe(core(PATHS))
    assert "       first: t(x, y) :- <a/b|a+>(x, y).\n       reads a, b\n" in text
    assert "       reads t, count of a, count of b" in text
    assert "       reads a, n, b, not a" in text
    assert "#" not in text


CLOSURES = """
.decl e(x: number, y: number) .decl t(x: number, y: number) .decl same(x: number, y: number) eqrel
.decl far(x: number, y: number)
near: t(x, y) :- e(x, y), x < y.
step: t(x, z) :- t(x, y), t(y, z).
pair: same(x, y) :- e(x, y), e(y, x).
far: far(x, y) :- t(x, y), !same(x, y).
"""


def test_the_base_of_a_closure_belongs_to_it() -> None:
    program = core(CLOSURES)
    assert describe(program).splitlines()[2:] == [
        "  1  t  (recursive)",
        "       near: t(x, y) :- e(x, y), x < y.",
        "       step: t(x, z) :- t(x, y), t(y, z).",
        "       reads e",
        "",
        "  2  same  (recursive)",
        "       pair: same(x, y) :- e(x, y), e(y, x).",
        "       reads e",
        "",
        "  3  far",
        "       far: far(x, y) :- t(x, y), !same(x, y).",
        "       reads t, not same",
    ]
    graph = AGraph(string=dot(program))
    assert {node.attr["label"] for node in graph.nodes()} == {"e", "near", "step", "pair", "far"}


def test_what_has_to_be_complete_is_drawn_dashed() -> None:
    assert dot(core(SMALL)).count("style=dashed") == 2
    assert dot(core(RS2)).count("style=dashed") == 2
    assert "dashed red" not in dot(core(".decl a(x: number) .decl b(x: number)\nb(x) :- a(x).\n"))


def test_rule_set_2_has_a_box_for_each_hyper_node_and_component() -> None:
    graph = AGraph(string=dot(core(RS2)))
    given, nodes, components = 4, 8, 14
    assert len(graph.subgraphs()) == nodes
    assert len(graph.nodes()) == given + components


def test_the_same_program_gives_the_same_picture() -> None:
    assert dot(core(RS2)) == dot(core(RS2))


def test_any_text_is_shown_as_it_is_written(tmp_path: Path) -> None:
    rule = r'r: s(x) :- s(x), x != "a\\n\"&lt;<b>\t\\N".'
    assert rule in texts(core(f".decl s(x: symbol)\n{rule}\n"), tmp_path)


def test_large_programs_are_drawn_without_their_rules(tmp_path: Path) -> None:
    text = "".join(f".decl p{i}(x: number)\n" for i in range(301))
    shown = texts(core(text + "".join(f"r{i}: p{i + 1}(x) :- p{i}(x).\n" for i in range(300))), tmp_path)
    assert {"p0", "p300", "1 rule"} <= set(shown)
    assert "r7" not in shown


def test_an_empty_program_is_an_empty_picture(tmp_path: Path) -> None:
    assert texts(core(".decl a(x: number)\n"), tmp_path)
    assert describe(core(".decl a(x: number)\n")) == "0 rules, 0 hyper-nodes, 0 components of single rules"


@pytest.mark.parametrize(
    ("ending", "start"),
    [
        (".dot", b"digraph"),
        (".svg", b"<?xml"),
        (".html", b"<!doctype html>"),
        (".png", b"\x89PNG"),
        (".pdf", b"%PDF"),
    ],
)
def test_files_are_written_by_their_ending(ending: str, start: bytes, tmp_path: Path) -> None:
    draw(core(SMALL), tmp_path / f"graph{ending}")
    assert (tmp_path / f"graph{ending}").read_bytes().startswith(start)


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"expected a picture file ending in \.dot, \.svg, \.html, \.png, \.pdf, found 'graph\.txt'"
    ):
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


def test_every_program_is_shown_in_words(subtests: pytest.Subtests) -> None:
    texts = {path.stem: path.read_text(encoding="utf-8") for path in EVERY_PROGRAM}
    for name, text in {**texts, **{each.name: each.text for each in CONSTRUCTS}}.items():
        with subtests.test(name):
            program = compile_program(check(read(text)))
            titles = [title for box in outline(program).boxes for title in box.titles]
            assert not [title for title in titles if "#" in title]
            assert describe(program)
