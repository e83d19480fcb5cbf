"""`tidelog pipeline run FILE.toml`: read the sources in the file, maintain the views, write the sinks.

It uses the active session, or starts one: on the server of Spark Connect that the file names, or on this machine. At
the end it prints how many rows it read, accepted and put into quarantine, the files that it wrote, and the engine that
it used.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.cli.shared import add_functors, functors_of

if TYPE_CHECKING:
    from tidelog.spark import Result

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Add the command `pipeline` to the parser."""
    command = commands.add_parser("pipeline", help="run a pipeline on Spark", allow_abbrev=False)
    run = command.add_subparsers(title="commands", metavar="COMMAND", required=True).add_parser(
        "run", help="run a pipeline once", description=__doc__, allow_abbrev=False
    )
    run.add_argument("pipeline", metavar="FILE.toml", type=Path)
    run.add_argument("--engine", choices=("auto", "embedded", "cluster"), help="override the engine of the file")
    add_functors(run)
    run.add_argument("--json", action="store_true", help="print the summary, or the errors, as JSON")
    run.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Run the pipeline and print the summary."""
    from dataclasses import replace

    from tidelog.cli.on_spark import spark_session
    from tidelog.spark import Pipeline
    from tidelog.spark.pipelines.toml_errors import errors_in_toml

    pipeline = Pipeline.from_toml(arguments.pipeline)
    if arguments.engine is not None:
        pipeline = replace(pipeline, engine=arguments.engine)
    if functors := functors_of(arguments):
        pipeline = replace(pipeline, functors=functors)
    place = f"{arguments.pipeline}, remote"
    with errors_in_toml(arguments.pipeline):
        pipeline.check_relations()
        progress = _progress if sys.stderr.isatty() else None
        with (
            spark_session(pipeline.session, pipeline.remote, place) as spark,
            pipeline.run(spark, progress=progress) as result,
        ):
            _show(result, arguments.json)
    return 0


def _progress(stage: str, seconds: float) -> None:
    print(f"{stage:<12}{seconds:6.1f} s", file=sys.stderr, flush=True)


def _show(result: Result, as_json: bool) -> None:
    from tidelog.cli.report import print_json, table

    report = result.change.report
    if as_json:
        print_json({"ok": True, **result.to_dict()})
        return
    names = ["read", "accepted", "duplicates", "quarantined"]
    if any(count.late for count in result.counts.values()):
        names.append("late")
    rows = [(name, *(getattr(count, each) for each in names)) for name, count in result.counts.items()]
    print(table(("relation", *names), rows))
    if result.written:
        print("\n" + table(("written", "rows"), list(result.written.items())))
    why = f" ({report.switched})" if report.switched else ""
    print(f"\nepoch {result.change.epoch} on the {report.engine} engine{why}, {report.impact:,} derived tuples changed")
