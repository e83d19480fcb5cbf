"""Programs with lines for the preprocessor, while somebody types them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.depth import cases
from tidelog.common.source import SourceText
from tidelog.editors.documents import DocumentChecker, Documents
from tidelog.errors import Problem, ProgramError
from tidelog.language import check
from tidelog.language.reading import ProgramText, parse

TEXT = """\
#define KIND number
#define PAIR(a, b) a, b
#include "more.dl"
.type Node <: KIND
.decl edge(x: Node, y: Node)
.decl path(x: Node, y: Node)
path(x, y) :- edge(x, y).
#ifdef FAR
path(x, z) :- path(x, y), edge(PAIR(y, z)).
#endif
far(x) :- path(PAIR(x, _)).
edge(1, 2). edge(2, 3).
"""
MORE = """\
#pragma once
#define FAR 1
.decl far(x: Node)
far(x) :- far(x).
"""
EDITS = (
    ("number", "symbol"), ("PAIR(a, b)", "PAIR(b, a)"), ("#ifdef", "#ifndef"), ("edge(x, y).", "edge(x, z)."),
    ("PAIR(y, z)", "PAIR(y, w)"), ("Node <: KIND", "Node <: KIN"), ("far(x) :-", "fat(x) :-"),
    ("edge(2, 3)", "edge(2, y)"),
    ('#include "more.dl"', '#include "les.dl"'), ("path(PAIR(x, _))", "path(PAIR(x, 1))"), ("#endif", "#endi"),
    ("path(x: Node, y: Node)", "path(x: Node)"), ("#define KIND", "// a comment\n#define KIND"),
)  # fmt: skip
EDITS_OF_MORE = (
    ("far(x: Node)", "far(x: Nod)"),
    ("far(x).", "far(y)."),
    ("#define FAR 1", ""),
    ("far(x) :-", "far(x) :"),
)


def shown(problem: Problem) -> tuple[str, str, str, int, int]:
    span = problem.span
    place = ("", 0, 0) if span is None else (Path(span.source.name).name, span.start, span.end)
    return problem.code, problem.message, *place


def expected(documents: Documents, path: Path) -> list[tuple[str, str, str, int, int]]:
    """Return the problems of reading and checking the text as a whole."""
    text = documents[path].text
    try:
        check(parse(ProgramText(SourceText(str(path), text), path.parent), read_file=documents.text))
    except ProgramError as error:
        return sorted(map(shown, error.problems))
    return []


@pytest.mark.parametrize("seed", range(cases(4)))
def test_a_change_shows_the_problems_of_the_whole_text(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    documents, path, other = Documents(), tmp_path / "main.dl", tmp_path / "more.dl"
    other.write_text(MORE)
    documents.open(path, TEXT)
    checker = DocumentChecker(documents, path)
    for _ in range(30):
        text, more = TEXT, MORE
        for old, new in rng.sample(EDITS, rng.choice((0, 1, 1, 2))):
            text = text.replace(old, new, 1)
        for old, new in rng.sample(EDITS_OF_MORE, rng.choice((0, 0, 1))):
            more = more.replace(old, new, 1)
        documents.open(path, text)
        documents.open(other, more)
        assert sorted(map(shown, checker.problems()[0])) == expected(documents, path), (seed, text, more)


def test_only_statements_that_a_macro_changes_are_checked_again(tmp_path: Path) -> None:
    documents, path = Documents(), tmp_path / "main.dl"
    (tmp_path / "more.dl").write_text(MORE)
    documents.open(path, TEXT)
    checker = DocumentChecker(documents, path)
    assert checker.problems()[0] == []

    def again(old: str, new: str) -> int:
        looks: list[None] = []
        documents.open(path, TEXT.replace(old, new))
        checker.problems(lambda: looks.append(None))
        documents.open(path, TEXT)
        checker.problems()
        return len(looks) - 1  # It looks once before it begins.

    assert again("PAIR(a, b) a, b", "PAIR(a, b) a,  b") == 2
    assert again("#define KIND number", "#define KIND  number") == 0
    assert again("edge(x, y).", "edge(x, y), x != y.") == 1


def test_a_document_may_lose_its_lines_for_the_preprocessor(tmp_path: Path) -> None:
    documents, path = Documents(), tmp_path / "main.dl"
    checker = DocumentChecker(documents, path)
    for text, codes in (
        ("#define K number\n.decl a(x: K)\na(y).\n", ["E0215"]),
        (".decl a(x: number)\na(y).\n", ["E0215"]),
        ("#define K number\n.decl a(x: K)\na(1).\n", []),
    ):
        documents.open(path, text)
        problems, program = checker.problems()
        assert [each.code for each in problems] == codes
        assert (program is None) == bool(codes)
        if problems:
            assert problems[0].span is not None
            place, shown_text, start, end = checker.place(problems[0].span)
            assert (place, shown_text[start:end]) == (path, "y")
