"""Programs whose text must read back as the same program, because it is all that a store or a certificate keeps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from tidelog.common.source import SourceText
from tidelog.errors import InternalError, Problem, ProgramError
from tidelog.language.reading import ProgramText, parse
from tidelog.language.soft_words import SOFT_WORDS
from tidelog.language.syntax import Constant, Program, Rule, Term
from tidelog.language.trees import rebuild, rebuild_atom

_SORTS = tuple(each.name for each in fields(Program) if each.name != "instances")


def added(programs: Iterable[Program], known: Iterable[Program] = ()) -> Program:
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
        for one, other in zip_longest(*(map(_plain, getattr(each, sort)) for each in (program, found))):
            if one != other:
                raise _unreadable(f"`{one}` became `{other}`")


def _unreadable(reason: str) -> InternalError:
    message = f"the program would not read back from its text: {reason}"
    hint = "nothing has changed; write the statement in another way, and please report this"
    return InternalError(Problem("E0901", message, hint=hint))


def _plain(statement: Any) -> Any:
    """Return a statement without the kinds of constants, which no text has and a program of checked rules knows."""
    if not isinstance(statement, Rule):
        return statement

    def change(term: Term) -> Term | None:
        return replace(term, kind=None) if isinstance(term, Constant) else None

    heads = tuple(rebuild_atom(head, change) for head in statement.heads)
    return replace(statement, heads=heads, body=tuple(rebuild(literal, change) for literal in statement.body))
