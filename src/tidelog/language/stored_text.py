"""The text of a program that a store or a certificate keeps, which must read back as the same program.

`placed_text` is that text with marks of the places where its user wrote each statement. The marks are those of C's
preprocessor, as in `# 12 "a.dl"`, which programs may have anyhow: explanations of a store that was opened again cite
the user's file and line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from tidelog.common.source import SourceText, Span
from tidelog.errors import InternalError, Problem, ProgramError, locate
from tidelog.language.printer import documented_text, source_text, statements_of
from tidelog.language.reading import ProgramText, parse
from tidelog.language.syntax import Component, Constant, Program, Rule, SyntaxNode, Term
from tidelog.language.token_types import SOFT_WORDS
from tidelog.language.trees import rebuild, rebuild_atom

_SORTS = tuple(each.name for each in fields(Program) if each.name != "instances")


def added_statements(programs: Iterable[Program], known: Iterable[Program] = ()) -> Program:
    """Return the statements of some programs that none of the `known` ones has, without facts and instances."""
    before = {id(each) for program in known for each in chain.from_iterable(vars(program).values())}
    found: dict[str, list[Any]] = {sort: [] for sort in _SORTS}
    for program in programs:
        for sort in _SORTS:
            found[sort] += (each for each in getattr(program, sort) if id(each) not in before)
    found["rules"] = [rule for rule in found["rules"] if rule.name is not None]
    return Program(**{sort: tuple(each) for sort, each in found.items()})


def check_readable(program: Program, text: str, programs: Iterable[Program] = ()) -> None:
    """Raise InternalError (E0901) if the text of a program does not read back as the same program, beside the
    declarations of other `programs`."""
    soft = frozenset(each.name for other in programs for each in other.declarations) & SOFT_WORDS.keys()
    try:
        found = parse(ProgramText(SourceText("<store>", f"{text}\n"), Path()), soft=soft)
    except ProgramError as error:
        raise _unreadable(str(error.problems[0])) from error
    if found == program:
        return
    for sort in _SORTS:
        for one, other in zip_longest(*(map(_without_kinds, getattr(each, sort)) for each in (program, found))):
            if one != other:
                raise _unreadable(f"`{one}` became `{other}`")


def _unreadable(reason: str) -> InternalError:
    message = f"the program would not read back from its text: {reason}"
    hint = "nothing has changed; write the statement in another way, and please report this"
    return InternalError(Problem("E0901", message, hint=hint))


def _without_kinds(statement: Any) -> Any:
    """Return a statement without the kinds of constants, which no text has and a program of checked rules knows."""
    if not isinstance(statement, Rule):
        return statement

    def change(term: Term) -> Term | None:
        return replace(term, kind=None) if isinstance(term, Constant) else None

    heads = tuple(rebuild_atom(head, change) for head in statement.heads)
    return replace(statement, heads=heads, body=tuple(rebuild(literal, change) for literal in statement.body))


# --- places -----------------------------------------------------------------------------------------------------------


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
        if about := documented_text(each).removesuffix(text).rstrip():
            yield None, about
        yield from _pieces(each)
    yield None, "}"
