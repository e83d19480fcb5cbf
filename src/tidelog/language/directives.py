"""Directives: checks of the relation and of the types of options, and warnings of options with unknown names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidelog.errors import Problem
from tidelog.language.declarations import Scheme, did_you_mean
from tidelog.language.names import unknown_relation
from tidelog.language.syntax import Directive

_OPTIONS: dict[str, type] = {
    "IO": str,
    "filename": str,
    "name": str,
    "delimiter": str,
    "headers": bool,
    "rfc4180": bool,
    "compress": bool,
    "columns": str,
    "encoding": str,
    "n": int,
    "operation": str,
    "dbname": str,
    "attributeNames": str,
    "format": str,
    "params": str,
    "types": str,
    "auxArity": int,
    "fact-dir": str,
    "output-dir": str,
}
_FILES = ("file", "json", "jsonfile", "parquet", "arrow", "sqlite")
FORMATS: dict[str, tuple[str, ...]] = {"input": (*_FILES, "stdin"), "output": (*_FILES, "stdout")}
"""The values of `IO` for each directive that has it; `jsonfile` is another name for `json`."""
_SORTS = {str: "a text", bool: "true or false", int: "a number"}


def directive_problems(directives: Iterable[Directive], scheme: Scheme) -> list[Problem]:
    problems: list[Problem] = []
    for directive in directives:
        if directive.relation not in scheme.relations:
            problems.append(unknown_relation(directive.relation, directive.span, scheme))
        for key, value in directive.options.items():
            problem = _option_problem(key, value, directive)
            if problem is not None:
                problems.append(problem)
        if directive.name == "limitsize" and "n" not in directive.options:
            hint = f"write `.limitsize {directive.relation}(n=100)`"
            problems.append(Problem("E0108", "`.limitsize` needs the option `n`", directive.span, hint=hint))
    return problems


def unknown_options(directives: Iterable[Directive]) -> Iterator[Problem]:
    """Yield a warning (E0290) for each option that nothing reads."""
    for directive in directives:
        for key in (key for key in directive.options if key not in _OPTIONS):
            hint = did_you_mean(key, _OPTIONS) or f"remove it, or use one of {', '.join(_OPTIONS)}"
            message = f"`.{directive.name}` has no option `{key}`"
            yield Problem("E0290", message, directive.span, hint=hint, severity="warning")


def _option_problem(key: str, value: str | int | bool, directive: Directive) -> Problem | None:
    sort = _OPTIONS.get(key)
    if sort is None or (sort is bool and value in ("true", "false")):
        return None
    if type(value) is not sort:
        shown = str(value).lower() if isinstance(value, bool) else value
        message = f"the option `{key}` of `.{directive.name}` takes {_SORTS[sort]}, found `{shown}`"
        hint = {bool: f"write {key}=true or {key}=false", int: f"write {key}=1", str: f'write {key}="…"'}[sort]
        return Problem("E0108", message, directive.span, hint=hint)
    formats = FORMATS.get(directive.name, (str(value),))
    if key == "IO" and value not in formats:
        hint = did_you_mean(str(value), formats) or f"use one of {', '.join(formats)}"
        message = f"the option `IO` of `.{directive.name}` cannot be `{value}`"
        return Problem("E0108", message, directive.span, hint=hint)
    return None
