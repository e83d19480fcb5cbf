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
