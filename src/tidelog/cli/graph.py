"""`tidelog graph PROG.dl [-o FILE]`: the rule graph of a program and its hyper-nodes, as a picture or as text."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.cli.shared import add_preprocessing, parsed

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Add the command `graph` to the parser."""
    command = commands.add_parser("graph", help="draw the rule graph", description=__doc__, allow_abbrev=False)
    command.add_argument("program", metavar="PROG.dl", type=Path)
    command.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="file of the picture: .dot, or with the extra `draw` .svg, .html, .png or .pdf; default: print text",
    )
    add_preprocessing(command)
    command.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Draw or print the program's rule graph."""
    from tidelog.language import check
    from tidelog.rules import compile_program
    from tidelog.rules.describe import describe
    from tidelog.rules.picture import draw

    core = compile_program(check(parsed(arguments)), as_written=True)
    if arguments.output is None:
        print(describe(core))
    else:
        draw(core, arguments.output)
        print(f"{arguments.output}: written")
    return 0
