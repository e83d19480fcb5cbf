"""`tidelog demo`: questions about Python's standard library, answered through the Spark pipeline, with pictures.
`tidelog demo edge`: a wind farm whose turbines find out together why one of them reads an odd temperature."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


FOLDER = Path("out/demo")


def add(commands: Commands) -> None:
    """Add the command `demo` to the parser."""
    command = commands.add_parser(
        "demo", help="answer questions about real input", description=__doc__, allow_abbrev=False
    )
    command.add_argument(
        "story", nargs="?", choices=("library", "edge"), default="library", help="default: %(default)s"
    )
    command.add_argument("-D", "--output-dir", metavar="OUT", type=Path, help=f"library: default {FOLDER}")
    command.add_argument("--simulated", action="store_true", help="edge: all nodes in this process, without sockets")
    command.set_defaults(execute=execute, refuse=command.error)


def execute(arguments: argparse.Namespace) -> int:
    """Run one of the demos; progress shows on a terminal only."""
    if arguments.story == "edge":
        if arguments.output_dir is not None:
            arguments.refuse("the story `edge` writes no files: leave out -D")
        from tidelog.demo.edge import run as run_edge

        return run_edge(simulated=arguments.simulated, live=sys.stdout.isatty())
    if arguments.simulated:
        arguments.refuse("the story `library` has no nodes to simulate: write `tidelog demo edge --simulated`")
    from tidelog.demo import run

    status: int = run(arguments.output_dir or FOLDER, sys.stderr.isatty())
    return status
