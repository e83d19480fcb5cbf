"""`tidelog graph PROG.dl -o FILE.svg`: the rule graph of a program and its hyper-nodes as a picture."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Add the command `graph` to the parser."""
    command = commands.add_parser("graph", help="draw the rule graph", description=__doc__, allow_abbrev=False)
    command.add_argument("program", metavar="PROG.dl", type=Path)
    command.add_argument(
        "-o", "--output", metavar="FILE.svg", type=Path, required=True, help="where to write the picture; - prints it"
    )
    command.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Draw the program's rule graph into the file."""
    from tidelog.cli.files import replace_text
    from tidelog.cli.picture import draw
    from tidelog.language import check, read
    from tidelog.rules import compile_program

    picture = draw(compile_program(check(read(arguments.program))))
    if arguments.output == Path("-"):
        sys.stdout.write(picture)
    else:
        replace_text(arguments.output, picture)
        print(f"{arguments.output}: written")
    return 0
