"""The `Pipeline` of a user: a description that can be read from TOML, and run."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import SparkSession

from tidelog.spark.database import SparkDatabase
from tidelog.spark.pipelines.description import PipelineDescription
from tidelog.spark.pipelines.result import Result
from tidelog.spark.pipelines.run import run
from tidelog.spark.pipelines.toml_file import read_toml


@dataclass(frozen=True)
class Pipeline(PipelineDescription):
    """Sources, a `program` (text or path, as for `Database.load`) and sinks.

    `quarantine` is a folder for the rows that do not fit. `state` is a folder that keeps the facts from run to run.
    `engine`, `embedded_limit` and `cluster_folder` are the options of the database, where they are given. `functors`
    are functions for functors, see `Database.functors`; in TOML a list of modules, or of paths that end in ".py", for a
    database that the run opens. `session` is configuration for the session that `tidelog pipeline run` starts, `remote`
    the address of the server of Spark Connect where it does so.
    """

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Pipeline:
        """Return the pipeline that a TOML file describes; its relative paths start at the file. UsageError (E0650,
        E0686) with everything that is wrong with it."""
        return read_toml(path, cls)

    def run(
        self,
        session: SparkSession,
        database: SparkDatabase | None = None,
        progress: Callable[[str, float], None] | None = None,
    ) -> Result:
        """Read the sources, commit what they say as one epoch, and write the sinks.

        Without a `database` one is opened, with `state` if there is one, until the result is closed; a database that
        is given gets the program if it has none yet, and stays open for further runs. `progress` is called with the
        name of each stage and its seconds. When anything fails, no epoch has happened: DataError, LimitError,
        ProgramError, UsageError, SetupError.
        """
        return run(self, session, database, progress or (lambda stage, seconds: None))
