"""Texts that change: after each change the problems are those of reading and checking the whole text."""

from __future__ import annotations

import random

import pytest

from tests.depth import cases
from tests.generate import generate
from tidelog.errors import Problem, ProgramError
from tidelog.language import check, read
from tidelog.language.drafts import DraftChecker, DraftText

PROGRAM = """\
.type Node <: symbol
.decl edge(x: Node, y: Node)  // given
.decl path(x: Node, y: Node)
/* paths */ path(x, y) :- edge(x, y).
far: path(x, z) :-
    path(x, y),
    edge(y, z).
.comp Twice<T> {
  .decl both(x: T, y: T)
  both(x, y) :- edge(x, y), edge(y, x).
}
.init here = Twice<Node>
edge("a", "b"). edge("b", "c").
.output path
"""
INSERTED = (
    " ", "\n", ".", ",", "(", ")", "x", '"', "/*", "*/", "//", ":-", "edge(x, y)", ".decl ", "}", "{", "y", "a(1).\n",
    ".init there = Twice<Node>\n", ".decl split(x: number)\n", "split(1).\n", ".number",
)  # fmt: skip


def shown(problem: Problem, offset: int | None) -> tuple[str, str, int | None]:
    return problem.code, problem.message, offset


def expected(text: str) -> list[tuple[str, str, int | None]]:
    """Return the problems that reading and checking a text shows."""
    try:
        check(read(text))
    except ProgramError as error:
        return sorted(shown(each, None if each.span is None else each.span.start) for each in error.problems)
    return []


def found(draft: DraftText, checker: DraftChecker) -> list[tuple[str, str, int | None]]:
    program, problems = draft.program()
    if not problems:
        problems = checker.check(program)[1]
    return sorted(shown(each, None if each.span is None else draft.offset(each.span)) for each in problems)


def changed(text: str, rng: random.Random) -> str:
    """Return a text with a few characters inserted, removed, or both, at one place."""
    place = rng.randrange(len(text) + 1)
    end = min(len(text), place + rng.choice((0, 0, 0, 1, 1, 5, 30)))
    return text[:place] + rng.choice(("", *INSERTED)) + text[end:]


@pytest.mark.parametrize("seed", range(cases(6)))
def test_changes_show_the_problems_of_the_whole_text(seed: int) -> None:
    rng = random.Random(seed)
    base = PROGRAM if seed % 2 else generate(rng).text
    draft, checker = DraftText("<text>", base), DraftChecker()
    texts = [base]
    for _ in range(40):
        text = changed(texts[-1], rng) if rng.random() < 0.6 or len(texts) == 1 else texts.pop()
        texts.append(text)
        draft.change(text)
        assert "".join(each.source.text for each in draft.stretches) == text
        agrees = expected(text)
        own = found(draft, checker)
        assert bool(own) == bool(agrees), text
        if agrees and all(code > "E0190" for code, *_ in agrees):  # Recovery from errors of syntax may differ.
            assert own == agrees, text


TYPES: tuple[tuple[str, ...], ...] = (
    (".type A <: number", ".type A <: symbol", ".type A <: B", ".type A <: number  // the same", ""),
    (".type B <: number", ".type B = number", ".type B <: A", ".type B = A | C", "", ".type B <: nothing"),
    (".type C <: number", ".type C = A", ".type C <: unsigned", ".type C = [x: A]"),
    (".type D <: B",),
    (".type U = A | B", ".type U = A", ".type U = B | C", ".type U <: A", ""),
    (".type V = A | C", ".type V = U", ".type V = U | C", ""),
    (".type W = B", ".type W = A | U", ".type W = A | B | C", ""),
    (".type R = [x: A, y: U]", ".type R = [x: A]", ".type R = [x: B, y: U]", ""),
    (".type T = Leaf {x: A} | Node {l: T, r: T}", ".type T = Leaf {x: B} | Node {l: T, r: T}", ".type T = Leaf {x: A}"),
    (".type S = Other {}", ".type S = Leaf {x: C}", ""),
    (".functor f(x: A): U", ".functor f(x: A): B", ".functor f(x: A, y: B): A", ""),
    (".decl a(x: A)", ".decl a(x: B)", ".decl a(x: A, y: A)", ""),
    (".decl b(x: B)", ".decl b(x: U)"),
    (".decl d(x: D)",),
    (".decl u(x: U)", ".decl u(x: V)"),
    (".decl v(x: V, y: V)", ".decl v(x: W, y: V)"),
    (".decl w(x: W)", ".decl w(x: A)"),
    (".decl r(x: R)", ".decl r(x: C)"),
    (".decl t(x: T)",),
)
RULES = """
u(x) :- a(x).
u(x) :- b(x).
a(x) :- d(x).
a(x) :- u(x).
w(x) :- u(x), v(x, _).
v(x, y) :- u(x), w(y), x = y.
b(as(x, B)) :- a(x).
a(as(x, A)) :- w(x).
r([x, y]) :- a(x), u(y).
a(x) :- r([x, _]).
t($Leaf(x)) :- a(x).
a(x) :- t($Leaf(x)).
t($Node(x, y)) :- t(x), t(y).
u(@f(x)) :- a(x).
v(x, y) :- v+(x, y).
u(n) :- n = sum x : { a(x) }.
a(1). b("c"). w(1.5). r(nil). v(1, 2).
"""


@pytest.mark.parametrize("seed", range(cases(8)))
def test_changed_types_show_the_problems_of_the_whole_text(seed: int) -> None:
    rng = random.Random(seed)
    chosen = [rng.choice(each) if seed % 2 else each[0] for each in TYPES]
    draft, checker = DraftText("<text>"), DraftChecker()
    for _ in range(40):
        text = "\n".join(chosen) + RULES
        draft.change(text)
        assert found(draft, checker) == expected(text), (seed, text)
        place = rng.randrange(len(TYPES))
        chosen[place] = rng.choice(TYPES[place])


def test_a_changed_type_has_only_statements_with_it_checked_again() -> None:
    lines = (
        ".type A <: number", ".type B <: number", ".type C = A | B", ".type R = [x: B]", ".type T = Leaf {x: A}",
        ".decl a(x: A)", ".decl b(x: B)", ".decl c(x: C)", ".decl r(x: R)", ".decl n(x: number)",
        "c(x) :- a(x).", "c(x) :- b(x).", "r([x]) :- b(x).", "n(x) :- a(x), $Leaf(x) = $Leaf(1).",
        "n(as(x, B)) :- n(x).",
        "n(x) :- n(x), x > 1.",
    )  # fmt: skip
    text = "\n".join(lines)
    draft, checker = DraftText("<text>", text), DraftChecker()
    assert checker.check(draft.program()[0])[1] == []

    def again(old: str, new: str) -> int:
        """Return how many statements a change of the text has checked again."""
        looks: list[None] = []
        draft.change(text.replace(old, new))
        checker.check(draft.program()[0], lambda: looks.append(None))
        draft.change(text)
        checker.check(draft.program()[0])
        return len(looks)

    assert again(".type A <: number", ".type A <: number // a comment") == 0
    assert again(".type A <: number", ".type A <: unsigned") == 5  # C is broken, and with it B
    assert again(".type C = A | B", ".type C = A") == 5
    assert again("Leaf {x: A}", "Leaf {x: C}") == 1
    assert again(".type R = [x: B]", ".type R = [y: B]") == 1
    assert again("\n.decl a", "\n.type New <: number\n.decl a") == 0


def test_a_change_reads_its_own_stretch_again() -> None:
    draft = DraftText("<text>", PROGRAM)
    before = list(draft.stretches)
    draft.change(PROGRAM.replace("path(x, y),\n", "path(x, y), x != y,\n"))
    assert len(draft.stretches) == len(before)
    assert [one is other for one, other in zip(before, draft.stretches, strict=True)].count(False) == 1


def test_a_changed_rule_is_checked_alone() -> None:
    draft, checker = DraftText("<text>", PROGRAM), DraftChecker()
    checker.check(draft.program()[0])
    looks: list[None] = []
    draft.change(PROGRAM.replace("edge(y, z).", "edge(y, w)."))
    problems = checker.check(draft.program()[0], lambda: looks.append(None))[1]
    assert [each.code for each in problems] == ["E0215"]
    assert len(looks) == 1


def test_a_changed_declaration_has_its_readers_checked_again() -> None:
    draft, checker = DraftText("<text>", PROGRAM), DraftChecker()
    checker.check(draft.program()[0])
    looks: list[None] = []
    draft.change(PROGRAM.replace(".decl both(x: T, y: T)", ".decl both(x: T)"))
    problems = checker.check(draft.program()[0], lambda: looks.append(None))[1]
    assert [each.code for each in problems] == ["E0208"]
    assert len(looks) == 1


def test_a_directive_goes_on_in_the_next_line() -> None:
    draft = DraftText("<text>", ".decl a(x: number)\na(1).\n")
    draft.change(".decl a(x: number)\ninline\na(1).\n")
    program, problems = draft.program()
    assert problems == []
    assert program.declarations[0].qualifiers == ("inline",)


def test_an_open_comment_swallows_the_rest_until_it_is_closed() -> None:
    text = "".join(f"a({n}).\n" for n in range(40))
    draft = DraftText("<text>", text)
    draft.change(text.replace("a(3)", "/* a(3)"))
    assert [each.code for each in draft.program()[1]] == ["E0103"]
    assert len(draft.program()[0].rules) == 3
    draft.change(text.replace("a(3)", "/* a(3)").replace("a(30)", "*/ a(30)"))
    assert draft.program()[1] == []
    assert len(draft.program()[0].rules) == 13


def test_an_open_rule_takes_the_next_statement() -> None:
    draft = DraftText("<text>", "a(1).\nb(2).\nc(3).\n")
    draft.change("a(1).\nb(2),\nc(3).\n")
    program, problems = draft.program()
    assert problems == []
    assert len(program.rules) == 3
    assert len(draft.stretches) == 2
