"""Regular paths in texts: how they are read, where they may stand, and how long and deep they may be."""

from __future__ import annotations

import pytest

from tidelog.errors import ProgramError
from tidelog.language import check, read
from tidelog.language.syntax import (
    Aggregate,
    Alternation,
    Atom,
    Comparison,
    Inverse,
    Literal,
    Path,
    Repeat,
    Sequence,
    Step,
)
from tidelog.rules import compile_program
from tidelog.rules.core import CoreRule

DECLARED = ".decl a, b, c, d, v(x: number, y: number)\n"


def literal(text: str) -> Literal:
    (rule,) = read(f"h() :- {text}.").rules
    return rule.body[0]


def path(text: str) -> Path:
    found = literal(f"<{text}>(x, y)")
    assert isinstance(found, Atom)
    assert found.path is not None
    return found.path


a, b, c, d = map(Step, "abcd")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", a),
        ("(((a)))", a),
        ("a/b|c/d", Alternation((Sequence((a, b)), Sequence((c, d))))),
        ("a/(b|c)/d", Sequence((a, Alternation((b, c)), d))),
        ("^a/b", Sequence((Inverse(a), b))),
        ("^(a/b)", Inverse(Sequence((a, b)))),
        ("^a+", Inverse(Repeat(a, "+"))),
        ("(^a)+", Repeat(Inverse(a), "+")),
        ("a+*?", Repeat(Repeat(Repeat(a, "+"), "*"), "?")),
        ("a/b+/^c|d", Alternation((Sequence((a, Repeat(b, "+"), Inverse(c))), d))),
        ("^^a", Inverse(Inverse(a))),
        ("(a|b)|(c|d)", Alternation((a, b, c, d))),
        ("a/(b/c)/d", Sequence((a, b, c, d))),
        ("((a|b)/c)*", Repeat(Sequence((Alternation((a, b)), c)), "*")),
        (" a /* along */ / // on\n b ?", Sequence((a, Repeat(b, "?")))),
    ],
)
def test_operators_bind_as_in_sparql(text: str, expected: Path) -> None:
    assert path(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a+(x, y)", Repeat(a, "+")),
        ("a*(x, y)", Repeat(a, "*")),
        ("a?(x, y)", Repeat(a, "?")),
        ("^a(x, y)", Inverse(a)),
        ("^a+(x, y)", Inverse(Repeat(a, "+"))),
        ("a + * (x + 1, (y))", Repeat(Repeat(a, "+"), "*")),
        ("count+(x, y)", Repeat(Step("count"), "+")),
    ],
)
def test_a_single_relation_needs_no_brackets(text: str, expected: Path) -> None:
    found = literal(text)
    assert isinstance(found, Atom)
    assert found.path == expected


@pytest.mark.parametrize("text", ["a + (x) = y", "a * (x + max(x, y)) < 3", "a+(b)*(c) != d", "x < a", "2 ^ a > 1"])
def test_terms_stay_terms(text: str) -> None:
    assert isinstance(literal(text), Comparison)


@pytest.mark.parametrize("text", ["a+(x, _)", "<a/b>(x, _)", "^a(x, _)", "a?(x, _)"])
def test_an_aggregate_takes_a_path_without_braces(text: str) -> None:
    found = literal(f"n = count : {text}")
    assert isinstance(found, Comparison)
    assert isinstance(found.right, Aggregate)
    assert found == literal(f"n = count : {{ {text} }}")


def test_places_of_a_path_and_its_parts() -> None:
    text = "v(x, y) :- !<a/(b|^c)+>(x, y)."
    (rule,) = read(text).rules
    found = [rule.body[0]]
    shown = []
    while found:
        node = found.pop(0)
        assert node.span is not None
        shown.append(text[node.span.start : node.span.end])
        found += [getattr(node, name) for name in ("atom", "path") if getattr(node, name, None) is not None]
        found += getattr(node, "parts", ())
    assert shown == [
        "!<a/(b|^c)+>(x, y)",
        "<a/(b|^c)+>(x, y)",
        "a/(b|^c)+",
        "a",
        "(b|^c)+",
        "(b|^c)",
        "b",
        "^c",
        "c",
    ]


def test_checking_finds_the_type_of_each_repetition() -> None:
    checked = check(
        read(
            ".type P <: symbol\n.type Q <: P\n.decl e(x: Q, y: P)\n.decl n(x: number, y: number)\n"
            ".decl v(x: P, y: P)\nv(x, y) :- e*(x, y), <e?/e+>(x, y).\nv(x, x) :- e+(x, x), n*(_, _)."
        )
    )
    assert checked.domains == {"P": (("e", 0), ("e", 1), ("v", 0), ("v", 1)), "number": (("n", 0), ("n", 1))}


LONG = {
    "sequence": "/".join("a" * 500),
    "alternating": "/".join(["a", "^b", "c+", "(a|b)"] * 125),
    "choice": "|".join(["a/b", "b/a", "^c", "c/c/c", "(a|d)*"] * 100),
    "repeated": f"({'/'.join('ab' * 250)})*",
    "parentheses": "(" * 140 + "a" + ")" * 140,
    "signs": "a" + "+*?" * 45,
    "inverses": "^" * 140 + "a",
    "nested": "(" * 70 + "a" + "/b)+" * 70,
    "nested choices": "(" * 70 + "a" + "|b/^c)*" * 70,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_long_and_deep_paths(text: str) -> None:
    program = read(f"{DECLARED}v(x, y) :- <{text}>(x, y).\n")
    assert read(f"{program}\n") == program
    core = compile_program(check(program))
    assert max(len(rule.body) for node in core.nodes for rule in node.rules if isinstance(rule, CoreRule)) <= 8


TOO_DEEP = {
    "parentheses": "(" * 200 + "a" + ")" * 200,
    "signs": "a" + "+" * 500,
    "inverses": "^" * 500 + "a",
    "both": "(^^^^" * 100 + "a" + "+*?)" * 100,
}


@pytest.mark.parametrize("text", TOO_DEEP.values(), ids=TOO_DEEP)
def test_too_deep_paths(text: str) -> None:
    for around in (f"<{text}>(x, y)", f"n = count : {{ <{text}>(x, _) }}"):
        with pytest.raises(ProgramError) as raised:
            read(f"{DECLARED}v(x, y) :- {around}.")
        assert [problem.code for problem in raised.value.problems] == ["E0106"]


@pytest.mark.parametrize("text", [f"a{'+' * 500}(x, y)", f"{'^' * 500}a(x, y)"])
def test_too_many_signs_without_brackets(text: str) -> None:
    with pytest.raises(ProgramError) as raised:
        read(f"{DECLARED}v(x, y) :- {text}.")
    assert [problem.code for problem in raised.value.problems] == ["E0106"]
