"""Errors for those who have written a pipeline in TOML: hints with keys of the file in place of calls in Python, and
the lines of relations that the program does not have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tidelog.errors import Problem, TidelogError

_EXPRESSION = 'expressions = {{ NAME = "{}" }}'
_IN_TOML: tuple[tuple[str, str], ...] = (
    # Options of a database are keys at the top of the file.
    (r"`?(?:db\.)?options\((\w+)=['\"](\w+)['\"]\)`?", r'\1 = "\2"'),
    (r"options\((\w+)=…\)", r"\1 = …"),
    (r"leave out `state=`, or use tidelog\.connect\(folder\)", "leave out the key state"),
    (r"call `rollback\(\)`, and declare", "declare"),
    # Columns are SQL in the table `expressions` of a source.
    (r'\(column \* (\d+)\)\.cast\("long"\)', _EXPRESSION.format(r"cast(column * \1 AS bigint)")),
    (r'F\.unix_micros\(column\.cast\("timestamp"\)\)', _EXPRESSION.format("unix_micros(cast(column AS timestamp))")),
    (r'column\.cast\("long"\)', _EXPRESSION.format("cast(column AS bigint)")),
    (r'column\.cast\("([^"]+)"\)', _EXPRESSION.format(r"cast(column AS \1)")),
    (r"F\.unix_date\(column\)", _EXPRESSION.format("unix_date(column)")),
    (r"F\.decode\(column, 'UTF-8'\), F\.base64\(column\) or F\.hex\(column\)",
     _EXPRESSION.format("decode(column, 'UTF-8')") + ", or base64(column), or hex(column)"),
    (r"make one fact per entry: F\.explode\(column\)", "read a table or view with one row per entry: explode(column)"),
    (r'column\["name"\]', _EXPRESSION.format("column.name")),
    (r"F\.struct\(…\)", _EXPRESSION.format("named_struct('field', …)")),
    # Other arguments are keys.
    (r"pass columns=\{'(\w+)': F\.col\('([^']*)'\)\}", r'write expressions = { \1 = "\2" }'),
    (r"pass columns=\{'(\w+)': '([^']*)'\}", r'write columns = { \1 = "\2" }'),
    (r'pass \{"name": value\}', 'write options = { name = "…" }'),
    (r"\bpass for example\b", "write for example"),
    (r"start the session with the driver of the database, as a jar in spark\.jars\.packages",
     'write session = { "spark.jars.packages" = "…" } with the driver of the database'),
    (r"start the session without (\S+)", r"leave \1 out of the table session"),
    (r"set PYSPARK_PYTHON to sys\.executable before the session starts",
     "set the environment variable PYSPARK_PYTHON to the Python of this command"),
)  # fmt: skip


_RELATION = re.compile(r"""\brelation\s*=\s*["']([^"']+)["']""")
_CONFIGURED = re.compile(r"start the session with (spark\.[\w.]+=[^\s;]+(?: and spark\.[\w.]+=[^\s;]+)*)")


def toml_hint(hint: str, place: str | None = None) -> str:
    """Return a hint as TOML has it; the place of the problem may name a column."""
    hint = _CONFIGURED.sub(lambda found: f"write session = {{ {_settings(found[1])} }}", hint)
    for pattern, text in _IN_TOML:
        hint = re.sub(pattern, text, hint)
    name = re.match(r"\w+", place or "")
    return hint.replace("NAME", name[0] if name else "column")


def _settings(text: str) -> str:
    return ", ".join('"{}" = "{}"'.format(*setting.split("=", 1)) for setting in text.split(" and "))


@contextmanager
def errors_in_toml(file: Path) -> Iterator[None]:
    """Give the errors that leave the block hints for a file, and unknown relations (E0601) the line that names them."""
    try:
        yield
    except TidelogError as error:
        raise type(error)(*[_in_toml(problem, file) for problem in error.problems]) from error


def _in_toml(problem: Problem, file: Path) -> Problem:
    if problem.code == "E0601" and problem.place is None:
        problem = replace(problem, place=_place_of_relation(problem.message, file))
    return problem if problem.hint is None else replace(problem, hint=toml_hint(problem.hint, problem.place))


def _place_of_relation(message: str, file: Path) -> str:
    """Return the first line that has a relation which the message names."""
    for number, line in enumerate(file.read_text(encoding="utf-8-sig").splitlines(), start=1):
        named = _RELATION.findall(line)
        if any(re.search(rf"relation '?{re.escape(name)}(?![\w.])", message) for name in named):
            return f"{file}:{number}"
    return str(file)
