"""The text of a store's program, with marks of the places where its user wrote each statement.

The marks are those of C's preprocessor, as in `# 12 "a.dl"`, which programs may have anyhow: explanations of a store
that was opened again cite the user's file and line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from tidelog.common.source import Span
from tidelog.errors import locate
from tidelog.language.printer import documented, source_text, statements_of
from tidelog.language.syntax import Component, Program, Rule, SyntaxNode

STORE = "<store>"
"""The name of the text, which is the place of what has no other one."""
_MOST_INDENTED = 40
"""Columns of rules that are kept. A program in one long line would fill the disk with spaces."""


def placed_text(programs: Iterable[Program]) -> str:
    """Return programs as one text, without their facts. A text that was read back gives itself."""
    programs = tuple(programs)
    lines, following = [], (STORE, 1)
    for span, text in chain.from_iterable(map(_pieces, _by_sort(programs))):
        place = following if span is None else span.source.origin(locate(span)[0])
        if place != following:
            name = place[0].replace("\\", r"\\").replace('"', r"\"").replace("\n", " ")
            lines.append(f'# {place[1]} "{name}"\n')
        lines.append(f"{text}\n")
        following = place[0], place[1] + text.count("\n") + 1
    return "".join(lines)


def _by_sort(programs: tuple[Program, ...]) -> Iterator[SyntaxNode]:
    """Yield the statements in the order in which a text has them; facts are rules without a name."""
    for sort in ("types", "functors", "declarations", "rules", "directives", "components"):
        nodes = chain.from_iterable(getattr(program, sort) for program in programs)
        yield from (node for node in nodes if sort != "rules" or node.name is not None)


def _pieces(statement: SyntaxNode) -> Iterator[tuple[Span | None, str]]:
    """Yield the lines of a statement with the place of the first one, None where they follow those before."""
    if not isinstance(statement, Component):
        span: Span | None = getattr(statement, "span", None)
        indent = locate(span)[1] - 1 if isinstance(statement, Rule) and span is not None else 0
        yield span, " " * (indent if indent < _MOST_INDENTED else 0) + source_text(statement)
        return
    yield statement.span, source_text(replace(statement, body=Program())).removesuffix("\n}")
    for each in statements_of(statement.body):
        text = source_text(each)
        if about := documented(each).removesuffix(text).rstrip():
            yield None, about
        yield from _pieces(each)
    yield None, "}"
