"""Choose the engine of a SparkDatabase: the embedded one on the driver, or the cluster's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from tidelog.errors import Problem, UsageError, quote
from tidelog.rules.core import CoreProgram
from tidelog.semantics.user_aggregates import given_of

ENGINES = ("auto", "embedded", "cluster")


@dataclass(frozen=True)
class EngineChoice:
    """The options that decide: `engine` is one of ENGINES, `embedded_limit` the number of rows that the driver takes,
    `cluster_folder` where partitions have their files, if not where the database has chosen: a path or an address
    (`hdfs://…`, `s3://…`), and `partitions` the number of these, None for as many as executors do tasks at once."""

    engine: str = "auto"
    embedded_limit: int = 50_000_000
    cluster_folder: str | os.PathLike[str] | None = None
    partitions: int | None = None

    def changed(self, options: Mapping[str, Any]) -> tuple[EngineChoice, dict[str, Any]]:
        """Return the choice with those of the options that belong to it, and the others. UsageError (E0603) for a wrong
        value."""
        own = {field.name: options[field.name] for field in fields(self) if field.name in options}
        if not isinstance(engine := own.get("engine", "auto"), str) or engine not in ENGINES:
            hint = f"use one of {', '.join(ENGINES)}"
            raise UsageError(Problem("E0603", f"unknown engine {quote(engine)}", hint=hint))
        limit = own.get("embedded_limit", 0)
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
            message = f"embedded_limit must be a number of facts, found {quote(limit)}"
            raise UsageError(Problem("E0603", message, hint="pass for example 10_000_000"))
        folder = own.get("cluster_folder")
        if folder is not None and not (isinstance(folder, str | os.PathLike) and os.fspath(folder)):
            message = f"cluster_folder must be a path or an address, found {quote(folder)}"
            raise UsageError(Problem("E0603", message, hint='pass for example "hdfs:///tmp/tidelog"'))
        count = own.get("partitions")
        if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 1):
            message = f"partitions must be a number from 1 on, or None, found {quote(count)}"
            raise UsageError(Problem("E0603", message, hint="pass for example 64"))
        if options.get("profile"):
            hint = "leave it out; `change.report` has the seconds of each hyper-node"
            raise UsageError(Problem("E0603", "a database over Spark records no profile", hint=hint))
        return replace(self, **own), {name: value for name, value in options.items() if name not in own}

    def next(self, current: str, facts: int) -> tuple[str, str]:
        """Return the engine of an epoch that leads to so many facts, and why it would be another than the current one.
        On the cluster a database stays until it is called back."""
        if self.engine != "auto":
            return self.engine, f"asked for by options(engine={self.engine!r})"
        if current == "embedded" and facts > self.embedded_limit:
            return "cluster", f"{facts:,} facts are more than the embedded_limit of {self.embedded_limit:,}"
        return current, ""


def only_embedded(core: CoreProgram) -> str | None:
    """Return why a program cannot run in partitions; None if it can."""
    if core.counters:
        return "counters are in the driver"
    if core.choices:
        return "partitions cannot choose tuples"
    for functor in core.functors.values():
        try:
            _ = given_of(functor).named
        except UsageError as error:
            return error.problems[0].message
    return None
