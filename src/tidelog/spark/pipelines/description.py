"""Describe a pipeline: its sources, its sinks, and all that they have to fulfil."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame

from tidelog.errors import quote
from tidelog.functions.callables import FunctorSource
from tidelog.language import check, read
from tidelog.language.components import expand
from tidelog.language.syntax import CheckedProgram
from tidelog.spark.engines import ENGINES
from tidelog.spark.machine import address_problem
from tidelog.spark.sinks.sink import Place, Sink, check_apart, check_kinds, invalid_key, plain_name
from tidelog.spark.sources.changes import operation_of
from tidelog.spark.sources.mapping import relation_type

SOURCE_MODES = ("snapshot", "append", "cdc")


@dataclass(frozen=True)
class Source:
    """Rows for `relation`: of a `path` (a file, folder or pattern) in a `format` that the session reads, of a `table`
    of its catalog, or a DataFrame (`frame`). Formats without a path, such as jdbc, have all in their `options`.

    `columns` says where the relation's columns come from, if not from those of the same name: another name, or a Column
    in Python; in TOML, `expressions` are SQL. A CSV file without a header goes by position.

    `mode`: a "snapshot" is everything that there is: a later run reads it again if it has changed, and deletes what is
    missing; "append" adds, and a later run reads what is new; "cdc" is a feed of changes whose column `op` says with
    one of `insert` or of `delete` what a row does, and perhaps `order`, a column or several, when. With a `key`,
    columns of the relation, a row replaces the facts of its key, or deletes them; in mode "append", too. `feed` names a
    format of such feeds, "debezium", "delta" or "kafka-compacted". `rejected` is a column with a reason in rows that
    are known to be bad, null in all others.
    """

    relation: str
    path: str | os.PathLike[str] | None = None
    format: str = "csv"
    table: str | None = None
    frame: DataFrame | None = field(default=None, repr=False)
    mode: str = "snapshot"
    columns: Mapping[str, str | Expression] = field(default_factory=dict)
    expressions: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    rejected: str | None = None
    op: str | None = None
    insert: Sequence[str] | None = None
    delete: Sequence[str] | None = None
    order: str | Sequence[str] | None = None
    key: str | Sequence[str] | None = None
    feed: str | None = None

    def __post_init__(self) -> None:
        check_kinds(self, "relation", "format", "table", paths=("path",))
        object.__setattr__(self, "format", plain_name(self.format))
        given = [name for name in ("path", "table", "frame") if getattr(self, name) is not None]
        if len(given) > 1:
            raise invalid_key(given[0], f"{' and '.join(given)} exclude each other", "keep one of them")
        if self.path == "":
            raise invalid_key("path", "the path is empty", "name a file, a folder or a pattern")
        if not given and not self.options:
            raise invalid_key(
                "path",
                f"the source of {self.relation} has nothing to read",
                "name a path, a table, or the options of the format",
            )
        if self.mode not in SOURCE_MODES:
            raise invalid_key(
                "mode", f"unknown source mode {quote(self.mode)}", f"use one of {', '.join(SOURCE_MODES)}"
            )
        if (self.mode == "cdc") != (self.op is not None or self.feed is not None):
            raise invalid_key(
                "mode",
                "mode 'cdc' needs the key 'op' or 'feed', and these need mode 'cdc'",
                'write mode = "cdc" and op = "the column with the operation"',
            )
        if self.mode == "snapshot" and self.key is not None:
            raise invalid_key(
                "key",
                "a snapshot replaces all facts, and needs no key",
                'write mode = "append" to replace facts by their keys',
            )
        operation_of(self.changes)

    @property
    def changes(self) -> dict[str, Any]:
        """The keys about changes that are given."""
        keys = ("feed", "op", "insert", "delete", "order", "key")
        return {key: getattr(self, key) for key in keys if getattr(self, key) is not None}


@dataclass(frozen=True)
class PipelineDescription:
    """The fields of a `Pipeline`. UsageError (E0686) where they contradict each other, ProgramError for the program."""

    program: str | os.PathLike[str]
    sources: Sequence[Source] = ()
    sinks: Sequence[Sink] = ()
    quarantine: str | os.PathLike[str] | None = None
    state: str | os.PathLike[str] | None = None
    engine: str | None = None
    embedded_limit: int | None = None
    cluster_folder: str | os.PathLike[str] | None = None
    functors: FunctorSource = ()
    session: Mapping[str, str] = field(default_factory=dict)
    remote: str | None = None

    def __post_init__(self) -> None:
        check_kinds(self, paths=("state", "quarantine", "cluster_folder"))
        if self.engine is not None and self.engine not in ENGINES:
            raise invalid_key("engine", f"unknown engine {quote(self.engine)}", f"use one of {', '.join(ENGINES)}")
        if self.embedded_limit is not None and self.embedded_limit < 0:
            raise invalid_key(
                "embedded_limit",
                f"embedded_limit must be 0 or more, found {self.embedded_limit}",
                "write for example 10000000",
            )
        problem = None if self.remote is None else address_problem(self.remote)
        if problem is not None:
            raise invalid_key("remote", problem, 'write remote = "sc://host:15002"')
        for key in ("state", "quarantine", "cluster_folder"):
            if getattr(self, key) == "":
                raise invalid_key(key, f"{key} is empty", "name a folder, or leave it out")
        self._check_apart()
        self.checked_program  # noqa: B018  # What is wrong with the program shows before a session starts.

    @cached_property
    def checked_program(self) -> CheckedProgram:
        """The program, checked. ProgramError with everything that is wrong with it."""
        return check(*expand([read(self.program)]))

    def check_relations(self) -> None:
        """Raise UsageError (E0601) if the program lacks a relation that a source or a sink names."""
        for name in [*(source.relation for source in self.sources), *(sink.relation for sink in self.sinks)]:
            relation_type(self.checked_program, name)

    def _check_apart(self) -> None:
        """Raise UsageError (E0686) if a sink or the quarantine would replace another sink, a source, the program or the
        working directory. (The session knows whether two names are one table.)"""
        written: list[Place] = [("sink", sink.path) for sink in self.sinks if sink.path is not None]
        written += [] if self.quarantine is None else [("quarantine", self.quarantine)]
        others: list[Place] = [("source", source.path) for source in self.sources if source.path is not None]
        others += [] if self.state is None else [("state", self.state)]
        others += [("program", self.program)] if isinstance(self.program, os.PathLike) else []
        check_apart(written, others)
