"""`tidelog pipeline` and `tidelog demo`, and the Spark session that a command works in."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.cli.report import print_json, table
from tidelog.cli.shared import add_functors, functors_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidelog.cli.shared import Commands
    from tidelog.spark import Result


@contextmanager
def spark_session(
    conf: Mapping[str, str] | None = None, remote: str | None = None, place: str = "remote"
) -> Iterator[SparkSession]:
    """Provide the session of this process, or one that ends with the block: of the server at the address `remote`, or
    on this machine. `place` is where the address stands."""
    from tidelog.spark import session
    from tidelog.spark.machine import present_session

    present = present_session()
    if present is not None:
        spark = present
    elif remote is None:
        spark = session(os.cpu_count() or 1, conf=conf)
    else:
        from tidelog.spark.machine import remote_session

        spark = remote_session(remote, conf, place)
    try:
        yield spark
    finally:
        if present is None:
            spark.stop()


_PIPELINE = """`tidelog pipeline run FILE.toml`: read the sources in the file, maintain the views, write the sinks.

It uses the active session, or starts one: on the server of Spark Connect that the file names, or on this machine. At
the end it prints how many rows it read, accepted and put into quarantine, the files that it wrote, and the engine that
it used.
"""


def add_pipeline(commands: Commands) -> None:
    """Add the command `pipeline` to the parser."""
    command = commands.add_parser("pipeline", help="run a pipeline on Spark", allow_abbrev=False)
    run = command.add_subparsers(title="commands", metavar="COMMAND", required=True).add_parser(
        "run", help="run a pipeline once", description=_PIPELINE, allow_abbrev=False
    )
    run.add_argument("pipeline", metavar="FILE.toml", type=Path)
    run.add_argument("--engine", choices=("auto", "embedded", "cluster"), help="override the engine of the file")
    add_functors(run)
    run.add_argument("--json", action="store_true", help="print the summary, or the errors, as JSON")
    run.set_defaults(execute=execute_pipeline)


def execute_pipeline(arguments: argparse.Namespace) -> int:
    """Run the pipeline and print the summary."""
    from tidelog.spark import Pipeline
    from tidelog.spark.pipelines.toml_file import errors_in_toml

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
    report = result.change.report
    if as_json:
        print_json({"ok": True, **result.to_dict()})
        return
    names = ["read", "accepted", "duplicates", "quarantined"]
    if any(count.late for count in result.counts.values()):
        names.append("late")
    rows = [(name, *(getattr(count, each) for each in names)) for name, count in result.counts.items()]
    print(table(("relation", *names), rows))
    if files := [(name, each.read, each.unchanged) for name, each in result.files.items() if each.unchanged]:
        print("\n" + table(("files", "read", "unchanged"), files))
    if result.written:
        print("\n" + table(("written", "rows"), list(result.written.items())))
    why = f" ({report.switched})" if report.switched else ""
    print(f"\nepoch {result.change.epoch} on the {report.engine} engine{why}, {report.impact:,} derived tuples changed")


FOLDER = Path("out/demo")


# --- demo ------------------------------------------------------------------------------------------------------------

_DEMO = """`tidelog demo`: questions about Python's standard library, answered through the Spark pipeline, with
pictures. `tidelog demo edge`: a wind farm whose turbines find out together why one of them reads an odd temperature."""


def add_demo(commands: Commands) -> None:
    """Add the command `demo` to the parser."""
    command = commands.add_parser(
        "demo", help="answer questions about real input", description=_DEMO, allow_abbrev=False
    )
    command.add_argument(
        "story", nargs="?", choices=("library", "edge"), default="library", help="default: %(default)s"
    )
    command.add_argument("-D", "--output-dir", metavar="OUT", type=Path, help=f"library: default {FOLDER}")
    command.add_argument("--simulated", action="store_true", help="edge: all nodes in this process, without sockets")
    command.set_defaults(execute=execute_demo, refuse=command.error)


def execute_demo(arguments: argparse.Namespace) -> int:
    """Run one of the demos; progress shows on a terminal only."""
    if arguments.story == "edge":
        if arguments.output_dir is not None:
            arguments.refuse("the story `edge` writes no files: leave out -D")
        from tidelog.demo.edge import run as run_edge

        return run_edge(simulated=arguments.simulated, live=sys.stdout.isatty())
    if arguments.simulated:
        arguments.refuse("the story `library` has no nodes to simulate: write `tidelog demo edge --simulated`")
    from tidelog.demo.story import run

    return run(arguments.output_dir or FOLDER, sys.stderr.isatty())
