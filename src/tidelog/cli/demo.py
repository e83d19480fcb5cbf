"""`tidelog demo`: questions about Python's standard library, answered through the Spark pipeline, with pictures."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Add the command `demo` to the parser."""
    command = commands.add_parser("demo", help="the whole story on real input", description=__doc__, allow_abbrev=False)
    command.add_argument(
        "-D", "--output-dir", metavar="OUT", type=Path, default=Path("out/demo"), help="default: %(default)s"
    )
    command.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Run the demo into the output folder; progress shows on a terminal only."""
    from tidelog.demo import run

    status: int = run(arguments.output_dir, sys.stderr.isatty())
    return status
