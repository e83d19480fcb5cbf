"""Which hyper-nodes are recognised as closures, over which edges, and which are nearly but not."""

from __future__ import annotations

import pytest

from tidelog.language import check, read
from tidelog.rules import compile_program
from tidelog.rules.core import ClosureShape, CoreProgram, EdgeSource, HyperNode

DECLARATIONS = "".join(f".decl {name}(x: number, y: number)\n" for name in ("e", "f", "t", "u", "v"))
DECLARATIONS += ".decl n(x: number)\n.decl wide(x: number, y: number, z: number)\n"
BASE, LINEAR = "t(x, y) :- e(x, y). ", "t(x, z) :- t(x, y), e(y, z). "
COMPOSED, SYMMETRIC = "t(x, z) :- t(x, y), t(y, z). ", "t(x, y) :- t(y, x). "
E, F = EdgeSource("e", "forward"), EdgeSource("f", "forward")


def core(text: str) -> CoreProgram:
    return compile_program(check(read(DECLARATIONS + text)))


def node_of(text: str, name: str = "t") -> HyperNode:
    (node,) = [node for node in core(text).nodes if name in node.relations]
    return node


def shape(
    *sources: EdgeSource, symmetric: bool = False, irreflexive: bool = False, linear: bool = False
) -> ClosureShape:
    return ClosureShape(sources, symmetric, irreflexive, linear)


# --- what is one -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (BASE + COMPOSED, shape(E)),
        (BASE + LINEAR, shape(E, linear=True)),
        (BASE + "t(x, z) :- e(x, y), t(y, z).", shape(E, linear=True)),
        (BASE + "t(x, z) :- e(y, z), t(x, y).", shape(E, linear=True)),
        (BASE + LINEAR + "t(x, z) :- e(x, y), t(y, z).", shape(E, linear=True)),
        (BASE + COMPOSED + LINEAR, shape(E)),
        (BASE + COMPOSED + SYMMETRIC, shape(E, symmetric=True)),
        (BASE + "t(x, y) :- t(x, z), t(z, y), x != y.", shape(E, irreflexive=True)),
        (BASE + "t(x, z) :- z != x, t(x, y), e(y, z).", shape(E, irreflexive=True, linear=True)),
        (
            BASE + COMPOSED.replace(" t(y, z)", " t(y, z), x != z") + SYMMETRIC,
            shape(E, symmetric=True, irreflexive=True),
        ),
        ("t(y, x) :- e(x, y). " + COMPOSED, shape(EdgeSource("e", "backward"))),
        ("t(y, x) :- e(x, y). t(x, z) :- t(x, y), e(z, y).", shape(EdgeSource("e", "backward"), linear=True)),
        (BASE + "t(x, x) :- n(x). " + COMPOSED, shape(E, EdgeSource("n", "loop"))),
        (BASE + "t(x, x) :- n(x). " + LINEAR, shape(E, EdgeSource("n", "loop"), linear=True)),
        (BASE + "t(x, y) :- f(x, y). " + COMPOSED, shape(E, F)),
        (BASE + "t(x, y) :- f(x, y). " + LINEAR + LINEAR.replace("e(", "f("), shape(E, F, linear=True)),
        (BASE + "t(y, x) :- e(x, y). " + COMPOSED, shape(E, EdgeSource("e", "backward"))),
        (BASE + COMPOSED + "t(1, 2).", shape(E)),
        (BASE + COMPOSED + "t(x, z) :- t(x, z), t(z, z).", None),
    ],
)
def test_shapes(rules: str, expected: ClosureShape | None) -> None:
    assert node_of(rules).closure == expected


@pytest.mark.parametrize(
    "base",
    [
        "t(x, y) :- e(x, y), x < y.",
        "t(x, y) :- e(x, y), !f(x, y).",
        "t(x, z) :- e(x, y), f(y, z).",
        "t(x, 1) :- n(x).",
        "t(x, x) :- e(x, x).",
        "t(x, c) :- n(x), c = count : { e(x, _) }.",
        "t(x, y + 1) :- e(x, y).",
        "given: t(1, 2).",
    ],
)
def test_other_base_rules_get_a_relation_of_their_own(base: str) -> None:
    program = core(BASE + base + COMPOSED)
    *_, before, node = program.nodes
    assert (before.relations, before.closure) == (("#base.t",), None)
    assert program.relations["#base.t"].auxiliary
    assert program.relations["#base.t"].columns == program.relations["t"].columns
    assert node.closure == shape(E, EdgeSource("#base.t", "forward"))
    assert [str(rule) for rule in node.rules][-1] == "#base.t: t(#0, #1) :- #base.t(#0, #1)."


def test_other_base_rules_share_that_relation() -> None:
    rules = "t(x, y) :- e(x, y), x < y. t(x, y) :- f(x, y), n(x). "
    before, node = core(rules + COMPOSED).nodes
    assert [len(before.rules), len(node.rules)] == [2, 2]
    assert node.closure == shape(EdgeSource("#base.t", "forward"))


# --- what is none ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rules",
    [
        BASE,
        COMPOSED.replace("t(y, z)", "e(y, z)"),  # nothing begins it
        BASE + "t(x, z) :- t(x, y), f(y, z).",  # begins with other edges than it goes on with
        BASE + "t(x, y) :- f(x, y). " + LINEAR,  # f does not go on
        BASE + LINEAR + "t(x, z) :- f(x, y), t(y, z).",
        BASE + COMPOSED + "t(x, z) :- t(x, y), f(y, z).",
        BASE + "t(x, y) :- f(x, y). " + LINEAR + "t(x, z) :- f(x, y), t(y, z).",  # neither goes on at both ends
        BASE + "t(x, z) :- t(x, y), e(z, y).",  # backwards
        "t(y, x) :- e(x, y). " + LINEAR,
        BASE + "t(x, z) :- t(y, x), t(y, z).",
        BASE + "t(z, x) :- t(x, y), t(y, z).",
        BASE + SYMMETRIC,
        BASE + LINEAR + SYMMETRIC,
        BASE + COMPOSED + "t(x, z) :- t(x, y), e(y, z), x != z.",  # some have to differ, some need not
        BASE + "t(x, z) :- t(x, y), t(y, z), x != y.",
        BASE + "t(x, z) :- t(x, y), t(y, z), x < z.",
        BASE + "t(x, z) :- t(x, y), t(y, z), x != 1.",
        BASE + COMPOSED + "t(x, y) :- t(y, x), x != y.",
        BASE + "t(x, y) :- e(x, y), n(x). " + LINEAR,  # a base that is no copy, and does not go on
        BASE + COMPOSED + "t(x, x) :- t(x, _).",
        BASE + COMPOSED + "t(x, z) :- t(x, y), t(y, z), n(y).",
        BASE + COMPOSED + "t(x, z) :- t(x, y), t(y, z), !n(y).",
        BASE + COMPOSED + "t(x, z) :- t(x, y), t(y, w), t(w, z).",
        BASE + COMPOSED + "t(1, z) :- t(2, z).",
        BASE + COMPOSED + "t(x, 1) :- t(x, 2), t(2, 1).",
        BASE + "t(x, z) :- t(x, 1), t(1, z).",
        BASE + "t(x, z) :- t(x, _), t(_, z).",
        BASE + "t(x, z) :- t(x, y), t(x, z).",
        BASE + "u(x, y) :- t(x, y). t(x, z) :- u(x, y), t(y, z).",  # two relations
        BASE + COMPOSED + "u(x, y) :- t(x, y). t(x, y) :- u(y, x).",
        BASE + COMPOSED + "t(x, y + 1) :- t(x, y), y < 5.",
    ],
)
def test_near_misses(rules: str) -> None:
    program = core(rules)
    assert all(node.closure is None for node in program.nodes)
    assert not any(name.startswith("#base") for name in program.relations)


def test_other_arities_are_none() -> None:
    text = "wide(x, y, z) :- e(x, y), e(y, z). wide(x, y, w) :- wide(x, y, z), wide(x, z, w)."
    assert node_of(text, "wide").closure is None
    assert node_of("n(x) :- e(x, _). n(y) :- n(x), e(x, y).", "n").closure is None


# --- paths, and what shows them --------------------------------------------------------------------------------------


def test_paths_are_closures_and_their_only_rules_show_them() -> None:
    program = core("v(x, y) :- e+(x, y). u(x, y) :- <(e|f)*>(x, y). t(x, y) :- <(e/f)+>(x, y).")
    closures = {node.relations[0]: node.closure for node in program.nodes if node.closure}
    assert closures["#path.e+"] == shape(E, linear=True)
    shown = {node.relations[0]: node.mirrors for node in program.nodes if node.mirrors}
    assert set(shown) == {"v", "u", "t"}
    assert set(shown.values()) == set(closures)


@pytest.mark.parametrize(
    "rules",
    [
        "v(y, x) :- e+(x, y).",
        "v(x, x) :- e+(x, x).",
        "v(x, y) :- e+(x, y), x != y.",
        "v(x, y) :- e+(x, y). v(x, y) :- f(x, y).",
        "v(x, y) :- e?(x, y).",
        "v(x, y) :- <e/f>(x, y).",
        "v(x, 1) :- e+(x, 1).",
        "v(x, y) :- t(x, y). " + BASE + COMPOSED,  # the user's own closure has its own storage
        "n(x) :- e+(x, _).",
    ],
)
def test_what_does_not_just_show_a_path(rules: str) -> None:
    assert all(node.mirrors is None for node in core(rules).nodes)


def test_a_closure_over_a_closure_and_over_a_path() -> None:
    program = core(BASE + COMPOSED + "u(x, y) :- t(y, x). u(x, z) :- u(x, y), u(y, z). v(x, y) :- f+(x, y)."
                   " v(x, z) :- v(x, y), v(y, z).")  # fmt: skip
    closures = {node.relations[0]: node.closure for node in program.nodes}
    assert closures["u"] == shape(EdgeSource("t", "backward"))
    assert closures["v"] == shape(EdgeSource("#path.f+", "forward"))
    order = [node.relations[0] for node in program.nodes]
    assert order.index("t") < order.index("u")
    assert order.index("#path.f+") < order.index("v")
