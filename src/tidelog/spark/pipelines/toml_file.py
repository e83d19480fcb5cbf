"""A pipeline from a TOML file, with the line of each error, and the errors of its run for those who have written the
file: hints with keys of the file in place of calls in Python, and the lines of relations that the program does not
have.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from tidelog.errors import Problem, TidelogError, UsageError
from tidelog.functions.importing import is_file
from tidelog.spark.pipelines.description import PipelineDescription, Source
from tidelog.spark.sinks.sink import Sink
from tidelog.spark.sources.readers import is_address

TomlTypes: TypeAlias = Mapping[str, tuple[type, ...]]
"""The keys of a table, each with the types that its value may have."""
_IN_TOML_AS: Mapping[object, type] = {str: str, int: int, Sequence: list, Mapping: dict}
"""The types of values in TOML, by those of fields."""


def _toml_types(described: type, *left_out: str) -> TomlTypes:
    """Return the keys of a table that describes an object: its fields, except for those of Python alone."""
    found: dict[str, tuple[type, ...]] = {}
    for name, hint in get_type_hints(described).items():
        kinds = [get_origin(each) or each for each in get_args(hint) or (hint,)]
        kinds = [get_origin(hint)] if get_origin(hint) in _IN_TOML_AS else kinds
        found[name] = tuple(_IN_TOML_AS[kind] for kind in kinds if kind in _IN_TOML_AS)
    return {name: types for name, types in found.items() if name not in left_out}


_TOP: TomlTypes = {
    **_toml_types(PipelineDescription, "sources", "sinks"),
    "functors": (list,),
    "source": (list,),
    "sink": (list,),
}
_SOURCE, _SINK = _toml_types(Source, "frame"), _toml_types(Sink)
TomlTable: TypeAlias = tuple[str, int]
"""A table of the file: the name of the list that it is in, and its number there."""
Described = TypeVar("Described", bound=PipelineDescription)
Part = TypeVar("Part")
_SAID = {str: "a text", int: "a whole number", list: "a list", dict: "a table"}


def read_toml(path: str | os.PathLike[str], kind: type[Described]) -> Described:
    """Return the pipeline of this kind that a file describes. UsageError (E0650, E0686) with everything that is
    wrong."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
        document = tomllib.loads(text)
    except OSError as error:
        problem = Problem("E0650", f"cannot use this file: {error.strerror}", place=str(file), hint="check the path")
        raise UsageError(problem) from None
    except UnicodeDecodeError:
        raise UsageError(
            Problem("E0686", "the file is not TOML: not UTF-8", place=str(file), hint="save it as UTF-8")
        ) from None
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        place = f"{file}:{line[1]}" if line else str(file)
        raise UsageError(
            Problem("E0686", f"the text is not TOML: {error}", place=place, hint="correct the line; see toml.io")
        ) from None
    reader = _Reader(file, text)
    pipeline = reader.pipeline(document, kind)
    if reader.problems or pipeline is None:
        raise UsageError(*reader.problems)
    return pipeline


class _Reader:
    def __init__(self, file: Path, text: str) -> None:
        self.file = file
        self.lines = text.splitlines()
        self.problems: list[Problem] = []

    def pipeline(self, document: Mapping[str, Any], kind: type[Described]) -> Described | None:
        self.look(document, _TOP, ("program",), None)
        sources = self.parts(document, "source", Source, _SOURCE)
        sinks = self.parts(document, "sink", Sink, _SINK)
        if self.problems:
            return None
        top = {key: value for key, value in document.items() if key not in ("source", "sink")}
        for key in ("program", "quarantine", "state", "cluster_folder"):
            if key in top:
                top[key] = self.place(top[key])
        if "functors" in top:
            if not all(isinstance(each, str) for each in top["functors"]):
                self.wrong("functors must be a list of texts", 'write functors = ["module"]', "functors", None)
                return None
            top["functors"] = tuple(self.place(each) if is_file(each) else each for each in top["functors"])
        return self.build(kind, {"sources": sources, "sinks": sinks, **top}, None)

    def parts(self, document: Mapping[str, Any], key: str, kind: type[Part], known: TomlTypes) -> list[Part | None]:
        """Return the sources or sinks of a list of tables, None for those that are wrong."""
        found = document.get(key, [])
        if isinstance(found, list) and all(isinstance(each, dict) for each in found):
            return [self.part(each, kind, known, (key, i)) for i, each in enumerate(found)]
        self.wrong(f"{key} must be a list of tables", f"write [[{key}]]", key, None)
        return []

    def part(self, given: Mapping[str, Any], kind: type[Part], known: TomlTypes, where: TomlTable) -> Part | None:
        before = len(self.problems)
        self.look(given, known, ("relation",), where)
        if len(self.problems) > before:
            return None
        path = {"path": self.place(given["path"])} if "path" in given else {}
        return self.build(kind, {**given, **path}, where)

    def build(self, kind: type[Part], values: Mapping[str, Any], where: TomlTable | None) -> Part | None:
        """Return an object of these values; without it, note the problems of the table that has them."""
        try:
            return kind(**values)
        except UsageError as error:
            for problem in error.problems:
                self.wrong(problem.message, problem.hint, problem.place, where)
            return None

    def place(self, path: str) -> str | Path:
        """Return a path as seen from the file; an address, such as s3://, is left alone, and so is an empty one."""
        return path if is_address(path) or not path else self.file.absolute().parent / path

    def look(
        self,
        given: Mapping[str, Any],
        known: TomlTypes,
        needed: tuple[str, ...],
        where: TomlTable | None,
    ) -> None:
        """Note unknown and missing keys and values of another type."""
        for key, value in given.items():
            if key not in known:
                self.wrong(f"unknown key {key!r}", f"use one of: {', '.join(known)}", key, where)
                continue
            if type(value) not in known[key]:
                said = " or ".join(_SAID[each] for each in known[key])
                self.wrong(f"{key} must be {said}, found {value!r:.60}", None, key, where)
        for key in needed:
            if key not in given:
                self.wrong(f"the key {key!r} is missing", f'write {key} = "…"', None, where)

    def wrong(self, message: str, hint: str | None, key: str | None, where: TomlTable | None) -> None:
        place = f"{self.file}:{self.line(key, where)}"
        self.problems.append(Problem("E0686", message, place=place, hint=hint or "see docs/how-to/spark-pipeline.md"))

    def line(self, key: str | None, where: TomlTable | None) -> int:
        """Return the line of a key of the table `where`, of the table itself, or 1."""
        start = 0
        if where is not None:
            name, number = where
            heads = [i for i, line in enumerate(self.lines) if re.match(rf"\s*\[\[\s*{name}\s*\]\]", line)]
            if number >= len(heads):
                return 1
            start = heads[number] + 1
        for i in range(start, len(self.lines)):
            if key is not None and re.match(rf"""\s*\[*\s*["']?{re.escape(key)}["']?\s*[=\].]""", self.lines[i]):
                return i + 1
            if where is not None and re.match(r"\s*\[\[", self.lines[i]):
                break
        return max(start, 1)


# --- errors of a run -------------------------------------------------------------------------------------------------


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
