"""Functions in Python that views and rules of a store call, as functors and aggregates of its database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidelog.database.database import Database
from tidelog.functions.callables import GivenAggregate, marked
from tidelog.functions.importing import Library


def with_functions(text: str, database: Database, functions: tuple[Callable[..., Any], ...]) -> str:
    """Return rules with declarations of those functions that they call, which the database then has. The functions are
    marked by `tidelog.functor` or `tidelog.aggregate`."""
    lines = []
    for function, given in zip(functions, marked(functions), strict=True):
        if not isinstance(given, Library) and given.name in text:
            own = database.workspace.given
            if given.name not in {**own.functions, **own.aggregates}:
                database.import_functions([function])
            if given.name not in database.program.functors:
                types, _, result = str(given.signature).partition("->")
                parameters = ", ".join(f"p{i}: {each.strip()}" for i, each in enumerate(types.split(",")))
                kind = "aggregate" if isinstance(given, GivenAggregate) else "functor"
                lines.append(f".{kind} {given.name}({parameters}): {result.strip()}\n")
    return "".join(lines) + text
