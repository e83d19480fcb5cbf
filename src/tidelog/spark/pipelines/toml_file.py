"""A pipeline from a TOML file, with the line of each error."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from tidelog.errors import Problem, UsageError
from tidelog.functions.importing import is_file
from tidelog.spark.pipelines.description import PipelineDescription, Source
from tidelog.spark.sinks.sink import Sink
from tidelog.spark.sources.readers import is_address

TomlTypes: TypeAlias = Mapping[str, type | tuple[type, ...]]
"""The keys of a table, each with the types that its value may have."""
_TOP: TomlTypes = {
    "program": str,
    "quarantine": str,
    "state": str,
    "engine": str,
    "embedded_limit": int,
    "cluster_folder": str,
    "functors": list,
    "session": dict,
    "remote": str,
    "source": list,
    "sink": list,
}
_SOURCE: TomlTypes = {
    "relation": str,
    "path": str,
    "format": str,
    "table": str,
    "mode": str,
    "columns": dict,
    "expressions": dict,
    "options": dict,
    "rejected": str,
    "op": str,
    "insert": list,
    "delete": list,
    "order": (str, list),
    "key": (str, list),
    "feed": str,
}
_SINK: TomlTypes = {
    "relation": str,
    "path": str,
    "table": str,
    "what": str,
    "format": str,
    "mode": str,
    "partition_by": list,
    "options": dict,
}
TomlTable: TypeAlias = tuple[str, int]
"""A table of the file: the name of the list that it is in, and its number there."""
Described = TypeVar("Described", bound=PipelineDescription)
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
        sources = [
            self.part(Source, each, _SOURCE, ("relation",), ("source", i))
            for i, each in self.tables(document, "source")
        ]
        sinks = [self.part(Sink, each, _SINK, ("relation",), ("sink", i)) for i, each in self.tables(document, "sink")]
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
        try:
            return kind(sources=sources, sinks=sinks, **top)
        except UsageError as error:
            for problem in error.problems:
                self.wrong(problem.message, problem.hint, problem.place, None)
            return None

    def tables(self, document: Mapping[str, Any], key: str) -> list[tuple[int, Mapping[str, Any]]]:
        found = document.get(key, [])
        if isinstance(found, list) and all(isinstance(each, dict) for each in found):
            return list(enumerate(found))
        self.wrong(f"{key} must be a list of tables", f"write [[{key}]]", key, None)
        return []

    def part(
        self,
        kind: Any,
        given: Mapping[str, Any],
        known: TomlTypes,
        needed: tuple[str, ...],
        where: tuple[str, int],
    ) -> Any:
        """Return a Source or a Sink, None where it is wrong."""
        before = len(self.problems)
        self.look(given, known, needed, where)
        if len(self.problems) > before:
            return None
        values = dict(given)
        if "path" in values:
            values["path"] = self.place(values["path"])
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
            found = known[key]
            wanted = found if isinstance(found, tuple) else (found,)
            if type(value) not in wanted:
                said = " or ".join(_SAID[each] for each in wanted)
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
